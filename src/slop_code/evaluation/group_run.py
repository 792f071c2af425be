"""One group of one submission: what its two ways of running (`independent_cases`, `ordered_cases`) have in common."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Callable, Sequence
from itertools import takewhile
from pathlib import Path
from queue import SimpleQueue
from threading import Event
from typing import TYPE_CHECKING, NamedTuple

from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.models import CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.author_desk import AuthorDesk
from slop_code.evaluation.author_process import BenchHandle, DeskError
from slop_code.evaluation.config.models import GroupConfig
from slop_code.evaluation.error_reports import error_report, lost_group
from slop_code.evaluation.handing_out import HandedOut, Handful
from slop_code.evaluation.lanes import Lane, Lanes
from slop_code.evaluation.listening import RunOptions
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.evaluation.observations import Subject
from slop_code.evaluation.scheduler import Ticket, WorkerPool
from slop_code.evaluation.timings import Times
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.execution.assets import UnknownAssetError
from slop_code.execution.errors import ExecutionError
from slop_code.execution.file_ops import InputFileError

if TYPE_CHECKING:
    from slop_code.evaluation.recall import Recall

AGAIN_AFTER_TIMEOUT = "it timed out while other cases were running; this is what it did when it was run again, alone"
_LONGEST_NAME = 200
_AGAIN_AFTER_FAILURE = "it {} the first time; this is what it did when it was run again, alone"


class Surroundings(NamedTuple):
    """What the groups of a run share."""

    pool: WorkerPool
    bench: BenchHandle
    lanes: Lanes
    options: RunOptions
    times: Times
    stopping: Event
    is_cli: bool
    selects_cases: bool
    place: str
    recall: Recall | None
    started: Callable[[GroupConfig, str], None]
    counted: Callable[[GroupConfig, int, bool], None]
    reused: Callable[[GroupConfig, str], None]
    kept: Callable[[GroupConfig, str, Finding], int | None]
    finished: Callable[[GroupConfig, VerifierReport, int | None], None]


class Finding(NamedTuple):
    """An observation, and what it is an observation of."""

    subject: Subject
    observation: Observation


class Arrived(NamedTuple):
    """What came of running a case: an observation, or why there is none. `lost` if none of the others can run either.

    `company` says whether anything else ran at the same time.
    """

    handed: HandedOut
    observation: Observation | None = None
    error: str = ""
    lost: bool = False
    company: bool = False

    @property
    def timed_out(self) -> bool:
        return self.observation is not None and self.observation.result.timed_out


class GroupRun:
    """A group that is being run, in a thread of its own. `wake` may be called from any."""

    def __init__(self, around: Surroundings, group: GroupConfig, *, exclusive: bool) -> None:
        self.around = around
        self.group = group
        self.exclusive = exclusive
        self.ticket: Ticket | None = None
        """What its cases run by, if they keep state or have to be alone."""
        self.arrivals: SimpleQueue[Arrived | None] = SimpleQueue()
        self._again: dict[int, str] = {}
        self._judged: dict[int, VerifierReport] = {}
        self._known = 0
        self._last = -1
        self._folders: dict[int, str] = {}
        self._taken: set[str] = set()

    def wake(self) -> None:
        """Have it look whether it should stop."""
        self.arrivals.put(None)

    def run(self) -> None:
        """Run the group to its end, or until it should stop."""
        from slop_code.evaluation.independent_cases import run_independent
        from slop_code.evaluation.ordered_cases import run_in_order

        try:
            self.desk = AuthorDesk(self.around.bench, self.group)
        except (LoaderError, DeskError) as error:
            self.lose("loader", str(error))
            return
        try:
            if self.desk.independent:
                run_independent(self)
            else:
                run_in_order(self)
        finally:
            self.desk.close()

    @property
    def stops(self) -> bool:
        return self.around.stopping.is_set()

    def take(self, count: int) -> Handful:
        """The next cases of the loader."""
        with self.around.pool.beside(self.ticket):
            handful = self.desk.take(count)
        if self.around.options.keep_workspaces is not None:
            self._name_folders(handful.cases)
        # A group that begins again has no more cases for that.
        new = [handed for handed in handful.cases if handed.position > self._last]
        self._known += sum(handed.wanted for handed in new)
        self._last = new[-1].position if new else self._last
        self.around.counted(self.group, self._known, handful.complete)
        return handful

    def run_on(self, lane: Lane, handed: HandedOut) -> tuple[Arrived, bool]:
        """Put a case to the submission; also whether the lane can be used again."""
        try:
            # What is expected is the desk's business; the files to collect are named by the case.
            observation = self._keep_workspace(lane, handed, lane.use().run(handed.case, CaseResult()))
        except (AdapterError, InputFileError, UnknownAssetError) as error:
            return Arrived(handed, error=str(error)), True
        except ExecutionError as error:
            return Arrived(handed, error=str(error)), False
        except Exception as error:  # noqa: BLE001  # whatever it is, it costs this case and not the others
            text = f"slop-code itself failed on this case: {type(error).__name__}: {error}"
            return Arrived(handed, error=text), False
        return Arrived(handed, observation), True

    def runs_again_after_timeout(self, arrival: Arrived) -> bool:
        """Whether the case has to be run again, alone, before it is judged."""
        if not arrival.timed_out or not arrival.company or arrival.handed.position in self._again:
            return False
        self._again[arrival.handed.position] = AGAIN_AFTER_TIMEOUT
        return True

    def judge_ahead(self, arrivals: Sequence[Arrived]) -> None:
        """Have several cases judged at once, whose turn it is one after another; `judged` then has their reports."""
        if self.around.options.confirm_failures:
            return
        results = [(arrival.handed.position, arrival.observation) for arrival in arrivals]
        known = list(takewhile(lambda result: result[1] is not None, results))
        if len(known) > 1 and known[0][0] not in self._judged:
            with self.around.pool.beside(self.ticket):
                reports = self.desk.judge_some([(position, seen) for position, seen in known if seen is not None])
            self._judged.update((position, report) for (position, _), report in zip(known, reports, strict=False))

    def has_judged(self, arrival: Arrived) -> bool:
        """Whether it was judged ahead."""
        return arrival.handed.position in self._judged

    def judged(self, arrival: Arrived, *, may_return: bool, confirms: bool = True) -> VerifierReport | None:
        """The report on a case, or None if it has to be run again, alone, first, and that `confirms` something.

        With `may_return` it will be judged here once more in that case, and stays out until then.
        """
        position = arrival.handed.position
        if arrival.observation is None:
            self.desk.drop(position)
            return error_report(arrival.handed.case, arrival.error)
        confirms = confirms and self.around.options.confirm_failures and position not in self._again
        report = self._judged.pop(position, None)
        if report is None:
            with self.around.pool.beside(self.ticket):
                report = self.desk.judge(arrival.handed, arrival.observation, is_last=not (confirms and may_return))
        if confirms and report.outcome in {"failed", "timed out"}:
            self._again[position] = _AGAIN_AFTER_FAILURE.format(report.outcome)
            return None
        if confirms and may_return:
            self.desk.drop(position)
        if position in self._again:
            update = {"attempts": report.attempts + 1, "warnings": [self._again[position], *report.warnings]}
            report = report.model_copy(update=update)
        return report

    def recalled(self, handed: HandedOut, key: str, row_run: str = "") -> Arrived | None:
        """What an earlier run observed of the same, if it may be used again; in a row of cases, that run of it."""
        if self.around.recall is None:
            return None
        kept = self.around.recall.find(Subject(self.around.place, key), row_run)
        # A name is not content: the case may have had another one.
        return None if kept is None else Arrived(handed, kept.seen_as(handed.case))

    def keep(self, arrival: Arrived, key: str) -> int | None:
        """Store what was observed of a case; `key` is what it depended on besides the place. Gives where it is."""
        if arrival.observation is None:
            return None
        found = Finding(Subject(self.around.place, key), arrival.observation)
        return self.around.kept(self.group, arrival.handed.case.id, found)

    def report(self, report: VerifierReport, arrival: Arrived, place: int | None) -> None:
        """A case is through, and what was observed of it is at `place`."""
        if report.outcome == "passed" and self.around.options.keep_workspaces is not None:
            kept = self._kept(arrival.handed)
            shutil.rmtree(kept, ignore_errors=True)
            with contextlib.suppress(OSError):
                kept.parent.rmdir()  # stays where something else is in it
        self.around.finished(self.group, report, place)

    def lose(self, who: str, text: str) -> None:
        """The rest of the group cannot be run."""
        self.around.finished(self.group, lost_group(self.group, who, text), None)

    def _keep_workspace(self, lane: Lane, handed: HandedOut, seen: Observation) -> Observation:
        if self.around.options.keep_workspaces is not None and handed.wanted:
            place = self._kept(handed)
            try:
                shutil.rmtree(place, ignore_errors=True)
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copytree(lane.session.workspace, place, symlinks=True, ignore=_neither_file_nor_folder)
            except (OSError, shutil.Error) as error:
                return seen._replace(warnings=(*seen.warnings, f"the workspace could not be kept: {error}"))
        return seen

    def _kept(self, handed: HandedOut) -> Path:
        folder = self.around.options.keep_workspaces or Path()
        return folder / _file_name(self.group.name) / self._folders[handed.position]

    def _name_folders(self, cases: Sequence[HandedOut]) -> None:
        """Give each case a folder of its own, in the loader's order, also where ids or their file names are equal."""
        for handed in cases:
            if handed.position in self._folders:  # the group begins again
                continue
            plain = name = _file_name(handed.case.id)
            number = 1
            while name in self._taken:
                number += 1
                name = f"{plain} ({number})"
            self._taken.add(name)
            self._folders[handed.position] = name


def _neither_file_nor_folder(folder: str, names: list[str]) -> list[str]:
    """Sockets, pipes and devices, which have no content to keep."""
    paths = {name: Path(folder) / name for name in names}
    return [name for name, path in paths.items() if not (path.is_symlink() or path.is_file() or path.is_dir())]


def _file_name(name: str) -> str:
    safe = "".join("_" if character in "/\0" else character for character in name)
    if len(safe.encode("utf-8", "surrogateescape")) > _LONGEST_NAME:
        safe = f"{safe[: _LONGEST_NAME // 8]}-{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    return safe if safe not in {"", ".", ".."} else f"_{safe}"
