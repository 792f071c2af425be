"""The snapshots of a run, found by the folders that they lie in.

RUN_DIR/
  calculator/                  a problem
    checkpoint_1/              a checkpoint of it
      snapshot/                the submission as it was then
      evaluation.json, …       what evaluating it gave, here unless another place is asked for
  checkpoint_results.jsonl
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slop_code.errors import SlopCodeError
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

SNAPSHOT = "snapshot"


class DiscoveryError(SlopCodeError):
    """A folder is not laid out as a run, or lacks what is asked of it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A submission at one checkpoint: `problem` and `checkpoint` are names of folders, and mean what they say."""

    run: Path
    """The folder that the user named."""
    problem: str
    checkpoint: str
    path: Path
    """The submission's files."""
    results: Path
    """The folder that its results belong in."""


@dataclass(frozen=True, slots=True)
class Discovered:
    """What was found, and a line for each thing that is wrong with the rest."""

    snapshots: list[Snapshot]
    troubles: list[str]

    def only(self, problems: Sequence[str]) -> Discovered:
        """The snapshots of these problems, or all if none are named; one that there is nothing of is a trouble."""
        if not problems:
            return self
        known = dict.fromkeys(snapshot.problem for snapshot in self.snapshots)
        missing = [
            f'no snapshots of a problem "{name}"{did_you_mean(name, known)}: there are some of {listed(known)}'
            for name in dict.fromkeys(problems)
            if name not in known
        ]
        wanted = [snapshot for snapshot in self.snapshots if snapshot.problem in problems]
        return Discovered(wanted, [*self.troubles, *missing])


def snapshots_of_run(run: Path, out: Path | None = None) -> Discovered:
    """Every `<problem>/<checkpoint>/snapshot` of a run; results go next to each, or to the same places below `out`.

    Raises:
        DiscoveryError: there are none; the text says what the folder looks like instead.
    """
    found = Discovered([], [])
    for problem in _folders(run):
        try:
            below = _snapshots_below(run / problem)
        except DiscoveryError as error:
            found.troubles.append(str(error))
            continue
        found.snapshots.extend(
            Snapshot(run, problem, checkpoint, path, (out or run) / problem / checkpoint) for checkpoint, path in below
        )
    if not found.snapshots and not found.troubles:
        raise DiscoveryError(f"{shown_path(run)}: has no <problem>/<checkpoint>/{SNAPSHOT}/{_likeness(run)}")
    return found


def places_of_results(runs: Sequence[Path], out: Path | None = None) -> dict[Path, Path]:
    """Where the results of each run go: into the run, into `out`, or, if there are several, into OUT/<its name>.

    Raises:
        DiscoveryError: two runs would have the same one.
    """
    by_place: dict[Path, Path] = {}
    for run in runs:
        by_place.setdefault(run.resolve(), run)
    once = list(by_place.values())
    if out is None or len(once) == 1:
        return {run: out or run for run in once}
    names = [run.resolve().name for run in once]
    for name in names:
        if names.count(name) > 1:
            raise DiscoveryError(
                f'two runs are named "{name}", so their results cannot go below {shown_path(out)} together; '
                "evaluate them one after the other, each with an -o of its own"
            )
    return {run: out / name for run, name in zip(once, names, strict=True)}


def snapshots_of_runs(places: Mapping[Path, Path]) -> Discovered:
    """The snapshots of several runs, given where the results of each go. A folder that is no run costs itself only."""
    found = Discovered([], [])
    for run, place in places.items():
        try:
            own = snapshots_of_run(run, place)
        except DiscoveryError as error:
            found.troubles.append(str(error))
        else:
            found.snapshots.extend(own.snapshots)
            found.troubles.extend(own.troubles)
    return found


def snapshots_of_problem(folder: Path, problem: str, out: Path | None = None) -> Discovered:
    """Every `<checkpoint>/snapshot` of a folder that belongs to `problem`.

    Raises:
        DiscoveryError: there are none; the text says what the folder looks like instead.
    """
    found = [
        Snapshot(folder, problem, checkpoint, path, (out or folder) / checkpoint)
        for checkpoint, path in _snapshots_below(folder)
    ]
    if not found:
        raise DiscoveryError(f"{shown_path(folder)}: has no <checkpoint>/{SNAPSHOT}/{_likeness(folder)}")
    return Discovered(found, [])


def _snapshots_below(folder: Path) -> list[tuple[str, Path]]:
    """What is named `snapshot` counts even if it is no folder: then its evaluation says so, instead of nobody."""
    places = ((name, folder / name / SNAPSHOT) for name in _folders(folder))
    return [(name, place) for name, place in places if os.path.lexists(place)]


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir() and not entry.name.startswith("."))
    except FileNotFoundError:
        near = [entry.name for entry in folder.parent.iterdir()] if folder.parent.is_dir() else []
        raise DiscoveryError(f"{shown_path(folder)}: no such folder{did_you_mean(folder.name, near)}") from None
    except OSError as error:
        raise DiscoveryError(f"{shown_path(folder)}: cannot be read: {error.strerror}") from error


def _likeness(folder: Path) -> str:
    """What a folder that lacks what was looked for seems to be, and the command for such a one."""
    shown = shown_path(folder)
    if (folder / SNAPSHOT).is_dir():
        return f"; it is one checkpoint: slop-code eval-snapshot {shown}/{SNAPSHOT} -p PROBLEM -c {folder.name}"
    for pattern, command in (
        (f"*/{SNAPSHOT}", f"it looks like the checkpoints of one problem: slop-code eval-problem {shown} -p PROBLEM"),
        (f"*/*/{SNAPSHOT}", f"it looks like a run of several problems: slop-code eval {shown}"),
        (f"*/*/*/{SNAPSHOT}", f"it looks like a folder of runs: slop-code eval {shown}/*"),
    ):
        if next(folder.glob(pattern), None) is not None:
            return f"; {command}"
    return ""
