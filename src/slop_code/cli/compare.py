"""`slop-code compare`: what changed between two results, or from checkpoint to checkpoint of one submission."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli.choices import UsageError
from slop_code.cli.console import emit, note, wants_colour
from slop_code.cli.styling import Paint
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import ProblemConfig
    from slop_code.runs.breakage import Breakage
    from slop_code.runs.comparison import Comparison
    from slop_code.runs.result_folders import ResultFolder


class Format(StrEnum):
    """For whom it is written."""

    TABLE = "table"
    JSON = "json"
    MARKDOWN = "markdown"


def compare(
    context: typer.Context,
    before: Annotated[Path, typer.Argument(metavar="A", help="Results: of one checkpoint, of a problem, or a run.")],
    after: Annotated[
        Path | None,
        typer.Argument(metavar="B", help="Other results of the same. Without them, A's checkpoints are followed."),
    ] = None,
    output_format: Annotated[Format, typer.Option("--format", help="A table for people, or one of these.")] = (
        Format.TABLE
    ),
) -> None:
    """Compare two results, or the checkpoints of one submission.

    \b
    Examples:
      slop-code compare results/monday results/tuesday
      slop-code compare runs/monday runs/tuesday --format markdown
      slop-code compare runs/monday/calculator

    With A and B: the cases that got worse or better, came or went, with why, and scores and times by group. With A
    alone, a problem's folder in a run: the first checkpoint at which each case broke, and the files that changed there;
    the checkpoints are in the order of the problem's configuration where --problem-path finds it, else by name.

    Exits with 0 if nothing got worse, 1 if a case ended worse, with a lower score, or broke, and 2 for bad usage, which
    results without a checkpoint in common are, too.
    """
    from slop_code.runs.result_folders import result_folders

    if after is None:
        problems = _follow(before, result_folders(before), context.obj.problem_path)
        emit(_shown_breakage(problems, output_format))
        raise typer.Exit(1 if any(problem.broken for problem in problems) else 0)
    from slop_code.runs.comparison import compare_results

    comparison = compare_results(result_folders(before), result_folders(after))
    in_common = any(change.before and change.after for change in comparison.checkpoints)
    if not in_common:
        note(
            f"{shown_path(before)} and {shown_path(after)} have no checkpoint in common; to follow cases from "
            "checkpoint to checkpoint, name the folder that these are in, alone"
        )
    emit(_shown_comparison(comparison, output_format))
    raise typer.Exit(1 if comparison.has_worse else 0 if in_common else 2)


def _follow(folder: Path, results: Sequence[ResultFolder], problem_path: Path) -> list[Breakage]:
    from slop_code.runs.breakage import follow_cases, in_order

    if results[0].path == folder:
        raise UsageError(
            f"{shown_path(folder)}: has the results of one checkpoint; name other results of it to compare with, or a "
            "folder with the results of several checkpoints"
        )
    by_problem: dict[str, list[ResultFolder]] = {}
    for result in results:
        by_problem.setdefault(result.problem, []).append(result)
    followed = []
    for name, own in by_problem.items():
        problem = _problem(name, problem_path)
        followed.append(follow_cases(in_order(own, problem), problem))
    return followed


def _problem(name: str, problem_path: Path) -> ProblemConfig | None:
    """The configuration of a problem where it can be had; else it says why the order is by name."""
    from slop_code.errors import SlopCodeError
    from slop_code.evaluation.config import ProblemConfig
    from slop_code.runs.targets import problem_finder

    try:
        return ProblemConfig.from_yaml(problem_finder(problem_path)(name))
    except SlopCodeError as error:
        note(f"the checkpoints of {name} are ordered by name: {error}")
        return None


def _shown_comparison(comparison: Comparison, output_format: Format) -> str:
    from slop_code.cli.compare_json import comparison_json
    from slop_code.cli.compare_markdown import comparison_markdown
    from slop_code.cli.compare_table import comparison_table

    if output_format is Format.JSON:
        return comparison_json(comparison)
    if output_format is Format.MARKDOWN:
        return comparison_markdown(comparison)
    return comparison_table(comparison, Paint(wants_colour(sys.stdout)))


def _shown_breakage(problems: Sequence[Breakage], output_format: Format) -> str:
    from slop_code.cli.compare_json import breakage_json
    from slop_code.cli.compare_markdown import breakage_markdown
    from slop_code.cli.compare_table import breakage_table

    if output_format is Format.JSON:
        return breakage_json(problems)
    if output_format is Format.MARKDOWN:
        return breakage_markdown(problems)
    return breakage_table(problems, Paint(wants_colour(sys.stdout)))
