"""Collecting the files that a program left behind, as far as a case asks for them."""

import os
import stat
from collections import deque
from collections.abc import Iterable
from enum import IntEnum
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.file_ops.collection import Collection, TrackedFiles
from slop_code.execution.file_ops.patterns import Glob, Progress, has_glob
from slop_code.execution.file_ops.tree import Place, Tree

MIB = 1024 * 1024
# Each level makes the lookup of a directory longer, and no honest program comes near this.
MAX_DEPTH = 100
# How many names one entry may look at, whatever they are: a walk has to end in a tree of empty directories too.
MAX_NAMES = 100_000

_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_EVERYTHING = ("**", "*")

Parts = tuple[str, ...]


def collect_tracked_files(
    workspace: Path,
    entries: Iterable[str],
    *,
    seen_as: str | None = None,
    max_file_bytes: int = 10 * MIB,
    max_total_bytes: int = 50 * MIB,
    max_files: int = 10_000,
) -> TrackedFiles:
    """Read the files that `entries` name: literal paths, directories (all below them) and globs (files only).

    Never raises for what a program did to its workspace: what is missing, no regular file, or reached only by
    a link that leads out is absent; what a limit cut or nobody may read has a note. An entry may start with a
    linked directory, but none is entered below that. A name that exists wins over the glob that it might be.
    `/app/x` means `x` under the key `/app/x`, the first component being where the workspace is mounted; `/x`
    means `x`. Earlier entries, and then shallower files, come first where there is a limit. `seen_as` is the path
    under which programs know the workspace, for links that name it.
    """
    collection = Collection(max_file_bytes, max_total_bytes, max_files)
    try:
        tree = Tree(workspace, seen_as=seen_as)
    except OSError as error:
        collection.note("the workspace", f"it cannot be opened: {error.strerror}")
        return collection.result()
    with tree:
        search = _Search(tree, collection, max(MAX_NAMES, max_files))
        for entry in entries:
            wanted = _parsed(entry)
            if wanted is not None and not collection.is_full and not search.take_literal(wanted):
                search.take_glob(wanted)
    return collection.result()


class _Entry(NamedTuple):
    """Where an entry points in the workspace, and what stands before that in its keys."""

    parts: Parts
    key_prefix: str
    ends_in_slash: bool

    def key(self, parts: Parts) -> str:
        return self.key_prefix + "/".join(parts) or "."


@lru_cache(maxsize=256)
def _glob(parts: Parts) -> Glob:
    return Glob(parts)


@lru_cache(maxsize=256)
def _parsed(entry: str) -> _Entry | None:
    """Split an entry into components; None for one that can name nothing in the workspace."""
    parts = tuple(part for part in entry.split("/") if part not in ("", "."))
    if not entry or "\0" in entry or ".." in parts:
        return None
    try:
        os.fsencode(entry)
    except UnicodeEncodeError:
        return None
    prefix = ""
    if entry.startswith("/"):
        prefix, parts = (f"/{parts[0]}/", parts[1:]) if len(parts) > 1 else ("/", parts)
    return _Entry(parts, prefix, entry.endswith("/"))


class _Search:
    """Finds what entries name in one workspace and hands it to a collection."""

    def __init__(self, tree: Tree, collection: Collection, max_names: int) -> None:
        self._tree = tree
        self._collection = collection
        self._max_names = max_names
        self._names_left = 0

    def take_literal(self, entry: _Entry) -> bool:
        """Take the file or directory of exactly this name; False if there is none."""
        key = entry.key(entry.parts)
        found = is_directory = False
        with self._collection.noting(key), self._tree.place(entry.parts, follow=True) as place:
            status = os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
            found, is_directory = True, stat.S_ISDIR(status.st_mode)
            if not is_directory:
                self._collection.take(key, place, status)
        if is_directory:
            self._walk(entry, entry.parts, _glob(_EVERYTHING))
        return found

    def take_glob(self, entry: _Entry) -> None:
        """Take the files that match; a glob that ends in a slash means all below the directories that match."""
        first = next((i for i, part in enumerate(entry.parts) if has_glob(part)), None)
        if first is not None:
            pattern = entry.parts[first:] + (_EVERYTHING if entry.ends_in_slash else ())
            self._walk(entry, entry.parts[:first], _glob(pattern))

    def _walk(self, entry: _Entry, base: Parts, glob: Glob) -> None:
        self._names_left = self._max_names
        waiting: deque[tuple[Parts, Progress]] = deque([(base, glob.start)])
        while waiting and self._names_left >= 0 and not self._collection.is_full:
            parts, progress = waiting.popleft()
            if len(parts) - len(base) > MAX_DEPTH:
                self._collection.note(entry.key(parts), f"left out, more than {MAX_DEPTH} directories deep")
                continue
            with self._collection.noting(entry.key(parts)):
                waiting += self._visit(entry, parts, glob, progress, is_base=parts == base)

    def _visit(
        self, entry: _Entry, parts: Parts, glob: Glob, progress: Progress, *, is_base: bool
    ) -> list[tuple[Parts, Progress]]:
        """Take the matching files of one directory and return the directories to go on with."""
        below = []
        with self._tree.place(parts, follow=is_base) as place:
            directory = os.open(place.name, _LIST, dir_fd=place.directory)
        try:
            for name, kind in self._listed(directory, entry.key(parts)):
                reached = glob.step(progress, name)
                if kind is _Kind.DIRECTORY:
                    if glob.may_match_below(reached):
                        below.append(((*parts, name), reached))
                elif glob.is_match(reached):
                    key = entry.key((*parts, name))
                    with self._collection.noting(key):
                        if kind is _Kind.FILE:
                            self._collection.take(key, Place(directory, name))
                        else:
                            with self._tree.place((*parts, name), follow=True) as target:
                                self._collection.take(key, target)
                if self._collection.is_full:
                    break
        finally:
            os.close(directory)
        return below

    def _listed(self, directory: int, key: str) -> list[tuple[str, "_Kind"]]:
        """Return the names in a directory, sorted, up to the number that may still be looked at."""
        with os.scandir(directory) as listing:
            names = [(item.name, _kind(item)) for item in islice(listing, self._names_left + 1)]
        self._names_left -= len(names)
        if self._names_left < 0:
            names.pop()
            self._collection.note(key, f"left out in part with all that follow, {self._max_names} names were seen")
        return sorted(names)


class _Kind(IntEnum):
    FILE = 0
    LINK = 1
    DIRECTORY = 2


def _kind(item: "os.DirEntry[str]") -> _Kind:
    if item.is_symlink():
        return _Kind.LINK
    return _Kind.DIRECTORY if item.is_dir(follow_symlinks=False) else _Kind.FILE
