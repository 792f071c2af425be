"""What was wrong with the cases that changed, out of their reports."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from slop_code.cli.differences import explain

if TYPE_CHECKING:
    from slop_code.runs.case_records import CaseRecord
    from slop_code.runs.comparison import CaseChange

MOST_EXPLAINED = 20
"""Of each kind, where people read; JSON has them all."""
_LINES = 12

Differences = dict[tuple[Path, int], list[str]]
"""By folder of the results and number of the report."""


def differences(wanted: Iterable[tuple[Path, CaseRecord] | None], width: int = 160) -> Differences:
    """A few lines for each record that failed or timed out. Why something could not be judged is told anyway.

    Raises:
        ReportError: the reports cannot be read.
    """
    from slop_code.runs.case_records import reports_at

    numbers: dict[Path, set[int]] = {}
    for item in wanted:
        if item is not None and item[1].outcome in ("failed", "timed out"):
            numbers.setdefault(item[0], set()).add(item[1].number)
    found: Differences = {}
    for folder, wanted_there in numbers.items():
        for number, report in reports_at(folder, wanted_there):
            lines = explain(report, width)
            found[folder, number] = lines[:_LINES] + (["…"] if len(lines) > _LINES else [])
    return found


def lines_of(case: CaseChange, known: Differences) -> list[str]:
    """The lines for a case that changed, if there are any; it says so if they are about the first results."""
    if case.telling is None:
        return []
    folder, record = case.telling
    lines = known.get((folder, record.number), [])
    return ["before:", *(f"  {line}" for line in lines)] if lines and record is case.before else lines
