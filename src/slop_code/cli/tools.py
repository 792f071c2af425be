"""`slop-code tools`: what problem authors use all day."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from slop_code.cli import options
from slop_code.cli.asked import Asked, Wanted
from slop_code.cli.choices import UsageError
from slop_code.cli.parsing_beside import answer

app = typer.Typer(help="Tools for problem authors.", no_args_is_help=True)


class Format(StrEnum):
    """How results are printed."""

    JSON = "json"
    TABLE = "table"


@app.command("run-case")
def run_case(
    context: typer.Context,
    snapshot_dir: options.Snapshot,
    problem: options.Problem,
    checkpoint: options.Checkpoint,
    env_config: options.Environment = None,
    group: options.Groups = None,
    case: options.Cases = None,
    full: Annotated[bool, typer.Option("--full", help="Print the whole report of each case.")] = False,
    output_format: Annotated[
        Format, typer.Option("--format", help="json: the array; table: the summary for people, on stdout.")
    ] = Format.JSON,
    only_list: Annotated[
        bool, typer.Option("--list", help="Run nothing; print what would run as [{id, group}, …].")
    ] = False,
    rerun_failed: Annotated[
        bool,
        typer.Option(
            "--rerun-failed",
            help="Only the cases that did not pass when they last ran; if all did, say so and exit with 0.",
        ),
    ] = False,
    repeat: Annotated[
        int,
        typer.Option(
            "--repeat",
            min=1,
            metavar="N",
            help='Run everything N times. Each case is still one entry, with "runs" (outcome, score, run_s of each), '
            '"agrees" (whether all were judged alike) and "varies" (verified attributes with changing values); '
            "the rest of it is the first run that did not pass.",
        ),
    ] = 1,
    watch: Annotated[
        bool,
        typer.Option(
            "--watch",
            help="Run again what an edit of the problem or submission affects, until Ctrl-C; an array a round.",
        ),
    ] = False,
    accept: Annotated[
        bool,
        typer.Option(
            "--accept", help="Write what failed cases gave into their case files, as the new expectation, after asking."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask before --accept writes.")] = False,
    junit: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Also write JUnit XML.")] = None,
    jobs: options.Jobs = None,
    fail_fast: options.FailFast = False,
    confirm_failures: options.ConfirmFailures = False,
    exclusive: options.Exclusive = None,
    keep_workspaces: options.KeepWorkspaces = None,
    quiet: options.Quiet = False,
) -> None:
    """Run a submission's cases and print a JSON array of their results.

    \b
    Examples:
      slop-code tools run-case -s solution -p calculator -c 1
      slop-code tools run-case -s solution -p calculator -c 1 -g core --case 'add*' --full | jq '.[0].results.output'
      slop-code tools run-case -s solution -p calculator -c 1 --rerun-failed --format table
      slop-code tools run-case -s solution -p calculator -c 1 --watch -q | jq -c '.[] | {id, passed}'

    In groups with state, cases before a selected one run too and are not reported.

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage or nothing selected, 3 if
    something could not be judged, and 130 if it was interrupted; what had finished by then is printed.
    """
    modes = {"--list": only_list, "--repeat": repeat > 1, "--watch": watch, "--accept": accept}
    _only_one(*[name for name, given in modes.items() if given])
    if yes and not accept:
        raise UsageError("--yes goes with --accept, and means nothing without it")
    asked = Asked(
        problem_path=context.obj.problem_path,
        snapshot=snapshot_dir,
        problem=problem,
        checkpoint=checkpoint,
        environment=env_config,
        selection=options.selection_of(group, case),
        options=options.run_options(jobs, confirm_failures, fail_fast, exclusive, keep_workspaces),
        rerun_failed=rerun_failed,
        full=full,
        table=output_format is Format.TABLE,
        quiet=quiet,
        junit=junit,
    )
    wanted = Wanted(asked, only_list, repeat, watch, accept, yes, context.obj.verbose)
    raise typer.Exit(answer(wanted))


def _only_one(*given: str) -> None:
    if len(given) > 1:
        raise UsageError(f"{given[0]} and {given[1]} exclude each other")
