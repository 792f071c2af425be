"""A control group that bounds what a session's programs take together, where we may make one.

Needed where rlimits cannot do it: they bind each process by itself, do not bind root, count all processes of a user
together, and know nothing of memory that no process has mapped.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import signal
import time
from functools import cache
from pathlib import Path
from typing import NamedTuple

_ROOT = Path("/sys/fs/cgroup")
# The helpers that start the programs are in the group, too.
_OWN_PROCESSES, _OWN_MEMORY = 4, 64 << 20
# A value that every kind of limit takes.
_SOME = 1 << 20
_GIVE_UP_S = 10.0
_ENTER = """
while [ "$1" != -- ]; do mkdir -p "$1"; echo "$3" > "$1/$2"; echo $$ > "$1/cgroup.procs"; shift 3; done
shift; exec "$@"
"""


class Limit(NamedTuple):
    """One limit of a group: the folder it is kept in, its file there, and its value."""

    folder: Path
    file: str
    value: int


class ControlGroup(NamedTuple):
    """A group of processes: one folder, or one for each kind of limit where the system keeps them apart."""

    limits: tuple[Limit, ...]

    @classmethod
    def plan(cls, *, processes: int | None, memory: int | None) -> ControlGroup | None:
        """A group under those limits that this system lets us set; None if there are none. It is not there yet."""
        name = _new_name()
        wanted = {
            "pids": None if processes is None else processes + _OWN_PROCESSES,
            "memory": None if memory is None else memory + _OWN_MEMORY,
        }
        limits: list[Limit] = []
        for kind, value in wanted.items():
            place = _place(kind) if value is not None else None
            if place is not None and value is not None:
                limits.append(Limit(place[0] / name, place[1], value))
        return cls(tuple(limits)) if limits else None

    @property
    def folders(self) -> tuple[Path, ...]:
        return tuple(dict.fromkeys(limit.folder for limit in self.limits))

    def entering(self) -> list[str]:
        """The start of a command line whose rest runs in the group, which is made if it is not there."""
        values = [text for limit in self.limits for text in (str(limit.folder), limit.file, str(limit.value))]
        return ["/bin/sh", "-c", _ENTER, "sh", *values, "--"]

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
    planned = ControlGroup.plan(processes=limit, memory=None)
    if planned is None:
        return None
    planned.folders[0].mkdir()
    return planned.folders[0]


def _new_name() -> str:
    # A process id would not do: evaluators in different process namespaces can share the groups' hierarchy.
    return f"slop-code-{secrets.token_hex(8)}"


def _members(folder: Path) -> list[int]:
    try:
        # One of another process namespace has the number 0, and that would mean us.
        return [int(pid) for pid in (folder / "cgroup.procs").read_text().split() if int(pid) > 0]
    except OSError:
        return []


@cache
def _place(kind: str) -> tuple[Path, str] | None:
    """The group in which we may make others with limits of a kind, and the file for such a limit."""
    if (_ROOT / kind / "cgroup.procs").exists():
        # Each kind has a hierarchy of its own.
        file = {"pids": "pids.max", "memory": "memory.limit_in_bytes"}[kind]
        places = [(_own_group(_ROOT / kind, kind), file)]
    else:
        places = [(root, f"{kind}.max") for root in (_ROOT / "unified", _ROOT) if _hands_down(root, kind)]
    return next((place for place in places if _allows(*place)), None)


def _allows(root: Path, file: str) -> bool:
    """Whether we may make groups with such a limit in a group, found out by making one."""
    folder = root / _new_name()
    try:
        folder.mkdir()
    except OSError:
        return False
    try:
        (folder / file).write_text(str(_SOME))
    except OSError:
        return False
    finally:
        folder.rmdir()
    return True


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
