"""Cases that have the same id within a group: `problems check` minds, and until then none is lost or taken for another."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.small_problem import SmallProblem, small_problem
from tests.cli.test_problems import slop_code

LOADER = """
from slop_code.evaluation.loaders import BaseLoader

class Loader(BaseLoader):
    def __call__(self, group, store):
        for word in ("wrong", "right", "odd"):
            yield {"id": "same", "arguments": [word]}, {"output": "1\\n"}
        yield {"id": "a/b", "arguments": ["wrong"]}, {"output": "1\\n"}
        yield {"id": "a_b", "arguments": ["odd"]}, {"output": "1\\n"}
"""
# `odd` is right every second time, counted where every case can see it.
PROGRAM = """
echo $1 > word
case $1 in
  right) echo 1;;
  wrong) echo 0;;
  odd) n=$(cat {root}/count 2>/dev/null || echo 0); echo $((n + 1)) > {root}/count; echo $((n / 2 % 2));;
esac
"""


@pytest.fixture
def problem(tmp_path: Path) -> SmallProblem:
    return small_problem(tmp_path, {"/loader.py": LOADER}, PROGRAM.format(root=tmp_path))


def test_repeat_keeps_them_apart(problem: SmallProblem) -> None:
    done = problem.run("--repeat", "2", "--jobs", "1")
    assert [case["id"] for case in done.cases] == ["same", "same", "same", "a/b", "a_b"]
    outcomes = [[run["outcome"] for run in case["runs"]] for case in done.cases]
    wrong, right, both = ["failed"] * 2, ["passed"] * 2, ["failed", "passed"]
    assert outcomes == [wrong, right, both, wrong, both]
    assert "does not agree with itself: core/same (3) (failed 1, passed 1 of 2 times)" in done.stderr
    assert done.stderr.count("does not agree with itself") == 2


def test_rerun_failed_runs_an_id_again_if_any_case_of_it_failed(problem: SmallProblem) -> None:
    assert [case["passed"] for case in problem.run("--case", "same").cases] == [False, True, False]
    again = problem.run("--rerun-failed")
    assert [(case["id"], case["passed"]) for case in again.cases] == [("same", False), ("same", True), ("same", False)]


def test_each_has_a_kept_workspace_of_its_own(problem: SmallProblem) -> None:
    done = problem.run("--keep-workspaces", "kept")
    assert done.code == 1
    kept = {path.parent.name: path.read_text().strip() for path in (problem.root / "kept" / "core").glob("*/word")}
    assert kept == {"same": "wrong", "same (3)": "odd", "a_b": "wrong", "a_b (2)": "odd"}


def test_case_and_list_show_all_of_them_and_check_calls_it_an_error(problem: SmallProblem) -> None:
    assert [case["id"] for case in problem.run("--case", "sam*").cases] == ["same"] * 3
    assert [case["id"] for case in problem.run("--case", "same", "--list").cases] == ["same"] * 3
    checked = slop_code("-p", ".", "problems", "check", "demo", cwd=problem.root)
    assert checked.returncode == 2
    assert 'group "core": 3 cases have the id "same"' in checked.stderr
