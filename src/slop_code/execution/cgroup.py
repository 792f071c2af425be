"""A control group that bounds what a session's programs take together, where we may make one.

Needed where rlimits cannot do it: they bind each process by itself, do not bind root, count all processes of a user
together, and know nothing of memory that no process has mapped.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from dataclasses import dataclass
from functools import cache
from itertools import count
from pathlib import Path

_ROOT = Path("/sys/fs/cgroup")
# The helpers that start the programs are in the group, too.
_OWN_PROCESSES, _OWN_MEMORY = 4, 64 << 20
_GIVE_UP_S = 10.0
_ENTER = 'while [ "$1" != -- ]; do echo $$ > "$1/cgroup.procs"; shift; done; shift; exec "$@"'
_numbers = count(1)


@dataclass(frozen=True, slots=True)
class ControlGroup:
    """A group of processes: one folder, or one for each kind of limit where the system keeps them apart."""

    folders: tuple[Path, ...]

    @classmethod
    def make(cls, *, processes: int | None, memory: int | None) -> ControlGroup | None:
        """A new group under those limits that this system lets us set; None if there are none."""
        name = f"slop-code-{os.getpid()}-{next(_numbers)}"
        made: list[Path] = []
        for kind, limit in (
            ("pids", None if processes is None else processes + _OWN_PROCESSES),
            ("memory", None if memory is None else memory + _OWN_MEMORY),
        ):
            parent = _parent(kind)
            if parent is not None and limit is not None and _limited(parent / name, kind, limit):
                made.append(parent / name)
        return cls(tuple(dict.fromkeys(made))) if made else None

    def entering(self) -> list[str]:
        """The start of a command line whose rest runs in the group."""
        return ["/bin/sh", "-c", _ENTER, "sh", *map(str, self.folders), "--"]

    def close(self) -> None:
        """Kill whatever is in the group, and remove it."""
        give_up = time.monotonic() + _GIVE_UP_S
        for folder in self.folders:
            while folder.exists() and time.monotonic() < give_up:
                for pid in _members(folder):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
                with contextlib.suppress(OSError):
                    folder.rmdir()
                    break
                time.sleep(0.001)


def make_process_group(limit: int) -> Path | None:
    """A new control group for `limit` processes, or None where this user may not make one."""
    made = ControlGroup.make(processes=limit - _OWN_PROCESSES, memory=None)
    return None if made is None else made.folders[0]


def _limited(folder: Path, kind: str, limit: int) -> bool:
    """Make the folder, which may be there for another kind, and set its limit."""
    files = [folder / name for name in {"pids": ["pids.max"], "memory": ["memory.max", "memory.limit_in_bytes"]}[kind]]
    try:
        folder.mkdir(exist_ok=True)
        for file in files:
            if file.exists():
                file.write_text(str(limit))
    except OSError:
        with contextlib.suppress(OSError):
            folder.rmdir()
        return False
    return True


def _members(folder: Path) -> list[int]:
    try:
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split()]
    except OSError:
        return []


@cache
def _parent(kind: str) -> Path | None:
    """The group in which we may make others with limits of a kind."""
    if (_ROOT / kind / "cgroup.procs").exists():
        # Each kind has a hierarchy of its own.
        parent = _own_group(_ROOT / kind, kind)
        return parent if os.access(parent, os.W_OK) else None
    for root in (_ROOT / "unified", _ROOT):
        if _hands_down(root, kind) and os.access(root, os.W_OK):
            return root
    return None


def _own_group(root: Path, kind: str) -> Path:
    """The group of this process: whatever bounds it bounds ours, too."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/cgroup").read_text().splitlines():
            _, controllers, name = line.split(":", 2)
            own = root / name.lstrip("/")
            if kind in controllers.split(",") and (own / "cgroup.procs").exists():
                return own
    return root


def _hands_down(root: Path, kind: str) -> bool:
    try:
        return kind in (root / "cgroup.subtree_control").read_text().split()
    except OSError:
        return False
