"""`--list`: what would run."""

from __future__ import annotations

import json

from slop_code.cli.asked import Asked
from slop_code.cli.case_runs import NOTHING, Loaded, say_what_there_is
from slop_code.cli.choices import environment_of
from slop_code.cli.console import emit, harmless, note, table
from slop_code.evaluation.listening import Selection
from slop_code.evaluation.listing import list_cases


def show_cases(asked: Asked, loaded: Loaded, selection: Selection) -> int:
    """Print the selected cases, as a JSON array of {id, group} or a table, and return the exit code. Nothing is run."""
    if asked.environment is not None:
        environment_of(asked.environment)  # what is not there is told here as it is where something runs
    listing = list_cases(loaded.problem, loaded.checkpoint, selection)
    if asked.table:
        emit(harmless(table(["group", "case"], listing.cases)))
    else:
        emit(json.dumps([{"id": case, "group": group} for group, case in listing.cases], indent=2, ensure_ascii=False))
    for group in listing.store_fed:
        note(f'group "{group}" is fed from results: cases that depend on them are not listed')
    for error in listing.errors:
        note(f"error: {error}")
    if listing.errors:
        return NOTHING
    if not listing.cases and not listing.store_fed:
        say_what_there_is(loaded, selection)
        return NOTHING
    return 0
