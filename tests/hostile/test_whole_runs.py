"""Hostile submissions in whole runs, beside honest cases."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.listening import RunOptions
from tests.execution.drivers import DRIVERS
from tests.hostile.whole import evaluate, outcomes, write_problem, write_submission

HONEST = {"arguments": ["honest"], "expected": {"output": "honest\n", "status_code": 0}}
PROGRAM = """
import os, pathlib, shutil, signal, sys
what = sys.argv[1]
if what == "honest":
    print("honest")
elif what == "read":
    print(pathlib.Path("in/put.txt").read_text())
elif what == "blocks":
    os.makedirs("in/put.txt/deep")
elif what == "file instead of a folder":
    pathlib.Path("in").write_text("x")
elif what == "link instead of a folder":
    os.symlink("/tmp", "in")
elif what == "locks":
    os.chmod(".", 0)
elif what == "deletes":
    workspace = os.getcwd()
    os.chdir("/")
    shutil.rmtree(workspace, ignore_errors=True)
elif what == "kills":
    os.kill(os.getppid(), signal.SIGKILL)
elif what == "forges":
    for name in ("evaluation.json", "reports.parquet", "reports.partial.jsonl"):
        for place in (".", "..", os.environ["HOME"], os.environ["TMPDIR"]):
            try:
                pathlib.Path(place, name).write_text('{"passed": true, "score": 1.0}')
            except OSError:
                pass
"""


@pytest.mark.parametrize("kind", DRIVERS)
def test_an_attack_in_between_costs_its_own_case_and_no_other(kind: str, tmp_path: Path) -> None:
    attacks = ("kills", "locks", "deletes", "forges")
    cases = {f"core/{number:02}": HONEST for number in range(12)}
    cases |= {f"core/{3 * number:02}-{what}": {**HONEST, "arguments": [what]} for number, what in enumerate(attacks)}
    problem = write_problem(tmp_path / "problem", cases)
    submission = write_submission(tmp_path / "submission", PROGRAM)
    results = evaluate(kind, problem, submission, options=RunOptions(jobs=2), output_dir=tmp_path / "out")
    found = outcomes(results)
    assert {name: outcome for name, outcome in found.items() if outcome != "passed"} == {
        name.partition("/")[2]: "failed" for name in cases if "-" in name
    }
    assert json.loads((tmp_path / "out" / "evaluation.json").read_text())["pass_counts"] == {"Core": 12}
    assert outcomes(CorrectnessResults.from_dir(tmp_path / "out")) == found


@pytest.mark.parametrize("kind", DRIVERS)
def test_whatever_a_case_puts_in_the_way_of_the_next_ones_input_is_removed(kind: str, tmp_path: Path) -> None:
    deeds = ("blocks", "file instead of a folder", "link instead of a folder", "locks")
    read: dict[str, object] = {
        "arguments": ["read"],
        "input_files": {"in/put.txt": "given"},
        "expected": {"output": "given\n"},
    }
    cases: dict[str, dict[str, object]] = {}
    for what in deeds:
        cases[f"{what}/1"] = {"arguments": [f"'{what}'"], "expected": {"status_code": 0}}
        cases[f"{what}/2"] = read
    groups = {what: {"type": "Core", "isolated": False} for what in deeds}
    problem = write_problem(tmp_path / "problem", cases, groups=groups)
    results = evaluate(kind, problem, write_submission(tmp_path / "submission", PROGRAM))
    assert {f"{report.group}/{report.id}": report.outcome for report in results.reports} == dict.fromkeys(
        cases, "passed"
    )


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_case_without_its_workspace_fails_where_it_is_not_isolated_and_is_no_error(kind: str, tmp_path: Path) -> None:
    cases = {"core/1": {"arguments": ["deletes"], "expected": {"status_code": 0}}, "core/2": HONEST}
    problem = write_problem(tmp_path / "problem", cases, groups={"core": {"type": "Core", "isolated": False}})
    results = evaluate(kind, problem, write_submission(tmp_path / "submission", PROGRAM))
    assert outcomes(results) == {"1": "passed", "2": "failed"}


def test_two_inputs_of_one_case_that_exclude_each_other_are_the_authors_error(tmp_path: Path) -> None:
    inputs = [{"path": "a", "content": "x", "file_type": "text"}, {"path": "a/b", "content": "x", "file_type": "text"}]
    problem = write_problem(tmp_path / "problem", {"core/1": {**HONEST, "input_files": inputs}})
    results = evaluate("local", problem, write_submission(tmp_path / "submission", PROGRAM))
    assert outcomes(results) == {"1": "error"}
