"""Judging a text, a parsed value or a file against what a case file says of it, for the ready verifier."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from slop_code.evaluation.verifiers.comparison import identical
from slop_code.evaluation.verifiers.diffs import text_diff
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.json_values import json_safe, recordable, shortened
from slop_code.evaluation.verifiers.models import VerificationResult
from slop_code.evaluation.verifiers.verifiers import deepdiff_verify
from slop_code.execution.file_ops.errors import ContentError
from slop_code.execution.file_ops.formats import decode
from slop_code.execution.file_ops.kinds import Compression, FileType, resolve_suffix
from slop_code.findings import listed, shown_value

CHECKS = ("content", "contains", "matches", "absent")
"""What may be said of a file beside its path."""

_NUMBER = re.compile(r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)")
_SHOWN = 500
_MAX_DIGITS = 1_000


def judge_content(
    expected: Any, actual: Any, tolerance: float = 0.0, weight: float = 1.0, name: str = ""
) -> VerificationResult:
    """Compare text with text, and anything else with what the text holds: JSON, or JSON lines by the file's `name`.

    With a tolerance, numbers may differ by that much, also those within a text.
    """
    if isinstance(expected, (str, bytes)):
        return _judge_text(expected, actual, tolerance, weight)
    found = actual
    if isinstance(actual, (str, bytes)):
        kind = FileType.JSONL if resolve_suffix(name)[0] is FileType.JSONL else FileType.JSON
        try:
            found = decode(actual if isinstance(actual, bytes) else actual.encode("utf-8", "replace"), kind, _PLAIN)
        except ContentError as error:
            at = f" in line {error.line}" if error.line else ""
            said = f"not {'JSON lines' if kind is FileType.JSONL else 'JSON'}{at}: {error}"
            return VerificationResult.create(f"{said}\n{shortened(actual, _SHOWN)}", False, weight)
    if _identical(expected, found):
        return VerificationResult.create({}, True, weight)
    wanted = recordable(expected)
    if _same(wanted, found, tolerance):
        return VerificationResult.create({}, True, weight)
    verdict = deepdiff_verify(found, wanted, weight, math_epsilon=tolerance)
    # DeepDiff is more lenient in places: true for 1, and private keys.
    diff = text_diff(_json(wanted), _json(found)) if verdict.is_correct else verdict.diff
    return VerificationResult.create(diff, False, weight)


def judge_file(
    name: str, checks: list[Mapping[str, Any]], files: Mapping[str, Any], tolerance: float = 0.0, weight: float = 1.0
) -> VerificationResult:
    """Check a file: its `content`, what it `contains`, what it `matches`, that it is `absent`, or that it exists."""
    exists = name in files
    diffs: list[Any] = []
    is_correct = True
    for check in checks:
        if check.get("absent"):
            verdict = VerificationResult.create("✓ No such file" if not exists else "should not exist", not exists)
        elif not exists:
            beside = f"there are {listed(files)}" if files else "no file was collected (is it in tracked_files?)"
            verdict = VerificationResult.create(f"no such file: {beside}", False)
        else:
            verdict = judge_part(check, files[name], tolerance, name)
        is_correct = is_correct and verdict.is_correct
        diffs.append(verdict.diff)
    return VerificationResult.create(diffs[0] if len(diffs) == 1 else diffs, is_correct, weight)


def judge_part(
    check: Mapping[str, Any], actual: Any, tolerance: float = 0.0, name: str = "", weight: float = 1.0
) -> VerificationResult:
    """Judge a content by the words of `check`, all of which must hold; without any, it only has to exist."""
    ways: dict[str, Callable[[Any, Any], VerificationResult]] = {
        "content": lambda wanted, found: judge_content(wanted, found, tolerance, name=name),
        "contains": _contains,
        "matches": _matches,
    }
    verdicts = {word: way(check[word], actual) for word, way in ways.items() if check.get(word) is not None}
    if not verdicts:
        return VerificationResult.create("✓ Exists", True, weight)
    diffs = {word: verdict.diff for word, verdict in verdicts.items()}
    diff = next(iter(diffs.values())) if len(diffs) == 1 else diffs
    return VerificationResult.create(diff, all(verdict.is_correct for verdict in verdicts.values()), weight)


def _judge_text(expected: str | bytes, actual: Any, tolerance: float, weight: float) -> VerificationResult:
    if actual is None:
        actual = type(expected)()
    if isinstance(expected, bytes) and isinstance(actual, str):
        actual = actual.encode("utf-8", "replace")
    if tolerance and isinstance(expected, str) and isinstance(actual, str) and expected != actual:
        actual = _with_close_numbers(expected, actual, tolerance)
    is_text = isinstance(actual, (str, bytes))
    diff = text_diff(expected, actual if is_text else _json(actual))
    return VerificationResult.create(diff, is_text and expected == actual, weight)


def _with_close_numbers(expected: str, actual: str, tolerance: float) -> str:
    """`actual` with each number that is close to the expected one in its place written as that one is."""
    wanted, found = _NUMBER.split(expected), _NUMBER.split(actual)
    for index in range(1, min(len(wanted), len(found)), 2):
        if wanted[index] != found[index] and _close_texts(wanted[index], found[index], tolerance):
            found[index] = wanted[index]
    return "".join(found)


def _close_texts(one: str, other: str, tolerance: float) -> bool:
    if max(len(one), len(other)) > _MAX_DIGITS:
        return False
    return _near(_number(one), _number(other), tolerance)


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdigit() else float(text)


def _identical(expected: Any, actual: Any) -> bool:
    """Whether they are the same, also where they are nested more deeply than what is recorded of a value."""
    try:
        return identical(expected, actual)
    except RecursionError:
        return False


def _same(expected: Any, actual: Any, tolerance: float) -> bool:
    if isinstance(expected, dict):
        if not isinstance(actual, dict) or expected.keys() != actual.keys():
            return False
        return all(_same(value, actual[key], tolerance) for key, value in expected.items())
    if isinstance(expected, list):
        if not isinstance(actual, list) or len(expected) != len(actual):
            return False
        return all(map(_same, expected, actual, [tolerance] * len(expected)))
    if not _is_number(expected) or not _is_number(actual):
        return type(expected) is type(actual) and bool(expected == actual)
    return _near(expected, actual, tolerance)


def _near(one: float, other: float, tolerance: float) -> bool:
    """Whether two numbers are that close; nan is nan, and integers are exact at any size."""
    if one == other or (one != one and other != other):
        return True
    try:
        return abs(one - other) <= tolerance
    except OverflowError:  # an integer that no float can hold, and a float
        return False


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _contains(wanted: Any, found: Any) -> VerificationResult:
    part, text = _word("contains", wanted), _text(found)
    if part in text:
        return VerificationResult.create(f"✓ Contains {shortened(part, _SHOWN)!r}", True)
    return VerificationResult.create(f"does not contain {shortened(part, _SHOWN)!r}:\n{shortened(text, _SHOWN)}", False)


def _matches(wanted: Any, found: Any) -> VerificationResult:
    pattern, text = _word("matches", wanted), _text(found)
    try:
        is_match = re.search(pattern, text, re.MULTILINE) is not None
    except (re.error, OverflowError, RecursionError) as error:
        raise VerifierError(f"{pattern!r}, which a file should match, is not a regular expression: {error}") from error
    if is_match:
        return VerificationResult.create(f"✓ Matches /{pattern}/", True)
    return VerificationResult.create(f"nothing matches /{pattern}/:\n{shortened(text, _SHOWN)}", False)


def _word(check: str, value: Any) -> str:
    """What YAML made of a text: that, or a number. A list as a pattern would be a class of characters."""
    if isinstance(value, str) or _is_number(value):
        return str(value)
    raise VerifierError(f'"{check}" in the expected result should be text, found {shown_value(value)}')


def _text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    return "" if value is None else value if isinstance(value, str) else _json(value)


def _json(value: Any) -> str:
    return json.dumps(json_safe(value), ensure_ascii=False, indent=2, sort_keys=True)


_PLAIN = Compression.NONE
