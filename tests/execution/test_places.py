"""The mounts and the network that a helper process keeps for its commands."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slop_code.execution import ExecutionError
from slop_code.execution.commands import Command
from slop_code.execution.mounts import prepared_once, read_only, shared_memory, whole
from slop_code.execution.process import Warden, _children
from tests.engines import bwrap_skip_reason

needs_root = pytest.mark.skipif(os.getuid() != 0, reason="only root has a helper enter a place")
needs_bwrap = pytest.mark.skipif(bwrap_skip_reason() is not None, reason=str(bwrap_skip_reason()))
ENV = {"PATH": "/usr/bin:/bin"}
MAKING = ["/usr/bin/bwrap", "--unshare-net", "--dev-bind", "/", "/"]
SEND = "import socket; s = socket.socket({family}, socket.SOCK_DGRAM); {act}"
NETWORKED = {
    "nothing is sent": ("socket.AF_INET", "s.bind(('127.0.0.1', 0))", False),
    "a datagram": ("socket.AF_INET", "s.sendto(b'', ('127.0.0.1', 9))", True),
    "a datagram that cannot go": ("socket.AF_INET", "s.connect_ex(('10.1.2.3', 9))", True),
    "a datagram of the sixth version": ("socket.AF_INET6", "s.sendto(b'', ('::1', 9))", True),
}


LATER_MOUNTS = """
import pathlib, subprocess, sys
from slop_code.execution.commands import Command
from slop_code.execution.process import Warden
folder = pathlib.Path(sys.argv[1], "folder")
folder.mkdir()
(folder / "before").touch()
helper = Warden.launch()
helper.enter(["/usr/bin/bwrap", "--unshare-net", "--dev-bind", "/", "/", "--"])
for _ in range(2):
    print(helper.run(Command(["/bin/ls", str(folder)], "/", {"PATH": "/usr/bin:/bin"})).stdout.decode(), end="")
    subprocess.run(["/bin/mount", "-t", "tmpfs", "tmpfs", folder], check=True)
helper.close()
"""


def network(helper: Warden) -> bytes:
    return helper.run(Command(["/bin/readlink", "/proc/self/ns/net"], "/", ENV)).stdout


@needs_root
@needs_bwrap
@pytest.mark.parametrize("name", NETWORKED)
def test_commands_get_a_new_network_after_one_that_used_it_and_only_then(helper: Warden, name: str) -> None:
    family, act, is_use = NETWORKED[name]
    helper.enter([*MAKING, "--"])
    first = network(helper)
    assert os.fsencode(Path("/proc/self/ns/net").readlink()) not in first
    assert network(helper) == first
    script = SEND.format(family=family, act=act)
    done = helper.run(Command(["/usr/bin/python3", "-I", "-S", "-c", script], "/", ENV))
    assert done.status == 0, done.stderr
    assert (network(helper) != first) == is_use


@pytest.mark.parametrize(
    ("making", "said"),
    [
        (["/bin/sh", "-c", "echo no mounts today >&2; exit 1"], "no mounts today"),
        (["/bin/true"], "no namespaces can be made"),
        (["/nowhere/bwrap"], "No such file"),
    ],
)
def test_a_place_that_cannot_be_made_is_no_fault_of_the_program(helper: Warden, making: list[str], said: str) -> None:
    helper.enter(making)
    for _ in range(2):
        with pytest.raises(ExecutionError, match=said):
            network(helper)
    # Nor is anything left of it that the next program would pay for.
    guard = helper._process
    assert guard is not None
    (process,) = _children(guard.pid)
    assert _children(process) == []


@needs_root
@needs_bwrap
def test_what_this_machine_mounts_later_is_not_in_a_place(helper: Warden, tmp_path: Path) -> None:
    # In a namespace of its own, whose mounts are shared as they are on most machines.
    done = subprocess.run(
        ["/usr/bin/unshare", "--mount", "--propagation", "shared", sys.executable, "-c", LATER_MOUNTS, str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.stdout == "before\nbefore\n", done.stderr


@needs_root
@needs_bwrap
def test_what_is_mounted_in_a_folder_is_still_there_when_the_folder_is_removed(tmp_path: Path) -> None:
    folder, precious = tmp_path / "folder", tmp_path / "precious"
    (folder / "root").mkdir(parents=True)
    precious.mkdir()
    (precious / "file").touch()
    helper = Warden.launch(remove=[folder])
    helper.enter([*MAKING, "--bind", str(precious), str(folder / "root"), "--"])
    listed = helper.run(Command(["/bin/ls", str(folder / "root")], "/", ENV))
    assert listed.stdout == b"file\n", listed.stderr
    guard = helper._process
    assert guard is not None
    # Without its guard it has to remove the folder itself, from where it sees what is mounted there.
    guard.send_signal(signal.SIGKILL)
    guard.wait()
    helper.close()
    deadline = time.monotonic() + 30
    while folder.exists():
        assert time.monotonic() < deadline
    assert (precious / "file").exists()


LOOK = (
    "cut -d' ' -f 5,6 /proc/self/mountinfo | sort; ls /shown /tmp/shown; touch /x /dev/x; touch /dev/shm/x && echo ok"
)


def seen(*sandbox: str) -> str:
    command = [*sandbox, "--", "/bin/sh", "-c", LOOK]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    return done.stdout + done.stderr


@needs_root
@needs_bwrap
def test_a_root_that_is_prepared_shows_what_mounting_everything_does(tmp_path: Path) -> None:
    root, private, shown = tmp_path / "root", tmp_path / "private", tmp_path / "shown"
    for folder in (root, private, shown):
        folder.mkdir()
    (shown / "file").touch()
    mounts = [
        *[("--ro-bind", path, path) for path in ("/usr", "/etc")],
        *[("--symlink", f"usr/{name}", f"/{name}") for name in ("bin", "lib", "lib64")],
        *[("--proc", "/proc"), ("--dev", "/dev"), ("--bind", str(private), "/tmp")],
        *[("--ro-bind", str(shown), place) for place in ("/shown", "/tmp/shown")],
        # What covers something that is writable; to mount that one after it would undo it.
        *[("--bind", str(private), "/home/user"), ("--ro-bind", str(shown), "/home")],
        *read_only([shown]),
        shared_memory(1 << 20),
    ]
    outside, inside = prepared_once(mounts, root)
    sandbox = ("/usr/bin/bwrap", "--unshare-pid")
    everything = seen(*sandbox, *whole(mounts))
    assert seen("/usr/bin/bwrap", *outside, "--", *sandbox, *inside) == everything
    assert everything.count("file\n") == 2
    assert "'/x': Read-only" in everything
    assert "'/dev/x': Read-only" in everything
    assert "ok\n" in everything
