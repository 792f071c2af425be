"""The `local` driver: plain processes of this user. The quickest, and no protection against ill will."""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

from slop_code.execution.cgroup import ControlGroup
from slop_code.execution.commands import Command, Outcome
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.process import Warden
from slop_code.execution.reachable import ReachableWarden
from slop_code.execution.session import HOST_PATH, Layout, PreparedTools, Session, free_local_port
from slop_code.execution.workspace import Template


class LocalSession(Session):
    """Commands run as this user, in a temporary folder, with the paths of this machine."""

    def __init__(
        self, spec: EnvironmentSpec, template: Template, tools: PreparedTools, tools_folder: Path, assets: Path | None
    ) -> None:
        super().__init__(spec, template, tools)
        self.layout = Layout(
            workspace=str(self.folder / "workspace"),
            home=str(self.folder / "home"),
            tmp=str(self.folder / "tmp"),
            tools=str(tools_folder),
            assets=str(assets) if assets else "",
        )
        self._warden = self._launch()
        try:
            self.make_folders(link_shared=True)
        except BaseException:
            self._warden.close()
            raise

    def run(
        self, line: str, *, stdin: bytes = b"", timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        return self._sound_warden().run(self.command(line, env, stdin=stdin, timeout=timeout))

    def start(self, line: str, *, env: Mapping[str, str] | None = None) -> None:
        self._sound_warden().start(self.command(line, env))

    def ended(self) -> Outcome | None:
        return self._warden.state()

    def last_words(self) -> bytes:
        return self._warden.last_words()

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        return socket.create_connection((host, port), timeout)

    def stop(self) -> Outcome:
        return self._warden.stop()

    def free_port(self) -> int:
        return free_local_port()

    def end(self) -> None:
        self._warden.close()

    def host_path(self) -> Sequence[str]:
        return host_path()

    def command(
        self, line: str, env: Mapping[str, str] | None, *, stdin: bytes = b"", timeout: float | None = None
    ) -> Command:
        return super().command(line, env, stdin=stdin, timeout=timeout)._replace(scoped=True)

    def _launch(self) -> ReachableWarden:
        warden = Warden.launch(
            rlimits={**self.limits.rlimits(), **self.limits.process_rlimit(None)},
            group=ControlGroup.plan(processes=self.limits.processes, memory=self.limits.memory),
            remove=[self.folder],
        )
        return ReachableWarden(warden)

    def _sound_warden(self) -> ReachableWarden:
        """The warden, or a new one if a program has killed or hindered it."""
        if self._warden.is_spoiled:
            with self.launching():
                self._warden.close(keep_folders=True)
                self._warden = self._launch()
            if not self.folder.exists():
                self.restore()
        return self._warden


def host_path() -> list[str]:
    """The folders of this machine's tools: those on our own PATH, then the usual ones."""
    given = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    return list(dict.fromkeys([*given, *HOST_PATH]))
