"""The command line: parse, call, print."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from slop_code import __version__
from slop_code.cli import cache, problems, schema, tools
from slop_code.cli.console import note
from slop_code.errors import SlopCodeError

app = typer.Typer(
    name="slop-code",
    help="Run code submissions case by case, isolated, and say exactly what was right and what was wrong.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(tools.app, name="tools")
app.add_typer(problems.app, name="problems")
app.add_typer(cache.app, name="cache")
app.command("schema")(schema.schema)


@dataclass(frozen=True, slots=True)
class Settings:
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


def main() -> None:
    """The `slop-code` command: what a person can mend is one message and exit code 2, never a traceback."""
    try:
        app()
    except SlopCodeError as error:
        note(f"error: {error}")
        sys.exit(2)
    except OSError as error:
        note(f"error: {error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(2)
