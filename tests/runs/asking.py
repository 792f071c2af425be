"""Commands in the current folder, in this process, and results that nobody ran."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from slop_code.cli import app
from slop_code.errors import SlopCodeError
from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.verifiers import AttributeResult, VerifierReport


@dataclass(frozen=True, slots=True)
class Answer:
    """What a command gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def json(self) -> Any:
        return json.loads(self.stdout)


def ask(*arguments: str | Path) -> Answer:
    """Run a command as `main` does."""
    done = CliRunner().invoke(app, [str(argument) for argument in arguments], env={"COLUMNS": "100", "NO_COLOR": "1"})
    if isinstance(done.exception, SlopCodeError):
        return Answer(2, done.stdout, f"{done.stderr}error: {done.exception}\n")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Answer(done.exit_code, done.stdout, done.stderr)


def made(case: str, group: str = "core", /, outcome: str | None = None, **fields: Any) -> VerifierReport:
    """A report; attributes are given as `verdicts={"output": True}`, and by default all is well."""
    verdicts: Mapping[str, bool | None] = fields.pop("verdicts", {"output": outcome in (None, "passed")})
    lines = {
        name: AttributeResult(attribute=name, actual="is", expected="was", is_correct=verdict)
        for name, verdict in verdicts.items()
    }
    if outcome == "error":
        fields = {"error": "verifier.py:3: KeyError: 'x'\n  more", **fields}
    values = {"type": "Core", "duration": 0.1, "run_s": 0.5, "results": lines, **fields}
    return VerifierReport(id=case, group=group, outcome=outcome, **values)


def save(
    folder: Path,
    reports: Sequence[VerifierReport],
    *,
    problem: str = "shop",
    checkpoint: str = "one",
    **fields: Any,
) -> Path:
    """Write results with these reports, group by group."""
    results = CorrectnessResults(
        problem_name=problem, problem_version=1, name=checkpoint, version=1, **{"environment": "sh", **fields}
    )
    for group in dict.fromkeys(report.group for report in reports):
        results.add_group_report(group, "Core", 1.0, [report for report in reports if report.group == group])
    results.save(folder)
    return folder
