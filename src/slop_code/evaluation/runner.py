"""One checkpoint of one submission: prepare it, run the cases of every group, judge them, and report.

Per case: run, then verify, then `store.update`, then report. Whatever goes wrong costs as little as possible: a
verifier's or a store's exception its case, a loader's the rest of its group; what is finished is kept.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, nullcontext
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.adapters.running import Adapter
from slop_code.evaluation.author_process import BenchHandle, Nursery
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.error_reports import error_report
from slop_code.evaluation.group_run import Finding, GroupRun, Surroundings
from slop_code.evaluation.lanes import Lanes
from slop_code.evaluation.ledger import Ledger
from slop_code.evaluation.listening import Listener, RunInterrupted, RunLabel, RunOptions, Selection
from slop_code.evaluation.masking import masked, masked_report
from slop_code.evaluation.observation_keys import place_key
from slop_code.evaluation.observations import to_row
from slop_code.evaluation.report import CorrectnessResults, ReportWriter
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.timings import recall_times, remember_times
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.execution.assets import Assets, UnknownAssetError
from slop_code.execution.driver import open_driver
from slop_code.execution.environment import EnvironmentSpec, LocalEnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.file_ops import InputFileError
from slop_code.execution.image import Image
from slop_code.logging import debug, get_logger

if TYPE_CHECKING:
    from slop_code.evaluation.loaders.loader_protocol import GroupLoader
    from slop_code.evaluation.recall import Recall


def run_checkpoint(
    submission_path: str | Path,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    env_spec: EnvironmentSpec,
    *,
    selection: Selection | None = None,
    options: RunOptions | None = None,
    listener: Listener | None = None,
    output_dir: str | Path | None = None,
    keep_reports: bool = True,
    pool: WorkerPool | None = None,
) -> CorrectnessResults:
    """Evaluate a submission on one checkpoint.

    With `output_dir` each finished case is on disk at once, and `evaluation.json` and `reports.parquet` are at the end.
    With `keep_reports=False` they are only there: `results.reports` stays empty, and memory is flat.
    Several calls, each in a thread of its own, may share a `pool`; without one the call makes its own.

    Raises:
        ExecutionError: the submission cannot be prepared, or the environment cannot be used. Nothing was judged.
        VerifierError: the problem's verifier cannot be made.
        RunInterrupted: Ctrl-C, or the pool was stopped; it has the results so far, and nothing is left running.
    """
    options = options or RunOptions()
    with ExitStack() as stack:
        crew = pool or stack.enter_context(WorkerPool(options.jobs))
        runner = CheckpointRunner(
            Path(submission_path),
            problem,
            checkpoint,
            env_spec,
            selection or Selection(),
            options,
            listener or Listener(),
            output_dir,
            crew,
            keep_reports=keep_reports or output_dir is None,
            ends_pool=pool is None,
        )
        return runner.run()


class CheckpointRunner:
    """The evaluation of one checkpoint; `run` it once."""

    def __init__(
        self,
        submission_path: Path,
        problem: ProblemConfig,
        checkpoint: CheckpointConfig,
        env_spec: EnvironmentSpec,
        selection: Selection,
        options: RunOptions,
        listener: Listener,
        output_dir: str | Path | None,
        pool: WorkerPool,
        *,
        keep_reports: bool = True,
        ends_pool: bool = False,
    ) -> None:
        """With `ends_pool`, nobody else will use the pool."""
        self.submission_path = submission_path
        self.problem = problem
        self.checkpoint = checkpoint
        self.env_spec = env_spec
        self.selection = selection
        self.options = options
        self.listener = listener
        self.output_dir = output_dir
        self.pool = pool
        self.keep_reports = keep_reports
        self.ends_pool = ends_pool
        self.label = RunLabel(problem.name, checkpoint.name, str(submission_path))
        # All of it is ours, and validating it would make the models of everything that there can be in results.
        self.results = CorrectnessResults.model_construct(
            problem_name=problem.name,
            problem_version=problem.version,
            name=checkpoint.name,
            version=checkpoint.version,
        )
        self._secrets = env_spec.passed_secrets()
        self._stopping = threading.Event()
        self._lanes: Lanes | None = None
        self._place = ""
        self._running: set[GroupRun] = set()
        self._lock = threading.Lock()

    def run(self) -> CorrectnessResults:
        """Prepare the submission and run every selected group."""
        started = time.monotonic()
        groups = [group for group in self.checkpoint.groups.values() if self.selection.has_group(group.name)]
        try:
            with ExitStack() as stack:
                stack.enter_context(self.pool.when_stopped(self._stop))
                bench = self.pool.nursery.bench(self.problem, self.checkpoint, self.selection)
                stack.callback(bench.close)
                lanes = self._lanes = self._prepare(stack)
                recall, writer = self._open_files(stack)
                ledger = Ledger(
                    self.results,
                    groups,
                    writer,
                    keep_reports=self.keep_reports,
                    leaves_out_empty=self._selects_cases,
                )
                try:
                    self._run_groups(groups, self._surroundings(bench, lanes, ledger, recall), ledger)
                    # They take a while to end, as the lanes do.
                    bench.close()
                    if self.ends_pool:
                        self.pool.nursery.let_go()
                finally:
                    if self._stopping.is_set():
                        ledger.break_off()
                    self.results.duration = time.monotonic() - started
                remember_times(self.problem, self.checkpoint, ledger.times)
        except KeyboardInterrupt:
            raise RunInterrupted(self.results) from None
        self._tell(self.listener.run_ended, self.label, self.results)
        return self.results

    def _open_files(self, stack: ExitStack) -> tuple[Recall | None, ReportWriter | None]:
        """What an earlier run left in the output folder, and the writer of what this one will."""
        if self.output_dir is None:
            return None, None
        # Most runs of a few cases keep nothing.
        from slop_code.evaluation.recall import Recall

        recall = Recall(Path(self.output_dir)) if self.options.reuse else None
        if recall is not None:
            stack.callback(recall.close)
        writer = ReportWriter(self.output_dir, self.results, carries=self.options.reuse)
        return recall, stack.enter_context(writer)

    def _prepare(self, stack: ExitStack) -> Lanes:
        driver = open_driver(self.env_spec)
        stack.callback(driver.close)
        began = time.monotonic()
        self._tell(self.listener.preparing, self.label)
        with self.pool.beside(is_company=True):
            image = driver.prepare(self.submission_path)
        stack.callback(image.close)
        debug(__name__, "prepared", submission=str(self.submission_path), image=image.key, reused=image.reused)
        self._tell(self.listener.prepared, self.label, time.monotonic() - began, image.reused)
        self._note_preparation(image)
        assets = _copy_assets(self.problem, self.pool.nursery)
        stack.callback(assets.close)
        if self.output_dir is not None:
            surroundings = self.options.surroundings
            self._place = place_key(image, self.env_spec, self.problem, self.checkpoint, assets, surroundings)
        lanes = Lanes(self.problem, self.checkpoint, self.env_spec, driver, image, assets)
        stack.callback(lanes.close)
        if not self.options.reuse:
            lanes.warm_up()
        return lanes

    def _note_preparation(self, image: Image) -> None:
        self.results.environment = self.env_spec.name or self.env_spec.type
        self.results.python = image.preparation.python
        self.results.setup_failures = [
            masked(f"{step.command} (exit code {step.status})\n{step.output.rstrip()}", self._secrets)
            for step in image.preparation.steps
            if step.status != 0
        ]
        for failure in self.results.setup_failures:
            get_logger(__name__).warning(f"A setup command failed: {failure}")

    def _surroundings(self, bench: BenchHandle, lanes: Lanes, ledger: Ledger, recall: Recall | None) -> Surroundings:
        def kept(group: GroupConfig, case_id: str, found: Finding) -> int | None:
            if not ledger.keeps_observations:
                return None
            return ledger.keep(to_row(group.name, case_id, found.subject, found.observation, self._secrets))

        def finished(group: GroupConfig, report: VerifierReport, place: int | None) -> None:
            report = masked_report(report, self._secrets)
            ledger.add(group, report, place)
            self._tell(self.listener.case_finished, self.label, report)
            if self.options.fail_fast and report.outcome != "passed":
                self._stop()

        return Surroundings(
            pool=self.pool,
            bench=bench,
            lanes=lanes,
            options=self.options,
            times=recall_times(self.problem, self.checkpoint),
            stopping=self._stopping,
            is_cli=not isinstance(self.problem.adapter, APIAdapterConfig),
            selects_cases=self._selects_cases,
            place=self._place,
            recall=recall,
            reused=lambda group, case: self._tell(self.listener.case_reused, self.label, group.name, case),
            started=lambda group, case: self._tell(self.listener.case_started, self.label, group.name, case),
            counted=lambda group, cases, complete: self._tell(
                self.listener.enumerated, self.label, group.name, cases, complete
            ),
            kept=kept,
            finished=finished,
        )

    def _run_groups(self, groups: list[GroupConfig], around: Surroundings, ledger: Ledger) -> None:
        """Run the groups, a few more at a time than there are workers, in threads of their own."""
        waiting = deque(groups)
        failures: list[BaseException] = []
        ended = threading.Semaphore(0)

        def work() -> None:
            try:
                while not self._stopping.is_set():
                    try:
                        group = waiting.popleft()
                    except IndexError:
                        break
                    self._run_group(group, around, ledger)
            except BaseException as error:  # noqa: BLE001  # raised again where the caller can see it
                failures.append(error)
                self._stop()
            finally:
                ended.release()

        count = min(len(groups), self.pool.jobs + 2)
        threads = [threading.Thread(target=work, name=f"group {number + 1}", daemon=True) for number in range(count)]
        for thread in threads:
            thread.start()
        try:
            for _ in threads:
                ended.acquire()
        except KeyboardInterrupt:
            self._stop()
            raise
        finally:
            for thread in threads:
                thread.join()
        if failures:
            raise failures[0]
        if self.pool.stopped.is_set():
            raise KeyboardInterrupt

    def _run_group(self, group: GroupConfig, around: Surroundings, ledger: Ledger) -> None:
        run = GroupRun(around, group, exclusive=self._is_exclusive(group))
        with self._lock:
            self._running.add(run)
        try:
            with self._fixed_port():
                debug(
                    __name__, "group begins", checkpoint=self.checkpoint.name, group=group.name, exclusive=run.exclusive
                )
                ledger.begin_group(group)
                run.run()
            debug(__name__, "group ended", checkpoint=self.checkpoint.name, group=group.name)
        finally:
            with self._lock:
                self._running.discard(run)
        if not self._stopping.is_set():
            ledger.end_group(group)

    @property
    def _selects_cases(self) -> bool:
        return self.selection.only is not None or self.selection.cases != ("*",)

    def _is_exclusive(self, group: GroupConfig) -> bool:
        marked = self.problem.exclusive or self.checkpoint.exclusive or group.exclusive
        return marked or any(fnmatchcase(group.name, glob) for glob in self.options.exclusive)

    def _fixed_port(self) -> AbstractContextManager[object]:
        """Only one server at a time can have a port of this machine; elsewhere each has a network of its own."""
        port = self.problem.adapter.port if isinstance(self.problem.adapter, APIAdapterConfig) else None
        shared = port is not None and isinstance(self.env_spec, LocalEnvironmentSpec)
        return self.pool.port(port) if shared and port is not None else nullcontext()

    def _stop(self) -> None:
        """End what is running, and start nothing more."""
        self._stopping.set()
        if self._lanes is not None:
            self._lanes.close()
        with self._lock:
            running = list(self._running)
        for run in running:
            run.wake()

    def _tell(self, method: Callable[..., None], *facts: Any) -> None:
        with self.pool.telling:
            method(*facts)


def run_case(
    case: BaseCase,
    expected: CaseResult,
    adapter: Adapter,
    verifier: Any,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    store: Any = None,
) -> VerifierReport:
    """Run, judge and report one case, all in this process. Never raises for what submission, verifier or store do."""
    from slop_code.evaluation.judging import Judge

    try:
        observation = adapter.run(case, expected)
        return Judge(verifier, problem, checkpoint).judge(case, expected, observation, store)
    except (AdapterError, InputFileError, UnknownAssetError, ExecutionError) as error:
        return error_report(case, str(error))
    except Exception as error:  # noqa: BLE001  # whatever it is, it costs this case and not the others
        return error_report(case, f"slop-code itself failed on this case: {type(error).__name__}: {error}")


def initialize_loader(
    problem: ProblemConfig, checkpoint: CheckpointConfig, *, use_placeholders: bool = False
) -> GroupLoader:
    """The loader of a checkpoint; see `loaders.initialization`, which only author processes need at once."""
    from slop_code.evaluation.loaders import initialization

    return initialization.initialize_loader(problem, checkpoint, use_placeholders=use_placeholders)


def _copy_assets(problem: ProblemConfig, nursery: Nursery) -> Assets:
    declared = {name: (asset.path, asset.save_path) for name, asset in problem.static_assets.items()}
    return Assets.copy(problem.path, declared, nursery.remove_at_end)
