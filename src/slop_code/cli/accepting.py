"""`--accept`: show what would become the new expectation, ask, and write it."""

from __future__ import annotations

import sys
from difflib import unified_diff

from slop_code.cli.asked import Asked
from slop_code.cli.case_runs import Finished, Loaded, report, run_once
from slop_code.cli.choices import UsageError
from slop_code.cli.console import harmless, note, tell, wants_colour
from slop_code.cli.styling import Paint
from slop_code.evaluation.accepting import FileChange, has_case_files, plan_acceptance, write_acceptance
from slop_code.evaluation.listening import Selection
from slop_code.paths import shown_path
from slop_code.runs.agreement import with_reports


def check_asking(yes: bool) -> None:
    """Raise `UsageError` where nobody can be asked and nobody has said yes."""
    if not yes and not (
        sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty()
    ):
        raise UsageError("--accept asks before it writes, and there is no terminal to ask on: add --yes")


def run_and_accept(asked: Asked, loaded: Loaded, selection: Selection, *, yes: bool) -> int:
    """Run the cases; make what failed ones gave their expectation; run these again, and report how all are now."""
    if not has_case_files(loaded.problem, loaded.checkpoint):
        raise UsageError(
            f'--accept edits case files, and the cases of "{loaded.problem.name}" come from '
            f"{loaded.problem.loader_script}"
        )
    finished = run_once(asked, loaded, selection)
    if finished.interrupted or not finished.results.reports:
        return report(asked, loaded, finished)
    plan = plan_acceptance(loaded.problem, loaded.checkpoint, finished.results.reports)
    for reason in plan.left_out:
        note(f"not accepted: {reason}")
    if not plan.changes:
        note("there is nothing to accept")
        return report(asked, loaded, finished)
    for change in plan.changes:
        tell(_shown(change))
    if not yes and not _confirmed(len(plan.accepted)):
        note("nothing was written")
        return report(asked, loaded, finished)
    write_acceptance(plan)
    note(f"accepted {_cases(len(plan.accepted))} in {', '.join(shown_path(change.path) for change in plan.changes)}")
    return report(asked, loaded, _with_accepted(asked, loaded, finished, frozenset(plan.accepted)))


def _with_accepted(asked: Asked, loaded: Loaded, finished: Finished, accepted: frozenset[tuple[str, str]]) -> Finished:
    """What the run gave, with the accepted cases as they are judged now."""
    again = run_once(asked._replace(quiet=True), loaded, Selection(only=accepted))
    now = {(case.group, case.id): case for case in again.results.reports}
    reports = [now.get((case.group, case.id), case) for case in finished.results.reports]
    return finished._replace(results=with_reports(finished.results, reports), interrupted=again.interrupted)


def _shown(change: FileChange) -> str:
    paint = Paint(wants_colour(sys.stderr))
    name = shown_path(change.path)
    old, new = change.old.splitlines(), change.new.splitlines()
    lines = []
    for line in unified_diff(old, new, f"{name} (before)", f"{name} (after)", lineterm="", n=2):
        style = {"-": "red", "+": "green", "@": "cyan"}.get(line[:1], "dim")
        lines.append(paint(harmless(line), style))
    return "\n".join(lines)


def _confirmed(count: int) -> bool:
    sys.stderr.write(f"Accept this for {_cases(count)}? [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _cases(count: int) -> str:
    return f"{count} {'case' if count == 1 else 'cases'}"
