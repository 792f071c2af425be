"""`slop-code problems`: what problems there are and whether they are sound."""

from __future__ import annotations

from typing import Annotated

import typer

from slop_code.cli.choices import problem_folder
from slop_code.cli.console import note, table

app = typer.Typer(help="List problems and check that they are sound.", no_args_is_help=True)


@app.command("ls")
def list_problems(context: typer.Context) -> None:
    """List the problems of the problem path."""
    from slop_code.evaluation.config import get_available_problems

    problems = get_available_problems(context.obj.problem_path)
    rows = [
        [
            name,
            problem.adapter.type,
            problem.difficulty,
            str(len(problem.checkpoints)),
            problem.description.split("\n")[0],
        ]
        for name, problem in sorted(problems.items())
    ]
    typer.echo(table(["problem", "adapter", "difficulty", "checkpoints", "description"], rows))


@app.command("check")
def check_problem(
    context: typer.Context,
    problem: Annotated[str, typer.Argument(help="A problem's name, or its folder.")],
) -> None:
    """Load a problem completely, configuration and every case, and say what is wrong with it.

    Runs no submission. Exits with 0 if all is well and with 2 if something is wrong.
    """
    from slop_code.evaluation.check import check_package

    checked = check_package(problem_folder(context.obj.problem_path, problem))
    rows = [[count.checkpoint, count.group, count.type, count.shown] for count in checked.counts]
    if rows:
        typer.echo(table(["checkpoint", "group", "type", "cases"], rows))
    for finding in checked.findings:
        note(f"{finding.severity}: {finding}")
    errors = len(checked.findings.errors)
    if errors:
        note(f"{problem}: {errors} {'error' if errors == 1 else 'errors'}")
        raise typer.Exit(2)
    cases = sum(count.cases for count in checked.counts)
    note(f"{problem}: {cases} {'case' if cases == 1 else 'cases'}, no errors")
