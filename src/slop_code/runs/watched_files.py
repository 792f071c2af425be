"""Which files a run depends on, how they look now, and what an edit of one of them affects."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from slop_code.evaluation.loaders.helpers import get_group_path
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.execution.errors import ExecutionError
from slop_code.execution.snapshot import list_entries

if TYPE_CHECKING:
    from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
    from slop_code.execution.environment import EnvironmentSpec

Look = dict[Path, tuple[int, int, int]]
"""A file → when it was changed, its size, its inode."""

_PASSED_OVER = frozenset({"__pycache__", "node_modules", "wrong_solutions"})


@dataclass(frozen=True)
class Watched:
    """The files of a problem, of a submission (its folder resolved) and of an environment."""

    problem: ProblemConfig
    checkpoint: CheckpointConfig
    submission: Path
    spec: EnvironmentSpec
    environment_file: Path | None = None

    def look(self) -> Look:
        """How every file looks now. Other submissions that lie in the problem's folder are passed over."""
        found: Look = {}
        for path in (*self._problem_files(), *self._submission_files(), *filter(None, [self.environment_file])):
            try:
                status = path.stat()
            except OSError:
                continue
            found[path] = (status.st_mtime_ns, status.st_size, status.st_ino)
        return found

    def affected(self, changed: Iterable[Path]) -> frozenset[str]:
        """The groups whose cases may go another way after edits of these files.

        A file in a group's folder affects that group and the regressions that come from it; a specification, or a
        file of a checkpoint that is not looked at, nothing; the submission, and everything else, all groups.
        """
        groups = self._group_folders()
        affected: set[str] = set()
        for path in changed:
            if path.is_relative_to(self.submission) or path.suffix == ".py" or self._is_asset(path):
                return frozenset(self.checkpoint.groups)
            within = {name for name, folder in groups.items() if path.is_relative_to(folder)}
            if within:
                affected |= within
            elif not self._is_irrelevant(path):
                return frozenset(self.checkpoint.groups)
        return frozenset(affected)

    def _group_folders(self) -> dict[str, Path]:
        folders = {}
        for name, group in self.checkpoint.groups.items():
            try:
                folders[name] = get_group_path(group, self.problem, self.checkpoint).resolve()
            except LoaderError:
                continue  # it has no folder, because a loader makes its cases, or because one is missing
        return folders

    def _is_asset(self, path: Path) -> bool:
        places = ((self.problem.path / asset.path).resolve() for asset in self.problem.static_assets.values())
        return any(path.is_relative_to(place) for place in places)

    def _is_irrelevant(self, path: Path) -> bool:
        if path.suffix == ".md":
            return True
        others = [
            Path(item.path).resolve() for item in self.problem.checkpoints.values() if item.name != self.checkpoint.name
        ]
        return path.name != "config.yaml" and any(path.is_relative_to(other) for other in others)

    def _problem_files(self) -> Iterator[Path]:
        for parent, folders, files in os.walk(self.problem.path.resolve()):
            folders[:] = [
                name
                for name in folders
                if name not in _PASSED_OVER
                and not name.startswith((".", "solution"))
                and Path(parent, name) != self.submission
            ]
            yield from (Path(parent, name) for name in files)

    def _submission_files(self) -> Iterator[Path]:
        try:
            entries = list_entries(self.submission, self.spec.snapshot.keep_globs, self.spec.snapshot.ignore_globs)
        except ExecutionError:
            return
        yield from (self.submission / entry.path for entry in entries if entry.kind == "file")


def changes(before: Look, after: Look) -> frozenset[Path]:
    """The files that were edited, made or removed between two looks."""
    return frozenset(path for path in before.keys() | after.keys() if before.get(path) != after.get(path))
