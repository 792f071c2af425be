"""What `compare` found as JSON, for machines. The texts are those that people get, without cuts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from slop_code.cli.compare_differences import differences, lines_of

if TYPE_CHECKING:
    from slop_code.runs.breakage import Breakage, Step
    from slop_code.runs.case_records import CaseRecord
    from slop_code.runs.comparison import CaseChange, CheckpointChange, Comparison, Totals

FORMAT_VERSION = 1


def comparison_json(comparison: Comparison) -> str:
    """Two results: counts, scores and times by checkpoint and group, and each case that changed.

    Raises:
        ReportError: the reports of cases that changed cannot be read.
    """
    known = differences(case.telling for case in comparison.cases)
    return _text(
        {
            "same": comparison.is_same,
            "counts": {**comparison.counts, "unchanged": comparison.unchanged},
            "checkpoints": [_checkpoint(change) for change in comparison.checkpoints],
            "cases": [{**_case(case), "difference": lines_of(case, known)} for case in comparison.cases],
        }
    )


def breakage_json(problems: Sequence[Breakage]) -> str:
    """One submission across checkpoints: each step at which cases broke, with the files that changed.

    Raises:
        ReportError: the reports of cases that broke cannot be read.
    """
    return _text({"problems": [_problem(breakage) for breakage in problems]})


def _text(value: dict[str, Any]) -> str:
    return json.dumps({"format_version": FORMAT_VERSION, **value}, indent=2, ensure_ascii=False)


def _checkpoint(change: CheckpointChange) -> dict[str, Any]:
    return {
        "problem": change.problem,
        "checkpoint": change.checkpoint,
        "before": _totals(change.before),
        "after": _totals(change.after),
        "notes": change.notes,
        "groups": [
            {
                "group": group.name,
                "before": _totals(group.before),
                "after": _totals(group.after),
                "changes": group.changes,
            }
            for group in change.groups
        ],
    }


def _totals(totals: Totals | None) -> dict[str, Any] | None:
    return asdict(totals) if totals else None


def _case(case: CaseChange) -> dict[str, Any]:
    return {
        "kind": case.kind,
        "problem": case.problem,
        "checkpoint": case.checkpoint,
        "group": case.group,
        "id": case.id,
        "before": _record(case.before),
        "after": _record(case.after),
        "why": case.why,
    }


def _record(record: CaseRecord | None) -> dict[str, Any] | None:
    if record is None:
        return None
    return {
        "outcome": record.outcome,
        "score": record.score,
        "run_s": record.run_s,
        "error": record.error or None,
        "verdicts": dict(record.verdicts),
    }


def _problem(breakage: Breakage) -> dict[str, Any]:
    return {
        "problem": breakage.problem,
        "checkpoints": [
            {"checkpoint": name, **asdict(totals), "complete": name not in breakage.incomplete}
            for name, totals in breakage.checkpoints.items()
        ],
        "followed": breakage.followed,
        "broken": breakage.broken,
        "steps": [_step(step) for step in breakage.steps],
    }


def _step(step: Step) -> dict[str, Any]:
    known = differences((step.results, case.after) for case in step.cases)
    return {
        "since": step.since,
        "checkpoint": step.checkpoint,
        "files": asdict(step.files) if step.files else None,
        "trouble": step.trouble or None,
        "cases": [
            {
                "original_checkpoint": case.origin[0],
                "original_group": case.origin[1],
                "group": case.after.group,
                "id": case.after.id,
                "before": _record(case.before),
                "after": _record(case.after),
                "why": case.why,
                "passes_again": case.passes_again,
                "difference": known.get((step.results, case.after.number), []),
            }
            for case in step.cases
        ],
    }
