"""Where the author's code of one group works: the loader hands out cases, the verifier and the store take results.

A desk knows the cases that are out. What it hands out is the part of a case that a submission can be asked with; the
case itself, as the loader made it, stays here until its result comes back.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slop_code.evaluation.adapters.api import APICase
from slop_code.evaluation.adapters.cli import CLICase
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.handing_out import HandedOut, Handful
from slop_code.evaluation.judging import Judge
from slop_code.evaluation.listening import Selection
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError, NoOpStore
from slop_code.evaluation.verifiers.models import VerifierReport

_SHORT_WHILE_S = 0.05


@dataclass(frozen=True, slots=True)
class Bench:
    """What the desks of a checkpoint share; a loader that could not be made is an error of each group."""

    problem: ProblemConfig
    checkpoint: CheckpointConfig
    selection: Selection
    loader: GroupLoader | LoaderError
    verifier: Any


class Desk:
    """One group's author code. Cases are judged in the order in which they were handed out."""

    def __init__(self, bench: Bench, group: GroupConfig) -> None:
        """Raises `LoaderError` if there is no loader or its store cannot be made."""
        if isinstance(bench.loader, LoaderError):
            raise bench.loader
        self._bench = bench
        self._group = group
        # A verifier that draws random numbers draws the same ones in every run.
        random.seed(f"{bench.problem.name}/{bench.checkpoint.name}/{group.name}")
        self._judge = Judge(bench.verifier, bench.problem, bench.checkpoint)
        self._store = make_store(bench.loader, bench.problem, bench.checkpoint)
        self.keeps_store = type(self._store) is not NoOpStore
        self._cases: Iterator[tuple[BaseCase, CaseResult]] | None = iterate_cases(
            bench.loader, bench.problem, bench.checkpoint, group, self._store, wanted=lambda: self._wanted
        )
        self._wanted = 1
        self._out: dict[int, tuple[BaseCase, CaseResult]] = {}
        self._position = 0
        cli = bench.problem.adapter.type == "cli"
        self.independent = cli and group.isolated and not self.keeps_store

    def take(self, count: int) -> Handful:
        """The next cases, at most `count`; fewer when the loader ends or raises, which is told then."""
        handed: list[HandedOut] = []
        error = None
        while self._cases is not None and len(handed) < count:
            self._wanted = count - len(handed)
            try:
                pair = next(self._cases, None)
            except LoaderError as trouble:
                error = str(trouble)
                pair = None
            if pair is None:
                self._cases = None
                break
            case, expected = pair
            position, self._position = self._position, self._position + 1
            wanted = self._bench.selection.has_case(self._group.name, case.id)
            if self.independent and not wanted:
                continue
            self._out[position] = pair
            handed.append(HandedOut(position, _portable(case, expected), wanted))
        return Handful(tuple(handed), self._cases is None, error)

    def judge(self, position: int, observation: Observation, is_last: bool = True) -> VerifierReport:
        """Verify the result of a case, then show it to the store. If it is not the last result, the case stays out."""
        case, expected = self._out[position]
        if is_last:
            del self._out[position]
        store = self._store if is_last and self.keeps_store else None
        return self._judge.judge(case, expected, observation, store)

    def judge_some(self, results: Sequence[tuple[int, Observation]]) -> list[VerifierReport]:
        """Judge these results, in order, as far as a short while goes; the first one in any case."""
        reports: list[VerifierReport] = []
        end = time.monotonic() + _SHORT_WHILE_S
        for position, observation in results:
            reports.append(self.judge(position, observation))
            if time.monotonic() > end:
                break
        return reports

    def last_wanted(self) -> int:
        """The position of the last case that is wanted, or -1. Uses the loader up: ask a desk of its own."""
        last = -1
        try:
            for position, (case, _) in enumerate(self._cases or ()):
                if self._bench.selection.has_case(self._group.name, case.id):
                    last = position
        except LoaderError:
            # Where the loader breaks off is found out by those who run its cases.
            return sys.maxsize
        return last

    def drop(self, position: int) -> None:
        """The case will have no result."""
        self._out.pop(position, None)


def _portable(case: BaseCase, expected: CaseResult) -> BaseCase:
    """The case as our own class, without what only its author's code reads."""
    kind = APICase if isinstance(case, APICase) else CLICase
    values = {name: getattr(case, name) for name in kind.model_fields if name != "metadata"}
    values["tracked_files"] = [*case.tracked_files, *expected.files_by_name()]
    return kind.model_construct(**values)
