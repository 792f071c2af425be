"""`deepdiff_verify`. Its verdict is DeepDiff's; its cost and its length are not."""

from __future__ import annotations

import json
import logging
import math
import random
import subprocess
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import pytest
from deepdiff import DeepDiff
from hypothesis import example, given

from slop_code.evaluation.verifiers import VerifierError, deep_comparison
from slop_code.evaluation.verifiers.comparison import differences
from slop_code.evaluation.verifiers.unordered import same_but_for_order, unmatched
from slop_code.evaluation.verifiers.verifiers import DEFAULT_DEEPDIFF_KWARGS, deepdiff_verify
from tests.verifiers.strategies import COMPARABLE, nearly_equal


def by_deepdiff(expected: Any, actual: Any, **options: Any) -> bool | None:
    """DeepDiff's own verdict, or None where it has none."""
    try:
        return not DeepDiff(expected, actual, **{**DEFAULT_DEEPDIFF_KWARGS, **options})
    except (OverflowError, UnicodeError):
        return None


def test_the_defaults_are_the_documented_ones() -> None:
    assert DEFAULT_DEEPDIFF_KWARGS == {
        "ignore_string_type_changes": True,
        "ignore_numeric_type_changes": True,
        "ignore_nan_inequality": True,
        "math_epsilon": 1e-6,
    }


@given(nearly_equal())
@example((1, True))
@example((True, 1.0000001))
@example((1.0000001, True))
@example((math.nan, float("nan")))
@example(({"__private": 1}, {}))
@example(([1.0, 1.0000001], [1.0000001, 1.0]))
@example(("é", "é".encode()))
@example(("a", b"a"))
@example(([], {}))
@example((10**17, 10**17 + 100))
def test_the_verdict_is_deepdiffs_for_nearly_equal_values(pair: tuple[Any, Any]) -> None:
    expected, actual = pair
    verdict = by_deepdiff(expected, actual)
    assert verdict is None or deepdiff_verify(actual, expected).is_correct == verdict


@given(nearly_equal())
def test_our_own_comparison_alone_gives_deepdiffs_verdict(pair: tuple[Any, Any]) -> None:
    expected, actual = pair
    verdict = by_deepdiff(expected, actual)
    assert verdict is None or (next(differences(expected, actual, 1e-6), None) is None) == verdict


@given(COMPARABLE, COMPARABLE)
def test_the_verdict_is_deepdiffs_for_any_two_values(expected: Any, actual: Any) -> None:
    verdict = by_deepdiff(expected, actual)
    assert verdict is None or deepdiff_verify(actual, expected).is_correct == verdict


@given(nearly_equal())
def test_the_verdict_is_deepdiffs_without_regard_to_order(pair: tuple[Any, Any]) -> None:
    expected, actual = pair
    verdict = by_deepdiff(expected, actual, ignore_order=True)
    if verdict is not None:
        assert deepdiff_verify(actual, expected, ignore_order=True).is_correct == verdict
        assert verdict or not same_but_for_order(expected, actual)
        assert not verdict or not unmatched(expected, actual, 1e-6, 5)[0]


@pytest.mark.parametrize("epsilon", [0, 1e-3, 10])
def test_a_given_epsilon_counts(epsilon: float) -> None:
    for gap in (1e-4, 1, 20):
        expected = by_deepdiff([1.0], [1.0 + gap], math_epsilon=epsilon)
        assert deepdiff_verify([1.0 + gap], [1.0], math_epsilon=epsilon).is_correct == expected


def test_options_of_deepdiff_are_passed_on() -> None:
    assert deepdiff_verify({"a": 1, "b": 2}, {"a": 1, "b": 3}, exclude_paths=["root['b']"]).is_correct
    assert deepdiff_verify("ABC", "abc", ignore_string_case=True).is_correct
    assert not deepdiff_verify(1, 1.0, ignore_numeric_type_changes=False).is_correct
    assert not deepdiff_verify([1, 1, 2], [1, 2], ignore_order=True, report_repetition=True).is_correct
    assert deepdiff_verify([1, 1, 2], [1, 2], ignore_order=True).is_correct
    assert deepdiff_verify({2, 1}, {1, 2}).is_correct
    assert deepdiff_verify(Decimal("1.0"), 1).is_correct


@pytest.mark.parametrize(("actual", "expected"), [(1, 1), (1, 2)])
def test_an_unknown_option_is_an_error_even_if_the_values_are_equal(actual: int, expected: int) -> None:
    with pytest.raises(VerifierError, match="ignore_ordr"):
        deepdiff_verify(actual, expected, ignore_ordr=True)


def test_the_diff_has_deepdiffs_shape_with_expected_as_old() -> None:
    assert deepdiff_verify(actual="b", expected="a").diff == {
        "values_changed": {"root": {"new_value": "b", "old_value": "a"}}
    }
    wanted, found = {"a": [1, 2], "b": "x", "c": None}, {"a": [1, 3, 4], "b": 5, "d": True}
    diff = DeepDiff(wanted, found, **DEFAULT_DEEPDIFF_KWARGS)
    assert deepdiff_verify(found, wanted).diff == json.loads(diff.to_json())


def test_equal_values_give_an_empty_diff_and_the_weight() -> None:
    result = deepdiff_verify([1, {"a": "x"}], [1, {"a": "x"}], 0.25)
    assert (result.diff, result.is_correct, result.weight) == ({}, True, 0.25)


def test_equal_plain_values_do_not_pay_for_a_diff() -> None:
    code = """
import sys
from slop_code.evaluation.verifiers import deepdiff_verify
rows = [{"id": n, "x": n / 3, "t": "é", "b": b"x", "n": None, "o": True} for n in range(50)]
assert deepdiff_verify(rows, [dict(row) for row in rows]).is_correct
assert deepdiff_verify(rows[::-1], rows, ignore_order=True).is_correct
assert deepdiff_verify([1.0, float("nan"), True], [1, float("nan"), 1], weight=2).is_correct
assert "deepdiff" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def rows() -> list[dict[str, Any]]:
    return [{"id": n, "name": f"name {n}", "value": n / 7} for n in range(20_000)]


# Made when they are needed: each process of the tests, and each fork of it, would hold them all.
LARGE: dict[str, tuple[Callable[[], tuple[Any, Any]], dict[str, Any], bool]] = {
    "all items differ": (lambda: (list(range(100_000)), list(range(1, 100_001))), {}, False),
    "integers for floats": (lambda: (list(range(100_000)), [float(n) for n in range(100_000)]), {}, True),
    "the last of many rows": (lambda: (rows(), [*rows()[:-1], {**rows()[-1], "value": 0}]), {}, False),
    "within epsilon": (lambda: ([n / 7 for n in range(20_000)], [n / 7 + 1e-7 for n in range(20_000)]), {}, True),
    "long text": (lambda: ("some line\n" * 500_000 + "x", "some line\n" * 500_000 + "y"), {}, False),
    "rows in another order": (lambda: (random.Random(1).sample(rows(), 20_000), rows()), {"ignore_order": True}, True),
    "half of the items": (lambda: (list(range(20_000)), list(range(10_000, 30_000))), {"ignore_order": True}, False),
    "an item too many": (lambda: (list(range(20_000)), list(range(19_999))), {"ignore_order": True}, False),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_values_are_judged_exactly_in_bounded_time_and_size(name: str) -> None:
    make, options, verdict = LARGE[name]
    actual, expected = make()
    start = time.process_time()
    result = deepdiff_verify(actual, expected, **options)
    assert time.process_time() - start < 15  # seconds of a slow machine, where DeepDiff takes minutes
    assert result.is_correct is verdict
    assert len(json.dumps(result.diff)) < 250_000


def test_a_diff_that_was_cut_says_so() -> None:
    many = deepdiff_verify(list(range(1, 5001)), list(range(5000))).diff
    assert len(many["values_changed"]) == 100
    assert "100" in many["cut"]
    long = deepdiff_verify("x" * 300_000, "y" * 300_000).diff
    assert "cut: 1000 of 300000 characters shown" in long["values_changed"]["root"]["new_value"]
    assert "cut" in long


def test_a_diff_that_was_not_cut_does_not_say_so() -> None:
    assert "cut" not in deepdiff_verify([*range(5000), 1], [*range(5000), 2]).diff
    assert "cut" not in deepdiff_verify([1], [2]).diff


def test_the_diff_of_large_values_has_deepdiffs_shape_too() -> None:
    padding = ["x"] * 5000
    wanted = {"pad": padding, "a": 1, "b": "x", "gone": 1, "rows": [1, 2]}
    found = {"pad": padding, "a": 2, "b": None, "new": 1, "rows": [1]}
    diff = DeepDiff(wanted, found, **DEFAULT_DEEPDIFF_KWARGS)
    assert deepdiff_verify(found, wanted).diff == json.loads(diff.to_json())


def test_long_texts_show_where_they_differ() -> None:
    change = deepdiff_verify("line\n" * 50_000 + "a", "line\n" * 50_000 + "b").diff["values_changed"]["root"]
    assert "Line 50001, column 1" in change["diff"]


def test_a_long_diff_with_options_of_ones_own_is_cut_but_its_verdict_stands() -> None:
    found, wanted = [{"n": str(n) * 300} for n in range(1000)], [{"n": str(-n) * 300} for n in range(1000)]
    result = deepdiff_verify(found, wanted, ignore_string_case=True)
    assert not result.is_correct
    assert len(result.diff["values_changed"]) == 100
    assert "cut" in result.diff


def test_a_cut_never_changes_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    pairs = [
        ([1, 2], [1, 2.0]),
        ([1, 2], [1, 3]),
        (["a"], ["a", "b"]),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ("x\ny", "x\nz"),
    ]
    for ignore_order in (False, True):
        before = [deepdiff_verify(a, e, ignore_order=ignore_order).is_correct for a, e in pairs]
        with monkeypatch.context() as patch:
            patch.setattr(deep_comparison, "MAX_ITEMS", 0)
            patch.setattr(deep_comparison, "SHOWN_DIFFERENCES", 1)
            after = [deepdiff_verify(a, e, ignore_order=ignore_order).is_correct for a, e in pairs]
        assert before == after


@given(nearly_equal())
def test_large_values_get_the_verdict_of_small_ones(pair: tuple[Any, Any]) -> None:
    expected, actual = pair
    verdict = by_deepdiff(expected, actual)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(deep_comparison, "MAX_ITEMS", 0)  # then everything is large
        if verdict is not None:
            assert deepdiff_verify(actual, expected).is_correct == verdict


def test_a_deepdiff_that_takes_too_long_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deep_comparison, "_PATIENCE_S", 0.0)
    result = deepdiff_verify([{"a": 1}, {"a": 2}], [{"a": 1}, {"a": 3}], ignore_order=True)
    assert not result.is_correct
    assert result.diff == {"iterable_item_removed": {"root[1]": {"a": 3}}, "iterable_item_added": {"root[1]": {"a": 2}}}
    # What cannot be proven is left to DeepDiff, however long it takes.
    assert deepdiff_verify([1.0000001, 5], [5, 1.0], ignore_order=True).is_correct


@pytest.mark.parametrize("depth", [150, 400, 50_000])
def test_any_depth_can_be_compared(depth: int) -> None:
    values: list[Any] = [1, 1, 2]
    for _ in range(depth):
        values = [[value] for value in values]
    one, same, other = values
    assert deepdiff_verify(one, same).is_correct
    assert not deepdiff_verify(one, other).is_correct
    assert not deepdiff_verify(one, [1], ignore_order=True).is_correct


def test_values_that_contain_themselves_can_be_compared() -> None:
    one: list[Any] = [1]
    one.append(one)
    other: list[Any] = [1]
    other.append(other)
    assert deepdiff_verify(one, other).is_correct
    other[0] = 2
    assert not deepdiff_verify(one, other).is_correct


def test_integers_that_no_float_can_hold_can_be_compared() -> None:
    assert deepdiff_verify(10**400, 10**400 + 1).is_correct
    assert not deepdiff_verify(10**400, 2 * 10**400).is_correct
    assert not deepdiff_verify(10**400, 1.5).is_correct
    assert not deepdiff_verify(10**400, math.inf).is_correct


def test_ignoring_order_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        deepdiff_verify([1, "a"], [2, "b"], ignore_order=True)
    assert "math_epsilon" not in caplog.text
