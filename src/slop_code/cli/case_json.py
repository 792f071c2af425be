"""The JSON array of `tools run-case`: one object for each case."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from slop_code.evaluation.verifiers.models import VerifierReport


def full_entry(report: VerifierReport) -> dict[str, Any]:
    """The whole report, with `score` and `passed`."""
    whole: dict[str, Any] = json.loads(report.model_dump_json())
    return {**whole, "score": report.calculate_score(), "passed": report.did_pass()}


def brief_entry(report: VerifierReport) -> dict[str, Any]:
    """Id, group, score and passed; of a case that did not pass also what was verified, and stderr."""
    brief: dict[str, Any] = {
        "id": report.id,
        "group": report.group,
        "score": report.calculate_score(),
        "passed": report.did_pass(),
    }
    if brief["passed"]:
        return brief
    whole = json.loads(report.model_dump_json())
    brief["outcome"] = report.outcome
    if report.error:
        brief["error"] = report.error
    brief["results"] = {
        name: result
        for name, result in whole["results"].items()
        if result["is_correct"] is not None or (name == "stderr" and result["actual"])
    }
    return brief


def as_array(entries: Iterable[dict[str, Any]]) -> str:
    """The array as text."""
    return json.dumps(list(entries), indent=2, ensure_ascii=False)
