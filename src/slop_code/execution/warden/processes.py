"""Finding processes, asking what they take, and ending them."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional, Set

# How long to go on ending what does not end.
GIVE_UP_S = 10


def descendants(root: Optional[int]) -> List[int]:
    """The process ids below `root` (or below this process), `root` included."""
    found = [] if root is None else [root]
    pending = [os.getpid() if root is None else root]
    seen = set(pending)
    while pending:
        for child in _children(pending.pop()):
            if child not in seen:
                seen.add(child)
                found.append(child)
                pending.append(child)
    return found


def _children(pid: int) -> List[int]:
    children: List[int] = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                children += [int(item) for item in file.read().split()]
    except OSError:
        pass
    return children


def resident(pid: int) -> int:
    """How much memory a process takes; 0 if it is gone."""
    try:
        with open("/proc/%d/statm" % pid) as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def proportional(pid: int) -> int:
    """The same, with what it shares divided among those who share it; takes longer to find out."""
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, IndexError):
        pass
    return 0


def send_signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def kill_all() -> None:
    """Kill everything below this process; first hold it still, so that nothing forks faster than it is found."""
    held: Set[int] = set()
    while True:
        new = [pid for pid in descendants(None) if pid not in held]
        for pid in new:
            send_signal(pid, signal.SIGSTOP)
        held.update(new)
        if not new:
            break
    for pid in held:
        send_signal(pid, signal.SIGKILL)


def end_children(give_up: float) -> None:
    """Kill and reap until this process has no children at all."""
    while time.monotonic() < give_up:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                kill_all()
                time.sleep(0.0002)
        except ChildProcessError:
            return
