"""The helper process itself, without any driver."""

from __future__ import annotations

import subprocess
import sys

import pytest

from slop_code.execution import ExecutionError
from slop_code.execution.process import Command, Warden

ENV = {"PATH": "/usr/bin:/bin"}

# Takes the free descriptors below, so that the warden's end of the channel gets the number that is asked for.
CROWDED = """
import os, sys
wanted = int(sys.argv[1])
while os.open(os.devnull, os.O_RDONLY) < wanted - 2:
    pass
from slop_code.execution.process import Command, Warden
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
