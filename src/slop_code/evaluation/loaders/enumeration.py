"""The cases of a group, one at a time, complete and checked: the only way by which cases reach the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.adapters.api import APICase, APIResult
from slop_code.evaluation.adapters.base import AdapterError, as_case, as_result
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.author_code import RandomState, author_code, recall_state
from slop_code.evaluation.config.models import find_checkpoint
from slop_code.evaluation.loaders.initialization import author_folder, place_of_class
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.scripts import ScriptFolder, is_ctrl_c
from slop_code.findings import listed
from slop_code.logging import get_logger
from slop_code.validation import first_reason

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, GroupConfig, ProblemConfig

_CLASSES: dict[str, tuple[type[BaseCase], type[CaseResult]]] = {
    "cli": (CLICase, CLIResult),
    "api": (APICase, APIResult),
}


def make_store(loader: Any, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Any:
    """A fresh store for one group; raises `LoaderError` if the loader has no method for it, or if that raises."""
    folder = author_folder(problem, checkpoint)
    method = _call(lambda: getattr(loader, "initialize_store", None), folder, None, "initialize_store")
    if not callable(method):
        raise LoaderError(
            f'{place_of_class(type(loader))}the loader class "{type(loader).__name__}" has no initialize_store: '
            "inherit from BaseLoader, or define it (it returns a store, for example NoOpStore())"
        )
    return _call(method, folder, None, "initialize_store")


def iterate_cases(
    loader: Any,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    group: GroupConfig,
    store: Any,
    *,
    wanted: Callable[[], int] = lambda: 1,
) -> Iterator[tuple[BaseCase, CaseResult]]:
    """Yield the `(case, expected)` pairs of `group` lazily, as the adapter's classes, with every field filled in.

    The loader is asked for a pair only when the caller asks for one, and ended when the caller stops early. A caller
    who will ask for several, one right after the other, says how many are `wanted`, which costs less.

    Raises:
        LoaderError: the group's origin is unknown, or the loader raised or yielded something else. What was
            yielded before stays good.
    """
    check_origin(problem, group)
    folder = author_folder(problem, checkpoint)
    seed = f"{problem.name}/{group.original_checkpoint or checkpoint.name}/{group.get_real_name()}"
    state = RandomState(seed, after=recall_state(loader))
    # A list, so that the loader's iterator can be let go of where its own code may run.
    iterators = [_call(lambda: _start(loader, group, store), folder, state, "the loader")]
    position = 0
    try:
        while True:
            items: list[Any] = []
            error: LoaderError | None = None
            try:
                _call(lambda: _take(iterators[0], wanted(), items), folder, state, "the loader")  # noqa: B023
            except LoaderError as trouble:
                error = trouble
            for item in items:
                if item is _END:
                    return
                position += 1
                yield complete(item, position, problem, checkpoint, group)
            if error is not None:
                raise error
    finally:
        _end(iterators, folder, state, group)


def _start(loader: Any, group: GroupConfig, store: Any) -> Iterator[Any]:
    returned = loader(group=group, store=store)
    if not isinstance(returned, Iterable) and not hasattr(type(returned), "__getitem__"):
        raise _NotCasesError(
            f"{place_of_class(type(loader), '__call__')}the loader returned {_named(returned)}: "
            "it should yield (case, expected)"
        )
    return iter(returned)


def _take(iterator: Iterator[Any], count: int, items: list[Any]) -> None:
    """Put the next items into `items`, which has those before the one that raised."""
    while len(items) < count and not (items and items[-1] is _END):
        items.append(next(iterator, _END))


def _end(iterators: list[Iterator[Any]], folder: ScriptFolder | None, state: RandomState, group: GroupConfig) -> None:
    """Let what the loader does in its `finally` happen as the rest of its code does."""

    def close() -> None:
        close_iterator = getattr(iterators.pop(), "close", None)
        if close_iterator is not None:
            close_iterator()

    try:
        _call(close, folder, state, "the loader's clean-up")
    except LoaderError as error:
        # The cases are there, or an earlier error is on its way.
        get_logger(__name__).warning(str(error), group=group.name)


def check_origin(problem: ProblemConfig, group: GroupConfig) -> None:
    """Raise `LoaderError` if a regression group comes from a checkpoint or group that does not exist."""
    if group.original_checkpoint is None or group.original_group is None:
        return
    source = find_checkpoint(problem.checkpoints, group.original_checkpoint)
    if source is None:
        raise LoaderError(
            f'group "{group.name}" comes from checkpoint "{group.original_checkpoint}", which this problem does not '
            f"have: it has {listed(problem.checkpoints)}"
        )
    if group.original_group not in source.groups:
        raise LoaderError(
            f'group "{group.name}" comes from group "{group.original_group}" of checkpoint '
            f'"{group.original_checkpoint}", which does not exist: there are {listed(source.groups)}'
        )


def complete(
    item: Any, position: int, problem: ProblemConfig, checkpoint: CheckpointConfig, group: GroupConfig
) -> tuple[BaseCase, CaseResult]:
    """A pair as a loader yielded it, checked, converted to the adapter's classes, and filled in from the group."""
    if not isinstance(item, (tuple, list)) or len(item) != 2:
        raise LoaderError(
            f'case {position} of group "{group.name}": the loader should yield a pair (case, expected), '
            f"and it yielded {_named(item)}"
        )
    case_class, result_class = _CLASSES[problem.adapter.type]
    subject = f'case {position} of group "{group.name}"'
    case = _read(item[0], BaseCase, case_class, subject, "case")
    expected = _read(item[1], CaseResult, result_class, f'{subject} ("{case.id}")', "expected result")
    try:
        case = as_case(case, case_class)
        expected = as_result(expected, result_class)
    except AdapterError as error:
        raise LoaderError(str(error)) from error
    case = _filled_in(case, checkpoint, group)
    return case, expected.filled_in(id=case.id, group=case.group, group_type=case.group_type)


def _filled_in(case: BaseCase, checkpoint: CheckpointConfig, group: GroupConfig) -> BaseCase:
    """The case itself if it has everything; else a copy, since the loader may yield one object in several groups."""
    missing: dict[str, Any] = {}
    if not case.group:
        missing["group"] = group.name
    if case.group_type is None:
        missing["group_type"] = group.type
    if not case.checkpoint:
        missing["checkpoint"] = checkpoint.name
    if case.original_group is None and group.original_group is not None:
        missing["original_group"] = group.original_group
    if case.original_checkpoint is None and group.original_checkpoint is not None:
        missing["original_checkpoint"] = group.original_checkpoint
    if "timeout_s" not in case.model_fields_set:
        missing["timeout_s"] = group.timeout
    return case.model_copy(update=missing) if missing else case


def _read(value: Any, base: Any, wanted: Any, subject: str, what: str) -> Any:
    if isinstance(value, base):
        return value
    if isinstance(value, Mapping):
        try:
            return wanted.model_validate(dict(value))
        except ValueError as error:
            raise LoaderError(f"{subject}: the {what} is not valid: {first_reason(error)}") from error
    raise LoaderError(f"{subject}: the {what} should be a {wanted.__name__}, and it is {_named(value)}")


def _named(value: object) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


class _NotCasesError(LoaderError):
    """What the loader returned is no iterable. The text has its place already."""


def _call(function: Callable[[], Any], folder: ScriptFolder | None, state: RandomState | None, what: str) -> Any:
    try:
        with author_code(folder, state):
            return function()
    except _NotCasesError:
        raise
    except BaseException as error:  # pytest.skip and asyncio's cancellation are no Exception
        if is_ctrl_c(error):
            raise
        if isinstance(error, LoaderError):
            if folder is None:
                raise
            raise LoaderError(folder.place_of(error)) from error
        place = folder.place_of(error) if folder else f"{type(error).__name__}: {error}"
        raise LoaderError(f"{what} raised: {place}") from error


_END = object()
