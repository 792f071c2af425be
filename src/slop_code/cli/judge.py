"""`slop-code judge`: stored observations, judged again by the present loader and verifier."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli import options
from slop_code.cli.choices import problem_folder
from slop_code.cli.console import emit, note, wants_colour
from slop_code.cli.styling import Paint
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.runs.result_folders import ResultFolder


def judge(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Results: of one checkpoint, a problem, or a run.")],
    problem: Annotated[
        str | None,
        typer.Option(
            "-p", "--problem", metavar="NAME", help="A problem's name, or its folder; by default as judged before."
        ),
    ] = None,
    jobs: options.Jobs = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the changes as JSON.")] = False,
) -> None:
    """Judge stored observations again.

    \b
    Examples:
      slop-code judge results
      slop-code judge runs/monday --json

    Nothing is run: what programs did is in observations.parquet, and the loader and the verifier are used as they are
    now. New reports go to DIR/judged-1 (judged-2, …) beside the old ones, which stay. Prints which verdicts changed,
    and why. A case of which there is no observation, because it is new, could not be judged.

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage, and 3 if something could not be
    judged.
    """
    from slop_code.cli.compare_json import comparison_json
    from slop_code.cli.compare_table import comparison_table
    from slop_code.runs.comparison import compare_results
    from slop_code.runs.result_folders import ResultFolder, result_folders

    before = result_folders(directory)
    after: list[ResultFolder] = []
    results: list[CorrectnessResults] = []
    for folder in before:
        place = _next_place(folder.path)
        results.append(_judge_one(folder, problem or folder.problem, context.obj.problem_path, place, jobs))
        after.append(ResultFolder(place, results[-1].problem_name, results[-1].name))
        note(f"{folder.name}: judged again, reports in {shown_path(place)}")
    comparison = compare_results(before, after)
    emit(comparison_json(comparison) if as_json else comparison_table(comparison, Paint(wants_colour(sys.stdout))))
    raise typer.Exit(_exit_code(results))


def _judge_one(
    folder: ResultFolder, problem: str, problem_path: Path, place: Path, jobs: int | None
) -> CorrectnessResults:
    from slop_code.evaluation import ProblemConfig
    from slop_code.evaluation.rejudging import judge_again

    config = ProblemConfig.from_yaml(problem_folder(problem_path, problem))
    return judge_again(folder.path, config, config.load_checkpoint(folder.checkpoint), place, jobs=jobs)


def _next_place(folder: Path) -> Path:
    return next(place for number in count(1) if not (place := folder / f"judged-{number}").exists())


def _exit_code(results: list[CorrectnessResults]) -> int:
    if any(result.errors for result in results):
        return 3
    return 0 if all(result.pass_counts == result.total_counts for result in results) else 1
