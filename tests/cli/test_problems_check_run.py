"""`slop-code problems check --run`: what the solutions of a package have to do, and the exit codes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_problems import slop_code
from tests.conftest import MakeProblem

READY: dict[str, Any] = {"entry_file": "main", "loader_script": "builtin:files"}
ONE: dict[str, Any] = {"one": {"groups": {"core": {}}}}
# The case expects what the solution prints; shell scripts start quickest.
FILES = {"one/spec.md": "Say x.", "one/core/says_x.yaml": "expected: {output: x}"}
RIGHT, WRONG = "printf x", "printf y"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def check_run(make_problem: MakeProblem, tmp_path: Path) -> Any:
    """Check a problem with solutions in the shell; returns exit code, stdout and stderr."""
    environment = tmp_path / "shell.yaml"
    environment.write_text('type: local\ncommands: {command: sh, entry_file: "{entry_file}.sh"}\n')

    def run(files: dict[str, str], checkpoints: dict[str, Any] | None = None) -> tuple[int, str, str]:
        make_problem({**READY, "checkpoints": checkpoints or ONE}, {**FILES, **files})
        done = slop_code("-p", ".", "problems", "check", "demo", "--run", "-e", environment, cwd=tmp_path)
        assert "Traceback" not in done.stderr
        return done.returncode, done.stdout, done.stderr

    return run


def test_a_reference_that_passes_and_a_wrong_one_that_fails_are_as_they_should_be(check_run: Any) -> None:
    code, out, err = check_run({"one/solution/main.sh": RIGHT, "one/wrong_solutions/says_y/main.sh": WRONG})
    assert (code, err) == (0, "demo: 1 case, no errors; 2 solutions run, all as they should be\n")
    assert out.endswith(
        "\n\n"
        "solution                    should  passed  outcome\n"
        "one/solution                pass    1 of 1  passes its only case\n"
        "one/wrong_solutions/says_y  fail    0 of 1  caught by core/says_x\n"
    )


def test_a_reference_that_fails_and_a_wrong_one_that_passes_are_told_by_name(check_run: Any) -> None:
    code, _, err = check_run({"one/solution/main.sh": WRONG, "one/wrong_solutions/says_y/main.sh": RIGHT})
    assert code == 1
    assert err.splitlines() == [
        "failed: one/solution: fails core/says_x",
        "  core/says_x:",
        "    output:",
        '      Line 1, column 1: expected "x", got "y"',
        "      - 1 | x  (no newline at the end)",
        "      + 1 | y  (no newline at the end)",
        "            ^",
        "failed: one/wrong_solutions/says_y: passes its only case, but is there to fail: add a case that catches it",
        "demo: 1 case, no errors; 2 solutions run, 2 failed",
    ]


def test_a_wrong_solution_that_runs_out_of_time_is_caught(check_run: Any) -> None:
    case = "timeout: 0.3\nexpected: {output: x}"
    files = {
        "one/core/says_x.yaml": case,
        "one/solution/main.sh": RIGHT,
        "one/wrong_solutions/hangs/main.sh": "sleep 9",
    }
    code, out, _ = check_run(files)
    assert code == 0
    assert "caught by core/says_x" in out


def test_a_wrong_solution_that_ends_in_errors_only_is_not_judged(check_run: Any) -> None:
    verifier = """
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): ...
            def __call__(self, group_name, case_name, actual, expected):
                return {"output": VerificationResult.create("", {"x": True}[actual.output])}
    """
    files = {"verifier.py": verifier, "one/solution/main.sh": RIGHT, "one/wrong_solutions/says_y/main.sh": WRONG}
    code, _, err = check_run(files)
    assert code == 3
    assert (
        "not judged: one/wrong_solutions/says_y: fails no case, and could not be judged on core/says_x\n"
        "demo: 1 case, no errors; 2 solutions run, 1 not judged\n"
    ) in err


def test_what_cannot_be_judged_comes_before_what_failed(check_run: Any) -> None:
    verifier = """
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): ...
            def __call__(self, group_name, case_name, actual, expected):
                return {"output": VerificationResult.create("", {"x": True, "y": False}[actual.output])}
    """
    files = {"verifier.py": verifier, "one/solution/main.sh": WRONG, "one/wrong_solutions/says_z/main.sh": "printf z"}
    code, _, err = check_run(files)
    assert code == 3
    assert "2 solutions run, 1 failed, 1 not judged" in err


def test_a_reference_that_is_missing_at_one_of_the_checkpoints_is_a_warning(check_run: Any) -> None:
    files = {"one/solution/main.sh": RIGHT, "two/spec.md": "Say x.", "two/more/says_x.yaml": "expected: {output: x}"}
    code, _, err = check_run(files, {**ONE, "two": {"groups": {"more": {}}}})
    assert code == 0
    assert err == (
        'warning: demo/two/solution: checkpoint "two" has no reference solution\n'
        "demo: 2 cases, no errors, 1 warning; 1 solution run, all as they should be\n"
    )


@pytest.mark.parametrize(
    ("files", "ran"),
    [
        ({}, "no solutions to run"),
        ({"one/wrong_solutions/says_y/main.sh": WRONG}, "1 solution run, all as they should"),
    ],
)
def test_no_reference_at_all_is_an_error_because_nothing_was_shown(check_run: Any, files: Any, ran: str) -> None:
    code, _, err = check_run(files)
    assert code == 2
    assert err.startswith("error: demo/one/solution: there is no reference solution at all")
    assert f"demo: 1 error; {ran}" in err


def test_what_the_check_found_is_not_logged_again_by_each_solution(check_run: Any) -> None:
    files = {"one/solution/main.sh": RIGHT, "one/core/says_x.yaml": "tmeout: 3\nexpected: {output: x, ouput: y}"}
    _, _, err = check_run(files)
    assert err.count("tmeout: 3") == 1
    assert err.count('case "says_x": "ouput" in its expected result has no effect') == 1
    assert "[warning" not in err


def test_each_checkpoint_has_its_own_solutions_and_the_problems_wrong_ones_are_for_the_last(check_run: Any) -> None:
    files = {
        "one/solution/main.sh": RIGHT,
        "two/spec.md": "Say y for y.",
        "two/more/says_y.yaml": "arguments: [y]\nexpected: {output: y}",
        "two/solution/main.sh": "printf ${1:-x}",
        "wrong_solutions/of_the_first/main.sh": RIGHT,
    }
    checkpoints = {**ONE, "two": {"groups": {"more": {}}, "regressions": [{"checkpoint": "one"}]}}
    code, out, err = check_run(files, checkpoints)
    assert code == 0, err
    assert "two/solution                  pass    2 of 2" in out
    assert "wrong_solutions/of_the_first  fail    1 of 2  caught by more/says_y" in out


def test_a_wrong_solution_that_fails_everything_may_be_no_program_at_all(check_run: Any) -> None:
    files = {"one/core/too.yaml": "expected: {output: x}", "one/solution/main.sh": RIGHT}
    code, _, err = check_run({**files, "one/wrong_solutions/empty/readme": ""})
    assert code == 0
    assert "warning: demo/one/wrong_solutions/empty: it fails every case: is it a program for this environment?" in err


def test_a_broken_package_is_not_run(check_run: Any) -> None:
    code, out, err = check_run({"one/core/says_x.yaml": "expected: {}", "one/solution/main.sh": RIGHT})
    assert code == 2
    assert "solution  " not in out
    assert err.endswith("demo: 1 error; no solution was run\n")


def test_a_solution_that_cannot_be_prepared_is_not_judged(check_run: Any, tmp_path: Path) -> None:
    check_run({"one/solution/main.sh": RIGHT})
    failing = "type: local\nsetup: {commands: ['echo no such thing; exit 7'], strict: true}\n"
    (tmp_path / "strict.yaml").write_text(failing)
    done = slop_code("-p", ".", "problems", "check", "demo", "--run", "-e", "strict.yaml", cwd=tmp_path)
    assert done.returncode == 3
    assert "not judged: one/solution: could not be run: " in done.stderr
    assert "no such thing" in done.stderr
    assert "Traceback" not in done.stderr


def test_an_environment_without_run_or_an_unknown_one_is_bad_usage() -> None:
    for arguments, message in (
        (["-e", "local-py"], "error: -e says where solutions are run, and without --run none is\n"),
        (["--run", "-e", "locl-py"], 'no environment "locl-py"'),
    ):
        done = slop_code("problems", "check", "calculator", *arguments)
        assert (done.returncode, done.stdout) == (2, "")
        assert message in done.stderr
