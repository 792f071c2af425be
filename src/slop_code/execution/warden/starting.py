"""Starting a program."""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import functools
import os
import signal
import struct

from .system import LIBC, PR_SET_NO_NEW_PRIVS, prctl

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, List, Optional, Tuple, Union

LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, LANDLOCK_SCOPE_SIGNAL = 444, 446, 2


def start_program(
    request: Dict[str, Any], has_stdin: bool, expendable: "Expendable"
) -> Tuple[int, Optional[int], int, int]:
    """Start a program: its number, and our ends of its standard streams.

    All our other descriptors are closed by the exec, so there is nothing else to close.
    """
    ends: List[int] = []
    try:
        for _ in range(3 if has_stdin else 2):
            ends += os.pipe()
        out, its_out, err, its_err, *rest = ends
        its_in = rest[0] if rest else None
        way = _as_another_user if request.get("user") else _as_this_user
        start = functools.partial(way, request, its_in, its_out, its_err)
        with expendable:
            pid = _in_a_scope(start) if request.get("scoped") else start()
    except BaseException:
        for end in ends:
            os.close(end)
        raise
    for end in (its_out, its_err, *rest[:1]):
        os.close(end)
    return pid, rest[1] if rest else None, out, err


def _as_this_user(request: Dict[str, Any], stdin: Optional[int], stdout: int, stderr: int) -> int:
    """Start a program in half the time that `_as_another_user` takes."""
    its_in = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0) if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0)
    os.chdir(request["cwd"])
    try:
        return os.posix_spawnp(
            request["argv"][0],
            request["argv"],
            request["env"],
            file_actions=[its_in, (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)],
            setsid=True,
            # What Python itself ignores.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    finally:
        os.chdir("/")


def _as_another_user(request: Dict[str, Any], stdin: Optional[int], stdout: int, stderr: int) -> int:
    import subprocess

    user, group = request["user"]
    process = subprocess.Popen(
        request["argv"],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=request["cwd"],
        env=request["env"],
        start_new_session=True,
        close_fds=False,
        user=user,
        group=group,
        extra_groups=[],
    )
    # We wait for it ourselves.
    process.returncode = 0
    return process.pid


class Expendable:
    """What is started in this context is what the kernel ends if memory runs out, and not the evaluator.

    Has to be made while this process can still be inspected: later, not even its own user may change it.
    """

    def __init__(self) -> None:
        self.own = -1
        self.before = b"0"
        with contextlib.suppress(OSError):
            self.own = os.open("/proc/self/oom_score_adj", os.O_RDWR)
            self.before = os.pread(self.own, 16, 0)

    def __enter__(self) -> None:
        self._set(b"1000")

    def __exit__(self, *_: object) -> None:
        self._set(self.before)

    def _set(self, value: bytes) -> None:
        if self.own >= 0:
            with contextlib.suppress(OSError):
                os.pwrite(self.own, value, 0)


def _in_a_scope(start: Callable[[], int]) -> int:
    """What `start` returns, called where the kernel lets nobody signal or trace a process that it did not start.

    Such a restriction is a thread's own and goes to what the thread starts. A fork of this process would do as well,
    and take a millisecond longer.
    """
    result: List[Union[int, BaseException]] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def work() -> None:
        try:
            _forbid_signals()
            result.append(start())
        except BaseException as error:  # noqa: BLE001  # raised again where somebody can see it
            result.append(error)
        finally:
            ended.release()

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    ended.acquire()
    started = result[0]
    if isinstance(started, BaseException):
        raise started
    return started


def _forbid_signals() -> None:
    """Where the kernel does not know how to, nothing happens: then there is still the guard."""
    rules = _scope()
    if rules >= 0:
        prctl(PR_SET_NO_NEW_PRIVS, 1)
        LIBC.syscall(LANDLOCK_RESTRICT_SELF, rules, 0)


@functools.lru_cache(maxsize=1)
def _scope() -> int:
    """The kernel's rules for a thread that may signal nobody else, as an open file; negative where it has none."""
    rules = struct.pack("QQQ", 0, 0, LANDLOCK_SCOPE_SIGNAL)
    ruleset: int = LIBC.syscall(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    return ruleset
