"""`--watch`: run, wait for an edit, run what it affects, and so on until Ctrl-C."""

from __future__ import annotations

import re
import time

from slop_code.cli.asked import Asked
from slop_code.cli.case_json import as_array
from slop_code.cli.case_runs import INTERRUPTED, Loaded, load, report, run_once, wanted_selection
from slop_code.cli.console import emit, note
from slop_code.errors import SlopCodeError
from slop_code.execution.environment import find_environment
from slop_code.paths import shown_path
from slop_code.runs.watched_files import Look, Watched, changes

POLL_S = 0.25


def watch_cases(asked: Asked) -> int:
    """Run the cases, and again after each edit those that it affects, until Ctrl-C; the exit code for that.

    Each round prints an array.

    Raises:
        SlopCodeError: the first round cannot even begin. Later such trouble is shown, and the next edit awaited.
    """
    loaded = load(asked)
    watched = _watched(asked, loaded)
    before = watched.look()
    code = _round(asked, loaded)
    while code != INTERRUPTED:
        _say(asked, f"watching {shown_path(watched.problem.path)} and {shown_path(watched.submission)}; Ctrl-C ends it")
        after = _after_an_edit(watched, before)
        edited = changes(before, after)
        before = after
        _say(asked, f"edited: {', '.join(sorted(shown_path(path) for path in edited))}")
        try:
            loaded = load(asked, loaded.environment if asked.environment is None else None)
            watched = _watched(asked, loaded)
            before = watched.look()
            code = _round(_narrowed(asked, loaded, watched.affected(edited)), loaded)
        except SlopCodeError as error:
            note(f"error: {error}")
    return code


def _watched(asked: Asked, loaded: Loaded) -> Watched:
    file = None if asked.environment is None else find_environment(asked.environment)
    return Watched(loaded.problem, loaded.checkpoint, loaded.snapshot.resolve(), loaded.environment, file)


def _round(asked: Asked, loaded: Loaded) -> int:
    selection = wanted_selection(asked, loaded) if asked.selection.groups else 0
    if isinstance(selection, int):
        emit(as_array([]))
        return selection
    return report(asked, loaded, run_once(asked, loaded, selection))


def _narrowed(asked: Asked, loaded: Loaded, affected: frozenset[str]) -> Asked:
    """The same request for the groups that an edit affects."""
    wanted = [name for name in loaded.checkpoint.groups if name in affected and asked.selection.has_group(name)]
    if not wanted:
        _say(asked, "it affects none of the cases")
    literal = tuple(re.sub(r"([*?\[])", r"[\1]", name) for name in wanted)
    return asked._replace(selection=asked.selection._replace(groups=literal))


def _say(asked: Asked, text: str) -> None:
    if not asked.quiet:
        note(text)


def _after_an_edit(watched: Watched, before: Look) -> Look:
    """Wait until files changed, and then until they have stopped to."""
    after = watched.look()
    while after == before:
        time.sleep(POLL_S)
        after = watched.look()
    while True:
        time.sleep(POLL_S)
        later = watched.look()
        if later == after:
            return after
        after = later
