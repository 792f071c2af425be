"""Everything that can be known about a problem without running a submission."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.check_cases import CaseChecker
from slop_code.evaluation.check_counts import CaseCount
from slop_code.evaluation.check_files import check_adapter_arguments, check_assets, check_specification
from slop_code.evaluation.check_logging import logged_as_findings
from slop_code.evaluation.check_places import CaseSpots, ConfigSpots
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.config.reading import inspect_problem
from slop_code.evaluation.loaders.case_files import CaseFileLoader
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError, NoOpStore
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.initialization import initialize_verifier
from slop_code.evaluation.verifiers.models import VerifierProtocol
from slop_code.findings import Finding, Findings, did_you_mean, listed


@dataclass
class CheckedPackage:
    """What was found; `problem` is None if its configuration is broken."""

    findings: Findings = field(default_factory=Findings)
    counts: list[CaseCount] = field(default_factory=list)
    problem: ProblemConfig | None = None
    broken: set[tuple[str, str]] = field(default_factory=set)
    """Checkpoint and group of cases that could not be loaded."""


def check_package(folder: Path) -> CheckedPackage:
    """Read the configuration, make loaders and verifiers, and look closely at every case of every group."""
    checked = CheckedPackage()
    problem = inspect_problem(folder, checked.findings)
    if problem is None or checked.findings.errors:
        return checked
    checked.problem = problem
    spots = ConfigSpots(problem)
    check_assets(problem, spots, checked.findings)
    check_adapter_arguments(problem, spots, checked.findings)
    if not problem.checkpoints:
        checked.findings.warning("the problem has no checkpoints, so there is nothing to run", path=folder)
    for checkpoint in problem.iterate_checkpoints():
        _CheckpointCheck(problem, checkpoint, spots, checked).run()
    return checked


class _CheckpointCheck:
    def __init__(
        self, problem: ProblemConfig, checkpoint: CheckpointConfig, spots: ConfigSpots, checked: CheckedPackage
    ) -> None:
        self.problem = problem
        self.checkpoint = checkpoint
        self.spots = spots
        self.checked = checked
        self.findings = checked.findings

    def run(self) -> None:
        check_specification(self.checkpoint, self.spots, self.findings)
        verifier = self._make_verifier()
        try:
            loader = initialize_loader(self.problem, self.checkpoint)
        except LoaderError as error:
            self.findings.add(Finding("error", str(error), ""))
            return
        if not self.checkpoint.groups:
            spot = self.spots.of_checkpoint(self.checkpoint)
            spot.report("warning", "it has no groups, so there is nothing to run", self.findings, "groups")
        for group in self.checkpoint.groups.values():
            self._check_group(group, loader, verifier)

    def _make_verifier(self) -> VerifierProtocol | None:
        try:
            return initialize_verifier(self.problem, self.checkpoint)
        except VerifierError as error:
            self.findings.add(Finding("error", str(error), ""))
            return None

    def _check_group(self, group: GroupConfig, loader: GroupLoader, verifier: VerifierProtocol | None) -> None:
        in_files = isinstance(loader, CaseFileLoader)
        spots = CaseSpots(self.problem, self.checkpoint, group, in_files=in_files)
        loaded = self._without_missing(group, spots.names) if spots.complete else group
        checker = CaseChecker(self.problem, self.checkpoint, verifier, spots, self.findings)
        seen: dict[str, int] = {}
        stateful = False
        trouble: LoaderError | None = None
        try:
            store = make_store(loader, self.problem, self.checkpoint)
            stateful = type(store) is not NoOpStore
            cases = iterate_cases(loader, self.problem, self.checkpoint, loaded, store)
            for case, expected in _quietly(cases, self.findings) if in_files else cases:
                seen[case.id] = seen.get(case.id, 0) + 1
                checker.check(case, expected)
        except LoaderError as error:
            trouble = error
        # A loader that builds cases from earlier results cannot go on without them, but a mistake looks the same.
        complete = trouble is None or not (stateful and seen)
        self._report_loading(group, trouble, seen, complete)
        if trouble is None and not in_files:
            self._report_missing(group, seen)
        self.checked.counts.append(
            CaseCount(self.checkpoint.name, group.name, group.type, sum(seen.values()), complete)
        )

    def _report_loading(
        self, group: GroupConfig, trouble: LoaderError | None, seen: dict[str, int], complete: bool
    ) -> None:
        where = f'checkpoint "{self.checkpoint.name}", group "{group.name}"'
        origin = (group.original_checkpoint or self.checkpoint.name, group.get_real_name())
        if trouble is not None and complete:
            # A regression group has the trouble of its original, which has been told.
            told = any(str(trouble) in finding.message for finding in self.findings.errors)
            if not told and origin not in self.checked.broken:
                self.findings.add(Finding("error", f"{where}: {trouble}", ""))
            self.checked.broken.add(origin)
        elif trouble is not None:
            stop = f"{where}: without results, the loader stops after {sum(seen.values())}"
            self.findings.add(Finding("warning", f"{stop}: {trouble}", ""))
        for name, times in seen.items():
            if times > 1:
                self.findings.add(Finding("error", f'{where}: {times} cases have the id "{name}"', ""))
        if not seen and trouble is None:
            self.spots.of_group(self.checkpoint, group).report("warning", "it has no cases", self.findings)

    def _without_missing(self, group: GroupConfig, known: list[str]) -> GroupConfig:
        """The group without those names of its `case_order` that have no file, each of which is an error."""
        spot = self.spots.of_group(self.checkpoint, group)
        missing = [name for name in group.case_order if name not in known]
        if not missing:
            return group
        if group.original_group is None:
            for name in missing:
                message = f'case_order names "{name}", and there is no such case{did_you_mean(name, known)}'
                at = group.case_order.index(name)
                spot.report("error", message, self.findings, "case_order", at)
        return group.model_copy(update={"case_order": [name for name in group.case_order if name in known]})

    def _report_missing(self, group: GroupConfig, seen: dict[str, int]) -> None:
        """Warn of names in the `case_order` of a group that its script, which may read it or not, gives no case for."""
        if group.original_group is not None:
            return
        spot = self.spots.of_group(self.checkpoint, group)
        for index, name in enumerate(group.case_order):
            if name not in seen and PurePosixPath(name).stem not in seen:
                message = f'case_order names "{name}", and the loader gives no such case: it gives {listed(seen)}'
                spot.report("warning", message, self.findings, "case_order", index)


def _quietly(cases: Iterator[tuple[BaseCase, CaseResult]], findings: Findings) -> Iterator[tuple[BaseCase, CaseResult]]:
    """The cases of the ready loader, whose warnings are findings."""
    while True:
        with logged_as_findings(findings):
            item = next(cases, None)
        if item is None:
            return
        yield item
