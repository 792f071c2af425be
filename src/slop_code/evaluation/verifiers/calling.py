"""Calling a verifier: whatever it does costs one case, and the error says where in the author's file."""

from __future__ import annotations

import inspect
import linecache
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.scripts import ScriptFolder, is_ctrl_c
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.models import VerificationResult, VerifierProtocol
from slop_code.evaluation.verifiers.time_limit import TimeIsUp, run_limited
from slop_code.paths import shown_path
from slop_code.validation import first_reason

TIME_LIMIT_S = 30.0
MAX_KEYS = 10_000
_MAX_MESSAGE = 500


def call_verifier(
    verifier: VerifierProtocol,
    folder: ScriptFolder | None,
    *,
    group_name: str,
    case_name: str,
    actual: CaseResult,
    expected: CaseResult,
    time_limit: float = TIME_LIMIT_S,
) -> dict[str, VerificationResult]:
    """Have a result judged. `folder` is the one whose code the verifier is (`verifier_folder`).

    The time limit cannot interrupt a single step that does not end; see `time_limit`.

    Raises:
        VerifierError: it raised, took too long, or returned something else. The text is one line, and below it
            the last line of the author's code that took part.
    """

    def judged() -> dict[str, VerificationResult]:
        returned = verifier(group_name=group_name, case_name=case_name, actual=actual, expected=expected)
        return _checked(returned)

    try:
        with author_code(folder):
            return run_limited(judged, time_limit)
    except _UnusableError as error:
        raise VerifierError(_at_call(verifier, folder, f"the verifier returned {error}")) from error
    except TimeIsUp as error:
        struck = _first_strike(error)
        struck.args = (f"still running after {time_limit:g} s",)
        raise VerifierError(f"the verifier was ended: {place_of(struck, folder)}") from error
    except BaseException as error:  # SystemExit and whatever else is no Exception
        if is_ctrl_c(error) or (folder is None and isinstance(error, VerifierError)):
            raise
        raise VerifierError(f"the verifier raised: {place_of(error, folder)}") from error


def place_of(error: BaseException, folder: ScriptFolder | None) -> str:
    """What went wrong in one line, with the last line of the folder's code that took part in it."""
    name, message = type(error).__name__, _one_line(error)
    if folder is None:
        return f"{name}: {message}" if message else name
    if not isinstance(error, SystemExit) and message != _text(error):
        error = type(name, (Exception,), {})(message).with_traceback(error.__traceback__)
    return folder.place_of(error)


def _first_strike(error: TimeIsUp) -> TimeIsUp:
    """The one that knows where the verifier was; another may have struck on the way out."""
    while isinstance(error.__context__, TimeIsUp):
        error = error.__context__
    return error


class _UnusableError(Exception):
    """What the verifier returned cannot be used; the text goes after "the verifier returned"."""


def _checked(returned: Any) -> dict[str, VerificationResult]:
    if not isinstance(returned, Mapping):
        raise _UnusableError(f"{_kind(returned)}: it should return a dict of names to VerificationResult")
    results: dict[str, VerificationResult] = {}
    for name, verdict in returned.items():
        if not isinstance(name, str):
            raise _UnusableError(f"{_kind(name)} as a key: keys should be str")
        if len(results) == MAX_KEYS:
            raise _UnusableError(f"more than {MAX_KEYS:,} results for one case, which is the limit")
        results[str.__str__(name)] = verdict if _is_sound(verdict) else _converted(name, verdict)
    return results


def _is_sound(verdict: Any) -> bool:
    """Whether it is a result that is still as it was made: fields can be assigned to afterwards."""
    if not isinstance(verdict, VerificationResult):
        return False
    weight = verdict.__dict__.get("weight")
    return type(verdict.__dict__.get("is_correct")) is bool and type(weight) is float and 0.0 < weight < float("inf")


def _converted(name: str, verdict: Any) -> VerificationResult:
    """A mapping, or an object with the same attributes, as a result."""
    values: dict[Any, Any]
    if isinstance(verdict, Mapping):
        values = dict(verdict)
    elif isinstance(verdict, VerificationResult) or (hasattr(verdict, "is_correct") and hasattr(verdict, "diff")):
        values = {key: getattr(verdict, key) for key in VerificationResult.model_fields if hasattr(verdict, key)}
    else:
        raise _UnusableError(
            f'{_kind(verdict)} for "{name}": make it with VerificationResult.create(diff, is_correct, weight)'
        )
    try:
        return VerificationResult.model_validate(values)
    except ValueError as error:
        raise _UnusableError(f'a result for "{name}" that is not valid: {first_reason(error)}') from error


def _kind(value: object) -> str:
    return "None" if value is None else f"a value of type {type(value).__name__}"


def _one_line(error: BaseException) -> str:
    text = first_reason(error) if isinstance(error, ValidationError) else " ".join(_text(error).split())
    return text if len(text) <= _MAX_MESSAGE else f"{text[:_MAX_MESSAGE]}…"


def _text(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:  # noqa: BLE001  # a broken __str__ is no reason to lose the place
        return ""


def _at_call(verifier: object, folder: ScriptFolder | None, message: str) -> str:
    """`message` with the place of the verifier's `__call__`, if it is the author's."""
    code = getattr(inspect.unwrap(type(verifier).__call__), "__code__", None)
    if folder is None or code is None:
        return message
    line = linecache.getline(code.co_filename, code.co_firstlineno).strip()
    return f"{shown_path(code.co_filename)}:{code.co_firstlineno}: {message}" + (f"\n    {line}" if line else "")
