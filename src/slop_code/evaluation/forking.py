"""Processes that are forked to serve, and end with whoever forked them."""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NoReturn

from slop_code.descriptors import occupy_missing
from slop_code.evaluation.channel import Channel, ChannelClosed

_FAREWELL_S = 1.0
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def fork_child(serve: Callable[[], NoReturn], others: list[Channel], *, dies_with_parent: bool = True) -> int:
    """Fork a process that serves, without what belongs to its parent."""
    parent = os.getpid()
    pid = os.fork()
    if pid:
        return pid
    try:
        if dies_with_parent:
            ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != parent:
                os._exit(1)
        for channel in others:
            channel.close_copy()
        serve()
    except BaseException as error:  # noqa: BLE001  # nothing may run on in what is a copy of the evaluator
        with contextlib.suppress(Exception):
            os.write(2, f"slop-code: an author process failed: {type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(1)


def fork_on_demand(channel: Channel, serve: Callable[[Any, list[int]], NoReturn]) -> NoReturn:
    """For every message fork a child that serves it, until the other side is gone; then end them all.

    What a child started, and left in a session of its own, becomes a child of this process, and ends with them.
    """
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    children: set[int] = set()
    folders: list[Path] = []
    while True:
        occupy_missing()
        try:
            message, descriptors = channel.receive_with_descriptors()
        except ChannelClosed:
            break
        if isinstance(message, Path):
            folders.append(message)
            continue
        children.add(fork_child(partial(serve, message, descriptors), [channel]))
        for descriptor in descriptors:
            os.close(descriptor)
        _reap(children)
    deadline = time.monotonic() + _FAREWELL_S
    while children and time.monotonic() < deadline:
        _reap(children)
        time.sleep(0.002)
    for pid in children:
        with contextlib.suppress(OSError):
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
    _end_strays()
    for folder in folders:
        shutil.rmtree(folder, ignore_errors=True)
    os._exit(0)


def _reap(children: set[int]) -> None:
    for pid in list(children):
        if os.waitpid(pid, os.WNOHANG)[0]:
            children.discard(pid)


def _end_strays() -> None:
    """Kill and reap until this process has no children at all."""
    with contextlib.suppress(OSError):
        while True:
            if os.waitpid(-1, os.WNOHANG)[0]:
                continue
            for pid in Path("/proc/self/task", str(threading.get_native_id()), "children").read_text().split():
                os.kill(int(pid), signal.SIGKILL)
            time.sleep(0.002)
