"""`slop-code judge`: a changed verifier's effect on stored observations, end to end."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from slop_code.evaluation.report import iter_reports
from tests import warm

ROOT = Path(__file__).parents[2]


def invoke(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*warm.slop_code(), *arguments], cwd=folder, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example problem `calculator`, and results of a solution that is wrong in one case."""
    folder = tmp_path_factory.mktemp("evaluated")
    shutil.copytree(ROOT / "problems" / "calculator", folder / "problems" / "calculator")
    solution = sorted((folder / "problems/calculator/checkpoint_1/wrong_solutions").iterdir())[0]
    done = invoke(
        folder, "eval-snapshot", str(solution), "-p", "calculator", "-c", "1", "-e", "local-py", "-o", "res", "-q"
    )
    assert done.returncode == 1, done.stderr
    return folder


@pytest.fixture
def place(evaluated: Path, tmp_path: Path) -> Path:
    """The same for one test."""
    shutil.copytree(evaluated, tmp_path, dirs_exist_ok=True)
    return tmp_path


def outcomes(folder: Path) -> dict[str, str | None]:
    return {f"{report.group}/{report.id}": report.outcome for report in iter_reports(folder)}


def test_an_unchanged_package_changes_nothing_and_runs_nothing(place: Path) -> None:
    shutil.rmtree(place / "problems" / "calculator" / "checkpoint_1" / "wrong_solutions")
    done = invoke(place, "judge", "res")
    assert done.returncode == 1
    assert outcomes(place / "res" / "judged-1") == outcomes(place / "res")
    assert "judged again, reports in res/judged-1" in done.stderr


def test_a_changed_verifier_shows_which_verdicts_changed_and_keeps_both(place: Path) -> None:
    before = outcomes(place / "res")
    lenient = """
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): pass
            def __call__(self, group_name, case_name, actual, expected):
                return {"status_code": VerificationResult.create("", actual.status_code == expected.status_code)}
    """
    (place / "problems" / "calculator" / "verifier.py").write_text("\n".join(line[8:] for line in lenient.split("\n")))
    done = invoke(place, "judge", "res", "--json")
    changes = json.loads(done.stdout)
    assert outcomes(place / "res") == before
    after = outcomes(place / "res" / "judged-1")
    better = {name for name in before if before[name] == "failed" and after[name] == "passed"}
    assert better
    assert {f"{case['group']}/{case['id']}" for case in changes["cases"] if case["kind"] == "better"} == better
    assert invoke(place, "judge", "res").returncode == done.returncode
    assert (place / "res" / "judged-2").is_dir()


def test_results_without_observations_are_told(place: Path) -> None:
    (place / "res" / "observations.parquet").unlink()
    done = invoke(place, "judge", "res")
    assert done.returncode == 2
    assert "res: has no observations to judge" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_folder_without_results_is_told(place: Path) -> None:
    done = invoke(place, "judge", "problems")
    assert (done.returncode, done.stdout) == (2, "")
    assert "has no results" in done.stderr
