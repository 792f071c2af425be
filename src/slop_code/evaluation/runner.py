"""One checkpoint of one submission: prepare it, run the cases of every group, judge them, and report.

Per case: run, then verify, then `store.update`, then report. Whatever goes wrong costs as little as possible: a
verifier's or a store's exception its case, a loader's the rest of its group; what is finished is kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.adapters.api_running import APIAdapter
from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.cli_running import CLIAdapter
from slop_code.evaluation.adapters.models import BaseCase, CaseResult, GroupType
from slop_code.evaluation.adapters.running import Adapter, Observation
from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import author_folder
from slop_code.evaluation.loaders.initialization import initialize_loader as initialize_loader
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError, NoOpStore
from slop_code.evaluation.masking import masked, masked_report
from slop_code.evaluation.report import CorrectnessResults, ReportWriter
from slop_code.evaluation.verifiers.calling import call_verifier
from slop_code.evaluation.verifiers.initialization import initialize_verifier, verifier_folder
from slop_code.evaluation.verifiers.models import VerifierError, VerifierReport
from slop_code.execution.assets import Assets, UnknownAssetError
from slop_code.execution.driver import Driver, open_driver
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.file_ops import InputFileError
from slop_code.execution.image import Image
from slop_code.execution.session import Session
from slop_code.logging import get_logger

OnReport = Callable[[GroupConfig, VerifierReport], None]


@dataclass(frozen=True, slots=True)
class Selection:
    """Which groups and cases are wanted; everything by default."""

    group: Callable[[GroupConfig], bool] = field(default=lambda _: True)
    case: Callable[[GroupConfig, BaseCase], bool] = field(default=lambda _group, _case: True)


def run_checkpoint(
    submission_path: str | Path,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    env_spec: EnvironmentSpec,
    *,
    selection: Selection | None = None,
    on_report: OnReport | None = None,
    output_dir: str | Path | None = None,
) -> CorrectnessResults:
    """Evaluate a submission on one checkpoint.

    With `output_dir` each finished case is on disk at once, and `evaluation.json` and `reports.parquet` are at the end.

    Raises:
        ExecutionError: the submission cannot be prepared, or the environment cannot be used. Nothing was judged.
        VerifierError: the problem's verifier cannot be made.
    """
    runner = CheckpointRunner(
        Path(submission_path), problem, checkpoint, env_spec, selection or Selection(), on_report, output_dir
    )
    return runner.run()


@dataclass(frozen=True, slots=True)
class _Prepared:
    """What every group of a run needs; a loader that could not be made is an error of each of them."""

    loader: GroupLoader | LoaderError
    verifier: Any
    driver: Driver
    image: Image
    assets: Assets


class CheckpointRunner:
    """The evaluation of one checkpoint; `run` it once."""

    def __init__(
        self,
        submission_path: Path,
        problem: ProblemConfig,
        checkpoint: CheckpointConfig,
        env_spec: EnvironmentSpec,
        selection: Selection,
        on_report: OnReport | None = None,
        output_dir: str | Path | None = None,
    ) -> None:
        self.submission_path = submission_path
        self.problem = problem
        self.checkpoint = checkpoint
        self.env_spec = env_spec
        self.selection = selection
        self.on_report = on_report or (lambda _group, _report: None)
        self.output_dir = output_dir

    def run(self) -> CorrectnessResults:
        """Prepare the submission and run every selected group."""
        started = time.monotonic()
        results = CorrectnessResults(
            problem_name=self.problem.name,
            problem_version=self.problem.version,
            name=self.checkpoint.name,
            version=self.checkpoint.version,
        )
        verifier = initialize_verifier(self.problem, self.checkpoint)
        with ExitStack() as stack:
            driver = open_driver(self.env_spec)
            stack.callback(driver.close)
            image = driver.prepare(self.submission_path)
            stack.callback(image.close)
            self._note_preparation(image, results)
            assets = _copy_assets(self.problem)
            stack.callback(assets.close)
            prepared = _Prepared(self._make_loader(), verifier, driver, image, assets)
            writer = stack.enter_context(ReportWriter(self.output_dir, results)) if self.output_dir else None
            for group in self.checkpoint.groups.values():
                if self.selection.group(group):
                    self._run_group(group, prepared, writer or results)
            results.duration = time.monotonic() - started
        return results

    def _note_preparation(self, image: Image, results: CorrectnessResults) -> None:
        results.environment = self.env_spec.name or self.env_spec.type
        results.python = image.preparation.python
        results.setup_failures = [
            masked(f"{step.command} (exit code {step.status})\n{step.output.rstrip()}", self.env_spec.passed_secrets())
            for step in image.preparation.steps
            if step.status != 0
        ]
        for failure in results.setup_failures:
            get_logger(__name__).warning(f"A setup command failed: {failure}")

    def _make_loader(self) -> GroupLoader | LoaderError:
        try:
            return initialize_loader(self.problem, self.checkpoint)
        except LoaderError as error:
            return error

    def _run_group(self, group: GroupConfig, prepared: _Prepared, results: CorrectnessResults | ReportWriter) -> None:
        started = time.monotonic()
        reports: list[VerifierReport] = []
        secrets = self.env_spec.passed_secrets()
        for report in self._group_reports(group, prepared):
            report = masked_report(report, secrets)
            reports.append(report)
            if isinstance(results, ReportWriter):
                results.add(report, group.weight)
            self.on_report(group, report)
        results.add_group_report(group.name, group.type, time.monotonic() - started, reports, weight=group.weight)

    def _group_reports(self, group: GroupConfig, prepared: _Prepared) -> Iterator[VerifierReport]:
        try:
            if isinstance(prepared.loader, LoaderError):
                raise prepared.loader
            store = make_store(prepared.loader, self.problem, self.checkpoint)
            session = prepared.driver.session(prepared.image, prepared.assets.folder)
        except (LoaderError, ExecutionError) as error:
            yield self._lost_group(group, error)
            return
        try:
            session.restore()
            adapter = make_adapter(self.problem, self.checkpoint, self.env_spec, session, prepared.assets)
            cases = iterate_cases(prepared.loader, self.problem, self.checkpoint, group, store)
            try:
                yield from self._case_reports(group, cases, store, prepared.verifier, adapter)
            finally:
                adapter.close()
        except (LoaderError, ExecutionError) as error:
            yield self._lost_group(group, error)
        finally:
            session.close()

    def _case_reports(
        self,
        group: GroupConfig,
        cases: Iterator[tuple[BaseCase, CaseResult]],
        store: Any,
        verifier: Any,
        adapter: Adapter,
    ) -> Iterator[VerifierReport]:
        by_itself = isinstance(adapter, CLIAdapter) and group.isolated
        independent = by_itself and type(store) is NoOpStore
        fresh = True
        for case, expected in cases:
            wanted = self.selection.case(group, case)
            if independent and not wanted:
                continue
            if (case.reset or by_itself) and not fresh:
                adapter.reset()
            fresh = False
            report = run_case(case, expected, adapter, verifier, self.problem, self.checkpoint, store)
            # Cases before a wanted one had to run for the state that they leave.
            if wanted:
                yield report

    def _lost_group(self, group: GroupConfig, error: LoaderError | ExecutionError) -> VerifierReport:
        """What stands for the cases that a broken loader did not give, or that could not be run any more."""
        return VerifierReport(
            id="(loader)" if isinstance(error, LoaderError) else "(environment)",
            group=group.name,
            type=group.type,
            duration=0.0,
            results={},
            error=str(error),
            original_checkpoint=group.original_checkpoint,
            original_group=group.original_group,
        )


def run_case(
    case: BaseCase,
    expected: CaseResult,
    adapter: Adapter,
    verifier: Any,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    store: Any = None,
) -> VerifierReport:
    """Run, judge and report one case. Never raises for what submission, verifier or store do."""
    try:
        observation = adapter.run(case, expected)
        report = judge(case, expected, observation, verifier, problem)
    except (AdapterError, InputFileError, UnknownAssetError, ExecutionError) as error:
        return _error_report(case, str(error))
    except Exception as error:  # noqa: BLE001  # whatever it is, it costs this case and not the others
        return _error_report(case, f"slop-code itself failed on this case: {type(error).__name__}: {error}")
    trouble = _update_store(store, case, observation, expected, problem, checkpoint)
    if trouble is not None:
        report = report.model_copy(update={"error": trouble, "outcome": "error"})
    return report


def judge(
    case: BaseCase, expected: CaseResult, observation: Observation, verifier: Any, problem: ProblemConfig
) -> VerifierReport:
    """The report on what was observed of a case."""
    started = time.monotonic()
    actual = observation.result
    usage: dict[str, Any] = {
        "run_s": observation.run_s,
        "cpu_s": observation.cpu_s,
        "peak_memory": observation.peak_memory,
        "output_cut": observation.cut,
        "attempts": observation.attempts,
    }
    try:
        if actual.adapter_error:
            raise VerifierError(f"the case could not be put to the submission: {actual.stderr}")
        raw = call_verifier(
            verifier,
            verifier_folder(problem),
            group_name=case.group,
            case_name=case.id,
            actual=actual,
            expected=expected,
        )
        report = VerifierReport.from_verifier_result(case, time.monotonic() - started, actual, expected, raw)
    except VerifierError as error:
        report = VerifierReport.from_verifier_result(case, time.monotonic() - started, actual, expected, {})
        usage |= {"error": str(error), "outcome": "error"}
    usage["warnings"] = [*observation.warnings, *report.warnings]
    return report.model_copy(update=usage)


def make_adapter(
    problem: ProblemConfig, checkpoint: CheckpointConfig, spec: EnvironmentSpec, session: Session, assets: Assets
) -> Adapter:
    """The adapter of a problem, for one group's session."""
    command = spec.get_command(problem.entry_file)
    config = problem.adapter
    if isinstance(config, APIAdapterConfig):
        return APIAdapter(session, assets, config.tracked_files, checkpoint.env, command, config)
    return CLIAdapter(session, assets, config.tracked_files, checkpoint.env, command)


def _update_store(
    store: Any,
    case: BaseCase,
    observation: Observation,
    expected: CaseResult,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
) -> str | None:
    if store is None:
        return None
    folder = author_folder(problem, checkpoint)
    try:
        with author_code(folder):
            store.update(case, observation.result, expected)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # whatever an author's store raises costs its case
        place = folder.place_of(error) if folder else f"{type(error).__name__}: {error}"
        return f"the store's update raised: {place}"
    return None


def _error_report(case: BaseCase, text: str) -> VerifierReport:
    return VerifierReport(
        id=case.id,
        group=case.group,
        type=case.group_type or GroupType.CORE,
        duration=0.0,
        results={},
        error=text,
        original_checkpoint=case.original_checkpoint,
        original_group=case.original_group,
    )


def _copy_assets(problem: ProblemConfig) -> Assets:
    declared = {name: (asset.path, asset.save_path) for name, asset in problem.static_assets.items()}
    return Assets.copy(problem.path, declared)
