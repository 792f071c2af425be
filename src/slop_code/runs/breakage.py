"""One submission from checkpoint to checkpoint: for each case the first one at which it broke, and what changed there.

A case is followed by where it comes from. In a regression group that is the original checkpoint and group, which its
report names; elsewhere it is the group itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slop_code.evaluation.config.models import ProblemConfig
from slop_code.execution.errors import ExecutionError
from slop_code.runs.case_records import CaseRecord, iter_records, why
from slop_code.runs.comparison import Totals
from slop_code.runs.discovery import SNAPSHOT
from slop_code.runs.result_folders import ResultFolder, natural
from slop_code.runs.snapshot_changes import FileChanges, snapshot_changes

Origin = tuple[str, str]
"""Checkpoint and group."""


@dataclass(frozen=True, slots=True)
class BrokenCase:
    """A case that passed at one checkpoint, and not at the next one that has it."""

    origin: Origin
    before: CaseRecord
    after: CaseRecord
    passes_again: str | None
    """The first later checkpoint at which it passes."""

    @property
    def name(self) -> str:
        """`checkpoint/group/id`, as it was first known."""
        return "/".join((*self.origin, self.after.id))

    @property
    def why(self) -> str:
        """What differs, in one line."""
        return why(self.before, self.after)


@dataclass(frozen=True, slots=True)
class Step:
    """From one checkpoint to another: the cases that broke on the way, and the files that changed."""

    since: str
    checkpoint: str
    results: Path
    """Where the reports of the latter are."""
    cases: list[BrokenCase]
    files: FileChanges | None
    trouble: str = ""
    """Why the files are not known."""


@dataclass(frozen=True, slots=True)
class Breakage:
    """What became of the cases of one problem. `followed` are those that are in more than one checkpoint."""

    problem: str
    checkpoints: dict[str, Totals]
    incomplete: list[str]
    followed: int
    steps: list[Step]

    @property
    def broken(self) -> int:
        """How many cases broke."""
        return sum(len(step.cases) for step in self.steps)


def in_order(folders: Iterable[ResultFolder], problem: ProblemConfig | None) -> list[ResultFolder]:
    """Results by the order of the problem's checkpoints; those that it does not know come last, by name."""
    known = [checkpoint.name for checkpoint in problem.iterate_checkpoints()] if problem else []

    def place(folder: ResultFolder) -> tuple[int, list[str | tuple[int, str]]]:
        name = folder.checkpoint
        return known.index(name) if name in known else len(known), natural(name)

    return sorted(folders, key=place)


def follow_cases(folders: Sequence[ResultFolder], problem: ProblemConfig | None = None) -> Breakage:
    """Follow the cases of one problem through its checkpoints, which are in order.

    Of each case only the last record is held. `problem` tells the names of checkpoints from the keys that they are
    configured under; without it they are taken to be the same.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    names = {key: checkpoint.name for key, checkpoint in problem.checkpoints.items()} if problem else {}
    followed: dict[tuple[Origin, str], _Followed] = {}
    origins: dict[Origin, Origin] = {}
    totals: dict[str, Totals] = {}
    for folder in folders:
        own = totals[folder.checkpoint] = Totals(score=folder.summary().score)
        for case, record in _cases_of(folder, names, origins, own).items():
            if case in followed:
                followed[case].goes_on(folder.checkpoint, record)
            else:
                followed[case] = _Followed(folder.checkpoint, record)
    return Breakage(
        problem=folders[0].problem,
        checkpoints=totals,
        incomplete=[folder.checkpoint for folder in folders if not folder.complete],
        followed=sum(case.checkpoints > 1 for case in followed.values()),
        steps=_steps(followed, folders),
    )


class _Followed:
    """A case on its way: how it ended last, and where it broke."""

    __slots__ = ("broke", "checkpoints", "last", "passes_again")

    def __init__(self, checkpoint: str, record: CaseRecord) -> None:
        self.checkpoints = 1
        self.last = (checkpoint, record)
        self.broke: tuple[str, CaseRecord, str, CaseRecord] | None = None
        self.passes_again: str | None = None

    def goes_on(self, checkpoint: str, record: CaseRecord) -> None:
        self.checkpoints += 1
        if self.broke is None and self.last[1].passed and not record.passed:
            self.broke = (*self.last, checkpoint, record)
        elif self.broke is not None and self.passes_again is None and record.passed:
            self.passes_again = checkpoint
        self.last = (checkpoint, record)


def _cases_of(
    folder: ResultFolder, names: Mapping[str, str], origins: dict[Origin, Origin], totals: Totals
) -> dict[tuple[Origin, str], CaseRecord]:
    """The cases of a checkpoint by where they come from; of one that came in by two ways, the worse."""
    found: dict[tuple[Origin, str], CaseRecord] = {}
    for record in iter_records(folder.path):
        totals.cases += 1
        totals.passed += record.passed
        totals.run_s += record.run_s or 0.0
        origin = own = (folder.checkpoint, record.group)
        if record.original_checkpoint is not None and record.original_group is not None:
            named = (names.get(record.original_checkpoint, record.original_checkpoint), record.original_group)
            # A regression of a regression comes from where that one came from.
            origin = origins[own] = origins.get(named, named)
        case = (origin, record.id)
        if case not in found or record.worth < found[case].worth:
            found[case] = record
    return found


def _steps(followed: Mapping[tuple[Origin, str], _Followed], folders: Sequence[ResultFolder]) -> list[Step]:
    cases: dict[tuple[str, str], list[BrokenCase]] = {}
    for (origin, _), case in followed.items():
        if case.broke is not None:
            since, before, checkpoint, after = case.broke
            cases.setdefault((since, checkpoint), []).append(BrokenCase(origin, before, after, case.passes_again))
    places = {folder.checkpoint: folder for folder in folders}
    order = list(places)
    steps = sorted(cases.items(), key=lambda item: (order.index(item[0][1]), order.index(item[0][0])))
    return [_step(places[since], places[checkpoint], broken) for (since, checkpoint), broken in steps]


def _step(since: ResultFolder, folder: ResultFolder, cases: list[BrokenCase]) -> Step:
    files, trouble = None, ""
    try:
        files = snapshot_changes(since.path / SNAPSHOT, folder.path / SNAPSHOT)
    except ExecutionError as error:
        trouble = str(error)
    return Step(since.checkpoint, folder.checkpoint, folder.path, cases, files, trouble)
