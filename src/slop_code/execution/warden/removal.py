"""Removing what programs leave, whatever they did to keep it."""

from __future__ import annotations

import contextlib
import os

from .system import LIBC, write_to

IPC_RMID = 0


def remove_folder(folder: str) -> None:
    if is_control_group(folder):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError:
            # That needs nobody in it, this process included; moving takes the kernel a while.
            write_to(os.path.join(os.path.dirname(folder), "cgroup.procs"), str(os.getpid()))
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    elif os.path.lexists(folder) and not _rm(folder):
        _unlock(folder)
        _rm(folder)


def is_control_group(path: str) -> bool:
    return path.startswith("/sys/fs/cgroup/")


def _rm(path: str) -> bool:
    """Remove a file or folder, and say whether that was possible; sooner than by starting `rm`, if it is easy."""
    try:
        _remove_plainly(path, os.path.isdir(path) and not os.path.islink(path))
        return True
    except (OSError, RecursionError):
        return _rm_by_program(path)


def _remove_plainly(path: str, is_folder: bool) -> None:
    if not is_folder:
        os.unlink(path)
        return
    with os.scandir(path) as children:
        for child in children:
            _remove_plainly(child.path, child.is_dir(follow_symlinks=False))
    os.rmdir(path)


def _rm_by_program(folder: str) -> bool:
    import subprocess

    try:
        # Sooner done than importing what Python has for it.
        return subprocess.call(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL) == 0
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        return not os.path.lexists(folder)


def _unlock(folder: str) -> None:
    """Give back to the owner the rights that a program took from its folders."""
    pending = [folder]
    while pending:
        place = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(place, 0o700)
            pending += [child.path for child in os.scandir(place) if child.is_dir(follow_symlinks=False)]


def remove_ipc_objects() -> None:
    """Shared memory, semaphores and message queues of System V, all that this namespace has."""
    ways = {
        "shm": (LIBC.shmctl, (IPC_RMID, None)),
        "sem": (LIBC.semctl, (0, IPC_RMID)),
        "msg": (LIBC.msgctl, (IPC_RMID, None)),
    }
    for kind, (control, arguments) in ways.items():
        with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/sysvipc/%s" % kind) as file:
            for line in file.read().splitlines()[1:]:
                control(int(line.split()[1]), *arguments)
