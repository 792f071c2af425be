"""Ready-made verdicts on one attribute: give them an actual and an expected value, get a `VerificationResult`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import reduce
from itertools import islice
from operator import or_
from typing import Any

from slop_code.evaluation.verifiers.deep_comparison import judge
from slop_code.evaluation.verifiers.errors import VerifierError as VerifierError
from slop_code.evaluation.verifiers.json_values import shortened
from slop_code.evaluation.verifiers.models import VerificationResult as VerificationResult

DEFAULT_DEEPDIFF_KWARGS: dict[str, Any] = {
    "ignore_string_type_changes": True,
    "ignore_numeric_type_changes": True,
    "ignore_nan_inequality": True,
    "math_epsilon": 1e-6,
}

_MAX_SCHEMA_ERRORS = 100
_SHOWN = 1_000


def deepdiff_verify(actual: Any, expected: Any, weight: float = 1.0, **kwargs: Any) -> VerificationResult:
    """Compare whole values: correct if `DeepDiff(expected, actual)` is empty, with our defaults and your `kwargs`.

    In the diff, "old" is the expected and "new" the actual value. The diff of large values is cut, which it then
    says under "cut"; the verdict is never affected. The time it takes is bounded for JSON values with our defaults
    (`math_epsilon` and `ignore_order` may be set); with other options it takes as long as DeepDiff takes.

    Raises:
        VerifierError: an unknown option, or values that DeepDiff cannot compare.
    """
    is_correct, diff = judge(expected, actual, {**DEFAULT_DEEPDIFF_KWARGS, **kwargs})
    return VerificationResult.create(diff, is_correct, weight)


def jsonschema_verify(actual: Any, expected: Any, weight: float = 1.0) -> VerificationResult:
    """Check `actual` against `expected`, a JSON Schema of draft 7.

    Raises:
        VerifierError: the schema is not valid, or refers to one that is not in it.
    """
    import jsonschema
    from jsonschema_specifications import REGISTRY  # type: ignore[import-untyped]

    try:
        jsonschema.Draft7Validator.check_schema(expected)
        # With this registry, nothing is fetched from the network.
        found = jsonschema.Draft7Validator(expected, registry=REGISTRY).iter_errors(actual)
        errors = [(error.json_path, error.message) for error in islice(found, _MAX_SCHEMA_ERRORS)]
    except RecursionError:
        errors = [("$", "nested too deeply to be checked")]
    except Exception as error:
        raise VerifierError(f"jsonschema_verify: the expected schema is not valid: {error}") from error
    if not errors:
        return VerificationResult.create("Schema validation passed", True, weight)
    diff: dict[str, str] = {}
    for path, message in errors:
        short = shortened(message, _SHOWN)
        diff[path] = f"{diff[path]}; {short}" if path in diff else short
    if len(errors) == _MAX_SCHEMA_ERRORS:
        diff["cut"] = f"only the first {_MAX_SCHEMA_ERRORS} errors are shown"
    return VerificationResult.create(diff, False, weight)


def matches_status_code(actual: Any, expected: Any, weight: float = 1.0) -> VerificationResult:
    """Compare two status codes; the diff reads `1 == 0 -> False`."""
    same = bool(actual == expected)
    return VerificationResult.create(f"{actual} == {expected} -> {same}", same, weight)


def matches_regex(
    actual: Any,
    expected: str | bytes | None,
    weight: float = 1.0,
    flags: Iterable[int] | None = None,
    *,
    lstrip: bool = True,
) -> VerificationResult:
    """Match the start of `actual`, without leading blanks, against the pattern `expected`.

    Case is ignored unless `flags` are given. Mind patterns that backtrack without end, such as `(a+)+b`:
    `re` has no time limit, so a submission's output could keep the judge busy for hours.

    Raises:
        VerifierError: the pattern is None, blank, or not a regular expression.
    """
    pattern, text = _decoded(expected), _decoded(actual)
    if not pattern.strip():
        raise VerifierError("matches_regex: the expected pattern is empty, and would match anything")
    text = text.lstrip() if lstrip else text
    try:
        matches = re.match(pattern, text, _combined(flags)) is not None
    except (re.error, OverflowError, ValueError) as error:
        raise VerifierError(f"matches_regex: {pattern!r} is not a regular expression: {error}") from error
    said = "matches" if matches else "does not match the start of"
    return VerificationResult.create(f"/{pattern}/ {said} {shortened(text, _SHOWN)!r}", matches, weight)


def _decoded(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


def _combined(flags: Iterable[int] | int | None) -> int:
    if flags is None:
        return re.IGNORECASE
    return flags if isinstance(flags, int) else reduce(or_, flags, 0)
