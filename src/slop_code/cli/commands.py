"""The commands and what stands before them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from slop_code import __version__
from slop_code.cli.console import note
from slop_code.cli.ending import run_to_the_end
from slop_code.cli.lazy_commands import LazyCommand, LazyGroup

_EPILOG = """
\b
Examples:
  slop-code problems ls
  slop-code problems new greeter
  slop-code tools run-case -s problems/calculator/checkpoint_1/solution -p calculator -c 1
  slop-code tools run-case -s solution -p calculator -c 1 -g core --case 'add*' --full | jq '.[0].results'
  slop-code eval-snapshot solution -p calculator -c 1 -o results
  slop-code env check

What machines read goes to stdout, everything else to stderr. Exit codes: 0 all passed, 1 something failed or timed out,
2 bad usage or configuration, 3 something could not be judged, 130 interrupted.
"""


class Commands(LazyGroup):
    """Every command. The lines are those that the commands' own help begins with."""

    lazy = {
        "tools": LazyCommand("slop_code.cli.tools:app", "Tools for problem authors."),
        "problems": LazyCommand("slop_code.cli.problems:app", "List, show, make and check problems."),
        "eval-snapshot": LazyCommand("slop_code.cli.evaluate:eval_snapshot", "Evaluate one snapshot."),
        "eval-problem": LazyCommand("slop_code.cli.evaluate:eval_problem", "Evaluate every checkpoint of one problem."),
        "eval": LazyCommand("slop_code.cli.evaluate:eval_run", "Evaluate a run: every checkpoint of every problem."),
        "judge": LazyCommand("slop_code.cli.judge:judge", "Judge stored observations again."),
        "compare": LazyCommand(
            "slop_code.cli.compare:compare", "Compare two results, or the checkpoints of one submission."
        ),
        "report": LazyCommand("slop_code.cli.report:report", "Print results in a format of your choice."),
        "env": LazyCommand("slop_code.cli.env:app", "Show environments, and what works on this machine."),
        "cache": LazyCommand("slop_code.cli.cache:app", "Show and clear the cache of prepared submissions."),
        "schema": LazyCommand("slop_code.cli.schema:schema", "Print the JSON Schema of a file format."),
    }

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            note("interrupted")
            raise typer.Exit(130) from None


app = typer.Typer(
    name="slop-code",
    cls=Commands,
    help="Run code submissions case by case, isolated, and say exactly what was right and what was wrong.",
    epilog=_EPILOG,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    # Rich's help looks fine and takes longer to import than everything else together.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class Settings(NamedTuple):
    """The options that stand before the command."""

    problem_path: Path
    verbose: bool = False


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"slop-code {__version__}")
        raise typer.Exit


@app.callback()
def settings(
    context: typer.Context,
    problem_path: Annotated[Path, typer.Option("-p", "--problem-path", help="Folder of problems.")] = Path("problems"),
    verbose: Annotated[bool, typer.Option("-v", "--verbose", help="Show what is being done.")] = False,
    version: Annotated[  # noqa: ARG001  # its callback does the work
        bool, typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version)
    ] = False,
) -> None:
    if verbose:
        from slop_code.logging import setup_logging

        setup_logging("debug")
    context.obj = Settings(problem_path, verbose)


def main() -> None:
    """The `slop-code` command."""
    run_to_the_end(app)
