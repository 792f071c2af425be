"""The `sandbox` driver: every command in namespaces of its own, made by bubblewrap.

What a program sees is in `mounts`. No network but a private loopback, no other processes, no privileges, no keyrings.
When we are root, the program is an unprivileged user that exists nowhere else; otherwise it is this user in a user
namespace, without any capability. A session's folder also holds, out of the program's sight:

    arguments                   of bubblewrap, which a program could otherwise read as those of its first process
    filter                      for system calls, see `seccomp`
    root                        if we are root: where the warden has mounted, for itself alone, what no program can
                                change; sandboxes are made from there, and get a new network only after one that
                                somebody used
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from itertools import count
from pathlib import Path

from slop_code.execution.bubblewrap import bwrap, kept_capabilities, namespaces, why_not
from slop_code.execution.cgroup import ControlGroup
from slop_code.execution.commands import Outcome, Writable
from slop_code.execution.environment import SandboxEnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.interpreter import own_interpreter
from slop_code.execution.mounts import (
    LAYOUT,
    prepared_once,
    read_only,
    shared_folders,
    shared_memory,
    system_mounts,
    uv_mount,
    whole,
)
from slop_code.execution.process import ARGUMENTS_FD, FILTER_FD, WARDEN_FOLDER, Warden
from slop_code.execution.reachable import ReachableWarden
from slop_code.execution.seccomp import system_call_filter
from slop_code.execution.session import PreparedTools, Session
from slop_code.execution.shell import SHELL, is_one_command
from slop_code.execution.workspace import Template

# bubblewrap gives 128+n for a program that signal n killed, which is also what a program may exit with. A shell in
# between says on descriptor 9, in words and before the number, if it was a signal. A line of one command it can start
# itself; with others, what a shell says of mistakes in them would tell that it was not their own.
_TELLING_SHELL = "exec 8>&2 2>&9 9>&-; ({start} 2>&8 8>&-); s=$?; echo $s >&2; exit $s"
_STARTING_A_SHELL = _TELLING_SHELL.format(start='exec "$0" -c "$1"')
_EXPANDED = frozenset("$`")
_STARTING_IT_ITSELF = _TELLING_SHELL.format(start='eval "$1"')
# Unused ids far above any real account; each session has one of its own, so that sessions cannot touch each other.
_FIRST_USER = 0x70000000
_numbers = count()
_counting = threading.Lock()


class SandboxSession(Session):
    """Each command gets a sandbox of its own; a server and the requests to it share one."""

    spec: SandboxEnvironmentSpec

    def __init__(
        self,
        spec: SandboxEnvironmentSpec,
        template: Template,
        tools: PreparedTools,
        tools_folder: Path,
        assets: Path | None,
        *,
        needed: Sequence[Path] = (),
        uv: Path | None = None,
    ) -> None:
        reason = why_not()
        if reason is not None:
            raise ExecutionError(f"the sandbox cannot be used: {reason}")
        super().__init__(spec, template, tools, owner=sandbox_user())
        self.layout = LAYOUT
        self._bwrap = bwrap()
        self._rlimits = {**self.limits.rlimits(), **self.limits.process_rlimit(self.owner)}
        self._group = ControlGroup.plan(processes=None, memory=self.limits.memory)
        self._warden = Warden.launch(rlimits=self._rlimits, group=self._group, remove=[self.folder])
        self._server: ReachableWarden | None = None
        try:
            self.make_folders()
            self._mounts = [
                *system_mounts(self.folder, tools_folder, assets, network=False),
                *shared_folders(template),
                *read_only([*needed, *map(Path, spec.sandbox.read_only_paths)]),
                *uv_mount(uv),
                shared_memory(self.limits.memory),
            ]
            self._files = self._write_files(self._prepare())
        except BaseException:
            self._warden.close()
            raise

    def run(
        self, line: str, *, stdin: bytes = b"", timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        inside = self.command(line, env, stdin=stdin, timeout=timeout)
        options = {ARGUMENTS_FD: "--args", FILTER_FD: "--seccomp"}
        wrapper = [self._bwrap, *(part for number in self._files for part in (options[number], str(number)))]
        telling = _STARTING_IT_ITSELF if is_one_command(line) and not set(line) & _EXPANDED else _STARTING_A_SHELL
        return self._warden.run(
            inside._replace(
                argv=[*wrapper, "--", *enter(self.owner), SHELL, "-c", telling, SHELL, inside.argv[-1]],
                cwd="/",
                user=None,
                tells_status=True,
                files=self._files,
                writable=self._writable_outside(inside.writable),
            )
        )

    def start(self, line: str, *, env: Mapping[str, str] | None = None) -> None:
        if self._server is not None:
            self._server.close()
        # The warden itself goes into the sandbox: only from there can the server be reached. There it is the first
        # process, which nobody inside can kill or stop, and another user than the server, where we can choose.
        own = own_interpreter()
        needed = read_only([own.prefix, own.path.parent, WARDEN_FOLDER])
        wrapper = [*(self._group.entering() if self._group is not None else ()), self._bwrap]
        wrapper += [*isolation(own_network=True), *whole([*self._mounts, *needed]), "--as-pid-1"]
        wrapper += kept_capabilities("CAP_KILL", "CAP_DAC_READ_SEARCH") if self.owner is not None else []
        with self.launching(), ExitStack() as stack:
            handles = []
            if FILTER_FD in self._files:
                handles.append(stack.enter_context(open(self._files[FILTER_FD], "rb")).fileno())  # noqa: PTH123
                wrapper += ["--seccomp", str(handles[0])]
            launched = Warden.launch(
                rlimits=self._rlimits, prefix=[*wrapper, "--"], python=str(own.path), pass_fds=handles
            )
            server = self._server = ReachableWarden(launched)
        server.start(self.command(line, env))

    def ended(self) -> Outcome | None:
        return self._running().state()

    def last_words(self) -> bytes:
        return self._running().last_words()

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        if self._server is None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "no server is running")
        return self._server.connect(host, port, timeout)

    def stop(self) -> Outcome:
        server = self._running()
        try:
            return server.stop()
        finally:
            server.close()
            self._server = None

    def free_port(self) -> int:
        # The loopback is the sandbox's own, so every port is free.
        return 8000

    def end(self) -> None:
        if self._server is not None:
            self._server.close()
        self._warden.close()

    def _running(self) -> ReachableWarden:
        if self._server is None:
            raise ExecutionError("no server has been started")
        return self._server

    def _prepare(self) -> list[str]:
        """Have the warden prepare what commands can share, where it can; the arguments for what is left to each."""
        if self.owner is None:
            return [*isolation(own_network=True), *whole(self._mounts)]
        root = self.folder / "root"
        root.mkdir()
        outside, inside = prepared_once(self._mounts, root)
        self._warden.enter([self._bwrap, "--unshare-net", *outside, "--"])
        return [*isolation(own_network=False), *inside]

    def _write_files(self, arguments: Sequence[str]) -> dict[int, str]:
        """What bubblewrap reads from descriptors, by their numbers."""
        contents = {
            ARGUMENTS_FD: ("arguments", b"".join(os.fsencode(word) + b"\0" for word in arguments)),
            FILTER_FD: ("filter", system_call_filter()),
        }
        files: dict[int, str] = {}
        for number, (name, content) in contents.items():
            if content is not None:
                (self.folder / name).write_bytes(content)
                files[number] = str(self.folder / name)
        return files

    def _writable_outside(self, inside: Writable | None) -> Writable | None:
        """The same folders as the warden sees them that is not in the sandbox."""
        if inside is None:
            return None
        return Writable(tuple(str(self.folder / name) for name in ("workspace", "home", "tmp")), given=inside.given)


def sandbox_user() -> tuple[int, int] | None:
    """The user that a session's programs are, when we are root; None when we are not, and they stay this user."""
    if os.getuid() != 0:
        return None
    with _counting:
        number = _FIRST_USER + (os.getpid() % (1 << 17)) * 512 + next(_numbers) % 512
    return number, number


def isolation(*, own_network: bool) -> list[str]:
    """The arguments of bubblewrap that every sandbox begins with; what is to be seen in it follows."""
    return [
        *namespaces(own_network=own_network), "--die-with-parent", "--hostname", "sandbox", "--chdir", LAYOUT.workspace,
    ]  # fmt: skip


def enter(owner: tuple[int, int] | None) -> list[str]:
    """The command that gives up every privilege before the program begins, where bubblewrap was run by root."""
    if owner is None:
        return []
    setpriv = shutil.which("setpriv") or "/usr/bin/setpriv"
    user, group = owner
    return [
        setpriv, f"--reuid={user}", f"--regid={group}", "--clear-groups", "--no-new-privs",
        "--inh-caps=-all", "--bounding-set=-all", "--",
    ]  # fmt: skip
