"""`slop-code eval`, `eval-problem` and `eval-snapshot`: layouts, files, policies, exit codes, and what people see."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from slop_code.evaluation.report import CorrectnessResults, iter_reports
from tests.cli.terminal import on_terminal
from tests.cli.test_problems import ROOT, slop_code
from tests.runs.asking import ask
from tests.runs.world import BAD, World

HALF = 'test -n "$1" && echo hello $1\n'
"""Passes the Core case and fails the Error case."""


def test_eval_writes_results_next_to_each_snapshot_and_a_line_for_each(world: World) -> None:
    world.snapshot("run", "greet", "second", HALF)
    done = world.invoke("eval", "run")
    assert (done.returncode, done.stdout) == (1, "")
    assert "greet    2/2 ✓  1/2 ✗" in done.stderr
    assert "1 of 2 checkpoints passed (all-cases), 3 of 4 cases" in done.stderr
    assert "evaluated 2: not evaluated before (greet/first, greet/second)" in done.stderr
    first, second = world.lines()
    assert (first["problem"], first["checkpoint"], first["passed"], first["score"]) == ("greet", "first", True, 1.0)
    assert (second["checkpoint"], second["passed"], second["passed_cases"], second["total_cases"]) == (
        "second",
        False,
        1,
        2,
    )
    assert second["pass_counts"] == {"Core": 1, "Error": 0}
    assert second["total_counts"] == {"Core": 1, "Error": 1}
    assert (second["pass_policy"], second["environment"], second["complete"]) == ("all-cases", "sh", True)
    stored = CorrectnessResults.from_dir(world.root / "run/greet/second")
    assert [(report.id, report.outcome) for report in stored.reports] == [("you", "passed"), ("nobody", "failed")]
    left = sorted(path.name for path in (world.root / "run/greet/first").iterdir())
    assert left == ["evaluation.json", "evaluation.key.json", "observations.parquet", "reports.parquet", "snapshot"]


def test_the_second_time_says_what_was_skipped_and_leaves_the_files_alone(done: World) -> None:
    done.invoke("eval", "run")
    files = {path: path.stat().st_mtime_ns for path in (done.root / "run").rglob("*") if path.is_file()}
    again = done.invoke("eval", "run")
    assert again.returncode == 0
    assert "skipped 2: done before and unchanged" in again.stderr
    assert "evaluated" not in again.stderr
    assert {path: path.stat().st_mtime_ns for path in (done.root / "run").rglob("*") if path.is_file()} == files


def test_the_lines_of_skipped_checkpoints_are_made_again_if_they_are_lost(done: World) -> None:
    assert not (done.root / "run/checkpoint_results.jsonl").exists()
    done.invoke("eval", "run")
    assert [line["checkpoint"] for line in done.lines()] == ["first", "second"]


def test_overwrite_evaluates_everything(done: World) -> None:
    assert "evaluated 2: asked for" in done.invoke("eval", "run", "--overwrite").stderr


@pytest.mark.parametrize(
    ("program", "policy", "code"),
    [
        (HALF, "any", 0),
        (HALF, "any-case", 0),
        (HALF, "all-cases", 1),
        (HALF, "all-non-error-cases", 0),
        (HALF, "core-cases", 0),
        (HALF, "all-core-cases", 0),
        (HALF, "any-core-cases", 0),
        (BAD, "any", 1),
        (BAD, "core-cases", 1),
    ],
)
def test_the_policy_decides_and_needs_no_new_evaluation(
    halves: dict[str, World], program: str, policy: str, code: int
) -> None:
    world = halves[program]
    done = world.invoke("eval", "run", "--pass-policy", policy)
    assert done.returncode == code
    assert f"({policy})" in done.stderr
    assert "evaluated" not in done.stderr
    assert {line["passed"] for line in world.lines()} == {code == 0}


@pytest.fixture(scope="module")
def halves(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> dict[str, World]:
    """Worlds with a run of each program, evaluated."""
    from tests.runs.world import make_world

    worlds = {}
    for program in (HALF, BAD):
        world = worlds[program] = make_world(tmp_path_factory.mktemp("half"))
        for checkpoint in ("first", "second"):
            world.snapshot("run", "greet", checkpoint, program)
        assert world.invoke("eval", "run").returncode == 1
    return worlds


def test_every_checkpoint_has_to_pass(done: World) -> None:
    done.snapshot("run", "greet", "second", BAD)
    assert done.invoke("eval", "run", "--pass-policy", "any").returncode == 1


def test_what_could_not_be_judged_is_exit_code_3_whatever_the_policy(done: World) -> None:
    done.write(
        "problems/greet/verifier.py",
        """
from slop_code.evaluation.verifiers import deepdiff_verify

class Verifier:
    def __init__(self, checkpoint): ...
    def __call__(self, group_name, case_name, actual, expected):
        return {"output": deepdiff_verify(actual.output, expected.output)} if case_name == "you" else 1 / 0
""",
    )
    ended = done.invoke("eval", "run", "--pass-policy", "any")
    assert ended.returncode == 3
    assert "error: greet/first: errors/nobody: " in ended.stderr
    assert "ZeroDivisionError" in ended.stderr
    assert "1/2 ✓ 1 error" in ended.stderr
    assert [line["error_count"] for line in done.lines()] == [1, 1]
    assert "evaluated 2: something could not be judged the last time" in done.invoke("eval", "run").stderr


def test_a_submission_that_cannot_be_prepared_costs_itself_and_is_exit_code_3(world: World) -> None:
    world.write(
        "sh.yaml",
        "type: local\ncommands: {command: sh, entry_file: '{entry_file}.sh'}\n"
        "setup: {strict: true, commands: ['test ! -e broken']}\n",
    )
    world.write("run/greet/first/snapshot/broken", "")
    done = world.invoke("eval", "run")
    assert done.returncode == 3
    assert "error: greet/first: not evaluated: setup command failed with exit code 1" in done.stderr
    assert "greet    not judged ✗  2/2 ✓" in done.stderr
    first, second = world.lines()
    assert (first["passed"], first["complete"], second["passed"]) == (False, False, True)
    assert "setup command failed" in first["errors"][0]
    (world.root / "run/greet/first/snapshot/broken").unlink()
    again = world.invoke("eval", "run")
    assert again.returncode == 0
    assert "evaluated 1: not evaluated before (greet/first)" in again.stderr


def test_only_some_problems(done: World) -> None:
    done.problem("wave")
    done.snapshot("run", "wave", "first")
    ended = done.invoke("eval", "run", "--problem", "wave")
    assert ended.returncode == 0
    assert [line["problem"] for line in done.lines()] == ["wave"]
    done.invoke("eval", "run", "--problem", "greet")
    assert [(line["problem"], line["checkpoint"]) for line in done.lines()] == [
        ("greet", "first"),
        ("greet", "second"),
        ("wave", "first"),
    ]


def test_lines_are_by_problem_and_order_and_those_of_removed_checkpoints_go(done: World) -> None:
    groups = {"groups": {"core": {"type": "Core"}}}
    done.problem("greet", checkpoints={"second": {"order": 1, **groups}, "first": {"order": 2, **groups}})
    done.invoke("eval", "run")
    assert [(line["checkpoint"], line["order"]) for line in done.lines()] == [("second", 1), ("first", 2)]
    shutil.rmtree(done.root / "run/greet/second")
    done.invoke("eval", "run")
    assert [line["checkpoint"] for line in done.lines()] == ["first"]


def test_results_can_go_elsewhere_and_are_found_there_again(world: World) -> None:
    done = world.invoke("eval", "run", "-o", "out/deep")
    assert done.returncode == 0
    assert sorted(path.name for path in (world.root / "run/greet/first").iterdir()) == ["snapshot"]
    assert not (world.root / "run/checkpoint_results.jsonl").exists()
    assert len(world.lines("out/deep")) == 2
    assert len(list(iter_reports(world.root / "out/deep/greet/first"))) == 2
    assert "skipped 2" in world.invoke("eval", "run", "-o", "out/deep").stderr


def test_several_runs_at_once(done: World) -> None:
    for checkpoint in ("first", "second"):
        done.snapshot("other", "greet", checkpoint, BAD)
    ended = done.invoke("eval", "run", "other", "run/")
    assert ended.returncode == 1
    assert "run    greet    2/2 ✓  2/2 ✓" in ended.stderr
    assert "other  greet    0/2 ✗  0/2 ✗" in ended.stderr
    assert "(other/greet/first, other/greet/second)" in ended.stderr
    assert [line["passed"] for line in (*done.lines(), *done.lines("other"))] == [True, True, False, False]
    ended = done.invoke("eval", "run", "other", "-o", "out")
    assert "(run/greet/first, run/greet/second, other/greet/first and 1 more)" in ended.stderr
    assert [line["passed"] for line in (*done.lines("out/run"), *done.lines("out/other"))] == [
        True,
        True,
        False,
        False,
    ]


@pytest.mark.parametrize("option", ["--jobs", "-j", "-proc", "--num-workers"])
def test_the_number_of_workers_has_several_names(done: World, option: str) -> None:
    assert done.invoke("eval", "run", option, "1").returncode == 0
    assert done.invoke("eval", "run", option, "0").returncode == 2


def test_progress_is_shown_unless_it_is_not_wanted(world: World) -> None:
    world.snapshot("run", "greet", "second", BAD)
    shown = world.invoke("eval", "run", "--live-progress").stderr
    assert "FAILED greet/second: core/you" in shown
    hidden = world.invoke("eval", "run", "--overwrite", "--no-live-progress").stderr
    assert "FAILED" not in hidden
    assert "0/2 ✗" in hidden
    assert world.invoke("eval", "run", "--overwrite", "--quiet").stderr == ""


def test_eval_problem_takes_the_problem_from_the_folder_or_the_option(done: World) -> None:
    ended = done.invoke("eval-problem", "run/greet")
    assert ended.returncode == 0
    assert "greet    2/2 ✓  2/2 ✓" in ended.stderr
    assert done.summary("run/greet/first")["score"] == 1.0
    assert not (done.root / "run/greet/checkpoint_results.jsonl").exists()
    assert "skipped 2" in done.invoke("eval-problem", "run/greet").stderr
    shutil.move(done.root / "run/greet", done.root / "mine")
    unknown = done.invoke("eval-problem", "mine")
    assert unknown.returncode == 2
    assert 'no problem "mine": problems has "greet"' in unknown.stderr
    named = done.invoke("eval-problem", "mine", "-p", "greet", "-o", "out")
    assert named.returncode == 0
    assert done.summary("out/second")["name"] == "second"
    assert "skipped 2" in done.invoke("eval-problem", "mine", "-p", "problems/greet", "-o", "out").stderr


def test_eval_counts_what_eval_problem_and_eval_snapshot_did(world: World) -> None:
    world.invoke("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1")
    done = world.invoke("eval", "run")
    assert "evaluated 1: not evaluated before (greet/second)" in done.stderr
    assert "skipped 1" in done.stderr


def test_eval_snapshot_writes_next_to_the_snapshot_or_elsewhere_and_shows_what_failed(world: World) -> None:
    world.snapshot("run", "greet", "first", HALF)
    done = world.invoke("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "first")
    assert (done.returncode, done.stdout) == (1, "")
    assert "FAILED errors/nobody" in done.stderr
    assert "1 of 2 passed" in done.stderr
    assert world.summary("run/greet/first")["pass_counts"] == {"Core": 1, "Error": 0}
    world.invoke("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "2", "-o", "out")
    assert world.summary("out")["name"] == "second"


def test_eval_snapshot_of_the_current_folder_writes_next_to_it(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    snapshot = world.root / "run/greet/first/snapshot"
    monkeypatch.chdir(snapshot)
    above = "../../../.."
    done = ask("-p", f"{above}/problems", "eval-snapshot", ".", "-p", "greet", "-c", "1", "-e", f"{above}/sh.yaml")
    assert done.code == 0, done.stderr
    assert [path.name for path in snapshot.iterdir()] == ["main.sh"]
    assert world.summary("run/greet/first")["score"] == 1.0


def test_eval_snapshot_of_a_part_is_not_complete(world: World) -> None:
    arguments = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1")
    done = world.invoke(*arguments, "-g", "co*", "--case", "y*")
    assert done.returncode == 0
    assert "1 of 1 passed" in done.stderr
    assert "interrupted" not in done.stderr
    assert world.summary("run/greet/first")["complete"] is False
    nothing = world.invoke(*arguments, "-g", "nope")
    assert nothing.returncode == 2
    assert "first has the groups core, errors" in nothing.stderr


def test_results_never_go_into_the_submission(world: World) -> None:
    done = world.invoke(
        "eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1", "-o", "run/greet/first/snapshot/results"
    )
    assert done.returncode == 2
    assert "lies within the submission" in done.stderr
    assert not (world.root / "run/greet/first/snapshot/results").exists()


def test_too_wide_a_matrix_becomes_a_list(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    names = tuple(f"a_checkpoint_with_a_long_name_{number}" for number in range(2))
    world.problem("greet", names)
    shutil.rmtree(world.root / "run")
    for name in names:
        world.snapshot("run", "greet", name)
    monkeypatch.setenv("COLUMNS", "60")
    done = world.invoke("eval", "run")
    assert "greet    a_checkpoint_with_a_long_name_1  2/2 ✓" in done.stderr
    assert max(len(line) for line in done.stderr.splitlines() if "✓" in line) <= 60


def test_marks_are_words_where_they_cannot_be_written(done: World) -> None:
    ended = done.slop_code("eval", "run", env={"PYTHONIOENCODING": "ascii", "LC_ALL": "C"}, cold=True)
    assert "greet    2/2 ok  2/2 ok" in ended.stderr


def test_on_a_terminal_the_display_is_gone_at_the_end(world: World) -> None:
    world.snapshot("run", "greet", "second", "sleep 0.6; echo hello $1\n")
    shown = on_terminal(world.command("eval", "run", "-e", "sh.yaml"), cwd=world.root, env={"NO_COLOR": "1"})
    assert (shown.code, shown.stdout) == (0, b"")
    assert "greet/second" in shown.sent.partition("problem")[0]
    assert shown.screen[:2] == ["problem  first  second", "greet    2/2 ✓  2/2 ✓"]


def test_options_of_a_run_are_taken(world: World) -> None:
    world.snapshot("run", "greet", "first", BAD)
    snapshot = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1", "-j", "1")
    world.invoke(*snapshot, "--fail-fast", "--exclusive", "*")
    assert world.summary("run/greet/first")["complete"] is False
    world.invoke(*snapshot, "--confirm-failures", "--case", "you")
    (report,) = iter_reports(world.root / "run/greet/first")
    assert any("again, alone" in warning for warning in report.warnings)


def test_the_calculator(tmp_path: Path) -> None:
    for number in (1, 2):
        shutil.copytree(
            ROOT / f"problems/calculator/checkpoint_{number}/solution",
            tmp_path / f"run/calculator/checkpoint_{number}/snapshot",
        )
    shutil.copytree(
        tmp_path / "run/calculator/checkpoint_1/snapshot",
        tmp_path / "run/calculator/checkpoint_2/snapshot",
        dirs_exist_ok=True,
    )
    done = slop_code("eval", tmp_path / "run", "-e", "local-py", "--pass-policy", "all-core-cases")
    assert done.returncode == 1, done.stderr
    lines = [json.loads(line) for line in (tmp_path / "run/checkpoint_results.jsonl").read_text().splitlines()]
    assert [(line["passed"], line["total_cases"]) for line in lines] == [(True, 10), (False, 17)]


def test_nothing_selected_leaves_earlier_results_as_they_are(done: World) -> None:
    arguments = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1")
    folder = done.root / "run" / "greet" / "first"
    before = {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    for option in ("-g", "--case"):
        assert done.invoke(*arguments, option, "nope").returncode == 2
        assert {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before
