"""The verifier of problems that have none of their own: it compares whatever a case's expectation sets."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.verifiers.attributes import meant_attribute
from slop_code.evaluation.verifiers.content import CHECKS, judge_content, judge_file, judge_part
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.models import VerificationResult, VerifierReturnType
from slop_code.evaluation.verifiers.verifiers import matches_status_code
from slop_code.findings import shown_value
from slop_code.logging import get_logger

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig

_SETTINGS = ("tolerance", "weights")
# Who the result is of, and what no two runs have in common.
_NEVER_COMPARED = frozenset({"id", "group", "group_type", "type", "elapsed"})
_FILE_PREFIX = "files-"


class ReadyVerifier:
    """Compares every attribute that the expectation sets to something other than null.

    `weights` (attribute → number; `files` stands for every file) and `tolerance` (for numbers) may be set
    beside them. A run that timed out fails, unless the expectation sets `timed_out`.
    """

    def __init__(self, checkpoint_config: CheckpointConfig) -> None:
        self.checkpoint_config = checkpoint_config
        self._warned: set[tuple[str, str]] = set()

    def __call__(self, group_name: str, case_name: str, actual: CaseResult, expected: CaseResult) -> VerifierReturnType:
        wanted = _set_values(expected)
        files = _checks(wanted.pop("files", None))
        settings = expected.model_extra or {}
        tolerance = _number(settings.get("tolerance", 0), '"tolerance"', least=0.0)
        weights = _weights(settings.get("weights"))
        self._warn_of_typos(f"{group_name}/{case_name}", expected, files, weights)
        results = {
            name: _judge(name, value, actual, tolerance, weights.get(name, 1.0)) for name, value in wanted.items()
        }
        for name, checks in files.items():
            key = f"{_FILE_PREFIX}{name}"
            weight = weights.get(key, weights.get("files", 1.0))
            results[key] = judge_file(name, checks, actual.files_by_name(), tolerance, weight)
        if actual.timed_out and "timed_out" not in wanted:
            said = f"ran out of time after {actual.elapsed:.3g} s"
            results["timed_out"] = VerificationResult.create(said, False, weights.get("timed_out", 1.0))
        if not results:
            raise VerifierError(
                f'case "{case_name}" of group "{group_name}" expects nothing that could be compared: '
                "set output, status_code, stderr or files in its expected result"
            )
        return results

    def _warn_of_typos(
        self,
        case: str,
        expected: CaseResult,
        files: Mapping[str, list[Mapping[str, Any]]],
        weights: Mapping[str, float],
    ) -> None:
        fields = [*type(expected).model_fields, *_SETTINGS]
        for name in expected.model_extra or ():
            self._warn_of_typo(case, "its expected result", name, fields)
        for name in weights:
            self._warn_of_typo(case, "its weights", name, [*fields, *(f"{_FILE_PREFIX}{file}" for file in files)])
        for file, checks in files.items():
            for check in checks:
                for word in check:
                    self._warn_of_typo(case, f"what it expects of {file}", word, CHECKS)

    def _warn_of_typo(self, case: str, where: str, name: str, known: Collection[str]) -> None:
        """Warn once of a key that means nothing to us and looks as if it should."""
        if name in known or (where, name) in self._warned:
            return
        self._warned.add((where, name))
        meant = meant_attribute(name, known)
        if meant is not None:
            get_logger(__name__).warning(f'case {case}: "{name}" in {where} has no effect: did you mean "{meant}"?')


def _set_values(expected: CaseResult) -> dict[str, Any]:
    """What the expectation sets, in the order of the fields."""
    fields = [name for name in type(expected).model_fields if name in expected.model_fields_set - _NEVER_COMPARED]
    return {name: value for name in fields if (value := getattr(expected, name)) is not None}


def _judge(name: str, value: Any, actual: CaseResult, tolerance: float, weight: float) -> VerificationResult:
    found = getattr(actual, name, None)
    if name == "status_code":
        return matches_status_code(found, value, weight)
    if name == "headers":
        return _judge_headers(value, found, weight)
    if name == "stderr" and _is_check(value):
        return judge_part(value, found, tolerance, weight=weight)
    return judge_content(value, found, tolerance, weight)


def _judge_headers(expected: Mapping[str, Any], actual: Any, weight: float) -> VerificationResult:
    """Whether the expected headers are there; there may be others."""
    found = actual if isinstance(actual, Mapping) else {}
    diff = {
        name: {"expected": value, "actual": found.get(name)}
        for name, value in expected.items()
        if found.get(name) != value
    }
    return VerificationResult.create(diff, not diff, weight)


def _checks(files: Any) -> dict[str, list[Mapping[str, Any]]]:
    """File → what has to hold of it, whichever way the expectation is written."""
    checks: dict[str, list[Mapping[str, Any]]] = {}
    if isinstance(files, Mapping):
        for name, value in files.items():
            checks[name.removeprefix("./")] = [
                value if _is_check(value) else {} if value is None else {"content": value}
            ]
    for spec in files if isinstance(files, list) else ():
        words = {word: value for word, value in spec.items() if word != "path"}
        checks.setdefault(spec["path"].removeprefix("./"), []).append(words)
    return checks


def _is_check(value: Any) -> bool:
    return isinstance(value, Mapping) and bool(value) and value.keys() <= set(CHECKS)


def _weights(given: Any) -> dict[str, float]:
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise VerifierError(
            f'"weights" of the expected result should be a mapping of attributes to numbers, found {shown_value(given)}'
        )
    return {str(name): _number(value, f'the weight of "{name}"', above=0.0) for name, value in given.items()}


def _number(value: Any, what: str, *, least: float = -math.inf, above: float = -math.inf) -> float:
    """`value` as a number; YAML takes `1e-6` for text, so that may be one, too."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or number < least or number <= above:
        rule = "above 0" if above == 0 else "of 0 or more"
        raise VerifierError(f"{what} in the expected result should be a number {rule}, found {shown_value(value)}")
    return number
