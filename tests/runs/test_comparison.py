"""`slop-code compare A B`: what got better and worse, came and went, and why."""

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from slop_code.evaluation.report import CorrectnessResults, ReportWriter
from slop_code.evaluation.verifiers import AttributeResult
from slop_code.runs.case_records import iter_records
from slop_code.runs.comparison import KINDS, compare_results
from slop_code.runs.result_folders import result_folders
from tests.runs.asking import Answer, ask, made, save
from tests.runs.world import BAD, World

HALF = 'test -n "$1" && echo hello $1\n'
"""Passes the Core case and fails the Error case."""
ODD = "a|\\|b`c``\n<b>\x1b[31m\x00\u2028\ufffe\ud83d 漢"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def kinds(answer: Answer) -> dict[str, str]:
    return {f"{case['group']}/{case['id']}": case["kind"] for case in answer.json["cases"]}


def test_two_runs_of_real_programs_are_compared_case_by_case(done: World) -> None:
    done.snapshot("other", "greet", "first")
    done.snapshot("other", "greet", "second", HALF)
    done.evaluate("other")
    worse = ask("compare", "run", "other")
    assert worse.code == 1
    assert re.search(r"^greet/second +2/2 → 1/2 +1\.00 → 0\.50 +\d", worse.stdout, re.MULTILINE)
    assert re.search(r"^  errors +1/1 → 0/1 +1\.00 → 0\.00 +\d", worse.stdout, re.MULTILINE)
    assert "worse: 1\n  greet/second/errors/nobody: passed → failed 0.00\n    output: correct → wrong\n" in worse.stdout
    assert "- 1 | hello⏎\n" in worse.stdout
    assert worse.stdout.endswith("\n1 worse, 3 unchanged\n")
    better = ask("compare", "other", "run")
    assert better.code == 0
    assert (
        "better: 1\n  greet/second/errors/nobody: failed 0.00 → passed\n    output: wrong → correct\n" in better.stdout
    )
    assert better.stdout.endswith("\n1 better, 3 unchanged\n")


def test_the_same_results_are_one_line(done: World) -> None:
    done.snapshot("again", "greet", "first")
    done.snapshot("again", "greet", "second")
    done.evaluate("again")
    same = ask("compare", "run", "again")
    assert same.code == 0
    assert re.fullmatch(r"the same results: 4 cases, 4 passed, in \d\.\d\d s( → \d\.\d\d s)?\n", same.stdout)
    assert re.fullmatch(
        r"The same results: 4 cases, .*\.\n", ask("compare", "run", "again", "--format", "markdown").stdout
    )
    assert ask("compare", "run", "again", "--format", "json").json["same"] is True


def test_cases_that_come_and_go_are_neither_better_nor_worse(done: World) -> None:
    (done.greet / "first/core/you.yaml").rename(done.greet / "first/core/we.yaml")
    for checkpoint in ("first", "second"):
        done.snapshot("other", "greet", checkpoint)
    done.evaluate("other")
    answer = ask("compare", "run", "other", "--format", "json")
    assert answer.code == 0
    assert kinds(answer) == {"core/we": "appeared", "core/you": "disappeared"}
    appeared = answer.json["cases"][0]
    assert (appeared["problem"], appeared["checkpoint"], appeared["before"]) == ("greet", "first", None)


@pytest.mark.parametrize(
    ("before", "after", "kind", "code"),
    [
        ({"outcome": "passed"}, {"outcome": "passed"}, None, 0),
        ({"outcome": "passed"}, {"outcome": "failed"}, "worse", 1),
        ({"outcome": "passed"}, {"outcome": "timed out"}, "worse", 1),
        ({"outcome": "passed"}, {"outcome": "error"}, "worse", 1),
        ({"outcome": "failed"}, {"outcome": "passed"}, "better", 0),
        ({"outcome": "failed"}, {"outcome": "timed out"}, "worse", 1),
        ({"outcome": "timed out"}, {"outcome": "failed"}, "better", 0),
        ({"outcome": "failed"}, {"outcome": "error"}, "worse", 1),
        ({"outcome": "error"}, {"outcome": "failed"}, "better", 0),
        # Between two that did not pass, the score decides before the word does.
        ({"outcome": "failed"}, {"outcome": "timed out", "verdicts": {"a": True, "b": False}}, "better", 0),
        (
            {"verdicts": {"a": True, "b": False, "c": True}},
            {"verdicts": {"a": True, "b": False, "c": False}},
            "score_down",
            1,
        ),
        ({"verdicts": {"a": False, "b": False}}, {"verdicts": {"a": True, "b": False}}, "score_up", 0),
        ({"verdicts": {"a": True, "b": False}}, {"verdicts": {"a": False, "b": True}}, "other_reason", 0),
        ({"outcome": "error", "error": "no network"}, {"outcome": "error", "error": "no disk"}, "other_reason", 0),
        # Something more is verified, and it is correct.
        ({"verdicts": {"a": True}}, {"verdicts": {"a": True, "b": True}}, None, 0),
    ],
)
def test_what_counts_as_better_and_worse(
    before: dict[str, object], after: dict[str, object], kind: str | None, code: int
) -> None:
    save(Path("a"), [made("it", **before)])  # type: ignore[arg-type]
    save(Path("b"), [made("it", **after)])  # type: ignore[arg-type]
    answer = ask("compare", "a", "b", "--format", "json")
    assert kinds(answer) == ({"core/it": kind} if kind else {})
    assert answer.code == code
    assert {name: count for name, count in answer.json["counts"].items() if count} == {kind or "unchanged": 1}
    assert list(answer.json["counts"]) == [*KINDS, "unchanged"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ({}, {"verdicts": {"output": False}}, "output: correct → wrong"),
        (
            {"verdicts": {"output": True, "status_code": True, "files-x": False}},
            {"verdicts": {"output": False, "status_code": False, "files-x": True}},
            "output, status_code: correct → wrong; files-x: wrong → correct",
        ),
        (
            {},
            {"verdicts": {"output": True, "stderr": False}},
            "stderr: not verified → wrong",
        ),
        ({}, {"outcome": "error"}, "verifier.py:3: KeyError: 'x'"),
        ({"outcome": "error"}, {}, "no longer: verifier.py:3: KeyError: 'x'; output: wrong → correct"),
        ({"outcome": "failed"}, {"outcome": "timed out"}, "ran out of time"),
    ],
)
def test_why_is_one_line_about_verdicts_and_errors(
    before: dict[str, object], after: dict[str, object], why: str
) -> None:
    if after.get("outcome") == "error":
        after = {**after, "verdicts": {}}
    save(Path("a"), [made("it", **before)])  # type: ignore[arg-type]
    save(Path("b"), [made("it", **after)])  # type: ignore[arg-type]
    (case,) = ask("compare", "a", "b", "--format", "json").json["cases"]
    assert case["why"] == why
    assert f"    {why}\n" in ask("compare", "a", "b").stdout
    assert f": `{why}`\n" in ask("compare", "a", "b", "--format", "markdown").stdout + "\n"


def test_what_appeared_and_is_wrong_says_what_is_wrong() -> None:
    save(Path("a"), [made("it")])
    save(Path("b"), [made("it"), made("new", outcome="failed"), made("lost", outcome="error")])
    cases = ask("compare", "a", "b", "--format", "json").json["cases"]
    assert [(case["id"], case["why"]) for case in cases] == [
        ("new", "output: wrong"),
        ("lost", "verifier.py:3: KeyError: 'x'; output: wrong"),
    ]


def test_equal_ids_are_numbered_and_scored_as_in_the_summary(tmp_path: Path) -> None:
    def report(name: str, group: str, weight: float) -> object:
        wrong = AttributeResult(attribute="b", actual=1, expected=2, is_correct=False, weight=weight)
        right = AttributeResult(attribute="a", actual=1, expected=1, is_correct=True, weight=2.0)
        unseen = AttributeResult(attribute="c", actual=1, expected=1)
        return made(name, group).model_copy(update={"results": {"a": right, "b": wrong, "c": unseen}})

    names = ["x", "x", "x (2)", "x", "y", "x (2)", "x (2) (2)", "y"]
    reports = [report(name, group, 1.0 + number) for group in ("g", "h") for number, name in enumerate(names)]
    reports += [made("x", "g", outcome="error", verdicts={"a": True})]
    folder = save(tmp_path / "results", reports)  # type: ignore[arg-type]
    summary = CorrectnessResults.from_dir(folder, with_reports=False)
    found: dict[str, dict[str, float]] = {}
    for record in iter_records(folder):
        assert record.id not in found.setdefault(record.group, {})
        found[record.group][record.id] = record.score
    assert found == {name: group.results for name, group in summary.group_outcomes.items()}


def test_the_order_of_groups_and_cases_does_not_matter() -> None:
    reports = [made(str(number), group, outcome="failed") for group in ("g", "h") for number in range(5)]
    save(Path("a"), reports)
    save(Path("b"), [*reversed(reports)])
    assert ask("compare", "a", "b").stdout.startswith("the same results: 10 cases, 0 passed")
    save(Path("c"), [*reversed(reports[1:]), made("new", "g")])
    answer = ask("compare", "a", "c", "--format", "json")
    assert kinds(answer) == {"g/new": "appeared", "g/0": "disappeared"}
    assert answer.json["counts"]["unchanged"] == 9


def test_scores_and_times_are_told_by_group_and_checkpoint() -> None:
    save(Path("a"), [made("1"), made("2", outcome="failed"), made("1", "gone", run_s=2.0)])
    save(Path("b"), [made("1"), made("2", run_s=1.0), made("1", "new", run_s=None)])
    (checkpoint,) = ask("compare", "a", "b", "--format", "json").json["checkpoints"]
    totals = {"cases": 3, "passed": 2, "score": 0.75, "run_s": 3.0}
    assert checkpoint["before"] == totals
    assert checkpoint["after"] == {"cases": 3, "passed": 3, "score": 1.0, "run_s": 1.5}
    groups = {group["group"]: (group["before"], group["after"], group["changes"]) for group in checkpoint["groups"]}
    assert groups == {
        "core": (
            {"cases": 2, "passed": 1, "score": 0.5, "run_s": 1.0},
            {"cases": 2, "passed": 2, "score": 1.0, "run_s": 1.5},
            1,
        ),
        "new": (None, {"cases": 1, "passed": 1, "score": 1.0, "run_s": 0.0}, 1),
        "gone": ({"cases": 1, "passed": 1, "score": 1.0, "run_s": 2.0}, None, 1),
    }
    lines = ask("compare", "a", "b").stdout.splitlines()
    assert lines[1:5] == [
        "shop/one  2/3 → 3/3  0.75 → 1.00  3.00 s → 1.50 s",
        "  core    1/2 → 2/2  0.50 → 1.00  1.00 s → 1.50 s",
        "  new     - → 1/1    - → 1.00     - → 0.00 s",
        "  gone    1/1 → -    1.00 → -     2.00 s → -",
    ]


def test_other_circumstances_are_told() -> None:
    save(Path("a"), [made("it")], environment="local-py", python="3.11")
    save(Path("b"), [made("it")], environment="sandbox-py", python="3.12", complete=False)
    answer = ask("compare", "a", "b")
    assert answer.stdout.splitlines()[1:] == [
        "shop/one: environment: local-py → sandbox-py",
        "shop/one: python: 3.11 → 3.12",
        "shop/one: the second results are not complete",
    ]


def test_one_checkpoint_can_be_compared_with_its_place_in_a_run() -> None:
    save(Path("alone"), [made("it")], checkpoint="two")
    save(Path("run/shop/one"), [made("it")])
    save(Path("run/shop/two"), [made("it", outcome="failed")], checkpoint="two")
    answer = ask("compare", "alone", "run", "--format", "json")
    assert answer.code == 1
    assert [(case["kind"], case["checkpoint"]) for case in answer.json["cases"]] == [
        ("worse", "two"),
        ("appeared", "one"),
    ]
    assert answer.json["checkpoints"][0]["notes"] == ["only in the second results"]
    assert ask("compare", "alone", "run/shop/two").code == 1
    assert ask("compare", "run/shop", "run").stdout.startswith("the same results: 2 cases")


def test_results_of_different_checkpoints_are_said_to_have_nothing_in_common() -> None:
    save(Path("run/shop/one"), [made("it")])
    save(Path("run/shop/two"), [made("it")], checkpoint="two")
    answer = ask("compare", "run/shop/one", "run/shop/two")
    assert answer.code == 2
    assert "run/shop/one and run/shop/two have no checkpoint in common" in answer.stderr
    assert answer.stdout.endswith("1 appeared, 1 disappeared, 0 unchanged\n")


def test_what_a_submission_or_a_later_judgement_leaves_is_not_taken_for_results() -> None:
    save(Path("run/shop/one"), [made("it")])
    save(Path("run/shop/one/snapshot"), [made("forged")])
    save(Path("run/shop/one/judged-1"), [made("it", outcome="failed")])
    save(Path("run/shop/two/snapshot"), [made("forged")], checkpoint="two")
    for place in ("run", "run/shop", "run/shop/one"):
        assert [folder.path for folder in result_folders(Path(place))] == [Path("run/shop/one")]
    assert ask("compare", "run/shop/one", "run/shop/one/judged-1").code == 1


def test_checkpoints_are_in_natural_order() -> None:
    for number in (10, 9, 1, 2):
        save(Path(f"run/shop/c{number}"), [made("it")], checkpoint=f"c{number}")
    assert [folder.checkpoint for folder in result_folders(Path("run"))] == ["c1", "c2", "c9", "c10"]


@pytest.mark.parametrize(
    ("layout", "said"),
    [
        ([], "runs: no such folder"),
        (["run/"], 'runs: no such folder (did you mean "run"?)'),
        (["runs"], "runs: cannot be read: Not a directory"),
        (["runs/"], "runs: has no results (reports.parquet and evaluation.json); it is empty"),
        (["runs/x.txt", "runs/notes/"], 'it has "notes" and "x.txt"'),
        (["runs/snapshot/"], "not evaluated yet: slop-code eval-snapshot runs/snapshot -p PROBLEM -c runs"),
        (["runs/one/snapshot/"], "not evaluated yet: slop-code eval-problem runs"),
        (["runs/shop/one/snapshot/"], "not evaluated yet: slop-code eval runs"),
        (["runs/monday/shop/one/reports.parquet"], "a folder of runs: name one of them, such as runs/monday"),
        (["runs/evaluation.json"], "runs/reports.parquet: no such file beside evaluation.json"),
        (["runs/reports.parquet"], "runs/reports.parquet: is damaged or cannot be read"),
    ],
)
def test_what_is_no_result_directory_says_what_is_there(layout: list[str], said: str) -> None:
    save(Path("good"), [made("it")])
    for name in layout:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.mkdir() if name.endswith("/") else path.write_text("x")
    for arguments in (["good", "runs"], ["runs", "good"], ["runs"]):
        answer = ask("compare", *arguments)
        assert (answer.code, answer.stdout) == (2, "")
        assert said in answer.stderr


def test_two_results_of_one_checkpoint_in_one_folder_are_not_guessed_about() -> None:
    save(Path("runs/a"), [made("it")])
    save(Path("runs/b"), [made("it")])
    answer = ask("compare", "runs", "runs/a")
    assert answer.code == 2
    assert "runs/a and runs/b both have results of shop/one; name the one that is meant" in answer.stderr


def test_an_interrupted_run_is_compared_as_far_as_it_came() -> None:
    reports = [made("one"), made("two", outcome="failed"), made("three")]
    save(Path("a"), reports)
    results = CorrectnessResults(problem_name="shop", problem_version=1, name="one", version=1, environment="sh")
    writer = ReportWriter("b", results)
    for report in reversed(reports[:2]):
        writer.add(report)
    writer.close()
    answer = ask("compare", "a", "b", "--format", "json")
    assert kinds(answer) == {"core/three": "disappeared"}
    assert answer.json["checkpoints"][0]["notes"] == ["the second results are not complete"]


def test_nothing_in_results_can_break_a_format_or_steer_a_terminal() -> None:
    for folder, outcome in (("a", "passed"), ("b", "failed"), ("c", "error")):
        report = made(
            ODD, f"g{ODD}", outcome=outcome, verdicts={ODD: outcome == "passed"} if outcome != "error" else {}
        )
        if outcome == "error":
            report = report.model_copy(update={"error": ODD})
        save(Path(folder), [report], problem=f"p{ODD}", environment=f"{ODD}{folder}")
    for other in ("b", "c"):
        table = ask("compare", "a", other).stdout
        assert not set(table) & set("\x1b\x00\u2028")
        assert "<U+001B>[31m<U+0000><U+2028>" in table
        page = ask("compare", "a", other, "--format", "markdown").stdout
        assert not set(page) & set("\x1b\x00\u2028")
        rows = [line for line in page.splitlines() if line.startswith("|")]
        assert len(rows) == 4
        assert {len(re.findall(r"(?:\\.|[^|\\])+", row)) for row in rows} == {4}
        assert "<b>" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", page, flags=re.DOTALL)
        # What a lone surrogate became when it was stored is told as it is.
        (case,) = ask("compare", "a", other, "--format", "json").json["cases"]
        assert case["id"] == ODD.replace("\ud83d", "\\ud83d")


def shape(value: object) -> object:
    """The keys of JSON, and of the first item of its lists."""
    if isinstance(value, dict):
        return {name: shape(item) for name, item in value.items()}
    return [shape(item) for item in value[:1]] if isinstance(value, list) else None


def test_the_keys_of_the_json_are_these_and_a_change_of_them_is_another_version() -> None:
    save(Path("a"), [made("it"), made("gone")])
    save(Path("b"), [made("it", outcome="failed")])
    found = ask("compare", "a", "b", "--format", "json").json
    totals = dict.fromkeys(("cases", "passed", "score", "run_s"))
    record = {**dict.fromkeys(("outcome", "score", "run_s", "error")), "verdicts": {"output": None}}
    assert found["format_version"] == 1
    assert shape(found) == {
        "format_version": None,
        "same": None,
        "counts": dict.fromkeys([*KINDS, "unchanged"]),
        "checkpoints": [
            {
                **dict.fromkeys(("problem", "checkpoint")),
                "before": totals,
                "after": totals,
                "notes": [],
                "groups": [{"group": None, "before": totals, "after": totals, "changes": None}],
            }
        ],
        "cases": [
            {
                **dict.fromkeys(("kind", "problem", "checkpoint", "group", "id")),
                "before": record,
                "after": record,
                "why": None,
                "difference": [None],
            }
        ],
    }


def test_long_lists_are_cut_for_people_and_whole_for_machines() -> None:
    save(Path("a"), [made(str(number), f"g{number % 60}") for number in range(150)])
    save(Path("b"), [made(str(number), f"g{number % 60}", outcome="failed") for number in range(120)])
    table = ask("compare", "a", "b").stdout
    assert "worse: 120\n" in table
    assert "and 20 more; --format json has them all" in table
    assert table.count("passed → failed") == 100
    assert "- and 20 more; --format json has them all" in ask("compare", "a", "b", "--format", "markdown").stdout
    assert len(ask("compare", "a", "b", "--format", "json").json["cases"]) == 150


def test_in_a_long_table_groups_without_changes_are_only_counted() -> None:
    save(Path("a"), [made("it", f"g{number}") for number in range(60)])
    save(Path("b"), [made("it", f"g{number}", outcome="failed" if number < 2 else None) for number in range(60)])
    lines = ask("compare", "a", "b").stdout.splitlines()
    assert [line.split()[0] for line in lines[1:5]] == ["shop/one", "g0", "g1", "and"]
    assert "and 58 groups in which nothing changed" in lines


def test_of_results_in_the_same_order_only_what_differs_is_held() -> None:
    def peak(cases: int) -> int:
        report = made("x", verdicts={"output": False, "status_code": True})
        report.results["output"].actual = "x" * 5_000
        for folder in ("a", "b"):
            save(Path(f"{folder}{cases}"), [report.model_copy(update={"id": str(number)}) for number in range(cases)])
        sides = [result_folders(Path(f"{folder}{cases}")) for folder in ("a", "b")]
        gc.collect()
        tracemalloc.start()
        assert compare_results(*sides).unchanged == cases
        highest = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return highest

    # A thousand reports are read at a time, and these take 5 kB each.
    assert peak(3_000) < peak(1_000) * 1.3


def test_the_command_exits_with_its_codes_and_prints_no_traceback(here: Path) -> None:
    save(Path("a"), [made("it")])
    save(Path("b"), [made("it", outcome="failed")])
    Path("c").mkdir()
    command = [sys.executable, "-c", "from slop_code.cli import main; main()", "compare"]
    for arguments, code in ((["a", "b"], 1), (["a", "c"], 2)):
        done = subprocess.run([*command, *arguments], cwd=here, env=dict(os.environ), capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr
        assert bool(done.stdout) == (code < 2)
    for arguments, code in ((["b", "a"], 0), (["a"], 2), (["a", "b", "--format", "x"], 2)):
        answer = ask("compare", *arguments)
        assert (answer.code, bool(answer.stdout)) == (code, code < 2)


def test_a_failing_submission_is_told_with_what_differed(done: World) -> None:
    done.snapshot("bad", "greet", "first", BAD)
    done.evaluate("bad")
    done.snapshot("worse", "greet", "first", "exit 3\n")
    done.evaluate("worse")
    answer = ask("compare", "bad", "worse", "--format", "json")
    assert answer.code == 0, "the same attribute is wrong, in another way"
    cases = json.loads(ask("compare", "run/greet/first", "worse", "--format", "json").stdout)["cases"]
    assert [case["kind"] for case in cases] == ["worse", "worse"]
    assert all(case["difference"][0] == "output:" for case in cases)
