"""Which files of a submission changed from one snapshot to another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slop_code.execution.environment import SnapshotBlock
from slop_code.execution.errors import ExecutionError
from slop_code.execution.snapshot import Entry, list_entries
from slop_code.paths import shown_path

_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True)
class FileChanges:
    """Paths relative to the snapshot, sorted."""

    added: list[str]
    removed: list[str]
    changed: list[str]


def snapshot_changes(before: Path, after: Path) -> FileChanges:
    """Compare what counts of two snapshots by content, right to execute and target of links.

    What counts is what environments take of a submission unless they say otherwise.

    Raises:
        ExecutionError: one of them is not there, or cannot be read.
    """
    old, new = _entries(before), _entries(after)
    return FileChanges(
        added=[path for path in new if path not in old],
        removed=[path for path in old if path not in new],
        changed=[path for path in old if path in new and _differ(before, after, old[path], new[path])],
    )


def _entries(snapshot: Path) -> dict[str, Entry]:
    entries = list_entries(snapshot, ignore=SnapshotBlock().ignore_globs)
    return {entry.path: entry for entry in entries if entry.kind != "folder"}


def _differ(before: Path, after: Path, old: Entry, new: Entry) -> bool:
    # Other modes come and go with the way in which a folder was copied.
    if (old.kind, old.size, old.target, old.mode & 0o111 > 0) != (new.kind, new.size, new.target, new.mode & 0o111 > 0):
        return True
    try:
        return old.kind == "file" and not _same_content(before / old.path, after / new.path)
    except OSError as error:
        place = shown_path(error.filename or after / new.path)
        raise ExecutionError(f"{place}: cannot be read: {error.strerror or error}") from error


def _same_content(one: Path, other: Path) -> bool:
    with one.open("rb") as first, other.open("rb") as second:
        while chunk := first.read(_CHUNK):
            if second.read(_CHUNK) != chunk:
                return False
        return not second.read(1)
