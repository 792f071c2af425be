"""The display while cases run: live on terminals, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from slop_code.cli import progress
from slop_code.cli.progress import make_progress, plain_lines
from slop_code.cli.tally import Tally
from slop_code.evaluation.listening import RunLabel
from tests import warm
from tests.cli.small_problem import small_problem
from tests.cli.terminal import on_terminal
from tests.reports.make import line, report, results

ONE = RunLabel("ledger", "checkpoint_1", "submissions/one")
TWO = RunLabel("ledger", "checkpoint_2", "submissions/two")
RIGHT = report("right")
WRONG = report("wrong", line(is_correct=False))
# A program that goes through a run, with `word` on its stdout at the end.
SCRIPT = """
import sys, time
from slop_code.cli.console import note
from slop_code.cli.progress import make_progress
from tests.cli.test_progress import ONE, TWO, RIGHT, WRONG
with make_progress() as heard:
    {body}
print("word")
"""


def script(body: str, *, cold: bool = False) -> list[str]:
    lines = body.strip().replace("\n", "\n    ")
    python = [sys.executable, "-c"] if cold else warm.python()
    return [*python, SCRIPT.format(body=lines)]


GOING_ON = """
heard.preparing(ONE)
heard.prepared(ONE, 0.1, False)
heard.enumerated(ONE, "core", 8, True)
for number in range(4):
    heard.case_started(ONE, "core", "right")
    time.sleep(0.2)
    heard.case_finished(ONE, WRONG if number == 1 else RIGHT)
heard.case_started(ONE, "core", "evil\\x1b[2J")
note("something else")
time.sleep(0.6)
"""


def test_on_a_terminal_it_is_drawn_again_and_again_and_gone_at_the_end() -> None:
    shown = on_terminal(script(GOING_ON), width=90)
    assert (shown.code, shown.stdout) == (0, b"word\n")
    assert "4/8" in shown.sent
    assert re.search(r"3 passed.*1 failed.*left", shown.sent)
    assert re.search(r"0\.\d\d s  core/evil<U\+001B>\[2J", shown.sent)
    assert [text for text in shown.screen if text] == ["something else"]
    assert shown.sent.endswith("\x1b[?25h") or "\x1b[?25h" in shown.sent.rpartition("\x1b[?25l")[2]


def test_it_is_drawn_at_most_ten_times_a_second() -> None:
    shown = on_terminal(script(GOING_ON), width=90)
    # It takes a second and a half; each frame has the number of cases once.
    assert 2 <= shown.sent.count("/8") <= 17


def test_several_runs_have_a_line_each() -> None:
    body = """
heard.preparing(ONE)
heard.prepared(ONE, 0.1, False)
heard.enumerated(ONE, "core", 8, False)
heard.case_finished(ONE, RIGHT)
heard.preparing(TWO)
time.sleep(1)
"""
    sent = on_terminal(script(body), width=120).sent
    assert "0/2 runs" in sent
    assert "1/8+" in sent
    assert "ledger/checkpoint_1  1/8+  1 passed  submissions/one" in sent
    assert "ledger/checkpoint_2  preparing submissions/two" in sent


def test_without_colours_there_are_none() -> None:
    shown = on_terminal(script(GOING_ON), width=90, env={"NO_COLOR": "1"})
    assert "4/8" in shown.sent
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown.sent)


def test_a_quick_run_shows_nothing_and_does_not_load_rich() -> None:
    body = """
heard.preparing(ONE)
heard.case_finished(ONE, RIGHT)
assert "rich" not in sys.modules
"""
    assert on_terminal(script(body, cold=True)).sent == ""


@pytest.mark.parametrize("terminal", [True, False])
def test_plain_lines_without_control_characters_where_there_is_no_real_terminal(terminal: bool) -> None:
    if terminal:
        sent = on_terminal(script(GOING_ON), env={"TERM": "dumb"}).sent.replace("\r\n", "\n")
    else:
        sent = subprocess.run(script(GOING_ON), capture_output=True, text=True, check=True).stderr
    assert sent == "FAILED core/wrong\nsomething else\n"


def test_plain_counts_come_every_few_seconds(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(progress, "PLAIN_EVERY_S", 0.01)
    with make_progress() as heard:
        heard.preparing(ONE)
        heard.prepared(ONE, 0.1, True)
        heard.enumerated(ONE, "core", 3, True)
        heard.case_finished(ONE, RIGHT)
        said = ""
        give_up = time.monotonic() + 30
        while "1 of 3 cases, 1 passed, " not in said:
            said += capsys.readouterr().err
            assert time.monotonic() < give_up, said


def test_quiet_shows_nothing_and_still_counts(capsys: pytest.CaptureFixture[str]) -> None:
    with make_progress(quiet=True) as heard:
        heard.preparing(ONE)
        heard.prepared(ONE, 1.5, False)
        heard.case_finished(ONE, WRONG)
    assert (heard.prepared_s, heard.view().counts["failed"]) == (1.5, 1)
    assert capsys.readouterr().err == ""


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_what_is_left_is_estimated_from_what_is_done() -> None:
    clock = Clock()
    tally = Tally(clock=clock)
    tally.preparing(ONE)
    tally.prepared(ONE, 1.0, False)
    tally.enumerated(ONE, "core", 10, True)
    tally.case_started(ONE, "core", "slow")
    assert tally.view().left_s is None
    for _ in range(4):
        tally.case_started(ONE, "core", "right")
        clock.now += 2.0
        tally.case_finished(ONE, RIGHT)
    view = tally.view()
    assert (view.done, view.known, view.left_s) == (4, 10, 12.0)
    assert view.running == [(ONE, "core", "slow", 8.0)]
    assert plain_lines(view) == ["4 of 10 cases, 4 passed, 8.00 s, about 12.0 s left", "  running core/slow for 8.00 s"]


def test_the_longest_running_come_first_and_an_ended_run_leaves_none() -> None:
    clock = Clock()
    tally = Tally(clock=clock)
    for number in range(5):
        clock.now = float(number // 2)
        tally.case_started(ONE, "core", f"case_{number}")
    assert [case for _, _, case, _ in tally.view(most_running=3).running] == ["case_0", "case_1", "case_2"]
    tally.run_ended(ONE, results())
    assert tally.view().running == []
    assert (tally.view().runs_seen, tally.view().runs_ended) == (1, 1)


def test_cases_that_ran_only_for_their_state_are_gone_with_their_group() -> None:
    tally = Tally()
    tally.enumerated(ONE, "core", 1, True)
    tally.case_started(ONE, "core", "before")
    tally.case_started(ONE, "core", "right")
    tally.case_finished(ONE, RIGHT)
    assert tally.view().running == []


def test_runs_nobody_has_heard_of_yet_count_in_the_estimate() -> None:
    clock = Clock()
    tally = Tally(total_runs=3, clock=clock)
    tally.enumerated(ONE, "core", 4, True)
    tally.case_started(ONE, "core", "right")
    for _ in range(4):
        clock.now += 1.0
        tally.case_finished(ONE, RIGHT)
    assert tally.view().left_s == 8.0
    assert not tally.view().all_known


def test_thousands_of_calls_cost_little_while_somebody_looks() -> None:
    tally = Tally()
    ended = threading.Event()

    def look() -> None:
        while not ended.wait(0.1):
            tally.view()

    looking = threading.Thread(target=look)
    looking.start()
    started = time.process_time()
    for number in range(10_000):
        tally.case_started(ONE, "core", f"case_{number}")
        tally.case_finished(ONE, RIGHT)
    spent = time.process_time() - started
    ended.set()
    looking.join()
    assert spent < 1.0


def test_run_case_shows_it_on_a_terminal_and_keeps_stdout_clean(tmp_path: Path) -> None:
    problem = small_problem(tmp_path, {"core/slow.yaml": "expected: {output: x}\n"}, "sleep 1.2; printf x\n")
    shown = on_terminal(problem.command(), cwd=tmp_path, env=problem.env)
    assert shown.code == 0
    assert b'"passed": true' in shown.stdout
    assert b"\x1b" not in shown.stdout
    assert re.search(r" s  core/slow", shown.sent)
    assert shown.screen[0].startswith("group  type  passed")
    assert on_terminal(problem.command("-q"), cwd=tmp_path, env=problem.env).sent == ""
