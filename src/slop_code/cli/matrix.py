"""What came of many checkpoints, at one glance: problems down, checkpoints across."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from slop_code.cli.console import harmless, table
from slop_code.cli.styling import terminal_width
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.report import PassPolicy
    from slop_code.runs.evaluate import Outcome

_PASSED, _FAILED, _ABSENT = "✓", "✗", "-"
_PLAIN = {_PASSED: "ok", _FAILED: "no"}


def matrix(outcomes: Sequence[Outcome], policy: PassPolicy) -> str:
    """A table of passed and all cases, with a mark by the policy; too wide a one becomes a list."""
    cells = {(*_row(outcome), outcome.target.snapshot.checkpoint): _cell(outcome, policy) for outcome in outcomes}
    order = {outcome.target.snapshot.checkpoint: outcome.target.checkpoint.order for outcome in reversed(outcomes)}
    checkpoints = sorted(order, key=lambda name: (order[name], name))
    rows = dict.fromkeys(map(_row, outcomes))
    several_runs = len({run for run, _ in rows}) > 1
    lines = [
        [
            *((run, problem) if several_runs else (problem,)),
            *(cells.get((run, problem, name), _ABSENT) for name in checkpoints),
        ]
        for run, problem in rows
    ]
    head = [*(("run", "problem") if several_runs else ("problem",)), *checkpoints]
    text = _shown(head, lines)
    if max(map(len, text.splitlines())) <= terminal_width():
        return text
    listed = [
        [*((run, problem) if several_runs else (problem,)), name, cells[run, problem, name]]
        for run, problem in rows
        for name in checkpoints
        if (run, problem, name) in cells
    ]
    return _shown([*head[: -len(checkpoints)], "checkpoint", "cases"], listed)


def _row(outcome: Outcome) -> tuple[str, str]:
    return shown_path(outcome.target.snapshot.run), outcome.target.snapshot.problem


def _cell(outcome: Outcome, policy: PassPolicy) -> str:
    if outcome.status in ("refused", "unjudged"):
        return f"not judged {_FAILED}"
    summary = outcome.summary
    if summary is None:
        return "not reached"
    counts = f"{summary.passed_cases}/{summary.total_cases}"
    if outcome.status == "interrupted":
        return f"{counts} so far"
    errors = f" {len(summary.errors)} {'error' if len(summary.errors) == 1 else 'errors'}" if summary.errors else ""
    return f"{counts} {_PASSED if summary.passes(policy) else _FAILED}{errors}"


def _shown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    text = table([harmless(cell) for cell in head], [[harmless(cell) for cell in row] for row in rows])
    try:
        text.encode(getattr(sys.stderr, "encoding", None) or "utf-8")
    except UnicodeEncodeError:
        for mark, plain in _PLAIN.items():
            text = text.replace(mark, plain)
    return text
