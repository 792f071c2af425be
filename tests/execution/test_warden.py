"""The helper process itself, without any driver."""

from __future__ import annotations

import subprocess
import sys

import pytest

from slop_code.execution import ExecutionError, warden
from slop_code.execution.commands import Command
from slop_code.execution.process import Warden

ENV = {"PATH": "/usr/bin:/bin"}

# Takes the free descriptors below, so that the warden's end of the channel gets the number that is asked for.
CROWDED = """
import os, sys
wanted = int(sys.argv[1])
while os.open(os.devnull, os.O_RDONLY) < wanted - 2:
    pass
from slop_code.execution.commands import Command
from slop_code.execution.process import Warden
warden = Warden.launch()
command = Command(["/bin/sh", "-c", "echo 3 >&9; exit 3"], "/", {"PATH": "/usr/bin:/bin"}, tells_status=True)
print([warden.run(command).status for _ in range(3)])
warden.close()
"""


@pytest.mark.parametrize("wanted", [8, 9, 10])
def test_the_channel_may_have_any_number_also_that_of_the_told_status(wanted: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", CROWDED, str(wanted)], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "[3, 3, 3]\n", done.stderr


def test_a_start_that_fails_leaves_no_descriptor_to_the_next_command() -> None:
    warden = Warden.launch()
    try:
        look = Command(["/bin/sh", "-c", "ls /proc/self/fd | wc -l"], "/", ENV)
        before = warden.run(look).stdout
        for _ in range(5):
            with pytest.raises(ExecutionError, match="cannot be started"):
                warden.run(Command(["/nowhere/program"], "/", ENV, tells_status=True))
        assert warden.run(look).stdout == before
    finally:
        warden.close()


# What is printed: the helper made ahead, whether it is the one that runs the command, and whether the second one is not.
AHEAD = """
from slop_code.execution.commands import Command
from slop_code.execution.process import Warden
Warden.launch_ahead()
ready = Warden._ahead[0][1].pid
look = Command(["/bin/sh", "-c", "cat /proc/$PPID/status"], "/", {"PATH": "/usr/bin:/bin"})
first, second = Warden.launch(), Warden.launch()
for warden in (first, second):
    print(f"PPid:\\t{ready}\\n".encode() in warden.run(look).stdout)
    warden.close()
"""

# A process that was forked in between lives on, and does not keep the helper that nobody needed.
NEEDLESS = """
import os, sys
from slop_code.execution.process import Warden
Warden.launch_ahead()
channel, process = Warden._ahead[0]
reading, writing = os.pipe()
if os.fork() == 0:
    os.close(writing)
    os.read(reading, 1)
    os._exit(0)
channel.close()
print(process.wait(timeout=30))
"""


@pytest.mark.parametrize(("script", "printed"), [(AHEAD, "True\nFalse\n"), (NEEDLESS, "0\n")])
def test_a_helper_made_ahead_serves_whoever_needs_one_first_and_ends_if_nobody_does(script: str, printed: str) -> None:
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=60)
    assert done.stdout == printed, done.stderr


def test_where_the_kernels_choice_of_victims_cannot_be_changed_programs_start_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(*_: object) -> int:
        raise PermissionError

    with monkeypatch.context() as patch:
        patch.setattr("os.open", refuse)
        expendable = warden.Expendable()
    with expendable:
        assert expendable.own < 0
