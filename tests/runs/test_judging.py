"""`slop-code judge`: stored observations, judged again; what is missing or gone is said, and costs itself only."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml

from slop_code.evaluation import ProblemConfig, run_checkpoint
from slop_code.evaluation.listening import Listener, RunLabel, RunOptions
from slop_code.evaluation.report import CorrectnessResults, iter_reports
from slop_code.evaluation.report_format import JOURNAL, OBSERVATIONS, REPORTS, SUMMARY
from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution import EnvironmentSpec
from slop_code.runs.finished import KEY
from tests.runs.asking import Answer, ask
from tests.runs.world import World

VERIFIER = """
from slop_code.evaluation.verifiers import VerificationResult

class Verifier:
    def __init__(self, checkpoint): ...
    def __call__(self, group_name, case_name, actual, expected):
        {body}
"""
POLITE = 'return {"output": VerificationResult.create("please", "please" in actual.output)}'


@pytest.fixture(autouse=True)
def here(done: World, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.chdir(done.root)
    return done


def verify(body: str) -> None:
    Path("problems/greet/verifier.py").write_text(VERIFIER.format(body=body))


def kinds(answer: Answer) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for case in answer.json["cases"]:
        found.setdefault(case["kind"], []).append(f"{case['checkpoint']}/{case['group']}/{case['id']}")
    return found


def outcomes(folder: str) -> dict[str, str | None]:
    return {report.id: report.outcome for report in iter_reports(folder)}


def test_a_whole_run_is_judged_again_as_often_as_one_likes_and_everything_is_kept() -> None:
    first = {path.name: path.read_bytes() for path in Path("run/greet/first").iterdir() if path.is_file()}
    same = ask("judge", "run")
    assert same.code == 0
    assert same.stdout.startswith("the same results: 4 cases, 4 passed")
    assert "greet/second: judged again, reports in run/greet/second/judged-1\n" in same.stderr
    verify(POLITE)
    changed = ask("judge", "run")
    assert changed.code == 1
    assert "first/core/you: passed → failed 0.00" in changed.stdout
    assert "please" in changed.stdout, "the difference"
    assert outcomes("run/greet/first/judged-1") == {"you": "passed", "nobody": "passed"}
    assert outcomes("run/greet/first/judged-2") == {"you": "failed", "nobody": "failed"}
    assert ask("judge", "run/greet/first", "--json").json["counts"]["worse"] == 2
    assert {path.name: path.read_bytes() for path in Path("run/greet/first").iterdir() if path.is_file()} == first
    assert ask("compare", "run/greet/first", "run/greet/first/judged-2").code == 1
    # What was judged again is no reason to evaluate, nor a result of the run.
    assert ask("compare", "run", "run").stdout.startswith("the same results: 4 cases")


def test_cases_that_came_went_or_ask_something_else_are_told(done: World) -> None:
    core = Path("problems/greet/first/core")
    (core / "you.yaml").rename(core / "thou.yaml")
    (core / "new.yaml").write_text("arguments: [new]\nexpected: {output: x}\n")
    (core.parent / "errors/nobody.yaml").write_text('arguments: [somebody]\nexpected: {output: "hello\\n"}\n')
    answer = ask("judge", "run/greet/first", "--json")
    assert answer.code == 3
    assert kinds(answer) == {
        "worse": ["first/errors/nobody"],
        "appeared": ["first/core/new", "first/core/thou"],
        "disappeared": ["first/core/you"],
    }
    assert outcomes("run/greet/first/judged-1") == {"new": "error", "thou": "passed", "nobody": "error"}
    why = {case["id"]: case["why"] for case in answer.json["cases"]}
    assert "there is no observation of this case" in why["new"]
    assert "has changed since it was observed" in why["nobody"]


def test_a_verifier_that_raises_or_cannot_be_made_is_told() -> None:
    verify("raise KeyError('price')")
    raising = ask("judge", "run/greet/first")
    assert raising.code == 3
    assert "KeyError: 'price'" in raising.stdout
    Path("problems/greet/verifier.py").write_text("import nothing_of_that_name\n")
    broken = ask("judge", "run/greet/first")
    assert (broken.code, broken.stdout) == (2, "")
    assert "error: greet/first: not judged: " in broken.stderr
    assert "nothing_of_that_name" in broken.stderr
    assert not Path("run/greet/first/judged-2").exists(), "nothing is left of what came to nothing"


def test_what_cannot_be_judged_costs_itself_only() -> None:
    Path("run/greet/first", OBSERVATIONS).unlink()
    answer = ask("judge", "run", "--json")
    assert answer.code == 2
    assert "error: greet/first: not judged: run/greet/first: has no observations to judge" in answer.stderr
    assert [change["checkpoint"] for change in answer.json["checkpoints"]] == ["second"]
    assert not Path("run/greet/first/judged-1").exists()


def test_a_problem_or_a_checkpoint_that_is_gone_is_told() -> None:
    config = Path("problems/greet/config.yaml")
    body = yaml.safe_load(config.read_text())
    del body["checkpoints"]["second"]
    config.write_text(yaml.safe_dump(body))
    answer = ask("judge", "run")
    assert answer.code == 2
    assert 'greet/second: not judged: problem "greet" has no checkpoint "second"' in answer.stderr
    shutil.move("problems/greet", "elsewhere")
    answer = ask("judge", "run")
    assert (answer.code, answer.stdout) == (2, "")
    assert 'greet/first: not judged: no problem "greet"' in answer.stderr
    assert ask("judge", "run/greet/first", "-p", "elsewhere").code == 0


def test_a_problem_is_found_by_its_name_whatever_its_folder_is_called() -> None:
    shutil.move("problems/greet", "problems/salute")
    assert ask("judge", "run/greet/first").code == 0


def test_one_problem_cannot_stand_for_several() -> None:
    shutil.copytree("run/greet", "run/other")
    for checkpoint in ("first", "second"):
        folder = Path("run/other", checkpoint)
        results = CorrectnessResults.from_dir(folder)
        results.problem_name = "other"
        results.save(folder)
    answer = ask("judge", "run", "-p", "greet")
    assert (answer.code, answer.stdout) == (2, "")
    assert 'has results of "greet" and "other"; -p is for those of one problem' in answer.stderr


def test_what_there_is_of_a_run_that_did_not_end_can_be_judged(done: World) -> None:
    # The journal of a run that was killed after its first case.
    folder = Path("run/greet/first")
    journal = journal_of(done)
    for name in (REPORTS, SUMMARY, KEY, OBSERVATIONS):
        (folder / name).unlink()
    (folder / JOURNAL).write_bytes(journal)
    answer = ask("judge", str(folder), "--json")
    assert answer.code == 3
    assert outcomes(f"{folder}/judged-1") == {"you": "passed", "nobody": "error"}
    assert kinds(answer) == {"appeared": ["first/errors/nobody"]}


def journal_of(done: World) -> bytes:
    """What a run of `first` has on the disk when its case `you` is through."""
    kept: list[bytes] = []
    journal = done.root / "again" / JOURNAL

    class Copies(Listener):
        def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
            if report.id == "you":
                lines = journal.read_bytes().splitlines(keepends=True)
                kept.append(b"".join(line for line in lines if b"nobody" not in line))

    problem = ProblemConfig.from_yaml(done.greet)
    run_checkpoint(
        done.root / "run/greet/first/snapshot",
        problem,
        problem.load_checkpoint("first"),
        EnvironmentSpec.from_yaml(done.environment),
        options=RunOptions(jobs=1),
        listener=Copies(),
        output_dir=journal.parent,
    )
    assert json.loads(kept[0].splitlines()[0])["evaluation"]["complete"] is False
    return kept[0]
