"""Folders with results, found below the one that somebody names.

RESULTS/                       one checkpoint: reports.parquet and evaluation.json, or the journal of a run that goes on
PROBLEM/<checkpoint>/          the checkpoints of a problem
RUN/<problem>/<checkpoint>/    a run
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.report_format import JOURNAL, REPORTS, SUMMARY
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path
from slop_code.runs.discovery import SNAPSHOT, DiscoveryError

_RESULTS = (REPORTS, JOURNAL, SUMMARY)
_DEPTH = 2


@dataclass(frozen=True, slots=True)
class ResultFolder:
    """The results of one checkpoint. `problem` and `checkpoint` are what they themselves say that they are of."""

    path: Path
    problem: str
    checkpoint: str
    complete: bool = True
    """False if the run ended before all of its groups did, or still goes on."""

    @property
    def name(self) -> str:
        """`problem/checkpoint`, for people."""
        return f"{self.problem}/{self.checkpoint}"

    def summary(self) -> CorrectnessResults:
        """The results without their reports.

        Raises:
            ReportError: they are damaged, or a newer slop-code wrote them.
        """
        return CorrectnessResults.from_dir(self.path, with_reports=False)


def result_folders(folder: Path) -> list[ResultFolder]:
    """The results in `folder` or up to two levels below it, by problem and checkpoint, numbers in names as numbers.

    Nothing within results or within a snapshot is looked at: what a submission leaves there is not a result.

    Raises:
        DiscoveryError: there are none, and the text says what is there; or two are of the same checkpoint.
        ReportError: some are damaged, or a newer slop-code wrote them.
    """
    found: dict[tuple[str, str], ResultFolder] = {}
    for path in _below(folder, _DEPTH):
        summary = CorrectnessResults.from_dir(path, with_reports=False)
        key = (summary.problem_name, summary.name)
        if key in found:
            raise DiscoveryError(
                f"{shown_path(found[key].path)} and {shown_path(path)} both have results of {'/'.join(key)}; "
                "name the one that is meant"
            )
        found[key] = ResultFolder(path, *key, complete=summary.complete)
    if not found:
        raise DiscoveryError(f"{shown_path(folder)}: has no results ({REPORTS} and {SUMMARY}); {_likeness(folder)}")
    return sorted(found.values(), key=lambda item: (natural(item.problem), natural(item.checkpoint)))


def natural(name: str) -> list[str | tuple[int, str]]:
    """A key that sorts `checkpoint_2` before `checkpoint_10`."""
    parts = re.split(r"([0-9]+)", name)
    return [(len(part.lstrip("0")), part.lstrip("0")) if index % 2 else part for index, part in enumerate(parts)]


def _below(folder: Path, depth: int) -> Iterator[Path]:
    if any((folder / name).is_file() for name in _RESULTS):
        yield folder
        return
    names = _folders(folder)
    if depth:
        for name in names:
            yield from _below(folder / name, depth - 1)


def _folders(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            named = [entry.name for entry in entries if entry.is_dir()]
    except FileNotFoundError:
        near = [entry.name for entry in folder.parent.iterdir()] if folder.parent.is_dir() else []
        raise DiscoveryError(f"{shown_path(folder)}: no such folder{did_you_mean(folder.name, near)}") from None
    except OSError as error:
        raise DiscoveryError(f"{shown_path(folder)}: cannot be read: {error.strerror}") from error
    return sorted(name for name in named if name != SNAPSHOT and not name.startswith("."))


def _likeness(folder: Path) -> str:
    """What a folder without results seems to be."""
    shown = shown_path(folder)
    for pattern, command in (
        (SNAPSHOT, f"eval-snapshot {shown}/{SNAPSHOT} -p PROBLEM -c {folder.name}"),
        (f"*/{SNAPSHOT}", f"eval-problem {shown}"),
        (f"*/*/{SNAPSHOT}", f"eval {shown}"),
    ):
        if next(folder.glob(pattern), None) is not None:
            return f"it has snapshots that are not evaluated yet: slop-code {command}"
    deeper = next(folder.glob(f"*/*/*/{REPORTS}"), None)
    if deeper is not None:
        return f"it looks like a folder of runs: name one of them, such as {shown_path(deeper.parents[2])}"
    names = sorted(entry.name for entry in folder.iterdir())
    return f"it has {listed(names, 6)}" if names else "it is empty"
