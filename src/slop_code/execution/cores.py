"""How many cores this process may use."""

from __future__ import annotations

import contextlib
import math
import os
from pathlib import Path


def available_cores() -> int:
    """The cores that this process may run on, and no more than its control group's quota of CPU time; at least 1."""
    allowed = len(os.sched_getaffinity(0))
    quota = cpu_quota()
    return max(1, allowed if quota is None else min(allowed, math.ceil(quota)))


def cpu_quota(root: Path = Path("/sys/fs/cgroup"), membership: Path = Path("/proc/self/cgroup")) -> float | None:
    """The least of the quotas of this process's control groups, in cores; None if there is none."""
    quotas = [quota for group in _groups(root, membership) if (quota := _quota(group)) is not None]
    return min(quotas, default=None)


def _groups(root: Path, membership: Path) -> list[Path]:
    """The groups of this process that may have a quota, with all that they are in."""
    found: list[Path] = []
    try:
        lines = membership.read_text().splitlines()
    except OSError:
        return found
    for line in lines:
        _, controllers, name = line.split(":", 2)
        if controllers and "cpu" not in controllers.split(","):
            continue
        tops = [root / controllers, root / "cpu"] if controllers else [root, root / "unified"]
        for top in tops:
            group = top / name.lstrip("/")
            found += [group, *(parent for parent in group.parents if parent.is_relative_to(top))]
    return list(dict.fromkeys(found))


def _quota(group: Path) -> float | None:
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        limit, period = (group / "cpu.max").read_text().split()
        return None if limit == "max" else int(limit) / int(period)
    with contextlib.suppress(OSError, ValueError, ZeroDivisionError):
        allowed = int((group / "cpu.cfs_quota_us").read_text())
        return None if allowed <= 0 else allowed / int((group / "cpu.cfs_period_us").read_text())
    return None
