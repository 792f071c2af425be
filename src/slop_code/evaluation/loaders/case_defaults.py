"""Values that cases take from their group or file are checked once, where they stand."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from slop_code.documents import Document, Location
from slop_code.evaluation.loaders.case_file_models import CaseBody
from slop_code.findings import Findings, closest
from slop_code.validation import report_validation_error


def check_case_defaults(
    defaults: Mapping[str, Any], subject: str, document: Document, at: Location, findings: Findings
) -> None:
    """Report what would be wrong in every case that takes these values. They need not make a whole case."""
    known = set(CaseBody.model_fields)
    for key in defaults:
        match = closest(key, known) if key not in known else None
        if match:
            message = f'{subject} has unknown key "{key}" (did you mean "{match}"?)'
            findings.warning(message, document, (*at, key))
    values = {"expected": {}, **{key: value for key, value in defaults.items() if value is not None}}
    try:
        CaseBody.model_validate(values)
    except ValidationError as error:
        report_validation_error(error, values, lambda rest: (subject, rest), document, at, findings)
