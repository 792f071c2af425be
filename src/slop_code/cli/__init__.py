"""The command line: parse, call, print."""

from __future__ import annotations

import signal
import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from slop_code import __version__
from slop_code.cli.console import finish_stdout, note, protect_stdout
from slop_code.cli.lazy_commands import LazyCommand, LazyGroup
from slop_code.errors import SlopCodeError

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
    context.obj = Settings(problem_path)


def _interrupt(_number: int, _frame: object) -> None:
    # Once is enough: impatience must not get in the way of ending what runs and saving what is finished.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _exit_code(error: SlopCodeError) -> int:
    """What a person can mend is bad usage; that a submission cannot be prepared or run here is no verdict on it."""
    if "slop_code.execution.errors" not in sys.modules:
        return 2
    from slop_code.execution.errors import EnvironmentFileError, ExecutionError

    return 3 if isinstance(error, ExecutionError) and not isinstance(error, EnvironmentFileError) else 2


def main() -> None:
    """The `slop-code` command: what a person can mend is one message and exit code 2, never a traceback."""
    protect_stdout()
    try:
        # Being told to stop is the same as Ctrl-C: what is finished is reported.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        app()
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(130)
    except SlopCodeError as error:
        note(f"error: {error}")
        sys.exit(_exit_code(error))
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        note(f"error: {error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(2)
    finally:
        finish_stdout()
