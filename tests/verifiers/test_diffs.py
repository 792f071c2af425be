"""The guide's four diff styles as library functions, and `text_diff`."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.verifiers.diffs import line_diff, simple_diff, text_diff, unified_diff, visual_diff
from slop_code.evaluation.verifiers.text_excerpt import first_difference

STYLES = [simple_diff, line_diff, visual_diff, text_diff]
LINES = st.lists(st.text("ab \t\r\u200b\u00a0é", max_size=3), max_size=5)
TEXTS = st.tuples(LINES, st.booleans()).map(lambda drawn: "\n".join(drawn[0]) + "\n" * drawn[1])


@pytest.mark.parametrize("diff", STYLES)
@pytest.mark.parametrize("value", ["", "a\nb\n", 5, None, b"\xff", {"a": 1}])
def test_equal_values_match(diff: Any, value: Any) -> None:
    assert diff(value, value) == "✓ Match"


def test_a_unified_diff_of_equal_texts_is_empty() -> None:
    assert unified_diff("a\n", "a\n") == ""


@given(TEXTS, TEXTS)
def test_only_equal_texts_match(one: str, other: str) -> None:
    for diff in STYLES:
        assert (diff(one, other) == "✓ Match") == (one == other)
    assert (unified_diff(one, other) == "") == (one == other)


def test_a_simple_diff_shows_both() -> None:
    assert simple_diff("a", "b") == "Expected:\na\n\nActual:\nb"
    assert simple_diff(1, None) == "Expected:\n1\n\nActual:\nNone"


def test_a_line_diff_names_each_line_that_differs() -> None:
    assert line_diff("a\nb\nc", "a\nx\ny") == "Line 2: 'b' != 'x'\nLine 3: 'c' != 'y'"


def test_a_line_diff_names_missing_and_unexpected_lines() -> None:
    assert line_diff("a\nb", "a") == "Line 2: missing 'b'"
    assert line_diff("a", "a\nb") == "Line 2: unexpected 'b'"
    assert line_diff("a", "a\n\n") == "Line 2: unexpected ''"


@pytest.mark.parametrize("diff", [line_diff, visual_diff])
def test_a_difference_in_line_ends_is_told(diff: Any) -> None:
    assert "no newline at the end" in diff("a\nb\n", "a\nb")
    assert "␍" in diff("a\r\nb\n", "a\nb\n")


def test_a_unified_diff_is_like_gits() -> None:
    assert unified_diff("a\nb\nc\n", "a\nx\nc\n") == "--- expected\n+++ actual\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"
    assert unified_diff("a\n", "b\n", "old", "new").startswith("--- old\n+++ new\n")


def test_a_unified_diff_tells_a_missing_final_newline() -> None:
    assert unified_diff("a\n", "a").endswith("-a\n+a\n\\ No newline at end of file\n")


def test_a_visual_diff_shows_every_line() -> None:
    assert visual_diff("a\nb\nc\n", "a\nx\nc\nd\n") == "  a\n- b\n+ x\n  c\n+ d"


def test_a_text_diff_shows_the_first_difference_with_its_neighbourhood() -> None:
    expected = "one\ntwo\nthree\nfour five\nsix\nseven\neight\n"
    assert text_diff(expected, expected.replace("five", "fire")) == "\n".join(
        [
            'Line 4, column 8: expected "v", got "r"',
            "  2 | two⏎",
            "  3 | three⏎",
            "- 4 | four five⏎",
            "+ 4 | four fire⏎",
            "             ^",
            "  5 | six⏎",
            "  6 | seven⏎",
        ]
    )


@pytest.mark.parametrize(
    ("expected", "actual", "shown"),
    [
        ("a\tb", "a b", "a→b"),
        ("a b", "a\tb", "a→b"),
        ("a\r\n", "a\n", "a␍⏎"),
        ("a  \n", "a\n", "a··⏎"),
        ("a\u00a0b", "a b", "a<U+00A0>b"),
        ("a\u200bb", "ab", "a<U+200B>b"),
        ("\ufeffa", "a", "<U+FEFF>a"),
        ("a\x00", "a", "a<U+0000>"),
        ("\x1b[31ma", "a", "<U+001B>[31ma"),
    ],
)
def test_a_text_diff_makes_invisible_characters_visible(expected: str, actual: str, shown: str) -> None:
    assert shown in text_diff(expected, actual)


def test_a_text_diff_names_characters_that_look_alike() -> None:
    assert "cyrillic small letter a" in text_diff("a", "\u0430")
    assert "no-break space" in text_diff("a b", "a\u00a0b")


@pytest.mark.parametrize(
    ("expected", "actual", "told"),
    [
        ("a\n", "a", "expected the end of the line, got the end of the text"),
        ("a", "a\n", "expected the end of the text, got the end of the line"),
        ("a\n", "", 'expected "a", got the end of the text'),
        ("", "a", 'expected the end of the text, got "a"'),
        ("a\n", "a\nb\n", 'Line 2, column 1: expected the end of the text, got "b"'),
    ],
)
def test_a_missing_end_is_obvious(expected: str, actual: str, told: str) -> None:
    assert told in text_diff(expected, actual)


def test_a_text_diff_of_a_long_line_shows_the_part_that_differs() -> None:
    shown = text_diff("x" * 5000 + "A" + "y" * 5000, "x" * 5000 + "B" + "y" * 5000)
    header, wanted, found, caret = shown.splitlines()
    assert header.startswith("Line 1, column 5001")
    assert wanted[caret.index("^")] == "A"
    assert found[caret.index("^")] == "B"
    assert len(shown) < 600


def test_a_text_diff_tells_types_apart() -> None:
    assert "expected str, got int" in text_diff("5", 5)


@given(st.text("ab", max_size=40), st.text("ab", max_size=40))
def test_the_first_difference_is_the_end_of_the_common_beginning(one: str, other: str) -> None:
    at = first_difference(one, other)
    assert one[:at] == other[:at]
    assert one[at : at + 1] != other[at : at + 1] or one == other


@pytest.mark.parametrize(("piece", "count"), [("some line of text\n", 2_000_000), ("x", 30_000_000)])
def test_texts_of_any_size_are_compared_in_little_time_and_space(piece: str, count: int) -> None:
    text = piece * count
    other = text[:-3] + "!" + text[-2:]
    for diff in (text_diff, simple_diff, unified_diff):
        start = time.process_time()
        assert len(diff(text, other)) < 50_000
        assert time.process_time() - start < 3


@pytest.mark.parametrize("diff", [line_diff, unified_diff, visual_diff])
def test_long_diffs_are_cut_and_say_so(diff: Any) -> None:
    shown = diff("a\n" * 3000, "b\n" * 3000)
    assert len(shown.splitlines()) <= 1001
    assert "cut" in shown
    assert len(diff("a" * 100_000 + "\nx", "a" * 100_000 + "b\nx").encode()) < 300_000
