"""A program to start, what it may take, and how it ended: plain values, the same in every driver."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple


class Limits(NamedTuple):
    """What a command may take. The defaults are far above what an honest program needs."""

    memory: int | None = 4 << 30
    processes: int | None = 1024
    file_size: int | None = 1 << 30
    open_files: int | None = 4096
    output: int = 10 << 20
    disk: int | None = 4 << 30

    def rlimits(self) -> dict[str, int]:
        """The limits that the kernel enforces on each process by itself."""
        chosen = {
            "RLIMIT_DATA": self.memory,
            "RLIMIT_FSIZE": self.file_size,
            "RLIMIT_NOFILE": self.open_files,
            "RLIMIT_CORE": 0,
        }
        return {name: value for name, value in chosen.items() if value is not None}

    def process_rlimit(self, user: tuple[int, int] | None) -> dict[str, int]:
        """The kernel's limit on the processes of `user`, who has no others; or of this user, who has others already."""
        if self.processes is None:
            return {}
        if user is not None:
            return {"RLIMIT_NPROC": self.processes}
        if os.getuid() == 0:
            return {}
        others = sum(1 for entry in os.scandir("/proc") if entry.name.isdigit() and _owner(entry) == os.getuid())
        return {"RLIMIT_NPROC": 2 * others + self.processes}


class Writable(NamedTuple):
    """The folders that a program can write to, as its warden sees them; `given` bytes are in them from the start.

    What is in the folders `without` is not the program's.
    """

    folders: tuple[str, ...]
    without: tuple[str, ...] = ()
    given: int = 0


class Command(NamedTuple):
    """A program to start: its exact arguments and all that it sees.

    One that `tells_status` writes to descriptor 9 how its own child ended: a shell's words for a signal, if it was one,
    then the exit code. `files` are opened for it under numbers that the warden keeps for that. One that is `scoped` can
    signal and trace only what it started itself, where the kernel can do that.
    """

    argv: Sequence[str]
    cwd: str
    env: Mapping[str, str]
    stdin: bytes = b""
    timeout: float | None = None
    limits: Limits = Limits()
    user: tuple[int, int] | None = None
    tells_status: bool = False
    writable: Writable | None = None
    files: Mapping[int, str] = MappingProxyType({})
    scoped: bool = False


class Outcome(NamedTuple):
    """How a command ended and what it gave.

    `status` is the exit code, the negative number of the signal that killed it, or -1 after a timeout. `note` says
    which limit it met, if it was ended for that. `cut` names the streams of which only a part was kept.
    """

    status: int
    stdout: bytes
    stderr: bytes
    timed_out: bool
    wall_s: float
    cpu_s: float
    peak_memory: int
    note: str = ""
    cut: tuple[str, ...] = ()


def _owner(entry: os.DirEntry[str]) -> int | None:
    try:
        return entry.stat().st_uid
    except OSError:
        return None
