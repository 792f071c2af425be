"""`jsonschema_verify`, `matches_status_code`, `matches_regex`."""

from __future__ import annotations

import re
from typing import Any

import pytest

from slop_code.evaluation.verifiers.verifiers import (
    VerifierError,
    jsonschema_verify,
    matches_regex,
    matches_status_code,
)

SCHEMA = {
    "type": "object",
    "required": ["id"],
    "properties": {"id": {"type": "integer"}, "tags": {"type": "array", "items": {"type": "string"}}},
}


def test_a_valid_instance_of_the_schema() -> None:
    result = jsonschema_verify({"id": 1}, SCHEMA, 0.5)
    assert (result.diff, result.is_correct, result.weight) == ("Schema validation passed", True, 0.5)


def test_an_invalid_instance_gives_messages_by_json_path() -> None:
    result = jsonschema_verify({"id": "x", "tags": ["a", 2]}, SCHEMA)
    assert not result.is_correct
    assert result.diff == {"$.id": "'x' is not of type 'integer'", "$.tags[1]": "2 is not of type 'string'"}


def test_two_errors_at_one_path_are_both_told() -> None:
    diff = jsonschema_verify("abc", {"type": "integer", "maxLength": 2}).diff
    assert diff == {"$": "'abc' is not of type 'integer'; 'abc' is too long"}


def test_the_rules_are_those_of_draft_7() -> None:
    # In later drafts, `items` takes no list and `$ref` has neighbours.
    assert jsonschema_verify(["a", 1], {"items": [{"type": "string"}, {"type": "integer"}]}).is_correct
    assert not jsonschema_verify([1], {"items": [{"type": "string"}]}).is_correct
    assert jsonschema_verify(5, {"definitions": {"n": {}}, "$ref": "#/definitions/n", "type": "string"}).is_correct


def test_a_schema_may_refer_to_the_schema_of_schemas() -> None:
    assert jsonschema_verify({"type": "object"}, {"$ref": "http://json-schema.org/draft-07/schema#"}).is_correct


@pytest.mark.parametrize(
    "schema", [{"type": "strnig"}, {"$ref": "http://example.invalid/x"}, {"$ref": "#/nowhere"}, 5, {"pattern": "("}]
)
def test_a_bad_schema_is_the_authors_error(schema: Any) -> None:
    with pytest.raises(VerifierError, match="schema"):
        jsonschema_verify("x", schema)


def test_many_and_long_messages_are_cut() -> None:
    result = jsonschema_verify([["x" * 5000]] * 500, {"items": {"items": {"type": "integer"}}})
    assert len(result.diff) == 101
    assert "cut" in result.diff
    assert len(result.diff["$[0][0]"]) < 1100


def test_an_instance_nested_too_deeply_is_wrong_and_not_an_error() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert not jsonschema_verify(deep, {"type": "array", "items": {"$ref": "#"}}).is_correct


@pytest.mark.parametrize(("actual", "expected", "diff"), [(0, 0, "0 == 0 -> True"), (1, 0, "1 == 0 -> False")])
def test_a_status_codes_diff_is_the_comparison(actual: int, expected: int, diff: str) -> None:
    result = matches_status_code(actual, expected, 0.25)
    assert (result.diff, result.is_correct, result.weight) == (diff, actual == expected, 0.25)


@pytest.mark.parametrize(
    ("actual", "pattern", "verdict"),
    [
        ("error: no", "error", True),
        ("  \n error: no", "error", True),
        ("an error", "error", False),
        ("ERROR", "error", True),
        (b"error", "error", True),
        (b"error \xff", "error .", True),
        (None, "$", True),
        (None, "x", False),
        ({"a": 1}, r"\{'a'", True),
        ("abc", "abc.+", False),
    ],
)
def test_a_regex_is_anchored_at_the_start_of_the_left_stripped_text_without_case(
    actual: Any, pattern: str, verdict: bool
) -> None:
    result = matches_regex(actual, pattern, 0.75)
    assert (result.is_correct, result.weight) == (verdict, 0.75)
    assert pattern in result.diff


def test_flags_replace_the_default() -> None:
    assert not matches_regex("ERROR", "error", flags=[]).is_correct
    assert not matches_regex("ERROR", "error", flags=[re.DOTALL]).is_correct
    assert matches_regex("A\nB", "a.b", flags=[re.DOTALL, re.IGNORECASE]).is_correct


def test_the_text_can_be_taken_as_it_is() -> None:
    assert not matches_regex(" x", "x", lstrip=False).is_correct
    assert matches_regex(" x", " x", lstrip=False).is_correct


@pytest.mark.parametrize("pattern", [None, "", " \n", b" "])
def test_a_pattern_that_is_none_or_blank_is_an_error(pattern: Any) -> None:
    with pytest.raises(VerifierError, match="empty"):
        matches_regex("x", pattern)


def test_a_bad_pattern_is_an_error_that_shows_it() -> None:
    with pytest.raises(VerifierError, match=r"\(a"):
        matches_regex("x", "(a")


def test_the_diff_shows_a_part_of_a_long_text() -> None:
    assert len(matches_regex("x" * 10_000_000, "y").diff) < 1200
