"""`slop-code compare DIR`: the first checkpoint at which each case broke, and the files that changed there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slop_code.execution.errors import ExecutionError
from slop_code.runs.breakage import follow_cases
from slop_code.runs.result_folders import ResultFolder, result_folders
from slop_code.runs.snapshot_changes import FileChanges, snapshot_changes
from tests.runs.asking import ask, made, save
from tests.runs.world import BAD, GOOD, World, make_world

Verdicts = dict[str, str]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def follow(here: Path) -> Callable[..., Any]:
    """Save one folder of results for each checkpoint `c1`, `c2`, …, given the outcome of c1's cases there."""

    def make(*checkpoints: Verdicts, formatted: str = "json") -> Any:
        for number, outcomes in enumerate(checkpoints, start=1):
            origin = {} if number == 1 else {"original_checkpoint": "c1", "original_group": "core"}
            group = "core" if number == 1 else "from_c1"
            reports = [made(case, group, outcome=outcome, **origin) for case, outcome in outcomes.items()]
            save(Path(f"run/shop/c{number}"), [*reports, made("own", "own")], checkpoint=f"c{number}")
        answer = ask("compare", "run/shop", "--format", formatted)
        return answer.json["problems"][0] if formatted == "json" else answer

    return make


def broken(problem: Any) -> dict[str, tuple[str, str, str | None]]:
    return {
        case["id"]: (step["since"], step["checkpoint"], case["passes_again"])
        for step in problem["steps"]
        for case in step["cases"]
    }


def test_real_programs_are_followed_through_their_checkpoints(tmp_path: Path) -> None:
    world = make_world(tmp_path)
    groups = {"core": {"type": "Core"}, "errors": {"type": "Error"}}
    regressions = [{"checkpoints": "*"}]
    checkpoints = {
        "start": {"order": 1, "groups": groups},
        "later": {"order": 2, "groups": groups, "regressions": regressions},
        "end": {"order": 3, "groups": groups, "regressions": regressions},
    }
    world.problem("steps", ("start", "later", "end"), checkpoints=checkpoints)
    for name, program in (("start", GOOD), ("later", GOOD), ("end", BAD)):
        snapshot = world.snapshot("run", "steps", name, program)
        (snapshot / "same.txt").write_text("the same\n")
        (snapshot / f"only_{name}.txt").write_text("new\n")
        (snapshot / f"{name}.pyc").write_text("ignored\n")
        (snapshot / ".venv").mkdir()
        (snapshot / ".venv" / name).write_text("ignored\n")
    world.evaluate("run")
    answer = ask("compare", "run/steps")
    assert (answer.code, answer.stderr) == (1, "")
    lines = answer.stdout.splitlines()
    assert [line.split()[0] for line in lines[:4]] == ["steps", "start", "later", "end"]
    assert "broke at end: 4" in lines
    assert "  start/core/you: passed → failed 0.00" in lines
    assert "  later/errors/nobody: passed → failed 0.00" in lines
    assert lines[-6:] == [
        "  files since later:",
        "    changed  main.sh",
        "    added    only_end.txt",
        "    removed  only_later.txt",
        "",
        "4 cases in more than one checkpoint, 4 broke",
    ]


def test_a_run_in_which_nothing_broke_exits_with_0(done: World) -> None:
    answer = ask("compare", "run")
    assert answer.code == 0
    assert answer.stdout.endswith("0 cases in more than one checkpoint, none broke\n")


def test_a_case_broke_where_it_did_not_pass_for_the_first_time_after_it_had(follow: Callable[..., Any]) -> None:
    problem = follow(
        {"at_2": "passed", "at_3": "passed", "never": "failed", "learnt": "failed", "mended": "passed", "fine": "passed"},
        {"at_2": "error", "at_3": "passed", "never": "failed", "learnt": "passed", "mended": "failed", "fine": "passed"},
        {"at_2": "failed", "at_3": "timed out", "never": "failed", "learnt": "failed", "mended": "passed", "fine": "passed"},
        {"at_2": "failed", "at_3": "failed", "never": "failed", "learnt": "failed", "mended": "failed", "fine": "passed"},
    )  # fmt: skip
    assert broken(problem) == {
        "at_2": ("c1", "c2", None),
        "mended": ("c1", "c2", "c3"),
        "at_3": ("c2", "c3", None),
        "learnt": ("c2", "c3", None),
    }
    assert (problem["followed"], problem["broken"]) == (6, 4)


def test_a_checkpoint_without_the_case_is_passed_over(follow: Callable[..., Any]) -> None:
    problem = follow({"it": "passed"}, {}, {"it": "failed"})
    assert broken(problem) == {"it": ("c1", "c3", None)}


def test_what_passes_again_is_told(follow: Callable[..., Any]) -> None:
    answer = follow({"it": "passed"}, {"it": "failed"}, {"it": "passed"}, formatted="table")
    assert "  c1/core/it: passed → failed 0.00, passes again at c3\n    output: correct → wrong\n" in answer.stdout


def test_a_case_that_came_in_by_two_ways_passes_only_if_both_do() -> None:
    origin = {"original_checkpoint": "c1", "original_group": "core"}
    save(Path("run/c1"), [made("it")], checkpoint="c1")
    twice = [made("it", "one_way", **origin), made("it", "other_way", outcome="failed", **origin)]
    save(Path("run/c2"), twice, checkpoint="c2")
    (step,) = follow_cases(result_folders(Path("run"))).steps
    assert [case.after.group for case in step.cases] == ["other_way"]


def test_a_regression_of_a_regression_is_the_same_case() -> None:
    save(Path("run/c1"), [made("it")], checkpoint="c1")
    save(Path("run/c2"), [made("it", "r", original_checkpoint="c1", original_group="core")], checkpoint="c2")
    again = made("it", "rr", outcome="failed", original_checkpoint="c2", original_group="r")
    save(Path("run/c3"), [again], checkpoint="c3")
    (step,) = follow_cases(result_folders(Path("run"))).steps
    assert [case.name for case in step.cases] == ["c1/core/it"]


def test_groups_of_one_name_at_several_checkpoints_are_different_groups() -> None:
    save(Path("run/c1"), [made("it")], checkpoint="c1")
    save(Path("run/c2"), [made("it", outcome="failed")], checkpoint="c2")
    followed = follow_cases(result_folders(Path("run")))
    assert (followed.followed, followed.steps) == (0, [])


def test_the_order_is_the_problems_where_it_is_found_and_else_by_name(world: World) -> None:
    groups = {"core": {"type": "Core"}}
    checkpoints = {
        "z": {"order": 1, "path": "c10", "groups": groups},
        "a": {"order": 2, "path": "c2", "groups": groups, "regressions": [{"checkpoint": "z"}]},
    }
    world.problem("shop", ("c10", "c2"), checkpoints=checkpoints)
    origin = {"original_checkpoint": "z", "original_group": "core"}
    save(Path("run/shop/c10"), [made("it")], checkpoint="c10")
    save(Path("run/shop/c2"), [made("it", "z_core", outcome="failed", **origin)], checkpoint="c2")
    answer = ask("compare", "run/shop", "--format", "json")
    assert (answer.code, answer.stderr) == (1, "")
    assert broken(answer.json["problems"][0]) == {"it": ("c10", "c2", None)}
    (world.root / "problems").rename("elsewhere")
    assert ask("-p", "elsewhere", "compare", "run/shop").code == 1
    by_name = ask("compare", "run/shop", "--format", "json")
    assert [item["checkpoint"] for item in by_name.json["problems"][0]["checkpoints"]] == ["c2", "c10"]
    assert by_name.code == 0
    assert "the checkpoints of shop are ordered by name: problems: no such folder of problems" in by_name.stderr


def test_every_problem_of_a_run_is_followed() -> None:
    for problem in ("shop", "bank"):
        save(Path(f"run/{problem}/c1"), [made("it")], problem=problem, checkpoint="c1")
        origin = {"original_checkpoint": "c1", "original_group": "core"}
        outcome = "failed" if problem == "bank" else None
        save(Path(f"run/{problem}/c2"), [made("it", "r", outcome=outcome, **origin)], problem=problem, checkpoint="c2")
    answer = ask("compare", "run", "--format", "json")
    assert answer.code == 1
    assert {item["problem"]: item["broken"] for item in answer.json["problems"]} == {"bank": 1, "shop": 0}


def test_one_checkpoint_alone_is_bad_usage() -> None:
    save(Path("results"), [made("it")])
    answer = ask("compare", "results")
    assert (answer.code, answer.stdout) == (2, "")
    assert "results: has the results of one checkpoint; name other results of it to compare with" in answer.stderr


def test_results_that_lie_apart_from_their_snapshots_say_that_the_files_are_unknown(follow: Callable[..., Any]) -> None:
    answer = follow({"it": "passed"}, {"it": "failed"}, formatted="table")
    assert "  files since c1 unknown: run/shop/c1/snapshot: no such folder of a submission\n" in answer.stdout
    page = ask("compare", "run/shop", "--format", "markdown").stdout
    assert "Files since `c1` unknown: `run/shop/c1/snapshot: no such folder of a submission`\n" in page


def test_snapshots_without_a_difference_say_so(follow: Callable[..., Any]) -> None:
    for name in ("c1", "c2"):
        Path(f"run/shop/{name}/snapshot").mkdir(parents=True)
    answer = follow({"it": "passed"}, {"it": "failed"}, formatted="table")
    assert "  files since c1: none changed\n" in answer.stdout


def test_incomplete_results_are_marked() -> None:
    save(Path("run/c1"), [made("it")], checkpoint="c1")
    save(Path("run/c2"), [made("it")], checkpoint="c2", complete=False)
    assert "\nc2 (not complete)  1/1 " in ask("compare", "run").stdout
    checkpoints = ask("compare", "run", "--format", "json").json["problems"][0]["checkpoints"]
    assert [item["complete"] for item in checkpoints] == [True, False]


def test_the_markdown_has_the_steps_with_their_files(follow: Callable[..., Any]) -> None:
    for name in ("c1", "c2"):
        Path(f"run/shop/{name}/snapshot").mkdir(parents=True)
    Path("run/shop/c2/snapshot/a`b|.py").write_text("")
    page = follow({"it": "passed"}, {"it": "failed"}, formatted="markdown").stdout
    assert "| `c2` | 1/2 | 0.50 | 1.00 s |\n" in page
    assert "## Broke at `c2`: 1\n\n- `c1/core/it`: passed → failed 0.00: `output: correct → wrong`\n  ```text\n" in page
    assert "Files since `c1`:\n\n- added ``a`b|.py``\n" in page


def test_snapshots_are_compared_by_what_programs_can_tell(tmp_path: Path) -> None:
    before, after = tmp_path / "before", tmp_path / "after"
    for folder in (before, after):
        (folder / "deep").mkdir(parents=True)
        for name in ("same", "time", "mode", "executable", "content", "kind", "deep/size"):
            (folder / name).write_text("text")
        (folder / "link").symlink_to("same")
    os.utime(after / "time", (1, 1))
    (after / "mode").chmod(0o600)
    (after / "executable").chmod(0o755)
    (after / "content").write_text("Text")
    (after / "deep/size").write_text("texts")
    (after / "link").unlink()
    (after / "link").symlink_to("time")
    (after / "kind").unlink()
    (after / "kind").symlink_to("same")
    (after / "empty").mkdir()
    (before / "gone").write_text("")
    (after / "new").write_text("")
    changes = snapshot_changes(before, after)
    assert changes == FileChanges(["new"], ["gone"], ["content", "deep/size", "executable", "kind", "link"])


def test_a_snapshot_that_is_not_there_is_an_error_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(ExecutionError, match="nowhere: no such folder of a submission"):
        snapshot_changes(tmp_path, tmp_path / "nowhere")


def test_results_of_no_known_checkpoint_come_last_by_name(world: World) -> None:
    from slop_code.evaluation import ProblemConfig
    from slop_code.runs.breakage import in_order

    folders = [ResultFolder(Path(name), "greet", name) for name in ("x10", "second", "x9", "first")]
    known = in_order(folders, ProblemConfig.from_yaml(world.greet))
    assert [folder.checkpoint for folder in known] == ["first", "second", "x9", "x10"]
