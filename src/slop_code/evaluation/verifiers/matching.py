"""Ways to compare that allow for something: case, tolerance, order, a pattern, a part of the whole."""

from __future__ import annotations

import math
import re
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

from slop_code.evaluation.verifiers.comparison import close
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.json_values import TOO_DEEP, recordable, shortened
from slop_code.evaluation.verifiers.models import VerificationResult

_SHOWN = 1_000


def flexible_match(expected: Any, actual: Any) -> VerificationResult:
    """Compare without surrounding blanks and without case (weight 1.0); text that contains it counts too (0.8)."""
    wanted, found = _text(expected).strip(), _text(actual).strip()
    if wanted.lower() == found.lower():
        return VerificationResult.create("✓ Match (case-insensitive)", True, 1.0)
    if wanted and wanted in found:
        return VerificationResult.create("✓ Contains expected", True, 0.8)
    return VerificationResult.create(f"No match: {_short(wanted)} vs {_short(found)}", False, 1.0)


def regex_match(pattern: str, actual: Any, weight: float = 1.0) -> VerificationResult:
    """Match the whole text against `pattern`.

    A pattern that backtracks without end, such as `(a+)+b`, can be made to run for hours by a submission's
    output: `re` has no limit. Write patterns in which each character can be matched in one way only.
    """
    try:
        matches = re.fullmatch(pattern, _text(actual)) is not None
    except re.error as error:
        raise VerifierError(f"the pattern {pattern!r} is not a regular expression: {error}") from error
    text = f"✓ Matches pattern: {pattern}" if matches else f"✗ Does not match pattern: {pattern}"
    return VerificationResult.create(text, matches, weight)


def validate_schema(actual_json: Any, schema: Mapping[str, Any]) -> tuple[bool, str]:
    """Check that a mapping has every key of `schema`, with a value of the type (or one of the types) given."""
    if not isinstance(actual_json, Mapping):
        return False, f"Expected an object, got {type(actual_json)}"
    for key, value_type in schema.items():
        if key not in actual_json:
            return False, f"Missing key: {key}"
        if not isinstance(actual_json[key], value_type):
            return False, f"Wrong type for {key}: expected {value_type}, got {type(actual_json[key])}"
    return True, "✓ Schema valid"


def numeric_match(
    expected: Any, actual: Any, tolerance: float = 1e-6, relative: float = 0.0, weight: float = 1.0
) -> VerificationResult:
    """Compare numbers, or texts of numbers, within an absolute or a relative tolerance, whichever is wider.

    nan equals nan, and an infinity only itself.
    """
    wanted, found = _number(expected), _number(actual)
    if wanted is None:
        raise VerifierError(f"numeric_match: the expected value {shortened(expected, 100)!r} is not a number")
    if found is None:
        return VerificationResult.create(f"✗ expected {expected}, got {_short(actual)}: not a number", False, weight)
    allowed = f"{tolerance}" + (f" or {relative} of it" if relative else "")
    if (wanted != wanted and found != found) or close(wanted, found, tolerance, relative):
        return VerificationResult.create(f"✓ {found} (within {allowed} of {wanted})", True, weight)
    text = f"✗ expected {wanted}, got {found} (diff: {_distance(wanted, found)}, tolerance: {allowed})"
    return VerificationResult.create(text, False, weight)


def get_nested(obj: Any, path: str, default: Any = None) -> Any:
    """The value at a dotted path such as `user.name` or `rows.0.id`, or `default` if there is none."""
    for key in path.split("."):
        if isinstance(obj, Mapping) and key in obj:
            obj = obj[key]
        elif isinstance(obj, Sequence) and not isinstance(obj, (str, bytes)) and re.fullmatch(r"-?[0-9]+", key):
            index = int(key)
            if not -len(obj) <= index < len(obj):
                return default
            obj = obj[index]
        else:
            return default
    return obj


def nested_field(path: str, expected: Any, actual: Any, weight: float = 1.0) -> VerificationResult:
    """Compare what `actual` holds at a dotted path with `expected`."""
    missing = object()
    value = get_nested(actual, path, missing)
    if value is missing:
        return VerificationResult.create(f"{path}: expected {_short(expected)}, but there is none", False, weight)
    if value == expected:
        return VerificationResult.create(f"✓ {path} = {_short(expected)}", True, weight)
    return VerificationResult.create(f"{path}: expected {_short(expected)}, got {_short(value)}", False, weight)


def unordered_match(expected: Any, actual: Any, weight: float = 1.0) -> VerificationResult:
    """Compare two lists, or the lines of two texts, without regard to order; repetitions count.

    The diff lists what is missing and what is unexpected.
    """
    wanted, found = _items(expected), _items(actual)
    if wanted is None:
        raise VerifierError(f"unordered_match: expected a list or text, not {type(expected).__name__}")
    if found is None:
        return VerificationResult.create(f"expected a list, got {_short(actual)}", False, weight)
    missing, unexpected = _left_over(wanted, found)
    if not missing and not unexpected:
        return VerificationResult.create("✓ Match (any order)", True, weight)
    diff = {"missing": shortened(missing, 20 * _SHOWN), "unexpected": shortened(unexpected, 20 * _SHOWN)}
    return VerificationResult.create(diff, False, weight)


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _short(value: Any) -> str:
    return str(shortened(value, _SHOWN))


def _number(value: Any) -> float | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        return value
    try:
        return float(_text(value))
    except (ValueError, OverflowError):
        return None


def _distance(one: float, other: float) -> float:
    try:
        return abs(one - other)
    except OverflowError:  # an integer that no float can hold
        return math.inf


def _items(value: Any) -> list[Any] | None:
    if isinstance(value, (str, bytes)):
        return _text(value).splitlines()
    return list(value) if isinstance(value, (list, tuple, set, frozenset)) else None


def _left_over(wanted: list[Any], found: list[Any]) -> tuple[list[Any], list[Any]]:
    waiting: dict[Hashable, list[Any]] = {}
    for item in found:
        waiting.setdefault(_frozen(recordable(item)), []).append(item)
    missing = []
    for item in wanted:
        same = waiting.get(_frozen(recordable(item)))
        if same:
            same.pop()
        else:
            missing.append(item)
    return missing, [item for items in waiting.values() for item in items]


def _frozen(value: Any) -> Hashable:
    """A recordable value as a key; 1 and 1.0 are the same key, true is another; bytes are the text that they spell."""
    if isinstance(value, dict):
        return frozenset((key, _frozen(item)) for key, item in value.items())
    if isinstance(value, list):
        return tuple(_frozen(item) for item in value)
    if isinstance(value, bytes):
        value = value.decode("utf-8", "backslashreplace")
    if value is TOO_DEEP:  # what is below was not looked at, so it is not said to be equal to anything
        return object()
    if isinstance(value, bool) or value != value:
        return (type(value).__name__, str(value))
    return (type(value) is str, value)
