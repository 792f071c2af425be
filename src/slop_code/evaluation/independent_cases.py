"""Cases that nobody can tell the order of: many are out at a time, and they are judged in the loader's order."""

from __future__ import annotations

import contextlib
import time
from collections import deque
from itertools import islice, takewhile
from queue import Empty

from slop_code.evaluation.group_run import Arrived, GroupRun
from slop_code.evaluation.handing_out import HandedOut
from slop_code.evaluation.observation_keys import case_key
from slop_code.evaluation.observations import is_clean
from slop_code.evaluation.scheduler import Ticket
from slop_code.execution.errors import ExecutionError

WINDOW = 256
"""How many cases of a group may be out or waiting to be judged."""
HELD_BYTES = 64 << 20
"""How much of results may wait to be judged before no other case is run than the one whose turn it is."""
_HANDFUL = 16
# How long a result may wait for others to be judged together with it: apart, each costs twice the time.
_COMPANY_S = 0.4


def run_independent(run: GroupRun) -> None:
    """Run all cases of a group, as many at a time as there are workers."""
    run.ticket = ticket = run.around.pool.ticket(alone=True) if run.exclusive else None
    try:
        _Crowd(run, ticket).run()
    finally:
        if ticket is not None:
            ticket.close()


class _Crowd:
    """The cases that are out, and those that came back before their turn."""

    def __init__(self, run: GroupRun, ticket: Ticket | None) -> None:
        self._run = run
        self._ticket = ticket
        self._turns: deque[int] = deque()
        self._back: dict[int, Arrived] = {}
        self._keys: dict[int, str] = {}
        self._kept: dict[int, int | None] = {}
        self._postponed: deque[HandedOut] = deque()
        self._held = 0
        self._waits_since = 0.0
        self._at_once = run.around.options.fail_fast or run.around.options.confirm_failures
        self._exhausted = False
        self._trouble: str | None = None

    def run(self) -> None:
        while not self._run.stops:
            if self._has_room():
                self._send_handful()
            self._resume()
            self._collect()
            if self._run.stops:
                # What comes back from a run that is being stopped is no finding.
                return
            next_turns = self._next_turns()
            if next_turns and self._should_judge(next_turns):
                self._run.judge_ahead(next_turns)
                if not self._settle(self._back.pop(self._turns[0])):
                    return
            elif not self._has_room():
                if not self._turns:
                    break
                self._wait()
        if self._trouble is not None and not self._run.stops:
            self._run.lose("loader", self._trouble)

    def _has_room(self) -> bool:
        """Whether more may be sent out: results that wait for their turn must not pile up."""
        return not self._exhausted and len(self._turns) < WINDOW and self._held < HELD_BYTES

    def _must_wait(self, handed: HandedOut) -> bool:
        """Whether a case may not run now, because too much waits for those before it."""
        return self._held >= HELD_BYTES and handed.position != self._turns[0]

    def _resume(self) -> None:
        """Send out again what had to wait and need not any more."""
        for _ in range(len(self._postponed)):
            handed = self._postponed.popleft()
            if self._must_wait(handed):
                self._postponed.append(handed)
            else:
                self._send_out(handed)

    def _send_handful(self) -> None:
        handful = self._run.take(_HANDFUL)
        self._exhausted, self._trouble = handful.complete, handful.error
        new = []
        for handed in handful.cases:
            self._turns.append(handed.position)
            if handed.trouble:
                self._keys[handed.position] = ""
                self._take_back(Arrived(handed, error=handed.trouble))
                continue
            key = self._keys[handed.position] = case_key(handed.case)
            earlier = self._run.recalled(handed, key)
            if earlier is None:
                new.append(handed)
            else:
                self._run.around.reused(self._run.group, handed.case.id)
                self._take_back(earlier)
        with self._run.around.pool.together():
            for handed in new:
                self._send_out(handed)

    def _next_turns(self) -> list[Arrived]:
        """Those that are back and can be judged one after another."""
        following = (self._back.get(position) for position in islice(self._turns, _HANDFUL))
        return [arrival for arrival in takewhile(lambda arrival: arrival is not None, following) if arrival is not None]

    def _should_judge(self, next_turns: list[Arrived]) -> bool:
        """Whether to judge these now, or rather when there are more of them."""
        return (
            self._at_once
            or len(next_turns) == _HANDFUL
            or self._run.has_judged(next_turns[0])
            or len(self._back) + len(self._postponed) == len(self._turns)
            or self._held >= HELD_BYTES
            or time.monotonic() >= self._waits_since + _COMPANY_S
        )

    def _wait(self) -> None:
        """Wait for a result, or until those that are there should be judged."""
        is_back = self._turns[0] in self._back
        patience = max(0.0, self._waits_since + _COMPANY_S - time.monotonic()) if is_back else None
        with contextlib.suppress(Empty):
            self._take_back(self._run.arrivals.get(timeout=patience))

    def _settle(self, arrival: Arrived) -> bool:
        """Judge the case whose turn it is; false if there is no use in going on."""
        self._held -= _size(arrival)
        if arrival.lost:
            self._run.lose("environment", arrival.error)
            return False
        report = self._run.judged(arrival, may_return=True)
        if report is None:
            self._send_out(arrival.handed, alone=True)
        else:
            self._turns.popleft()
            self._waits_since = time.monotonic()
            position = arrival.handed.position
            key = self._keys.pop(position)
            place = self._kept.pop(position) if position in self._kept else self._run.keep(arrival, key)
            self._run.report(report, arrival, place)
        return True

    def _collect(self) -> None:
        while not self._run.arrivals.empty():
            self._take_back(self._run.arrivals.get())

    def _take_back(self, arrival: Arrived | None) -> None:
        if arrival is None:
            return
        if self._run.runs_again_after_timeout(arrival):
            self._send_out(arrival.handed, alone=True)
        else:
            position = arrival.handed.position
            self._back[position] = arrival
            if position == self._turns[0]:
                self._waits_since = time.monotonic()
            if self._may_be_kept(arrival):
                self._kept[position] = self._run.keep(arrival, self._keys[position])
            self._held += _size(arrival)

    def _may_be_kept(self, arrival: Arrived) -> bool:
        """Whether to store it now: it may have to wait for long, and this process be killed meanwhile.

        Not what may be run again before it is judged, nor what a run that is being stopped gives.
        """
        seen = arrival.observation
        return seen is not None and is_clean(seen) and not self._at_once and not self._run.stops

    def _send_out(self, handed: HandedOut, *, alone: bool = False) -> None:
        run, pool = self._run, self._run.around.pool
        own = pool.ticket(alone=True) if alone and self._ticket is None else None

        def work() -> None:
            if own is None and not run.stops and self._must_wait(handed):
                self._postponed.append(handed)
                run.wake()
                return
            try:
                arrival = self._anywhere(handed)
            finally:
                if own is not None:
                    own.close()
            if arrival is not None:
                run.arrivals.put(arrival._replace(company=task.company))

        seconds = run.around.times.get((run.group.name, handed.case.id), 0.0)
        task = pool.submit(work, ticket=own or self._ticket, seconds=seconds)

    def _anywhere(self, handed: HandedOut) -> Arrived | None:
        run, lanes = self._run, self._run.around.lanes
        if run.stops:
            return None
        run.around.started(run.group, handed.case.id)
        try:
            lane = lanes.take()
        except ExecutionError as error:
            return Arrived(handed, error=str(error), lost=True)
        arrival, usable = run.run_on(lane, handed)
        if usable:
            lanes.give(lane)
        else:
            lanes.drop(lane)
        return arrival


def _size(arrival: Arrived) -> int:
    if arrival.observation is None:
        return 0
    result = arrival.observation.result
    return sum(len(part) for part in (result.output or "", result.stderr or "", *result.files.values()))
