"""The words for what `compare` found that its table and its Markdown share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from slop_code.cli.styling import seconds

if TYPE_CHECKING:
    from slop_code.runs.case_records import CaseRecord
    from slop_code.runs.comparison import Comparison, Totals
    from slop_code.runs.snapshot_changes import FileChanges

MOST_CASES = 100
"""Of each kind; JSON has them all."""
TITLES = {
    "worse": "worse",
    "score_down": "lower score",
    "other_reason": "wrong in another way",
    "better": "better",
    "score_up": "higher score",
    "appeared": "appeared",
    "disappeared": "disappeared",
}
_COUNTED = {**TITLES, "score_down": "with a lower score", "score_up": "with a higher score"}
_ABSENT = "-"


def counts_line(comparison: Comparison) -> str:
    """How many changes there are of each kind, or that there are none."""
    if comparison.is_same:
        after = [change.after for change in comparison.checkpoints if change.after]
        before = [change.before for change in comparison.checkpoints if change.before]
        passed = sum(totals.passed for totals in after)
        times = change_of(*(seconds(sum(totals.run_s for totals in side)) for side in (before, after)))
        return f"the same results: {cases(comparison.unchanged)}, {passed} passed, in {times}"
    parts = [f"{count} {_COUNTED[kind]}" for kind, count in comparison.counts.items() if count]
    return ", ".join([*parts, f"{comparison.unchanged} unchanged"])


def totals_cells(before: Totals | None, after: Totals | None) -> tuple[str, str, str]:
    """Passed cases, score and time, each before and after."""
    return (
        change_of(*(f"{side.passed}/{side.cases}" if side else _ABSENT for side in (before, after))),
        change_of(*(f"{side.score:.2f}" if side else _ABSENT for side in (before, after))),
        change_of(*(seconds(side.run_s) if side else _ABSENT for side in (before, after))),
    )


def ended(before: CaseRecord | None, after: CaseRecord | None) -> str:
    """How a case ended before and after; of one that is on one side only, how it ended there."""
    return " → ".join(_ending(record) for record in (before, after) if record is not None)


def change_of(before: str, after: str) -> str:
    """`a → b`, or `a` if nothing changed."""
    return before if before == after else f"{before} → {after}"


def cases(number: int) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {'case' if number == 1 else 'cases'}"


def more(items: Sequence[object], shown: int) -> list[str]:
    """What stands for the items that are not shown, if there are any."""
    rest = len(items) - shown
    return [f"and {rest} more; --format json has them all"] if rest > 0 else []


def named_files(files: FileChanges) -> Iterator[tuple[str, str]]:
    """Each file with what became of it."""
    for word, paths in (("changed", files.changed), ("added", files.added), ("removed", files.removed)):
        yield from ((word, path) for path in paths)


def _ending(record: CaseRecord) -> str:
    return f"{record.outcome} {record.score:.2f}" if record.outcome in ("failed", "timed out") else record.outcome
