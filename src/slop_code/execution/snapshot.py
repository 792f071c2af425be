"""The files of a submission: which of them count, what they are worth as a key, and a copy of them."""

from __future__ import annotations

import fnmatch
import hashlib
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.errors import ExecutionError
from slop_code.paths import shown_path


class Entry(NamedTuple):
    """A file, folder or link of a tree. Other things (sockets, devices, FIFOs) are no part of a submission."""

    path: str
    kind: str
    mode: int
    size: int = 0
    target: str = ""


def list_entries(root: Path, keep: Sequence[str] = (), ignore: Sequence[str] = ()) -> list[Entry]:
    """Everything below `root` that `keep` and `ignore` leave, parents before children, in a fixed order.

    Raises:
        ExecutionError: `root` is not a folder that can be read.
    """
    if not root.is_dir():
        raise ExecutionError(f"{shown_path(root)}: no such folder of a submission")
    return sorted(_walk(root, keep, ignore), key=lambda entry: entry.path)


def content_key(root: Path, entries: Sequence[Entry]) -> str:
    """A hash of names, kinds, modes and contents: the same for two trees that no program could tell apart."""
    digest = hashlib.sha256()
    for entry in entries:
        digest.update(
            f"{entry.path}\0{entry.kind}\0{entry.mode & 0o777:o}\0{entry.target}\0{entry.size}\0".encode(
                "utf-8", "surrogateescape"
            )
        )
        if entry.kind == "file":
            with (root / entry.path).open("rb") as file:
                while chunk := file.read(1 << 20):
                    digest.update(chunk)
    return digest.hexdigest()


def copy_entries(root: Path, entries: Sequence[Entry], destination: Path) -> None:
    """Copy `entries` of `root` to `destination`, with modes, links and empty folders."""
    destination.mkdir(parents=True, exist_ok=True)
    for entry in entries:
        target = destination / entry.path
        if entry.kind == "folder":
            target.mkdir(exist_ok=True)
        elif entry.kind == "link":
            target.symlink_to(entry.target)
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(root / entry.path, target)
            target.chmod(entry.mode & 0o777)
    for entry in reversed(entries):
        if entry.kind == "folder":
            # Last, because a folder that may not be written to could not have been filled.
            (destination / entry.path).chmod(entry.mode & 0o777)


def _walk(root: Path, keep: Sequence[str], ignore: Sequence[str]) -> Iterator[Entry]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            children = list(os.scandir(root / folder))
        except OSError as error:
            raise ExecutionError(f"{shown_path(root / folder)}: cannot be read: {error.strerror}") from error
        for child in children:
            path = f"{folder}/{child.name}" if folder else child.name
            status = child.stat(follow_symlinks=False)
            is_folder = stat.S_ISDIR(status.st_mode)
            if _matches(path, ignore, is_folder=is_folder):
                continue
            if is_folder:
                pending.append(path)
            if keep and not _matches(path, keep, is_folder=is_folder) and not is_folder:
                continue
            if stat.S_ISLNK(status.st_mode):
                yield Entry(path, "link", 0o777, target=str((root / path).readlink()))
            elif is_folder:
                yield Entry(path, "folder", status.st_mode)
            elif stat.S_ISREG(status.st_mode):
                yield Entry(path, "file", status.st_mode, status.st_size)


def _matches(path: str, patterns: Sequence[str], *, is_folder: bool) -> bool:
    """Whether a glob names the path: from the top, or at any depth if it has no slash; `x/*` names folder x too."""
    name = path.rpartition("/")[2]
    for pattern in patterns:
        plain = pattern.rstrip("/")
        if fnmatch.fnmatchcase(path, plain) or ("/" not in plain and fnmatch.fnmatchcase(name, plain)):
            return True
        if is_folder and plain.endswith("/*") and fnmatch.fnmatchcase(path, plain[:-2]):
            return True
    return False
