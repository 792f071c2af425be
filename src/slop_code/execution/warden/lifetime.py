"""From the first message to the end: settings, the guard, and what is removed."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import resource
import signal
import struct
import sys
import time

from .descriptors import RESERVED_FDS, reserve_fd
from .processes import GIVE_UP_S, end_children, send_signal
from .removal import is_control_group, remove_folder
from .serving import Warden
from .system import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, condition, prctl, write_to

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, NoReturn, Optional

# Exit codes: the warden's when its folders are to stay, and the guard's when a signal ended the warden.
KEPT, KILLED = 69, 70


def main() -> None:
    """Settings: `rlimits` by name; control `groups` to be in, each a folder, a file in it, and its value; those that
    bound the memory of all jobs, and may be there or not, as `memory_groups`; folders to `empty` and whether to
    `clear_ipc` after each job; with `own_network`, the network is nobody else's, and spoiled once it is used; what to
    `remove` at the end.
    """
    channel = _open_channel(sys.argv[1])
    settings = _read_settings(channel)
    if settings is None:
        # Nobody needed this process.
        return
    # Made by the guard, who is in none of them, and removes them: so not even a kill of the evaluator leaves one.
    groups = settings.get("groups", [])
    for folder, file, value in groups:
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            write_to(os.path.join(folder, file), str(value))
    # Ctrl-C reaches the whole foreground group; ending is the client's decision, by closing the socket.
    # Handlers, unlike "ignore", are not passed on to the programs.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The first process of a namespace cannot be killed from within, and takes everybody with it when it ends.
    guard = os.getpid() if os.getpid() != 1 else 0
    if guard:
        try:
            warden = os.fork()
        except OSError:
            # There is no room for another process; then it has to do without.
            warden = guard = 0
        if warden:
            os.close(channel)
            prctl(PR_SET_DUMPABLE, 0)
            _guard(warden, settings["remove"])
        prctl(PR_SET_CHILD_SUBREAPER, 1)
    for folder, _, _ in groups:
        write_to(os.path.join(folder, "cgroup.procs"), str(os.getpid()))
    os._exit(_serve(channel, settings, guard))


def _serve(channel: int, settings: Dict[str, Any], guard: int) -> int:
    os.umask(0o022)
    for number in RESERVED_FDS:
        reserve_fd(number)
    for name, value in settings["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    warden = Warden(channel, settings)
    try:
        warden.serve()
    except OSError:
        if warden.condition == condition():
            raise
        # Somebody took from us what it takes to go on.
        return KILLED
    finally:
        if os.getppid() != guard and not warden.keeps_folders:
            if warden.place is not None:
                # In there, things are mounted in them.
                warden.place.leave()
            for folder in settings["remove"]:
                remove_folder(folder)
    return KEPT if warden.keeps_folders else 0


def _guard(warden: int, remove: List[str]) -> NoReturn:
    """Wait for the warden; end what it left if it could not, and remove the folders, which it leaves to us."""
    code = 0
    try:
        while True:
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if pid != warden:
                continue
            if os.WIFSTOPPED(status):
                send_signal(warden, signal.SIGCONT)
                continue
            code = os.waitstatus_to_exitcode(status)
            break
        end_children(time.monotonic() + GIVE_UP_S)
    finally:
        for path in remove:
            if code != KEPT or is_control_group(path):
                remove_folder(path)
        os._exit(KILLED if code < 0 or code == KILLED else 0 if code in (0, KEPT) else 1)


def _open_channel(where: str) -> int:
    if where.isdigit():
        given = int(where)
    else:
        import socket

        connection = socket.socket(socket.AF_UNIX)
        connection.connect(where)
        given = connection.detach()
    # Out of the way of the reserved descriptors, whatever its number was.
    channel = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, max(RESERVED_FDS) + 1)
    os.close(given)
    os.set_blocking(channel, True)
    return channel


def _read_settings(channel: int) -> Optional[Dict[str, Any]]:
    """The first message; None if the client went away without one."""
    try:
        (length,) = struct.unpack(">I", _read_exactly(channel, 4))
        settings: Dict[str, Any] = json.loads(_read_exactly(channel, length))
        return settings
    except (EOFError, ConnectionError):
        return None


def _read_exactly(channel: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = os.read(channel, count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data
