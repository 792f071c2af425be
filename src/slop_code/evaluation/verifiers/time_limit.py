"""A time limit for Python code that runs in the calling thread.

One watchdog thread serves all. When a call's time is up, it has `TimeIsUp` raised in the middle of that call, at its
next step of Python code. That is the limit of it: a single step that does not end, such as a wait for a process, a
`time.sleep` or a regular expression that backtracks for hours, cannot be interrupted from within the process. Such
a call is reported in the log, and ended as soon as the step does.

Nothing is ever raised after `run_limited` has returned: raising and ending exclude each other by a lock.
"""

from __future__ import annotations

import ctypes
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from slop_code.logging import get_logger

Returned = TypeVar("Returned")

_AGAIN_S = 0.5
_once: Any = BaseException.__init__
_TIMES_UNTIL_REPORTED = 10
_raise_in: Any = ctypes.PYFUNCTYPE(None, ctypes.c_ulong, ctypes.py_object)(
    ("PyThreadState_SetAsyncExc", ctypes.pythonapi)
)


class TimeIsUp(BaseException):
    """Raised inside a call whose time is up. It is no Exception, so that `except Exception` lets it pass."""


def run_limited(function: Callable[[], Returned], seconds: float) -> Returned:
    """Return what `function` returns. A call within a limited call shares the limit of the outer one.

    Raises:
        TimeIsUp: it took longer, whether or not it then came to an end.
    """
    watch = _Watch(threading.get_ident(), time.monotonic() + seconds)
    if watch.thread in _watchdog.watches:
        return function()
    # Until `stop` is through, the exception can strike at any call, also at `stop` itself. Once the two assignments
    # are made, that can be twice at most: one that was waiting, and one that the watchdog was just about to raise.
    try:
        try:
            try:
                _watchdog.start(watch)
                returned = function()
            finally:
                watch.is_over = True
                watch.insistent.__init__ = _once
                _watchdog.stop(watch)
        except TimeIsUp:
            _watchdog.stop(watch)
            raise
    except TimeIsUp:
        _watchdog.stop(watch)
        raise
    if watch.times_raised:
        raise TimeIsUp
    return returned


class _Watch:
    """One call, and when it has to be over."""

    __slots__ = ("deadline", "insistent", "is_over", "thread", "times_raised")

    def __init__(self, thread: int, deadline: float) -> None:
        self.thread = thread
        self.deadline = deadline
        self.is_over = False
        self.times_raised = 0
        self.insistent: Any = _Unused


class _Unused:
    """Stands for the insistent kind of a call that needs none."""


class _Watchdog:
    """The thread that looks after all calls; started with the first one."""

    def __init__(self) -> None:
        self.watches: dict[int, _Watch] = {}
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._wakes_at = math.inf
        self._thread: threading.Thread | None = None

    def start(self, watch: _Watch) -> None:
        with self._lock:
            self.watches[watch.thread] = watch
            # Hardly ever true: the watchdog sleeps until the deadline of some earlier call, and looks again then.
            if watch.deadline < self._wakes_at:
                self._wakes_at = watch.deadline
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="verifier time limit", daemon=True)
                    self._thread.start()
                self._changed.notify()

    def stop(self, watch: _Watch) -> None:
        with self._lock:
            if self.watches.get(watch.thread) is watch:
                del self.watches[watch.thread]
            if watch.times_raised:
                _raise_in(watch.thread, ctypes.py_object())  # takes back what has not struck yet

    def _run(self) -> None:
        while True:
            with self._lock:
                now = time.monotonic()
                stuck = [watch for watch in self.watches.values() if watch.deadline <= now and self._end(watch, now)]
                self._wakes_at = min((watch.deadline for watch in self.watches.values()), default=math.inf)
                if not stuck:
                    self._changed.wait(None if self._wakes_at == math.inf else max(0.0, self._wakes_at - now))
            for watch in stuck:
                _report(watch)

    def _end(self, watch: _Watch, now: float) -> bool:
        """Have the call end; true if that has failed too often. The caller holds the lock."""
        if watch.is_over:
            return False
        watch.times_raised += 1
        watch.deadline = now + _AGAIN_S
        if watch.times_raised == 1:
            # The first time, code may put things in order on its way out.
            watch.insistent = _insistent(watch.thread)
            _raise_in(watch.thread, TimeIsUp)
        else:
            _raise_in(watch.thread, watch.insistent)
        return watch.times_raised == _TIMES_UNTIL_REPORTED


def _insistent(thread: int) -> type[TimeIsUp]:
    """A kind that, each time it is raised, has itself raised once more.

    Code with a bare `except:` in a loop swallows an exception that strikes within its `try`. The next one then
    strikes outside of it. The constructor is C code throughout, since Python code would be struck itself.
    """
    kind: Any = type("TimeIsUp", (TimeIsUp,), {})
    kind.__init__ = staticmethod(partial(_raise_in, thread, kind))
    return kind  # type: ignore[no-any-return]


def _report(watch: _Watch) -> None:
    frame = sys._current_frames().get(watch.thread)
    where = f"{frame.f_code.co_filename}:{frame.f_lineno}" if frame else "unknown"
    get_logger(__name__).warning("a verifier is over its time limit, in a step that cannot be interrupted", at=where)


def _start_anew() -> None:
    global _watchdog
    _watchdog = _Watchdog()


_watchdog = _Watchdog()
# A forked process has no watchdog thread, and its lock may be held by one that is gone.
os.register_at_fork(after_in_child=_start_anew)
