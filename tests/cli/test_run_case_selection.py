"""`tools run-case`: which cases are run, listed and run again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.cli.small_problem import SmallProblem, small_problem

CASES = """
cases:
  - {name: plus, argv: [plus], expected: {output: "2\\n"}}
  - {name: minus, argv: [minus], expected: {output: "0\\n"}}
  - {name: times, argv: [times], expected: {output: "1\\n"}}
"""
# Right for plus alone.
PROGRAM = "case $1 in plus) echo 2;; minus) echo 5;; times) echo 7;; esac\n"
STORE = """
from slop_code.evaluation.loaders import BaseLoader

class Store:
    def __init__(self): self.seen = {}
    def update(self, case, result, expected): self.seen[case.id] = result.output

class Loader(BaseLoader):
    def initialize_store(self): return Store()
    def __call__(self, group, store):
        yield {"id": "first", "arguments": ["plus"]}, {"output": "2\\n"}
        yield {"id": f"after {store.seen['first'].strip()}", "arguments": ["plus"]}, {"output": "2\\n"}
"""


@pytest.fixture
def problem(tmp_path: Path) -> SmallProblem:
    groups = {"core": {"type": "Core"}, "errors": {"type": "Error"}}
    return small_problem(tmp_path, {"core/sums.yaml": CASES, "errors/sums.yaml": CASES}, PROGRAM, groups=groups)


def test_globs_may_be_given_several_times(problem: SmallProblem) -> None:
    done = problem.run("-g", "cor*", "-g", "errors", "--case", "plus", "--case", "t*")
    assert list(done.outcomes) == ["core/plus", "core/times", "errors/plus", "errors/times"]


def test_an_unknown_group_names_the_groups_and_nothing_is_run(problem: SmallProblem) -> None:
    done = problem.run("-g", "cor")
    assert (done.code, done.cases) == (2, [])
    assert done.stderr == 'nothing matches --group "cor" (did you mean "core"?); one has the groups core, errors\n'


def test_one_unknown_group_among_others_is_not_passed_over(problem: SmallProblem) -> None:
    done = problem.run("-g", "core", "-g", "eror")
    assert (done.code, done.cases) == (2, [])
    assert done.stderr == 'nothing matches --group "eror" (did you mean "errors"?); one has the groups core, errors\n'


def test_one_unknown_case_among_others_is_named(problem: SmallProblem) -> None:
    done = problem.run("--case", "plus", "--case", "plsu", "-q")
    assert (done.outcomes, done.stderr) == ({"core/plus": True, "errors/plus": True}, 'nothing matches --case "plsu"\n')


def test_an_unknown_case_names_the_cases_of_each_group(problem: SmallProblem) -> None:
    done = problem.run("--case", "plsu")
    assert (done.code, done.cases) == (2, [])
    assert 'nothing matches --case "plsu" (did you mean "plus"?)' in done.stderr
    assert "  core: plus, minus, times\n  errors: plus, minus, times\n" in done.stderr


def test_list_prints_what_would_run_and_runs_nothing(problem: SmallProblem) -> None:
    done = problem.run("--list", "-g", "core", "--case", "*us")
    assert (done.code, done.stderr) == (0, "")
    assert done.cases == [{"id": "plus", "group": "core"}, {"id": "minus", "group": "core"}]
    assert not (problem.root / "cache").exists()
    table = problem.run("--list", "--case", "plus", "--format", "table")
    assert (table.code, table.stdout) == (0, "group   case\ncore    plus\nerrors  plus\n")


def test_list_says_that_a_group_with_a_store_is_incomplete(tmp_path: Path) -> None:
    done = small_problem(tmp_path, {"/loader.py": STORE}, PROGRAM).run("--list")
    assert (done.code, done.cases) == (0, [{"id": "first", "group": "core"}])
    assert done.stderr == 'group "core" is fed from results: cases that depend on them are not listed\n'


def test_list_of_a_broken_loader_says_where(tmp_path: Path) -> None:
    script = "from slop_code.evaluation.loaders import BaseLoader\nclass Loader(BaseLoader):\n def __call__(self, group, store):\n  yield 1 / 0\n"
    done = small_problem(tmp_path, {"/loader.py": script}, PROGRAM).run("--list")
    assert (done.code, done.cases) == (2, [])
    assert "loader.py:4: ZeroDivisionError" in done.stderr


def test_rerun_failed_runs_what_did_not_pass_until_nothing_is_left(problem: SmallProblem) -> None:
    unknown = problem.run("--rerun-failed")
    assert (unknown.code, unknown.cases) == (2, [])
    assert "nothing is known of an earlier run" in unknown.stderr

    assert problem.run("-g", "core").code == 1
    problem.program.write_text("case $1 in minus) echo 0;; plus) echo 2;; esac\n")
    again = problem.run("--rerun-failed")
    assert (again.code, again.outcomes) == (1, {"core/minus": True, "core/times": False})
    problem.program.write_text("echo 1\n")
    last = problem.run("--rerun-failed")
    assert (last.code, last.outcomes) == (0, {"core/times": True})

    assert problem.run("-g", "errors", "--case", "minus").code == 1
    elsewhere = problem.run("-g", "core", "--rerun-failed")
    assert (elsewhere.code, elsewhere.cases) == (0, [])
    assert elsewhere.stderr == "nothing of that failed the last time\n"
    problem.program.write_text("echo 0\n")
    assert problem.run("--rerun-failed").outcomes == {"errors/minus": True}

    nothing = problem.run("--rerun-failed")
    assert (nothing.code, nothing.cases, nothing.stderr) == (0, [], "nothing failed the last time\n")


def test_a_failed_case_that_is_gone_is_forgotten(problem: SmallProblem) -> None:
    assert problem.run("-g", "core", "--case", "minus").code == 1
    file = problem.file("one/core/sums.yaml")
    file.write_text(file.read_text().replace("name: minus", "name: subtraction"))
    gone = problem.run("--rerun-failed")
    assert (gone.code, gone.cases) == (2, [])
    assert "none of the cases that did not pass the last time is there any more" in gone.stderr
    assert problem.run("--rerun-failed").code == 0


def test_the_summary_ends_with_the_command_that_runs_the_failures_again(problem: SmallProblem) -> None:
    done = problem.run("-g", "core")
    assert done.stderr.splitlines()[-1] == (
        "run these again: slop-code tools run-case -s submission -p demo -c one -e sh.yaml -g core --rerun-failed"
    )


def test_repeat_says_which_cases_do_not_agree_with_themselves(tmp_path: Path) -> None:
    # It counts its runs where every case can see it, outside of its workspace.
    count = f"n=$(cat {tmp_path}/$1 2>/dev/null || echo 0); echo $((n + 1)) > {tmp_path}/$1"
    program = f'{count}\ncase $1 in flaky) echo $((n % 2));; clock) echo "$n" >&2; echo 1;; *) echo 1;; esac\n'
    cases = "".join(
        f'- {{name: {name}, argv: [{name}], expected: {{output: "1\\n"{extra}}}}}\n'
        for name, extra in (("steady", ""), ("flaky", ""), ("clock", ', stderr: {matches: "."}'))
    )
    done = small_problem(tmp_path, {"core/cases.yaml": cases}, program).run("--repeat", "3")
    steady, flaky, clock = done.cases
    assert done.code == 1
    assert (steady["agrees"], steady["varies"], steady["passed"]) == (True, [], True)
    assert [run["outcome"] for run in steady["runs"]] == ["passed"] * 3
    assert (flaky["agrees"], flaky["passed"], flaky["outcome"]) == (False, False, "failed")
    assert [run["outcome"] for run in flaky["runs"]] == ["failed", "passed", "failed"]
    assert (clock["agrees"], clock["varies"], clock["passed"]) == (True, ["stderr"], True)
    assert "does not agree with itself: core/flaky (failed 2, passed 1 of 3 times)" in done.stderr
    assert "judged alike, but not always the same: core/clock (stderr)" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--list", "--watch"], "--list and --watch exclude each other"),
        (["--repeat", "2", "--accept", "--yes"], "--repeat and --accept exclude each other"),
        (["--yes"], "--yes goes with --accept"),
        (["--accept"], "there is no terminal to ask on: add --yes"),
    ],
)
def test_options_that_mean_nothing_together_are_bad_usage(
    problem: SmallProblem, arguments: list[str], message: str
) -> None:
    done = problem.run(*arguments)
    assert (done.code, done.stdout) == (2, "")
    assert message in done.stderr


@pytest.mark.parametrize(("files", "told"), [([], "it has no files"), (["mian.sh"], '(did you mean "mian.sh"?)')])
def test_a_snapshot_without_the_entry_file_is_told_before_anything_runs(
    problem: SmallProblem, files: list[str], told: str
) -> None:
    other = problem.root / "other"
    other.mkdir()
    for name in files:
        (other / name).touch()
    done = problem.run("-s", "other")
    assert (done.code, done.stdout) == (2, "")
    assert 'other: has no "main.sh", the program that problem "demo" starts' in done.stderr
    assert told in done.stderr


def test_an_entry_file_that_setup_may_make_is_waited_for(problem: SmallProblem) -> None:
    problem.program.rename(problem.program.with_name("source.sh"))
    text = (problem.root / "sh.yaml").read_text()
    (problem.root / "sh.yaml").write_text(text + "setup: {commands: [cp source.sh main.sh]}\n")
    assert problem.run("--case", "plus").outcomes == {"core/plus": True, "errors/plus": True}


def test_a_submission_that_cannot_be_prepared_is_not_judged(problem: SmallProblem) -> None:
    text = (problem.root / "sh.yaml").read_text()
    (problem.root / "sh.yaml").write_text(text + "setup: {commands: [exit 7], strict: true}\n")
    done = problem.run()
    assert (done.code, done.stdout) == (3, "")
    assert "error: setup command failed with exit code 7" in done.stderr


def test_verbose_shows_what_is_being_done(problem: SmallProblem) -> None:
    command = problem.command("--case", "plus", "-q")
    quiet, verbose = (
        subprocess.run(words, cwd=problem.root, env=problem.env, capture_output=True, text=True, check=True).stderr
        for words in (command, [*command[: command.index("tools")], "-v", *command[command.index("tools") :]])
    )
    assert quiet == ""
    for event in ("prepared", "group begins", "a place to run cases is ready", "group ended"):
        assert event in verbose


def test_an_unknown_environment_names_those_of_the_folder_here_too(problem: SmallProblem) -> None:
    folder = problem.root / "configs" / "environments"
    folder.mkdir(parents=True)
    (problem.root / "sh.yaml").rename(folder / "shell.yaml")
    done = problem.run("-e", "shel")
    assert done.code == 2
    assert 'no environment "shel" (did you mean "shell"?)' in done.stderr
    assert problem.run("-e", "shell", "--case", "plus").code == 0


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--keep-workspaces", "sh.yaml"], "--keep-workspaces sh.yaml: is a file, and should be a folder"),
        (["--keep-workspaces", "submission/kept"], "--keep-workspaces submission/kept: lies within the submission"),
        (["--junit", "demo"], "--junit demo: is a folder, and should be a file"),
        (["-c", "²"], 'has no checkpoint "²"'),
        (["-g", "nope", "-g", "neither"], 'nothing matches --group "neither"'),
        (
            ["--exclusive", "cor"],
            'nothing matches --exclusive "cor" (did you mean "core"?); one has the groups core, errors',
        ),
        (["--list", "--exclusive", "nope"], 'nothing matches --exclusive "nope"'),
        (["--list", "-e", "nope"], 'no environment "nope"'),
        (["-s", "submission/main.sh"], "submission/main.sh: is a file, and a submission is a folder: give the folder"),
    ],
)
def test_what_cannot_be_is_told_before_anything_runs(problem: SmallProblem, arguments: list[str], told: str) -> None:
    done = problem.run(*arguments)
    assert done.code == 2
    assert told in done.stderr
    assert "Traceback" not in done.stderr
    assert not (problem.root / "submission" / "kept").exists()
