"""Contract §3 and §5: cases are asked for lazily, checked, converted and filled in."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.adapters import APICase, APIResult, BaseCase, CaseResult, CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, CaseStore, LoaderError
from slop_code.evaluation.loaders.enumeration import iterate_cases
from tests.conftest import MakeProblem


class Yielding(BaseLoader):
    """Yields whatever it was given."""

    def __init__(self, items: Any) -> None:
        self.items = items
        self.asked = 0

    def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[Any]:
        for item in self.items:
            self.asked += 1
            yield item


CONFIG: dict[str, Any] = {
    "timeout": 20,
    "loader_script": "builtin:files",
    "checkpoints": {
        "one": {"groups": {"core": {"type": "Core", "timeout": 30}}},
        "two": {
            "regressions": [{"checkpoint": "one"}],
            "groups": {"lost": {"type": "Regression", "original_checkpoint": "zero", "original_group": "x"}},
        },
    },
}


def setting(
    folder: Path, checkpoint: str = "one", group: str = "core"
) -> tuple[ProblemConfig, CheckpointConfig, GroupConfig]:
    problem = ProblemConfig.from_yaml(folder)
    chosen = problem.checkpoints[checkpoint]
    return problem, chosen, chosen.groups[group]


def pairs(folder: Path, items: Any, checkpoint: str = "one", group: str = "core") -> list[tuple[Any, Any]]:
    return list(iterate_cases(Yielding(items), *setting(folder, checkpoint, group), store=None))


def test_a_plain_case_and_result_become_the_adapters_with_everything_filled_in(make_problem: MakeProblem) -> None:
    ((case, expected),) = pairs(make_problem(CONFIG), [(BaseCase(id="a"), CaseResult(output="x"))])
    assert type(case) is CLICase
    assert (case.group, case.group_type, case.checkpoint, case.timeout_s) == ("core", "Core", "one", 30)
    assert (case.original_group, case.original_checkpoint) == (None, None)
    assert type(expected) is CLIResult
    assert (expected.id, expected.group, expected.group_type) == ("a", "core", "Core")


def test_an_api_problem_gets_api_cases(make_problem: MakeProblem) -> None:
    folder = make_problem({**CONFIG, "adapter": {"type": "api"}})
    ((case, expected),) = pairs(folder, [(BaseCase(id="a", path="/x"), CaseResult())])
    assert (type(case), case.path, type(expected)) == (APICase, "/x", APIResult)


def test_a_regression_case_carries_its_origin_even_if_the_loader_did_not_set_it(make_problem: MakeProblem) -> None:
    ((case, _),) = pairs(make_problem(CONFIG), [(CLICase(id="a"), CLIResult())], "two", "one_core")
    assert (case.group, case.group_type, case.checkpoint) == ("one_core", "Regression", "two")
    assert (case.original_checkpoint, case.original_group) == ("one", "core")


def test_what_the_loader_set_is_left_alone(make_problem: MakeProblem) -> None:
    given = CLICase(id="a", group="g", group_type="Error", checkpoint="c", original_group="o", timeout_s=1)
    ((case, expected),) = pairs(make_problem(CONFIG), [(given, CLIResult(id="b", group="h"))])
    assert case is given
    assert (case.group, case.group_type, case.checkpoint, case.original_group) == ("g", "Error", "c", "o")
    assert (case.timeout_s, expected.id, expected.group) == (1, "b", "h")


def test_a_cases_own_timeout_is_taken_as_it_is_and_an_explicit_null_means_no_limit(make_problem: MakeProblem) -> None:
    items = [(CLICase(id="short", timeout_s=1), CLIResult()), (CLICase(id="none", timeout_s=None), CLIResult())]
    assert [case.timeout_s for case, _ in pairs(make_problem(CONFIG), items)] == [1, None]


def test_results_may_be_anything_iterable(make_problem: MakeProblem) -> None:
    folder = make_problem(CONFIG)
    for items in (
        [({"id": "a"}, {"output": "x"})],
        ([CLICase(id="a"), CLIResult()],),
        iter([(CLICase(id="a"), CLIResult())]),
    ):
        assert [case.id for case, _ in pairs(folder, items)] == ["a"]

    class Returning(Yielding):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Any:
            return [(CLICase(id="listed"), CLIResult())]

    ((case, _),) = iterate_cases(Returning(()), *setting(folder), store=None)
    assert case.id == "listed"


def test_case_n_plus_1_is_asked_for_when_the_caller_asks(make_problem: MakeProblem) -> None:
    loader = Yielding((CLICase(id=str(n)), CLIResult()) for n in range(1_000_000))
    stream = iterate_cases(loader, *setting(make_problem(CONFIG)), store=None)
    assert loader.asked == 0
    next(stream)
    assert loader.asked == 1
    next(stream)
    assert loader.asked == 2


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (None, "should yield a pair"),
        ((BaseCase(id="a"),), "should yield a pair"),
        ((BaseCase(id="a"), None), "the expected result should be a CLIResult, and it is None"),
        (("a", CaseResult()), "the case should be a CLICase, and it is a str"),
        (({"arguments": []}, CaseResult()), "the case is not valid: id"),
        (({"id": "a"}, {"status_code": "x"}), "the expected result is not valid: status_code"),
        ((APICase(id="a"), CaseResult()), "is made for another adapter"),
        ((BaseCase(id="a", stdin=[1]), CaseResult()), 'case "a" is not a valid CLICase: stdin'),
    ],
)
def test_something_else_is_a_loader_error_that_says_which_case(
    make_problem: MakeProblem, item: Any, message: str
) -> None:
    stream = iterate_cases(
        Yielding([(CLICase(id="good"), CLIResult()), item]), *setting(make_problem(CONFIG)), store=None
    )
    assert next(stream)[0].id == "good"
    with pytest.raises(LoaderError, match=message):
        next(stream)


def test_an_exception_in_a_loader_keeps_what_came_before(make_problem: MakeProblem) -> None:
    def failing() -> Iterator[Any]:
        yield CLICase(id="a"), CLIResult()
        raise KeyError("gone")

    stream = iterate_cases(Yielding(failing()), *setting(make_problem(CONFIG)), store=None)
    assert next(stream)[0].id == "a"
    with pytest.raises(LoaderError, match="KeyError: 'gone'"):
        next(stream)


def test_a_group_of_unknown_origin_is_an_error_when_it_runs(make_problem: MakeProblem) -> None:
    with pytest.raises(
        LoaderError, match='group "lost" comes from checkpoint "zero", which this problem does not have'
    ):
        pairs(make_problem(CONFIG), [], "two", "lost")
