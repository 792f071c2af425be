"""Calls of the kernel that Python does not have, and what a process can say about itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Iterator, Optional, Tuple

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
RLIMIT_KINDS = 16
LIBC = ctypes.CDLL(None)
CHUNK = 1 << 16


def prctl(option: int, value: int) -> None:
    """Change something about this process, or thread."""
    LIBC.prctl(option, value, 0, 0, 0)


def condition() -> Tuple[Any, ...]:
    """What somebody could change about this process from outside, to hinder it."""
    limits = tuple(resource.getrlimit(kind) for kind in range(RLIMIT_KINDS))
    return limits, os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)


def forget_peak() -> None:
    """A program's peak memory starts from that of the process which forked it: make this one's small again."""
    prctl(PR_SET_DUMPABLE, 1)
    write_to("/proc/self/clear_refs", "5")
    prctl(PR_SET_DUMPABLE, 0)


@contextlib.contextmanager
def acting_as(user: Optional[int]) -> Iterator[None]:
    """Be another user in this context, where we are root."""
    if user is None or os.geteuid() != 0:
        yield
        return
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


def write_to(path: str, text: str) -> None:
    """Write to one of the kernel's files; where that is not possible, nothing happens."""
    with contextlib.suppress(OSError), open(path, "w") as file:
        file.write(text)
