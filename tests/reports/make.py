"""Reports and results in one line, for the tests of this folder."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.verifiers import AttributeResult, VerifierReport


def line(name: str = "output", is_correct: bool | None = True, weight: float = 1.0, **values: Any) -> AttributeResult:
    fields = {"actual": "a", "expected": "b", **values}
    return AttributeResult(attribute=name, is_correct=is_correct, weight=weight, **fields)


def report(name: str = "one", *lines: AttributeResult, **fields: Any) -> VerifierReport:
    given = lines or (line(),)
    base = {"group": "core", "type": "Core", "duration": 0.5, "results": {item.attribute: item for item in given}}
    return VerifierReport(**{"id": name, **base, **fields})


def results(**fields: Any) -> CorrectnessResults:
    head = {"problem_name": "ledger", "problem_version": 3, "name": "checkpoint_1", "version": 2}
    return CorrectnessResults(**{**head, "timestamp": datetime(2025, 1, 2, 3, 4, 5, 678), **fields})


def two_groups() -> CorrectnessResults:
    """Results with every outcome."""
    made = results(duration=4.25)
    failed = report("wrong", line(is_correct=False, diff={"a": 1}), line("status_code"))
    made.add_group_report("core", "Core", 1.5, [report("right", case={"id": "right"}), failed])
    late = report("late", line(is_correct=False), outcome="timed out", group="errors", type="Error", run_s=2.0)
    lost = report("lost", error="verifier.py:3: KeyError: 'x'\n    x['x']", group="errors", type="Error")
    made.add_group_report("errors", "Error", 2.5, [late, lost], weight=0.5)
    return made
