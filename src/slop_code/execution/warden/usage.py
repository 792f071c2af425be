"""What jobs take that no limit of a single process bounds: the memory of a group, and the disk."""

from __future__ import annotations

import contextlib
import os
import time

from .system import CHUNK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Tuple

# What a name takes of the disk, at least: so a limit on the space is one on the number of files, too.
LEAST_FILE = 4096
COUNT_EVERY_S = 0.5
# Where a disk has less than this left, growth that nobody can be seen to own counts against the job.
DISK_RESERVE = 1 << 29


class Victims:
    """Processes that the kernel ended, because all of a control group together took more memory than they may.

    It ends one or a few and leaves the others, which then take less.
    """

    def __init__(self, groups: List[str]) -> None:
        self.counters: List[Tuple[int, Optional[str]]] = []
        for group in groups:
            # The two versions of control groups. In the older one, only another file tells whose limit was met.
            for name, other in (("memory.events", None), ("memory.oom_control", "memory.failcnt")):
                with contextlib.suppress(OSError):
                    counter = os.open(os.path.join(group, name), os.O_RDONLY)
                    self.counters.append((counter, other and os.path.join(group, other)))
        self.known = self._count()

    def are_new(self) -> bool:
        """Whether there are more than at the last time."""
        before, self.known = self.known, self._count()
        return self.known > before

    def _count(self) -> int:
        total = 0
        for counter, other in self.counters:
            with contextlib.suppress(OSError, ValueError, IndexError):
                values = {line.split()[0]: line.split()[1] for line in os.pread(counter, CHUNK, 0).splitlines()}
                killed = int(values.get(b"oom_kill", 0))
                # A machine without memory ends processes, too, and then it was not this limit.
                if killed and (int(values.get(b"oom", 0)) or (other and _read_number(other))):
                    total += killed
        return total


def _read_number(path: str) -> int:
    with open(path) as file:
        return int(file.read())


class Disk:
    """How much is in the folders that a job can write to.

    Looking at every file is dear, so it is done when the disk as a whole has grown by as much as would be needed, and
    now and then besides: others may make room on it while the job takes it.
    """

    def __init__(self, wanted: Dict[str, Any]) -> None:
        self.wanted = wanted
        self.allowance: int = wanted["allowance"]
        # What was there from the beginning is not the job's.
        self.limit: int = self.allowance + wanted["given"]
        self.total: int = wanted["given"]
        self.mark = self._fill()
        self.next_count = time.monotonic() + COUNT_EVERY_S

    def is_exceeded(self) -> bool:
        fill = self._fill()
        grown = sum(_growth(self.mark.get(device, now), now) for device, now in fill.items())
        started = time.monotonic()
        if self.total + grown <= self.limit and started < self.next_count:
            return False
        unseen = grown > self.allowance and self._is_nearly_full()
        self.total, self.mark = self._count(), fill
        ended = time.monotonic()
        # Where there is much to count, it may take a twentieth of the time.
        self.next_count = ended + max(COUNT_EVERY_S, 20 * (ended - started))
        return self.total > self.limit or unseen

    def _fill(self) -> Dict[int, Tuple[int, int]]:
        """The bytes and names on each file system that the folders are on."""
        found: Dict[int, Tuple[int, int]] = {}
        for folder in self.wanted["folders"]:
            with contextlib.suppress(OSError):
                state = os.statvfs(folder)
                names = state.f_files - state.f_ffree
                found[os.stat(folder).st_dev] = (state.f_blocks - state.f_bfree) * state.f_frsize, names
        return found

    def _is_nearly_full(self) -> bool:
        """Files that are deleted but open are on the disk and in no folder."""
        with contextlib.suppress(OSError):
            states = [os.statvfs(folder) for folder in self.wanted["folders"]]
            return any(state.f_bavail * state.f_frsize < DISK_RESERVE for state in states)
        return False

    def _count(self) -> int:
        total = 0
        pending = list(self.wanted["folders"])
        while pending and total <= self.limit:
            try:
                for child in os.scandir(pending.pop()):
                    total += max(LEAST_FILE, child.stat(follow_symlinks=False).st_blocks * 512)
                    if child.is_dir(follow_symlinks=False) and child.path not in self.wanted["without"]:
                        pending.append(child.path)
            except OSError:
                continue
        return total


def _growth(before: Tuple[int, int], now: Tuple[int, int]) -> int:
    return max(0, now[0] - before[0], (now[1] - before[1]) * LEAST_FILE)
