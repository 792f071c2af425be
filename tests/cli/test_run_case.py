"""`slop-code tools run-case`, run as a user runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_problems import ROOT, slop_code
from tests.conftest import MakeProblem

SOLUTION = "problems/calculator/checkpoint_2/solution"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))


def run_case(
    *arguments: str | Path, problem: str | Path = "calculator", solution: str | Path = SOLUTION
) -> tuple[int, Any, str]:
    done = slop_code("tools", "run-case", "-s", solution, "-p", problem, "-e", "local-py", *arguments)
    return done.returncode, json.loads(done.stdout) if done.stdout else None, done.stderr


def test_a_passing_submission_is_an_array_of_short_results_and_exit_code_0() -> None:
    code, cases, _ = run_case("-c", "2")
    assert code == 0
    assert len(cases) == 17
    assert cases[0] == {"id": "one_expression", "group": "core", "score": 1.0, "passed": True}


def test_checkpoints_go_by_number_or_name_and_groups_and_cases_by_glob() -> None:
    _, by_number, _ = run_case("-c", "1", "-g", "co*", "--case", "*ion")
    _, by_name, _ = run_case("--checkpoint", "checkpoint_1", "--group", "core", "--case", "*ion")
    assert by_number == by_name
    assert [case["id"] for case in by_number] == ["addition", "subtraction", "multiplication", "division"]


def test_a_failing_case_shows_its_verified_attributes_and_stderr_and_exits_with_1() -> None:
    code, cases, _ = run_case("-c", "2", "-g", "core", solution="problems/calculator/checkpoint_1/solution")
    assert code == 1
    assert [case["passed"] for case in cases] == [False, False, False]
    assert cases[0]["results"]["output"]["is_correct"] is False
    assert set(cases[0]["results"]) == {"status_code", "output", "stderr"}


def test_in_groups_with_state_the_cases_before_a_selected_one_run_too_and_are_not_reported() -> None:
    code, cases, _ = run_case("-c", "2", "-g", "memory", "--case", "recall_in_expression")
    assert (code, [case["id"] for case in cases]) == (0, ["recall_in_expression"])


def test_full_is_the_whole_report_with_score_and_passed() -> None:
    _, cases, _ = run_case("-c", "1", "-g", "core", "--case", "addition", "--full")
    (case,) = cases
    assert (case["score"], case["passed"], case["outcome"]) == (1.0, True, "passed")
    assert case["results"]["output"]["actual"] == "5\n"
    assert case["case"]["arguments"] == ["add", "2", "3"]


def test_nothing_selected_is_an_empty_array_and_exit_code_2_with_the_groups() -> None:
    code, cases, stderr = run_case("-c", "1", "-g", "nope")
    assert (code, cases) == (2, [])
    assert "checkpoint_1 has the groups core, errors" in stderr


def test_something_that_could_not_be_judged_is_exit_code_3(make_problem: MakeProblem) -> None:
    folder = make_problem(
        {"entry_file": "calc", "loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}},
        {
            "one/core/a.yaml": "expected: {output: x}",
            "verifier.py": "class Verifier:\n  def __init__(self, c): ...\n  def __call__(self, group_name, case_name, actual, expected): raise KeyError('x')\n",
        },
    )
    code, cases, stderr = run_case("-c", "one", problem=folder)
    assert code == 3
    assert cases[0]["outcome"] == "error"
    assert "verifier.py:3: KeyError: 'x'" in stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-s", "nowhere", "-p", "calculator", "-c", "1"], "error: nowhere: no such folder"),
        (["-s", SOLUTION, "-p", "calculater", "-c", "1"], 'no problem "calculater" (did you mean "calculator"?)'),
        (["-s", SOLUTION, "-p", "calculator", "-c", "9"], "has no checkpoint 9: it has 2"),
        (["-s", SOLUTION, "-p", "calculator", "-c", "chekpoint_1"], 'did you mean "checkpoint_1"?'),
        (["-s", SOLUTION, "-p", "calculator", "-c", "1", "-e", "locl-py"], 'no environment "locl-py"'),
    ],
)
def test_bad_usage_is_one_line_with_the_candidates_and_exit_code_2(arguments: list[str], message: str) -> None:
    done = slop_code("tools", "run-case", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_the_default_environment_is_said() -> None:
    done = slop_code("tools", "run-case", "-s", ROOT / SOLUTION, "-p", "calculator", "-c", "1", "--case", "addition")
    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith("environment: ")
