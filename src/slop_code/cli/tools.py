"""`slop-code tools`: what problem authors use all day."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slop_code.cli.choices import checkpoint_of, environment_of, problem_folder, snapshot_folder
from slop_code.cli.console import note

if TYPE_CHECKING:
    from slop_code.evaluation import CheckpointConfig, CorrectnessResults
    from slop_code.evaluation.verifiers import VerifierReport

app = typer.Typer(help="Tools for problem authors.", no_args_is_help=True)


@app.command("run-case")
def run_case(
    context: typer.Context,
    snapshot_dir: Annotated[Path, typer.Option("-s", "--snapshot-dir", help="Folder of the submission.")],
    problem: Annotated[str, typer.Option("-p", "--problem", help="A problem's name, or its folder.")],
    checkpoint: Annotated[str, typer.Option("-c", "--checkpoint", help="A number from 1, or a name.")],
    env_config: Annotated[str | None, typer.Option("-e", "--env-config", help="An environment's file or name.")] = None,
    group: Annotated[str, typer.Option("-g", "--group", help="Only groups that match this glob.")] = "*",
    case: Annotated[str, typer.Option("--case", help="Only cases that match this glob.")] = "*",
    full: Annotated[bool, typer.Option("--full", help="Print the whole report of each case.")] = False,
) -> None:
    """Run a submission's cases and print a JSON array of their results.

    \b
    Examples:
      slop-code tools run-case -s solution -p calculator -c 1
      slop-code tools run-case -s solution -p calculator -c 1 -g core --case 'add*' --full | jq '.[0].results.output'

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage or nothing selected, and 3 if
    something could not be judged.
    """
    from slop_code.evaluation import ProblemConfig
    from slop_code.evaluation.listening import Selection
    from slop_code.evaluation.runner import run_checkpoint

    chosen_problem = ProblemConfig.from_yaml(problem_folder(context.obj.problem_path, problem))
    chosen = checkpoint_of(chosen_problem, checkpoint)
    results = run_checkpoint(
        snapshot_folder(snapshot_dir),
        chosen_problem,
        chosen,
        environment_of(env_config),
        selection=Selection(groups=(group,), cases=(case,)),
    )
    shown = [_full(report) if full else _brief(report) for report in results.reports]
    typer.echo(json.dumps(shown, indent=2, ensure_ascii=False))
    for report in results.reports:
        if report.error:
            note(f"error: {report.group}/{report.id}: {report.error}")
    raise typer.Exit(_exit_code(results, chosen, group, case))


def _full(report: VerifierReport) -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(report.model_dump_json())
    return {**whole, "score": report.calculate_score(), "passed": report.did_pass()}


def _brief(report: VerifierReport) -> dict[str, Any]:
    brief: dict[str, Any] = {
        "id": report.id,
        "group": report.group,
        "score": report.calculate_score(),
        "passed": report.did_pass(),
    }
    if brief["passed"]:
        return brief
    whole = json.loads(report.model_dump_json())
    brief["outcome"] = report.outcome
    if report.error:
        brief["error"] = report.error
    brief["results"] = {
        name: result
        for name, result in whole["results"].items()
        if result["is_correct"] is not None or (name == "stderr" and result["actual"])
    }
    return brief


def _exit_code(results: CorrectnessResults, checkpoint: CheckpointConfig, group: str, case: str) -> int:
    if not results.reports:
        groups = ", ".join(checkpoint.groups) or "none"
        note(f'nothing matches --group "{group}" and --case "{case}"; {checkpoint.name} has the groups {groups}')
        return 2
    if results.error_count:
        return 3
    return 0 if all(report.did_pass() for report in results.reports) else 1
