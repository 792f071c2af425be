"""Judging stored observations again: 10,000 cases of 2 kB."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path

from benchmarks.evaluation import trivial_problem
from benchmarks.measure import table
from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.error_reports import error_report
from slop_code.evaluation.observation_keys import case_key
from slop_code.evaluation.observations import Subject, to_row
from slop_code.evaluation.rejudging import judge_again
from slop_code.evaluation.report import CorrectnessResults, ReportWriter, digest_of

CASES = 10_000
AT_MOST_S = 10.0


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        subject = trivial_problem(Path(folder), CASES, size=2_000)
        stored = Path(folder) / "stored"
        _store(subject.cases(), stored)
        checkpoint = next(subject.problem.iterate_checkpoints())
        started = time.perf_counter()
        results = judge_again(stored, subject.problem, checkpoint, Path(folder) / "again")
        seconds = time.perf_counter() - started
        assert sum(results.pass_counts.values()) == CASES, results.errors[:3]
    table(
        [
            ("judging stored observations of 2 kB again", "s", "at most"),
            (f"{CASES:,}", f"{seconds:.2f}", f"{AT_MOST_S:g}"),
        ]
    )


def _store(cases: list[tuple[object, CLIResult]], folder: Path) -> None:
    """What a run would have left of programs that did as expected."""
    results = CorrectnessResults(problem_name="trivial", problem_version=1, name="checkpoint_1", version=1)
    with ReportWriter(folder, results) as writer:
        added = []
        for case, expected in cases:
            observation = Observation(expected.model_copy(update={"stderr": ""}))
            row = to_row("core", expected.id, Subject("", case_key(case)), observation, [])  # type: ignore[arg-type]
            report = error_report(case, "never judged")  # type: ignore[arg-type]
            added.append((writer.add_and_forget(report, 1.0, writer.keep(row)), digest_of(report)))
        writer.add_group_digests("core", "Core", 0.0, added)
