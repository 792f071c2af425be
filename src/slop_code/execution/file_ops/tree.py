"""Finding a place in a workspace without ever leaving it, whatever links a program has put there."""

import errno
import os
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from types import TracebackType
from typing import NamedTuple, Self

Owner = tuple[int, int]

_MAX_DETOURS = 100
_DIRECTORY = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LeavesTreeError(Exception):
    """A path that leads out of the tree through a link or `..`."""


class Place(NamedTuple):
    """A name in an open directory; what has that name may be missing."""

    directory: int
    name: str


class Tree:
    """An open directory in which paths are looked up one component at a time.

    Each step is made from the directory that the last one opened, so a program that swaps directories and
    links at the same time gains nothing. Links are followed as long as they stay inside; a link to an absolute
    path stays inside if it names the root's own path, or `seen_as`, the path under which programs know the root.
    Directories that are made on the way belong to `owner`.
    """

    def __init__(self, root: Path, *, seen_as: str | None = None, owner: Owner | None = None) -> None:
        self._root = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        self._path = root
        self._seen_as = seen_as
        self._owner = owner

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._root)

    def place(self, parts: Sequence[str], *, follow: bool, make_parents: bool = False) -> "_OpenPlace":
        """Open the directory that holds the last of `parts`, for a `with` block, in which the place is valid.

        With `follow`, a link at the end is followed too, so what is found there is not a link. Raises
        LeavesTreeError, or an OSError for a directory on the way that is missing, no directory or closed to us.
        """
        if len(parts) == 1 and not follow and parts[0] != "..":
            return _OpenPlace(Place(self._root, parts[0]), is_root=True)
        return _OpenPlace(self._locate(parts, follow, make_parents), is_root=False)

    def _locate(self, parts: Sequence[str], follow: bool, make_parents: bool) -> Place:
        pending = list(reversed(parts))
        done: list[str] = []
        detours = 0
        directory = os.dup(self._root)
        try:
            while pending:
                name = pending.pop()
                is_last = not pending
                if is_last and not follow and name != "..":
                    return Place(directory, name)
                below = None if is_last or name == ".." else _entered(directory, name)
                if below is not None:
                    directory = _exchange(directory, below)
                    done.append(name)
                    continue
                detour = self._detour(directory, name, done)
                if detour is not None:
                    detours += 1
                    if detours > _MAX_DETOURS:
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                    pending += reversed(detour.parts)
                    if detour.starts_at_root:
                        done.clear()
                        directory = _exchange(directory, os.dup(self._root))
                elif is_last:
                    return Place(directory, name)
                else:
                    directory = _exchange(directory, _made_directory(directory, name, make_parents, self._owner))
                    done.append(name)
        except BaseException:
            os.close(directory)
            raise
        return Place(directory, ".")

    def _detour(self, directory: int, name: str, done: list[str]) -> "_Detour | None":
        """Return what to walk in a name's stead if it is `..` or a link, or raise LeavesTreeError."""
        if name == "..":
            if not done:
                raise LeavesTreeError
            return _Detour(tuple(done[:-1]), starts_at_root=True)
        try:
            target = PurePosixPath(os.readlink(name, dir_fd=directory)).parts
        except OSError as error:
            if error.errno in (errno.EINVAL, errno.ENOENT):
                return None
            raise
        if not target or not target[0].startswith("/"):
            return _Detour(target, starts_at_root=False)
        for root in self._names():
            if target[: len(root)] == root:
                return _Detour(target[len(root) :], starts_at_root=True)
        raise LeavesTreeError

    def _names(self) -> Iterator[tuple[str, ...]]:
        yield self._path.absolute().parts
        yield self._path.resolve().parts
        if self._seen_as is not None:
            yield PurePosixPath(self._seen_as).parts


class _OpenPlace:
    """Closes a place's directory in the end, unless it is the root, which is still needed."""

    __slots__ = ("_is_root", "_place")

    def __init__(self, place: Place, *, is_root: bool) -> None:
        self._place = place
        self._is_root = is_root

    def __enter__(self) -> Place:
        return self._place

    def __exit__(self, *_: object) -> None:
        if not self._is_root:
            os.close(self._place.directory)


class _Detour(NamedTuple):
    parts: tuple[str, ...]
    starts_at_root: bool


def _entered(parent: int, name: str) -> int | None:
    """The directory of that name; None for anything else, such as a link to one."""
    try:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ENOTDIR, errno.ELOOP):
            return None
        raise


def _made_directory(parent: int, name: str, make: bool, owner: Owner | None) -> int:
    if not make:
        return os.open(name, _DIRECTORY, dir_fd=parent)
    os.mkdir(name, dir_fd=parent)
    if owner is not None:
        os.chown(name, *owner, dir_fd=parent, follow_symlinks=False)
    return os.open(name, _DIRECTORY, dir_fd=parent)


def _exchange(old: int, new: int) -> int:
    os.close(old)
    return new
