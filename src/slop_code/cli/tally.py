"""What has been heard of one or many runs so far: counts, what runs now, and how long it may still take."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from slop_code.evaluation.listening import Listener, RunLabel

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.evaluation.verifiers.models import VerifierReport

OUTCOMES = ("passed", "failed", "timed out", "error")
# An estimate from less than this says nothing.
_LEAST_DONE, _LEAST_S = 3, 0.5


class _Group:
    known = 0
    complete = False
    done = 0


class _Run:
    def __init__(self, started: float, *, prepared: bool = False) -> None:
        self.started = started
        self.prepared = prepared
        self.ended = False
        self.counts = dict.fromkeys(OUTCOMES, 0)
        self.groups: dict[str, _Group] = {}
        self.running: dict[tuple[str, str], float] = {}

    @property
    def done(self) -> int:
        return sum(self.counts.values())

    @property
    def known(self) -> int:
        return sum(max(group.known, group.done) for group in self.groups.values())

    @property
    def all_known(self) -> bool:
        return self.ended or (self.prepared and all(group.complete for group in self.groups.values()))


class RunView(NamedTuple):
    """One run as it stands. `all_known` is false while more cases may turn up."""

    label: RunLabel
    counts: dict[str, int]
    done: int
    known: int
    all_known: bool
    prepared: bool
    seconds: float


class View(NamedTuple):
    """Everything at one moment. `runs` are those that go on, and `running` the cases that have run longest."""

    counts: dict[str, int]
    done: int
    known: int
    all_known: bool
    seconds: float
    left_s: float | None
    running: list[tuple[RunLabel, str, str, float]]
    runs: list[RunView]
    runs_seen: int
    runs_ended: int


class Tally(Listener):
    """A listener that counts. Each call costs a lock and a few dictionary entries; `view` makes sense of them."""

    def __init__(self, total_runs: int | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.total_runs = total_runs
        self.prepared_s = 0.0
        self.reused = 0
        self._clock = clock
        self._lock = threading.Lock()
        self._runs: dict[RunLabel, _Run] = {}
        self._started = clock()
        self._first_case: float | None = None

    @property
    def has_many(self) -> bool:
        """Whether there is more than one run."""
        return len(self._runs) > 1 or (self.total_runs or 0) > 1

    def preparing(self, run: RunLabel) -> None:
        with self._lock:
            # A run that is heard of again is a new one: `--repeat` and `--watch` do so.
            self._runs[run] = _Run(self._clock())

    def prepared(self, run: RunLabel, seconds: float, reused: bool) -> None:
        with self._lock:
            self._run(run).prepared = True
            self.prepared_s += seconds

    def enumerated(self, run: RunLabel, group: str, cases: int, complete: bool) -> None:
        with self._lock:
            found = self._group(run, group)
            found.known, found.complete = cases, complete

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        now = self._clock()
        with self._lock:
            self._run(run).running[group, case_id] = now
            if self._first_case is None:
                self._first_case = now

    def case_reused(self, run: RunLabel, group: str, case_id: str) -> None:
        with self._lock:
            self.reused += 1

    def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
        with self._lock:
            heard = self._run(run)
            heard.running.pop((report.group, report.id), None)
            heard.counts[report.outcome or "error"] += 1
            group = self._group(run, report.group)
            group.done += 1
            if group.complete and group.done >= group.known:
                # Cases that ran only for the state they leave are never reported.
                heard.running = {key: since for key, since in heard.running.items() if key[0] != report.group}

    def run_ended(self, run: RunLabel, results: CorrectnessResults) -> None:
        with self._lock:
            heard = self._run(run)
            heard.ended = True
            heard.running.clear()

    def view(self, most_running: int = 3) -> View:
        """How things stand now."""
        with self._lock:
            now = self._clock()
            heard = list(self._runs.items())
            counts = {outcome: sum(run.counts[outcome] for _, run in heard) for outcome in OUTCOMES}
            done, known = sum(counts.values()), sum(run.known for _, run in heard)
            all_known = all(run.all_known for _, run in heard) and (self.total_runs or 0) <= len(heard)
            running = [(label, *case, since) for label, run in heard for case, since in run.running.items()]
            running.sort(key=lambda item: item[-1])
            return View(
                counts=counts,
                done=done,
                known=known,
                all_known=all_known,
                seconds=now - self._started,
                left_s=self._left(now, done, known),
                running=[(label, group, case, now - since) for label, group, case, since in running[:most_running]],
                runs=[_view_of(label, run, now) for label, run in heard if not run.ended],
                runs_seen=max(len(heard), self.total_runs or 0),
                runs_ended=sum(run.ended for _, run in heard),
            )

    def _left(self, now: float, done: int, known: int) -> float | None:
        spent = now - self._first_case if self._first_case is not None else 0.0
        if done < _LEAST_DONE or spent < _LEAST_S:
            return None
        left = spent / done * (known - done)
        unseen = (self.total_runs or 0) - len(self._runs)
        # Runs that nobody has heard of yet are taken to be like those so far.
        return left + spent / done * (known / len(self._runs)) * unseen if unseen > 0 else left

    def _run(self, label: RunLabel) -> _Run:
        run = self._runs.get(label)
        if run is None:
            run = self._runs[label] = _Run(self._clock(), prepared=True)
        return run

    def _group(self, label: RunLabel, name: str) -> _Group:
        groups = self._run(label).groups
        found = groups.get(name)
        if found is None:
            found = groups[name] = _Group()
        return found


def _view_of(label: RunLabel, run: _Run, now: float) -> RunView:
    return RunView(label, dict(run.counts), run.done, run.known, run.all_known, run.prepared, now - run.started)
