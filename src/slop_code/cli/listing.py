"""`--list`: what would run."""

from __future__ import annotations

import json

from slop_code.cli.case_runs import NOTHING, Loaded, say_what_there_is
from slop_code.cli.console import emit, note
from slop_code.evaluation.listening import Selection
from slop_code.evaluation.listing import list_cases


def show_cases(loaded: Loaded, selection: Selection) -> int:
    """Print the selected cases as a JSON array of {id, group} and return the exit code. Nothing is run."""
    listing = list_cases(loaded.problem, loaded.checkpoint, selection)
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
