"""The tracked files of one case while they are gathered: read with care, counted against the limits."""

import codecs
import errno
import os
import stat
from dataclasses import dataclass, field

from slop_code.execution.file_ops.tree import LeavesTreeError, Place
from slop_code.execution.file_ops.utf8 import universal_newlines

# A program may put a FIFO in the file's place at any moment, and opening that must neither wait nor follow.
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_NOCTTY | os.O_CLOEXEC
_SIMPLY_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


@dataclass(frozen=True)
class TrackedFiles:
    """Contents by name, sorted: str for UTF-8 (all line ends LF), else bytes.

    `cut` has a note for each file that was cut or left out; a cut content carries no mark of it.
    """

    files: dict[str, str | bytes] = field(default_factory=dict)
    cut: tuple[str, ...] = ()


class Collection:
    """Takes files one by one until a limit is reached."""

    def __init__(self, max_file_bytes: int, max_total_bytes: int, max_files: int) -> None:
        self.is_full = False
        self._max_file_bytes = max_file_bytes
        self._max_total_bytes = max_total_bytes
        self._max_files = max_files
        self._total_bytes = 0
        self._taken: dict[str, str | bytes | None] = {}
        self._notes: list[str] = []

    def take(self, key: str, place: Place, status: os.stat_result | None = None) -> None:
        """Read the regular file at a place; anything else there is absent. Raises OSError if it cannot be read.

        `status` is that of the place, where it has been asked for already.
        """
        status = status or os.stat(place.name, dir_fd=place.directory, follow_symlinks=False)
        if key in self._taken or not _is_regular(status):
            return
        if len(self._taken) >= self._max_files:
            self.is_full = True
            self.note(key, f"left out with all that follow, more than {self._max_files} files are tracked")
            return
        self._taken[key] = None
        descriptor = os.open(place.name, _READ, dir_fd=place.directory)
        try:
            status = os.fstat(descriptor)
            if not _is_regular(status):
                return
            room = max(0, self._max_total_bytes - self._total_bytes)
            limit = min(self._max_file_bytes, room)
            if status.st_size and not room:
                self.note(key, f"left out, the tracked files have more than {self._max_total_bytes} bytes in all")
                return
            data = _read(descriptor, min(limit, status.st_size))
        finally:
            os.close(descriptor)
        is_cut = status.st_size > limit
        if is_cut:
            self.note(key, f"cut to its first {limit} of {status.st_size} bytes")
        self._total_bytes += len(data)
        self._taken[key] = _value(data, is_cut)

    def note(self, key: str, text: str) -> None:
        """Record what happened to a file, for the report."""
        self._notes.append(f"{_as_text(key)}: {text}")

    def noting(self, key: str) -> "_Noting":
        """Make whatever keeps us from a file or directory a note, or nothing if it simply is not there."""
        return _Noting(self, key)

    def result(self) -> TrackedFiles:
        """Return what was taken."""
        files: dict[str, str | bytes] = {}
        for key, value in sorted(self._taken.items()):
            if value is None:
                continue
            name = _as_text(key)
            if name in files:
                self.note(key, "left out, another file's name reads the same in UTF-8")
            else:
                files[name] = value
        return TrackedFiles(dict(sorted(files.items())), tuple(dict.fromkeys(self._notes)))


class _Noting:
    __slots__ = ("_collection", "_key")

    def __init__(self, collection: Collection, key: str) -> None:
        self._collection = collection
        self._key = key

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> bool:
        if isinstance(error, OSError) and error.errno not in _SIMPLY_ABSENT:
            self._collection.note(self._key, f"left out, it cannot be read: {error.strerror}")
        return isinstance(error, LeavesTreeError | OSError)


def _is_regular(status: os.stat_result) -> bool:
    return stat.S_ISREG(status.st_mode)


def _read(descriptor: int, count: int) -> bytes:
    """As many bytes as there are, up to `count`; one call gives at most two gigabytes."""
    parts: list[bytes] = []
    while count > 0 and (part := os.read(descriptor, count)):
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def _value(data: bytes, is_cut: bool) -> str | bytes:
    try:
        # Half a character at a cut is dropped; at the true end of a file it means that this is not UTF-8.
        text = codecs.getincrementaldecoder("utf-8")().decode(data) if is_cut else data.decode()
    except UnicodeDecodeError:
        return data
    return universal_newlines(text)


def _as_text(key: str) -> str:
    """Make a file name that is not UTF-8 into a text that JSON can hold."""
    return os.fsencode(key).decode(errors="replace")
