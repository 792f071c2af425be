"""Secrets that a submission was given do not show up in what is kept of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slop_code.evaluation.verifiers.models import VerifierReport

MASK = "***"


def masked_report(report: VerifierReport, secrets: Sequence[str]) -> VerifierReport:
    """The report with every secret in its values, diffs and messages replaced; the verdict was made before."""
    if not secrets:
        return report
    results = {
        masked(name, secrets): result.model_copy(
            update={
                field: masked(getattr(result, field), secrets) for field in ("attribute", "actual", "expected", "diff")
            }
        )
        for name, result in report.results.items()
    }
    update = {name: masked(getattr(report, name), secrets) for name in ("case", "error", "warnings")}
    return report.model_copy(update={**update, "results": results})


def masked(value: Any, secrets: Sequence[str]) -> Any:
    """`value` with every secret in its texts replaced."""
    if isinstance(value, str):
        for secret in secrets:
            value = value.replace(secret, MASK)
        return value
    if isinstance(value, bytes):
        for secret in secrets:
            value = value.replace(secret.encode(), MASK.encode())
        return value
    if isinstance(value, dict):
        return {masked(key, secrets): masked(item, secrets) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [masked(item, secrets) for item in value]
    return value
