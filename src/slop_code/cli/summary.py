"""What people see after a run: the groups, each case that did not pass, and one line that sums up."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from slop_code.cli.console import tell, wants_colour
from slop_code.cli.differences import explain
from slop_code.cli.styling import OUTCOME_STYLES, PLAIN, Paint, columns, one_line, seconds, terminal_width

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.evaluation.verifiers.models import VerifierReport

SHOWN_CASES = 10
_NAME_WIDTH, _LEAST_NAME_WIDTH = 40, 8
# What the other columns of the table take at most, as a rule.
_BESIDE_NAME = 45


class _Counted:
    """One pass over the reports: what the summary needs of them, and no more than the first few in full."""

    def __init__(self) -> None:
        self.by_group: dict[str, dict[str, int]] = {}
        self.outcomes = dict.fromkeys(OUTCOME_STYLES, 0)
        self.shown: list[VerifierReport] = []
        self.more = 0
        self.run_s = self.verify_s = 0.0

    def add(self, report: VerifierReport, limit: int) -> None:
        outcome = report.outcome or "error"
        group = self.by_group.setdefault(report.group, {"passed": 0, "total": 0})
        group["total"] += 1
        group["passed"] += outcome == "passed"
        self.outcomes[outcome] += 1
        self.run_s += report.run_s or 0.0
        self.verify_s += report.duration
        if outcome != "passed":
            if len(self.shown) < limit:
                self.shown.append(report)
            else:
                self.more += 1


def summary(
    results: CorrectnessResults,
    *,
    reports: Iterable[VerifierReport] | None = None,
    prepare_s: float | None = None,
    rerun: str | None = None,
    width: int = 100,
    paint: Paint = PLAIN,
    shown_cases: int = SHOWN_CASES,
) -> str:
    """The summary of one checkpoint as text.

    `reports` is read once, where they are elsewhere than in `results`. `prepare_s` is what preparing the submission
    took, and `rerun` the command that runs just what did not pass.
    """
    counted = _Counted()
    for report in results.reports if reports is None else reports:
        counted.add(report, shown_cases)
    lines = _group_table(results, counted, width, paint)
    for report in counted.shown:
        lines += ["", *_case_lines(report, width, paint)]
    if counted.more:
        lines += ["", f"and {counted.more} more"]
    for failure in results.setup_failures:
        lines += ["", paint(one_line(f"a setup command failed: {failure}", width), "yellow")]
    lines += ["", _last_line(results, counted, prepare_s, paint)]
    if rerun is not None and (counted.shown or counted.more):
        lines.append(f"run these again: {rerun}")
    return "\n".join(lines)


def print_summary(
    results: CorrectnessResults,
    *,
    reports: Iterable[VerifierReport] | None = None,
    prepare_s: float | None = None,
    rerun: str | None = None,
    shown_cases: int = SHOWN_CASES,
) -> None:
    """Print the summary to stderr, as wide as the terminal and in colours where they are wanted."""
    text = summary(
        results,
        reports=reports,
        prepare_s=prepare_s,
        rerun=rerun,
        width=terminal_width(),
        paint=Paint(wants_colour(sys.stderr)),
        shown_cases=shown_cases,
    )
    tell(text)


def _group_table(results: CorrectnessResults, counted: _Counted, width: int, paint: Paint) -> list[str]:
    header = ("group", "type", "passed", "score", "time")
    rows = [header]
    for name, group in results.group_outcomes.items():
        counts = counted.by_group.get(name, {"passed": 0, "total": 0})
        shown = one_line(name, max(_LEAST_NAME_WIDTH, min(_NAME_WIDTH, width - _BESIDE_NAME)))
        passed = f"{counts['passed']}/{counts['total']}"
        rows.append((shown, str(group.type), passed, f"{group.score:.2f}", seconds(group.duration)))
    if len(rows) == 1:
        return []
    widths = [max(columns(row[index]) for row in rows) for index in range(len(header))]
    lines = []
    for number, row in enumerate(rows):
        left = [_padded(cell, size) for cell, size in zip(row[:2], widths[:2], strict=True)]
        right = [_padded(cell, size, right=True) for cell, size in zip(row[2:], widths[2:], strict=True)]
        if number == 0:
            lines.append(paint("  ".join([*left, *right]), "dim"))
            continue
        whole = row[2].partition("/")
        right[0] = paint(right[0], "green" if whole[0] == whole[2] else "red")
        lines.append("  ".join([*left, *right]))
    return lines


def _padded(cell: str, size: int, *, right: bool = False) -> str:
    blanks = " " * (size - columns(cell))
    return blanks + cell if right else cell + blanks


def _case_lines(report: VerifierReport, width: int, paint: Paint) -> list[str]:
    outcome = report.outcome or "error"
    score = report.calculate_score()
    took = f", {seconds(report.run_s)}" if report.run_s is not None else ""
    details = f"  (score {score:.2f}{took})" if outcome != "error" else ""
    name = one_line(f"{report.group}/{report.id}", width - len(outcome) - len(details) - 1)
    head = f"{paint(outcome.upper(), OUTCOME_STYLES[outcome])} {paint(name, 'bold')}{paint(details, 'dim')}"
    return [head, *(f"  {line}" for line in explain(report, width - 2))]


def _last_line(results: CorrectnessResults, counted: _Counted, prepare_s: float | None, paint: Paint) -> str:
    outcomes = counted.outcomes
    total = sum(outcomes.values())
    all_passed = total > 0 and outcomes["passed"] == total
    parts = [paint(f"{outcomes['passed']} of {total} passed", "green" if all_passed else "red")]
    parts += [
        paint(f"{outcomes[name]} {word}", OUTCOME_STYLES[name])
        for name, word in (("failed", "failed"), ("timed out", "timed out"), ("error", "could not be judged"))
        if outcomes[name]
    ]
    parts.append(f"score {results.score:.2f}")
    spent = [f"prepare {seconds(prepare_s)}"] if prepare_s is not None else []
    spent += [f"run {seconds(counted.run_s)}", f"verify {seconds(counted.verify_s)}"]
    parts.append(f"{seconds(results.duration)} ({', '.join(spent)})")
    start = "" if results.complete else f"{paint('incomplete', 'yellow')}: "
    return f"{start}{', '.join(parts)}"
