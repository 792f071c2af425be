"""The problems of case files, of case folders and of three languages: right solutions pass, wrong ones are caught."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CheckpointConfig, ProblemConfig, initialize_verifier, run_checkpoint
from slop_code.evaluation.adapters import CLIResult
from slop_code.evaluation.report import CorrectnessResults
from slop_code.execution import EnvironmentSpec
from slop_code.execution.bubblewrap import why_not
from slop_code.execution.mounts import SYSTEM
from tests import warm
from tests.problems.plain import plain_python

ROOT = Path(__file__).parents[2]
PROBLEMS = ROOT / "problems"
NAMES = ["calculator", "fieldnotes", "timesheet"]
LANGUAGES = {".py": "py", ".js": "node", ".sh": "sh"}

CAUGHT_BY = {
    "calculator/checkpoint_1/wrong_solutions/prints_negative_zero": {"core/negative_zero_is_zero"},
    "calculator/checkpoint_2/wrong_solutions/store_forgets_other_values": {"memory/store"},
    "calculator/checkpoint_2/wrong_solutions/takes_names_on_the_left_only": {"memory/recall_in_expression"},
    "fieldnotes/checkpoint_1/wrong_solutions/counts_records_instead_of_lines": {"errors/lines_are_counted_not_records"},
    "fieldnotes/checkpoint_2/wrong_solutions/merges_by_the_largest_record": {
        "merging/equal_sums",
        "merging/the_larger_sum_counts",
    },
    "fieldnotes/checkpoint_3/wrong_solutions/leaves_a_report_behind": {"errors/no_report_if_one_is_wrong"},
    "fieldnotes/checkpoint_3/wrong_solutions/merges_under_the_written_names": {"register/merged_under_one_name"},
    "timesheet/checkpoint_1/wrong_solutions-sh/reads_octal_numbers": {"core/numbers_are_decimal"},
    "timesheet/checkpoint_1/wrong_solutions/takes_digits_of_any_script": {"errors/other_digits"},
    "timesheet/checkpoint_2/wrong_solutions-sh/forgets_an_unfinished_line": {"sheets/no_end_of_the_last_line"},
    "timesheet/checkpoint_2/wrong_solutions/same_time_is_no_time": {"sheets/around_midnight"},
    "timesheet/checkpoint_2/wrong_solutions-node/rounds_the_totals": {"core/each_entry_is_rounded"},
}
SOLUTIONS = sorted(
    folder.relative_to(PROBLEMS).as_posix() for name in NAMES for folder in (PROBLEMS / name).glob("*/solution*")
)
# With those of the checkpoints before them, these are put to all cases of their problems.
IN_THE_SANDBOX = {
    "fieldnotes/checkpoint_3/solution",
    "timesheet/checkpoint_2/solution",
    "timesheet/checkpoint_2/solution-node",
    "timesheet/checkpoint_2/solution-sh",
}


def problem_of(solution: str) -> tuple[ProblemConfig, CheckpointConfig]:
    name, checkpoint = solution.split("/")[:2]
    problem = ProblemConfig.from_yaml(PROBLEMS / name)
    return problem, problem.load_checkpoint(checkpoint)


def driver_for(solution: str) -> str:
    """Plain processes, but for one solution in each language the sandbox, where it works and sees the language."""
    node = Path(shutil.which("node") or "/usr/bin/node").resolve().as_posix()
    hidden = solution.endswith("-node") and not node.startswith(SYSTEM)
    return "sandbox" if solution in IN_THE_SANDBOX and why_not() is None and not hidden else "local"


def environment_of(problem: ProblemConfig, solution: str, driver: str) -> EnvironmentSpec:
    """The environment of the language that the entry file of a solution is in; `plain` is `local` without a setup."""
    (entry,) = (PROBLEMS / solution).glob(f"{problem.entry_file}.*")
    language = LANGUAGES[entry.suffix]
    if language == "node" and shutil.which("node") is None:
        pytest.skip("there is no node on PATH")
    if language == "py":
        return plain_python() if driver == "plain" else EnvironmentSpec.from_yaml(f"{driver}-py")
    return EnvironmentSpec.from_yaml(
        ROOT / "configs" / "environments" / f"{driver.replace('plain', 'local')}-{language}.yaml"
    )


def run(solution: str, driver: str, *, regressions: bool) -> CorrectnessResults:
    problem, checkpoint = problem_of(solution)
    groups = {name: group for name, group in checkpoint.groups.items() if regressions or not group.original_checkpoint}
    return run_checkpoint(
        submission_path=PROBLEMS / solution,
        problem=problem,
        checkpoint=checkpoint.model_copy(update={"groups": groups}),
        env_spec=environment_of(problem, solution, driver),
    )


def not_passed(results: CorrectnessResults) -> dict[str, Any]:
    return {
        f"{report.group}/{report.id}": (report.outcome, report.error, report.format_result())
        for report in results.reports
        if not report.did_pass()
    }


@pytest.mark.parametrize("name", NAMES)
def test_the_package_is_sound(name: str) -> None:
    done = subprocess.run(
        [*warm.slop_code(), "problems", "check", name], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_checkpoint_has_a_specification_and_a_solution_and_every_wrong_solution_is_known_here(name: str) -> None:
    problem = ProblemConfig.from_yaml(PROBLEMS / name)
    for checkpoint in problem.iterate_checkpoints():
        assert checkpoint.get_spec_text().startswith("# ")
        assert f"{name}/{checkpoint.name}/solution" in SOLUTIONS
    wrong = {folder.relative_to(PROBLEMS).as_posix() for folder in (PROBLEMS / name).glob("*/wrong_solutions*/*")}
    assert wrong == {solution for solution in CAUGHT_BY if solution.startswith(f"{name}/")}
    assert len(wrong) >= 2


@pytest.mark.parametrize("checkpoint", ["checkpoint_1", "checkpoint_2"])
def test_one_problem_has_solutions_in_three_languages(checkpoint: str) -> None:
    folders = [PROBLEMS / solution for solution in SOLUTIONS if solution.startswith(f"timesheet/{checkpoint}/")]
    assert {file.suffix for folder in folders for file in folder.iterdir()} == set(LANGUAGES)


@pytest.mark.parametrize("solution", SOLUTIONS)
def test_a_reference_solution_passes_every_case(solution: str) -> None:
    _, checkpoint = problem_of(solution)
    results = run(solution, driver_for(solution), regressions=True)
    assert not_passed(results) == {}
    assert set(results.group_outcomes) == set(checkpoint.groups)
    assert all(outcome.results for outcome in results.group_outcomes.values())
    assert results.score == 1.0
    if solution in IN_THE_SANDBOX and driver_for(solution) != "sandbox":
        pytest.skip(f"passed, but for the sandbox: {why_not() or 'it does not see the language'}")


@pytest.mark.parametrize("solution", CAUGHT_BY)
def test_a_wrong_solution_fails_the_cases_that_are_about_its_mistake_and_no_others(solution: str) -> None:
    failing = not_passed(run(solution, "plain", regressions=False))
    assert set(failing) == CAUGHT_BY[solution]
    assert {outcome for outcome, _, _ in failing.values()} == {"failed"}


@pytest.mark.parametrize("name", ["may.csv", "may.json", "may.md", "may.yaml", "may.jsonl"])
@pytest.mark.parametrize(
    "content", [None, "", "[" * 3_000, '"', "| a\n|\n| b | c |", "&a [*a]", "a: b: c", "\0", b"\xff"]
)
def test_reports_that_cannot_be_read_are_wrong_and_no_error(name: str, content: str | bytes | None) -> None:
    problem = ProblemConfig.from_yaml(PROBLEMS / "fieldnotes")
    right = {
        "may.csv": "species,records,birds\ncoot,1,2\n",
        "may.md": "| species | records | birds |\n|---|---|---|\n| coot | 1 | 2 |\n",
        "may.jsonl": '{"file": "a.txt", "line": 1, "reason": "no walk"}\n',
    }.get(name, '{"by": "species", "rows": [], "total": {"records": 0, "birds": 0}}')
    verifier = initialize_verifier(problem, problem.load_checkpoint("checkpoint_3"))
    expected = CLIResult(output="", files={name: right})
    for found, is_correct in ((content, False), (right, True)):
        actual = CLIResult(output="", files={} if found is None else {name: found})
        verdict = verifier("core", "case", actual, expected)[f"files-{name}"]
        assert (verdict.is_correct, bool(verdict.diff) or is_correct) == (is_correct, True)
