"""A control group that bounds how many processes a warden's jobs can have, where we may make one.

Needed where rlimits cannot do it: they do not bind root, and count all of a user's processes together.
"""

from __future__ import annotations

import contextlib
import os
from functools import cache
from itertools import count
from pathlib import Path

_numbers = count(1)


def make_process_group(limit: int) -> Path | None:
    """A new control group for `limit` processes, or None where this user may not make one."""
    parent = _parent()
    if parent is None:
        return None
    group = parent / f"slop-code-{os.getpid()}-{next(_numbers)}"
    try:
        group.mkdir()
        (group / "pids.max").write_text(str(limit))
    except OSError:
        with contextlib.suppress(OSError):
            group.rmdir()
        return None
    return group


@cache
def _parent() -> Path | None:
    root = Path("/sys/fs/cgroup")
    for parent in (root / "pids", root / "unified", root):
        controllers = parent / "cgroup.controllers"
        is_v1 = parent.name == "pids" and (parent / "cgroup.procs").exists()
        has_pids = is_v1 or (controllers.exists() and "pids" in (parent / "cgroup.subtree_control").read_text().split())
        if has_pids and os.access(parent, os.W_OK):
            return parent
    return None
