"""Containers with a warden in them, through the Docker SDK."""

from __future__ import annotations

import contextlib
import os
import socket
import time
from pathlib import Path
from typing import Any

from slop_code.execution.environment import DockerEnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.process import WARDEN_FOLDER, Warden, warden_command

LABEL = "slop-code"
_GOING_S = 10
_START_TIMEOUT_S = 60.0
_CONTROL = "/slop-code/control"


class Container:
    """A container with a warden in it. `control` is an empty folder for the socket between it and us."""

    def __init__(
        self,
        client: Any,
        spec: DockerEnvironmentSpec,
        binds: dict[str, dict[str, str]],
        control: Path,
        *,
        network: str,
        read_only: bool = True,
    ) -> None:
        limits = spec.limits.as_limits()
        settings = {
            "rlimits": limits.rlimits() if read_only else {},
            "remove": [],
            "empty": ["/dev/shm", "/dev/mqueue"],  # noqa: S108
            "clear_ipc": True,
            "own_network": network == "none",
            "memory_groups": ["/sys/fs/cgroup", "/sys/fs/cgroup/memory"],
        }
        as_root = os.getuid() == 0
        with socket.socket(socket.AF_UNIX) as listener:
            _bind(listener, control / "warden.sock")
            listener.listen(1)
            try:
                self._container = client.containers.create(
                    spec.docker.image,
                    entrypoint=warden_command("python3", Path("/slop-code/warden")),
                    command=[f"{_CONTROL}/warden.sock"],
                    user="0:0" if as_root else f"{os.getuid()}:{os.getgid()}",
                    network_mode=network,
                    read_only=read_only,
                    cap_drop=["ALL"],
                    # To become the programs' user, to end what they started, and to see how much they wrote.
                    cap_add=["SETUID", "SETGID", "KILL", "DAC_READ_SEARCH"] if as_root else [],
                    security_opt=["no-new-privileges"],
                    pids_limit=limits.processes + 16 if limits.processes and read_only else None,
                    mem_limit=limits.memory if read_only else None,
                    volumes=_extra_mounts(spec),
                    mounts=_mounts(
                        {
                            **binds,
                            str(control): {"bind": _CONTROL, "mode": "ro"},
                            str(WARDEN_FOLDER): {"bind": "/slop-code/warden", "mode": "ro"},
                        }
                    ),
                    auto_remove=True,
                    labels={LABEL: _owner_label()},
                    hostname="sandbox" if network != "host" else None,
                    working_dir="/",
                )
                self._container.start()
                self.warden = Warden(_accept(listener, self._container, spec.docker.image), settings)
            except BaseException as error:
                self._remove()
                raise _explained(error, spec) from error

    def close(self) -> None:
        self.warden.close()
        self._remove()

    def _remove(self) -> None:
        container = getattr(self, "_container", None)
        if container is None:
            return
        try:
            container.remove(force=True)
        except Exception:  # noqa: BLE001  # whatever the engine says, we are done with it
            # Most often the engine is just removing it, because its first process has ended.
            with contextlib.suppress(Exception):
                container.wait(condition="removed", timeout=_GOING_S)


def _bind(listener: socket.socket, path: Path) -> None:
    """Bind to a path however long it is: a socket's address may only have some hundred bytes."""
    folder = os.open(path.parent, os.O_PATH)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{path.name}")
    finally:
        os.close(folder)


def remove_stale_containers(client: Any) -> int:
    """Remove containers that evaluators of this machine left when they were killed; says how many."""
    removed = 0
    for container in client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True):
        if not _owner_lives(container.labels.get(LABEL, "")):
            with contextlib.suppress(Exception):
                container.remove(force=True)
                removed += 1
    return removed


def connect_engine() -> Any:
    try:
        import docker
    except ModuleNotFoundError as error:
        raise ExecutionError(
            "an environment of type docker needs the Docker SDK: pip install 'slop-code[docker]'"
        ) from error
    client = None
    try:
        client = docker.from_env(timeout=120)
        client.ping()
    except docker.errors.DockerException as error:
        if client is not None:
            client.close()
        raise ExecutionError(
            f"no Docker engine answers ({_reason(error)}): start one, or point DOCKER_HOST to it, "
            "or use an environment of type sandbox or local"
        ) from error
    return client


def find_image(client: Any, name: str) -> str:
    import docker

    try:
        return str(client.images.get(name).id)
    except docker.errors.ImageNotFound:
        pass
    except docker.errors.DockerException as error:
        raise ExecutionError(f"the Docker engine does not answer: {_reason(error)}") from error
    try:
        return str(client.images.pull(name).id)
    except docker.errors.DockerException as error:
        raise ExecutionError(
            f'the image "{name}" is not on this machine and cannot be pulled ({_reason(error)}): '
            "build or load it, or name another in docker.image"
        ) from error


def _accept(listener: socket.socket, container: Any, image: str) -> socket.socket:
    deadline = time.monotonic() + _START_TIMEOUT_S
    listener.settimeout(0.2)
    while True:
        try:
            channel, _ = listener.accept()
        except TimeoutError:
            state = _state(container)
            if state not in {"created", "running"} or time.monotonic() > deadline:
                log = _log(container)
                raise ExecutionError(f'a container of "{image}" did not come up ({state}): {log}') from None
        else:
            channel.setblocking(True)
            return channel


def _state(container: Any) -> str:
    try:
        container.reload()
    except Exception:  # noqa: BLE001  # a container that removed itself is simply gone
        return "gone"
    return str(container.status)


def _log(container: Any) -> str:
    try:
        text: str = container.logs(tail=5).decode("utf-8", "replace").strip()
    except Exception:  # noqa: BLE001
        return "no output"
    return text or "no output"


def _explained(error: BaseException, spec: DockerEnvironmentSpec) -> BaseException:
    if isinstance(error, ExecutionError) or not type(error).__module__.startswith(("docker", "requests")):
        return error
    reason = _reason(error)
    hint = ""
    if "python3" in reason:
        hint = "; the helper that runs commands in the container needs a python3 in the image"
    return ExecutionError(f'a container of "{spec.docker.image}" cannot be started: {reason}{hint}')


def _reason(error: BaseException) -> str:
    explanation = getattr(error, "explanation", None)
    return str(explanation or error).strip().splitlines()[0]


def _mounts(binds: dict[str, dict[str, str]]) -> list[Any]:
    """Mounts of what is there; a volume that is missing, because we were just killed, the engine would make."""
    import docker.types

    return [
        docker.types.Mount(bind["bind"], source, type="bind", read_only=bind["mode"] == "ro")
        for source, bind in binds.items()
    ]


def _extra_mounts(spec: DockerEnvironmentSpec) -> dict[str, dict[str, str]]:
    given = spec.docker.extra_mounts
    pairs = given.items() if isinstance(given, dict) else (entry.split(":", 1) for entry in given)
    mounts: dict[str, dict[str, str]] = {}
    for host, target in pairs:
        place, _, mode = target.partition(":")
        mounts[str(Path(host).absolute())] = {"bind": place, "mode": mode or "ro"}
    return mounts


def _owner_label() -> str:
    return f"{os.getpid()}:{_started(os.getpid())}:{_boot()}"


def _owner_lives(label: str) -> bool:
    pid, _, rest = label.partition(":")
    started, _, boot = rest.partition(":")
    if boot != _boot():
        # Another machine's, which is not ours to judge.
        return True
    return pid.isdigit() and _started(int(pid)) == started


def _started(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return ""


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
