"""Where prepared submissions are kept, shared safely by several evaluators, and bounded in size.

~/.cache/slop-code/           or $SLOP_CODE_CACHE
  images/KEY/                 a prepared submission; usable only once `complete` is there, which says how large it is
  images/KEY.lock             held (shared) by whoever uses it, (exclusive) by whoever makes or removes it
  bounded                     its time is when somebody last looked whether all of them take too much
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.workspace import remove

DEFAULT_LIMIT = 20 << 30
COMPLETE = "complete"
_BOUNDED = "bounded"
# Looking at all images for each new one would take longer the more there are.
BOUND_EVERY_S = 60.0


class CachedImage(NamedTuple):
    """One image of the cache."""

    folder: Path
    size: int
    used: float
    complete: bool


def cache_folder() -> Path:
    """The cache directory of this user."""
    chosen = os.environ.get("SLOP_CODE_CACHE")
    if chosen:
        return Path(chosen).absolute()
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "slop-code"


@contextlib.contextmanager
def locked(path: Path, *, exclusive: bool, wait: bool = True) -> Iterator[bool]:
    """Hold the lock file at `path`; gives False if it is taken and `wait` is false."""
    path.parent.mkdir(parents=True, exist_ok=True)
    kind = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            try:
                fcntl.flock(descriptor, kind if wait else kind | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
                return
            # `clear_cache` may have removed the file while we waited for it: then others hold another one.
            if _is_at(descriptor, path):
                yield True
                return
        finally:
            os.close(descriptor)


def _is_at(descriptor: int, path: Path) -> bool:
    own = os.fstat(descriptor)
    with contextlib.suppress(FileNotFoundError):
        there = path.stat()
        return (own.st_dev, own.st_ino) == (there.st_dev, there.st_ino)
    return False


def cached_images(folder: Path) -> list[CachedImage]:
    """The images of a cache, the one used longest ago first."""
    images = [entry for entry in (folder / "images").glob("*") if entry.is_dir()] if folder.is_dir() else []
    found = []
    for image in images:
        try:
            used = (image / COMPLETE).stat().st_mtime
        except FileNotFoundError:
            found.append(CachedImage(image, size_of(image), 0.0, complete=False))
        else:
            found.append(CachedImage(image, _known_size(image) or size_of(image), used, complete=True))
    return sorted(found, key=lambda item: item.used)


def bound_cache(folder: Path) -> None:
    """Remove what is too much, if nobody has looked for a while."""
    mark = folder / _BOUNDED
    with contextlib.suppress(FileNotFoundError):
        if time.time() - mark.stat().st_mtime < BOUND_EVERY_S:
            return
    mark.touch()
    clear_cache(folder, keep_bytes=DEFAULT_LIMIT)


def clear_cache(folder: Path, *, keep_bytes: int = 0) -> list[CachedImage]:
    """Remove images, the one used longest ago first, until at most `keep_bytes` are left; return what was removed.

    An image that somebody uses at the moment stays.
    """
    images = cached_images(folder)
    total = sum(image.size for image in images)
    removed = []
    for image in images:
        if total <= keep_bytes and image.complete:
            continue
        with locked(image.folder.with_suffix(".lock"), exclusive=True, wait=False) as held:
            # One that was half-made when we looked may be complete by now.
            if held and (image.folder / COMPLETE).exists() == image.complete:
                remove(image.folder)
                image.folder.with_suffix(".lock").unlink(missing_ok=True)
                removed.append(image)
                total -= image.size
    return removed


def _known_size(image: Path) -> int:
    """What was noted when the image was made; 0 if nothing was."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        size = json.loads((image / COMPLETE).read_bytes()).get("size")
        return size if isinstance(size, int) else 0
    return 0


def size_of(folder: Path) -> int:
    """What all files in a folder take on the disk."""
    total = 0
    pending = [folder]
    while pending:
        with contextlib.suppress(OSError), os.scandir(pending.pop()) as children:
            for child in children:
                if child.is_dir(follow_symlinks=False):
                    pending.append(Path(child.path))
                else:
                    total += child.stat(follow_symlinks=False).st_blocks * 512
    return total
