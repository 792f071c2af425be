"""`slop-code problems` and `slop-code schema`, run as a user runs them."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from slop_code import __version__
from tests import warm
from tests.conftest import MakeProblem

ROOT = Path(__file__).parents[2]


def slop_code(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [*warm.slop_code(), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)


def test_version() -> None:
    assert slop_code("--version").stdout == f"slop-code {__version__}\n"


def test_ls_lists_the_bundled_problems() -> None:
    done = slop_code("problems", "ls")
    assert done.returncode == 0
    assert "calculator  cli      Easy        2" in done.stdout


def test_check_counts_the_cases_of_every_group_on_stdout_and_sums_up_on_stderr() -> None:
    done = slop_code("problems", "check", "calculator")
    assert done.returncode == 0, done.stderr
    assert "checkpoint_2  checkpoint_1_errors  Regression     4\n" in done.stdout
    assert done.stderr == "calculator: 27 cases, no errors\n"


def test_check_takes_a_folder_too(make_problem: MakeProblem) -> None:
    folder = make_problem()
    done = slop_code("problems", "check", folder)
    assert done.returncode == 0
    assert "warning" in done.stderr
    assert "has no checkpoints" in done.stderr


def test_check_shows_everything_that_is_wrong_and_exits_with_2(make_problem: MakeProblem) -> None:
    folder = make_problem({"timeout": "soon", "version": "x"})
    done = slop_code("problems", "check", folder)
    assert done.returncode == 2
    assert done.stdout == ""
    assert 'config.yaml:2: the problem: "version"' in done.stderr
    assert 'config.yaml:7: the problem: "timeout"' in done.stderr
    assert done.stderr.endswith(": 2 errors\n")
    assert "Traceback" not in done.stderr


def test_warnings_are_counted_in_the_last_line_and_do_not_count_for_the_exit_code(make_problem: MakeProblem) -> None:
    config = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
    folder = make_problem(config, {"one/core/a.yaml": "arguments: [a b, c]\nexpected: {output: x}"})
    done = slop_code("problems", "check", folder)
    assert done.returncode == 0
    assert done.stderr.count("warning: ") == 2
    assert done.stderr.endswith(": 1 case, no errors, 2 warnings\n")


def test_check_goes_on_after_a_group_that_cannot_be_loaded(make_problem: MakeProblem) -> None:
    folder = make_problem(
        {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"bad": {}, "good": {}, "gone": {}}}}},
        {"one/bad/a.yaml": "expected: 5", "one/good/a.yaml": "expected: {}"},
    )
    done = slop_code("problems", "check", folder)
    assert done.returncode == 2
    assert 'bad/a.yaml:1: case "a": "expected" should be a mapping' in done.stderr
    assert 'the folder of group "gone" is missing' in done.stderr
    assert "one         good   Core  1" in done.stdout


def test_check_finds_cases_of_one_id(make_problem: MakeProblem) -> None:
    script = """
        from slop_code.evaluation.loaders import BaseLoader
        class Loader(BaseLoader):
            def __call__(self, group, store):
                yield from [({"id": "same"}, {}), ({"id": "same"}, {})]
    """
    folder = make_problem({"checkpoints": {"one": {"groups": {"core": {}}}}}, {"loader.py": script})
    done = slop_code("problems", "check", folder)
    assert done.returncode == 2
    assert '2 cases have the id "same"' in done.stderr


def test_check_shows_a_loader_that_needs_results_as_such(make_problem: MakeProblem) -> None:
    script = """
        from slop_code.evaluation.loaders import BaseLoader
        class Store:
            ids = {}
            def update(self, case, result, expected): ...
        class Loader(BaseLoader):
            def initialize_store(self): return Store()
            def __call__(self, group, store):
                yield {"id": "first"}, {"status_code": 0}
                yield {"id": store.ids["first"]}, {"status_code": 0}
    """
    folder = make_problem({"checkpoints": {"one": {"groups": {"core": {}}}}}, {"loader.py": script})
    done = slop_code("problems", "check", folder)
    assert done.returncode == 0, done.stderr
    assert "1+ (the rest needs results)" in done.stdout
    # A plain mistake looks the same, so the place is shown.
    assert "warning" in done.stderr
    assert "without results, the loader stops after 1: the loader raised: " in done.stderr
    assert "loader.py:10: KeyError: 'first'" in done.stderr


def test_an_unknown_problem_names_the_candidates_and_exits_with_2() -> None:
    done = slop_code("problems", "check", "calculater")
    assert done.returncode == 2
    assert done.stderr.startswith(
        'error: no problem "calculater" (did you mean "calculator"?): problems has "calculator"'
    )
    assert done.stderr.count("\n") == 1


def test_a_missing_problem_path_is_one_line() -> None:
    done = slop_code("-p", "nowhere", "problems", "ls")
    assert done.returncode == 2
    assert done.stderr.startswith("error: nowhere: no such folder of problems; say where they are with")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("name", ["config", "case", "environment"])
def test_a_schema_is_printed(name: str) -> None:
    assert json.loads(slop_code("schema", name).stdout)["title"]


def test_schemas_are_written(tmp_path: Path) -> None:
    assert slop_code("schema", "--write", tmp_path / "deep").returncode == 0
    assert sorted(path.name for path in (tmp_path / "deep").iterdir()) == [
        "case.schema.json",
        "config.schema.json",
        "environment.schema.json",
    ]


def test_an_unknown_schema_is_bad_usage() -> None:
    done = slop_code("schema", "cofig")
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
