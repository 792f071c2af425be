"""The guide's three matching patterns as library functions, and a few more of their kind."""

from __future__ import annotations

import math
from typing import Any

import pytest

from slop_code.evaluation.verifiers import VerifierError
from slop_code.evaluation.verifiers.matching import (
    flexible_match,
    get_nested,
    nested_field,
    numeric_match,
    regex_match,
    unordered_match,
    validate_schema,
)


@pytest.mark.parametrize(
    ("expected", "actual", "verdict", "weight", "diff"),
    [
        (" Hello ", "hello\n", True, 1.0, "✓ Match (case-insensitive)"),
        ("ell", "Hello", True, 0.8, "✓ Contains expected"),
        ("x", "Hello", False, 1.0, "No match: x vs Hello"),
        ("", "Hello", False, 1.0, "No match:  vs Hello"),
        ("", None, True, 1.0, "✓ Match (case-insensitive)"),
        ("5", 5, True, 1.0, "✓ Match (case-insensitive)"),
        (b"a", "A", True, 1.0, "✓ Match (case-insensitive)"),
    ],
)
def test_flexible_match(expected: Any, actual: Any, verdict: bool, weight: float, diff: str) -> None:
    result = flexible_match(expected, actual)
    assert (result.is_correct, result.weight, result.diff) == (verdict, weight, diff)


def test_regex_match_wants_the_whole_text() -> None:
    assert regex_match(r"\d+", "123").diff == r"✓ Matches pattern: \d+"
    assert regex_match(r"\d+", "123a").diff == r"✗ Does not match pattern: \d+"
    assert not regex_match(r"\d+", None).is_correct
    assert regex_match(r"\d+", 5, weight=0.5).weight == 0.5
    with pytest.raises(VerifierError, match=r"'\('"):
        regex_match("(", "x")


@pytest.mark.parametrize(
    ("value", "verdict", "message"),
    [
        ({"id": 1, "name": "x"}, True, "✓ Schema valid"),
        ({"id": 1}, False, "Missing key: name"),
        ({"id": "1", "name": "x"}, False, "Wrong type for id: expected <class 'int'>, got <class 'str'>"),
        ([1], False, "Expected an object, got <class 'list'>"),
        (None, False, "Expected an object, got <class 'NoneType'>"),
    ],
)
def test_validate_schema(value: Any, verdict: bool, message: str) -> None:
    assert validate_schema(value, {"id": int, "name": str}) == (verdict, message)


def test_a_schema_may_allow_several_types() -> None:
    assert validate_schema({"x": 1.5}, {"x": (int, float)})[0]


@pytest.mark.parametrize(
    ("expected", "actual", "options", "verdict"),
    [
        (1, 1.0000001, {}, True),
        (1, 1.1, {}, False),
        (1, 1.1, {"tolerance": 0.2}, True),
        (1000, 1001, {"relative": 0.01}, True),
        (1000, 1100, {"relative": 0.01}, False),
        (0.5, " 0.5\n", {}, True),
        (1, "one", {}, False),
        (1, None, {}, False),
        (1, True, {}, False),
        (math.nan, "nan", {}, True),
        (math.inf, math.inf, {}, True),
        (math.inf, 1e308, {}, False),
    ],
)
def test_numeric_match(expected: Any, actual: Any, options: dict[str, float], verdict: bool) -> None:
    result = numeric_match(expected, actual, weight=0.5, **options)
    assert (result.is_correct, result.weight) == (verdict, 0.5)
    assert result.diff.startswith("✓" if verdict else "✗")


def test_numeric_match_of_integers_that_no_float_can_hold() -> None:
    assert numeric_match(10**400, 10**400).is_correct
    assert numeric_match(10**400, 10**400 + 1, tolerance=2).is_correct
    assert not numeric_match(10**400, 10**400 + 3, tolerance=2).is_correct
    assert not numeric_match(10**400, 1.5).is_correct


def test_numeric_match_shows_the_distance_and_refuses_an_expectation_that_is_no_number() -> None:
    assert numeric_match(1, 1.5, 0.25).diff == "✗ expected 1, got 1.5 (diff: 0.5, tolerance: 0.25)"
    with pytest.raises(VerifierError, match="x"):
        numeric_match("x", 1)


TREE = {"user": {"name": "Ann", "tags": ["a", "b"], "none": None}, "rows": [{"id": 7}]}


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("user.name", "Ann"),
        ("user.tags.1", "b"),
        ("user.tags.-1", "b"),
        ("rows.0.id", 7),
        ("user", TREE["user"]),
        ("user.none", None),
        ("nobody.name", None),
        ("user.name.first", None),
        ("user.tags.9", None),
        ("user.tags.x", None),
    ],
)
def test_get_nested(path: str, value: Any) -> None:
    assert get_nested(TREE, path) == value


def test_get_nested_has_a_default() -> None:
    assert get_nested(TREE, "user.age", 5) == 5
    assert get_nested(TREE, "user.none", 5) is None


def test_nested_field() -> None:
    assert nested_field("user.name", "Ann", TREE).diff == "✓ user.name = Ann"
    wrong = nested_field("user.name", "Bo", TREE, weight=2)
    assert (wrong.diff, wrong.is_correct, wrong.weight) == ("user.name: expected Bo, got Ann", False, 2)
    assert not nested_field("user.age", None, TREE).is_correct
    assert nested_field("user.none", None, TREE).is_correct


@pytest.mark.parametrize(
    ("expected", "actual", "missing", "unexpected"),
    [
        ([1, 2, 3], [3, 1, 2], [], []),
        ([1, 1, 2], [1, 2, 2], [1], [2]),
        ([{"a": [1, 2]}], [{"a": [1, 2.0]}], [], []),
        ([{"a": [1, 2]}], [{"a": [2, 1]}], [{"a": [1, 2]}], [{"a": [2, 1]}]),
        (["1"], [1], ["1"], [1]),
        ([math.nan], [float("nan")], [], []),
        ([b"a"], ["a"], [], []),
        ([True], [1], [True], [1]),
        ("b\na\n", "a\nb", [], []),
        ("a\nb", "a", ["b"], []),
        ([], [], [], []),
    ],
)
def test_unordered_match(expected: Any, actual: Any, missing: list[Any], unexpected: list[Any]) -> None:
    result = unordered_match(expected, actual)
    if missing or unexpected:
        assert result.diff == {"missing": missing, "unexpected": unexpected}
        assert not result.is_correct
    else:
        assert (result.diff, result.is_correct) == ("✓ Match (any order)", True)


def test_unordered_match_takes_no_number_for_its_name_and_looks_at_everything() -> None:
    assert not unordered_match(["NaN", "Infinity"], [math.nan, math.inf]).is_correct
    assert not unordered_match([nested(300, 1)], [nested(300, 2)]).is_correct


def nested(depth: int, value: Any) -> Any:
    for _ in range(depth):
        value = [value]
    return value


def test_unordered_match_of_something_else() -> None:
    assert not unordered_match([1], {"a": 1}).is_correct
    assert not unordered_match([1], None).is_correct
    with pytest.raises(VerifierError, match="dict"):
        unordered_match({"a": 1}, [1])
