"""The `docker` driver: one warm container per session, with a warden inside that starts the commands.

A container is made once per session and never per case. It has no network, a read-only system, no capabilities but
those its warden needs to become the unprivileged user that programs run as, and the same layout as a sandbox.

    /slop-code/control/warden.sock a folder of ours where the warden connects, once; it cannot be written to
    /slop-code/warden              the warden, mounted read-only; it needs a python3 in the image

When the evaluator dies, however it dies, the socket closes, the warden ends, and the engine removes the container.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from slop_code.execution.commands import Command, Outcome
from slop_code.execution.docker_container import Container, connect_engine, find_image, remove_stale_containers
from slop_code.execution.driver import Driver, run_setup
from slop_code.execution.environment import DockerEnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.image import Image, Preparation, prepare_image
from slop_code.execution.mounts import LAYOUT
from slop_code.execution.process import Warden
from slop_code.execution.sandbox import sandbox_user
from slop_code.execution.scratch import make_scratch
from slop_code.execution.session import HOST_PATH, Layout, PreparedTools, Session, SetupStep
from slop_code.execution.shell import SHELL
from slop_code.execution.workspace import Template, give, remove


class DockerDriver(Driver):
    """Containers of any engine on this machine that speaks Docker's API."""

    spec: DockerEnvironmentSpec

    def __init__(self, spec: DockerEnvironmentSpec) -> None:
        super().__init__(spec)
        if not spec.docker.mount_workspace:
            raise ExecutionError(
                "docker.mount_workspace: false is not possible: cases need a workspace that we can restore"
            )
        self._client = connect_engine()
        self._image_id = find_image(self._client, spec.docker.image)
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
                shell = Command([SHELL, "-c"], layout.workspace, {**env, **self.spec.environment.env}, user=owner)
                control, janitor = make_scratch("setup-")
                try:
                    container = Container(self._client, self.spec, binds, control, network=network, read_only=False)
                    try:
                        steps = run_setup(lines, container.warden, shell)
                    finally:
                        container.close()
                finally:
                    janitor.close()
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
    """A warm container; commands are processes of the warden inside it.

    One in which something is left that cannot be removed, such as a port that stays taken or counters of what was
    sent, is replaced before the next command or server.
    """

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
        binds = _session_binds(self.folder, self.layout)
        binds[str(tools_folder)] = {"bind": self.layout.tools, "mode": "ro"}
        if assets is not None:
            binds[str(assets)] = {"bind": self.layout.assets, "mode": "ro"}
        for name in template.shared:
            binds[str(template.folder / name)] = {"bind": f"{self.layout.workspace}/{name}", "mode": "ro"}
        # Should we be killed, the warden inside cannot clean up out here, so one outside does.
        self._janitor = Warden.launch(remove=[self.folder])
        try:
            self.make_folders()
            self.restore()
            self._launch = partial(self._new_container, client, binds)
            self._container = self._launch()
        except BaseException:
            self._janitor.close()
            raise

    def run(
        self, line: str, *, stdin: bytes = b"", timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        return self._fresh_warden().run(self.command(line, env, stdin=stdin, timeout=timeout))

    def start(self, line: str, *, env: Mapping[str, str] | None = None) -> None:
        self._fresh_warden().start(self.command(line, env))

    def ended(self) -> Outcome | None:
        return self._container.warden.state()

    def last_words(self) -> bytes:
        return self._container.warden.last_words()

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        return self._container.warden.connect(host, port, timeout)

    def stop(self) -> Outcome:
        return self._container.warden.stop()

    def free_port(self) -> int:
        # The loopback is the container's own, and its servers run one after another.
        return 8000

    def end(self) -> None:
        self._container.close()
        self._janitor.close()

    def _fresh_warden(self) -> Warden:
        if self._container.warden.is_spoiled:
            with self.launching():
                self._container.close()
                self._container = self._launch()
        return self._container.warden

    def _new_container(self, client: Any, binds: dict[str, dict[str, str]]) -> Container:
        control = self.folder / "control"
        remove(control)
        control.mkdir(mode=0o700)
        return Container(client, self.spec, binds, control, network=self.spec.docker.network or "none")


def _layout(spec: DockerEnvironmentSpec) -> Layout:
    return Layout(spec.docker.workdir, LAYOUT.home, LAYOUT.tmp, LAYOUT.tools, LAYOUT.assets)


def _session_binds(folder: Path, layout: Layout) -> dict[str, dict[str, str]]:
    places = {"workspace": layout.workspace, "home": layout.home, "tmp": layout.tmp}
    return {str(folder / name): {"bind": place, "mode": "rw"} for name, place in places.items()}


def _user(spec: DockerEnvironmentSpec) -> tuple[int, int] | None:
    """The user that programs are: the environment's, or, where we are root, one that exists nowhere else."""
    wanted = spec.docker.user
    if wanted is None or os.getuid() != 0:
        return sandbox_user()
    user, _, group = wanted.partition(":")
    if not user.isdigit() or (group and not group.isdigit()):
        raise ExecutionError(f'docker.user "{wanted}" should be numbers, such as "1000:1000"')
    return int(user), int(group or user)
