"""What the adapters share: their errors, the common configuration, and how cases reach them."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from slop_code.errors import SlopCodeError
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.validation import first_reason

CaseT = TypeVar("CaseT", bound=BaseCase)
ResultT = TypeVar("ResultT", bound=CaseResult)


class AdapterError(SlopCodeError):
    """A case could not be put to the submission, through no fault of the submission."""


class BaseAdapterConfig(BaseModel):
    """The keys that every `adapter:` block may have."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    tracked_files: list[str] = Field(
        default=[], description="Files, folders and globs in the workspace to collect after every case."
    )
    setup_script: str | None = Field(default=None, description="Accepted for old packages; never executed.")
    teardown_script: str | None = Field(default=None, description="Accepted for old packages; never executed.")


def as_case(case: BaseCase, wanted: type[CaseT]) -> CaseT:
    """`case` as the adapter's own class: itself, or a plain `BaseCase` converted field by field.

    Raises:
        AdapterError: the case was made for another adapter, or its fields do not fit this one.
    """
    if isinstance(case, wanted):
        return case
    if case.made_for not in {"", wanted.made_for}:
        raise AdapterError(
            f'case "{case.id}" is made for another adapter ({type(case).__name__}): '
            f"this problem takes {wanted.__name__}"
        )
    try:
        return wanted.model_validate(_given(case, wanted))
    except ValueError as error:
        raise AdapterError(f'case "{case.id}" is not a valid {wanted.__name__}: {first_reason(error)}') from error


def as_result(result: CaseResult, wanted: type[ResultT]) -> ResultT:
    """An expected result as the adapter's own class; what the author set stays what is set."""
    if isinstance(result, wanted):
        return result
    values = _given(result, wanted)
    values.pop("type", None)
    try:
        return wanted.model_validate(values)
    except ValueError as error:
        raise AdapterError(f"the expected result is not a valid {wanted.__name__}: {first_reason(error)}") from error


def _given(model: BaseModel, wanted: type[BaseModel]) -> dict[str, Any]:
    """What was set, what was changed in place since, and what only an author's own class declares."""
    own: dict[str, Any] = {}
    for name, field in type(model).model_fields.items():
        value = getattr(model, name)
        changed = name != "name" and value != field.get_default(call_default_factory=True)
        if changed or name in model.model_fields_set or name not in wanted.model_fields:
            own[name] = value
    return own | (model.model_extra or {})
