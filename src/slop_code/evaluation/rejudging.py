"""Judging stored observations again, with the loader and the verifier as they are now; nothing is run."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from queue import Queue
from typing import TypeVar

from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.author_desk import AuthorDesk
from slop_code.evaluation.author_process import BenchHandle, DeskError, Nursery
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.error_reports import error_report, lost_group
from slop_code.evaluation.handing_out import HandedOut
from slop_code.evaluation.ledger import Ledger
from slop_code.evaluation.listening import Selection
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.observation_keys import after, case_key, start_of_row
from slop_code.evaluation.recall import Recall
from slop_code.evaluation.report import CorrectnessResults, ReportError, ReportWriter
from slop_code.evaluation.verifiers.json_text import spelled_out
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.execution.cores import available_cores
from slop_code.paths import shown_path

Item = TypeVar("Item")

_HANDFUL = 32
_AHEAD = 4
_MISSING = "there is no observation of this case: it is new since the run, or could not be run then"
_IN_PART = "the observation of this case is not whole: a part was too large to keep, or a secret was masked in it"
_CHANGED = (
    "the case has changed since it was observed, or, in a group that keeps state, one before it has: what was observed "
    "is the answer to another question; eval runs it again"
)


def judge_again(
    directory: Path,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    output_dir: Path,
    *,
    jobs: int | None = None,
) -> CorrectnessResults:
    """Judge the observations of the run in `directory`, and write reports into `output_dir`; both stay readable.

    A case of which there is no observation, or not the whole of it, is an error; an observation belongs to the case
    that asks the same, whatever its name. The results are returned without their reports.

    Raises:
        ReportError: there are no observations, or they cannot be read.
        VerifierError: the problem's verifier cannot be made.
    """
    recall = Recall(directory, strict=True)
    if not recall:
        raise ReportError(
            f"{shown_path(directory)}: has no observations to judge; they are written by eval, eval-problem and "
            "eval-snapshot"
        )
    before = CorrectnessResults.from_dir(directory, with_reports=False)
    results = CorrectnessResults(
        problem_name=problem.name,
        problem_version=problem.version,
        name=checkpoint.name,
        version=checkpoint.version,
        environment=before.environment,
        python=before.python,
        setup_failures=before.setup_failures,
    )
    groups = list(checkpoint.groups.values())
    started = time.monotonic()
    with (
        closing(recall),
        closing(Nursery.get()) as nursery,
        closing(nursery.bench(problem, checkpoint, Selection())) as bench,
        ReportWriter(output_dir, results) as writer,
    ):
        ledger = Ledger(results, groups, writer, keep_reports=False)
        names = {group.name for group in groups}

        def judge(group: GroupConfig) -> None:
            _Group(bench, group, recall, ledger, names - {group.name}).judge()

        _in_threads(groups, judge, jobs or available_cores())
        results.duration = time.monotonic() - started
    return results


def _in_threads(groups: Sequence[GroupConfig], work: Callable[[GroupConfig], None], count: int) -> None:
    waiting = deque(groups)
    failures: list[BaseException] = []

    def judge() -> None:
        try:
            while waiting and not failures:
                work(waiting.popleft())
        except IndexError:
            return
        except BaseException as error:  # noqa: BLE001  # raised again where the caller can see it
            failures.append(error)

    threads = [threading.Thread(target=judge, daemon=True) for _ in range(min(count, len(groups)))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


class _Group:
    """One group, judged from its first case to its last."""

    def __init__(
        self, bench: BenchHandle, group: GroupConfig, recall: Recall, ledger: Ledger, others: Collection[str]
    ) -> None:
        """`others` are the names of the groups beside it."""
        self._bench = bench
        self._group = group
        self._recall = recall
        self._ledger = ledger
        self._others = others
        self._seen: dict[str, int] = {}
        self._earlier = start_of_row(isolated=group.isolated)
        self._row: str | None = None
        """The group of the run whose observations are used, in a group that keeps state."""

    def judge(self) -> None:
        self._ledger.begin_group(self._group)
        try:
            self._desk = AuthorDesk(self._bench, self._group)
        except (LoaderError, DeskError) as error:
            self._ledger.add(self._group, lost_group(self._group, "loader", str(error)))
        else:
            with closing(self._desk):
                # Reports are written while the next ones are made in the author's process.
                for reports in _made_ahead(self._handfuls()):
                    for report in reports:
                        self._ledger.add(self._group, report)
        self._ledger.end_group(self._group)

    def _handfuls(self) -> Iterator[list[VerifierReport]]:
        # Where a store is fed, the next case may be made of the result of this one.
        count = 1 if self._desk.keeps_store else _HANDFUL
        complete = False
        while not complete:
            handful = self._desk.take(count)
            complete = handful.complete
            waiting = deque(self._found_all(handful.cases))
            while waiting:
                ready = [
                    (found.handed.position, found.observation)
                    for found in takewhile(lambda found: found.observation is not None, waiting)
                    if found.observation is not None
                ]
                reports = self._judged(waiting[0], ready)
                for _ in reports:
                    waiting.popleft()
                yield reports
            if handful.error is not None:
                yield [lost_group(self._group, "loader", handful.error)]

    def _judged(self, first: _Found, ready: list[tuple[int, Observation]]) -> list[VerifierReport]:
        """The reports on the first of those that are ready, or on one that is not."""
        if first.observation is None:
            self._desk.drop(first.handed.position)
            return [error_report(first.handed.case, first.trouble)]
        several = self._desk.judge_some(ready) if len(ready) > 1 else []
        return several or [self._desk.judge(first.handed, first.observation, is_last=True)]

    def _found_all(self, cases: Sequence[HandedOut]) -> list[_Found]:
        keys = [case_key(handed.case) for handed in cases]
        if not self._desk.independent:
            for number, key in enumerate(keys):
                keys[number] = self._earlier = after(self._earlier, key)
            if self._row is None:
                self._row = self._likely_row(keys)
        return [self._found(handed, key) for handed, key in zip(cases, keys, strict=True)]

    def _likely_row(self, keys: Sequence[str]) -> str:
        """The group of the run that has most of these cases; of several, this one, else one that is not there any more.

        Results of two groups are not mixed: what one program, server or store went through is one story.
        """
        counts = self._recall.rows_that_asked(keys)
        own = spelled_out(self._group.name)
        return max(counts, key=lambda row: (counts[row], row == own, row not in self._others), default=own)

    def _found(self, handed: HandedOut, key: str) -> _Found:
        name = handed.case.id
        occurrence = self._seen[name] = self._seen.get(name, -1) + 1
        if handed.trouble:
            return _Found(handed, None, handed.trouble)
        try:
            named = self._recall.named(self._group.name, name, occurrence)
            same = named is not None and named.subject.case == key and self._row is None
            kept = named if same else self._recall.asked(key, self._row or "")
        except ReportError as error:
            return _Found(handed, None, str(error))
        if kept is None:
            return _Found(handed, None, _MISSING if named is None else _CHANGED)
        if not kept.whole:
            return _Found(handed, None, _IN_PART)
        return _Found(handed, kept.seen_as(handed.case))


@dataclass(frozen=True, slots=True)
class _Found:
    """A case, and what was observed of it or why there is nothing."""

    handed: HandedOut
    observation: Observation | None
    trouble: str = ""


def _made_ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items, of which the next few are made in a thread of their own."""
    made: Queue[Item | BaseException | None] = Queue(_AHEAD)

    def make() -> None:
        try:
            for item in items:
                made.put(item)
            made.put(None)
        except BaseException as error:  # noqa: BLE001  # raised again where the caller can see it
            made.put(error)

    threading.Thread(target=make, daemon=True).start()
    while (item := made.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        yield item
