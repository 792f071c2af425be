"""The helper process itself, without any driver."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from slop_code.execution import ExecutionError
from slop_code.execution.commands import Command
from slop_code.execution.process import ARGUMENTS_FD, Warden
from slop_code.execution.warden.starting import Expendable

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
        expendable = Expendable()
    with expendable:
        assert expendable.own < 0


def test_each_command_has_its_own_variables_folder_and_input_whatever_the_one_before_had(helper: Warden) -> None:
    look = Command(["/bin/sh", "-c", "echo $A $B; pwd; cat"], "/", {**ENV, "A": "1"})
    assert helper.run(look._replace(stdin=b"in")).stdout == b"1\n/\nin"
    assert helper.run(look._replace(env={**ENV, "B": "2"}, cwd="/usr")).stdout == b"2\n/usr\n"
    assert helper.run(look).stdout == b"1\n/\n"


def test_files_of_commands_are_read_from_their_beginning_each_time(helper: Warden, tmp_path: Path) -> None:
    given, other = tmp_path / "given", tmp_path / "other"
    given.write_text("first")
    other.write_text("second")
    read = Command(["/bin/sh", "-c", "cat <&7"], "/", ENV, files={ARGUMENTS_FD: str(given)})
    assert [helper.run(read).stdout for _ in range(2)] == [b"first", b"first"]
    assert helper.run(read._replace(files={ARGUMENTS_FD: str(other)})).stdout == b"second"
    # It is not there for a command without files.
    assert helper.run(read._replace(files={})).stdout == b""


def test_after_a_command_that_could_not_be_started_the_next_one_has_all_that_is_its_own(
    helper: Warden, tmp_path: Path
) -> None:
    read = Command(["/bin/sh", "-c", "cat <&7"], "/", ENV, files={ARGUMENTS_FD: str(tmp_path / "later")})
    with pytest.raises(ExecutionError, match="No such file"):
        helper.run(read)
    (tmp_path / "later").write_text("there")
    assert helper.run(read).stdout == b"there"


STATE = """
import os, signal, sys
mask = os.umask(0)
print(oct(mask), os.getsid(0) == os.getpid(), sorted(os.listdir("/proc/self/fd"))[:3], os.read(0, 1))
print([signal.getsignal(number) is signal.SIG_DFL for number in (signal.SIGXFSZ, signal.SIGTERM, signal.SIGHUP)])
# Without the two that the C library keeps for itself.
print(int(open("/proc/self/status").read().split("SigIgn:")[1].split()[0], 16) & 0x7FFFFFFF)
"""


@pytest.mark.parametrize(
    "user",
    [
        None,
        pytest.param(
            (12345, 12345),
            marks=pytest.mark.skipif(os.getuid() != 0, reason="only root can start programs as another user"),
        ),
    ],
)
def test_programs_start_in_a_clean_state(helper: Warden, user: tuple[int, int] | None) -> None:
    done = helper.run(Command(["/usr/bin/python3", "-I", "-S", "-c", STATE], "/", ENV, user=user))
    # What Python itself ignores, it does in the program too; the helper passes on nothing else.
    alone = subprocess.run(
        ["/usr/bin/python3", "-I", "-S", "-c", STATE], capture_output=True, check=True, stdin=subprocess.DEVNULL,
        cwd="/", env=ENV, start_new_session=True, umask=0o022,
    )  # fmt: skip
    assert done.stdout == alone.stdout, done.stderr


def test_a_write_to_a_closed_pipe_ends_a_program_as_it_does_anywhere(helper: Warden) -> None:
    # With the signal ignored, as Python does, `yes` would complain and give 1.
    said = helper.run(Command(["/bin/sh", "-c", "{ yes; echo $? >&2; } | head -n 1"], "/", ENV))
    assert (said.stdout, said.stderr) == (b"y\n", b"141\n")


def test_nothing_is_lost_of_what_comes_in_drops_and_floods(helper: Warden) -> None:
    script = "i=0; while [ $i -lt 300 ]; do echo $i; i=$((i+1)); done; head -c 3000000 /dev/zero; echo end"
    expected = b"".join(b"%d\n" % number for number in range(300)) + bytes(3_000_000) + b"end\n"
    assert helper.run(Command(["/bin/sh", "-c", script], "/", ENV)).stdout == expected


def test_the_last_words_of_a_server_are_known_as_soon_as_they_are_said(helper: Warden, tmp_path: Path) -> None:
    for number in range(5):
        said = tmp_path / str(number)
        helper.start(Command(["/bin/sh", "-c", f"echo one >&2; echo two >&2; : > {said}; sleep 60"], "/", ENV))
        deadline = time.monotonic() + 30
        while not said.exists():
            assert time.monotonic() < deadline
        assert helper.last_words() == b"one\ntwo\n"
        helper.stop()
