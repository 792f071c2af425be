"""From what was observed of a case to its report, in the process that has the author's verifier and store."""

from __future__ import annotations

import time
from typing import Any

from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.loaders.initialization import author_folder
from slop_code.evaluation.scripts import is_ctrl_c
from slop_code.evaluation.verifiers import calling
from slop_code.evaluation.verifiers.initialization import verifier_folder
from slop_code.evaluation.verifiers.models import VerificationResult, VerifierError, VerifierReport


class Judge:
    """Makes the reports of a checkpoint's cases."""

    def __init__(self, verifier: Any, problem: ProblemConfig, checkpoint: CheckpointConfig) -> None:
        self._verifier = verifier
        self._folder = verifier_folder(problem)
        self._store_folder = author_folder(problem, checkpoint)

    def judge(
        self, case: BaseCase, expected: CaseResult, observation: Observation, store: Any = None
    ) -> VerifierReport:
        """Verify what was observed of a case, then let the store see it, if there is one, then make the report."""
        started = time.monotonic()
        raw, troubles = {}, []
        try:
            raw = self._verdicts(case, expected, observation)
        except VerifierError as error:
            troubles.append(str(error))
        duration = time.monotonic() - started
        if store is not None:
            troubles += self._update(store, case, observation, expected)
        return _report(case, expected, observation, duration, raw, troubles)

    def _verdicts(
        self, case: BaseCase, expected: CaseResult, observation: Observation
    ) -> dict[str, VerificationResult]:
        actual = observation.result
        if actual.adapter_error:
            raise VerifierError(f"the case could not be put to the submission: {actual.stderr}")
        if observation.fault:
            # What a shell, an interpreter or a silent port says of it can look just like what an error case expects.
            return {"start": VerificationResult.create(observation.fault, False)}
        return calling.call_verifier(
            self._verifier,
            self._folder,
            group_name=case.group,
            case_name=case.id,
            actual=actual,
            expected=expected,
            time_limit=calling.TIME_LIMIT_S,
        )

    def _update(self, store: Any, case: BaseCase, observation: Observation, expected: CaseResult) -> list[str]:
        """Let the store see the result; what it raised, if it did."""
        folder = self._store_folder
        try:
            with author_code(folder):
                store.update(case, observation.result, expected)
        except BaseException as error:  # whatever an author's store raises costs its case
            if is_ctrl_c(error):
                raise
            place = folder.place_of(error) if folder else f"{type(error).__name__}: {error}"
            return [f"the store's update raised: {place}"]
        return []


def _report(
    case: BaseCase,
    expected: CaseResult,
    observation: Observation,
    duration: float,
    raw: dict[str, VerificationResult],
    troubles: list[str],
) -> VerifierReport:
    report = VerifierReport.from_verifier_result(case, duration, observation.result, expected, raw)
    usage: dict[str, Any] = {
        "run_s": observation.run_s,
        "cpu_s": observation.cpu_s,
        "peak_memory": observation.peak_memory,
        "output_cut": observation.cut,
        "attempts": observation.attempts,
        "warnings": [*observation.warnings, *report.warnings],
    }
    if not raw and not troubles:
        usage["warnings"].append("the verifier returned nothing, so nothing was verified")
    if troubles:
        usage |= {"error": "\n".join(troubles), "outcome": "error"}
    return report.model_copy(update=usage)
