"""Checkpoints, groups, and what they inherit."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from slop_code.evaluation import CheckpointConfig, GroupConfig, GroupType, ProblemConfig
from slop_code.evaluation.config import ConfigError
from tests.conftest import MakeProblem


def load(make_problem: MakeProblem, checkpoints: Any, **config: Any) -> ProblemConfig:
    return ProblemConfig.from_yaml(make_problem({**config, "checkpoints": checkpoints}))


def one_group(make_problem: MakeProblem, body: dict[str, Any], **config: Any) -> GroupConfig:
    return load(make_problem, {"one": {"groups": {"core": body}}}, **config).checkpoints["one"].groups["core"]


def test_a_checkpoint_body_has_the_documented_defaults(make_problem: MakeProblem) -> None:
    problem = load(make_problem, {"one": {}, "two": {}})
    first, second = problem.iterate_checkpoints()
    assert (first.version, first.order, second.order) == (1, 1, 2)
    assert first.path == problem.path / "one"
    assert (first.groups, first.regressions, first.constant_files) == ({}, [], set())
    assert (first.specification, first.state) == ("spec.md", "Draft")
    assert (first.env, first.timeout) == ({}, None)


def test_a_checkpoint_is_named_by_the_last_component_of_its_path(make_problem: MakeProblem) -> None:
    problem = load(make_problem, {"one": {"path": "stages/first"}})
    checkpoint = problem.load_checkpoint("one")
    assert (checkpoint.name, checkpoint.path) == ("first", problem.path / "stages" / "first")
    assert problem.load_checkpoint("first") is checkpoint


@pytest.mark.parametrize("state", ["Draft", "core tests", "Full Tests", "VERIFIED"])
def test_state_is_one_of_four_words(make_problem: MakeProblem, state: str) -> None:
    assert load(make_problem, {"one": {"state": state}}).checkpoints["one"].state.lower() == state.lower()


def test_a_list_of_names_takes_each_body_from_its_folder_in_the_lists_order(make_problem: MakeProblem) -> None:
    folder = make_problem(
        {"checkpoints": ["zeta", "alpha"]},
        {
            "zeta/config.yaml": "version: 4\ngroups: {core: {type: Core}}\norder: 99\n",
            "alpha/config.yaml": "timeout: 3\nenv: {B: 2}\n",
        },
    )
    with (folder / "config.yaml").open("a") as config:
        config.write("timeout: 8\nenv: {A: 1}\n")
    problem = ProblemConfig.from_yaml(folder)
    assert [checkpoint.name for checkpoint in problem.iterate_checkpoints()] == ["zeta", "alpha"]
    assert [checkpoint.order for checkpoint in problem.iterate_checkpoints()] == [1, 2]
    assert problem.checkpoints["zeta"].version == 4
    assert list(problem.checkpoints["zeta"].groups) == ["core"]
    assert (problem.checkpoints["alpha"].timeout, problem.checkpoints["zeta"].groups["core"].timeout) == (3, 8)
    assert problem.checkpoints["alpha"].env == {"A": "1", "B": "2"}


def test_errors_of_a_listed_checkpoint_point_into_its_own_file(make_problem: MakeProblem) -> None:
    folder = make_problem({"checkpoints": ["one"]}, {"one/config.yaml": "version: 1\ngroups:\n  core: {weight: -1}\n"})
    with pytest.raises(
        ConfigError, match=r'one/config.yaml:3: group "core" of checkpoint "one": "weight" should be more'
    ):
        ProblemConfig.from_yaml(folder)


def test_a_listed_checkpoint_without_a_file_is_an_error(make_problem: MakeProblem) -> None:
    with pytest.raises(ConfigError, match=r'checkpoint "one" is listed, so one/config.yaml should describe it'):
        load(make_problem, ["one"])


def test_the_specification_can_be_read(make_problem: MakeProblem) -> None:
    folder = make_problem(
        {"checkpoints": {"one": {}, "two": {"specification": "SPEC.txt"}}}, {"one/spec.md": "Ünïcode\n"}
    )
    problem = ProblemConfig.from_yaml(folder)
    assert problem.checkpoints["one"].get_spec_text() == "Ünïcode\n"
    with pytest.raises(ConfigError, match=r'two/SPEC.txt: the specification of checkpoint "two" is missing'):
        problem.checkpoints["two"].get_spec_text()


def test_env_is_merged_key_by_key_and_the_checkpoint_wins(make_problem: MakeProblem) -> None:
    problem = load(make_problem, {"one": {"env": {"B": "2", "C": "3"}}, "two": {}}, env={"A": "1", "B": "1"})
    assert problem.checkpoints["one"].env == {"A": "1", "B": "2", "C": "3"}
    assert problem.checkpoints["two"].env == {"A": "1", "B": "1"}
    assert problem.env == {"A": "1", "B": "1"}


@pytest.mark.parametrize(
    ("problem_timeout", "checkpoint", "group", "expected"),
    [
        ({"timeout": 20}, {}, {}, 20),
        ({"timeout": 20}, {"timeout": 5}, {}, 5),
        ({}, {"timeout": 5}, {}, 5),
        ({"timeout": 20}, {}, {"timeout": 60}, 60),
        ({"timeout": 20}, {}, {"timeout": 5}, 20),
        ({"timeout": 20}, {"timeout": 30}, {"timeout": 10}, 30),
        ({"timeout": 20}, {"timeout": None}, {}, None),
        ({"timeout": 20}, {}, {"timeout": None}, None),
        ({}, {}, {"timeout": 9}, 9),
        ({"timeout": None}, {}, {"timeout": 9}, None),
        ({}, {}, {}, None),
    ],
)
def test_timeouts_are_inherited_and_a_group_can_only_lengthen_them(
    make_problem: MakeProblem,
    problem_timeout: dict[str, Any],
    checkpoint: dict[str, Any],
    group: dict[str, Any],
    expected: float | None,
) -> None:
    problem = load(make_problem, {"one": {**checkpoint, "groups": {"core": group}}}, **problem_timeout)
    assert problem.checkpoints["one"].groups["core"].timeout == expected


def test_a_group_has_the_documented_defaults(make_problem: MakeProblem) -> None:
    group = one_group(make_problem, {"type": "Core"})
    assert (group.name, group.description, group.isolated, group.weight) == ("core", "", True, 1.0)
    assert (group.group_files, group.case_order, group.case_defaults) == (set(), [], {})
    assert (group.original_checkpoint, group.original_group, group.kind) == (None, None, None)


def test_group_keys_are_read(make_problem: MakeProblem) -> None:
    group = one_group(
        make_problem,
        {
            "type": "Error",
            "description": "words",
            "group_files": ["a.csv", "b/c.json", "a.csv"],
            "case_order": ["two", "one"],
            "case_defaults": {"arguments": ["x"]},
            "isolated": False,
            "weight": 2,
        },
    )
    assert group.group_files == {"a.csv", "b/c.json"}
    assert (group.case_order, group.case_defaults) == (["two", "one"], {"arguments": ["x"]})
    assert (group.description, group.isolated, group.weight) == ("words", False, 2.0)


@pytest.mark.parametrize("written", ["Core", "core", "CORE", "Functionality", "error", "regression"])
def test_group_types_are_case_insensitive(make_problem: MakeProblem, written: str) -> None:
    assert one_group(make_problem, {"type": written}).type == written.capitalize()


@pytest.mark.parametrize("kind", ["file_based", "generated"])
def test_the_guides_kinds_mean_functionality_and_leave_a_note(make_problem: MakeProblem, kind: str) -> None:
    group = one_group(make_problem, {"type": kind})
    assert (group.type, group.kind) == (GroupType.FUNCTIONALITY, kind)


def test_a_group_type_compares_and_hashes_like_its_plain_string(make_problem: MakeProblem) -> None:
    group = one_group(make_problem, {"type": "core"})
    assert group.type == "Core"
    assert hash(group.type) == hash("Core")
    assert {"Core": 1}[group.type] == 1
    assert f"{group.type}" == "Core"


def test_the_real_name_is_the_original_groups(make_problem: MakeProblem) -> None:
    old = {"type": "Regression", "original_checkpoint": "one", "original_group": "core"}
    problem = load(make_problem, {"one": {"groups": {"core": {}}}, "two": {"groups": {"old": old, "new": {}}}})
    groups = problem.checkpoints["two"].groups
    assert (groups["old"].get_real_name(), groups["new"].get_real_name()) == ("core", "new")


@pytest.mark.parametrize("only", ["original_checkpoint", "original_group"])
def test_originals_come_both_or_neither(make_problem: MakeProblem, only: str) -> None:
    with pytest.raises(ConfigError, match='"original_checkpoint" and "original_group" belong together'):
        one_group(make_problem, {"type": "Regression", only: "x"})


def test_only_a_regression_group_has_originals(make_problem: MakeProblem) -> None:
    with pytest.raises(ConfigError, match="only a group of type Regression"):
        one_group(make_problem, {"type": "Core", "original_checkpoint": "one", "original_group": "core"})


def test_a_regression_group_without_originals_is_an_ordinary_group(make_problem: MakeProblem) -> None:
    group = one_group(make_problem, {"type": "Regression"})
    assert (group.type, group.get_real_name()) == ("Regression", "core")


def test_extras_of_checkpoints_and_groups_are_kept_and_warned_about_once(make_problem: MakeProblem) -> None:
    with structlog.testing.capture_logs() as logs:
        problem = load(
            make_problem, {"one": {"seed": 1, "groups": {"core": {"schema": {"tags": ["a"]}, "isolatd": 1}}}}
        )
    checkpoint = problem.checkpoints["one"]
    assert getattr(checkpoint, "seed", 42) == 1
    assert checkpoint.get("tolerance", 1e-6) == 1e-6
    # Also under a name that pydantic gives a method.
    assert getattr(checkpoint.groups["core"], "schema", {}) == {"tags": ["a"]}
    assert checkpoint.groups["core"].get("schema") == {"tags": ["a"]}
    assert getattr(checkpoint.groups["core"], "num_cases", 100) == 100
    events = [entry["event"] for entry in logs]
    assert len(events) == 3
    assert 'checkpoint "one" has unknown key "seed"' in events[0]
    assert 'group "core" of checkpoint "one" has unknown key "schema"' in events[1]
    assert '(did you mean "isolated"?)' in events[2]


def test_a_legacy_loader_block_is_no_error_at_either_level(make_problem: MakeProblem) -> None:
    legacy = {"type": "script", "path": "loader.py", "entrypoint": "load_cases"}
    with structlog.testing.capture_logs() as logs:
        problem = load(make_problem, {"one": {"loader": legacy}}, loader=legacy)
    assert logs == []
    assert problem.loader is not None
    assert problem.checkpoints["one"].loader == problem.loader


def test_models_can_be_made_by_hand() -> None:
    assert GroupConfig(name="tests", description="Test cases").name == "tests"
    assert CheckpointConfig.model_validate({"path": "a/checkpoint_3"}).name == "checkpoint_3"


def test_groups_may_be_empty(make_problem: MakeProblem) -> None:
    folder = make_problem(
        "name: d\nversion: 1\ndescription: d\nentry_file: d\nadapter: {type: cli}\ncheckpoints:\n  one:\n    groups:\n"
    )
    assert ProblemConfig.from_yaml(folder).checkpoints["one"].groups == {}
