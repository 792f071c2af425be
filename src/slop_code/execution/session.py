"""A place to run commands over one prepared submission: the one interface of the three drivers."""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.commands import Command, Outcome, Writable
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.scratch import scratch_name
from slop_code.execution.shell import shell_argv
from slop_code.execution.workspace import Template, Workspace, empty, remove


class Layout(NamedTuple):
    """Where a program finds things: its workspace, HOME, TMPDIR, prepared tools (read-only) and assets (read-only)."""

    workspace: str
    home: str
    tmp: str
    tools: str
    assets: str


class SetupStep(NamedTuple):
    """A setup command that was run, and how it ended."""

    command: str
    status: int
    output: str
    seconds: float


class PreparedTools(NamedTuple):
    """What preparation put beside the workspace: folders for PATH and variables, as programs see them."""

    path: tuple[str, ...] = ()
    env: Mapping[str, str] | None = None


class Session(ABC):
    """One worker's place: a workspace that can be made fresh, and a way to run commands in it.

    For one thread at a time, but `close` may be called from any. Commands are lines for a POSIX shell, run in the
    workspace. Nothing that a command started is alive when `run` or `stop` returns.
    """

    layout: Layout

    def __init__(
        self, spec: EnvironmentSpec, template: Template, tools: PreparedTools, *, owner: tuple[int, int] | None = None
    ) -> None:
        self.spec = spec
        self.template = template
        self.limits = spec.limits.as_limits()
        self.tools = tools
        self.owner = owner
        self.folder = scratch_name()
        self._changing = threading.Lock()
        self._is_closed = False
        self._private_folders = (str(self.folder / "home"), str(self.folder / "tmp"))

    def make_folders(self, *, link_shared: bool = False) -> None:
        """Make the session's folder with what is in it; a helper that will remove it should be there by now.

        Raises:
            ExecutionError: the disk is full, or the like.
        """
        try:
            self.folder.mkdir(mode=0o700)
            self._workspace = Workspace(
                self.folder / "workspace", self.template, owner=self.owner, link_shared=link_shared
            )
            self._empty_private_folders()
        except OSError as error:
            raise ExecutionError(f"no workspace can be made: {error.strerror or error}") from error

    @property
    def workspace(self) -> Path:
        """The workspace as this process sees it, to put files in and take files out."""
        return self._workspace.folder

    def restore(self) -> None:
        """Make workspace, HOME and TMPDIR fresh.

        Raises:
            ExecutionError: they cannot be, whatever a program did to them; or the session is closed.
        """
        if self._is_closed:
            raise ExecutionError(_CLOSED)
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(self.folder, 0o700)  # noqa: PTH102
            self._workspace.restore()
            self._empty_private_folders()
        except OSError as error:
            raise ExecutionError(f"the workspace cannot be restored: {error.strerror or error}") from error

    def _empty_private_folders(self) -> None:
        for folder in self._private_folders:
            empty(folder, self.owner)

    def hold_open(self) -> None:
        """Make sure that the workspace can be entered, by us and by the next command, without a fresh start.

        Raises:
            ExecutionError: it cannot be.
        """
        try:
            self._workspace.hold_open()
        except OSError as error:
            raise ExecutionError(f"the workspace cannot be entered: {error.strerror or error}") from error

    @abstractmethod
    def run(
        self, line: str, *, stdin: bytes = b"", timeout: float | None = None, env: Mapping[str, str] | None = None
    ) -> Outcome:
        """Run a command line to its end.

        Raises:
            ExecutionError: it could not be run, through no fault of the submission.
        """

    @abstractmethod
    def start(self, line: str, *, env: Mapping[str, str] | None = None) -> None:
        """Start a server and leave it running until `stop`."""

    @abstractmethod
    def ended(self) -> Outcome | None:
        """What the server gave if it has ended by itself, else None."""

    @abstractmethod
    def last_words(self) -> bytes:
        """The last part of what the server has written to stderr so far."""

    @abstractmethod
    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        """A connection to the server, also where it has no network of its own; raises OSError if nobody listens."""

    @abstractmethod
    def stop(self) -> Outcome:
        """End the server with everything that it started; gives the last part of its streams."""

    @abstractmethod
    def free_port(self) -> int:
        """A port that the server can listen on."""

    def close(self) -> None:
        """End everything and remove the session's folder; nothing can be started any more. May be called twice."""
        with self._changing:
            self._is_closed = True
        self.end()
        remove(self.folder)

    @abstractmethod
    def end(self) -> None:
        """End the driver's own helpers, with all that they run. For `close`; may be called twice."""

    @contextlib.contextmanager
    def launching(self) -> Iterator[None]:
        """For a `with` block in which a helper process is launched: `close` then sees it.

        Raises:
            ExecutionError: the session is closed, perhaps by another thread.
        """
        with self._changing:
            if self._is_closed:
                raise ExecutionError(_CLOSED)
            yield

    def command(
        self, line: str, env: Mapping[str, str] | None, *, stdin: bytes = b"", timeout: float | None = None
    ) -> Command:
        """A command line as a program for the shell, in the workspace, with the session's variables and limits."""
        return Command(
            argv=shell_argv(line),
            cwd=self.layout.workspace,
            env=self.environment(env),
            stdin=stdin,
            timeout=self.at_most(timeout),
            limits=self.limits,
            user=self.owner,
            writable=self.writable,
        )

    @cached_property
    def writable(self) -> Writable:
        """The folders that programs can write to, as they see them."""
        return Writable(
            (self.layout.workspace, self.layout.home, self.layout.tmp),
            tuple(f"{self.layout.workspace}/{name}" for name in self.template.shared),
            self.template.size,
        )

    def at_most(self, timeout: float | None) -> float | None:
        """A case's timeout, under the environment's own limit: without it a program could hang for ever."""
        given = [limit for limit in (timeout, self.spec.limits.case_s) if limit is not None]
        return min(given, default=None)

    def environment(self, extra: Mapping[str, str] | None = None) -> dict[str, str]:
        """A command's variables: the host's if included, then ours, then the environment file's, then `extra`."""
        return {**self._variables, **(extra or {})}

    @cached_property
    def _variables(self) -> dict[str, str]:
        ours = {
            "PATH": ":".join([*self.tools.path, *self.host_path()]),
            "HOME": self.layout.home,
            "TMPDIR": self.layout.tmp,
            "LANG": "C.UTF-8",
            # Cases have no network, so tools that would reach for it are told at once.
            "UV_OFFLINE": "1",
            "UV_NO_SYNC": "1",
            "PIP_NO_INDEX": "1",
            **(self.tools.env or {}),
        }
        return {**self.spec.host_env(), **ours, **self.spec.environment.env}

    def host_path(self) -> Sequence[str]:
        """The host's tool folders, for PATH."""
        return HOST_PATH


_CLOSED = "the session has been closed"
HOST_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")


def free_local_port() -> int:
    """A TCP port of this machine that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
