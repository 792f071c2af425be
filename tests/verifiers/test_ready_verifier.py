"""Without a `verifier.py`, a ready verifier compares every attribute that the expectation sets."""

from __future__ import annotations

import datetime
import json
from typing import Any
from unittest.mock import Mock

import pytest
import yaml
from hypothesis import given
from structlog.testing import capture_logs

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.adapters.api import APIResult
from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.loaders.enumeration import iterate_cases
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.verifiers import VerificationResult, VerifierError
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from tests.conftest import MakeProblem
from tests.verifiers.strategies import JSON, TEXTS


def judged(
    expected: CaseResult, actual: CaseResult, verifier: ReadyVerifier | None = None
) -> dict[str, VerificationResult]:
    return (verifier or ReadyVerifier(Mock()))(
        group_name="core", case_name="one", actual=actual, expected=expected.filled_in(id="one", group="core")
    )


def verdict(expected: Any, actual: Any, attribute: str = "output", **settings: Any) -> VerificationResult:
    results = judged(CLIResult(**{attribute: expected}, **settings), CLIResult(**{attribute: actual}))
    assert list(results) == [attribute]
    return results[attribute]


def file_verdict(files: Any, actual: dict[str, Any], **settings: Any) -> VerificationResult:
    (result,) = judged(CLIResult(files=files, **settings), CLIResult(files=actual)).values()
    return result


def test_only_what_the_expectation_sets_is_compared() -> None:
    actual = CLIResult(output="a", stderr="b", status_code=3, files={"f": "x"}, command="run", elapsed=2)
    assert set(judged(CLIResult(output="a"), actual)) == {"output"}
    assert set(judged(CLIResult(output="a", status_code=0), actual)) == {"output", "status_code"}
    full = CLIResult(output="a", stderr="b", status_code=3, files={"f": "x"}, command="run", timed_out=False)
    results = judged(full, actual)
    assert list(results) == ["status_code", "output", "stderr", "timed_out", "command", "files-f"]
    assert all(result.is_correct for result in results.values())


def test_who_the_result_is_of_and_how_long_it_took_are_never_compared() -> None:
    expected = CLIResult(id="x", group="g", group_type="Core", type="cli", elapsed=1.0, output="a")
    assert set(judged(expected, CLIResult(output="a"))) == {"output"}


def test_null_takes_a_default_away() -> None:
    assert set(judged(CLIResult(output=None, stderr=None, status_code=0), CLIResult(output="x"))) == {"status_code"}


def test_an_expectation_that_sets_nothing_is_an_error_that_says_what_to_set() -> None:
    with pytest.raises(VerifierError, match=r'case "one" of group "core" expects nothing .* set output, status_code'):
        judged(CLIResult(), CLIResult(output="x"))


def test_text_is_compared_exactly_and_the_first_difference_is_shown() -> None:
    assert verdict("a\n", "a\n").is_correct
    result = verdict("total: 5\n", "total: 5")
    assert not result.is_correct
    assert "expected the end of the line, got the end of the text" in result.diff
    assert not verdict("5", 5).is_correct
    assert not verdict("", " ").is_correct
    assert verdict("", None).is_correct


@pytest.mark.parametrize(
    ("expected", "actual", "is_correct"),
    [
        ({"a": [1, 2]}, '{"a": [1, 2]}\n', True),
        ({"a": [1, 2]}, '{"a":[1,2.0]}', True),
        ({"a": [1, 2]}, '{"a": [2, 1]}', False),
        ({"a": 1}, '{"a": 1, "b": 2}', False),
        ({"a": 1}, '{"a": true}', False),
        ({"a": 1}, '{"a": "1"}', False),
        ({"a": 1, "__b": 2}, '{"a": 1, "__b": 3}', False),
        ({"a": 0.1}, '{"a": 0.10000001}', False),
        ({"a": None}, '{"a": null}', True),
        ([], "[]", True),
        ([1], "[1", False),
        ({}, "not json", False),
        ({}, None, False),
        (5, "5\n", True),
        (5, "6\n", False),
        (True, "true", True),
        ({1: "a"}, '{"1": "a"}', True),
        ({"day": datetime.date(2024, 5, 6)}, '{"day": "2024-05-06"}', True),
        ({"a": 1}, {"a": 1}, True),
        ({"a": 1}, {"a": 2}, False),
        ({"a": float("nan")}, '{"a": NaN}', True),
        ({"a": float("inf")}, '{"a": 1e308}', False),
        ({"a": 10**30}, f'{{"a": {10**30 + 1}}}', False),
        ({"a": 10**400}, '{"a": 1.5}', False),
    ],
)
def test_a_mapping_or_list_is_compared_with_the_parsed_output(expected: Any, actual: Any, is_correct: bool) -> None:
    result = verdict(expected, actual)
    assert result.is_correct is is_correct
    assert bool(result.diff) is not is_correct


def test_values_that_are_nested_deeply_are_compared_to_the_bottom() -> None:
    one, other = "[" * 300 + "1" + "]" * 300, "[" * 300 + "2" + "]" * 300
    assert verdict(json.loads(one), one).is_correct
    assert not verdict(json.loads(one), other).is_correct


def test_output_that_is_no_json_says_so_with_its_line() -> None:
    assert "not JSON in line 2: Expecting value" in verdict({"a": 1}, '{"a":\n oops}').diff
    assert "oops" in verdict({"a": 1}, '{"a":\n oops}').diff
    assert "not JSON" in verdict({"a": 1}, "[" * 100_000).diff


@given(JSON)
def test_every_json_value_matches_its_own_text(value: Any) -> None:
    if value is not None and not isinstance(value, str):
        assert verdict(value, json.dumps(value)).is_correct


@given(TEXTS, TEXTS)
def test_two_texts_match_exactly_if_they_are_equal(expected: str, actual: str) -> None:
    assert verdict(expected, actual).is_correct is (expected == actual)


@pytest.mark.parametrize(
    ("expected", "actual", "is_correct"),
    [
        ("x=1.50, y=2\n", "x=1.5000004, y=2\n", True),
        ("x=1.50, y=2\n", "x=1.51, y=2\n", False),
        ("x=1.50, y=2\n", "x=1.50  y=2\n", False),
        ("x=1.50, y=2\n", "z=1.50, y=2\n", False),
        ("-0.0", "0", True),
        ("1e3", "1000.0", True),
        ("1 2", "1 2 3", False),
        ("1 2 3", "1 2", False),
        ("nan", "nan", True),
        ("9" * 30, "9" * 29 + "8", False),
        ("9" * 5000, "9" * 4999 + "8", False),
        ({"a": [1.0]}, '{"a": [1.0000005]}', True),
        ({"a": [1.0]}, '{"a": [1.001]}', False),
        ({"a": 0}, '{"a": 1e-7}', True),
    ],
)
def test_numbers_may_differ_by_the_tolerance(expected: Any, actual: Any, is_correct: bool) -> None:
    assert verdict(expected, actual, tolerance=1e-6).is_correct is is_correct


def test_the_difference_shown_is_not_one_within_the_tolerance() -> None:
    result = verdict("a 1.0\nb 2.0\n", "a 1.0000001\nb 3.0\n", tolerance=1e-6)
    assert result.diff.startswith("Line 2, column 3")


@pytest.mark.parametrize("tolerance", ["1e-3", 1e-3, "0.001"])
def test_a_tolerance_may_be_written_as_yaml_reads_it(tolerance: Any) -> None:
    assert yaml.safe_load("1e-3") == "1e-3"
    assert verdict("1.0", "1.0009", tolerance=tolerance).is_correct


@pytest.mark.parametrize("tolerance", [-1, "much", True, float("nan"), [1]])
def test_a_tolerance_that_is_no_number_is_an_error(tolerance: Any) -> None:
    with pytest.raises(VerifierError, match='"tolerance" in the expected result should be a number of 0 or more'):
        verdict("1.0", "1.0", tolerance=tolerance)


def test_weights_can_be_set_for_each_attribute() -> None:
    weights = {"output": 0.7, "files-a": "0.2", "files": 0.1}
    expected = CLIResult(output="", status_code=0, files={"a": "", "b": ""}, weights=weights)
    results = judged(expected, CLIResult(output="", files={"a": "", "b": ""}))
    assert {name: result.weight for name, result in results.items()} == {
        "status_code": 1.0,
        "output": 0.7,
        "files-a": 0.2,
        "files-b": 0.1,
    }


@pytest.mark.parametrize(
    ("weights", "said"),
    [
        ({"output": 0}, 'the weight of "output" in the expected result should be a number above 0, found 0'),
        ({"output": "heavy"}, 'the weight of "output" .* found "heavy"'),
        ({"output": float("inf")}, "above 0"),
        ([1], '"weights" of the expected result should be a mapping'),
    ],
)
def test_weights_that_are_none_are_an_error(weights: Any, said: str) -> None:
    with pytest.raises(VerifierError, match=said):
        verdict("", "", weights=weights)


def test_status_codes_are_compared() -> None:
    assert verdict(0, 0, "status_code").is_correct
    assert verdict(0, 2, "status_code").diff == "2 == 0 -> False"


@pytest.mark.parametrize(
    ("expected", "actual", "is_correct"),
    [
        ("error: x\n", "error: x\n", True),
        ("error: x\n", "Error: x\n", False),
        ({"contains": "x"}, "error: x\n", True),
        ({"contains": "y"}, "error: x\n", False),
        ({"matches": r"^error: \w$"}, "warning\nerror: x\n", True),
        ({"matches": "^x"}, "error: x\n", False),
    ],
)
def test_stderr_is_compared_when_given(expected: Any, actual: str, is_correct: bool) -> None:
    assert verdict(expected, actual, "stderr").is_correct is is_correct


def test_headers_are_a_subset_with_any_case_of_names() -> None:
    actual = APIResult(headers={"Content-Type": "text/plain", "X-Id": "7", "Date": "now"})
    assert judged(APIResult(headers={"CONTENT-TYPE": "text/plain"}), actual)["headers"].is_correct
    result = judged(APIResult(headers={"content-type": "text/html", "x-id": "7", "x-no": "1"}), actual)["headers"]
    assert not result.is_correct
    assert result.diff == {
        "content-type": {"expected": "text/html", "actual": "text/plain"},
        "x-no": {"expected": "1", "actual": None},
    }


def test_a_run_that_timed_out_fails_unless_the_expectation_says_so() -> None:
    late = CLIResult(output="a", timed_out=True, status_code=-1, elapsed=5.0)
    results = judged(CLIResult(output="a"), late)
    assert results["output"].is_correct
    assert not results["timed_out"].is_correct
    assert results["timed_out"].diff == "ran out of time after 5 s"
    assert judged(CLIResult(timed_out=True), late)["timed_out"].is_correct
    assert not judged(CLIResult(timed_out=True), CLIResult())["timed_out"].is_correct
    assert not judged(CLIResult(timed_out=False), late)["timed_out"].is_correct


FILE_CHECKS: list[tuple[dict[str, Any], Any, bool]] = [
    ({"content": "a\n"}, "a\n", True),
    ({"content": "a\n"}, "a", False),
    ({"content": b"\xff"}, b"\xff", True),
    ({"content": "ÿ"}, b"\xff", False),
    ({"content": {"a": 1}}, '{"a": 1.0}', True),
    ({"content": {"a": 1}}, "{", False),
    ({"contains": "needle"}, "hay needle hay", True),
    ({"contains": "needle"}, "hay", False),
    ({"contains": "a"}, b"\xffa", True),
    ({"matches": r"^b\d$"}, "a1\nb2\n", True),
    ({"matches": r"\Ab"}, "a1\nb2\n", False),
    ({"contains": "a", "matches": "b"}, "ab", True),
    ({"contains": "a", "matches": "c"}, "ab", False),
    ({}, "anything", True),
    ({"absent": False}, "anything", True),
    ({"absent": True}, "anything", False),
]


@pytest.mark.parametrize(("check", "content", "is_correct"), FILE_CHECKS)
def test_files_are_checked_by_content_contains_matches_absence_or_existence(
    check: dict[str, Any], content: Any, is_correct: bool
) -> None:
    assert file_verdict([{"path": "out/f", **check}], {"out/f": content}).is_correct is is_correct
    as_mapping = check or None
    assert file_verdict({"out/f": as_mapping}, {"out/f": content}).is_correct is is_correct


def test_a_mapping_of_names_to_contents_is_the_short_form() -> None:
    files = {"a.txt": "text", "b.json": {"rows": [1]}, "c.jsonl": [{"n": 1}, {"n": 2}]}
    actual = {"a.txt": "text", "b.json": '{"rows": [1]}', "c.jsonl": '{"n": 1}\n\n{"n": 2}\n'}
    assert all(result.is_correct for result in judged(CLIResult(files=files), CLIResult(files=actual)).values())
    assert "not JSON lines in line 1" in file_verdict({"c.jsonl": [1]}, {"c.jsonl": "x"}).diff


def test_a_missing_file_fails_and_says_which_there_are() -> None:
    result = file_verdict([{"path": "a"}], {"b": "", "c": ""})
    assert not result.is_correct
    assert result.diff == 'no such file: there are "b" and "c"'
    assert "tracked_files" in file_verdict({"a": "x"}, {}).diff
    assert file_verdict([{"path": "a", "absent": True}], {}).is_correct


def test_several_specs_of_one_file_must_all_hold() -> None:
    specs = [{"path": "log", "contains": "a"}, {"path": "./log", "contains": "b"}]
    assert file_verdict(specs, {"log": "ab"}).is_correct
    assert not file_verdict(specs, {"log": "a"}).is_correct
    assert not file_verdict(specs, {"log": "b"}).is_correct


def test_a_pattern_that_is_no_regular_expression_is_an_error() -> None:
    with pytest.raises(VerifierError, match=r"'\(', which a file should match, is not a regular expression"):
        file_verdict([{"path": "a", "matches": "("}], {"a": "x"})


@pytest.mark.parametrize("word", ["contains", "matches"])
def test_what_a_file_contains_or_matches_is_text_or_a_number(word: str) -> None:
    assert file_verdict([{"path": "a", word: 5}], {"a": "15"}).is_correct
    # As a pattern, the text of this list would be a class of characters, and match nearly anything.
    with pytest.raises(VerifierError, match=f'"{word}" in the expected result should be text, found a list'):
        file_verdict([{"path": "a", word: ["one", "two"]}], {"a": "neither"})


def test_other_extras_are_ignored() -> None:
    with capture_logs() as logs:
        assert set(judged(CLIResult(output="a", numbers=[1], max_execution_time=3), CLIResult(output="a"))) == {
            "output"
        }
    assert logs == []


@pytest.mark.parametrize(
    ("expected", "name", "meant"),
    [
        (CLIResult(status_code=0, stdout="x"), "stdout", "output"),
        (CLIResult(status_code=0, ouput="x"), "ouput", "output"),
        (CLIResult(status_code=0, weight={}), "weight", "weights"),
        (CLIResult(status_code=0, tolerence=1), "tolerence", "tolerance"),
        (CLIResult(status_code=0, weights={"stdout": 1}), "stdout", "output"),
        (CLIResult(files=[{"path": "a", "contain": "x"}]), "contain", "contains"),
    ],
)
def test_a_key_within_a_typo_of_a_known_one_gets_one_warning(expected: CLIResult, name: str, meant: str) -> None:
    verifier = ReadyVerifier(Mock())
    with capture_logs() as logs:
        for _ in range(3):
            judged(expected, CLIResult(files={"a": "x"}), verifier)
    (warning,) = logs
    assert warning["log_level"] == "warning"
    assert f'case core/one: "{name}" in' in warning["event"]
    assert f'did you mean "{meant}"?' in warning["event"]


def test_a_problem_can_be_written_with_no_python_at_all(make_problem: MakeProblem) -> None:
    config = {
        "loader_script": "builtin:files",
        "checkpoints": {
            "one": {"groups": {"core": {"type": "Core", "case_defaults": {"expected": {"status_code": 0}}}}}
        },
    }
    case = """
        expected:
          output: {total: 1.5}
          tolerance: 1e-6
          weights: {output: 0.7, files: 0.3}
          files:
            - {path: log.txt, matches: '^done$'}
    """
    problem = ProblemConfig.from_yaml(make_problem(config, {"one/core/sum.yaml": case}))
    checkpoint = problem.load_checkpoint("one")
    loader = initialize_loader(problem, checkpoint)
    group = checkpoint.groups["core"]
    ((read, expected),) = iterate_cases(loader, problem, checkpoint, group, loader.initialize_store())
    actual = CLIResult(output='{"total": 1.5000001}', files={"log.txt": "begin\ndone\n"})
    results = ReadyVerifier(checkpoint)("core", read.id, actual, expected)
    assert {name: (result.is_correct, result.weight) for name, result in results.items()} == {
        "status_code": (True, 1.0),
        "output": (True, 0.7),
        "files-log.txt": (True, 0.3),
    }
