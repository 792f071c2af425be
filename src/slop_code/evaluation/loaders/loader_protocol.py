"""What a loader is: a class that yields `(case, expected)` for one group after another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from slop_code.errors import SlopCodeError
from slop_code.evaluation.adapters.models import BaseCase, CaseResult

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, GroupConfig, ProblemConfig

LoaderYieldType = Generator[tuple[BaseCase, CaseResult], None, None]


class LoaderError(SlopCodeError):
    """Cases could not be loaded: the author's script or files are wrong. Costs the rest of the group."""


@runtime_checkable
class CaseStore(Protocol):
    """Remembers what earlier cases of a group gave, for a loader that builds later cases from it."""

    def update(self, case: BaseCase, result: CaseResult, expected: CaseResult) -> None:
        """Take note of a case that has been run and judged."""
        ...


class NoOpStore(CaseStore):
    """Remembers nothing. Cases of a group with such a store do not depend on each other."""

    def update(self, case: BaseCase, result: CaseResult, expected: CaseResult) -> None:
        """Do nothing."""


@runtime_checkable
class GroupLoader(Protocol):
    """The interface of a loader. It is made once per checkpoint and called once per group.

    A class may take `problem` as well as `checkpoint`, as `BaseLoader` does.
    """

    def __init__(self, checkpoint: CheckpointConfig, *, use_placeholders: bool = False) -> None: ...

    def initialize_store(self) -> CaseStore:
        """A fresh store; called once per group."""
        ...

    def __call__(self, group: GroupConfig, store: CaseStore) -> LoaderYieldType:
        """Yield the cases of `group` in the order in which they run.

        With a store other than `NoOpStore`, case N+1 is asked for after `store.update` of case N.
        """
        ...


class BaseLoader(ABC):
    """A loader that keeps its problem and checkpoint and needs no store; override `__call__`."""

    def __init__(self, problem: ProblemConfig, checkpoint: CheckpointConfig, *, use_placeholders: bool = False) -> None:
        self.problem = problem
        self.checkpoint = checkpoint
        self.use_placeholders = use_placeholders

    def initialize_store(self) -> CaseStore:
        """A fresh store; called once per group."""
        return NoOpStore()

    @abstractmethod
    def __call__(self, group: GroupConfig, store: CaseStore) -> Any:
        """Yield `(case, expected)` for each case of `group`."""
