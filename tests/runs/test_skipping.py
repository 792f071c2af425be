"""What is done and unchanged is skipped, by content; whatever can change a verdict is noticed."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import slop_code
from slop_code.evaluation.listening import RunOptions, Selection
from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.runner import run_checkpoint
from slop_code.execution import EnvironmentSpec
from slop_code.execution.interpreter import Interpreter, choose_interpreter
from slop_code.runs import fingerprint
from slop_code.runs.fingerprint import Fingerprint
from tests.runs.world import BAD, World

VERIFIER = """
from slop_code.evaluation.verifiers import deepdiff_verify

class Verifier:
    def __init__(self, checkpoint): ...
    def __call__(self, group_name, case_name, actual, expected):
        return {"output": deepdiff_verify(actual.output, expected.output)}
"""


@pytest.fixture
def single(world: World) -> World:
    """A world with one snapshot to evaluate."""
    shutil.rmtree(world.root / "run/greet/second")
    return world


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def unchanged(*_: World) -> None:
    """The same command again."""


def touch_everything(world: World) -> None:
    for path in world.root.rglob("*"):
        os.utime(path, (1, 1))


def rename_the_run(world: World) -> None:
    shutil.move(world.root / "run", world.root / "moved")
    (world.root / "run").symlink_to("moved")


def copy_the_run(world: World) -> None:
    shutil.copytree(world.root / "run", world.root / "copy")
    shutil.rmtree(world.root / "run")
    (world.root / "copy").rename(world.root / "run")


def edit_the_specification(world: World) -> None:
    (world.greet / "first" / "spec.md").write_text("Say hello, please.\n")


def add_a_solution(world: World) -> None:
    world.write("problems/greet/first/solution/main.sh", "echo hello $1\n")
    world.write("problems/greet/first/wrong_solutions/rude/main.sh", "echo go away\n")


def leave_bytecode_behind(world: World) -> None:
    world.write("problems/greet/__pycache__/loader.cpython-311.pyc", "x")
    world.write("run/greet/first/snapshot/main.pyc", "x")


def rename_the_environment(world: World) -> None:
    edit(world.environment, "type: local", "type: local\nname: other")


@pytest.mark.parametrize(
    "change",
    [
        unchanged,
        touch_everything,
        rename_the_run,
        copy_the_run,
        edit_the_specification,
        add_a_solution,
        leave_bytecode_behind,
        rename_the_environment,
    ],
)
def test_what_cannot_change_a_verdict_is_no_reason_to_evaluate_again(
    done: World, change: Callable[[World], None]
) -> None:
    change(done)
    assert set(done.look().values()) == {"skipped"}


def test_skipped_checkpoints_have_the_results_that_are_there(single: World) -> None:
    before = single.evaluate()
    assert {(outcome.status, outcome.text) for outcome in before.values()} == {("evaluated", "not evaluated before")}
    after = single.evaluate()
    assert {outcome.status for outcome in after.values()} == {"skipped"}
    assert [outcome.summary for outcome in after.values()] == [outcome.summary for outcome in before.values()]


def test_a_changed_line_of_a_submission_costs_its_own_checkpoint_only(done: World) -> None:
    edit(done.root / "run/greet/first/snapshot/main.sh", "hello", "goodbye")
    after = done.evaluate()
    assert after["greet/first"].text == "the submission changed"
    assert after["greet/second"].status == "skipped"
    first = after["greet/first"].summary
    assert first is not None
    assert first.passed_cases == 0
    assert set(done.look().values()) == {"skipped"}


def make_it_executable(world: World) -> None:
    (world.root / "run/greet/first/snapshot/main.sh").chmod(0o755)


def add_an_empty_file(world: World) -> None:
    world.write("run/greet/first/snapshot/empty", "")


@pytest.mark.parametrize("change", [make_it_executable, add_an_empty_file])
def test_a_submission_is_all_that_a_program_could_tell_apart(done: World, change: Callable[[World], None]) -> None:
    change(done)
    assert done.look() == {"greet/first": "the submission changed", "greet/second": "skipped"}


def edit_a_case(world: World) -> None:
    edit(world.greet / "first/core/you.yaml", "hello", "hallo")


def add_a_case(world: World) -> None:
    world.write("problems/greet/first/core/me.yaml", "expected: {output: x}\n")


def remove_a_case(world: World) -> None:
    (world.greet / "second/core/you.yaml").unlink()


def rename_a_case(world: World) -> None:
    (world.greet / "second/core/you.yaml").rename(world.greet / "second/core/thou.yaml")


def edit_the_configuration(world: World) -> None:
    edit(world.greet / "config.yaml", "timeout: 60", "timeout: 61")


def add_a_verifier(world: World) -> None:
    world.write("problems/greet/verifier.py", VERIFIER)


@pytest.mark.parametrize(
    "change", [edit_a_case, add_a_case, remove_a_case, rename_a_case, edit_the_configuration, add_a_verifier]
)
def test_a_problem_is_all_of_its_files_that_can_change_a_verdict(done: World, change: Callable[[World], None]) -> None:
    change(done)
    assert set(done.look().values()) == {"the problem changed"}


def limit_the_memory(world: World) -> None:
    edit(world.environment, "type: local", "type: local\nlimits: {memory_mb: 100}")


def set_a_variable(world: World) -> None:
    edit(world.environment, "type: local", "type: local\nenvironment: {env: {A: b}}")


def use_another_command(world: World) -> None:
    edit(world.environment, "command: sh", "command: sh -e")


@pytest.mark.parametrize("change", [limit_the_memory, set_a_variable, use_another_command])
def test_an_environment_is_what_its_file_says(done: World, change: Callable[[World], None]) -> None:
    change(done)
    assert set(done.look().values()) == {"the environment changed"}


def test_a_variable_that_the_environment_passes_on_counts(single: World, monkeypatch: pytest.MonkeyPatch) -> None:
    edit(single.environment, "type: local", "type: local\nenvironment: {pass_env: [GREETING]}")
    monkeypatch.setenv("GREETING", "one")
    single.evaluate()
    monkeypatch.setenv("UNRELATED", "two")
    assert set(single.look().values()) == {"skipped"}
    monkeypatch.setenv("GREETING", "two")
    assert set(single.look().values()) == {"the environment changed"}


def test_the_program_that_runs_submissions_counts(single: World, monkeypatch: pytest.MonkeyPatch) -> None:
    program = single.write("bin/greeter", '#!/bin/sh\nexec sh "$@"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    edit(single.environment, "command: sh", "command: greeter")
    single.evaluate()
    assert set(single.look().values()) == {"skipped"}
    program.write_text('#!/bin/sh\nexec sh -e "$@"\n')
    fingerprint._content.cache_clear()
    assert set(single.look().values()) == {"the environment's interpreter changed"}


def made_of(world: World, **spec: Any) -> Fingerprint:
    target = world.evaluation()._targets[0]
    for cached in (fingerprint._content, fingerprint._runs_programs):
        cached.cache_clear()
    given = {"type": "local", "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}, **spec}
    return fingerprint.fingerprint(target, EnvironmentSpec.model_validate(given), RunOptions(), Selection())


def test_the_folders_of_tools_count_where_programs_see_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    local, sandbox = made_of(world), made_of(world, type="sandbox")
    monkeypatch.setenv("PATH", f"{os.environ['PATH']}:/nowhere")
    assert made_of(world).environment != local.environment
    assert made_of(world, type="sandbox").environment == sandbox.environment


@pytest.mark.parametrize(("name", "counts"), [("COLUMNS", True), ("TERM", True), ("SHLVL", False), ("OLDPWD", False)])
def test_of_the_hosts_variables_those_count_that_programs_heed(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str, counts: bool
) -> None:
    all_of_them = {"environment": {"include_os_env": True}}
    monkeypatch.setenv(name, "1")
    before = made_of(world, **all_of_them)
    monkeypatch.setenv(name, "2")
    assert (made_of(world, **all_of_them).environment != before.environment) == counts


@pytest.mark.parametrize("kind", ["a folder", "a file"])
def test_what_an_environment_shows_of_this_machine_counts_by_content(world: World, kind: str) -> None:
    file = world.write("data/deep/words", "one")
    shown = str(file if kind == "a file" else world.root / "data")
    spec = {"type": "sandbox", "sandbox": {"read_only_paths": [shown, "/nowhere"]}}
    before = made_of(world, **spec)
    os.utime(file, (1, 1))
    assert made_of(world, **spec) == before
    file.write_text("two")
    assert made_of(world, **spec).environment != before.environment
    assert made_of(world, **spec).surroundings != before.surroundings


def test_observations_depend_on_the_code_that_makes_them(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    before = made_of(world).surroundings
    assert made_of(world).surroundings == before
    monkeypatch.setattr(fingerprint, "_code", lambda *_: [["execution/process.py", "other"]])
    assert made_of(world).surroundings != before
    fingerprint._runs_programs.cache_clear()


def test_a_sandbox_has_a_fingerprint_of_its_own(done: World) -> None:
    edit(done.environment, "type: local", "type: sandbox")
    (reason,) = set(done.look().values())
    assert reason.startswith("the environment changed")


def test_the_chosen_python_counts(done: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def newer(wanted: str | None, submission: Path) -> Interpreter:
        return choose_interpreter(wanted, submission)._replace(version="3.99.0")

    monkeypatch.setattr("slop_code.runs.fingerprint.choose_interpreter", newer)
    assert set(done.look().values()) == {"the environment's interpreter changed"}


def test_the_version_of_slop_code_counts(done: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slop_code, "__version__", "99.0")
    fingerprint._evaluator.cache_clear()
    try:
        assert set(done.look().values()) == {"slop-code changed"}
    finally:
        fingerprint._evaluator.cache_clear()


def test_options_that_can_change_an_outcome_count_and_the_number_of_jobs_does_not(done: World) -> None:
    assert set(done.look(options=RunOptions(jobs=1)).values()) == {"skipped"}
    for options in (RunOptions(confirm_failures=True), RunOptions(exclusive=("core",))):
        assert set(done.look(options=options).values()) == {"other options were asked for"}


def test_several_changes_are_all_named(done: World) -> None:
    edit(done.root / "run/greet/first/snapshot/main.sh", "hello", "goodbye")
    edit_a_case(done)
    limit_the_memory(done)
    assert done.look() == {
        "greet/first": "the submission changed, the problem changed and the environment changed",
        "greet/second": "the problem changed and the environment changed",
    }


def test_results_that_were_copied_to_another_checkpoint_are_not_taken_for_its_own(done: World) -> None:
    shutil.rmtree(done.root / "run/greet/second")
    shutil.copytree(done.root / "run/greet/first", done.root / "run/greet/second")
    assert done.look() == {"greet/first": "skipped", "greet/second": "the results are of another checkpoint"}


FIRST = "run/greet/first"


def truncate_the_reports(world: World) -> None:
    os.truncate(world.root / FIRST / "reports.parquet", 100)


def lose_the_reports(world: World) -> None:
    (world.root / FIRST / "reports.parquet").unlink()


def edit_the_summary(world: World) -> None:
    edit(world.root / FIRST / "evaluation.json", '"score": 1.0', '"score": 0.5')


@pytest.mark.parametrize("damage", [truncate_the_reports, lose_the_reports, edit_the_summary])
def test_damaged_results_are_made_again(done: World, damage: Callable[[World], None]) -> None:
    damage(done)
    assert done.look() == {"greet/first": "the results were changed or damaged", "greet/second": "skipped"}


@pytest.mark.parametrize("key", ["", "[]", "{", '{"format_version": 99, "fingerprint": {}, "files": {}}'])
def test_results_without_a_key_that_we_understand_are_made_again(done: World, key: str) -> None:
    (done.root / FIRST / "evaluation.key.json").write_text(key)
    assert done.look()["greet/first"] == "the results do not say what they are of"


def test_results_with_errors_are_made_again(single: World) -> None:
    single.write(
        "problems/greet/verifier.py",
        "from pathlib import Path\n"
        + VERIFIER.replace("        return", "        assert Path('ready').exists()\n        return"),
    )
    first = single.evaluate()["greet/first"]
    assert first.summary is not None
    assert len(first.summary.errors) == 2
    assert single.look()["greet/first"] == "something could not be judged the last time"


def test_a_part_of_the_cases_is_never_taken_for_an_evaluation(single: World) -> None:
    part = single.evaluate(selection=Selection(groups=("core",)))["greet/first"]
    assert part.summary is not None
    assert part.summary.total_counts == {"Core": 1}
    stored = CorrectnessResults.from_dir(single.root / FIRST)
    assert stored.complete is False
    assert [report.id for report in stored.reports] == ["you"]
    assert single.evaluate()["greet/first"].text == "the results do not say what they are of"
    assert single.summary(FIRST)["complete"] is True


def test_a_run_that_stopped_at_the_first_failure_is_never_taken_for_an_evaluation(single: World) -> None:
    single.snapshot("run", "greet", "first", BAD)
    stopped = single.evaluate(options=RunOptions(jobs=1, fail_fast=True))["greet/first"]
    assert stopped.summary is not None
    assert stopped.summary.complete is False
    assert single.look()["greet/first"] == "other options were asked for"


def test_everything_is_evaluated_where_that_is_asked_for(done: World) -> None:
    assert {outcome.text for outcome in done.evaluate(overwrite=True).values()} == {"asked for"}


def test_a_submission_that_changed_while_it_was_evaluated_is_evaluated_again(
    single: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edited_meanwhile(*arguments: object, **keywords: object) -> CorrectnessResults:
        results = run_checkpoint(*arguments, **keywords)  # type: ignore[arg-type]
        (Path(str(keywords["submission_path"])) / "new").touch()
        return results

    monkeypatch.setattr("slop_code.runs.evaluate.run_checkpoint", edited_meanwhile)
    (reason,) = {outcome.text for outcome in single.evaluate().values()}
    assert reason == "not evaluated before, and again the next time, because something changed meanwhile"
    assert not (single.root / FIRST / "evaluation.key.json").exists()
    monkeypatch.undo()
    assert single.look()["greet/first"] == "the results do not say what they are of"


def test_the_key_holds_hashes_only(single: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_TOKEN", "do-not-tell")
    edit(single.environment, "type: local", "type: local\nenvironment: {pass_env: [MY_TOKEN]}")
    single.evaluate()
    text = (single.root / FIRST / "evaluation.key.json").read_text()
    assert str(single.root) not in text
    assert "do-not-tell" not in text
    key = json.loads(text)
    assert all(len(value) == 64 for value in (*key["fingerprint"].values(), *key["files"].values()))
