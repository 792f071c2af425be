"""Regressions: groups of earlier checkpoints that are run again."""

from __future__ import annotations

from typing import Any

import pytest
import structlog

from slop_code.evaluation import GroupConfig, ProblemConfig
from slop_code.evaluation.config import ConfigError
from tests.conftest import MakeProblem

SOURCES: dict[str, Any] = {
    "one": {
        "groups": {
            "core": {
                "type": "Core",
                "group_files": ["x.csv"],
                "case_order": ["b", "a"],
                "timeout": 30,
                "case_defaults": {"stdin": "y"},
                "isolated": False,
            },
            "errors": {"type": "Error"},
        }
    },
    "two": {"groups": {"extra": {"type": "Functionality"}}},
}


def third(
    make_problem: MakeProblem, *entries: dict[str, Any], groups: Any = None, **config: Any
) -> dict[str, GroupConfig]:
    checkpoints = {**SOURCES, "three": {"groups": groups or {}, "regressions": list(entries)}}
    return ProblemConfig.from_yaml(make_problem({**config, "checkpoints": checkpoints})).checkpoints["three"].groups


def test_all_groups_of_a_checkpoint_become_regression_groups_with_their_origin(make_problem: MakeProblem) -> None:
    groups = third(make_problem, {"checkpoint": "one"})
    assert list(groups) == ["one_core", "one_errors"]
    for group, original in zip(groups.values(), ["core", "errors"], strict=True):
        assert (group.type, group.original_checkpoint, group.original_group) == ("Regression", "one", original)


def test_an_imported_group_keeps_what_its_cases_depend_on(make_problem: MakeProblem) -> None:
    group = third(make_problem, {"checkpoint": "one"}, timeout=10)["one_core"]
    assert (group.group_files, group.case_order, group.timeout) == ({"x.csv"}, ["b", "a"], 30)
    assert (group.case_defaults, group.isolated) == ({"stdin": "y"}, False)


def test_several_checkpoints_can_be_listed(make_problem: MakeProblem) -> None:
    assert list(third(make_problem, {"checkpoints": ["two", "one"]})) == ["two_extra", "one_core", "one_errors"]


def test_a_star_means_every_checkpoint_of_lower_order(make_problem: MakeProblem) -> None:
    assert list(third(make_problem, {"checkpoints": "*"})) == ["one_core", "one_errors", "two_extra"]


def test_a_star_does_not_mean_later_checkpoints(make_problem: MakeProblem) -> None:
    checkpoints = {**SOURCES, "three": {"groups": {"x": {}}}}
    checkpoints["two"] = {**checkpoints["two"], "regressions": [{"checkpoints": "*"}]}
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert list(problem.checkpoints["two"].groups) == ["extra", "one_core", "one_errors"]


def test_an_imported_group_inherits_a_longer_timeout_of_its_new_checkpoint(make_problem: MakeProblem) -> None:
    checkpoints = {**SOURCES, "three": {"timeout": 99, "regressions": [{"checkpoint": "one"}]}}
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert problem.checkpoints["three"].groups["one_core"].timeout == 99


def test_groups_type_filter_and_exclude_choose(make_problem: MakeProblem) -> None:
    assert list(third(make_problem, {"checkpoint": "one", "groups": ["errors"]})) == ["one_errors"]
    assert list(third(make_problem, {"checkpoints": "*", "type_filter": "core"})) == ["one_core"]
    assert list(third(make_problem, {"checkpoints": "*", "exclude": ["core"]})) == ["one_errors", "two_extra"]


def test_the_name_template_knows_checkpoint_group_and_position(make_problem: MakeProblem) -> None:
    template = {"name_template": "r{idx}-{group}@{checkpoint}"}
    groups = third(
        make_problem, {"checkpoint": "two", **template}, {"checkpoint": "one", "groups": ["core"], **template}
    )
    assert list(groups) == ["r0-extra@two", "r1-core@one"]


def test_expanded_groups_come_after_the_declared_ones_in_the_order_of_the_entries(make_problem: MakeProblem) -> None:
    groups = third(make_problem, {"checkpoint": "two"}, {"checkpoint": "one"}, groups={"own": {"type": "Core"}})
    assert list(groups) == ["own", "two_extra", "one_core", "one_errors"]


def test_imported_regressions_are_not_imported_again(make_problem: MakeProblem) -> None:
    checkpoints = {
        **SOURCES,
        "three": {"groups": {"new": {}}, "regressions": [{"checkpoint": "one"}]},
        "four": {"regressions": [{"checkpoints": "*"}]},
    }
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert list(problem.checkpoints["four"].groups) == ["one_core", "one_errors", "two_extra", "three_new"]


def test_naming_an_imported_group_says_where_to_take_it_from(make_problem: MakeProblem) -> None:
    checkpoints = {
        **SOURCES,
        "three": {"regressions": [{"checkpoint": "one"}]},
        "four": {"regressions": [{"checkpoint": "three", "groups": ["one_core"]}]},
    }
    with structlog.testing.capture_logs() as logs:
        problem = ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert problem.checkpoints["four"].groups == {}
    assert 'group "one_core" of "three" is itself imported from "one"' in logs[0]["event"]


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        (
            {"checkpoint": "oen"},
            r'regression 1 of checkpoint "three" names the unknown checkpoint "oen" \(did you mean "one"',
        ),
        (
            {"checkpoint": "three"},
            r'names checkpoint "three" \(order 3\), which does not come before "three" \(order 3\)',
        ),
        ({"checkpoint": "four"}, r'names checkpoint "four" \(order 4\), which does not come before "three"'),
        (
            {"checkpoint": "one", "groups": ["croe"]},
            r'names the unknown group "croe" \(did you mean "core"\?\): "one" has',
        ),
        ({"checkpoint": "one", "exclude": ["nope"]}, r'names the unknown group "nope": "one" has "core" and "errors"'),
        ({"checkpoint": "one", "name_template": "{grp}"}, r'unknown placeholder "\{grp\}" \(did you mean "group"'),
        ({"checkpoint": "one", "name_template": "{group.x}"}, r'unknown placeholder "\{group.x\}"'),
        ({"checkpoint": "one", "name_template": "{group"}, r'name_template "\{group" is not a valid template'),
        ({"checkpoint": "one", "name_template": "{idx:zz}"}, r"is not a valid template"),
        ({"checkpoint": "one", "name_template": ""}, r"is not a valid template: it gives an empty name"),
        ({"checkpoint": "one", "name_template": "{group:>5000000000}"}, r"is not a valid template"),
        ({"checkpoint": "one", "name_template": "{idx:{x}}"}, r"is not a valid template"),
        ({"checkpoint": "one", "name_template": "same"}, r'"errors" of "one" would be named "same".*"core" of "one"'),
        (
            {"checkpoint": "one", "name_template": "own"},
            r'would be named "own", which is already a group declared here',
        ),
        ({"checkpoint": "one", "checkpoints": ["two"]}, r'needs exactly one of "checkpoint" and "checkpoints"'),
        ({"groups": ["core"]}, r'needs exactly one of "checkpoint" and "checkpoints"'),
        ({"checkpoints": "one"}, r'"checkpoints" should be a list of checkpoints or "\*"'),
        ({"checkpoint": "one", "type_filter": "cor"}, r'"type_filter" should be one of Core, Functionality'),
    ],
)
def test_a_wrong_entry_names_both_sides(make_problem: MakeProblem, entry: dict[str, Any], message: str) -> None:
    checkpoints = {**SOURCES, "three": {"groups": {"own": {}}, "regressions": [entry]}, "four": {"groups": {"x": {}}}}
    with pytest.raises(ConfigError, match=message) as caught:
        ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert all(finding.line for finding in caught.value.findings)


def test_a_hand_written_regression_takes_the_originals_case_order_when_it_has_none(make_problem: MakeProblem) -> None:
    old = {"type": "Regression", "original_checkpoint": "one", "original_group": "core"}
    groups = third(make_problem, groups={"old": old, "own_order": {**old, "case_order": ["a"]}})
    assert groups["old"].case_order == ["b", "a"]
    assert groups["own_order"].case_order == ["a"]


@pytest.mark.parametrize(
    ("original", "message"),
    [
        ({"original_checkpoint": "zero", "original_group": "core"}, 'unknown checkpoint "zero"'),
        ({"original_checkpoint": "one", "original_group": "coer"}, 'unknown group "coer" (did you mean "core"?)'),
    ],
)
def test_an_unknown_original_is_a_warning_at_load(
    make_problem: MakeProblem, original: dict[str, str], message: str
) -> None:
    with structlog.testing.capture_logs() as logs:
        groups = third(make_problem, groups={"old": {"type": "Regression", **original}})
    assert list(groups) == ["old"]
    assert message in logs[0]["event"]
