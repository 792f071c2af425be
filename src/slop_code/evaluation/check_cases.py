"""What can be known about one case without running it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import deepcopy
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

from slop_code.evaluation.adapters.api import APICase, APIResult
from slop_code.evaluation.adapters.base import AdapterError
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.check_arguments import Surroundings, misread_arguments
from slop_code.evaluation.check_inputs import check_given_away, check_inputs
from slop_code.evaluation.check_logging import logged_as_findings
from slop_code.evaluation.check_places import CaseSpots, Spot
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.verifiers.calling import call_verifier
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.initialization import verifier_folder
from slop_code.evaluation.verifiers.models import VerifierProtocol
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from slop_code.execution.assets import Assets, UnknownAssetError
from slop_code.findings import Findings

_JUDGING_LIMIT_S = 5.0


@dataclass
class CaseChecker:
    """Checks the cases of one group, one after another."""

    problem: ProblemConfig
    checkpoint: CheckpointConfig
    verifier: VerifierProtocol | None
    spots: CaseSpots
    findings: Findings
    _verifier_tried: bool = False

    def check(self, case: BaseCase, expected: CaseResult) -> None:
        """Report everything that is wrong or odd about a case."""
        spot = self.spots.of_case(case.id)
        try:
            self._check(case, expected, spot)
        except Exception as error:  # noqa: BLE001  # scripts may put anything into a case; it costs this one
            spot.report("error", f"it cannot be checked: {type(error).__name__}: {error}", self.findings)

    def _check(self, case: BaseCase, expected: CaseResult, spot: Spot) -> None:
        report_unknown_assets(self.problem, _texts(case), spot, self.findings)
        inputs = check_inputs(case, spot, self.findings)
        self._check_arguments(case, expected, spot, list(inputs))
        self._check_expected(case, expected, spot)
        if self.verifier is not None:
            check_given_away(case, expected, inputs, self.verifier, spot, self.findings)

    def _check_arguments(self, case: BaseCase, expected: CaseResult, spot: Spot, inputs: list[str]) -> None:
        if isinstance(case, APICase):
            try:
                case.get_query_params()
            except AdapterError as error:
                spot.report("error", str(error).removeprefix(f'case "{case.id}": '), self.findings, "arguments")
            return
        written = _written(spot)
        # A script's text and its list of one cannot be told apart, nor can a default's; in a file they can.
        one_line = isinstance(written, str) or (written is None and len(case.arguments) == 1)
        way_out = "write it in argv, which is quoted" if spot.document is not None else "quote it with shlex.quote"
        around = self._surroundings(case, expected, inputs)
        for misread in misread_arguments(case.arguments, around, one_line=one_line):
            below = (misread.index,) if isinstance(written, list) else ()
            message = f"{misread.message}; if that is not meant, {way_out}"
            spot.report("warning", message, self.findings, "arguments", *below)

    def _surroundings(self, case: BaseCase, expected: CaseResult, inputs: list[str]) -> Surroundings:
        group = self.checkpoint.groups.get(case.group)
        tracked = [*self.problem.adapter.tracked_files, *case.tracked_files, *expected.files_by_name()]
        globs = [entry.removeprefix("./") for entry in tracked]
        # In a group that is not isolated, cases find what others left.
        alone = group is not None and group.isolated
        return Surroundings(
            variables=self.checkpoint.env,
            files=inputs,
            is_complete=alone,
            looks_at=lambda name: (
                not alone or any(fnmatchcase(name, glob) or name.startswith(f"{glob.rstrip('/')}/") for glob in globs)
            ),
        )

    def _check_expected(self, case: BaseCase, expected: CaseResult, spot: Spot) -> None:
        if isinstance(self.verifier, ReadyVerifier):
            self._check_with_ready_verifier(self.verifier, case, expected, spot)
        elif self.verifier is not None and not self._verifier_tried:
            self._verifier_tried = True
            self._try_verifier(self.verifier, case, expected, spot)

    def _check_with_ready_verifier(
        self, verifier: ReadyVerifier, case: BaseCase, expected: CaseResult, spot: Spot
    ) -> None:
        """Have a result judged that is as expected: the ready verifier refuses expectations that it cannot use."""
        group = case.original_group or case.group
        try:
            with logged_as_findings(self.findings, spot, "expected"):
                verifier(group, case.id, _as_expected(expected, case), expected)
        except VerifierError as error:
            message = str(error).removeprefix(f'case "{case.id}" of group "{group}" ')
            spot.report("error", message, self.findings, "expected")

    def _try_verifier(self, verifier: VerifierProtocol, case: BaseCase, expected: CaseResult, spot: Spot) -> None:
        """Have the author's verifier judge a result that is as expected.

        Whether it passes, or raises, tells nothing: an expectation need not look like a result. But a verifier always
        has to return verdicts.
        """
        expected = deepcopy(expected)
        try:
            verdicts = call_verifier(
                verifier,
                verifier_folder(self.problem),
                group_name=case.group,
                case_name=case.id,
                actual=_as_expected(expected, case),
                expected=expected,
                time_limit=_JUDGING_LIMIT_S,
            )
        except VerifierError as error:
            if "the verifier returned" in str(error):
                spot.report("warning", f"given a result that is as expected, {error}", self.findings, "expected")
            return
        if not verdicts:
            message = "given a result that is as expected, the verifier verifies nothing: it returned an empty dict"
            spot.report("warning", message, self.findings, "expected")


def report_unknown_assets(
    problem: ProblemConfig, texts: Iterator[tuple[tuple[str | int, ...], str]], spot: Spot, findings: Findings
) -> None:
    """Report each placeholder, in texts with their places, that names no asset of the problem."""
    assets = Assets(None, dict.fromkeys(problem.static_assets, ""))
    for below, text in texts:
        if "{{" in text:
            try:
                assets.fill_in(text, "")
            except UnknownAssetError as error:
                spot.report("error", str(error), findings, *below)


def texts_in(value: Any, below: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Every text in a value, keys of mappings too, with its place."""
    if isinstance(value, str):
        yield below, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from texts_in(key, below)
            yield from texts_in(item, (*below, key))
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from texts_in(item, (*below, index))


def _texts(case: BaseCase) -> Iterator[tuple[tuple[str | int, ...], str]]:
    values = {**{name: getattr(case, name) for name in type(case).model_fields}, **(case.model_extra or {})}
    for name, value in values.items():
        if name == "input_files":
            for index, file in enumerate(case.input_files):
                yield from texts_in(file.content, ("input_files", index))
        else:
            yield from texts_in(value, (name,))


def _written(spot: Spot) -> Any:
    """The arguments as they stand in the case's file, if they do."""
    data: Any = spot.document.data if spot.document is not None else None
    for part in spot.at:
        data = data[part]
    return data.get("arguments") if isinstance(data, Mapping) else None


def _as_expected(expected: CaseResult, case: BaseCase) -> CaseResult:
    values: dict[str, Any] = {
        "id": case.id,
        "group": case.group,
        "group_type": case.group_type,
        "status_code": expected.status_code,
        "output": "" if expected.output is None else deepcopy(expected.output),
        "stderr": "" if expected.stderr is None else deepcopy(expected.stderr),
        "files": {name: content for name, content in deepcopy(expected.files_by_name()).items() if content is not None},
    }
    if isinstance(expected, APIResult):
        return APIResult(**values, headers=dict(expected.headers))
    return CLIResult(**values) if isinstance(case, CLICase) else type(expected)(**values)
