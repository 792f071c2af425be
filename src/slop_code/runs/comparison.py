"""Two results of the same cases: what got better or worse, what came and went, and what it did to scores and times."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import Literal

from slop_code.evaluation.report import CorrectnessResults
from slop_code.runs.case_records import CaseRecord, iter_records, why
from slop_code.runs.result_folders import ResultFolder, natural

Kind = Literal["worse", "score_down", "other_reason", "better", "score_up", "appeared", "disappeared"]
KINDS: tuple[Kind, ...] = ("worse", "score_down", "other_reason", "better", "score_up", "appeared", "disappeared")
"""In the order in which people want to hear of them.

worse, better           it ended another way: passing is best, then a higher score, then failed, timed out, error
score_down, score_up    it ended the same way, with another score
other_reason            it ended the same way with the same score, and something else was wrong
"""
_Pair = tuple[CaseRecord | None, CaseRecord | None]


@dataclass(slots=True)
class Totals:
    """A group or a checkpoint on one side. `run_s` is what its programs took."""

    cases: int = 0
    passed: int = 0
    score: float = 0.0
    run_s: float = 0.0


@dataclass(slots=True)
class GroupChange:
    """A group on both sides, if it is there."""

    name: str
    before: Totals | None = None
    after: Totals | None = None
    changes: int = 0


@dataclass(frozen=True, slots=True)
class CheckpointChange:
    """A checkpoint on both sides, if it is there. `notes` are what else differs, such as the environment."""

    problem: str
    checkpoint: str
    before: Totals | None
    after: Totals | None
    groups: list[GroupChange]
    notes: list[str]

    @property
    def name(self) -> str:
        return f"{self.problem}/{self.checkpoint}"


@dataclass(frozen=True, slots=True)
class CaseChange:
    """A case that is not the same on both sides, and why."""

    kind: Kind
    problem: str
    checkpoint: str
    before: CaseRecord | None
    after: CaseRecord | None
    why: str
    folders: tuple[Path | None, Path | None]
    """Where the reports of both sides are."""

    @property
    def group(self) -> str:
        return self._any.group

    @property
    def id(self) -> str:
        return self._any.id

    @property
    def telling(self) -> tuple[Path, CaseRecord] | None:
        """The record whose report shows what is wrong, and its folder: the second, or the first if that is better."""
        for folder, record in zip(reversed(self.folders), (self.after, self.before), strict=True):
            if folder is not None and record is not None and not record.passed:
                return folder, record
        return None

    @property
    def _any(self) -> CaseRecord:
        record = self.after or self.before
        assert record is not None  # noqa: S101  # a change has at least one side
        return record


@dataclass(slots=True)
class Comparison:
    """What differs between two results, `cases` by kind and then in the order of the reports."""

    checkpoints: list[CheckpointChange] = field(default_factory=list)
    cases: list[CaseChange] = field(default_factory=list)
    unchanged: int = 0

    @property
    def is_same(self) -> bool:
        """Whether both have the same cases with the same verdicts. Times are never the same."""
        return not self.cases

    @property
    def has_worse(self) -> bool:
        """Whether a case ended worse, or with a lower score."""
        return any(case.kind in ("worse", "score_down") for case in self.cases)

    @property
    def counts(self) -> dict[Kind, int]:
        """How many changes there are of each kind."""
        counted = Counter(case.kind for case in self.cases)
        return {kind: counted[kind] for kind in KINDS}


def compare_results(before: Sequence[ResultFolder], after: Sequence[ResultFolder]) -> Comparison:
    """Compare two results checkpoint by checkpoint, and case by case by group and id.

    Reports are read side by side, so that of results in the same order only what differs is held.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    comparison = Comparison()
    old, new = ({(item.problem, item.checkpoint): item for item in side} for side in (before, after))
    for key in sorted(old.keys() | new.keys(), key=lambda key: [natural(part) for part in key]):
        _compare_checkpoint(key, old.get(key), new.get(key), comparison)
    comparison.cases.sort(key=lambda case: KINDS.index(case.kind))
    return comparison


def _compare_checkpoint(
    key: tuple[str, str], before: ResultFolder | None, after: ResultFolder | None, comparison: Comparison
) -> None:
    old, new = (item.summary() if item else None for item in (before, after))
    groups = _groups(old, new)
    folders = (before.path if before else None, after.path if after else None)
    for pair in _paired(_records(before), _records(after)):
        kind = _kind(*pair)
        _count(pair, groups, changed=kind is not None)
        if kind is None:
            comparison.unchanged += 1
        else:
            comparison.cases.append(CaseChange(kind, *key, *pair, why(*pair), folders))
    change = CheckpointChange(
        *key,
        _whole(old, (group.before for group in groups.values())),
        _whole(new, (group.after for group in groups.values())),
        list(groups.values()),
        _notes(old, new),
    )
    comparison.checkpoints.append(change)


def _records(folder: ResultFolder | None) -> Iterator[CaseRecord]:
    return iter_records(folder.path) if folder else iter(())


def _paired(before: Iterable[CaseRecord], after: Iterable[CaseRecord]) -> Iterator[_Pair]:
    """Each case with its other self; at the end those that have none."""
    lonely: tuple[dict[tuple[str, str], CaseRecord], ...] = ({}, {})
    for old, new in zip_longest(before, after):
        if old and new and _key(old) == _key(new):
            yield old, new
            continue
        if old:
            other = lonely[1].pop(_key(old), None)
            if other:
                yield old, other
            else:
                lonely[0][_key(old)] = old
        if new:
            other = lonely[0].pop(_key(new), None)
            if other:
                yield other, new
            else:
                lonely[1][_key(new)] = new
    yield from ((old, None) for old in lonely[0].values())
    yield from ((None, new) for new in lonely[1].values())


def _key(record: CaseRecord) -> tuple[str, str]:
    return record.group, record.id


def _kind(before: CaseRecord | None, after: CaseRecord | None) -> Kind | None:
    if before is None:
        return "appeared"
    if after is None:
        return "disappeared"
    if before.outcome != after.outcome:
        return "better" if after.worth > before.worth else "worse"
    if before.score != after.score:
        return "score_up" if after.score > before.score else "score_down"
    return None if (before.wrong, before.error) == (after.wrong, after.error) else "other_reason"


def _groups(before: CorrectnessResults | None, after: CorrectnessResults | None) -> dict[str, GroupChange]:
    old, new = (results.group_outcomes if results else {} for results in (before, after))
    return {
        name: GroupChange(
            name,
            Totals(score=old[name].score) if name in old else None,
            Totals(score=new[name].score) if name in new else None,
        )
        for name in dict.fromkeys((*new, *old))
    }


def _count(pair: _Pair, groups: dict[str, GroupChange], *, changed: bool) -> None:
    name = next(record.group for record in pair if record is not None)
    group = groups.setdefault(name, GroupChange(name))
    group.before = _added(group.before, pair[0])
    group.after = _added(group.after, pair[1])
    group.changes += changed


def _added(totals: Totals | None, record: CaseRecord | None) -> Totals | None:
    if record is None:
        return totals
    totals = totals or Totals()
    totals.cases += 1
    totals.passed += record.passed
    totals.run_s += record.run_s or 0.0
    return totals


def _whole(results: CorrectnessResults | None, groups: Iterable[Totals | None]) -> Totals | None:
    if results is None:
        return None
    there = [group for group in groups if group is not None]
    return Totals(
        cases=sum(group.cases for group in there),
        passed=sum(group.passed for group in there),
        score=results.score,
        run_s=sum(group.run_s for group in there),
    )


def _notes(before: CorrectnessResults | None, after: CorrectnessResults | None) -> list[str]:
    if before is None or after is None:
        return [f"only in the {'second' if before is None else 'first'} results"]
    pairs = {
        "environment": (before.environment, after.environment),
        "python": (before.python, after.python),
        "version of the problem": (before.problem_version, after.problem_version),
        "version of the checkpoint": (before.version, after.version),
    }
    notes = [f"{what}: {old or 'unknown'} → {new or 'unknown'}" for what, (old, new) in pairs.items() if old != new]
    for which, results in (("first", before), ("second", after)):
        if not results.complete:
            notes.append(f"the {which} results are not complete")
    return notes
