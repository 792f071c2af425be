"""A registry: what problems there are in a folder, as plain data that is the same wherever it is made."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from slop_code.evaluation.check import CheckedPackage
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig

# What tools leave behind; it is not part of what an author wrote.
_LEFTOVERS = ("__pycache__", "*.pyc", ".git", ".DS_Store")


def registry_entry(problem: ProblemConfig, checked: CheckedPackage) -> dict[str, Any]:
    """What is worth knowing about a problem before it is opened."""
    return {
        "name": problem.name,
        "folder": problem.path.name,
        "version": problem.version,
        "category": problem.category,
        "difficulty": problem.difficulty,
        "tags": sorted(problem.tags),
        "description": problem.description,
        "adapter": problem.adapter.type,
        "entry_file": problem.entry_file,
        "checkpoints": [_checkpoint(item, checked) for item in problem.iterate_checkpoints()],
        "content": f"sha256:{content_hash(problem.path)}",
    }


def content_hash(folder: Path) -> str:
    """A hash of the names, contents and execution bits of all files of a package; times and owners do not count."""
    digest = hashlib.sha256()
    for path in sorted(_files(folder), key=lambda path: path.relative_to(folder).as_posix()):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            kind, content = "link", os.fsencode(path.readlink())
        else:
            kind, content = "program" if os.access(path, os.X_OK) else "file", path.read_bytes()
        digest.update(f"{kind} {len(content)} {name}\0".encode("utf-8", "surrogateescape"))
        digest.update(content)
    return digest.hexdigest()


def _checkpoint(checkpoint: CheckpointConfig, checked: CheckedPackage) -> dict[str, Any]:
    counts = {count.group: count for count in checked.counts if count.checkpoint == checkpoint.name}
    groups = [
        {
            "name": group.name,
            "type": str(group.type),
            "weight": group.weight,
            "cases": counts[group.name].cases if group.name in counts else 0,
            # Later cases may depend on results, so that their number is not known before a run.
            "all_cases_known": group.name in counts and counts[group.name].complete,
        }
        for group in checkpoint.groups.values()
    ]
    return {
        "name": checkpoint.name,
        "version": checkpoint.version,
        "order": checkpoint.order,
        "state": checkpoint.state,
        "cases": sum(count.cases for count in counts.values()),
        "groups": groups,
    }


def _files(folder: Path) -> Iterator[Path]:
    for path in folder.iterdir():
        if any(fnmatchcase(path.name, pattern) for pattern in _LEFTOVERS):
            continue
        if path.is_dir() and not path.is_symlink():
            yield from _files(path)
        elif path.is_symlink() or path.is_file():
            yield path
