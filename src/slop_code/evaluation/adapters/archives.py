"""Archive answers, read in memory within limits: nothing is ever unpacked onto the disk.

The bytes come from a submission, so nothing in here raises on them: whatever cannot or should not be read is left
out, and a warning says so.
"""

from __future__ import annotations

import base64
import io
import re
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Literal, NamedTuple

from slop_code.errors import SlopCodeError
from slop_code.evaluation.adapters.tar_headers import DamagedTarError, is_tar, tar_members

_TYPES = {"zip", "x-zip", "x-zip-compressed", "tar", "x-tar", "x-gtar", "gzip", "x-gzip", "x-tgz", "x-compressed-tar"}
_SUFFIXES = (".zip", ".tar", ".gz", ".tgz")
_GZIP_MAGIC = b"\x1f\x8b"
_ZIP_ENTRY = b"PK\x01\x02"
# Below this an expansion harms nobody, however steep it is.
_HARMLESS_BYTES = 1 << 20
_LONGEST_NAME = 4096
_MOST_WARNINGS = 20
_PIECE = 1 << 16
# What `zipfile` raises on damaged archives.
_ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    OSError,
    EOFError,
    RuntimeError,
    ValueError,
    LookupError,
    OverflowError,
)


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """`ratio` is how many times larger than its compressed form something may become beyond the first MiB."""

    members: int = 10_000
    member_bytes: int = 16 << 20
    total_bytes: int = 64 << 20
    ratio: int = 200


@dataclass(slots=True)
class Contents:
    """`files`: name → text, or base64 where the bytes are not UTF-8. `cut`: a limit kept something out."""

    files: dict[str, str] = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    cut: bool = False


def names_archive(content_type: str) -> bool:
    """Whether a Content-Type names a zip, tar or gzip archive; its parameters do not matter."""
    kind, _, subtype = content_type.partition(";")[0].strip().lower().partition("/")
    return kind == "application" and subtype in _TYPES


def is_archive_name(filename: str) -> bool:
    """Whether a file of this name is one of those archives."""
    return filename.lower().endswith(_SUFFIXES)


def read_archive(data: bytes, filename: str = "", limits: ArchiveLimits | None = None) -> Contents:
    """The files in a zip, tar, tar.gz or gzip, told apart by what they hold.

    Left out with a warning: absolute names and such with "..", links, devices, what is encrypted, damaged or beyond a
    limit. Of two members with the same name the later one counts. A bare gzip holds one file, named like `filename`
    without its suffix, or "content".
    """
    reading = _Reading(limits or ArchiveLimits())
    try:
        for member in _members(data, filename, reading):
            if not reading.add(member):
                break
    except (_DamagedError, DamagedTarError) as error:
        reading.warn(f"the archive is damaged: {error}")
    return reading.finished()


class Expanded(NamedTuple):
    """`problem` says why `data` is not all of it ("" if it is); `cut`: because there is too much of it."""

    data: bytes
    problem: str = ""
    cut: bool = False


def gunzip(data: bytes, at_most: int) -> Expanded:
    """What `data` expands to, `at_most` so many bytes of it."""
    expanded = bytearray()
    position = 0
    # A stream may hold many compressed parts; each costs a little, and a hostile one holds millions.
    for _ in range(1000):
        if position and data[position : position + 2] != _GZIP_MAGIC:
            return Expanded(bytes(expanded))
        part = zlib.decompressobj(31)
        while not part.eof:
            piece = data[position : position + _PIECE]
            if not piece:
                return Expanded(bytes(expanded), "it ends too early")
            try:
                expanded += part.decompress(piece, at_most + 1 - len(expanded))
            except zlib.error:
                return Expanded(bytes(expanded), "it is not valid gzip")
            if len(expanded) > at_most:
                return Expanded(bytes(expanded[:at_most]), f"it expands to more than {at_most} bytes", cut=True)
            position += len(piece) - len(part.unconsumed_tail) - len(part.unused_data)
    return Expanded(bytes(expanded), "it has more than 1000 parts", cut=True)


_Kind = Literal["file", "folder", "link", "device", "encrypted", "unknown"]
_KINDS = {
    "link": "a link",
    "device": "a device or a pipe",
    "encrypted": "encrypted",
    "unknown": "stored in a way that is not read",
}


class _DamagedError(SlopCodeError):
    """The rest of the archive cannot be read."""


class _Member(NamedTuple):
    """`packed` is its size in the archive; `read` gives `size` bytes, or raises `_DamagedError`."""

    name: str
    kind: _Kind
    size: int
    packed: int
    read: Callable[[], bytes]


class _Reading:
    """What has been read so far, and what the limits leave."""

    def __init__(self, limits: ArchiveLimits) -> None:
        self.limits = limits
        self._contents = Contents()
        self._members = 0
        self._left = limits.total_bytes
        self._unsaid = 0

    def finished(self) -> Contents:
        if self._unsaid:
            self._contents.warnings.append(f"{self._unsaid} more such warnings about the archive are not shown")
        return self._contents

    def warn(self, text: str, *, cut: bool = False) -> None:
        self._contents.cut |= cut
        if len(self._contents.warnings) < _MOST_WARNINGS:
            self._contents.warnings.append(text)
        else:
            self._unsaid += 1

    def allowance(self, packed: int) -> int:
        """How many bytes something may expand to that takes `packed` bytes."""
        return min(self._left, max(_HARMLESS_BYTES, packed * self.limits.ratio))

    def add(self, member: _Member) -> bool:
        """Take a member in, or warn; False once no more may be read."""
        self._members += 1
        if self._members > self.limits.members:
            self.warn(f"the archive has more than {self.limits.members} members: the rest was not read", cut=True)
            return False
        name = _normal(member.name)
        shown = f"archive member {member.name[:100]!r}"
        if member.kind == "file" and name is not None:
            self._add_file(name, shown, member)
        elif member.kind == "file":
            self.warn(f"{shown} was left out: its name is empty, absolute, or leads out of the archive")
        elif member.kind != "folder":
            self.warn(f"{shown} was left out: it is {_KINDS[member.kind]}")
        return True

    def _add_file(self, name: str, shown: str, member: _Member) -> None:
        # Packed bytes cost time even if they expand to nothing, and members may share them: count what is more.
        cost = max(member.size, member.packed)
        at_most = min(self.limits.member_bytes, self.allowance(member.packed))
        if cost > at_most:
            self.warn(f"{shown} was left out: {cost} bytes are more than may still be read ({at_most})", cut=True)
            return
        self._left -= cost
        try:
            content = member.read()
        except _DamagedError as error:
            self.warn(f"{shown} was left out: {error}")
            return
        if name in self._contents.files:
            self.warn(f"{shown} is there more than once: the last one counts")
        self._contents.files[name] = _text(content)


def _normal(name: str) -> str | None:
    """A relative POSIX path, or None if `name` is none."""
    path = name.replace("\\", "/")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    bad = path.startswith("/") or re.match("[A-Za-z]:/", path) or ".." in parts or len(path) > _LONGEST_NAME
    return None if bad or not parts else "/".join(parts)


def _text(content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError:
        return base64.b64encode(content).decode()


def _members(data: bytes, filename: str, reading: _Reading) -> Iterator[_Member]:
    if data.startswith(_GZIP_MAGIC):
        expanded, problem, cut = gunzip(data, reading.allowance(len(data)))
        if problem:
            reading.warn(f"the archive could not be expanded in full: {problem}", cut=cut)
        if is_tar(expanded):
            yield from _tar_members(expanded)
        elif not problem:
            name = filename[:-3] if filename.lower().endswith(".gz") else ""
            yield _Member(name or "content", "file", len(expanded), len(data), lambda: expanded)
    elif is_tar(data):
        yield from _tar_members(data)
    elif data.startswith(b"PK") or b"PK\x05\x06" in data[-(1 << 16) - 22 :]:
        yield from _zip_members(data, reading)
    elif data:
        raise _DamagedError("it is neither zip nor tar nor gzip")


def _tar_members(data: bytes) -> Iterator[_Member]:
    for name, kind, start, size in tar_members(data):
        yield _Member(name, kind, size, size, partial(_slice, data, start, size))


def _slice(data: bytes, start: int, size: int) -> bytes:
    return data[start : start + size]


def _zip_members(data: bytes, reading: _Reading) -> Iterator[_Member]:
    # `zipfile` makes an object of every entry before it can be stopped; each of them has this mark.
    if data.count(_ZIP_ENTRY) > reading.limits.members:
        reading.warn(f"the archive has more than {reading.limits.members} members: none was read", cut=True)
        return
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except _ZIP_ERRORS as error:
        raise _DamagedError(_cut(error)) from error
    with archive:
        for info in archive.infolist():
            content = partial(_unzip, archive, info)
            yield _Member(info.filename, _zip_kind(info), info.file_size, info.compress_size, content)


def _zip_kind(info: zipfile.ZipInfo) -> _Kind:
    mode = stat.S_IFMT(info.external_attr >> 16)
    if info.filename.endswith("/"):
        return "folder"
    if mode not in (0, stat.S_IFREG):
        return "link" if mode == stat.S_IFLNK else "device"
    if info.flag_bits & 1:
        return "encrypted"
    # The others expand without a limit inside `zipfile`.
    return "file" if info.compress_type in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) else "unknown"


def _unzip(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    try:
        with archive.open(info) as stream:
            return stream.read(info.file_size + 1)
    except _ZIP_ERRORS as error:
        raise _DamagedError(_cut(error)) from error


def _cut(error: BaseException) -> str:
    return (str(error) or type(error).__name__)[:200]
