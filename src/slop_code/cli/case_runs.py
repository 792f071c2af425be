"""The way of `tools run-case`: from the words of its command line to cases that ran, and to what is printed of them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from slop_code.cli.asked import Asked
from slop_code.cli.case_json import as_array, brief_entry, full_entry
from slop_code.cli.choices import (
    UsageError,
    check_entry_file,
    check_groups,
    checkpoint_of,
    environment_of,
    problem_folder,
    snapshot_folder,
)
from slop_code.cli.console import emit, note, wants_colour
from slop_code.cli.progress import make_progress
from slop_code.cli.styling import Paint, terminal_width
from slop_code.cli.summary import print_summary, summary
from slop_code.evaluation.getting_ready import begin
from slop_code.evaluation.listening import RunInterrupted, Selection
from slop_code.findings import did_you_mean
from slop_code.quick_imports import quick_imports
from slop_code.runs.last_run import LastRun

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.execution import EnvironmentSpec

INTERRUPTED, NOTHING = 130, 2
SHOWN_IDS = 20


class Loaded:
    """What the words mean. The environment is looked for when something runs, and then says which it is."""

    def __init__(
        self,
        asked: Asked,
        snapshot: Path,
        problem: ProblemConfig,
        checkpoint: CheckpointConfig,
        environment: EnvironmentSpec | None = None,
    ) -> None:
        self.snapshot = snapshot
        self.problem = problem
        self.checkpoint = checkpoint
        self._wanted = asked.environment
        self._environment = environment

    @property
    def environment(self) -> EnvironmentSpec:
        if self._environment is None:
            self._environment = environment_of(self._wanted)
        return self._environment

    @property
    def last_run(self) -> LastRun:
        return LastRun.of(self.snapshot, self.problem.path, self.checkpoint.name)


class Finished(NamedTuple):
    """A run that is over, one way or the other."""

    results: CorrectnessResults
    selection: Selection
    prepare_s: float
    interrupted: bool = False


def load(asked: Asked, environment: EnvironmentSpec | None = None) -> Loaded:
    """Read the problem and find everything else, but for an environment that is known already.

    Raises:
        SlopCodeError: something is not there, or not sound.
    """
    from slop_code.evaluation import ProblemConfig

    problem = ProblemConfig.from_yaml(problem_folder(asked.problem_path, asked.problem))
    checkpoint = checkpoint_of(problem, asked.checkpoint)
    check_groups("--exclusive", asked.options.exclusive, [checkpoint])
    return Loaded(asked, snapshot_folder(asked.snapshot), problem, checkpoint, environment)


def run_once(asked: Asked, loaded: Loaded, selection: Selection) -> Finished:
    """Run the cases of `selection`, showing how it goes, and remember how each went."""
    environment = loaded.environment
    check_entry_file(loaded.snapshot, loaded.problem, environment)
    _check_places(asked)
    begin(loaded.problem, loaded.checkpoint, selection, environment)
    with quick_imports():
        from slop_code.evaluation.runner import run_checkpoint

    with make_progress(asked.quiet) as progress:
        interrupted = False
        try:
            results = run_checkpoint(
                submission_path=loaded.snapshot,
                problem=loaded.problem,
                checkpoint=loaded.checkpoint,
                env_spec=environment,
                selection=selection,
                options=asked.options,
                listener=progress,
            )
        except RunInterrupted as stop:
            results, interrupted = stop.results, True
    ran = {(report.group, report.id) for report in results.reports}
    loaded.last_run.remember(
        results.reports,
        whole=results.complete and selection == Selection(),
        gone=(selection.only or frozenset()) - ran if results.complete else (),
    )
    return Finished(results, selection, progress.prepared_s, interrupted)


def _check_places(asked: Asked) -> None:
    """Find out before anything runs that what it gives could not be written."""
    kept = asked.options.keep_workspaces
    if kept is not None and kept.exists() and not kept.is_dir():
        raise UsageError(f"--keep-workspaces {kept}: is a file, and should be a folder")
    if kept is not None and kept.resolve().is_relative_to(asked.snapshot.resolve()):
        raise UsageError(f"--keep-workspaces {kept}: lies within the submission, which is never written to")
    if asked.junit is not None and asked.junit.is_dir():
        raise UsageError(f"--junit {asked.junit}: is a folder, and should be a file")


def wanted_selection(asked: Asked, loaded: Loaded) -> Selection | int:
    """The cases to run, or the exit code where there is nothing to run and that has been said."""
    groups = loaded.checkpoint.groups
    unknown = [
        glob for glob in asked.selection.groups if not any(Selection(groups=(glob,)).has_group(name) for name in groups)
    ]
    for glob in unknown:
        known = f"{loaded.checkpoint.name} has the groups {', '.join(groups) or 'none'}"
        note(f'nothing matches --group "{glob}"{did_you_mean(glob, groups)}; {known}')
    if groups and unknown:
        return NOTHING
    if not asked.rerun_failed:
        return asked.selection
    failed = loaded.last_run.failed()
    if failed is None:
        note("nothing is known of an earlier run of this submission at this checkpoint; run it without --rerun-failed")
        return NOTHING
    wanted = asked.selection
    chosen = frozenset(
        (group, case) for group, case in failed if wanted.has_group(group) and wanted.has_case(group, case)
    )
    if not chosen:
        note("nothing of that failed the last time" if failed else "nothing failed the last time")
        return 0
    return wanted._replace(only=chosen)


def report(asked: Asked, loaded: Loaded, finished: Finished, entries: list[dict[str, Any]] | None = None) -> int:
    """Print what a run gave, and return the exit code. `entries` replace those of the array."""
    results = finished.results
    if asked.junit is not None:
        from slop_code.cli.junit import write_junit

        write_junit(asked.junit, results)
    if not results.reports and not finished.interrupted:
        if not asked.table:
            emit(as_array([]))
        say_what_there_is(loaded, finished.selection)
        return NOTHING
    _say_unmatched(finished)
    rerun = asked.command()
    if asked.table:
        paint = Paint(wants_colour(sys.stdout))
        width = terminal_width()
        emit(summary(results, prepare_s=finished.prepare_s, rerun=rerun, width=width, paint=paint))
    else:
        entry = full_entry if asked.full else brief_entry
        emit(as_array(map(entry, results.reports) if entries is None else entries))
    if asked.quiet and not asked.table:
        for case in results.reports:
            if case.error:
                note(f"error: {case.group}/{case.id}: {case.error}")
    elif not asked.table:
        print_summary(results, prepare_s=finished.prepare_s, rerun=rerun)
    kept = asked.options.keep_workspaces
    if kept is not None and not asked.quiet and any(case.outcome != "passed" for case in results.reports):
        note(f"the files that they left are in {kept}")
    return exit_code(finished)


def _say_unmatched(finished: Finished) -> None:
    """Name the globs of cases that matched nothing beside others that did."""
    globs, results = finished.selection.cases, finished.results
    if len(globs) < 2 or not results.complete or finished.selection.only is not None:
        return
    for glob in globs:
        if not any(Selection(cases=(glob,)).has_case(case.group, case.id) for case in results.reports):
            note(f'nothing matches --case "{glob}"')


def exit_code(finished: Finished) -> int:
    """What the outcomes come to, as the help of the command says."""
    if finished.interrupted:
        note("interrupted")
        return INTERRUPTED
    if finished.results.error_count:
        return 3
    return 0 if all(case.did_pass() for case in finished.results.reports) else 1


def say_what_there_is(loaded: Loaded, selection: Selection) -> None:
    """Tell which cases there are, to somebody whose filter matches none of them."""
    from slop_code.evaluation.listing import list_cases

    if selection.only is not None:
        note("none of the cases that did not pass the last time is there any more")
        return
    there = list_cases(loaded.problem, loaded.checkpoint, Selection(groups=selection.groups))
    by_group: dict[str, list[str]] = {}
    for group, case in there.cases:
        by_group.setdefault(group, []).append(case)
    wanted = " or ".join(f'"{glob}"' for glob in selection.cases)
    near = did_you_mean(selection.cases[0], [case for _, case in there.cases])
    note(f"nothing matches --case {wanted}{near}; {loaded.checkpoint.name} has these cases:")
    for group, cases in by_group.items():
        more = f" and {len(cases) - SHOWN_IDS} more" if len(cases) > SHOWN_IDS else ""
        note(f"  {group}: {', '.join(cases[:SHOWN_IDS])}{more}")
    for group in there.store_fed:
        note(f'  (group "{group}" is fed from results, and may have others)')
    for error in there.errors:
        note(f"error: {error}")
