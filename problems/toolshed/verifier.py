"""Status, headers and body of an answer, each field of the body on its own.

In expectations, `<id>` stands for any well-formed id, and `<text>` for any text that is not empty. In a header,
`<id>` is the id of the answer at hand.
"""

import re
from typing import Any

from slop_code.evaluation import CheckpointConfig
from slop_code.evaluation.adapters import APIResult
from slop_code.evaluation.verifiers import (
    VerificationResult,
    VerifierReturnType,
    deepdiff_verify,
    matches_status_code,
)

WEIGHTS = {"status_code": 2.0, "structure": 1.0, "header": 0.5}
FIELD_WEIGHTS = {"error": 2.0, "fee": 2.0, "message": 0.25}  # any other field: 1.0
PATTERNS = {"<id>": re.compile(r"[a-z0-9-]{4,40}"), "<text>": re.compile(r".*\S.*", re.DOTALL)}


class Verifier:
    def __init__(self, checkpoint_config: CheckpointConfig) -> None:
        self.checkpoint = checkpoint_config

    def __call__(self, group_name: str, case_name: str, actual: APIResult, expected: APIResult) -> VerifierReturnType:
        results = {"status_code": matches_status_code(actual.status_code, expected.status_code, WEIGHTS["status_code"])}
        for name, wanted in expected.headers.items():
            results[f"header_{name}"] = judge_header(name, wanted, actual)
        if expected.output is None:
            results["output"] = judge_emptiness(actual.output)
            return results
        results["header_content-type"] = judge_content_type(actual.headers.get("content-type"))
        # What is not an object has none of the fields.
        found = actual.output if isinstance(actual.output, dict) else {}
        results["structure"] = judge_structure(found, expected.output)
        for name, wanted in expected.output.items():
            results[f"field_{name}"] = judge_field(name, found, wanted)
        return results


def judge_header(name: str, wanted: str, actual: APIResult) -> VerificationResult:
    body = actual.output if isinstance(actual.output, dict) else {}
    wanted = wanted.replace("<id>", str(body.get("id")))
    found = actual.headers.get(name)
    return VerificationResult.create(
        diff=f"{name}: expected {wanted!r}, got {found!r}", is_correct=found == wanted, weight=WEIGHTS["header"]
    )


def judge_content_type(found: str | None) -> VerificationResult:
    kind = (found or "").partition(";")[0].strip().lower()
    return VerificationResult.create(
        diff=f"content-type: expected 'application/json', got {found!r}",
        is_correct=kind == "application/json",
        weight=WEIGHTS["header"],
    )


def judge_emptiness(found: Any) -> VerificationResult:
    empty = found in (None, "")
    diff = "no body" if empty else f"expected no body, got {shown(found)}"
    return VerificationResult.create(diff, empty, WEIGHTS["structure"])


def judge_structure(found: dict[str, Any], wanted: dict[str, Any]) -> VerificationResult:
    missing, unexpected = sorted(wanted.keys() - found.keys()), sorted(found.keys() - wanted.keys())
    diff = {"missing": missing, "unexpected": unexpected} if missing or unexpected else "the fields that it should have"
    return VerificationResult.create(diff, not missing and not unexpected, WEIGHTS["structure"])


def judge_field(name: str, found: dict[str, Any], wanted: Any) -> VerificationResult:
    weight = FIELD_WEIGHTS.get(name, 1.0)
    if name not in found:
        return VerificationResult.create(f"{name}: expected {wanted!r}, but there is none", False, weight)
    value = as_pattern(found[name], wanted)
    if isinstance(wanted, (dict, list)):
        return deepdiff_verify(value, wanted, weight=weight)
    # In Python, True equals 1.
    same = value == wanted and isinstance(value, bool) == isinstance(wanted, bool)
    return VerificationResult.create(f"{name}: expected {wanted!r}, got {shown(found[name])}", same, weight)


def shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def as_pattern(found: Any, wanted: Any) -> Any:
    """What was found, with the pattern itself in the place of each text that matches one."""
    if isinstance(found, dict) and isinstance(wanted, dict):
        return {key: as_pattern(value, wanted.get(key)) for key, value in found.items()}
    if isinstance(found, list) and isinstance(wanted, list):
        return [*map(as_pattern, found, wanted), *found[len(wanted) :]]
    pattern = PATTERNS.get(wanted) if isinstance(wanted, str) else None
    if pattern and isinstance(found, str) and pattern.fullmatch(found):
        return wanted
    return found
