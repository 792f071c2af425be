"""Evaluating many snapshots: what is done and unchanged is skipped, the rest shares the cores of this machine.

First every target is looked at, without a lock, and those whose results can stay are through. The others go to a crew
of threads, each with one checkpoint at a time, so that one submission is prepared while the cases of another run.
Whoever evaluates a checkpoint holds the lock of its folder; one that another evaluator holds is put off, and when
its turn comes, the other's results are looked at first.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from slop_code.errors import SlopCodeError
from slop_code.evaluation.listening import Listener, RunInterrupted, RunOptions, Selection
from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.runner import run_checkpoint
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.paths import shown_path
from slop_code.runs.fingerprint import Fingerprint, fingerprint
from slop_code.runs.finished import Unfinished, finished_results, mark_finished, mark_unfinished
from slop_code.runs.locks import LOCK, holder, try_lock
from slop_code.runs.package_content import package_key
from slop_code.runs.summaries import Summary
from slop_code.runs.targets import Target

Status = Literal["evaluated", "skipped", "refused", "unjudged", "interrupted"]
_ASKED_FOR = "asked for"
_CHANGED_MEANWHILE = ", and again the next time, because something changed meanwhile"
_POLL_S = 0.1
_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What is asked of an evaluation."""

    env_spec: EnvironmentSpec
    options: RunOptions = field(default_factory=RunOptions)
    selection: Selection = field(default_factory=Selection)
    overwrite: bool = False
    """Evaluate what is done and unchanged, too."""
    reuse: bool = True
    """Judge what was observed before, where nothing that matters has changed, instead of running it again."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a target.

    evaluated, skipped    `summary` has what came of it; `text` says why it was evaluated
    refused               the snapshot, the package or the place of the results cannot be used; `text` says why
    unjudged              it could not be prepared or run; `text` says why
    interrupted           it was not reached, or not to its end; `summary` has what was finished, if anything was
    """

    target: Target
    status: Status
    text: str = ""
    summary: Summary | None = None


class Evaluation:
    """The evaluation of several targets: `look` at them, then `run`, both in the main thread."""

    def __init__(
        self,
        targets: Sequence[Target],
        asked: Asked,
        *,
        on_outcome: Callable[[Outcome], None] = lambda _: None,
        on_wait: Callable[[Target, str], None] = lambda _target, _holder: None,
    ) -> None:
        """`on_outcome` hears of each target as soon as `run` is through with it, and `on_wait` of one that another
        evaluator is busy with, and who that is. The calls come from any thread, one at a time."""
        self._targets = targets
        self._asked = asked
        self._on_outcome = on_outcome
        self._on_wait = on_wait
        self._listener = Listener()
        self._turn = threading.Lock()
        self._stopping = threading.Event()
        self._pending: deque[tuple[int, str]] = deque()
        self._outcomes: dict[int, Outcome] = {}
        self._trouble: BaseException | None = None
        self.interrupted = False

    def look(self) -> list[tuple[Target, str]]:
        """What is to be evaluated, and why. What can stay, or cannot be evaluated, is `settled`."""
        for number, target in enumerate(self._targets):
            try:
                found = self._look_at(target, self._fingerprint(target))
            except ExecutionError as error:
                self._outcomes[number] = Outcome(target, "refused", str(error))
                continue
            if isinstance(found, Unfinished):
                self._pending.append((number, found.reason))
            else:
                self._outcomes[number] = Outcome(target, "skipped", summary=found)
        return [(self._targets[number], reason) for number, reason in self._pending]

    @property
    def settled(self) -> list[Outcome]:
        """The outcomes that are known by now."""
        return list(self._outcomes.values())

    def run(self, listener: Listener | None = None) -> list[Outcome]:
        """Evaluate what `look` left; one outcome for each target, in their order. After Ctrl-C `interrupted` is true.

        Raises:
            SlopCodeError: `on_outcome` did.
        """
        self._listener = listener or self._listener
        if self._pending:
            try:
                with WorkerPool(self._asked.options.jobs) as pool:
                    self._run_crew(pool)
            except KeyboardInterrupt:
                self.interrupted = True
        if self._trouble is not None:
            raise self._trouble
        return [
            self._outcomes.get(number, Outcome(target, "interrupted")) for number, target in enumerate(self._targets)
        ]

    def _look_at(self, target: Target, wanted: Fingerprint) -> Summary | Unfinished:
        return Unfinished(_ASKED_FOR) if self._asked.overwrite else finished_results(target.snapshot.results, wanted)

    def _run_crew(self, pool: WorkerPool) -> None:
        # One more than there are workers: while their cases run, the next submission is prepared.
        ended = [threading.Event() for _ in range(min(len(self._pending), pool.jobs + 1))]
        try:
            for number, end in enumerate(ended, start=1):
                threading.Thread(target=self._work, args=(pool, end), name=f"checkpoint {number}", daemon=True).start()
            for end in ended:
                # Not `join`: after one that was interrupted, a thread counts as ended while it still runs.
                end.wait()
        except KeyboardInterrupt:
            self.interrupted = True
            self._stopping.set()
            pool.stop()
            # Cases end at once. Whoever is in the middle of a setup command is left to end with this process.
            until = time.monotonic() + _PATIENCE_S
            for end in ended:
                end.wait(max(0.0, until - time.monotonic()))

    def _work(self, pool: WorkerPool, end: threading.Event) -> None:
        try:
            self._evaluate_pending(pool)
        except BaseException as trouble:  # noqa: BLE001  # raised again in the main thread
            self._trouble = trouble
            self._stopping.set()
            pool.stop()
        finally:
            end.set()

    def _evaluate_pending(self, pool: WorkerPool) -> None:
        put_off: set[int] = set()
        while not self._stopping.is_set():
            try:
                number, reason = self._pending.popleft()
            except IndexError:
                return
            outcome = self._evaluate(self._targets[number], reason, pool, tell=number not in put_off)
            if outcome is not None:
                self._settle(number, outcome)
                continue
            self._pending.append((number, reason))
            if number in put_off:
                self._stopping.wait(_POLL_S)
            put_off.add(number)

    def _evaluate(self, target: Target, reason: str, pool: WorkerPool, *, tell: bool) -> Outcome | None:
        """Evaluate one target, or give None if another evaluator is at it."""
        lock = target.snapshot.results / LOCK
        try:
            with try_lock(lock) as held:
                if not held:
                    if tell:
                        with self._turn:
                            self._on_wait(target, holder(lock))
                    return None
                return self._evaluate_locked(target, reason, pool)
        except OSError as error:
            place = shown_path(error.filename or target.snapshot.results)
            return Outcome(target, "refused", f"{place}: {error.strerror or error}")

    def _evaluate_locked(self, target: Target, reason: str, pool: WorkerPool) -> Outcome:
        folder = target.snapshot.results
        try:
            made_of = self._fingerprint(target)
        except ExecutionError as error:
            return Outcome(target, "refused", str(error))
        if not isinstance(found := self._look_at(target, made_of), Unfinished):
            return Outcome(target, "skipped", summary=found)
        try:
            if not self._is_whole:
                return Outcome(target, "evaluated", reason, Summary.of(self._run_part(target, pool)))
            mark_unfinished(folder)
            results = self._run_whole(target, pool, made_of)
            if self._is_unchanged(target, made_of):
                mark_finished(folder, made_of)
            else:
                reason += _CHANGED_MEANWHILE
            return Outcome(target, "evaluated", reason, Summary.of(results))
        except RunInterrupted as stopped:
            return Outcome(target, "interrupted", summary=Summary.of(stopped.results))
        except ExecutionError as error:
            return Outcome(target, "unjudged", str(error))
        except SlopCodeError as error:
            return Outcome(target, "refused", str(error))
        except Exception as error:  # noqa: BLE001  # whatever it is, it costs this target and not the others
            return Outcome(target, "unjudged", f"slop-code itself failed: {type(error).__name__}: {error}")

    @property
    def _is_whole(self) -> bool:
        return self._asked.selection == Selection()

    def _run_whole(self, target: Target, pool: WorkerPool, made_of: Fingerprint) -> CorrectnessResults:
        options = self._asked.options._replace(reuse=self._asked.reuse, surroundings=made_of.surroundings)
        return self._run(target, pool, options, output_dir=target.snapshot.results, keep_reports=False)

    def _run_part(self, target: Target, pool: WorkerPool) -> CorrectnessResults:
        """Results of some of the cases are written once they say that they are not complete."""
        try:
            results = self._run(target, pool, self._asked.options)
        except RunInterrupted as stopped:
            _save_part(stopped.results, target.snapshot.results)
            raise
        _save_part(results, target.snapshot.results)
        return results

    def _run(
        self,
        target: Target,
        pool: WorkerPool,
        options: RunOptions,
        *,
        output_dir: Path | None = None,
        keep_reports: bool = True,
    ) -> CorrectnessResults:
        return run_checkpoint(
            submission_path=target.snapshot.path,
            problem=target.problem,
            checkpoint=target.checkpoint,
            env_spec=self._asked.env_spec,
            selection=self._asked.selection,
            options=options,
            listener=self._listener,
            output_dir=output_dir,
            keep_reports=keep_reports,
            pool=pool,
        )

    def _is_unchanged(self, target: Target, made_of: Fingerprint) -> bool:
        """Results of what was edited meanwhile are kept, but nobody knows what they are of."""
        try:
            return package_key(target.problem) == target.package and self._fingerprint(target) == made_of
        except SlopCodeError:
            return False

    def _fingerprint(self, target: Target) -> Fingerprint:
        return fingerprint(target, self._asked.env_spec, self._asked.options, self._asked.selection)

    def _settle(self, number: int, outcome: Outcome) -> None:
        with self._turn:
            self._outcomes[number] = outcome
            self._on_outcome(outcome)


def _save_part(results: CorrectnessResults, folder: Path) -> None:
    """Save results that are not complete; where nothing was selected, what is there stays as it is."""
    results.complete = False
    if results.reports:
        mark_unfinished(folder)
        results.save(folder)
