"""What `tools run-case` does once it is known what is wanted."""

from __future__ import annotations

from slop_code.cli.asked import Wanted
from slop_code.evaluation.getting_ready import get_ready
from slop_code.quick_imports import quick_imports


def import_everything() -> None:
    """Import what it takes to know what to run, while the processes for it are started; once, before `perform`."""
    get_ready()
    with quick_imports():
        import slop_code.cli.case_runs  # noqa: F401


def perform(wanted: Wanted) -> int:
    """Do it, and return the exit code.

    Raises:
        SlopCodeError: something is not there, or not sound.
    """
    from slop_code.cli.case_json import as_array
    from slop_code.cli.case_runs import load, report, run_once, wanted_selection
    from slop_code.cli.console import emit

    asked = wanted.asked
    if wanted.watch:
        from slop_code.cli.watching import watch_cases

        return watch_cases(asked)
    if wanted.accept:
        from slop_code.cli.accepting import check_asking

        check_asking(wanted.yes)
    loaded = load(asked)
    selection = wanted_selection(asked, loaded)
    if isinstance(selection, int):
        if not asked.table:
            emit(as_array([]))
        return selection
    if wanted.only_list:
        from slop_code.cli.listing import show_cases

        return show_cases(asked, loaded, selection)
    if wanted.repeat > 1:
        from slop_code.cli.repeating import run_repeatedly

        return run_repeatedly(asked, loaded, selection, wanted.repeat)
    if wanted.accept:
        from slop_code.cli.accepting import run_and_accept

        return run_and_accept(asked, loaded, selection, yes=wanted.yes)
    return report(asked, loaded, run_once(asked, loaded, selection))
