"""Cases that depend on each other, through a server, a workspace or a store: one after another, in one lane."""

from __future__ import annotations

import secrets
from contextlib import ExitStack

from slop_code.evaluation.author_process import DeskError
from slop_code.evaluation.group_run import Arrived, GroupRun
from slop_code.evaluation.handing_out import HandedOut
from slop_code.evaluation.lanes import Lane
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.observation_keys import after, case_key, start_of_row
from slop_code.evaluation.observations import Subject
from slop_code.evaluation.recall import Recall
from slop_code.evaluation.scheduler import Ticket
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.execution.errors import ExecutionError

_TRIES = 3
"""How many earlier runs are looked at that begin with the same case, before the group is run."""


def run_in_order(run: GroupRun) -> None:
    """Run all cases of a group that keeps state.

    A case that timed out in company, or failed and is to be confirmed, is run again alone, and since it depends on
    those before it they are too; their reports stay as they are.
    """
    last = run.desk.last_wanted() if run.around.selects_cases else None
    if last == -1:
        return
    first = 0
    alone = run.exclusive
    recall = run.around.recall
    if recall is not None and not run.around.options.confirm_failures:
        try:
            if _replayed(run, recall, last):
                return
        except (LoaderError, DeskError) as error:
            run.lose("loader", str(error))
            return
    while True:
        with ExitStack() as stack:
            run.ticket = ticket = run.around.pool.ticket(alone=alone)
            stack.callback(ticket.close)
            again = _Row(run, ticket, stack).run(first, last)
        if again is None:
            return
        first, alone = again, True
        try:
            run.desk.begin_again()
        except (LoaderError, DeskError) as error:
            run.lose("loader", str(error))
            return


def _replayed(run: GroupRun, recall: Recall, last: int | None) -> bool:
    """Judge the whole group by what one earlier run of it observed; false if none has all of it.

    Then the desk is back at its first case. Raises what opening a desk does.
    """
    earlier: list[str] | None = None
    for _ in range(_TRIES):
        replay = _Replay(run, recall, earlier)
        if replay.judge(last):
            return True
        run.desk.begin_again()
        earlier = replay.others
        if not earlier:
            break
    return False


class _Replay:
    """One pass through the cases, with what one earlier run of the row observed.

    Later cases may be made of earlier results, so it shows only on the way whether they are the same.
    """

    def __init__(self, run: GroupRun, recall: Recall, earlier: list[str] | None) -> None:
        """`earlier` are the runs to choose from, or None for all."""
        self._run = run
        self._recall = recall
        self._earlier = earlier
        self._row_run: str | None = None
        self.others: list[str] = []
        """The runs that may have what this one lacks."""

    def judge(self, last: int | None) -> bool:
        """Report all cases to `last`; nothing of them, and false, if the run lacks one."""
        run = self._run
        key = start_of_row(isolated=run.group.isolated)
        reports: list[tuple[VerifierReport, Arrived, str]] = []
        while not run.stops:
            handful = run.take(1)
            if handful.error is not None:
                self.others = []
                return False
            if not handful.cases:
                break
            handed = handful.cases[0]
            key = after(key, case_key(handed.case))
            arrival = self._recalled(handed, key)
            report = None if arrival is None else run.judged(arrival, may_return=False)
            if arrival is None or report is None:
                return False
            if handed.wanted:
                reports.append((report, arrival, key))
            if last is not None and handed.position >= last:
                break
        for report, arrival, part in reports:
            run.around.reused(run.group, report.id)
            run.report(report, arrival, run.keep(arrival, part))
        return True

    def _recalled(self, handed: HandedOut, key: str) -> Arrived | None:
        known = self._recall.row_runs(Subject(self._run.around.place, key), self._run.group.name)
        if self._row_run is None:
            chosen = known if self._earlier is None else [name for name in self._earlier if name in known]
            if not chosen:
                return None
            self._row_run, *self.others = chosen
        elif not self._run.desk.keeps_store:
            # The cases are the same whatever was observed, so a run that lacks this one would be tried in vain.
            self.others = [name for name in self.others if name in known]
        return self._run.recalled(handed, key, self._row_run)


class _Row:
    """One pass through the cases, in one lane."""

    def __init__(self, run: GroupRun, ticket: Ticket, stack: ExitStack) -> None:
        self._run = run
        self._name = secrets.token_hex(16)
        self._ticket = ticket
        self._stack = stack
        self._lane: Lane | None = None

    def run(self, first: int, last: int | None) -> int | None:
        """Report the cases from `first` to `last`; the position of a case that has to be run again, alone."""
        run = self._run
        key = start_of_row(isolated=run.group.isolated)
        while not run.stops:
            handful = run.take(1)
            if handful.error is not None:
                run.lose("loader", handful.error)
            if not handful.cases:
                return None
            handed = handful.cases[0]
            key = after(key, case_key(handed.case))
            arrival = self._put(handed)
            # What a run that is being stopped gives is no finding.
            if arrival is None or run.stops:
                return None
            if arrival.lost:
                run.lose("environment", arrival.error)
                return None
            counts = handed.wanted and handed.position >= first
            if counts and run.runs_again_after_timeout(arrival):
                return handed.position
            report = run.judged(arrival, may_return=False, confirms=counts)
            if report is None:
                return handed.position
            if counts:
                run.report(report, arrival, run.keep(arrival, key))
            if last is not None and handed.position >= last:
                return None
        return None

    def _put(self, handed: HandedOut) -> Arrived | None:
        """Have a worker run the case and wait for it; None if the run is being stopped."""
        run = self._run
        if handed.trouble:
            return Arrived(handed, error=handed.trouble)

        def work() -> None:
            if run.stops:
                return
            if handed.wanted:
                run.around.started(run.group, handed.case.id)
            run.arrivals.put(self._in_lane(handed)._replace(company=task.company))

        task = run.around.pool.submit(work, ticket=self._ticket)
        arrival = run.arrivals.get()
        while arrival is None and not run.stops:
            arrival = run.arrivals.get()
        return arrival

    def _in_lane(self, handed: HandedOut) -> Arrived:
        lanes = self._run.around.lanes
        try:
            if self._lane is None:
                self._lane = lanes.take()
                self._stack.callback(lanes.drop, self._lane)
            elif handed.case.reset or (self._run.around.is_cli and self._run.group.isolated):
                self._lane.make_fresh()
        except ExecutionError as error:
            return Arrived(handed, error=str(error), lost=True)
        arrival = self._run.run_on(self._lane, handed)[0]
        if arrival.observation is None:
            return arrival
        return arrival._replace(observation=arrival.observation._replace(row_run=self._name))
