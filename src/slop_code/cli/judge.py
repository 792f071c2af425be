"""`slop-code judge`: stored observations, judged again by the present loader and verifier."""

from __future__ import annotations

import contextlib
import sys
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli import options
from slop_code.cli.choices import UsageError, problem_folder
from slop_code.cli.console import emit, note, wants_colour
from slop_code.cli.styling import Paint
from slop_code.errors import SlopCodeError
from slop_code.findings import listed
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
    and why. A case of which there is no observation, because it is new or asks something else now, could not be judged;
    `eval` runs just those.

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage (also if only some of the results
    can be used: the others are judged), and 3 if something could not be judged.
    """
    from slop_code.cli.compare_json import comparison_json
    from slop_code.cli.compare_table import comparison_table
    from slop_code.runs.comparison import compare_results
    from slop_code.runs.result_folders import ResultFolder, result_folders

    found = result_folders(directory)
    if problem is not None and len(names := {folder.problem for folder in found}) > 1:
        raise UsageError(
            f"{shown_path(directory)}: has results of {listed(sorted(names))}; -p is for those of one problem"
        )
    before: list[ResultFolder] = []
    after: list[ResultFolder] = []
    results: list[CorrectnessResults] = []
    for folder in found:
        try:
            place, again = _judge_one(folder, problem, context.obj.problem_path, jobs)
        except SlopCodeError as error:
            note(f"error: {folder.name}: not judged: {error}")
            continue
        before.append(folder)
        after.append(ResultFolder(place, again.problem_name, again.name))
        results.append(again)
        note(f"{folder.name}: judged again, reports in {shown_path(place)}")
    if not results:
        raise typer.Exit(2)
    comparison = compare_results(before, after)
    emit(comparison_json(comparison) if as_json else comparison_table(comparison, Paint(wants_colour(sys.stdout))))
    raise typer.Exit(_exit_code(results, bad_input=len(results) < len(found)))


def _judge_one(
    folder: ResultFolder, problem: str | None, problem_path: Path, jobs: int | None
) -> tuple[Path, CorrectnessResults]:
    """Judge the results in `folder`; where the new ones are, and what they are."""
    from slop_code.evaluation import ProblemConfig
    from slop_code.evaluation.rejudging import judge_again
    from slop_code.runs.targets import problem_finder

    package = problem_folder(problem_path, problem) if problem else problem_finder(problem_path)(folder.problem)
    config = ProblemConfig.from_yaml(package)
    checkpoint = config.load_checkpoint(folder.checkpoint)
    place = _new_place(folder.path)
    try:
        return place, judge_again(folder.path, config, checkpoint, place, jobs=jobs)
    except BaseException:
        # What was finished stays; an empty folder says nothing.
        with contextlib.suppress(OSError):
            place.rmdir()
        raise


def _new_place(folder: Path) -> Path:
    """A folder for new reports, which nobody else has."""
    for number in count(1):
        place = folder / f"judged-{number}"
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            return place
    raise AssertionError("numbers do not end")


def _exit_code(results: list[CorrectnessResults], *, bad_input: bool) -> int:
    if bad_input:
        return 2
    if any(result.errors for result in results):
        return 3
    return 0 if all(result.pass_counts == result.total_counts for result in results) else 1
