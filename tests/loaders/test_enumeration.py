"""Cases are asked for lazily, checked, converted and filled in."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.adapters import APICase, APIResult, BaseCase, CaseResult, CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, CaseStore, LoaderError
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
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
            "groups": {
                "lost": {"type": "Regression", "original_checkpoint": "zero", "original_group": "x"},
                "astray": {"type": "Regression", "original_checkpoint": "one", "original_group": "x"},
            },
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
    assert (case.group, case.group_type, case.checkpoint, case.original_group) == ("g", "Error", "c", "o")
    assert (case.timeout_s, expected.id, expected.group) == (1, "b", "h")


def test_one_object_can_be_yielded_in_several_groups(make_problem: MakeProblem) -> None:
    folder = make_problem(CONFIG)
    given = CLICase(id="a", metadata={"k": []})
    before = given.model_copy(deep=True)
    ((first, _),) = pairs(folder, [(given, CLIResult())])
    ((second, _),) = pairs(folder, [(given, CLIResult())], "two", "one_core")
    assert (first.group, first.checkpoint, first.original_group) == ("core", "one", None)
    assert (second.group, second.checkpoint, second.original_group) == ("one_core", "two", "core")
    assert (given, given.model_fields_set) == (before, before.model_fields_set)
    assert first.metadata is given.metadata


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


@pytest.mark.parametrize(("returned", "named"), [(None, "None"), (5, "a int")])
def test_a_loader_that_yields_nothing_is_told_so_with_its_line(
    make_problem: MakeProblem, returned: object, named: str
) -> None:
    class Returning(Yielding):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Any:
            return returned

    line = Returning.__call__.__code__.co_firstlineno
    message = rf"^\S*test_enumeration.py:{line}: the loader returned {named}: it should yield \(case, expected\)$"
    with pytest.raises(LoaderError, match=message):
        next(iterate_cases(Returning(()), *setting(make_problem(CONFIG)), store=None))


def test_the_loader_is_called_by_keyword(make_problem: MakeProblem) -> None:
    class Loader(Yielding):
        def __call__(self, *args: Any, **keywords: Any) -> Any:
            assert not args
            assert keywords == {"group": group, "store": "the store"}
            return [(CLICase(id="a"), CLIResult())]

    problem, checkpoint, group = setting(make_problem(CONFIG))
    assert len(list(iterate_cases(Loader(()), problem, checkpoint, group, "the store"))) == 1


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
    with pytest.raises(
        LoaderError, match=r'group "astray" comes from group "x" of checkpoint "one", which does not exist: .*"core"'
    ):
        pairs(make_problem(CONFIG), [], "two", "astray")


class Cancelled(BaseException):
    """As pytest's Skipped and asyncio's CancelledError, no Exception."""


def test_whatever_a_loader_raises_is_a_loader_error(make_problem: MakeProblem) -> None:
    def failing() -> Iterator[Any]:
        raise Cancelled("enough")
        yield

    class Immediately(Yielding):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Any:
            raise Cancelled("at once")

        def initialize_store(self) -> Any:
            raise Cancelled("no store")

    problem, checkpoint, group = setting(make_problem(CONFIG))
    with pytest.raises(LoaderError, match="Cancelled: enough"):
        next(iterate_cases(Yielding(failing()), problem, checkpoint, group, None))
    with pytest.raises(LoaderError, match="Cancelled: at once"):
        next(iterate_cases(Immediately(()), problem, checkpoint, group, None))
    with pytest.raises(LoaderError, match="Cancelled: no store"):
        make_store(Immediately(()), problem, checkpoint)


def test_the_users_interrupt_is_not_the_loaders_error(make_problem: MakeProblem) -> None:
    def interrupted() -> Iterator[Any]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(KeyboardInterrupt):
        pairs(make_problem(CONFIG), interrupted())


@pytest.mark.parametrize(
    "script", ["raise KeyboardInterrupt", "class Loader:\n    def __init__(self): raise KeyboardInterrupt"]
)
def test_nor_while_the_loader_is_imported_and_made(make_problem: MakeProblem, script: str) -> None:
    problem, checkpoint, _ = setting(make_problem({**CONFIG, "loader_script": "loader.py"}, {"loader.py": script}))
    with pytest.raises(KeyboardInterrupt):
        initialize_loader(problem, checkpoint)


def test_a_loader_without_initialize_store_is_told_to_have_one(make_problem: MakeProblem) -> None:
    class Loader: ...

    problem, checkpoint, _ = setting(make_problem(CONFIG))
    with pytest.raises(
        LoaderError, match=r'the loader class "Loader" has no initialize_store: inherit from BaseLoader, or define it'
    ):
        make_store(Loader(), problem, checkpoint)


class Cleaning(Yielding):
    """Says where it is ended."""

    def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[Any]:
        try:
            yield from self.items
        finally:
            print("cleaned up")


@pytest.mark.parametrize("items", [[(CLICase(id="a"), CLIResult())] * 3, [(CLICase(id="a"), CLIResult()), None]])
@pytest.mark.parametrize("wrapped", [False, True])
def test_what_a_loader_does_when_it_is_ended_early_is_author_code_too(
    make_problem: MakeProblem, capsys: pytest.CaptureFixture[str], items: list[Any], wrapped: bool
) -> None:
    class Wrapped(Cleaning):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Any:
            return itertools.chain(super().__call__(group, store))

    loader = Wrapped(items) if wrapped else Cleaning(items)
    stream = iterate_cases(loader, *setting(make_problem(CONFIG)), store=None)
    next(stream)
    if items[1] is None:
        with pytest.raises(LoaderError, match="should yield a pair"):
            next(stream)
    del stream
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.endswith("cleaned up\n")


def test_a_clean_up_that_raises_is_a_warning(make_problem: MakeProblem, capsys: pytest.CaptureFixture[str]) -> None:
    def failing() -> Iterator[Any]:
        try:
            yield CLICase(id="a"), CLIResult()
        finally:
            raise KeyError("late")

    class Loader(Yielding):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[Any]:
            return failing()

    stream: Any = iterate_cases(Loader(()), *setting(make_problem(CONFIG)), store=None)
    next(stream)
    stream.close()
    assert "the loader's clean-up raised: KeyError: 'late'" in capsys.readouterr().err


def test_calls_into_loaders_never_overlap(make_problem: MakeProblem) -> None:
    class Recording(Yielding):
        running = 0
        most = 0

        def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[Any]:
            for n in range(20):
                self.running += 1
                self.most = max(self.most, self.running)
                time.sleep(0.001)
                self.running -= 1
                yield CLICase(id=str(n)), CLIResult()

    loader = Recording(())
    problem, checkpoint, group = setting(make_problem(CONFIG))
    groups = [group, group.model_copy(update={"name": "other"})]
    with ThreadPoolExecutor(2) as pool:
        counts = pool.map(lambda g: sum(1 for _ in iterate_cases(loader, problem, checkpoint, g, None)), groups)
        assert list(counts) == [20, 20]
    assert loader.most == 1
