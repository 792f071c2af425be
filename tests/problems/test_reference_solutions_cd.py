"""The packages `hue` and `toolshed`: their solutions pass, mistakes are caught, and reports are the same every time."""

from __future__ import annotations

import filecmp
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults, GroupType, ProblemConfig, run_checkpoint
from slop_code.evaluation.listening import Selection
from slop_code.execution import EnvironmentSpec
from slop_code.execution.bubblewrap import why_not
from tests.cli.test_problems import slop_code
from tests.problems.plain import plain_python

PROBLEMS = Path(__file__).parents[2] / "problems"
CASES = {
    ("hue", "checkpoint_1"): 42,
    ("hue", "checkpoint_2"): 64,
    ("toolshed", "checkpoint_1"): 36,
    ("toolshed", "checkpoint_2"): 80,
}
# Each mistake, and a case that is there to catch it.
MISTAKES = {
    "hue/checkpoint_1/hue_below_zero": "named/crimson",
    "hue/checkpoint_1/rounds_on_the_way": "every_pair/hsl_to_hsv",
    "hue/checkpoint_2/the_long_way_around": "mixes/the_short_way_around",
    "hue/checkpoint_2/verdict_from_the_rounded_contrast": "contrasts/not_quite_aa",
    "toolshed/checkpoint_1/ids_are_used_again": "tools/an_id_is_never_used_again",
    "toolshed/checkpoint_1/total_counts_the_page": "listing/a_page_of_what_was_searched",
    "toolshed/checkpoint_2/held_for_nobody_in_particular": "waiting/flat_3_has_to_wait_for_flat_2",
    "toolshed/checkpoint_2/last_day_is_late": "loans/flat_1_returns_drill_on_the_last_day",
}
NAMES = ["hue", "toolshed"]


@pytest.mark.parametrize(("name", "checkpoint"), CASES)
def test_the_reference_solution_passes_every_case_and_in_the_sandbox_gives_what_it_gives_locally(
    name: str, checkpoint: str
) -> None:
    solution = PROBLEMS / name / checkpoint / "solution"
    results = run("local", name, checkpoint, solution)
    assert outcomes(results, "failed", "timed out", "error") == {}
    assert len(results.reports) == CASES[name, checkpoint]
    assert results.score == 1.0
    if checkpoint == "checkpoint_2":
        if reason := why_not():
            pytest.skip(f"passed, but for the sandbox: {reason}")
        own = own_groups(name, checkpoint)
        there = lasting(run("sandbox", name, checkpoint, solution, own))
        assert there == [report for report in lasting(results) if report["group"] in own.groups]
        assert {report["group"] for report in there} == set(own.groups)


@pytest.mark.nightly
@pytest.mark.parametrize("name", NAMES)
def test_two_runs_give_the_same_reports_but_for_times_usage_and_ports(name: str) -> None:
    """As those with one and with eight workers do, but with the ports compared as well."""
    solution = PROBLEMS / name / "checkpoint_1" / "solution"
    first, second = (lasting(run("plain", name, "checkpoint_1", solution)) for _ in range(2))
    assert first == second


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_solution_fails_where_it_is_wrong_and_passes_elsewhere(mistake: str) -> None:
    name, checkpoint, _ = mistake.split("/")
    results = run("plain", name, checkpoint, wrong_solution(mistake), own_groups(name, checkpoint))
    assert outcomes(results, "error") == {}
    failing = outcomes(results, "failed", "timed out")
    assert MISTAKES[mistake] in failing
    assert len(failing) <= len(results.reports) / 6


def test_every_wrong_solution_is_in_the_table_of_mistakes() -> None:
    found = [folder for name in NAMES for folder in (PROBLEMS / name).glob("checkpoint_*/wrong_solutions/*")]
    assert sorted(found) == sorted(wrong_solution(mistake) for mistake in MISTAKES)


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_wrong_solution_is_the_reference_with_one_file_changed(mistake: str) -> None:
    reference = wrong_solution(mistake).parents[1] / "solution"
    names = sorted(path.name for path in reference.glob("*.py"))
    assert sorted(path.name for path in wrong_solution(mistake).glob("*.py")) == names
    same, changed, unreadable = filecmp.cmpfiles(reference, wrong_solution(mistake), names, shallow=False)
    assert (len(changed), unreadable) == (1, [])
    assert len(same) == len(names) - 1


@pytest.mark.parametrize("name", NAMES)
def test_the_package_is_sound(name: str) -> None:
    done = slop_code("problems", "check", name)
    total = sum(count for (problem, _), count in CASES.items() if problem == name)
    assert done.returncode == 0, done.stderr
    assert "warning" not in done.stderr
    assert f"{name}: {total} cases, no errors" in done.stderr


def test_hue_judges_a_program_that_prints_nonsense(tmp_path: Path) -> None:
    (tmp_path / "hue.py").write_text("print('hsl', '9' * 5000, '-', '#' * 50, 'e5')")
    results = run("plain", "hue", "checkpoint_1", tmp_path)
    assert {report.outcome for report in results.reports} == {"failed"}


SERVER = """
import argparse, http.server
class Handler(http.server.BaseHTTPRequestHandler):
    def answer(self):
        body = {body!r}
        self.send_response(201)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = answer
    def log_message(self, *words): pass
parser = argparse.ArgumentParser()
for name in ("address", "port", "seed"):
    parser.add_argument("--" + name)
options = parser.parse_args()
http.server.HTTPServer((options.address, int(options.port)), Handler).serve_forever()
"""


@pytest.mark.parametrize("body", [b"<html>", b'{"id": ["a/b"], "tools": {"id": 5}, "error": {"message": []}}'])
def test_toolshed_judges_servers_that_answer_nonsense(body: bytes, tmp_path: Path) -> None:
    (tmp_path / "toolshed.py").write_text(SERVER.format(body=body))
    results = run("plain", "toolshed", "checkpoint_1", tmp_path)
    assert {report.outcome for report in results.reports} == {"failed"}
    assert len(results.reports) == CASES["toolshed", "checkpoint_1"]


@pytest.mark.parametrize("name", NAMES)
def test_a_submission_without_the_program_fails_every_case(name: str, tmp_path: Path) -> None:
    results = run("plain", name, "checkpoint_1", tmp_path)
    assert {report.outcome for report in results.reports} == {"failed"}
    assert len(results.reports) == CASES[name, "checkpoint_1"]


def test_a_reference_to_no_earlier_case_of_the_toolshed_is_found_by_the_check(tmp_path: Path) -> None:
    folder = tmp_path / "toolshed"
    shutil.copytree(PROBLEMS / "toolshed", folder)
    scenario = folder / "checkpoint_1" / "tools.yaml"
    scenario.write_text(scenario.read_text().replace("/tools/${add_drill.id}", "/tools/${add_dril.id}", 1))
    done = slop_code("problems", "check", folder)
    assert done.returncode == 2
    assert "tools.yaml: read_drill uses ${add_dril.id}, and no case before it is add_dril" in done.stderr


def run(
    driver: str, name: str, checkpoint: str, submission: Path, selection: Selection | None = None
) -> CorrectnessResults:
    problem = ProblemConfig.from_yaml(PROBLEMS / name)
    return run_checkpoint(
        submission_path=submission,
        problem=problem,
        checkpoint=problem.load_checkpoint(checkpoint),
        env_spec=plain_python() if driver == "plain" else EnvironmentSpec.from_yaml(f"{driver}-py"),
        selection=selection,
    )


def own_groups(name: str, checkpoint: str) -> Selection:
    groups = ProblemConfig.from_yaml(PROBLEMS / name).load_checkpoint(checkpoint).groups.values()
    return Selection(groups=tuple(group.name for group in groups if group.type != GroupType.REGRESSION))


def wrong_solution(mistake: str) -> Path:
    name, checkpoint, what = mistake.split("/")
    return PROBLEMS / name / checkpoint / "wrong_solutions" / what


def outcomes(results: CorrectnessResults, *wanted: str) -> dict[str, Any]:
    """The cases with one of these outcomes, and what their reports say of them."""
    return {
        f"{report.group}/{report.id}": (report.outcome, report.error, report.format_result())
        for report in results.reports
        if report.outcome in wanted
    }


def lasting(results: CorrectnessResults) -> list[Any]:
    """The reports without what may differ from run to run."""
    measured = {"timestamp", "duration", "run_s", "cpu_s", "peak_memory"}
    reports = []
    for report in results.reports:
        text = report.model_dump_json(exclude=measured)
        values = json.loads(re.sub(r"(http://127\.0\.0\.1):[0-9]+", r"\1:PORT", text))
        values["results"]["elapsed"]["actual"] = None
        reports.append(values)
    return reports
