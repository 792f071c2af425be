"""What bubblewrap, which makes sandboxes, can do on this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import threading
from functools import cache
from typing import NamedTuple

_HOW_TO = "install bubblewrap (apt-get install bubblewrap), or use an environment of type local or docker"
_probing = threading.Lock()


def why_not() -> str | None:
    """Why this machine cannot run sandboxes, or None if it can."""
    return _found().trouble


def takes_size() -> bool:
    """Whether it can limit a file system in memory: version 0.7 and newer."""
    return _found().takes_size


def look_ahead() -> None:
    """Begin to find out, in a thread of its own; whoever asks meanwhile waits for the answer."""
    threading.Thread(target=_found, name="look at bubblewrap", daemon=True).start()


def bwrap() -> str:
    """The program that makes sandboxes."""
    return shutil.which("bwrap") or "bwrap"


def namespaces(*, own_network: bool) -> list[str]:
    """The arguments that give a sandbox namespaces of its own; its network may be that of whoever makes it."""
    arguments = ["--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try"]
    if own_network:
        arguments.append("--unshare-net")
    if os.getuid() == 0:
        # What it takes to become the program's user.
        return [*arguments, "--cap-drop", "ALL", *kept_capabilities("CAP_SETUID", "CAP_SETGID", "CAP_SETPCAP")]
    return [*arguments, "--unshare-user", "--cap-drop", "ALL"]


def kept_capabilities(*names: str) -> list[str]:
    return [part for name in names for part in ("--cap-add", name)]


class Abilities(NamedTuple):
    """`trouble` is why it cannot be used, if so."""

    trouble: str | None
    takes_size: bool = False


def _found() -> Abilities:
    with _probing:
        return probe()


@cache
def probe() -> Abilities:
    """Try it, once per process."""
    if shutil.which("bwrap") is None:
        return Abilities(f"bubblewrap is not installed; {_HOW_TO}")
    done = _try("--size", "4096")
    if done.returncode == 0:
        return Abilities(None, takes_size=True)
    if "--size" in done.stderr:
        done = _try()
        if done.returncode == 0:
            return Abilities(None)
    reason = done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit code {done.returncode}"
    return Abilities(
        f"bubblewrap cannot make namespaces here ({reason}); as root, or with unprivileged user namespaces, it can"
    )


def _try(*size: str) -> subprocess.CompletedProcess[str]:
    mounts = ["--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", *size, "--tmpfs", "/dev/shm"]  # noqa: S108
    command = [bwrap(), *namespaces(own_network=True), *mounts, "true"]
    return subprocess.run(command, capture_output=True, text=True, check=False)
