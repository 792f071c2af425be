"""What cases hold: their fields and defaults."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from pydantic import ValidationError

from slop_code.evaluation.adapters import APICase, BaseCase, CaseResultError, CLICase, GroupType
from slop_code.evaluation.adapters.base import AdapterError, as_case
from slop_code.execution.file_ops import InputFile


def test_group_type_is_a_str_enum_with_four_members() -> None:
    assert {member.name: member.value for member in GroupType} == {
        "CORE": "Core",
        "FUNCTIONALITY": "Functionality",
        "ERROR": "Error",
        "REGRESSION": "Regression",
    }
    assert all(isinstance(member, str) for member in GroupType)


def test_a_case_has_the_documented_defaults() -> None:
    case = BaseCase(id="a")
    assert (case.order, case.arguments, case.timeout_s, case.input_files, case.tracked_files) == (-1, [], None, [], [])
    assert (case.reset, case.original_group, case.original_checkpoint) == (False, None, None)
    assert (case.description, case.tags, case.priority, case.metadata) == ("", [], 0, {})
    assert (case.group, case.group_type, case.checkpoint) == ("", None, "")


def test_extra_fields_are_allowed_and_readable() -> None:
    case = BaseCase(id="a", flavour="sour")
    assert case.flavour == "sour"  # type: ignore[attr-defined]


def test_name_is_accepted_for_id_and_always_equal_to_it() -> None:
    case = BaseCase(name="first")  # type: ignore[call-arg]  # a type checker wants `id`
    assert (case.id, case.name) == ("first", "first")
    case.id = "second"
    assert case.name == "second"
    case.name = "third"
    assert case.id == "third"
    assert BaseCase(id="a", name="b").name == "a"
    assert case.model_copy(update={"name": "fourth"}).id == "fourth"
    assert case.model_copy(update={"id": "fifth"}).name == "fifth"


def test_name_is_a_real_attribute_for_code_that_looks_into_the_case() -> None:
    case = BaseCase(id="a")
    assert case.__dict__["name"] == "a"
    assert vars(BaseCase(name="b", arguments=["x"]))["name"] == "b"  # type: ignore[call-arg]
    assert "name" not in case.model_fields_set


def test_timeout_is_accepted_for_timeout_s() -> None:
    assert BaseCase(id="a", timeout=3).timeout_s == 3
    assert BaseCase(id="a", timeout_s="2.5").timeout_s == 2.5


@pytest.mark.parametrize("missing", [{}, {"id": ""}, {"id": None}])
def test_the_absence_of_an_id_is_an_error(missing: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        BaseCase(**missing)


def test_a_case_is_mutable() -> None:
    case = CLICase(id="a")
    case.stdin = "x"
    case.arguments.append("y")
    assert (case.stdin, case.arguments) == ("x", ["y"])
    assert CLICase(id="b").arguments == []


def test_a_case_can_be_copied() -> None:
    case = CLICase(id="a", input_files=[InputFile(path="x.txt", content="y")])
    assert copy.deepcopy(case) == case


def test_get_attr_reads_fields_extras_and_paths_below_them() -> None:
    case = BaseCase(id="a", metadata={"user": {"names": ["x", "y"]}}, own=1)
    assert case.get_attr("id") == "a"
    assert case.get_attr("own") == 1
    assert case.get_attr("metadata", "user.names.1") == "y"
    assert case.get_attr("metadata", ["user", "names", 0]) == "x"


@pytest.mark.parametrize(
    ("name", "path"), [("nothing", None), ("metadata", "x"), ("metadata", "a.b"), ("metadata", "l.9"), ("id", "x.y")]
)
def test_get_attr_of_something_missing_is_a_case_result_error(name: str, path: str | None) -> None:
    with pytest.raises(CaseResultError, match=name):
        BaseCase(id="a", metadata={"a": 1, "l": [1]}).get_attr(name, path)


@pytest.mark.parametrize("model", [BaseCase, CLICase])
def test_a_string_for_arguments_is_one_shell_fragment_kept_whole(model: type[BaseCase]) -> None:
    assert model(id="a", arguments="add '2 3' && ls").arguments == ["add '2 3' && ls"]


def test_numbers_in_arguments_become_text_and_other_things_are_refused() -> None:
    assert BaseCase(id="a", arguments=["x", 1, 2.5]).arguments == ["x", "1", "2.5"]
    for wrong in ([True], [None], [["x"]], 5):
        with pytest.raises(ValidationError):
            BaseCase(id="a", arguments=wrong)


def test_none_where_a_list_belongs_is_an_empty_list() -> None:
    nothing: Any = None
    case = BaseCase(
        id="a", arguments=nothing, tags=nothing, input_files=nothing, tracked_files=nothing, metadata=nothing
    )
    assert (case.arguments, case.tags, case.input_files, case.tracked_files, case.metadata) == ([], [], [], [], {})


@pytest.mark.parametrize("wrong", [0, -1, float("nan"), float("inf"), True, "soon"])
def test_a_timeout_is_a_positive_finite_number(wrong: Any) -> None:
    with pytest.raises(ValidationError):
        BaseCase(id="a", timeout_s=wrong)


@pytest.mark.parametrize("written", ["Core", "core", GroupType.CORE])
def test_group_type_of_a_case_may_be_plain_text(written: Any) -> None:
    assert BaseCase(id="a", group_type=written).group_type is GroupType.CORE


def test_a_cli_case_adds_stdin() -> None:
    assert CLICase(id="a").stdin is None
    assert CLICase(id="a", stdin="x").stdin == "x"


def test_an_api_case_has_the_documented_defaults() -> None:
    case = APICase(id="a")
    assert (case.method, case.path, case.headers, case.body, case.retries) == ("GET", "", {}, None, 0)
    assert case.get_query_params() == {}


@pytest.mark.parametrize("body", ["text", b"\x00\xff", {"a": 1}, [1], 5, None])
def test_a_body_may_be_anything(body: Any) -> None:
    assert APICase(id="a", body=body).body == body


def test_query_and_arguments_together_are_an_error() -> None:
    with pytest.raises(ValidationError, match='"query" and "arguments" cannot both be given'):
        APICase(id="a", query={"x": 1}, arguments=["y=2"])
    assert APICase(id="a", query={}, arguments=["y=2"]).get_query_params() == {"y": "2"}


def test_without_a_query_arguments_of_the_form_k_v_are_the_query() -> None:
    assert APICase(id="a", query={"x": 1}).get_query_params() == {"x": 1}
    case = APICase(id="a", arguments=["x=1", "y=a=b", "z=", "x=2", "x=3"])
    assert case.get_query_params() == {"x": ["1", "2", "3"], "y": "a=b", "z": ""}
    with pytest.raises(AdapterError, match='argument "--mode" is not of the form key=value'):
        APICase(id="a", arguments=["--mode"]).get_query_params()


def test_a_plain_base_case_is_converted_to_the_adapters_class() -> None:
    plain = BaseCase(name="a", arguments=["x"], stdin="in", method="POST", path="/p", timeout=5)  # type: ignore[call-arg]
    cli = as_case(plain, CLICase)
    assert isinstance(cli, CLICase)
    assert (cli.id, cli.stdin, cli.arguments, cli.timeout_s) == ("a", "in", ["x"], 5)
    api = as_case(BaseCase(name="a", method="POST", path="/p", query={"q": 1}), APICase)  # type: ignore[call-arg]
    assert isinstance(api, APICase)
    assert (api.method, api.path, api.query) == ("POST", "/p", {"q": 1})


def test_conversion_keeps_what_was_set_apart_from_what_was_not() -> None:
    assert "timeout_s" not in as_case(BaseCase(id="a"), CLICase).model_fields_set
    assert "timeout_s" in as_case(BaseCase(id="a", timeout_s=None), CLICase).model_fields_set


def test_a_case_of_the_right_class_is_given_as_it_is() -> None:
    case = CLICase(id="a")
    assert as_case(case, CLICase) is case


def test_a_case_of_the_other_adapter_is_a_clear_error() -> None:
    with pytest.raises(
        AdapterError, match=r'case "a" is made for another adapter \(APICase\): this problem takes CLICase'
    ):
        as_case(APICase(id="a"), CLICase)


def test_a_case_that_does_not_fit_names_the_field() -> None:
    with pytest.raises(AdapterError, match='case "a" is not a valid CLICase: stdin'):
        as_case(BaseCase(id="a", stdin=[5]), CLICase)


def test_conversion_keeps_what_was_changed_in_place_and_what_an_authors_class_declares() -> None:
    class Mine(BaseCase):
        flavour: str = "sour"

    case = Mine(id="a")
    case.arguments.append("--verbose")
    converted = as_case(case, CLICase)
    assert converted.arguments == ["--verbose"]
    assert converted.flavour == "sour"  # type: ignore[attr-defined]
    with pytest.raises(AdapterError, match="another adapter"):
        as_case(type("Sub", (APICase,), {})(id="a"), CLICase)


@pytest.mark.parametrize("field", ["description", "priority", "group", "checkpoint", "order", "reset"])
def test_nothing_where_a_value_belongs_was_not_given(field: str) -> None:
    case = APICase.model_validate({"id": "a", field: None})
    assert getattr(case, field) == getattr(APICase(id="a"), field)
    assert field not in case.model_fields_set


def test_priorities_are_ordered_by_rank_in_filters_of_any_kind() -> None:
    low, normal, high = (BaseCase(id="a", priority=word).priority for word in ("low", "normal", "HIGH"))
    assert (low, high) == ("low", "HIGH")
    assert high >= "normal"
    assert not low >= "normal"
    assert normal >= 1
    assert normal <= 1
    assert BaseCase(id="a", priority="2").priority == 2
    with pytest.raises(ValidationError, match="use low, normal, high or a number"):
        BaseCase(id="a", priority="urgent")


def test_a_mocks_attributes_are_not_real_names() -> None:
    from unittest.mock import Mock

    group = Mock()
    case = CLICase(id="a", original_group=group.original_group, original_checkpoint=group.original_checkpoint)
    assert (case.original_group, case.original_checkpoint) == (None, None)


def test_extras_named_like_a_method_of_pydantic_are_what_the_author_wrote() -> None:
    case = BaseCase.model_validate({"id": "a", "schema": {"type": "object"}, "json": 1})
    assert getattr(case, "schema", None) == {"type": "object"}
    assert getattr(case.model_copy(update={"id": "b"}), "schema", None) == {"type": "object"}
    assert case.model_dump()["schema"] == {"type": "object"}
