"""What `slop-code problems check` prints: tables to stdout, findings and a last line to stderr."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from slop_code.cli.console import emit, harmless, is_terminal, note, table

if TYPE_CHECKING:
    from slop_code.evaluation.check import CheckedPackage
    from slop_code.evaluation.config import ProblemConfig
    from slop_code.evaluation.verifiers.models import VerifierReport
    from slop_code.execution import EnvironmentSpec
    from slop_code.runs.package_check import Trial

_HEADS = {"not as it should": "failed", "not judged": "not judged"}


def check_and_report(name: str, folder: Path, environment: EnvironmentSpec | None) -> int:
    """Check a package, run its solutions if there is an `environment`, print it all, and return the exit code."""
    from slop_code.evaluation.check import check_package

    checked = check_package(folder)
    rows = [[count.checkpoint, count.group, count.type, count.shown] for count in checked.counts]
    if rows:
        emit(harmless(table(["checkpoint", "group", "type", "cases"], rows)))
    trials: list[Trial] | None = None
    if environment is not None and checked.problem is not None and not checked.findings.errors:
        trials = _run_solutions(checked.problem, checked, environment)
    for finding in checked.findings:
        note(f"{finding.severity}: {finding}")
    for trial in trials or ():
        if trial.verdict != "as it should":
            note(f"{_HEADS[trial.verdict]}: {trial.name}: {trial.said}")
            if trial.first is not None:
                _show_first(trial.first)
    ran = "" if environment is None else _summary_of_run(trials)
    note(f"{name}: {_summary(checked)}{ran}")
    return 2 if checked.findings.errors else _exit_code(trials)


def counted(number: int, noun: str) -> str:
    """`1 case`, `2 cases`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _run_solutions(problem: ProblemConfig, checked: CheckedPackage, environment: EnvironmentSpec) -> list[Trial]:
    from slop_code.cli.progress import make_progress
    from slop_code.evaluation.check_logging import found_before
    from slop_code.runs.package_check import find_solutions, try_solutions, without_reference

    missing = without_reference(problem)
    if missing and len(missing) == len(problem.checkpoints):
        message = "there is no reference solution at all, so nothing shows that the cases can be passed; put one here"
        checked.findings.error(message, path=missing[0].path / "solution")
    else:
        for checkpoint in missing:
            message = f'checkpoint "{checkpoint.name}" has no reference solution'
            checked.findings.warning(message, path=checkpoint.path / "solution")
    solutions = find_solutions(problem)
    # Plain lines would name each case that a wrong solution fails, which is what it is there for.
    quiet = not is_terminal(sys.stderr)
    with found_before(), make_progress(quiet=quiet, total_runs=len(solutions)) as listener:
        trials = list(try_solutions(problem, solutions, environment, listener))
    for trial in trials:
        if trial.may_be_no_program:
            message = "it fails every case: is it a program for this environment?"
            checked.findings.warning(message, path=trial.solution.path)
    rows = [
        [
            trial.name,
            "pass" if trial.solution.is_reference else "fail",
            f"{trial.passed} of {trial.total}",
            trial.said.partition("\n")[0],
        ]
        for trial in trials
    ]
    if rows:
        emit(harmless("\n" + table(["solution", "should", "passed", "outcome"], rows)))
    return trials


def _show_first(report: VerifierReport) -> None:
    """Why a reference does not pass the first case that it does not pass."""
    from slop_code.cli.differences import explain
    from slop_code.cli.styling import terminal_width

    note(f"  {report.group}/{report.id}:")
    for line in explain(report, terminal_width() - 4):
        note(f"    {line}")


def _summary(checked: CheckedPackage) -> str:
    errors, warnings = len(checked.findings.errors), len(checked.findings.warnings)
    parts = [counted(errors, "error")] if errors else [counted(sum(c.cases for c in checked.counts), "case")]
    if not errors:
        parts.append("no errors")
    if warnings:
        parts.append(counted(warnings, "warning"))
    return ", ".join(parts)


def _summary_of_run(trials: list[Trial] | None) -> str:
    if trials is None:
        return "; no solution was run"
    if not trials:
        return "; no solutions to run"
    parts = []
    for verdict, head in _HEADS.items():
        number = sum(trial.verdict == verdict for trial in trials)
        if number:
            parts.append(f"{number} {head}")
    ran = f"{counted(len(trials), 'solution')} run"
    return f"; {ran}, {', '.join(parts)}" if parts else f"; {ran}, all as they should be"


def _exit_code(trials: list[Trial] | None) -> int:
    if trials is None:
        return 0
    from slop_code.runs.package_check import exit_code

    return exit_code(trials)
