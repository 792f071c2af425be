"""`slop-code eval-snapshot`, `eval-problem` and `eval`: evaluating snapshots, with the results in files."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli import options
from slop_code.cli.choices import (
    UsageError,
    check_groups,
    checkpoint_of,
    environment_of,
    problem_folder,
    snapshot_folder,
)
from slop_code.cli.console import note
from slop_code.evaluation.scores import PassPolicy
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.runs.checkpoint_results import Record
    from slop_code.runs.evaluate import Asked, Outcome
    from slop_code.runs.targets import Target, Targets

_INTERRUPTED = "interrupted: what is finished is kept"
Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="OUT", help="A folder for the results.")]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", "--no-cache", help="Run everything, also what is done and unchanged.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Run everything, also what was observed before.")]
Workers = Annotated[
    int | None,
    typer.Option(
        "-j",
        "--jobs",
        "-proc",
        "--num-workers",
        min=1,
        metavar="N",
        help="Cases at the same time; by default one per core.",
    ),
]


def eval_snapshot(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of the submission.")],
    problem: options.Problem,
    checkpoint: options.Checkpoint,
    env_config: options.Environment = None,
    output: Output = None,
    group: options.Groups = None,
    case: options.Cases = None,
    jobs: options.Jobs = None,
    confirm_failures: options.ConfirmFailures = False,
    exclusive: options.Exclusive = None,
    fail_fast: options.FailFast = False,
    no_cache: NoCache = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate one snapshot.

    \b
    Examples:
      slop-code eval-snapshot runs/monday/calculator/checkpoint_1/snapshot -p calculator -c 1
      slop-code eval-snapshot solution -p calculator -c 2 -o results

    Writes evaluation.json, reports.parquet and observations.parquet next to DIR, or into OUT. What was observed there
    before is not run again where nothing that matters has changed, only judged. Results of a part of the cases (-g,
    --case, or a --fail-fast that stopped) say that they are not complete, and `eval` does not take them for an
    evaluation.

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage or nothing selected, 3 if something
    could not be judged, and 130 if it was interrupted.
    """
    from slop_code.cli.evaluation_summary import show_errors, show_one
    from slop_code.evaluation import ProblemConfig
    from slop_code.runs.discovery import Snapshot
    from slop_code.runs.evaluate import Asked
    from slop_code.runs.package_content import package_key
    from slop_code.runs.targets import Target

    folder = snapshot_folder(directory)
    config = ProblemConfig.from_yaml(problem_folder(context.obj.problem_path, problem))
    chosen = checkpoint_of(config, checkpoint)
    check_groups("--group", group or (), [chosen])
    results = output or Path(os.path.abspath(folder)).parent  # noqa: PTH100  # next to a link, not to what it means
    target = Target(Snapshot(folder, config.name, chosen.name, folder, results), config, chosen, package_key(config))
    asked = Asked(
        environment_of(env_config),
        options.run_options(jobs, confirm_failures, fail_fast, exclusive),
        options.selection_of(group, case),
        overwrite=True,
        reuse=not no_cache,
    )
    done = _evaluate([target], asked, progress=not quiet)
    (outcome,) = done.outcomes
    show_errors(done.outcomes)
    if not quiet:
        show_one(outcome, prepare_s=done.prepare_s, reused=done.reused)
    if done.interrupted:
        note(_INTERRUPTED)
    elif outcome.status == "evaluated" and outcome.summary and not outcome.summary.total_cases:
        groups = ", ".join(chosen.groups) or "none"
        note(f"error: nothing was selected; {chosen.name} has the groups {groups}")
        raise typer.Exit(2)
    raise typer.Exit(_exit_code(done, PassPolicy.ALL_CASES))


def eval_problem(
    context: typer.Context,
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A folder with <checkpoint>/snapshot/.")],
    problem: Annotated[
        str | None,
        typer.Option("-p", "--problem", metavar="NAME", help="A problem's name, or its folder; by default DIR's name."),
    ] = None,
    env_config: options.Environment = None,
    output: Output = None,
    jobs: options.Jobs = None,
    confirm_failures: options.ConfirmFailures = False,
    exclusive: options.Exclusive = None,
    overwrite: Overwrite = False,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate every checkpoint of one problem.

    \b
    Examples:
      slop-code eval-problem runs/monday/calculator
      slop-code eval-problem my-solution -p calculator -o results

    DIR has a snapshot for each checkpoint: <checkpoint>/snapshot/. Writes evaluation.json and reports.parquet next to
    each snapshot, or into OUT/<checkpoint>/. What is done and unchanged is skipped, as `eval` does.

    Exits with 0 if all passed, 1 if something failed or timed out, 2 for bad usage, 3 if something could not be judged,
    and 130 if it was interrupted.
    """
    from slop_code.runs.discovery import snapshots_of_problem
    from slop_code.runs.evaluate import Asked
    from slop_code.runs.targets import problem_finder, resolve

    given = problem_folder(context.obj.problem_path, problem) if problem else None
    find = problem_finder(context.obj.problem_path)
    found = snapshots_of_problem(directory, (given or directory).resolve().name, output)
    resolved = resolve(found.snapshots, lambda name: given or find(name))
    asked = Asked(
        environment_of(env_config),
        options.run_options(jobs, confirm_failures, exclusive=exclusive),
        overwrite=overwrite,
        reuse=not overwrite,
    )
    _evaluate_many(resolved, asked, PassPolicy.ALL_CASES, quiet=quiet)


def eval_run(
    context: typer.Context,
    run_dirs: Annotated[list[Path], typer.Argument(metavar="RUN_DIR...", help="Folders of runs.")],
    problem: Annotated[
        list[str] | None,
        typer.Option("--problem", metavar="NAME", help="Only this problem; may be given several times."),
    ] = None,
    pass_policy: Annotated[
        PassPolicy, typer.Option("--pass-policy", help="What makes a checkpoint pass.")
    ] = PassPolicy.ALL_CASES,
    env_config: options.Environment = None,
    output: Output = None,
    jobs: Workers = None,
    confirm_failures: options.ConfirmFailures = False,
    exclusive: options.Exclusive = None,
    overwrite: Overwrite = False,
    live_progress: Annotated[
        bool, typer.Option("--live-progress/--no-live-progress", help="Show how it goes while it goes on.")
    ] = True,
    quiet: options.Quiet = False,
) -> None:
    """Evaluate a run: every checkpoint of every problem.

    \b
    Examples:
      slop-code eval runs/monday
      slop-code eval runs/monday --problem calculator --pass-policy core-cases
      slop-code eval runs/* -o evaluations

    RUN_DIR has a snapshot for each checkpoint of each problem: <problem>/<checkpoint>/snapshot/. Writes evaluation.json
    and reports.parquet next to each snapshot, and checkpoint_results.jsonl, one line a checkpoint, into RUN_DIR; or all
    of it to the same places below OUT (below OUT/<name of the run>/ if there are several runs).

    What is done and unchanged is skipped: submission, problem, environment, options and slop-code are compared by
    content. Where only some of it changed, only the cases that it can make a difference to are run again. What was
    interrupted, or could not be judged, is evaluated again. Several evaluators may work on one run at the same time:
    each checkpoint is evaluated by one of them.

    Exits with 0 if every checkpoint passes by the policy, 1 if one does not, 2 for bad usage (also if only some of the
    input is bad: the rest is evaluated), 3 if something could not be judged, and 130 if it was interrupted.
    """
    from slop_code.runs.checkpoint_results import Record
    from slop_code.runs.discovery import places_of_results, snapshots_of_runs
    from slop_code.runs.evaluate import Asked
    from slop_code.runs.targets import problem_finder, resolve

    places = places_of_results(run_dirs, output)
    found = snapshots_of_runs(places).only(problem or [])
    resolved = resolve(found.snapshots, problem_finder(context.obj.problem_path))
    used = {target.snapshot.run for target in resolved.targets}
    resolved.troubles[:0] = found.troubles
    asked = Asked(
        environment_of(env_config),
        options.run_options(jobs, confirm_failures, exclusive=exclusive),
        overwrite=overwrite,
        reuse=not overwrite,
    )
    record = Record({run: place for run, place in places.items() if run in used}, pass_policy)
    _evaluate_many(resolved, asked, pass_policy, record=record, progress=live_progress, quiet=quiet)


@dataclass(frozen=True, slots=True)
class _Done:
    """What an evaluation came to."""

    outcomes: list[Outcome]
    interrupted: bool
    prepare_s: float
    reused: int


def _evaluate(targets: Sequence[Target], asked: Asked, *, record: Record | None = None, progress: bool = True) -> _Done:
    from slop_code.cli.progress import make_progress
    from slop_code.runs.evaluate import Evaluation

    for target in targets:
        _keep_apart(target)
    if targets:
        check_groups("--exclusive", asked.options.exclusive, [target.checkpoint for target in targets])
    evaluation = Evaluation(
        targets,
        asked,
        on_outcome=lambda outcome: record.settle([outcome]) if record else None,
        on_wait=lambda target, holder: note(f"{shown_path(target.snapshot.results)}: {holder} is at it; waiting"),
    )
    pending = evaluation.look()
    if record is not None:
        record.settle(evaluation.settled)
        record.begin(target for target, _ in pending)
    with make_progress(not progress, total_runs=len(pending)) as tally:
        outcomes = evaluation.run(tally)
    return _Done(outcomes, evaluation.interrupted, tally.prepared_s, tally.reused)


def _evaluate_many(
    resolved: Targets,
    asked: Asked,
    policy: PassPolicy,
    *,
    record: Record | None = None,
    progress: bool = True,
    quiet: bool = False,
) -> None:
    """Evaluate, tell what came of it, and exit with the code for it."""
    from slop_code.cli.evaluation_summary import show_errors, show_many

    for trouble in resolved.troubles:
        note(f"error: {trouble}")
    done = _evaluate(resolved.targets, asked, record=record, progress=progress and not quiet)
    show_errors(done.outcomes)
    if done.outcomes and not quiet:
        show_many(done.outcomes, policy, reused=done.reused)
    if done.interrupted:
        note(f"{_INTERRUPTED}, and the same command goes on from there")
    raise typer.Exit(_exit_code(done, policy, bad_input=bool(resolved.troubles)))


def _keep_apart(target: Target) -> None:
    """Results within the submission would be a part of it the next time."""
    if target.snapshot.results.resolve().is_relative_to(target.snapshot.path.resolve()):
        raise UsageError(
            f"{shown_path(target.snapshot.results)}: lies within the submission, which is never written to; "
            "choose another place for the results with -o"
        )


def _exit_code(done: _Done, policy: PassPolicy, *, bad_input: bool = False) -> int:
    """Interrupted before everything else, then 2 before 3 before 1."""
    summaries = [outcome.summary for outcome in done.outcomes if outcome.summary is not None]
    statuses = {outcome.status for outcome in done.outcomes}
    if done.interrupted:
        return 130
    if bad_input or "refused" in statuses:
        return 2
    if "unjudged" in statuses or any(summary.errors for summary in summaries):
        return 3
    return 0 if all(summary.passes(policy) for summary in summaries) else 1
