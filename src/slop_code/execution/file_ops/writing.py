"""Putting input files into a workspace, and nowhere else."""

import contextlib
import os
import shutil
import stat
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path, PurePosixPath

from slop_code.execution.file_ops.errors import InputFileError
from slop_code.execution.file_ops.input_file import AnyPath, InputFile
from slop_code.execution.file_ops.tree import LeavesTreeError, Owner, Place, Tree

Parts = tuple[str, ...]

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


def write_input_files(
    workspace: Path, files: Iterable[InputFile], *, owner: Owner | None = None, clear: bool = False
) -> None:
    """Write each file below `workspace`, making the directories it needs; a later one replaces an earlier one.

    All of it belongs to `owner`, so that the program can change it.

    What has the name already, a link too, is replaced and never written through. Raises InputFileError for a
    path that leaves the workspace, a content that does not fit its type, or anything that is in the way; with
    `clear`, what a program put in the way is removed, so that only these files themselves can be.
    """
    try:
        tree = Tree(workspace, owner=owner)
    except OSError as error:
        raise InputFileError(f"the workspace {workspace} cannot be opened: {error.strerror}") from error
    written: set[Parts] = set()
    with tree:
        for file in files:
            parts = _checked_parts(str(file.path))
            data = file.to_bytes()
            try:
                _write(tree, file, parts, data, owner)
            except InputFileError:
                if not clear:
                    raise
                _clear_the_way(tree, parts, written)
                _write(tree, file, parts, data, owner)
            written.add(parts)


@lru_cache(maxsize=1024)
def _checked_parts(path: str) -> Parts:
    return check_relative(path).parts


def check_relative(path: AnyPath) -> PurePosixPath:
    """Return the path with its `.` and `..` worked out, or raise InputFileError if no workspace can hold it.

    Needs no workspace; links in one are dealt with when the file is written.
    """
    text = os.fspath(path)
    rule = "it must be a path relative to the workspace, inside it"
    if "\0" in text:
        raise InputFileError(f"input file {text!r} has a null byte in its path, which no file name can hold")
    try:
        os.fsencode(text)
    except UnicodeEncodeError as error:
        raise InputFileError(f"input file {text!r} has a lone surrogate in its path, no file name can") from error
    if text.startswith("/"):
        raise InputFileError(
            f"input file {text} has an absolute path: {rule} "
            "(from_path stores it relative to relative_to, from_absolute as its save_path)"
        )
    parts: list[str] = []
    for part in PurePosixPath(text).parts:
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            raise InputFileError(f"input file {text} leaves the workspace with '..': {rule}")
    if not parts:
        raise InputFileError(f"input file {text!r} names the workspace itself: {rule}, such as data/in.csv")
    return PurePosixPath(*parts)


def _clear_the_way(tree: Tree, parts: Parts, written: set[Parts]) -> None:
    """Remove what is no directory where one is needed, and a directory where the file should be."""
    with contextlib.suppress(LeavesTreeError, OSError):
        for end in range(1, len(parts) + 1):
            way = parts[:end]
            with tree.place(way, follow=False) as place:
                mode = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode
                if end < len(parts):
                    if stat.S_ISDIR(mode) or (stat.S_ISLNK(mode) and _leads_to_directory(tree, way)):
                        continue
                    if way not in written:
                        os.unlink(place.name, dir_fd=place.directory)
                    return
                if stat.S_ISDIR(mode) and not any(other[:end] == way for other in written):
                    shutil.rmtree(place.name, dir_fd=place.directory)


def _leads_to_directory(tree: Tree, parts: Parts) -> bool:
    try:
        with tree.place(parts, follow=True) as place:
            return stat.S_ISDIR(os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode)
    except (LeavesTreeError, OSError):
        return False


def _write(tree: Tree, file: InputFile, parts: Parts, data: bytes, owner: Owner | None) -> None:
    try:
        with tree.place(parts, follow=False, make_parents=True) as place:
            _write_new(_opened_anew(place, file.path), data, owner)
    except LeavesTreeError as error:
        raise InputFileError(
            f"input file {file.path} leaves the workspace through a link that stands in it: "
            "a directory on its way must be inside"
        ) from error
    except (NotADirectoryError, FileExistsError) as error:
        raise InputFileError(f"input file {file.path}: a file stands where it needs a directory") from error
    except OSError as error:
        raise InputFileError(f"input file {file.path} cannot be written: {error.strerror}") from error


def _opened_anew(place: Place, path: Path) -> int:
    """A new file in place of what has its name: a link, written through, would change a file that is not ours."""
    try:
        return os.open(place.name, _NEW_FILE, 0o666, dir_fd=place.directory)
    except FileExistsError:
        mode = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            raise InputFileError(f"input file {path}: a directory of that name stands in the workspace") from None
    os.unlink(place.name, dir_fd=place.directory)
    return os.open(place.name, _NEW_FILE, 0o666, dir_fd=place.directory)


def _write_new(descriptor: int, data: bytes, owner: Owner | None) -> None:
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(descriptor, left) :]
        if owner is not None:
            os.fchown(descriptor, *owner)
    finally:
        os.close(descriptor)
