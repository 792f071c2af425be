"""Whole runs: a problem and a submission written down, and `run_checkpoint` on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from slop_code.evaluation import CorrectnessResults, ProblemConfig
from slop_code.evaluation.runner import run_checkpoint
from tests.execution.drivers import make_spec

CONFIG: dict[str, Any] = {
    "name": "whole",
    "version": 1,
    "description": "A problem for a test.",
    "entry_file": "main",
    "loader_script": "builtin:files",
    "adapter": {"type": "cli"},
    "timeout": 60,
}


def write_problem(folder: Path, cases: Mapping[str, Mapping[str, Any]], **config: Any) -> Path:
    """A problem of one checkpoint, whose cases are named GROUP/NAME."""
    groups = {name.partition("/")[0]: {"type": "Core"} for name in cases}
    groups |= config.pop("groups", {})
    checkpoints = {"one": {"groups": groups}}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yaml").write_text(yaml.safe_dump({**CONFIG, **config, "checkpoints": checkpoints}))
    for name, case in cases.items():
        file = folder / "one" / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(yaml.safe_dump(dict(case)))
    return folder


def write_submission(folder: Path, program: str) -> Path:
    """A submission of one Python program."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.py").write_text(program)
    return folder


def evaluate(kind: str, problem: Path, submission: Path, **running: Any) -> CorrectnessResults:
    loaded = ProblemConfig.from_yaml(problem)
    return run_checkpoint(
        submission_path=submission,
        problem=loaded,
        checkpoint=loaded.load_checkpoint("one"),
        env_spec=make_spec(kind, **running.pop("blocks", {})),
        **running,
    )


def outcomes(results: CorrectnessResults) -> dict[str, str | None]:
    return {report.id: report.outcome for report in results.reports}
