"""What runs at the same time, on how many workers: one queue for all groups, checkpoints and submissions of a run.

    plain task      a case that nobody can tell from where and when it ran: any worker, any time
    shared ticket   a group that keeps state: one task after another, beside others
    alone ticket    nothing else runs and no other group is in progress; granted when there is nothing else to do

Long tasks go first, where it is known how long they take.
"""

from __future__ import annotations

import heapq
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from types import TracebackType
from typing import Self

from slop_code.evaluation.author_process import Nursery
from slop_code.execution.cores import available_cores


class Ticket:
    """A group's right to run its tasks, one after another. Close it when the group is through."""

    def __init__(self, pool: WorkerPool, *, alone: bool) -> None:
        self._pool = pool
        self.alone = alone
        self.active = False

    def close(self) -> None:
        """Let others have their turn. May be called twice."""
        self._pool._end(self)


class Task:
    """A piece of work for a worker. `company` says, afterwards, whether another one ran at the same time."""

    __slots__ = ("company", "run", "ticket")

    def __init__(self, run: Callable[[], None], ticket: Ticket | None) -> None:
        self.run = run
        self.ticket = ticket
        self.company = False


class WorkerPool:
    """Runs tasks on at most `jobs` threads. Make it in the main thread: it forks the author processes' nursery."""

    def __init__(self, jobs: int | None = None) -> None:
        self.jobs = jobs if jobs is not None else available_cores()
        if self.jobs < 1:
            raise ValueError("a pool needs at least one worker")
        self.nursery = Nursery.get()
        self.stopped = threading.Event()
        self.telling = threading.Lock()
        """Held while a listener is told something: runs that share a pool may share a listener."""
        self._changed = threading.Condition()
        self._plain: list[tuple[float, int, Task]] = []
        self._ticketed: list[Task] = []
        self._running: set[Task] = set()
        self._active: set[Ticket] = set()
        self._numbers = count()
        self._beside = 0
        self._company = 0
        self._threads: list[threading.Thread] = []
        self._closing = False
        self._ports: dict[int, threading.Lock] = {}
        self._wakes: list[Callable[[], None]] = []

    def submit(self, run: Callable[[], None], *, ticket: Ticket | None = None, seconds: float = 0.0) -> Task:
        """Have `run` called by a worker; it must not raise. `seconds` is how long it will take, if that is known."""
        task = Task(run, ticket)
        with self._changed:
            if ticket is None:
                heapq.heappush(self._plain, (-seconds, next(self._numbers), task))
            else:
                self._ticketed.append(task)
            if len(self._threads) < self.jobs and len(self._threads) - len(self._running) < self._queued():
                self._start_thread()
            self._changed.notify()
        return task

    @contextmanager
    def together(self) -> Iterator[None]:
        """Submit several tasks before any of them can begin, so that the longest of them is the first."""
        with self._changed:
            yield

    def ticket(self, *, alone: bool = False) -> Ticket:
        """A ticket for the tasks of a group; it becomes active with the first of them."""
        return Ticket(self, alone=alone)

    @contextmanager
    def beside(self, own: Ticket | None = None, *, is_company: bool = False) -> Iterator[None]:
        """Do something beside the tasks, in this thread; waits while somebody else than `own` has to be alone.

        What `is_company` counts as such for the tasks that run meanwhile.
        """
        with self._changed:
            self._changed.wait_for(lambda: not any(other.alone and other is not own for other in self._active))
            self._beside += 1
            self._company += is_company
            if is_company:
                for task in self._running:
                    task.company = True
        try:
            yield
        finally:
            with self._changed:
                self._beside -= 1
                self._company -= is_company
                if self._ticketed:  # somebody may wait to be alone
                    self._changed.notify_all()

    def port(self, number: int) -> threading.Lock:
        """The lock on a port of this machine."""
        with self._changed:
            return self._ports.setdefault(number, threading.Lock())

    @contextmanager
    def when_stopped(self, wake: Callable[[], None]) -> Iterator[None]:
        """Have `wake` called if the pool is told to stop during the block, or was before."""
        with self._changed:
            self._wakes.append(wake)
        if self.stopped.is_set():
            wake()
        try:
            yield
        finally:
            with self._changed:
                self._wakes.remove(wake)

    def stop(self) -> None:
        """Start nothing more, and wake everybody who waits for tasks; for Ctrl-C."""
        with self._changed:
            self.stopped.set()
            self._plain.clear()
            self._ticketed.clear()
            wakes = list(self._wakes)
        for wake in wakes:
            wake()

    def close(self) -> None:
        """End the workers, when their present tasks are through, and the author processes."""
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        for thread in self._threads:
            thread.join()
        self.nursery.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _queued(self) -> int:
        return len(self._plain) + len(self._ticketed)

    def _start_thread(self) -> None:
        thread = threading.Thread(target=self._work, name=f"worker {len(self._threads) + 1}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while True:
            with self._changed:
                while (task := self._next()) is None:
                    if self._closing:
                        return
                    self._changed.wait()
                self._running.add(task)
                if len(self._running) + self._company > 1:
                    for other in self._running:
                        other.company = True
            try:
                task.run()
            finally:
                with self._changed:
                    self._running.discard(task)
                    if not self._running:
                        self._changed.notify_all()

    def _next(self) -> Task | None:
        """The task to run now, if one may; the caller holds the lock."""
        if any(ticket.alone for ticket in self._active):
            return self._first(lambda ticket: ticket.active) if not self._running else None
        if (task := self._first(lambda ticket: not ticket.alone)) is not None:
            return task
        if self._plain:
            return heapq.heappop(self._plain)[2]
        nobody_else = not self._running and not self._active and not self._beside
        return self._first(lambda ticket: ticket.alone) if nobody_else else None

    def _first(self, may_run: Callable[[Ticket], bool]) -> Task | None:
        """Take the first task whose ticket may run; the ticket is active from then on."""
        for task in self._ticketed:
            if task.ticket is not None and may_run(task.ticket):
                self._ticketed.remove(task)
                self._begin(task.ticket)
                return task
        return None

    def _begin(self, ticket: Ticket) -> None:
        ticket.active = True
        self._active.add(ticket)

    def _end(self, ticket: Ticket) -> None:
        with self._changed:
            ticket.active = False
            self._active.discard(ticket)
            self._changed.notify_all()
