"""Locks that several evaluators on one machine respect, and that say who holds them.

A lock is a file that exists while it is held. One that a killed evaluator left behind is held by nobody: the lock
itself is the kernel's, which lets it go with the process.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

LOCK = "evaluation.lock"
_POLL_S = 0.1


@contextmanager
def try_lock(path: Path) -> Iterator[bool]:
    """Hold the lock at `path` for the time of the block, or give False at once if somebody else does.

    Raises:
        OSError: there can be no lock there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = _take(path)
    if handle is None:
        yield False
        return
    try:
        os.ftruncate(handle, 0)
        os.pwrite(handle, json.dumps({"pid": os.getpid(), "host": socket.gethostname()}).encode(), 0)
        yield True
    finally:
        # In this order: whoever opened the file meanwhile finds, once it has the lock, that the file is gone.
        path.unlink(missing_ok=True)
        os.close(handle)


@contextmanager
def wait_for_lock(path: Path, pause: Callable[[float], object]) -> Iterator[None]:
    """Hold the lock at `path`, as soon as it can be had. `pause(seconds)` waits in between, and may raise."""
    while True:
        with try_lock(path) as held:
            if held:
                yield
                return
        pause(_POLL_S)


def holder(path: Path) -> str:
    """Who holds the lock, for people."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        who = json.loads(path.read_text(encoding="utf-8"))
        here = "" if who["host"] == socket.gethostname() else f" on {who['host']}"
        return f"process {int(who['pid'])}{here}"
    return "another process"


def _take(path: Path) -> int | None:
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            return None
        except BaseException:
            os.close(handle)
            raise
        if _is_at(handle, path):
            return handle
        os.close(handle)


def _is_at(handle: int, path: Path) -> bool:
    """Whether the open file is the one at `path`, and not one that its last holder has removed."""
    try:
        there = path.stat()
    except FileNotFoundError:
        return False
    own = os.fstat(handle)
    return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
