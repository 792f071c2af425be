"""A case's own files, restored quickly from a prepared image.

    session/
      workspace/    what the program finds in its current folder: the image's files, nothing else
      home/         a private HOME, empty
      tmp/          a private TMPDIR, empty

Restoring touches only what the last case changed. A file counts as unchanged if its inode, size and change time are
what they were when we wrote it; nobody but root can forge a change time. Folders that setup filled with thousands of
files (a virtual environment, say) are not copied but shared, read-only.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.snapshot import Entry

# The clock of change times may tick this slowly; what was written just before a case began is not trusted.
_TICK_NS = 20_000_000
# What a file takes beyond its contents: its last block is not full, and its name is somewhere.
_BLOCK = 4096
# Contents are kept in memory up to this size, for all files of an image together.
_MEMORY_LIMIT = 8 << 20

Stamp = tuple[int, int, int, int, int]


class Template(NamedTuple):
    """What a fresh workspace holds: the entries of an image's folder, with the contents of small files at hand."""

    folder: Path
    entries: Sequence[Entry]
    shared: frozenset[str]
    contents: dict[str, bytes]
    size: int
    """What all of it takes on a disk, at most."""

    @classmethod
    def read(cls, folder: Path, entries: Sequence[Entry], shared: frozenset[str]) -> Template:
        """Take up `entries` of `folder`, without what lies in a shared folder."""
        own = [entry for entry in entries if not any(entry.path.startswith(f"{name}/") for name in shared)]
        contents: dict[str, bytes] = {}
        total = 0
        for entry in own:
            if entry.kind == "file" and total + entry.size <= _MEMORY_LIMIT:
                contents[entry.path] = (folder / entry.path).read_bytes()
                total += entry.size
        return cls(folder, own, shared, contents, sum(entry.size + 2 * _BLOCK for entry in own))


class Workspace:
    """The folder of one worker's cases, which can be made fresh again and again."""

    def __init__(self, folder: Path, template: Template, *, owner: tuple[int, int] | None, link_shared: bool) -> None:
        self.folder = folder
        self._root = str(folder)
        self._template = template
        self._owner = owner
        self._link_shared = link_shared
        self._stamps: dict[str, Stamp] = {}
        self._kinds = {entry.path: entry.kind for entry in template.entries}
        self._locked = [
            entry
            for entry in template.entries
            if entry.kind == "folder" and not entry.mode & 0o200 and entry.path not in template.shared
        ]
        folder.mkdir()
        folder.chmod(0o755)
        self._own(folder)

    def restore(self) -> None:
        """Make the folder hold exactly the template, whatever a program did to it."""
        now = time.time_ns()
        self._restore_root()
        self._unlock()
        clean = self._clean_up(now)
        for entry in self._template.entries:
            if entry.path not in clean:
                self._write(entry)
        self._lock()

    def _restore_root(self) -> None:
        status = None
        with contextlib.suppress(OSError):
            status = os.lstat(self._root)
        if status is None or not stat.S_ISDIR(status.st_mode):
            remove(self.folder)
            self.folder.mkdir()
            self._stamps.clear()
            status = os.lstat(self._root)
        if stat.S_IMODE(status.st_mode) != 0o755:
            self.folder.chmod(0o755)
        if self._owner is not None and self._owner != (status.st_uid, status.st_gid):
            self._own(self.folder)

    def hold_open(self) -> None:
        """Make sure that there is a folder which we, and the next command, can enter, whatever a program did to it."""
        try:
            # As nearly always; what is looked at more closely below may be another one by then.
            mode = os.lstat(self._root).st_mode
            if stat.S_ISDIR(mode) and mode & 0o711 == 0o711:
                return
            handle = os.open(self.folder, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError:
            remove(self.folder)
            self.folder.mkdir(parents=True)
            self.folder.chmod(0o755)
            self._own(self.folder)
            self._stamps.clear()
            return
        try:
            mode = stat.S_IMODE(os.fstat(handle).st_mode)
            # In a sandbox it is entered before the program's user is.
            if mode & 0o711 != 0o711:
                Path(f"/proc/self/fd/{handle}").chmod(mode | 0o711)
        finally:
            os.close(handle)

    def _unlock(self) -> None:
        """Let us write into folders that nobody may write to."""
        for entry in self._locked:
            path = self.folder / entry.path
            if path.is_dir() and not path.is_symlink():
                path.chmod(0o755)
                self._stamps[entry.path] = _stamp(path.lstat())

    def _lock(self) -> None:
        for entry in reversed(self._locked):
            (self.folder / entry.path).chmod(entry.mode & 0o777)

    def _clean_up(self, now: int) -> set[str]:
        """Remove what does not belong; return the paths that are as we left them."""
        clean: set[str] = set()
        pending = [""]
        while pending:
            folder = pending.pop()
            for child in os.scandir(f"{self._root}/{folder}"):
                path = f"{folder}/{child.name}" if folder else child.name
                status = child.stat(follow_symlinks=False)
                if self._is_as_left(path, status, now):
                    clean.add(path)
                    if self._kinds[path] == "folder" and path not in self._template.shared:
                        pending.append(path)
                else:
                    _remove_entry(child)
        return clean

    def _is_as_left(self, path: str, status: os.stat_result, now: int) -> bool:
        kind = self._kinds.get(path)
        if kind == "folder" and path not in self._template.shared:
            # A folder's stamp changes with what is in it, which is looked at one by one.
            known = self._stamps.get(path)
            return (
                known is not None
                and stat.S_ISDIR(status.st_mode)
                and (known[0], known[3], known[4]) == _identity(status)
            )
        return self._stamps.get(path) == _stamp(status) and status.st_ctime_ns < now - _TICK_NS

    def _write(self, entry: Entry) -> None:
        path = self.folder / entry.path
        if entry.path in self._template.shared:
            if self._link_shared:
                path.symlink_to(self._template.folder / entry.path)
            else:
                path.mkdir()
        elif entry.kind == "folder":
            path.mkdir()
            path.chmod(entry.mode & 0o777 | (0o200 if entry in self._locked else 0))
        elif entry.kind == "link":
            path.symlink_to(entry.target)
        else:
            self._write_file(entry, path)
        self._own(path)
        self._stamps[entry.path] = _stamp(path.lstat())

    def _write_file(self, entry: Entry, path: Path) -> None:
        content = self._template.contents.get(entry.path)
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        try:
            if content is None:
                with (
                    (self._template.folder / entry.path).open("rb") as source,
                    os.fdopen(os.dup(descriptor), "wb") as out,
                ):
                    shutil.copyfileobj(source, out, 1 << 20)
            elif content:
                os.write(descriptor, content)
            os.fchmod(descriptor, entry.mode & 0o777)
        finally:
            os.close(descriptor)

    def _own(self, path: Path) -> None:
        if self._owner is not None:
            os.chown(path, *self._owner, follow_symlinks=False)


def empty(folder: str, owner: tuple[int, int] | None) -> None:
    """Make `folder` an empty one with mode 700, whatever is there."""
    status = None
    with contextlib.suppress(FileNotFoundError):
        status = os.lstat(folder)
    if status is not None and stat.S_ISDIR(status.st_mode):
        for child in os.scandir(folder):
            _remove_entry(child)
    else:
        remove(Path(folder))
        os.mkdir(folder)  # noqa: PTH102
        status = os.lstat(folder)
    if stat.S_IMODE(status.st_mode) != 0o700:
        os.chmod(folder, 0o700)  # noqa: PTH101
    if owner is not None and owner != (status.st_uid, status.st_gid):
        os.chown(folder, *owner)


def give(folder: Path, owner: tuple[int, int]) -> None:
    """Make `owner` the owner of a folder and all that is in it."""
    os.chown(folder, *owner)
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            os.chown(Path(parent) / name, *owner, follow_symlinks=False)


def remove(path: Path) -> None:
    """Remove a file or tree that a program may have made hard to remove."""
    try:
        path.unlink()
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        pass
    else:
        return
    with contextlib.suppress(OSError, RecursionError):
        shutil.rmtree(path)
        return
    # Folders without permissions, files that not even root may remove, or nested deeper than Python can follow.
    for command in (["chmod", "-R", "u+rwX"], ["chattr", "-R", "-f", "-i", "-a"], ["rm", "-rf"]):
        with contextlib.suppress(FileNotFoundError):
            subprocess.run([*command, "--", path], check=False, stderr=subprocess.DEVNULL)


def _remove_entry(entry: os.DirEntry[str]) -> None:
    """`remove`, in less time for what is easy to remove."""
    try:
        _remove_plainly(entry)
    except (OSError, RecursionError):
        remove(Path(entry.path))


def _remove_plainly(entry: os.DirEntry[str]) -> None:
    if entry.is_dir(follow_symlinks=False):
        with os.scandir(entry.path) as children:
            for child in children:
                _remove_plainly(child)
        os.rmdir(entry.path)  # noqa: PTH106
    else:
        os.unlink(entry.path)  # noqa: PTH108


def _stamp(status: os.stat_result) -> Stamp:
    return status.st_ino, status.st_size, status.st_ctime_ns, status.st_mode, status.st_uid


def _identity(status: os.stat_result) -> tuple[int, int, int]:
    return status.st_ino, status.st_mode, status.st_uid
