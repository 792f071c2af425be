"""Any value becomes JSON, and what is recorded comes back as it was."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from enum import Enum
from pathlib import PurePosixPath
from typing import Any

import numpy
import pytest
from hypothesis import given

from slop_code.evaluation.verifiers.json_text import from_json_text, printable, to_json_text
from slop_code.evaluation.verifiers.json_values import CYCLE, TOO_DEEP, json_safe, recordable, shortened
from tests.verifiers.strategies import JSON, RECORDABLE


class Colour(Enum):
    RED = "red"


class Broken:
    def __str__(self) -> str:
        raise RuntimeError("no")


def same(one: Any, other: Any) -> bool:
    """Equal in value and in type, all the way down; nan is itself."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return repr(one) == repr(other) if isinstance(one, float) else bool(one == other)


@given(RECORDABLE)
def test_json_text_gives_back_any_json_value_bytes_and_nan(value: Any) -> None:
    text = to_json_text(recordable(value))
    assert same(from_json_text(text), value)
    text.encode("utf-8")


@given(JSON)
def test_json_text_of_a_json_value_reads_as_that_value_with_any_reader_unless_it_looks_like_a_tag(value: Any) -> None:
    text = to_json_text(value)
    if '{"$' not in text:
        assert same(json.loads(text), value)


def test_the_text_5_does_not_come_back_as_the_number_5() -> None:
    assert to_json_text("5") == '"5"'
    assert from_json_text(to_json_text("5")) == "5"
    assert from_json_text(to_json_text(5)) == 5


def test_bytes_are_an_object_that_no_json_value_can_be_mistaken_for() -> None:
    assert to_json_text(b"hi") == '{"$bytes": "aGk="}'
    assert to_json_text({"$bytes": "aGk="}) == '{"$$bytes": "aGk="}'
    assert from_json_text('{"$bytes": "aGk="}') == b"hi"
    assert from_json_text('{"$$bytes": "aGk="}') == {"$bytes": "aGk="}


@pytest.mark.parametrize("digits", [4000, 4299, 5000])
def test_integers_too_long_for_a_json_reader_come_back(digits: int) -> None:
    numbers = [10**digits, -(10**digits)]
    assert from_json_text(to_json_text(numbers)) == numbers


@pytest.mark.parametrize("tag", [{"$bytes": "?"}, {"$bytes": 5}, {"$float": "x"}, {"$int": "zz"}, {"$other": 1}])
def test_a_malformed_tag_is_left_as_it_stands(tag: Any) -> None:
    assert from_json_text(json.dumps(tag)) == tag


def test_lone_surrogates_are_spelled_out_for_writers_of_utf8() -> None:
    assert printable({"\ud800": ["a\udfff", "é"]}) == {"\\ud800": ["a\\udfff", "é"]}


@given(JSON)
def test_json_safe_leaves_json_as_it_is_in_a_copy(value: Any) -> None:
    safe = json_safe(value)
    assert same(safe, value)
    assert safe is not value or not isinstance(value, (dict, list))


@given(RECORDABLE)
def test_json_safe_gives_json_for_anything(value: Any) -> None:
    safe = json_safe({"v": value, "s": {1, "a"}, 3: (value,)})
    json.dumps(printable(safe), allow_nan=False)


@pytest.mark.parametrize(
    ("value", "safe"),
    [
        (math.nan, "NaN"),
        (math.inf, "Infinity"),
        ([-math.inf], ["-Infinity"]),
        (b"hi", "hi"),
        (b"\xff", "\\xff"),
        ({1: "a", None: "b", False: "c"}, {"1": "a", "null": "b", "false": "c"}),
        ({2: "a", "2": "b"}, {"2": "a", "2 (str)": "b"}),
        ((1, (2,)), [1, [2]]),
        ({3, 1, 2}, [1, 2, 3]),
        (Colour.RED, "red"),
        (Decimal("1.50"), "1.50"),
        (date(2024, 5, 6), "2024-05-06"),
        (PurePosixPath("a/b"), "a/b"),
        (int, "int"),
        (Broken(), "<Broken>"),
        (numpy.int64(3), 3),
        (numpy.float64(0.5), 0.5),
        (numpy.array([[1, 2]]), [[1, 2]]),
    ],
)
def test_whatever_json_cannot_hold_becomes_text_or_its_nearest_kin(value: Any, safe: Any) -> None:
    assert json_safe(value) == safe
    assert json_safe([{"x": value}]) == [{"x": safe}]


def test_a_value_that_contains_itself_says_so() -> None:
    value: list[Any] = [1]
    value.append({"again": value})
    assert json_safe(value) == [1, {"again": CYCLE}]


def test_shared_parts_are_not_cycles() -> None:
    part = [1]
    assert json_safe((part, part)) == [[1], [1]]


@pytest.mark.parametrize("make", [json_safe, recordable])
def test_very_deep_nesting_ends_in_a_remark(make: Any) -> None:
    value: Any = 1
    for _ in range(100_000):
        value = [value]
    text = to_json_text(make(value))
    assert TOO_DEEP in text
    assert text.count("[") == 200


def test_a_cut_text_says_how_long_it_was() -> None:
    assert shortened("x" * 10, 10) == "x" * 10
    assert shortened("x" * 11, 10) == f"{'x' * 10}… (cut: 10 of 11 characters shown)"
    assert shortened(b"x" * 11, 10) == f"{'x' * 10}… (cut: 10 of 11 bytes shown)"


def test_a_long_structure_is_cut_as_text() -> None:
    assert shortened({"a": [1]}, 100) == {"a": [1]}
    assert shortened(list(range(1000)), 8) == "[0, 1, 2… (cut after 8 characters)"
    assert shortened({(1, 2): "y" * 100}, 12) == '{"(1, 2)": "… (cut after 12 characters)'
