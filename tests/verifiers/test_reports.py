"""What a report holds, its score and verdict, and its row."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from slop_code.evaluation.adapters.api import APICase, APIResult
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.verifiers import (
    AttributeResult,
    VerificationResult,
    VerifierError,
    VerifierProtocol,
    VerifierReport,
)
from slop_code.evaluation.verifiers.attributes import CASE_VALUE_LIMIT
from tests.verifiers.strategies import JSON, RECORDABLE

CASE = CLICase(id="one", group="core", group_type="Core", checkpoint="checkpoint_1")
RIGHT = VerificationResult.create("✓", True)
WRONG = VerificationResult.create("✗", False)


def reported(
    returned: Any, actual: CaseResult | None = None, expected: CaseResult | None = None, case: BaseCase = CASE
) -> VerifierReport:
    return VerifierReport.from_verifier_result(
        case=case,
        duration=0.25,
        actual_result=CLIResult() if actual is None else actual,
        expected_result=CLIResult() if expected is None else expected,
        raw_results=returned,
    )


def attribute(name: str, is_correct: bool | None = None, weight: float = 1.0) -> AttributeResult:
    return AttributeResult(attribute=name, actual=1, expected=2, is_correct=is_correct, weight=weight)


def report(*lines: AttributeResult, **fields: Any) -> VerifierReport:
    results = {line.attribute: line for line in lines}
    return VerifierReport(**{"id": "x", "group": "g", "type": "Core", "duration": 1, "results": results, **fields})


def test_the_score_is_the_weighted_share_of_correct_attributes() -> None:
    lines = (attribute("a", True, 1.0), attribute("b", True, 0.5), attribute("c", False, 0.3), attribute("d"))
    assert report(*lines).calculate_score() == pytest.approx(1.5 / 1.8)


def test_the_score_is_0_if_nothing_was_verified() -> None:
    assert report(attribute("a")).calculate_score() == 0.0
    assert report().calculate_score() == 0.0
    assert report(attribute("a", True, 0.0)).calculate_score() == 0.0


def test_no_weights_make_the_score_anything_but_a_number() -> None:
    heavy = (attribute("a", True, 1.7e308), attribute("b", True, 1.7e308), attribute("c", False, 1.7e308))
    assert report(*heavy).calculate_score() == pytest.approx(2 / 3)
    assert report(attribute("a", True, 5e-324), attribute("b", False, 5e-324)).calculate_score() == 0.5
    assert report(attribute("a", False, 1.7e308), attribute("b", True, 1e-300)).calculate_score() == 0.0


def test_a_case_passes_if_all_verified_attributes_are_correct() -> None:
    assert report(attribute("a", True), attribute("b")).did_pass()
    assert not report(attribute("a", True), attribute("b", False)).did_pass()


def test_a_case_does_not_pass_if_nothing_was_verified() -> None:
    assert not report(attribute("a")).did_pass()


def test_a_case_does_not_pass_if_an_error_was_recorded() -> None:
    assert not report(attribute("a", True), error="the verifier raised").did_pass()


def test_verified_attributes_and_their_letters() -> None:
    made = report(attribute("a", True), attribute("b", False), attribute("c"))
    assert [line.attribute for line in made.get_verified_attributes()] == ["a", "b"]
    assert made.format_result() == {"a": "P", "b": "F"}


@pytest.mark.parametrize(
    ("lines", "fields", "outcome"),
    [
        ([attribute("a", True)], {}, "passed"),
        ([attribute("a", False)], {}, "failed"),
        ([], {}, "failed"),
        ([attribute("a", True)], {"error": "boom"}, "error"),
        ([attribute("a", False)], {"outcome": "timed out"}, "timed out"),
    ],
)
def test_the_outcome_follows_from_error_and_results_unless_it_is_given(
    lines: list[AttributeResult], fields: dict[str, Any], outcome: str
) -> None:
    assert report(*lines, **fields).outcome == outcome


def test_an_unknown_outcome_and_unknown_fields_are_refused() -> None:
    with pytest.raises(ValidationError):
        report(outcome="maybe")
    with pytest.raises(ValidationError):
        report(scroe=1)


def test_a_timed_out_result_is_judged_and_called_timed_out_only_if_it_did_not_pass() -> None:
    late = CLIResult(timed_out=True, status_code=-1)
    assert reported({"output": WRONG}, late).outcome == "timed out"
    assert reported({"output": RIGHT}, late).outcome == "passed"


def test_a_report_holds_one_attribute_for_each_field_of_either_result_without_files() -> None:
    made = reported({}, CLIResult(output="a"), CLIResult(output="b", tolerance=0.5))
    assert set(made.results) == {*CLIResult.model_fields, "tolerance"} - {"files"}
    line = made.results["output"]
    assert (line.attribute, line.actual, line.expected, line.is_correct) == ("output", "a", "b", None)
    assert (made.results["tolerance"].actual, made.results["tolerance"].expected) == (None, 0.5)


def test_results_of_different_kinds_are_reported_side_by_side() -> None:
    made = reported({}, APIResult(method="POST"), CaseResult(output=1))
    assert made.results["method"].actual == "POST"
    assert made.results["method"].expected is None


def test_a_report_holds_a_line_for_each_file_in_either_result() -> None:
    made = reported({}, CLIResult(files={"a": b"\xff", "b": "x"}), CLIResult(files={"b": "y", "c": [1]}))
    files = {name: (line.actual, line.expected) for name, line in made.results.items() if name.startswith("files")}
    assert files == {"files-a": (b"\xff", None), "files-b": ("x", "y"), "files-c": (None, [1])}


def test_expected_files_may_be_a_list_of_specs() -> None:
    specs = [{"path": "a", "content": "x"}, {"path": "b", "contains": "y"}, {"path": "c"}]
    made = reported({"files-a": RIGHT}, CLIResult(files={"a": "x"}), CLIResult(files=specs))
    assert (made.results["files-a"].actual, made.results["files-a"].expected) == ("x", "x")
    assert made.results["files-a"].is_correct is True
    assert made.results["files-b"].expected == "y"
    assert made.results["files-c"].expected is None


def test_verdicts_are_in_the_attributes_lines() -> None:
    made = reported({"output": VerificationResult.create({"d": 1}, False, 0.4)})
    line = made.results["output"]
    assert (line.diff, line.is_correct, line.weight) == ({"d": 1}, False, 0.4)


@pytest.mark.parametrize("key", ["structure", "json_parse", "number_0", "field_user.name", "files-unknown"])
def test_every_other_key_counts_with_actual_and_expected_none(key: str) -> None:
    made = reported({"output": RIGHT, key: VerificationResult.create("why", False, 3)})
    line = made.results[key]
    assert (line.actual, line.expected, line.diff, line.is_correct) == (None, None, "why", False)
    assert made.calculate_score() == 0.25
    assert made.warnings == []


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("stdout", "output"),
        ("ouput", "output"),
        ("Output", "output"),
        ("outptu", "output"),
        ("stderror", "stderr"),
        ("status", "status_code"),
        ("status-code", "status_code"),
        ("exit_code", "status_code"),
        ("file-x", "files-x"),
        ("files_x", "files-x"),
        ("files-./x", "files-x"),
        ("files-deep/reslt.json", "files-deep/result.json"),
    ],
)
def test_a_key_within_a_typo_of_a_real_attribute_gets_a_warning_and_counts(key: str, meant: str) -> None:
    actual = CLIResult(files={"x": "1", "deep/result.json": "{}"})
    made = reported({key: WRONG}, actual)
    (warning,) = made.warnings
    assert f'"{key}"' in warning
    assert f'"{meant}"' in warning
    assert made.results[key].is_correct is False


@pytest.mark.parametrize("key", ["correctness", "format", "number_1", "files-2.txt", "formatting", "performance"])
def test_names_of_ones_own_get_no_warning(key: str) -> None:
    expected = CLIResult(files={"1.txt": ""}, numbers=[1, 2])
    assert reported({key: RIGHT}, expected=expected).warnings == []


def test_what_the_verifier_changed_in_the_files_shows() -> None:
    actual, expected = CLIResult(files={"a": "x"}), CLIResult()
    actual.files["shape"] = [{"account": 1}]
    expected.files["shape"] = "each entry has an account"
    made = reported({"files-shape": RIGHT}, actual, expected)
    assert made.results["files-shape"].actual == [{"account": 1}]
    assert made.results["files-shape"].expected == "each entry has an account"


def test_what_is_changed_after_the_report_was_made_does_not_show() -> None:
    actual = CLIResult(output={"rows": [1]})
    made = reported({"output": RIGHT}, actual)
    actual.output["rows"].append(2)
    assert made.results["output"].actual == {"rows": [1]}


def test_anything_that_a_verifier_put_into_a_result_can_be_reported() -> None:
    cycle: list[Any] = []
    cycle.append(cycle)
    made = reported({}, CLIResult(files={"odd": {1: {2, 3}}, "cycle": cycle}))
    assert made.results["files-odd"].actual == {"1": [2, 3]}
    assert VerifierReport.from_parquet_row(made.to_parquet_row()) == made


def test_a_report_names_its_case_and_where_a_regression_came_from() -> None:
    case = CASE.model_copy(update={"original_checkpoint": "checkpoint_1", "original_group": "core"})
    made = reported({"output": RIGHT}, case=case)
    assert (made.id, made.group, made.type, made.duration) == ("one", "core", "Core", 0.25)
    assert (made.original_checkpoint, made.original_group) == ("checkpoint_1", "core")


def test_a_group_type_is_taken_from_the_result_if_the_case_has_none() -> None:
    case = BaseCase(id="x")
    assert reported({}, CLIResult(group="g", group_type="Error"), case=case).type == "Error"
    with pytest.raises(VerifierError, match="group_type"):
        reported({}, case=case)


def test_the_cases_fields_are_kept_as_json() -> None:
    case = APICase(id="x", group_type="Core", body=b"\xff", seed={1: {2}}, query={"q": 1})
    fields = reported({}, case=case).case
    assert fields["id"] == "x"
    assert fields["group_type"] == "Core"
    assert fields["body"] == "\\xff"
    assert fields["seed"] == {"1": [2]}
    assert fields["query"] == {"q": 1}


def test_input_contents_in_the_case_are_cut_at_a_stated_size() -> None:
    long = "x" * (CASE_VALUE_LIMIT + 1)
    files = [
        {"path": "a.txt", "content": long},
        {"path": "b.json", "content": [1]},
        {"path": "c.json", "content": [long]},
    ]
    case = CLICase(id="x", group_type="Core", stdin=long, input_files=files)
    fields = reported({}, case=case).case
    first, second, third = fields["input_files"]
    mark = f"… (cut: {CASE_VALUE_LIMIT} of {len(long)} characters shown)"
    assert first["content"] == long[:CASE_VALUE_LIMIT] + mark
    assert fields["stdin"] == first["content"]
    assert (second["path"], second["file_type"], second["content"]) == ("b.json", "json", [1])
    assert len(third["content"]) < CASE_VALUE_LIMIT + 50


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        (None, "NoneType"),
        ([RIGHT], "list"),
        ({"output": True}, '"output"'),
        ({"output": (True, "x")}, "VerificationResult.create"),
        ({1: RIGHT}, "key 1"),
    ],
)
def test_a_verifier_that_returns_something_else_is_told_what(returned: Any, said: str) -> None:
    with pytest.raises(VerifierError, match=said):
        reported(returned)


@given(RECORDABLE, RECORDABLE, JSON, st.sampled_from([True, False, None]), st.floats(0, 100))
def test_an_attributes_row_is_lossless(
    actual: Any, expected: Any, diff: Any, is_correct: bool | None, weight: float
) -> None:
    line = AttributeResult(
        attribute="a", actual=actual, expected=expected, diff=diff, is_correct=is_correct, weight=weight
    )
    row = line.to_parquet_safe()
    assert all(isinstance(row[name], str) for name in ("actual", "expected", "diff"))
    assert repr(AttributeResult.from_parquet_row(row)) == repr(line)
    AttributeResult.model_validate_json(line.model_dump_json())


@given(JSON | st.binary())
def test_a_value_survives_the_models_own_json_too(value: Any) -> None:
    line = AttributeResult(attribute="a", actual=value, expected=None)
    text = line.model_dump_json()
    if "\\\\ud" not in text and "\\ud" not in text:  # a lone surrogate is spelled out, for good
        assert repr(AttributeResult.model_validate_json(text).actual) == repr(value)


@given(JSON, st.text(max_size=5), st.datetimes())
def test_a_reports_row_is_lossless(value: Any, text: str, timestamp: datetime) -> None:
    made = report(
        AttributeResult(attribute="output", actual=value, expected=b"\xff", diff={"d": value}, is_correct=False),
        attribute("status_code", True, 0.25),
        timestamp=timestamp,
        case={"id": "x", "extra": value},
        original_checkpoint="checkpoint_1",
        error=text,
        warnings=[text, "two"],
        run_s=0.5,
        cpu_s=0.25,
        peak_memory=1 << 40,
        output_cut=True,
        attempts=2,
    )
    assert VerifierReport.from_parquet_row(made.to_parquet_row()) == made


def test_a_row_survives_arrow_and_other_columns_beside_it() -> None:
    made = reported({"output": WRONG}, CLIResult(output="5", files={"a": b"\xff"}), CLIResult(output=5))
    row = {**made.to_parquet_row(), "problem": "p", "checkpoint": "c", "version": 1}
    (read,) = pyarrow.Table.from_pylist([row]).to_pylist()
    assert VerifierReport.from_parquet_row(read) == made
    assert VerifierReport.from_parquet_row(read).results["output"].actual == "5"


def test_a_row_of_before_a_column_existed_can_be_read() -> None:
    row = report(attribute("a", True)).to_parquet_row()
    for name in ("outcome", "warnings", "attempts", "case", "output_cut"):
        del row[name]
    read = VerifierReport.from_parquet_row(row)
    assert (read.outcome, read.warnings, read.attempts, read.case) == ("passed", [], 1, {})


def test_a_timestamp_keeps_its_zone() -> None:
    made = report(timestamp=datetime(2024, 5, 6, 7, 8, 9, 10, tzinfo=UTC))
    assert VerifierReport.from_parquet_row(made.to_parquet_row()).timestamp == made.timestamp
    assert report().timestamp.tzinfo is None


def test_names_and_messages_with_lone_surrogates_can_be_written_anywhere() -> None:
    made = reported({"odd \udcff": RIGHT}, CLIResult(output="\ud800", files={"f\udcff": "x"}))
    made = VerifierReport(**{**dict(made), "case": {"\ud800": "\ud800"}})
    made.model_dump_json()
    assert "files-f\\udcff" in made.results
    pyarrow.Table.from_pylist([made.to_parquet_row()])
    assert VerifierReport.from_parquet_row(made.to_parquet_row()) == made


def test_the_protocol_can_be_checked_at_run_time() -> None:
    class Verifier:
        def __init__(self, checkpoint_config: Any) -> None:
            self.config = checkpoint_config

        def __call__(self, group_name: str, case_name: str, actual: Any, expected: Any) -> Any:
            return {}

    assert isinstance(Verifier(None), VerifierProtocol)
    assert not isinstance(3, VerifierProtocol)


class NotedResult(AttributeResult):
    note: str = ""


@pytest.mark.parametrize(
    "result",
    [
        AttributeResult(
            attribute="output", actual=b"\xff", expected=["a", None], diff={"x": 1}, is_correct=False, weight=2.0
        ),
        AttributeResult(attribute="elapsed", actual=0.5, expected=None),
        NotedResult(attribute="output", actual="a", expected="b", note="kept"),
    ],
)
def test_a_line_of_a_report_leaves_its_process_whole(result: AttributeResult) -> None:
    again = pickle.loads(pickle.dumps(result))
    assert (type(again), again) == (type(result), result)
    assert again.model_dump() == result.model_dump()
    assert again.model_copy(update={"weight": 3.0}).weight == 3.0
