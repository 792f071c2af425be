"""`slop-code problems`: what problems there are, whether they are sound, and how to begin one."""

from __future__ import annotations

import json
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from slop_code.cli.choices import UsageError, checkpoint_of, environment_of, no_problems, problem_folder
from slop_code.cli.console import emit, harmless, note, table
from slop_code.cli.problem_check import check_and_report, counted
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import ProblemConfig
    from slop_code.findings import Findings

app = typer.Typer(help="List, show, make and check problems.", no_args_is_help=True, rich_markup_mode=None)

Problem = Annotated[str, typer.Argument(help="A problem's name, or its folder.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the whole model as JSON.")]


@app.command("ls", short_help="List the problems of the problem path.")
def list_problems(context: typer.Context) -> None:
    """List the problems of the problem path.

    A broken one is named on stderr and does not hide the others.

    \b
    Examples:
      slop-code problems ls
      slop-code -p ~/work/problems problems ls
    """
    from slop_code.evaluation.config.reading import inspect_problem
    from slop_code.findings import Findings

    problems: dict[str, ProblemConfig] = {}
    for folder in _problem_folders(context.obj.problem_path):
        findings = Findings()
        problem = inspect_problem(folder, findings)
        _take(problem, folder, findings, problems)
    rows = [
        [
            problem.name,
            problem.adapter.type,
            problem.difficulty,
            str(len(problem.checkpoints)),
            problem.description.strip().partition("\n")[0],
        ]
        for problem in problems.values()
    ]
    if not rows:
        note(f"no problems in {shown_path(context.obj.problem_path)}; `slop-code problems new NAME` begins one")
    emit(harmless(table(["problem", "adapter", "difficulty", "checkpoints", "description"], sorted(rows))))


@app.command("show", short_help="Show one problem.")
def show_problem(context: typer.Context, problem: Problem, as_json: AsJson = False) -> None:
    """Show one problem: what it asks, how submissions are reached, and its checkpoints with their groups.

    \b
    Examples:
      slop-code problems show calculator
      slop-code problems show calculator --json | jq '.checkpoints | keys'
    """
    from slop_code.cli import problem_views

    chosen = _read(context, problem)
    emit(_json(problem_views.as_json(chosen)) if as_json else harmless(problem_views.problem_view(chosen)))


@app.command("chkpt", short_help="Show one checkpoint and its specification.")
def show_checkpoint(
    context: typer.Context,
    problem: Problem,
    checkpoint: Annotated[str, typer.Argument(help="A number from 1, or a name.")],
    as_json: AsJson = False,
) -> None:
    """Show one checkpoint of a problem, with its specification at the end.

    \b
    Examples:
      slop-code problems chkpt calculator 2
      slop-code problems chkpt calculator checkpoint_2 --json | jq -r .specification_text
    """
    from slop_code.cli import problem_views
    from slop_code.evaluation.config import ConfigError

    chosen_problem = _read(context, problem)
    chosen = checkpoint_of(chosen_problem, checkpoint)
    text: str | None = None
    try:
        text = chosen.get_spec_text()
    except ConfigError as error:
        note(f"warning: {error}")
    if as_json:
        emit(_json({**problem_views.as_json(chosen), "specification_text": text}))
        return
    view = problem_views.checkpoint_view(chosen_problem, chosen)
    emit(harmless(view if text is None else f"{view}\n\n{text.rstrip()}"))


@app.command("new", short_help="Begin a problem from a template.")
def new_problem(
    context: typer.Context,
    name: Annotated[str, typer.Argument(help="The name of the problem and of its folder.")],
    flavour: Annotated[
        str, typer.Option("--flavour", help="files: no Python; python: a loader and a verifier; api: an HTTP server.")
    ] = "files",
) -> None:
    """Begin a problem: a small complete package below the problem path, with solutions, ready to be changed.

    Prints its folder. What exists already is never overwritten.

    \b
    Examples:
      slop-code problems new greeter
      slop-code problems new shop --flavour api
      slop-code problems check shop --run
    """
    from slop_code.evaluation.new_package import make_package

    problem_path = context.obj.problem_path
    folder = make_package(problem_path, name, flavour)
    emit(shown_path(folder))
    command = "slop-code" if problem_path == Path("problems") else f"slop-code -p {quote(str(problem_path))}"
    config, specification, solution = (
        quote(shown_path(folder / part)) for part in ("config.yaml", "checkpoint_1/spec.md", "checkpoint_1/solution")
    )
    note(
        f"Next:\n"
        f"  {command} problems check {name} --run\n"
        f"  {command} tools run-case -s {solution} -p {name} -c 1\n"
        f"  $EDITOR {config} {specification}"
    )


@app.command("check", short_help="Say what is wrong or odd about a problem.")
def check_problem(
    context: typer.Context,
    problem: Problem,
    run: Annotated[bool, typer.Option("--run", help="Also run the package's own solutions.")] = False,
    env_config: Annotated[
        str | None, typer.Option("-e", "--env-config", help="An environment's file or name, for --run.")
    ] = None,
) -> None:
    """Load a problem completely, configuration and every case, and say what is wrong or odd about it.

    With --run, each checkpoint's solution/ has to pass every case, and each of its wrong_solutions/*/ has to fail one;
    a package in which no checkpoint has a solution/ is broken then. Without --run, no submission is run.

    \b
    Examples:
      slop-code problems check calculator
      slop-code problems check calculator --run -e local-py

    Exits with 0 if all is well, 2 if the package is broken, 3 if a solution could not be judged, and 1 if one did not
    do what it should. Warnings do not count.
    """
    if env_config is not None and not run:
        raise UsageError("-e says where solutions are run, and without --run none is")
    folder = problem_folder(context.obj.problem_path, problem)
    raise typer.Exit(check_and_report(problem, folder, environment_of(env_config) if run else None))


@app.command("make-registry", short_help="Print all problems as one JSON document.")
def make_registry(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Write it to this file.")] = None,
) -> None:
    """Print a JSON array of all problems of the problem path, by name: what they are, and how many cases they have.

    Each has a hash of its content, so that a change can be seen. The same problems give the same bytes anywhere.
    A package that `problems check` calls broken is left out and named on stderr; the exit code is 2 then.

    \b
    Examples:
      slop-code problems make-registry -o registry.json
      slop-code problems make-registry | jq -r '.[] | "\\(.name) \\(.content)"'
    """
    from slop_code.evaluation.check import check_package
    from slop_code.evaluation.registry import registry_entry

    problems: dict[str, ProblemConfig] = {}
    entries = []
    folders = _problem_folders(context.obj.problem_path)
    for folder in folders:
        checked = check_package(folder)
        problem = _take(checked.problem, folder, checked.findings, problems)
        if problem is not None:
            entries.append(registry_entry(problem, checked))
    text = _json(sorted(entries, key=lambda entry: entry["name"]))
    if output is None:
        emit(text)
    else:
        from slop_code.evaluation.atomic_files import replace_files

        replace_files({output: lambda file: file.writelines([text.encode("utf-8", "backslashreplace"), b"\n"])})
        note(f"{shown_path(output)}: {counted(len(entries), 'problem')}")
    if len(entries) < len(folders):
        raise typer.Exit(2)


def _problem_folders(problem_path: Path) -> list[Path]:
    if not problem_path.is_dir():
        raise no_problems(problem_path)
    return sorted(file.parent for file in problem_path.glob("*/config.yaml"))


def _take(
    problem: ProblemConfig | None, folder: Path, findings: Findings, problems: dict[str, ProblemConfig]
) -> ProblemConfig | None:
    """Add a problem to those that are known by now, or say in one line why it is left out."""
    if problem is None or findings.errors:
        first = str(findings.errors[0]).partition("\n")[0]
        more = f" (and {counted(len(findings.errors) - 1, 'more error')})" if len(findings.errors) > 1 else ""
        note(f"error: left out {shown_path(folder)}, which is broken: {first}{more}")
        return None
    earlier = problems.setdefault(problem.name, problem)
    if earlier is not problem:
        note(f'error: left out {shown_path(folder)}: {shown_path(earlier.path)} has the same name, "{problem.name}"')
        return None
    return problem


def _read(context: typer.Context, wanted: str) -> ProblemConfig:
    """A problem without its warnings, which `problems check` is there for."""
    from slop_code.evaluation.config import ConfigError
    from slop_code.evaluation.config.reading import inspect_problem
    from slop_code.findings import Findings

    findings = Findings()
    problem = inspect_problem(problem_folder(context.obj.problem_path, wanted), findings)
    if problem is None or findings.errors:
        raise ConfigError(findings.errors)
    return problem


def _json(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)
