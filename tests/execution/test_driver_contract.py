"""One contract, three drivers: every test here runs in `local`, `sandbox` and `docker`."""

from __future__ import annotations

import os
import subprocess
import threading
import time
from pathlib import Path

import pytest

from slop_code.execution.errors import ExecutionError
from slop_code.execution.session import Session
from slop_code.execution.shell import shell_argv
from tests.execution.drivers import DRIVERS, opened

# Seconds to sleep that no other test process uses, so that what is alive can be told apart.
OWN = f"25{os.getpid()}"


def alive(marker: str) -> list[int]:
    """The processes of this machine that have `marker` in their command line."""
    wanted, found = marker.encode(), []
    # Not with pathlib: after every attack on every driver, this takes longer than the rest of the test.
    for number in filter(str.isdigit, os.listdir("/proc")):  # noqa: PTH208
        try:
            with open(f"/proc/{number}/cmdline", "rb", buffering=0) as file:  # noqa: PTH123
                line = file.read()
        except OSError:
            continue
        if wanted in line and int(number) != os.getpid():
            found.append(int(number))
    return found


def test_streams_are_kept_apart_byte_for_byte(session: Session) -> None:
    outcome = session.run("printf 'out\\r\\n\\377'; printf 'err\\0' >&2")
    assert (outcome.stdout, outcome.stderr) == (b"out\r\n\xff", b"err\0")
    assert (outcome.status, outcome.timed_out, outcome.cut, outcome.note) == (0, False, (), "")


@pytest.mark.parametrize("code", [0, 1, 2, 127, 255])
def test_exit_codes_are_given_as_they_are(session: Session, code: int) -> None:
    assert session.run(f"exit {code}").status == code


@pytest.mark.parametrize("signal", [9, 15, 11])
def test_a_program_killed_by_a_signal_has_its_negative_number(session: Session, signal: int) -> None:
    assert session.run(f"python3 -S -c 'import os; os.kill(os.getpid(), {signal})'").status == -signal


def test_128_plus_n_of_a_compound_line_is_left_as_it_is(session: Session) -> None:
    assert session.run("python3 -S -c 'import os; os.kill(os.getpid(), 9)'; exit $?").status == 137
    assert session.run("true && python3 -S -c 'import os; os.kill(os.getpid(), 9)'; true").status == 0


@pytest.mark.parametrize("code", [129, 137, 143])
def test_a_program_may_exit_with_a_code_that_looks_like_a_signal(session: Session, code: int) -> None:
    assert session.run(f"python3 -S -c 'raise SystemExit({code})'").status == code


def test_a_command_that_is_not_there_is_the_shells_own_answer(session: Session) -> None:
    outcome = session.run("no-such-command")
    assert outcome.status == 127
    assert b"not found" in outcome.stderr


@pytest.mark.parametrize(
    "line",
    [
        "nosuch a",
        "./nosuch",
        "nosuch && true",
        "nosuch 'a b' | cat",
        "printf '%s|' a 'b c' \"d\" *.py",
        'printf "%s|" "$0" $# "$*"',
        "echo `nosuch`",
        "echo ${",
        "ls /proc/self/fd",
        'sh -c "exit 3"; echo $?',
    ],
)
def test_a_line_is_what_a_shell_of_its_own_makes_of_it(session: Session, line: str) -> None:
    # The image of the tests has the same shell as this machine.
    alone = subprocess.run(
        shell_argv(line),
        cwd=session.workspace,
        capture_output=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env={"PATH": "/usr/bin:/bin"},
    )
    done = session.run(line, timeout=20)
    assert (done.status, done.stdout, done.stderr) == (alone.returncode, alone.stdout, alone.stderr)


def test_arguments_are_shell_fragments(session: Session) -> None:
    assert session.run("""echo 'two words' "it's" && echo $((1 + 1)) | cat""").stdout == b"two words it's\n2\n"


def test_the_current_folder_is_the_workspace_with_the_submissions_files(session: Session) -> None:
    outcome = session.run("pwd; ls -A; ./tool.sh; cat link; test -d empty && echo folder; test -L link && echo link")
    assert outcome.stdout.decode().splitlines() == [
        session.layout.workspace,
        "empty",
        "link",
        "main.py",
        "tool.sh",
        "tool",
        "print('hello')",
        "folder",
        "link",
    ]


def test_a_program_goes_first_when_the_machines_memory_runs_out(session: Session) -> None:
    for _ in range(2):
        assert session.run("cat /proc/self/oom_score_adj").stdout == b"1000\n"


def test_without_stdin_there_is_empty_input(session: Session) -> None:
    assert session.run("cat; echo end").stdout == b"end\n"


@pytest.mark.parametrize("size", [1, 65_537, 3_000_000])
def test_any_amount_of_stdin_reaches_the_program(session: Session, size: int) -> None:
    assert session.run("wc -c", stdin=b"x" * size).stdout.strip() == str(size).encode()


def test_stdin_that_is_never_read_does_no_harm(session: Session) -> None:
    outcome = session.run("echo done", stdin=b"x" * 5_000_000, timeout=20)
    assert (outcome.stdout, outcome.status) == (b"done\n", 0)


def test_much_output_on_both_streams_does_not_block(session: Session) -> None:
    code = "import sys\nfor _ in range(300): sys.stdout.write('o' * 5000); sys.stderr.write('e' * 5000)"
    outcome = session.run(f'python3 -S -c "{code}"', timeout=30)
    assert (len(outcome.stdout), len(outcome.stderr), outcome.cut) == (1_500_000, 1_500_000, ())


def test_a_timeout_ends_the_program_and_keeps_what_was_printed(session: Session) -> None:
    started = time.monotonic()
    outcome = session.run(f"echo before; exec sleep 61.{OWN}", timeout=0.4)
    assert time.monotonic() - started < 10
    assert (outcome.timed_out, outcome.status, outcome.stdout) == (True, -1, b"before\n")
    assert 0.4 <= outcome.wall_s < 10
    assert alive(f"61.{OWN}") == []


def test_a_timeout_ends_programs_that_ignore_every_signal(session: Session) -> None:
    code = f"import signal, time\nfor n in range(1, 32):\n  n in (9, 19) or signal.signal(n, signal.SIG_IGN)\ntime.sleep(62.{OWN})"
    outcome = session.run(f'python3 -S -c "{code}"', timeout=0.5)
    assert outcome.timed_out
    assert alive(f"62.{OWN}") == []


@pytest.mark.parametrize(
    "line",
    [
        "sleep 63.OWN &",
        "setsid sleep 63.OWN > /dev/null 2>&1 &",
        "(setsid sh -c 'trap \"\" HUP TERM INT; sleep 63.OWN' &) ; true",
        "nohup sleep 63.OWN > /dev/null 2>&1 &",
        'python3 -S -c "import os, time\nif os.fork() == 0:\n  os.setsid()\n  if os.fork() == 0: time.sleep(63.OWN)"',
    ],
)
def test_nothing_that_a_program_started_outlives_it(session: Session, line: str) -> None:
    started = time.monotonic()
    outcome = session.run(line.replace("OWN", OWN) + "\necho over", timeout=30)
    # A child that holds the pipe open does not prolong the case: it ends when its main process does.
    assert time.monotonic() - started < 15
    assert outcome.stdout.endswith(b"over\n")
    assert alive(f"63.{OWN}") == []


def test_wall_time_cpu_time_and_memory_are_measured_apart(session: Session) -> None:
    busy = session.run("python3 -S -c 'x = bytearray(60 << 20); n = 0\nfor i in range(3000000): n += i'")
    idle = session.run("sleep 0.3")
    assert busy.cpu_s > 0.05
    assert busy.peak_memory > 60 << 20
    assert idle.wall_s >= 0.3
    assert idle.cpu_s < 0.2


def test_the_environment_is_what_was_configured_and_nothing_of_the_host(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOST_ONLY", "secret")
    lines = session.run("env", env={"MODE": "test", "SPACED": "a b"}).stdout.decode().splitlines()
    env = dict(line.split("=", 1) for line in lines)
    assert (env["MODE"], env["SPACED"], env["LANG"]) == ("test", "a b", "C.UTF-8")
    assert (env["HOME"], env["TMPDIR"]) == (session.layout.home, session.layout.tmp)
    assert "HOST_ONLY" not in env


def test_home_and_tmp_are_private_writable_and_empty(session: Session) -> None:
    outcome = session.run('ls -A "$HOME" "$TMPDIR" | grep -v :; touch "$HOME/h" "$TMPDIR/t" && echo written')
    assert outcome.stdout.decode().split() == ["written"]
    session.restore()
    assert session.run('ls -A "$HOME" "$TMPDIR" | grep -v :').stdout.strip() == b""


def test_files_put_into_the_workspace_are_seen_and_files_written_come_out(session: Session) -> None:
    from slop_code.execution.file_ops import InputFile, collect_tracked_files, write_input_files

    inputs = [InputFile(path=Path("in/data.txt"), content="given", file_type="text")]
    write_input_files(session.workspace, inputs, owner=session.owner)
    outcome = session.run("cat in/data.txt; echo more >> in/data.txt; mkdir out; echo made > out/new.txt")
    assert (outcome.stdout, outcome.stderr) == (b"given", b"")
    files = collect_tracked_files(session.workspace, ["in/data.txt", "out/"]).files
    assert files == {"in/data.txt": "givenmore\n", "out/new.txt": "made\n"}


def test_links_with_the_workspaces_own_path_are_followed(session: Session) -> None:
    from slop_code.execution.file_ops import collect_tracked_files

    session.run('echo x > real.txt; ln -s "$PWD/real.txt" linked.txt; ln -s /etc/passwd outside.txt')
    found = collect_tracked_files(session.workspace, ["linked.txt", "outside.txt"], seen_as=session.layout.workspace)
    assert found.files == {"linked.txt": "x\n"}


def test_a_restored_workspace_is_fresh_whatever_was_done_to_it(session: Session) -> None:
    session.run(
        "echo changed > main.py; rm tool.sh link; mkdir -p new/deep; echo x > new/deep/f; rmdir empty; "
        "chmod 000 new/deep; touch empty; ln -s / root; mkfifo pipe; chmod 777 ."
    )
    session.restore()
    listing = session.run("ls -lA | awk 'NR > 1 { print $1, $NF }'; cat main.py").stdout.decode().splitlines()
    assert listing == [
        "drwxr-xr-x empty",
        "lrwxrwxrwx main.py",
        "-rw-r--r-- main.py",
        "-rwxr-xr-x tool.sh",
        "print('hello')",
    ]


def test_a_file_changed_in_place_at_once_is_restored(session: Session) -> None:
    for _ in range(5):
        session.restore()
        session.run("printf \"print('HELLO')\\n\" > main.py")
        session.restore()
        assert (session.workspace / "main.py").read_text() == "print('hello')\n"


def test_a_workspace_that_was_removed_or_replaced_comes_back(session: Session) -> None:
    session.run('cd /; rm -rf "$OLDPWD"/* "$OLDPWD"/.[a-z]*', env={"OLDPWD": session.layout.workspace})
    session.restore()
    assert session.run("python3 main.py").stdout == b"hello\n"


def test_without_a_restore_the_next_command_finds_what_the_last_one_left(session: Session) -> None:
    session.run('echo kept > state; echo too > "$HOME/state"')
    assert session.run('cat state "$HOME/state"').stdout == b"kept\ntoo\n"


def test_assets_are_readable_and_not_writable_at_a_neutral_path(session: Session, assets: Path) -> None:
    root = session.layout.assets
    assert session.run(f"cat {root}/rates/rates.json").stdout == b"{}"
    if root != str(assets):
        assert session.run(f"echo x > {root}/rates/rates.json").status != 0


def test_a_server_is_reached_and_ended_with_its_last_words(session: Session) -> None:
    port = session.free_port()
    code = (
        "import http.server, sys\nprint('starting', flush=True)\n"
        f"http.server.HTTPServer(('127.0.0.1', {port}), http.server.SimpleHTTPRequestHandler).serve_forever()"
    )
    session.start(f'exec python3 -S -c "{code}"')
    deadline = time.monotonic() + 20
    while True:
        try:
            connection = session.connect("127.0.0.1", port, 1)
            break
        except OSError:
            assert time.monotonic() < deadline
            assert session.ended() is None
    with connection:
        connection.sendall(b"GET /main.py HTTP/1.0\r\n\r\n")
        answer = b""
        while chunk := connection.recv(65536):
            answer += chunk
    assert answer.endswith(b"print('hello')\n")
    assert session.ended() is None
    outcome = session.stop()
    assert outcome.status == -9
    assert outcome.stdout == b"starting\n"
    assert b"GET /main.py" in outcome.stderr
    with pytest.raises(OSError):
        session.connect("127.0.0.1", port, 1)


@pytest.mark.parametrize("kind", DRIVERS[1:])
def test_two_servers_may_have_the_same_port_at_once(kind: str, submission: Path) -> None:
    with opened(kind, submission) as first, opened(kind, submission) as second:
        for name, session in (("first", first), ("second", second)):
            code = (
                "import socket; s = socket.create_server(('127.0.0.1', 8000))\n"
                f"while True: c, _ = s.accept(); c.sendall(b'{name}'); c.close()"
            )
            session.start(f'exec python3 -S -c "{code}"')
        for name, session in (("first", first), ("second", second)):
            deadline = time.monotonic() + 20
            while True:
                try:
                    connection = session.connect("127.0.0.1", 8000, 1)
                    break
                except OSError:
                    assert time.monotonic() < deadline
            with connection:
                assert connection.recv(100) == name.encode()


def test_a_server_that_ends_by_itself_is_noticed(session: Session) -> None:
    session.start("echo broken >&2; exit 3")
    deadline = time.monotonic() + 20
    while (outcome := session.ended()) is None:
        assert time.monotonic() < deadline
    assert (outcome.status, outcome.stderr) == (3, b"broken\n")
    assert session.stop().status == 3


def test_nobody_listening_is_an_os_error(session: Session) -> None:
    session.start(f"exec sleep 64.{OWN}")
    with pytest.raises(OSError):
        session.connect("127.0.0.1", 9, 1)
    session.stop()
    assert alive(f"64.{OWN}") == []


@pytest.mark.parametrize("kind", DRIVERS)
def test_limits_hold(kind: str, submission: Path) -> None:
    limits = {"memory_mb": 300, "processes": 40, "file_size_mb": 1, "open_files": 50, "output_mb": 0.01}
    with opened(kind, submission, limits=limits) as session:
        flood = session.run("yes", timeout=0.5)
        assert (len(flood.stdout), flood.cut) == (int(0.01 * (1 << 20)), ("stdout",))
        hungry = session.run("python3 -S -c 'x = bytearray(2000 << 20); print(len(x))'", timeout=30)
        assert hungry.status != 0
        assert hungry.stdout == b""
        large = session.run("head -c 3000000 /dev/zero > big; wc -c < big", timeout=30)
        assert int(large.stdout) <= 1 << 20
        many = session.run(
            "python3 -S -c \"files = []\ntry:\n  while True: files.append(open('main.py'))\nexcept OSError: print(len(files))\""
        )
        assert int(many.stdout) < 50
        bomb = session.run("bomb() { bomb | bomb & }; bomb; sleep 0.5; echo survived", timeout=20)
        assert bomb.wall_s < 20
        assert session.run("echo still here").stdout == b"still here\n"


@pytest.mark.parametrize("kind", DRIVERS)
def test_processes_that_the_kernel_spared_end_with_the_one_that_it_ended(kind: str, submission: Path) -> None:
    # Each of the two may have its memory, both may not; one of them alone has enough.
    one = "python3 -S -c 'import time; x = bytearray(b\"x\") * (110 << 20); time.sleep(60)'"
    with opened(kind, submission, limits={"memory_mb": 150}) as session:
        outcome = session.run(f"{one} & {one} & wait", timeout=50)
        assert (outcome.note, outcome.timed_out) == ("more than 150 MiB of memory", False)
        assert session.run("echo on").stdout == b"on\n"


@pytest.mark.parametrize("kind", DRIVERS)
def test_sessions_run_at_the_same_time_without_seeing_each_other(kind: str, submission: Path) -> None:
    results: dict[int, bytes] = {}

    def work(number: int) -> None:
        with opened(kind, submission) as session:
            session.run(f"echo {number} > mine; sleep 0.2")
            results[number] = session.run("cat mine").stdout

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == {number: f"{number}\n".encode() for number in range(3)}


@pytest.mark.parametrize("kind", DRIVERS)
def test_closing_ends_what_runs_and_leaves_no_folder(kind: str, submission: Path) -> None:
    with opened(kind, submission) as session:
        folder = session.folder
        outcomes: list[object] = []

        def run() -> None:
            try:
                outcomes.append(session.run(f"sleep 65.{OWN}"))
            except ExecutionError as error:
                outcomes.append(error)

        thread = threading.Thread(target=run)
        thread.start()
        while not alive(f"65.{OWN}"):
            assert thread.is_alive()
        session.close()
        thread.join(20)
        assert isinstance(outcomes[0], ExecutionError)
    assert alive(f"65.{OWN}") == []
    assert not folder.exists()


@pytest.mark.parametrize("kind", DRIVERS)
def test_the_submissions_own_folder_is_never_touched(kind: str, submission: Path) -> None:
    before = {path: path.lstat().st_ctime_ns for path in [submission, *submission.rglob("*")]}
    with opened(kind, submission, setup={"commands": ["echo made > made.txt"], "network": False}) as session:
        assert session.run("cat made.txt").stdout == b"made\n"
        session.run("rm -rf *")
    assert {path: path.lstat().st_ctime_ns for path in [submission, *submission.rglob("*")]} == before
