"""`verifiers.parsers`."""

from __future__ import annotations

import builtins
import io
import json
import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.parsers import (
    convert_to_io,
    drop_keys_from_dicts,
    ensure_expected_is_not_none,
    ensure_non_null_string,
    extract_actual_output,
    maybe_split_string,
    parse_csv_content,
    parse_json,
    parse_jsonl,
    parse_markdown_table,
    parse_yaml,
    parse_yaml_file,
)
from tests.verifiers.strategies import JSON

BAD_TABLE = [{"error": "Invalid markdown table"}]
TABLE = """
| account | amount |

|---------|--------|
| cash    | 10.50  |
| bank    |        |
"""


def test_text_and_bytes_are_read_like_files() -> None:
    text, raw = convert_to_io("a"), convert_to_io(b"\xff")
    assert isinstance(text, io.StringIO)
    assert text.read() == "a"
    assert isinstance(raw, io.BytesIO)
    assert raw.read() == b"\xff"


@pytest.mark.parametrize(("value", "text"), [("a", "a"), (b"\xc3\xa9", "é"), (5, "5"), ([1], "[1]"), (" a ", " a ")])
def test_a_non_null_string_is_the_values_text(value: Any, text: str) -> None:
    assert ensure_non_null_string(value) == text


@pytest.mark.parametrize("value", [None, "", " \n", b" "])
def test_a_blank_string_is_an_error_unless_it_is_allowed(value: Any) -> None:
    with pytest.raises(VerifierError):
        ensure_non_null_string(value)
    assert ensure_non_null_string(value, allow_empty=True).strip() == ""
    assert ensure_non_null_string(None, True) == ""


def test_an_expected_value_must_not_be_none() -> None:
    assert ensure_expected_is_not_none("") == ""
    assert ensure_expected_is_not_none(5) == "5"
    with pytest.raises(VerifierError):
        ensure_expected_is_not_none(None)


def test_output_is_extracted_split_picked_and_stripped() -> None:
    actual = CLIResult(output="head\n----\n one \n----\n two \n", stderr="oops")
    assert extract_actual_output(actual) == actual.output
    assert extract_actual_output(actual, "----\n") == " two \n"
    assert extract_actual_output(actual, "----\n", 1) == " one \n"
    assert extract_actual_output(actual, "----\n", strip=True) == "two"
    assert extract_actual_output(actual, output_key="stderr") == "oops"


def test_bytes_are_decoded_and_none_stays_none() -> None:
    assert extract_actual_output(CLIResult(output=b"\xc3\xa9")) == "é"
    assert extract_actual_output(CLIResult(output=b"\xe9"), decode="latin-1") == "é"
    assert extract_actual_output(CLIResult(), "x", strip=True) is None


def test_an_answer_that_is_no_text_is_extracted_as_it_is() -> None:
    assert extract_actual_output(CLIResult(output={"a": 1}), "x", strip=True) == {"a": 1}


def test_an_unknown_key_or_undecodable_bytes_are_errors() -> None:
    with pytest.raises(VerifierError, match='"stdout"'):
        extract_actual_output(CLIResult(), output_key="stdout")
    with pytest.raises(VerifierError, match="utf-8"):
        extract_actual_output(CLIResult(output=b"\xff"))
    with pytest.raises(VerifierError, match="no-such"):
        extract_actual_output(CLIResult(output=b"x"), decode="no-such")


def test_a_string_is_split_only_if_there_is_a_separator() -> None:
    assert maybe_split_string(None, "x") == ""
    assert maybe_split_string("a,b") == "a,b"
    assert maybe_split_string("a,b", ",") == "b"
    assert maybe_split_string("a,b", ",", 0) == "a"
    assert maybe_split_string("ab", ",") == "ab"
    with pytest.raises(VerifierError, match="part 5"):
        maybe_split_string("a,b", ",", 5)


def test_a_markdown_table_gives_stripped_keys_and_values_without_blank_lines_and_keys() -> None:
    assert parse_markdown_table(TABLE) == [
        {"account": "cash", "amount": "10.50"},
        {"account": "bank", "amount": ""},
    ]
    assert parse_markdown_table(TABLE.encode()) == parse_markdown_table(TABLE)
    assert parse_markdown_table(TABLE.replace("\n", "\r\n")) == parse_markdown_table(TABLE)
    assert parse_markdown_table("a|b\n-|-\n1|2") == [{"a": "1", "b": "2"}]


@pytest.mark.parametrize("content", [None, "", "\n \n", "| a |", "| a |\n|---|"])
def test_a_markdown_table_without_rows_is_empty(content: str | None) -> None:
    assert parse_markdown_table(content) == []


@pytest.mark.parametrize("second", ["| 1 |", "whatever", "| 1 | 2 | 3 |"])
def test_the_first_data_row_is_skipped_whatever_it_holds(second: str) -> None:
    assert parse_markdown_table(f"| a |\n{second}\n| 2 |") == [{"a": "2"}]


def test_cells_of_a_markdown_table_are_quoted_as_in_csv() -> None:
    assert parse_markdown_table('|a|b|\n|-|-|\n|"x|y"|"say ""hi"""|') == [{"a": "x|y", "b": 'say "hi"'}]


@pytest.mark.parametrize("row", ["| 1 |", "| 1 | 2 | 3 |", "| 1 | 2", '|"open | 2 |'])
def test_a_row_with_too_few_or_too_many_cells_spoils_the_whole_table(row: str) -> None:
    table = f"| a | b |\n|---|---|\n| 1 | 2 |\n{row}"
    with pytest.raises(VerifierError, match="cells"):
        parse_markdown_table(table)
    assert parse_markdown_table(table, allow_errors=True) == BAD_TABLE


@pytest.mark.parametrize("content", [b"\xff", 5, ["a"], {"a": 1}])
def test_what_is_no_text_is_no_markdown_table(content: Any) -> None:
    with pytest.raises(VerifierError):
        parse_markdown_table(content)
    assert parse_markdown_table(content, True) == BAD_TABLE


def test_keys_are_dropped_from_copies() -> None:
    rows = [{"a": 1, "b": 2}, {"b": 3}, "x"]
    assert drop_keys_from_dicts(rows, {"b"}) == [{"a": 1}, {}, "x"]
    assert drop_keys_from_dicts(rows, ["a", "b"]) == [{}, {}, "x"]
    assert drop_keys_from_dicts(rows, "b") == [{"a": 1}, {}, "x"]
    assert drop_keys_from_dicts(rows) == rows
    assert rows[0] == {"a": 1, "b": 2}


def test_csv_gives_records_with_types_and_none_for_what_is_missing() -> None:
    text = "id,name,x,ok\n1,a,1.5,True\n2,,,False\n"
    rows = [{"id": 1, "name": "a", "x": 1.5, "ok": True}, {"id": 2, "name": None, "x": None, "ok": False}]
    for content in (text, text.encode()):
        assert parse_csv_content(content) == rows
        assert [type(value) for value in parse_csv_content(content)[0].values()] == [int, str, float, bool]


def test_csv_that_was_read_already_is_left_as_it_is() -> None:
    rows = [{"a": 1}]
    assert parse_csv_content(None) == []
    assert parse_csv_content(rows) is rows
    assert parse_csv_content({"a": 1}) == [{"a": 1}]
    with pytest.raises(VerifierError, match="int"):
        parse_csv_content(5)


@pytest.mark.parametrize("content", ["", "\n", b"\xff\xfe\xff", 'a,b\n1,2,3\n1,2,3,4,5\n"x', "a\n1,2\n1,2,3,4"])
def test_unreadable_csv_is_empty_or_an_error(content: Any) -> None:
    assert parse_csv_content(content) == []
    with pytest.raises(VerifierError, match="CSV"):
        parse_csv_content(content, allows_error=False)


def test_without_pandas_csv_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pandas(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "pandas":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without_pandas)
    with pytest.raises(VerifierError, match=r"slop-code\[problems\]"):
        parse_csv_content("a\n1")
    assert parse_csv_content(None) == []


@pytest.mark.parametrize(
    "content", [None, "", " \n", "a: [", "a: b: c", b"\xff", "2021-13-45", "&a [*a]", "!!python/object:x {}"]
)
def test_yaml_that_is_none_blank_or_invalid_is_empty(content: Any) -> None:
    assert parse_yaml(content) == {}


def test_yaml_gives_whatever_the_text_holds() -> None:
    assert parse_yaml("a: [1, x]") == {"a": [1, "x"]}
    assert parse_yaml(b"- 1\n- 2") == [1, 2]
    assert parse_yaml("5") == 5
    assert parse_yaml({"a": 1}) == {"a": 1}


@pytest.mark.parametrize("content", [[1], 5, 1.5, True])
def test_a_list_or_number_is_no_yaml(content: Any) -> None:
    with pytest.raises(VerifierError, match="YAML"):
        parse_yaml(content)


def test_yaml_that_would_grow_beyond_measure_counts_as_invalid() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert parse_yaml("\n".join(lines)) == {}
    assert parse_yaml("a: &a [1]\nb: *a") == {"a": [1], "b": [1]}


def test_a_yaml_file_of_a_result() -> None:
    result = CLIResult(files={"a.yaml": "x: 1", "empty.yaml": "", "bad.yaml": "a: [", "read": {"x": 2}, "list": [1]})
    assert parse_yaml_file(result, "a.yaml") == {"x": 1}
    assert parse_yaml_file(result, "empty.yaml") == parse_yaml_file(result, "bad.yaml") == {}
    assert parse_yaml_file(result, "read") == {"x": 2}
    with pytest.raises(VerifierError, match="expected YAML"):
        parse_yaml_file(result, "list")
    assert parse_yaml_file(result, "b.yaml", allow_missing=True) == {}
    with pytest.raises(VerifierError, match=r"b\.yaml.*a\.yaml"):
        parse_yaml_file(result, "b.yaml")


def test_unparsable_lines_of_jsonl_are_skipped() -> None:
    text = '{"a": 1}\n\nnope\n5\n["x\u2028y"]\r\n{"b":\n'
    assert parse_jsonl(text) == [{"a": 1}, 5, ["x\u2028y"]]
    assert parse_jsonl(b'1\n"\xff"\n2') == [1, 2]


def test_jsonl_that_was_read_already_is_left_as_it_is() -> None:
    rows = [{"a": 1}]
    assert parse_jsonl(None) == []
    assert parse_jsonl(rows) is rows
    assert parse_jsonl({"a": 1}) == [{"a": 1}]
    with pytest.raises(VerifierError, match="int"):
        parse_jsonl(5)


@pytest.mark.parametrize("content", [None, "", " \n", b""])
def test_json_that_is_none_or_blank_is_empty(content: Any) -> None:
    assert parse_json(content) == {}


def test_json_gives_whatever_the_text_holds() -> None:
    assert parse_json('{"a": [1]}') == {"a": [1]}
    assert parse_json(b"[1]") == [1]
    assert parse_json("5") == 5
    assert parse_json("null") is None
    given_dict = {"a": 1}
    assert parse_json(given_dict) is given_dict


@pytest.mark.parametrize("content", [[1], 5, True, "nope", "{", "[" * 100_000, b"\xff", "1" * 5000])
def test_invalid_json_is_an_error_or_says_so(content: Any) -> None:
    with pytest.raises(VerifierError, match="JSON"):
        parse_json(content)
    assert parse_json(content, allow_invalid=True) == {"error": "Invalid JSON"}


ANYTHING = st.one_of(
    st.none(),
    st.text(),
    st.text("|-ab\"' \n\r,:{}[]&*!#%@0.e+", max_size=40),
    st.binary(),
    JSON,
    JSON.map(json.dumps),
    st.just(math.nan),
    st.just(object()),
)


PARSERS: list[Callable[[Any], Any]] = [
    convert_to_io,
    ensure_non_null_string,
    ensure_expected_is_not_none,
    parse_markdown_table,
    parse_csv_content,
    parse_jsonl,
    parse_json,
    parse_yaml,
    lambda value: parse_csv_content(value, allows_error=False),
    lambda value: extract_actual_output(CLIResult(output=value), "a", 1, strip=True),
    lambda value: parse_yaml_file(CLIResult(files={"a": value}), "a"),
]


@given(ANYTHING)
def test_parsers_raise_nothing_but_verifier_errors(value: Any) -> None:
    for parse in PARSERS:
        try:
            parse(value)
        except VerifierError as error:
            assert str(error)


@given(ANYTHING)
def test_what_is_allowed_to_be_wrong_raises_nothing(value: Any) -> None:
    parse_markdown_table(value, allow_errors=True)
    parse_json(value, allow_invalid=True)
    ensure_non_null_string(value if not isinstance(value, bytes) else None, allow_empty=True)
