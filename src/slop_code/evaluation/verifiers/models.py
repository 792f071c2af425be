"""What a verifier returns for a case, and the report that is made of it."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, Self, runtime_checkable

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    PlainValidator,
    ValidationInfo,
    field_serializer,
    model_validator,
)

from slop_code.evaluation.adapters.models import BaseCase, CaseResult, GroupType
from slop_code.evaluation.verifiers.attributes import case_values, meant_attribute, paired_values
from slop_code.evaluation.verifiers.errors import VerifierError as VerifierError
from slop_code.evaluation.verifiers.json_text import from_json_text, printable, spelled_out, to_json_text, untagged
from slop_code.evaluation.verifiers.json_values import json_diff, json_safe, recordable
from slop_code.evaluation.verifiers.weighted import weighted_mean

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig

Outcome = Literal["passed", "failed", "timed out", "error"]


def _recorded_value(value: Any, info: ValidationInfo) -> Any:
    return recordable(untagged(value) if info.mode == "json" else value)


def _case_fields(value: Any, info: ValidationInfo) -> Any:
    fields = json_safe(untagged(value) if info.mode == "json" else value)
    return {spelled_out(name): item for name, item in fields.items()} if isinstance(fields, dict) else fields


Recorded = Annotated[Any, PlainValidator(_recorded_value)]
# Names and messages may come from a submission, and a lone surrogate in one would stop every writer of files.
Text = Annotated[str, AfterValidator(spelled_out)]


class VerificationResult(BaseModel):
    """The verdict on one attribute, and what differed."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    diff: Annotated[Any, PlainValidator(json_diff)]
    is_correct: bool
    weight: float = Field(default=1.0, gt=0.0, allow_inf_nan=False)

    @classmethod
    def create(cls, diff: Any, is_correct: bool, weight: float = 1.0) -> Self:
        """Make a result of a `DeepDiff` or any other value; what JSON cannot hold becomes text."""
        return cls(diff=diff, is_correct=is_correct, weight=weight)


VerifierReturnType = dict[str, VerificationResult]


@runtime_checkable
class VerifierProtocol(Protocol):
    """The interface of a verifier. It is made once per checkpoint and called once per case."""

    def __init__(self, checkpoint_config: CheckpointConfig) -> None: ...

    def __call__(self, group_name: str, case_name: str, actual: CaseResult, expected: CaseResult) -> VerifierReturnType:
        """Judge a result: attribute, `files-<name>` or a name of your own → verdict."""
        ...


class AttributeResult(BaseModel):
    """One line of a report: an attribute, both values, and the verdict if there is one.

    Values may be bytes. As JSON text they are written in the way that `json_text` describes.
    """

    model_config = ConfigDict(defer_build=True)

    attribute: Text
    actual: Recorded
    expected: Recorded
    diff: Recorded = None
    is_correct: bool | None = None
    weight: float = Field(default=1.0, ge=0.0, allow_inf_nan=False)

    @field_serializer("actual", "expected", "diff", when_used="json")
    def _as_json(self, value: Any) -> Any:
        return printable(value)

    def to_parquet_safe(self) -> dict[str, JsonValue]:
        """The fields as a row: `actual`, `expected` and `diff` are JSON text, whatever they hold."""
        return {
            "attribute": self.attribute,
            "actual": to_json_text(self.actual),
            "expected": to_json_text(self.expected),
            "diff": to_json_text(self.diff),
            "is_correct": self.is_correct,
            "weight": self.weight,
        }

    def __reduce_ex__(self, protocol: Any) -> str | tuple[Any, ...]:
        # Every report that leaves a verifier's process has a dozen of these, and their usual state takes twice as long.
        if type(self) is not AttributeResult:
            return super().__reduce_ex__(protocol)
        return _attribute_again, tuple(self.__dict__[name] for name in type(self).model_fields)

    @classmethod
    def from_parquet_row(cls, row: Mapping[str, Any]) -> Self:
        """The result that `to_parquet_safe` made the row of."""
        return cls(
            attribute=row["attribute"],
            actual=from_json_text(row["actual"]),
            expected=from_json_text(row["expected"]),
            diff=from_json_text(row["diff"]),
            is_correct=row["is_correct"],
            weight=row["weight"],
        )


class VerifierReport(BaseModel):
    """All that is known of one case after it was judged, or after that went wrong (`error`)."""

    model_config = ConfigDict(extra="forbid", use_enum_values=True, defer_build=True)

    id: Text
    group: Text
    type: GroupType
    timestamp: datetime = Field(default_factory=datetime.now)
    duration: float
    results: dict[str, AttributeResult]
    case: Annotated[dict[str, Any], BeforeValidator(_case_fields)] = {}
    original_checkpoint: str | None = None
    original_group: str | None = None
    outcome: Outcome | None = Field(default=None, description="Left out, it follows from error and results.")
    error: Text | None = Field(default=None, description="Why the case could not be judged.")
    warnings: list[Text] = []
    run_s: float | None = None
    cpu_s: float | None = None
    peak_memory: int | None = Field(default=None, description="Bytes.")
    output_cut: bool = False
    attempts: int = 1

    @field_serializer("case", when_used="json")
    def _case_as_json(self, value: Any) -> Any:
        return printable(value)

    @model_validator(mode="after")
    def _outcome_from_the_rest(self) -> Self:
        if self.outcome is None:
            self.outcome = "error" if self.error is not None else "passed" if self.did_pass() else "failed"
        return self

    def calculate_score(self) -> float:
        """The weighted share of verified attributes that are correct; 0.0 if none was verified."""
        return weighted_mean(
            (result.weight, float(bool(result.is_correct))) for result in self.get_verified_attributes()
        )

    def did_pass(self) -> bool:
        """Whether something was verified, all of it is correct, and there was no error."""
        verdicts = [result.is_correct for result in self.get_verified_attributes()]
        return self.error is None and bool(verdicts) and all(verdicts)

    def get_verified_attributes(self) -> Generator[AttributeResult, None, None]:
        """The attributes that the verifier judged."""
        return (result for result in self.results.values() if result.is_correct is not None)

    def format_result(self) -> dict[str, str]:
        """Verified attribute → "P" or "F"."""
        return {result.attribute: "P" if result.is_correct else "F" for result in self.get_verified_attributes()}

    def to_parquet_row(self) -> dict[str, Any]:
        """The report as a row of columns that have the same types in every row. Nothing is lost."""
        row = self.model_dump(exclude={"results", "case", "timestamp"})
        row["timestamp"] = self.timestamp.isoformat()
        row["results"] = [result.to_parquet_safe() for result in self.results.values()]
        row["case"] = [{"attribute": name, "value": to_json_text(value)} for name, value in self.case.items()]
        return row

    @classmethod
    def from_parquet_row(cls, row: Mapping[str, Any]) -> Self:
        """The report that `to_parquet_row` made the row of; columns that are not a report's are ignored."""
        fields = {name: row[name] for name in cls.model_fields if row.get(name) is not None}
        results = [AttributeResult.from_parquet_row(result) for result in fields.get("results", ())]
        fields["results"] = {result.attribute: result for result in results}
        fields["case"] = {item["attribute"]: from_json_text(item["value"]) for item in fields.get("case", ())}
        return cls.model_validate(fields)

    @classmethod
    def from_verifier_result(
        cls,
        case: BaseCase,
        duration: float,
        actual_result: CaseResult,
        expected_result: CaseResult,
        raw_results: Mapping[str, VerificationResult],
    ) -> Self:
        """Make the report of a case from what its verifier returned, with the values as they are now.

        Raises:
            VerifierError: `raw_results` is not a mapping of names to verification results.
        """
        _check_returned(raw_results)
        values = paired_values(actual_result, expected_result)
        others = [name for name in raw_results if name not in values]
        lines = [_attribute(name, *pair, raw_results.get(name)) for name, pair in values.items()]
        lines += [_attribute(name, None, None, raw_results[name]) for name in others]
        group_type = case.group_type or actual_result.group_type or expected_result.group_type
        if group_type is None:
            raise VerifierError(f'case "{case.id}" cannot be reported without a group_type')
        report = cls(
            id=case.id,
            group=case.group or actual_result.group,
            type=group_type,
            duration=duration,
            results={line.attribute: line for line in lines},
            case=case_values(case),
            original_checkpoint=case.original_checkpoint,
            original_group=case.original_group,
            warnings=_misspelled(others, values),
        )
        if actual_result.timed_out and report.outcome == "failed":
            report.outcome = "timed out"
        return report


def _attribute_again(*values: Any) -> AttributeResult:
    made = AttributeResult.__new__(AttributeResult)
    fields = dict(zip(AttributeResult.model_fields, values, strict=True))
    made.__setstate__(
        {
            "__dict__": fields,
            "__pydantic_fields_set__": set(fields),
            "__pydantic_extra__": None,
            "__pydantic_private__": None,
        }
    )
    return made


def _attribute(name: str, actual: Any, expected: Any, verdict: VerificationResult | None) -> AttributeResult:
    if verdict is None:
        return AttributeResult(attribute=name, actual=actual, expected=expected)
    return AttributeResult(
        attribute=name,
        actual=actual,
        expected=expected,
        diff=verdict.diff,
        is_correct=verdict.is_correct,
        weight=verdict.weight,
    )


def _check_returned(raw_results: object) -> None:
    if not isinstance(raw_results, Mapping):
        raise VerifierError(
            f"the verifier returned {type(raw_results).__name__}: "
            "it should return a dict of names to VerificationResult"
        )
    for name, verdict in raw_results.items():
        if not isinstance(name, str):
            raise VerifierError(f"the verifier returned the key {name!r}: keys should be str")
        if not isinstance(verdict, VerificationResult):
            raise VerifierError(
                f'the verifier returned {type(verdict).__name__} for "{name}": '
                "make it with VerificationResult.create(diff, is_correct, weight)"
            )


def _misspelled(names: list[str], attributes: Mapping[str, Any]) -> list[str]:
    return [
        f'the verifier returned "{name}", which is not an attribute of the result: did you mean "{meant}"? '
        "It counts, but has no actual and expected value"
        for name in names
        if (meant := meant_attribute(name, attributes.keys()))
    ]
