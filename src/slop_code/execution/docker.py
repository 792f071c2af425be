"""The `docker` driver: one warm container per session, with a warden inside that starts the commands.

A container is made once per session and never per case. It has no network, a read-only system, no capabilities but
those its warden needs to become the unprivileged user that programs run as, and the same layout as a sandbox.

    /slop-code/control/warden.sock a folder of ours where the warden connects; out of the programs' reach
    /slop-code/warden.py           the warden, mounted read-only; it needs a python3 in the image

When the evaluator dies, however it dies, the socket closes, the warden ends, and the engine removes the container.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slop_code.execution.driver import Driver, run_setup
from slop_code.execution.environment import DockerEnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.image import Image, Preparation, prepare_image
from slop_code.execution.process import WARDEN_SCRIPT, Command, Outcome, Warden
from slop_code.execution.sandbox import LAYOUT, sandbox_user
from slop_code.execution.session import HOST_PATH, Layout, PreparedTools, Session, SetupStep
from slop_code.execution.shell import SHELL, shell_argv
from slop_code.execution.workspace import Template, give, remove

LABEL = "slop-code"
_START_TIMEOUT_S = 60.0
_CONTROL = "/slop-code/control"


class DockerDriver(Driver):
    """Containers of any engine on this machine that speaks Docker's API."""

    spec: DockerEnvironmentSpec

    def __init__(self, spec: DockerEnvironmentSpec) -> None:
        super().__init__(spec)
        if not spec.docker.mount_workspace:
            raise ExecutionError(
                "docker.mount_workspace: false is not possible: cases need a workspace that we can restore"
            )
        self._client = _connect()
        self._image_id = _find_image(self._client, spec.docker.image)
        remove_stale_containers(self._client)

    def prepare(self, submission: Path) -> Image:
        def build(folder: Path) -> Preparation:
            owner = sandbox_user()
            for name in ("home", "tmp"):
                (folder / name).mkdir()
            if owner is not None:
                give(folder, owner)
            layout = _layout(self.spec)
            env = {"PATH": ":".join(HOST_PATH), "HOME": layout.home, "TMPDIR": layout.tmp, "LANG": "C.UTF-8"}
            binds = _session_binds(folder, layout)
            binds[str(folder / "tools")] = {"bind": layout.tools, "mode": "rw"}
            lines = [
                *self._virtualenv_lines(submission, layout),
                *self.spec.setup.commands,
                *self.spec.setup.eval_commands,
            ]
            network = (self.spec.docker.network or "bridge") if self.spec.setup.network else "none"
            steps: list[SetupStep] = []
            if lines:
                container = _Container(self._client, self.spec, binds, network=network, read_only=False)
                shell = Command([SHELL, "-c"], layout.workspace, {**env, **self.spec.environment.env}, user=owner)
                try:
                    steps = run_setup(lines, container.warden, shell)
                finally:
                    container.close()
            for name in ("home", "tmp"):
                remove(folder / name)
            path = (f"{layout.tools}/venv/bin",) if self.spec.setup.virtualenv else ()
            return Preparation(tuple(steps), PreparedTools(path, {}), self.spec.docker.image)

        return prepare_image(submission, self.spec, {"image": self._image_id}, build)

    def close(self) -> None:
        self._client.close()

    def session(self, image: Image, assets: Path | None = None) -> Session:
        return DockerSession(
            self._client, self.spec, image.template, image.preparation.tools, image.tools_folder, assets
        )

    def _virtualenv_lines(self, submission: Path, layout: Layout) -> list[str]:
        if not self.spec.setup.virtualenv:
            return []
        lines = [f"python3 -m venv {layout.tools}/venv"]
        if (submission / "requirements.txt").is_file():
            lines.append(f"{layout.tools}/venv/bin/python -m pip install --quiet --compile -r requirements.txt")
        return lines


class DockerSession(Session):
    """A warm container; commands are processes of the warden inside it."""

    spec: DockerEnvironmentSpec

    def __init__(
        self,
        client: Any,
        spec: DockerEnvironmentSpec,
        template: Template,
        tools: PreparedTools,
        tools_folder: Path,
        assets: Path | None,
    ) -> None:
        super().__init__(spec, template, tools, owner=_user(spec))
        self.layout = _layout(spec)
        self._limits = spec.limits.as_limits()
        self.restore()
        binds = _session_binds(self.folder, self.layout)
        binds[str(tools_folder)] = {"bind": self.layout.tools, "mode": "ro"}
        if assets is not None:
            binds[str(assets)] = {"bind": self.layout.assets, "mode": "ro"}
        for name in template.shared:
            binds[str(template.folder / name)] = {"bind": f"{self.layout.workspace}/{name}", "mode": "ro"}
        try:
            self._container = _Container(client, spec, binds, [self.folder], network=spec.docker.network or "none")
        except BaseException:
            super().close()
            raise

    def run(
        self, line: str, *, stdin: bytes = b"", timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        return self._container.warden.run(self._command(line, env, stdin=stdin, timeout=timeout))

    def start(self, line: str, *, env: Mapping[str, str] | None = None) -> None:
        self._container.warden.start(self._command(line, env))

    def ended(self) -> Outcome | None:
        return self._container.warden.state()

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._container.warden.connect(host, port, timeout)

    def stop(self) -> Outcome:
        return self._container.warden.stop()

    def free_port(self) -> int:
        # The loopback is the container's own, and its servers run one after another.
        return 8000

    def close(self) -> None:
        self._container.close()
        super().close()

    def _command(
        self, line: str, env: Mapping[str, str] | None, *, stdin: bytes = b"", timeout: float | None = None
    ) -> Command:
        return Command(
            argv=shell_argv(line),
            cwd=self.layout.workspace,
            env=self.environment(env),
            stdin=stdin,
            timeout=timeout,
            limits=self._limits,
            user=self.owner,
        )


class _Container:
    """A container with a warden in it."""

    def __init__(
        self,
        client: Any,
        spec: DockerEnvironmentSpec,
        binds: dict[str, dict[str, str]],
        remove: Sequence[Path] = (),
        *,
        network: str,
        read_only: bool = True,
    ) -> None:
        limits = spec.limits.as_limits()
        control = Path(tempfile.mkdtemp(prefix="slop-code-"))
        # Should we be killed, the warden inside cannot clean up out here, so one outside does.
        self._janitor = Warden.launch(remove=[control, *remove])
        settings = {"rlimits": limits.rlimits() if read_only else {}, "remove": [], "empty": ["/dev/shm"]}  # noqa: S108
        as_root = os.getuid() == 0
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(control / "warden.sock"))
            listener.listen(1)
            try:
                self._container = client.containers.create(
                    spec.docker.image,
                    entrypoint=["python3", "-I", "-S", "/slop-code/warden.py"],
                    command=[f"{_CONTROL}/warden.sock", json.dumps(settings)],
                    user="0:0" if as_root else f"{os.getuid()}:{os.getgid()}",
                    network_mode=network,
                    read_only=read_only,
                    cap_drop=["ALL"],
                    cap_add=["SETUID", "SETGID", "KILL"] if as_root else [],
                    security_opt=["no-new-privileges"],
                    pids_limit=limits.processes + 16 if limits.processes and read_only else None,
                    mem_limit=limits.memory if read_only else None,
                    volumes={
                        **_extra_mounts(spec),
                        **binds,
                        str(control): {"bind": _CONTROL, "mode": "rw"},
                        str(WARDEN_SCRIPT): {"bind": "/slop-code/warden.py", "mode": "ro"},
                    },
                    auto_remove=True,
                    labels={LABEL: _owner_label()},
                    hostname="sandbox" if network != "host" else None,
                    working_dir="/",
                )
                self._container.start()
                self.warden = Warden(_accept(listener, self._container, spec.docker.image))
            except BaseException as error:
                self._remove()
                self._janitor.close()
                raise _explained(error, spec) from error

    def close(self) -> None:
        self.warden.close()
        self._remove()
        self._janitor.close()

    def _remove(self) -> None:
        container = getattr(self, "_container", None)
        if container is not None:
            with contextlib.suppress(Exception):
                container.remove(force=True)


def remove_stale_containers(client: Any) -> int:
    """Remove containers that evaluators of this machine left when they were killed; says how many."""
    removed = 0
    for container in client.containers.list(all=True, filters={"label": LABEL}):
        if not _owner_lives(container.labels.get(LABEL, "")):
            with contextlib.suppress(Exception):
                container.remove(force=True)
                removed += 1
    return removed


def _connect() -> Any:
    try:
        import docker
    except ModuleNotFoundError as error:
        raise ExecutionError(
            "an environment of type docker needs the Docker SDK: pip install 'slop-code[docker]'"
        ) from error
    try:
        client = docker.from_env(timeout=120)
        client.ping()
    except docker.errors.DockerException as error:
        raise ExecutionError(
            f"no Docker engine answers ({_reason(error)}): start one, or point DOCKER_HOST to it, "
            "or use an environment of type sandbox or local"
        ) from error
    return client


def _find_image(client: Any, name: str) -> str:
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


def _layout(spec: DockerEnvironmentSpec) -> Layout:
    return Layout(spec.docker.workdir, LAYOUT.home, LAYOUT.tmp, LAYOUT.tools, LAYOUT.assets)


def _session_binds(folder: Path, layout: Layout) -> dict[str, dict[str, str]]:
    places = {"workspace": layout.workspace, "home": layout.home, "tmp": layout.tmp}
    return {str(folder / name): {"bind": place, "mode": "rw"} for name, place in places.items()}


def _extra_mounts(spec: DockerEnvironmentSpec) -> dict[str, dict[str, str]]:
    given = spec.docker.extra_mounts
    pairs = given.items() if isinstance(given, dict) else (entry.split(":", 1) for entry in given)
    mounts: dict[str, dict[str, str]] = {}
    for host, target in pairs:
        place, _, mode = target.partition(":")
        mounts[str(Path(host).absolute())] = {"bind": place, "mode": mode or "ro"}
    return mounts


def _user(spec: DockerEnvironmentSpec) -> tuple[int, int] | None:
    """The user that programs are: the environment's, or, where we are root, one that exists nowhere else."""
    wanted = spec.docker.user
    if wanted is None or os.getuid() != 0:
        return sandbox_user()
    user, _, group = wanted.partition(":")
    if not user.isdigit() or (group and not group.isdigit()):
        raise ExecutionError(f'docker.user "{wanted}" should be numbers, such as "1000:1000"')
    return int(user), int(group or user)


def _owner_label() -> str:
    return f"{os.getpid()}:{_started(os.getpid())}:{_boot()}"


def _owner_lives(label: str) -> bool:
    pid, _, rest = label.partition(":")
    started, _, boot = rest.partition(":")
    if boot != _boot():
        # Another machine, or this one before its last start: only the latter is ours to judge, and it is dead.
        return boot == ""
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
