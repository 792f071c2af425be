"""What results hold: their fields and defaults."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from slop_code.evaluation.adapters import APIResult, CaseResult, CaseResultError, CLIResult, GroupType
from slop_code.evaluation.adapters.base import as_result


def test_a_result_has_the_documented_defaults() -> None:
    result = CaseResult(id="a", group="g", group_type=GroupType.CORE)
    assert (result.type, result.elapsed, result.status_code, result.resource_path) == ("base", 0.0, 0, None)
    assert (result.adapter_error, result.output, result.stderr, result.timed_out) == (False, None, None, False)
    assert result.files == {}


def test_a_result_is_frozen_but_its_dicts_and_lists_can_be_changed() -> None:
    result = CaseResult(output={"a": [1]}, files={"x": "y"})
    with pytest.raises(ValidationError):
        result.output = 5  # type: ignore[misc]
    result.output["a"].append(2)
    result.files["z"] = b"\x00"
    assert (result.output, result.files) == ({"a": [1, 2]}, {"x": "y", "z": b"\x00"})
    assert CaseResult().files == {}


def test_execution_time_reads_as_elapsed() -> None:
    assert CaseResult(elapsed=1.5).execution_time == 1.5


def test_id_group_and_type_may_be_left_out() -> None:
    result = CaseResult(status_code=1)
    assert (result.id, result.group, result.group_type) == ("", "", None)


def test_filling_in_keeps_the_same_files_and_what_the_author_set() -> None:
    expected = CLIResult(output="x", files={"a": "b"})
    filled = expected.filled_in(id="case", group="g", group_type=GroupType.ERROR)
    assert (filled.id, filled.group, filled.group_type) == ("case", "g", "Error")
    assert filled.files is expected.files
    assert filled.model_fields_set == {"output", "files"}
    assert CLIResult(id="own").filled_in(id="case").id == "own"


def test_an_expected_result_may_carry_extra_fields() -> None:
    result = CaseResult(numbers=[1.5], tolerance=0.1, max_execution_time=2)
    assert getattr(result, "numbers", []) == [1.5]
    assert getattr(result, "tolerance", 1) == 0.1
    assert getattr(result, "fields", {}) == {}


def test_files_as_a_list_of_specs_is_kept_and_understood_as_a_mapping() -> None:
    specs: list[dict[str, Any]] = [
        {"path": "/app/a.json", "content": "{}"},
        {"path": "b", "contains": "x"},
        {"path": "c"},
    ]
    result = CaseResult(files=specs)
    assert [spec["path"] for spec in result.files] == ["/app/a.json", "b", "c"]
    assert result.files_by_name() == {"/app/a.json": "{}", "b": "x", "c": None}
    assert CaseResult(files={"a": 1}).files_by_name() == {"a": 1}


@pytest.mark.parametrize("wrong", [["a"], [{"content": "x"}], "a", 5])
def test_other_shapes_of_files_are_refused(wrong: Any) -> None:
    with pytest.raises(ValidationError, match="files"):
        CaseResult(files=wrong)


def test_a_cli_result_adds_the_command() -> None:
    result = CLIResult(command="python x.py")
    assert (result.type, result.command, CLIResult().command) == ("cli", "python x.py", None)


def test_an_api_result_adds_its_fields_with_lower_case_header_names() -> None:
    result = APIResult(headers={"Content-Type": "text/plain", "X-N": 5}, method="post")
    assert result.type == "api"
    assert result.headers == {"content-type": "text/plain", "x-n": "5"}
    assert (result.method, result.retries) == ("post", 0)
    assert (result.binary_response_base64, result.binary_response_filename, result.binary_response_size) == (None,) * 3


def test_a_plain_expected_result_becomes_the_adapters() -> None:
    expected = as_result(CaseResult(status_code=201, numbers=[1]), APIResult)
    assert isinstance(expected, APIResult)
    assert (expected.type, expected.status_code, expected.numbers) == ("api", 201, [1])  # type: ignore[attr-defined]
    assert expected.model_fields_set - {"numbers"} == {"status_code"}


def test_get_attr_works_on_results_too() -> None:
    result = CaseResult(output={"a": {"b": 1}})
    assert result.get_attr("output", "a.b") == 1
    with pytest.raises(CaseResultError):
        result.get_attr("output", "a.c")
