"""From what was observed of a case to its report, in the process that has the author's verifier and store."""

from __future__ import annotations

import time
from typing import Any

from slop_code.evaluation.adapters.models import BaseCase, CaseResult, GroupType
from slop_code.evaluation.adapters.running import Observation
from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.loaders.initialization import author_folder
from slop_code.evaluation.verifiers import calling
from slop_code.evaluation.verifiers.initialization import verifier_folder
from slop_code.evaluation.verifiers.models import VerificationResult, VerifierError, VerifierReport


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
        if observation.fault:
            # An interpreter's complaint about it can look just like what an error case expects.
            raw = {"entry_file": VerificationResult.create(observation.fault, False)}
        else:
            raw = calling.call_verifier(
                verifier,
                verifier_folder(problem),
                group_name=case.group,
                case_name=case.id,
                actual=actual,
                expected=expected,
                time_limit=calling.TIME_LIMIT_S,
            )
        report = VerifierReport.from_verifier_result(case, time.monotonic() - started, actual, expected, raw)
    except VerifierError as error:
        report = VerifierReport.from_verifier_result(case, time.monotonic() - started, actual, expected, {})
        usage |= {"error": str(error), "outcome": "error"}
    usage["warnings"] = [*observation.warnings, *report.warnings]
    return report.model_copy(update=usage)


def update_store(
    report: VerifierReport,
    store: Any,
    case: BaseCase,
    observation: Observation,
    expected: CaseResult,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
) -> VerifierReport:
    """Let the store see the result; the report, as an error if the store raised."""
    folder = author_folder(problem, checkpoint)
    try:
        with author_code(folder):
            store.update(case, observation.result, expected)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except BaseException as error:  # noqa: BLE001  # whatever an author's store raises costs its case
        place = folder.place_of(error) if folder else f"{type(error).__name__}: {error}"
        return report.model_copy(update={"error": f"the store's update raised: {place}", "outcome": "error"})
    return report


def error_report(case: BaseCase, text: str) -> VerifierReport:
    """The report of a case that could not be run or judged."""
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


def lost_group(group: GroupConfig, who: str, text: str) -> VerifierReport:
    """What stands for the cases of a group that `who` ("loader", "environment") did not let us run any more."""
    return VerifierReport(
        id=f"({who})",
        group=group.name,
        type=group.type,
        duration=0.0,
        results={},
        error=text,
        original_checkpoint=group.original_checkpoint,
        original_group=group.original_group,
    )
