"""A group's desk for as long as the group takes, whatever the author's code does to the process that it is in."""

from __future__ import annotations

from collections.abc import Sequence

from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.author_process import BenchHandle, DeskError, DeskLostError
from slop_code.evaluation.config.models import GroupConfig
from slop_code.evaluation.error_reports import error_report
from slop_code.evaluation.handing_out import HandedOut, Handful
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.verifiers.models import VerifierReport


class AuthorDesk:
    """A group's desk, replaced by a new one when the author's code loses it."""

    def __init__(self, bench: BenchHandle, group: GroupConfig) -> None:
        self._bench = bench
        self._group = group
        self._desk = bench.desk(group)
        self._out: set[int] = set()
        self._handed = 0
        self._careful = False
        self.independent = self._desk.independent
        self.keeps_store = self._desk.keeps_store
        self.broken: str | None = None
        """Why no more can be asked of it."""

    def take(self, count: int) -> Handful:
        """The next cases; what the loader did to its process is an error like what it raises."""
        if self.broken is not None:
            return Handful((), True, self.broken)
        try:
            handful = self._desk.take(1 if self._careful else count)
        except DeskLostError as error:
            # The cases that are out still have to be judged.
            self._replace(str(error))
            if self._careful or count == 1 or self.keeps_store:
                return Handful((), True, str(error))
            # Those before the one that did it are good: ask for them one by one.
            self._careful = True
            return self.take(1)
        except DeskError as error:
            return Handful((), True, str(error))
        for handed in handful.cases:
            self._out.add(handed.position)
            self._handed = handed.position + 1
        return handful

    def judge(self, handed: HandedOut, observation: Observation, *, is_last: bool) -> VerifierReport:
        """The report on a case; an error, if judging it cost the desk."""
        if self.broken is not None:
            return error_report(handed.case, self.broken)
        try:
            report = self._desk.judge(handed.position, observation, is_last=is_last)
        except DeskLostError as error:
            self._out.discard(handed.position)
            self._replace(str(error))
            return error_report(handed.case, str(error))
        except DeskError as error:
            self.drop(handed.position)
            return error_report(handed.case, str(error))
        if is_last:
            self._out.discard(handed.position)
        return report

    def judge_some(self, results: Sequence[tuple[int, Observation]]) -> list[VerifierReport]:
        """The reports on the first of these results; none, if it is not sure which of them would cost the desk."""
        if self.broken is not None or self._careful:
            return []
        try:
            reports = self._desk.judge_some(results)
        except DeskError as error:
            self._careful = True
            if isinstance(error, DeskLostError):
                self._replace(str(error))
            return []
        self._out.difference_update(position for position, _ in results[: len(reports)])
        return reports

    def drop(self, position: int) -> None:
        """The case will have no result."""
        self._out.discard(position)
        if self.broken is None:
            try:
                self._desk.drop(position)
            except DeskError as error:
                self._replace(str(error))

    def last_wanted(self) -> int | None:
        """The position of the last case that is wanted, or -1; None if only running them can tell."""
        if self.keeps_store:
            return None
        try:
            desk = self._bench.desk(self._group)
        except (LoaderError, DeskError):
            return None
        try:
            return desk.last_wanted()
        except DeskError:
            return None
        finally:
            desk.close()

    def begin_again(self) -> None:
        """From the first case, with a new store. Raises what opening a desk does."""
        self._desk.close()
        self._desk = self._bench.desk(self._group)
        self._out.clear()
        self._handed = 0
        self.broken = None

    def close(self) -> None:
        self._desk.close()

    def _replace(self, reason: str) -> None:
        """A new desk that has the same cases out; impossible where a store has seen results."""
        if self.keeps_store:
            self.broken = f"the store was lost: {reason}"
            return
        out, handed = set(self._out), self._handed
        try:
            self.begin_again()
            while self._handed < handed:
                again = self._desk.take(handed - self._handed)
                for item in again.cases:
                    self._handed = item.position + 1
                    if item.position not in out:
                        self._desk.drop(item.position)
                if again.complete and self._handed < handed:
                    raise DeskError("the loader did not give the same cases again")
        except (LoaderError, DeskError) as error:
            self.broken = str(error)
        self._out = out
