"""Helpers for loaders: folders of groups and checkpoints, cases in folders, globs."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from slop_code.evaluation import GroupConfig, ProblemConfig
from slop_code.evaluation.loaders import LoaderError, helpers
from tests.conftest import MakeProblem

OLD: dict[str, Any] = {"type": "Regression", "original_checkpoint": "one", "original_group": "core"}
CONFIG: dict[str, Any] = {
    "checkpoints": {
        "one": {"path": "stages/one", "groups": {"core": {}}},
        "two": {"groups": {"own": {}, "old": OLD, "missing": {}}},
    }
}


@pytest.fixture
def problem(make_problem: MakeProblem) -> ProblemConfig:
    return ProblemConfig.from_yaml(make_problem(CONFIG, {"stages/one/core/x.yaml": "", "two/own/y.yaml": ""}))


def test_a_groups_path_by_position_or_keyword(problem: ProblemConfig) -> None:
    two = problem.checkpoints["two"]
    own = two.groups["own"]
    assert helpers.get_group_path(own, problem, two) == problem.path / "two" / "own"
    assert helpers.get_group_path(checkpoint=two, group=own, problem=problem) == problem.path / "two" / "own"
    assert helpers.get_chkpt_path(own, problem, two) == problem.path / "two"
    assert helpers.get_actual_checkpoint(own, problem, two) == "two"


def test_a_regression_group_resolves_to_the_original(problem: ProblemConfig) -> None:
    two = problem.checkpoints["two"]
    old = two.groups["old"]
    assert helpers.get_group_path(old, problem, two) == problem.path / "stages" / "one" / "core"
    assert helpers.get_chkpt_path(group=old, problem=problem, checkpoint=two) == problem.path / "stages" / "one"
    assert helpers.get_actual_checkpoint(old, problem, two) == "one"


def test_the_actual_checkpoint_of_a_regression_is_its_name_and_not_its_key(make_problem: MakeProblem) -> None:
    config = {
        "checkpoints": {
            "first": {"path": "stages/one", "groups": {"core": {}}},
            "two": {"groups": {"old": {**OLD, "original_checkpoint": "first"}, "lost": {**OLD}}},
        }
    }
    problem = ProblemConfig.from_yaml(make_problem(config))
    two = problem.checkpoints["two"]
    assert helpers.get_actual_checkpoint(two.groups["old"], problem, two) == problem.checkpoints["first"].name == "one"
    two.groups["lost"].original_checkpoint = "zero"
    assert helpers.get_actual_checkpoint(two.groups["lost"], problem, two) == "zero"


def test_a_regression_of_a_regression_resolves_to_the_end_of_the_chain(make_problem: MakeProblem) -> None:
    again = {"type": "Regression", "original_checkpoint": "two", "original_group": "old"}
    config = {"checkpoints": {**CONFIG["checkpoints"], "three": {"groups": {"again": again}}}}
    problem = ProblemConfig.from_yaml(make_problem(config, {"stages/one/core/x.yaml": ""}))
    three = problem.checkpoints["three"]
    group = three.groups["again"]
    assert helpers.get_group_path(group, problem, three) == problem.path / "stages" / "one" / "core"
    assert helpers.get_chkpt_path(group, problem, three) == problem.path / "stages" / "one"
    assert helpers.get_actual_checkpoint(group, problem, three) == "one"


def test_a_regression_of_itself_is_a_loader_error(make_problem: MakeProblem) -> None:
    groups = {
        "a": {"type": "Regression", "original_checkpoint": "one", "original_group": "b"},
        "b": {"type": "Regression", "original_checkpoint": "one", "original_group": "a"},
    }
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": {"one": {"groups": groups}}}))
    one = problem.checkpoints["one"]
    with pytest.raises(LoaderError, match='group "a" comes from itself'):
        helpers.get_group_path(one.groups["a"], problem, one)


def test_a_mock_problem_keeps_the_original_checkpoint_below_its_path(tmp_path: Path) -> None:
    group = GroupConfig(name="old", **OLD)
    problem = Mock(path=tmp_path)
    assert helpers.get_chkpt_path(group, problem, Mock()) == tmp_path / "one"
    assert helpers.get_actual_checkpoint(group, problem, Mock()) == "one"
    (tmp_path / "one" / "core").mkdir(parents=True)
    assert helpers.get_group_path(group, problem, Mock()) == tmp_path / "one" / "core"


def test_a_missing_folder_is_a_loader_error(problem: ProblemConfig) -> None:
    two = problem.checkpoints["two"]
    with pytest.raises(LoaderError, match=r'two/missing: the folder of group "missing" is missing'):
        helpers.get_group_path(two.groups["missing"], problem, two)
    with pytest.raises(LoaderError, match='checkpoint "zero", which this problem does not have'):
        helpers.get_group_path(
            GroupConfig(name="x", type="Regression", original_checkpoint="zero", original_group="y"),
            problem,
            two,
        )


def test_a_mocks_attributes_are_not_real_values(tmp_path: Path) -> None:
    (tmp_path / "core").mkdir()
    group = Mock()
    group.name = "core"
    checkpoint = Mock(path=tmp_path)
    checkpoint.name = "one"
    assert helpers.get_group_path(group, Mock(), checkpoint) == tmp_path / "core"
    assert helpers.get_actual_checkpoint(group, Mock(), checkpoint) == "one"
    assert helpers.discover_dir_cases(group, tmp_path) == [tmp_path / "core"]


def test_case_folders_come_sorted_without_the_first_components_of_group_files(tmp_path: Path) -> None:
    for name in ("b", "a", "shared/deep", "data"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "file.txt").touch()
    group = GroupConfig(name="g", group_files={"shared/deep/x.csv", "data", "file.txt"})
    assert list(helpers.discover_dir_cases(group, tmp_path)) == [tmp_path / "a", tmp_path / "b"]
    with pytest.raises(LoaderError, match="no such folder"):
        helpers.discover_dir_cases(group, tmp_path / "nowhere")


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    for name in ("b.yaml", "a.yaml", "a.tmp.yaml", "c.txt", "data/x.json", "data/deep/y.json", "data/excluded/z.json"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    return tmp_path


@pytest.mark.parametrize(
    ("globs", "exclude", "found"),
    [
        (["*.yaml"], None, ["a.tmp.yaml", "a.yaml", "b.yaml"]),
        (
            ["*.yaml", "data/**/*.json"],
            ["*.tmp.yaml", "data/excluded/**"],
            ["a.yaml", "b.yaml", "data/deep/y.json", "data/x.json"],
        ),
        (["**/*.json"], {"data/excluded"}, ["data/deep/y.json", "data/x.json"]),
        (["data"], None, ["data/deep/y.json", "data/excluded/z.json", "data/x.json"]),
        (["data/"], ["data/x.json", "**/z.json"], ["data/deep/y.json"]),
        (["c.txt", "c.*", "nothing", "no/*"], None, ["c.txt"]),
        (["c.txt"], ["c.txt"], []),
        ([], None, []),
        (["."], ["data"], ["a.tmp.yaml", "a.yaml", "b.yaml", "c.txt"]),
    ],
)
def test_globs_give_sorted_relative_paths_and_an_exclude_always_wins(
    tree: Path, globs: list[str], exclude: list[str] | set[str] | None, found: list[str]
) -> None:
    assert helpers.get_files_from_globs(tree, globs, exclude) == [Path(name) for name in found]
    assert helpers.get_files_from_globs(read_dir=tree, globs=globs, exclude=exclude) == [Path(name) for name in found]


@pytest.mark.parametrize("pattern", ["/etc/*", "../*", "data/../../x"])
def test_a_glob_that_leaves_the_folder_is_a_loader_error(tree: Path, pattern: str) -> None:
    with pytest.raises(LoaderError, match="leaves the folder"):
        helpers.get_files_from_globs(tree, [pattern])
