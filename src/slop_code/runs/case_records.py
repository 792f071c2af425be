"""Cases as far as comparing them needs: how each ended, the verdict on each attribute, and how long it ran."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from slop_code.evaluation.report import ReportError, iter_reports
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.paths import shown_path
from slop_code.validation import first_reason

_COLUMNS = ("id", "group", "outcome", "error", "run_s", "results", "original_checkpoint", "original_group")
_RANKS = {"error": 0, "timed out": 1, "failed": 2, "passed": 3}
_WORDS = {True: "correct", False: "wrong", None: "not verified"}

Verdicts = tuple[tuple[str, bool], ...]


@dataclass(frozen=True, slots=True)
class CaseRecord:
    """One case. Equal ids of a group are numbered: `id`, `id (2)`. `error` is its first line."""

    number: int
    """Its place among the reports, from 0."""
    group: str
    id: str
    outcome: str
    score: float
    run_s: float | None
    error: str
    verdicts: Verdicts
    original_checkpoint: str | None
    original_group: str | None

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"

    @property
    def wrong(self) -> frozenset[str]:
        """The attributes that are wrong."""
        return frozenset(name for name, correct in self.verdicts if not correct)

    @property
    def worth(self) -> tuple[bool, float, int]:
        """What makes one of two records the better one: passing, then the score, then how it ended."""
        return self.passed, self.score, _RANKS.get(self.outcome, 0)


def iter_records(folder: Path) -> Iterator[CaseRecord]:
    """The cases of a result folder in the order of their reports, one at a time.

    Raises:
        ReportError: the results are damaged, or a newer slop-code wrote them.
    """
    numbering = _Numbering()
    known: dict[Verdicts, Verdicts] = {}
    for number, row in enumerate(iter_reports(folder, columns=_COLUMNS)):
        verdicts = tuple(
            (line["attribute"], line["is_correct"]) for line in row["results"] or () if line["is_correct"] is not None
        )
        yield CaseRecord(
            number=number,
            group=row["group"],
            id=numbering.free_id(row["group"], row["id"]),
            outcome=row["outcome"] or "error",
            score=row_score(row),
            run_s=row["run_s"],
            error=first_line(row["error"]),
            # A hundred thousand cases have few verdicts between them.
            verdicts=known.setdefault(verdicts, verdicts),
            original_checkpoint=row["original_checkpoint"],
            original_group=row["original_group"],
        )


def iter_not_passed(folder: Path) -> Iterator[VerifierReport]:
    """The reports of the cases that did not pass. Others are not even decoded, which is what takes time.

    Raises:
        ReportError: the results are damaged, or a newer slop-code wrote them.
    """
    for row in _rows(folder):
        if row["outcome"] != "passed":
            yield _report(row, folder)


def reports_at(folder: Path, numbers: Collection[int]) -> Iterator[tuple[int, VerifierReport]]:
    """The reports at these places, each with its own.

    Raises:
        ReportError: the results are damaged, or a newer slop-code wrote them.
    """
    for number, row in enumerate(islice(_rows(folder), max(numbers, default=-1) + 1)):
        if number in numbers:
            yield number, _report(row, folder)


def row_score(row: dict[str, Any]) -> float:
    """The score of a stored report: the share of verified weight that is correct, and 0 for an error."""
    if row["outcome"] == "error":
        return 0.0
    verified = [line for line in row["results"] or () if line["is_correct"] is not None]
    total = sum(line["weight"] for line in verified)
    return sum(line["weight"] for line in verified if line["is_correct"]) / total if total else 0.0


def first_line(text: str | None) -> str:
    """The first line of an error that may be none, or long."""
    return (text or "").strip().partition("\n")[0]


def why(before: CaseRecord | None, after: CaseRecord | None) -> str:
    """What makes two records of a case differ, in one line: the error, and the attributes whose verdict changed.

    Of a case that is on one side only, it says what is wrong there.
    """
    if before is None or after is None:
        return _wrong(before or after)
    parts = []
    if after.error != before.error:
        parts.append(after.error or f"no longer: {before.error}")
    if before.outcome != after.outcome and after.outcome == "timed out":
        parts.append("ran out of time")
    # What could not be judged has no verdicts, and that says nothing about its attributes.
    if after.verdicts or not after.error:
        parts += _changed_verdicts(dict(before.verdicts), dict(after.verdicts))
    return "; ".join(parts)


def _wrong(record: CaseRecord | None) -> str:
    if record is None:
        return ""
    wrong = ", ".join(name for name, correct in record.verdicts if not correct)
    return "; ".join(filter(None, [record.error, wrong and f"{wrong}: wrong"]))


def _changed_verdicts(old: dict[str, bool], new: dict[str, bool]) -> Iterator[str]:
    changes: dict[str, list[str]] = {}
    for name in dict.fromkeys((*old, *new)):
        was, is_now = _WORDS[old.get(name)], _WORDS[new.get(name)]
        if was != is_now:
            changes.setdefault(f"{was} → {is_now}", []).append(name)
    return (f"{', '.join(names)}: {change}" for change, names in changes.items())


def _rows(folder: Path) -> Iterator[dict[str, Any]]:
    return iter_reports(folder, columns=list(VerifierReport.model_fields))


def _report(row: dict[str, Any], folder: Path) -> VerifierReport:
    try:
        return VerifierReport.from_parquet_row(row)
    except (ValueError, TypeError, KeyError) as error:
        reason = first_reason(error) if isinstance(error, ValueError) else repr(error)
        raise ReportError(f'{shown_path(folder)}: the report of "{row["id"]}" is damaged: {reason}') from error


class _Numbering:
    """Tells equal ids of a group apart in the way of `GroupReport`."""

    def __init__(self) -> None:
        self._taken: set[tuple[str, str]] = set()
        self._repeated: dict[tuple[str, str], int] = {}

    def free_id(self, group: str, name: str) -> str:
        free = name
        while (group, free) in self._taken:
            self._repeated[group, name] = self._repeated.get((group, name), 1) + 1
            free = f"{name} ({self._repeated[group, name]})"
        self._taken.add((group, free))
        return free
