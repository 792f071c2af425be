"""`tools run-case`: what goes to stdout and what to stderr, whatever programs and authors print, and however it ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.small_problem import small_problem
from tests.cli.terminal import on_terminal

NOISY_LOADER = """
import ctypes, os, subprocess, sys
os.write(1, b"written to descriptor 1\\n")
subprocess.run(["echo", "printed by a subprocess"])
print("printed while importing")
ctypes.CDLL(None).puts(b"printed by C")
ctypes.CDLL(None).fflush(None)

from slop_code.evaluation.loaders import BaseLoader

class Loader(BaseLoader):
    def __call__(self, group, store):
        sys.__stdout__.write("printed past us\\n")
        sys.__stdout__.flush()
        os.system("echo printed by a shell")
        yield {"id": "a"}, {"output": "x"}
"""
NOISY_VERIFIER = """
import os
from slop_code.evaluation.verifiers import VerificationResult

class Verifier:
    def __init__(self, config): ...
    def __call__(self, group_name, case_name, actual, expected):
        os.system("echo printed by the verifier")
        return {"output": VerificationResult.create("", actual.output == expected.output)}
"""
HOSTILE = r"""
printf '\033[2J\033[31mred\033]0;title\007\000end\r' >&2
printf '\033[1A\033[2K\342\200\256evil'
"""


def test_nothing_that_authors_print_reaches_stdout(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"/loader.py": NOISY_LOADER, "/verifier.py": NOISY_VERIFIER}, "printf x\n")
    done = problem.run()
    assert (done.code, done.outcomes) == (0, {"core/a": True})
    for line in ("written to descriptor 1", "printed by a subprocess", "printed while importing", "printed by C"):
        assert line in done.stderr
    for line in ("printed past us", "printed by a shell", "printed by the verifier"):
        assert line in done.stderr
    listed = problem.run("--list")
    assert (listed.code, listed.cases) == (0, [{"id": "a", "group": "core"}])


def test_hostile_output_is_shown_and_never_sent(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"core/a.yaml": "expected: {output: x}\n"}, HOSTILE)
    shown = on_terminal(problem.command(), cwd=tmp_path, env=problem.env)
    assert shown.code == 1
    text = "\n".join(shown.screen)  # which raises for what it does not know
    for bad in ("\x1b[2J", "\x1b]0;", "\x07", "\x00", "\u202e"):
        assert bad not in shown.sent
    for sign in ("<U+001B>[2J", "<U+001B>]0;title<U+0007><U+0000>end␍", "<U+202E>evil"):
        assert sign in text
    table = problem.run("--format", "table")
    assert table.code == 1
    assert "<U+001B>[2J" in table.stdout
    assert "\x1b" not in table.stdout + table.stderr


def test_an_endless_line_is_cut_for_people_and_whole_for_machines(tmp_path: Path) -> None:
    program = "head -c 9000000 /dev/zero | tr '\\0' y; head -c 9000000 /dev/zero | tr '\\0' z >&2\n"
    problem = small_problem(tmp_path, {"core/a.yaml": 'expected: {output: "yyx"}\n'}, program)
    done = problem.run()
    assert done.code == 1
    assert len(done.cases[0]["results"]["output"]["actual"]) == 9_000_000
    assert max(map(len, done.stderr.splitlines())) <= 160
    assert "Line 1, column 3" in done.stderr


def test_a_table_is_what_was_asked_for_and_goes_to_stdout(tmp_path: Path) -> None:
    files = {"core/a.yaml": "expected: {output: x}\n", "core/b.yaml": "expected: {output: y}\n"}
    done = small_problem(tmp_path, files, "printf x\n").run("--format", "table")
    assert done.code == 1
    assert done.stdout.startswith("group  type  passed  score")
    assert "FAILED core/b  (score 0.00, " in done.stdout
    assert "1 of 2 passed, 1 failed, score 0.50, " in done.stdout
    assert done.stderr == "FAILED core/b\n"


def test_quiet_leaves_only_what_could_not_be_judged(tmp_path: Path) -> None:
    files = {"core/a.yaml": "expected: {output: y}\n", "core/b.yaml": "expected: {files: [{path: x, matches: '('}]}\n"}
    done = small_problem(tmp_path, files, "printf x > x\n", adapter={"type": "cli", "tracked_files": ["x"]}).run("-q")
    assert done.code == 3
    assert done.stderr.startswith("error: core/b: ")
    assert done.stderr.count("\n") == 1


def test_a_quiet_table_says_it_once(tmp_path: Path) -> None:
    files = {"core/b.yaml": "expected: {files: [{path: x, matches: '('}]}\n"}
    problem = small_problem(tmp_path, files, "printf x > x\n", adapter={"type": "cli", "tracked_files": ["x"]})
    done = problem.run("--format", "table", "-q")
    assert (done.code, done.stderr) == (3, "")
    assert done.stdout.count("ERROR core/b") == 1


def test_a_reader_that_goes_away_is_no_traceback(tmp_path: Path) -> None:
    cases = "".join(f"- {{name: case_{number}, expected: {{output: y}}}}\n" for number in range(40))
    problem = small_problem(tmp_path, {"core/a.yaml": cases}, "printf x\n")
    read, write = os.pipe()
    os.close(read)
    with subprocess.Popen(
        problem.command("-q"), cwd=tmp_path, env=problem.env, stdout=write, stderr=subprocess.PIPE, text=True
    ) as process:
        os.close(write)
        _, stderr = process.communicate()
    assert (process.returncode, stderr) == (1, "")


def test_a_closed_stdout_is_no_traceback(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"core/a.yaml": "expected: {output: x}\n"}, "printf x\n")
    line = '"$0" "$@" >&-'
    done = subprocess.run(
        ["sh", "-c", line, *problem.command("-q", cold=True)],
        cwd=tmp_path,
        env=problem.env,
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_stdout_is_utf_8_in_every_locale(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"core/a.yaml": "name: ü\nexpected: {output: x}\n"}, "printf x\n")
    done = problem.run(cold=True, LC_ALL="C", PYTHONIOENCODING="latin-1", PYTHONUTF8="0", PYTHONCOERCECLOCALE="0")
    assert done.cases[0]["id"] == "ü"


SLOW = 'case $1 in slow) echo started > "$2"; sleep 60;; *) printf x;; esac\n'


@pytest.mark.parametrize("signal_number", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_run_reports_what_is_finished(tmp_path: Path, signal_number: int) -> None:
    mark = tmp_path / "mark"
    os.mkfifo(mark)
    cases = f"- {{name: quick, expected: {{output: y}}}}\n- {{name: slow, argv: [slow, {mark}], expected: {{}}}}\n"
    problem = small_problem(tmp_path, {"core/a.yaml": cases}, SLOW)
    with subprocess.Popen(
        problem.command("--junit", "out.xml"),
        cwd=tmp_path,
        env=problem.env,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        mark.read_text()  # the slow case has begun
        assert process.stderr is not None
        assert process.stderr.readline() == "FAILED core/quick\n"
        process.send_signal(signal_number)
        stdout, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert [case["id"] for case in json.loads(stdout)] == ["quick"]
    assert "incomplete: 0 of 1 passed, 1 failed" in stderr
    assert stderr.endswith("interrupted\n")
    assert "Traceback" not in stderr
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "1"
    assert problem.run("--rerun-failed").outcomes == {"core/quick": False}


def test_fail_fast_and_kept_workspaces(tmp_path: Path) -> None:
    cases = "".join(f"- {{name: case_{number}, argv: [{number}], expected: {{output: x}}}}\n" for number in range(30))
    problem = small_problem(tmp_path, {"core/a.yaml": cases}, "echo $1 > left; sleep 0.05\n")
    done = problem.run("--fail-fast", "--jobs", "1", "--keep-workspaces", "kept")
    assert done.code == 1
    assert 1 <= len(done.cases) < 30
    assert "incomplete: 0 of " in done.stderr
    assert done.stderr.endswith("the files that they left are in kept\n")
    assert (tmp_path / "kept" / "core" / "case_0" / "left").read_text() == "0\n"


def test_confirm_failures_and_exclusive_reach_the_run(tmp_path: Path) -> None:
    program = f"test -e {tmp_path}/second || {{ touch {tmp_path}/second; exit 1; }}; printf x\n"
    problem = small_problem(tmp_path, {"core/a.yaml": "expected: {output: x}\n"}, program)
    done = problem.run("--confirm-failures", "--exclusive", "c*", "--full")
    assert (done.code, done.cases[0]["attempts"]) == (0, 2)


def test_junit_is_xml_whatever_was_printed(tmp_path: Path) -> None:
    files = {
        "core/a.yaml": "expected: {output: x}\n",
        "core/b.yaml": 'name: "b <&> \\x01"\nargv: [hostile]\nexpected: {output: x}\n',
        "errors/c.yaml": "argv: [slow]\ntimeout: 0.2\nexpected: {output: x}\n",
        "errors/d.yaml": "expected: {files: [{path: x, matches: '('}]}\n",
    }
    program = "case $1 in hostile) printf '\\033[31m]]>\\000\\357\\277\\277' ;; slow) sleep 20;; *) printf x; echo > x;; esac\n"
    problem = small_problem(
        tmp_path,
        files,
        program,
        groups={"core": {"type": "Core"}, "errors": {"type": "Error"}},
        adapter={"type": "cli", "tracked_files": ["x"]},
    )
    done = problem.run("--junit", "deep/out.xml", "-q")
    assert done.code == 3
    root = ElementTree.parse(tmp_path / "deep" / "out.xml").getroot()
    assert (root.tag, root.get("name")) == ("testsuites", "demo.one")
    assert [root.get(name) for name in ("tests", "failures", "errors", "skipped")] == ["4", "2", "1", "0"]
    core, errors = root.findall("testsuite")
    assert (core.get("name"), core.get("tests"), core.get("failures")) == ("core", "2", "1")
    passed, hostile = core.findall("testcase")
    assert (passed.get("classname"), passed.get("name"), len(passed)) == ("demo.one.core", "a", 0)
    assert float(passed.get("time") or -1) >= 0
    assert hostile.get("name") == "b <&> <U+0001>"
    failure = hostile.find("failure")
    assert failure is not None
    assert "<U+001B>[31m]]><U+0000><U+FFFF>" in (failure.text or "")
    late, lost = errors.findall("testcase")
    trouble = late.find("failure")
    assert trouble is not None
    assert trouble.get("type") == "timed out"
    assert lost.find("error") is not None
    assert list((tmp_path / "deep").iterdir()) == [tmp_path / "deep" / "out.xml"]


def test_a_junit_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"core/a.yaml": "expected: {output: x}\n"}, "printf x\n")
    done = problem.run("--junit", "sh.yaml/out.xml", "-q")
    assert done.code == 2
    assert done.stderr.startswith("error: sh.yaml/out.xml: cannot be written: ")
