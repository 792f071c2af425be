"""The summary after a run."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slop_code.cli.differences import explain
from slop_code.cli.styling import Paint, columns, one_line, seconds
from slop_code.cli.summary import summary
from slop_code.evaluation.verifiers.verifiers import deepdiff_verify
from tests.reports.make import line, report, results, two_groups

COLOURS = Paint(colours=True)


def test_groups_then_cases_then_one_line_then_the_command() -> None:
    text = summary(two_groups(), prepare_s=0.25, rerun="slop-code again", width=100)
    assert (
        text
        == """\
group   type   passed  score    time
core    Core      1/2   0.75  1.50 s
errors  Error     0/2   0.00  2.50 s

FAILED core/wrong  (score 0.50)
  output: a: 1

TIMED OUT errors/late  (score 0.00, 2.00 s)
  output:
    Line 1, column 1: expected "b", got "a"
    - 1 | b  (no newline at the end)
    + 1 | a  (no newline at the end)
          ^

ERROR errors/lost
  verifier.py:3: KeyError: 'x'
      x['x']

1 of 4 passed, 1 failed, 1 timed out, 1 could not be judged, score 0.50, 4.25 s (prepare 0.25 s, run 2.00 s, verify 2.00 s)
run these again: slop-code again"""
    )


def test_when_all_passed_there_is_nothing_to_run_again() -> None:
    made = results(duration=1.0)
    made.add_group_report("core", "Core", 1.0, [report()])
    text = summary(made, rerun="slop-code again")
    assert text.endswith("\n\n1 of 1 passed, score 1.00, 1.00 s (run 0.00 s, verify 0.50 s)")


def test_many_failures_are_counted_and_not_shown() -> None:
    made = results()
    failures = [report(f"case_{number}", line(is_correct=False)) for number in range(47)]
    made.add_group_report("core", "Core", 1.0, failures)
    text = summary(made)
    assert text.count("FAILED") == 10
    assert "\nand 37 more\n" in text


def test_reports_may_be_read_from_elsewhere() -> None:
    made = two_groups()
    lazily = iter(made.reports)
    made = made.model_copy(update={"reports": []})
    assert summary(made, reports=lazily).startswith(summary(two_groups())[:200])


def test_an_interrupted_run_is_incomplete() -> None:
    assert "\nincomplete: 1 of 4 passed" in summary(two_groups().model_copy(update={"complete": False}))


@pytest.mark.parametrize("width", [40, 60, 160])
def test_no_line_of_a_case_is_wider_than_the_terminal(width: int) -> None:
    wide = report(
        "名前" * 100,
        line(is_correct=False, expected="x" * 5_000 + "\n" + "日本" * 300, actual="x" * 5_000 + "\n" + "é" * 300),
        line("stderr", None, actual="a\tb " * 4_000),
    )
    made = results()
    made.add_group_report("group" * 30, "Core", 1.0, [wide.model_copy(update={"group": "group" * 30})])
    *lines, _ = summary(made, width=width).split("\n")
    assert max(columns(text) for text in lines) <= width


def test_an_error_is_left_whole_so_that_it_can_be_searched_for() -> None:
    error = f"{'a/long/path/' * 20}verifier.py:3: KeyError: 'x'"
    assert explain(report("a", error=error), 60)[0] == error


def test_colours_change_nothing_but_colours() -> None:
    plain = summary(two_groups())
    coloured = summary(two_groups(), paint=COLOURS)
    assert plain != coloured
    assert re.sub(r"\x1b\[\d+m", "", coloured) == plain


HOSTILE = "\x1b[2J\x1b]0;t\x07\x00\x9b31m\u202e\u200b\ud800\r"


@pytest.mark.parametrize(
    "hostile",
    [
        report(f"id{HOSTILE}", line(is_correct=False)),
        report("a", line(f"attribute{HOSTILE}", False)),
        report("a", line(is_correct=False, diff=HOSTILE)),
        report("a", line(is_correct=False, diff={HOSTILE: HOSTILE})),
        report("a", line(is_correct=False, expected=HOSTILE, actual="x")),
        report("a", line("status_code", False, expected=HOSTILE)),
        report("a", line(is_correct=False), line("stderr", None, actual=HOSTILE)),
        report("a", error=HOSTILE),
        report("a", line(is_correct=False), warnings=[HOSTILE]),
        report("a", line(is_correct=False), group=f"g{HOSTILE}"),
    ],
)
def test_nothing_hostile_gets_through(hostile: Any) -> None:
    made = results(setup_failures=[HOSTILE])
    made.add_group_report(hostile.group, "Core", 1.0, [hostile])
    text = summary(made)
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u200b-\u200f\u202a-\u202e\ud800-\udfff]", text)
    assert "<U+001B>[2J" in text


def test_ten_megabytes_on_one_line_take_no_time() -> None:
    huge = report(
        "a",
        line(is_correct=False, expected="y" * 10_000_000, actual="y" * 9_999_999 + "z"),
        line("stderr", None, actual="z" * 10_000_000),
        error="w" * 10_000_000,
    )
    assert len("\n".join(explain(huge, 80))) < 5_000


@pytest.mark.parametrize(
    ("actual", "expected", "lines"),
    [
        ({"a": 1}, {"a": 2}, ["output: ['a']: expected 2, got 1"]),
        ({"a": 1}, {"a": 1, "b": 5}, ["output: ['b']: missing"]),
        ([1, 2], [1], ["output: [1]: unexpected 2"]),
        ([1], ["1"], ['output: [0]: expected "1", got 1']),
        (None, {"a": 1}, ['output: expected {"a": 1}, got null']),
        ("x\ny", "x\nz", ["output:", '  Line 2, column 1: expected "z", got "y"']),
    ],
)
def test_the_diffs_of_deepdiff_are_readable(actual: Any, expected: Any, lines: list[str]) -> None:
    verdict = deepdiff_verify(actual, expected, ignore_numeric_type_changes=False, ignore_string_type_changes=False)
    case = report("a", line(is_correct=False, actual=actual, expected=expected, diff=verdict.diff))
    assert explain(case, 100)[: len(lines)] == lines


def test_a_difference_of_one_line_leaves_room_for_the_next() -> None:
    wrong = report(
        "a",
        line("status_code", False, expected=0, actual=2),
        line("output", False, diff="one\ntwo\nthree"),
        line("files-x", False, diff="not shown"),
    )
    assert explain(wrong, 80) == [
        "status_code: expected 0, got 2",
        "output:",
        "  one",
        "  two",
        "  three",
        "also wrong: files-x",
    ]


def test_nothing_verified_is_said() -> None:
    assert explain(report("a", line(is_correct=None)), 80) == ["nothing was verified"]


@pytest.mark.parametrize(
    ("value", "text"),
    [(0.034, "0.03 s"), (9.999, "10.0 s"), (61.04, "61.0 s"), (185, "3 min 05 s"), (7_300, "2 h 01 min")],
)
def test_times_are_readable(value: float, text: str) -> None:
    assert seconds(value) == text


def test_a_line_is_cut_by_columns() -> None:
    assert one_line("abc", 3) == "abc"
    assert one_line("abcd", 3) == "ab…"
    assert one_line("日本語", 5) == "日本…"
    assert one_line("a\nb", 5) == "a⏎b"


def test_what_a_start_is_said_to_lack_is_not_said_again_by_stderr() -> None:
    start = line("start", diff="the server did not become ready", actual=None, expected=None, is_correct=False)
    stderr = line("stderr", actual="the server did not become ready\nlast words", expected=None, is_correct=None)
    lines = explain(report("a", start, stderr), 100)
    assert lines == ["start: the server did not become ready", "stderr:", "  last words"]
