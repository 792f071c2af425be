"""Everything that can be known about a problem without running a submission."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.config.reading import inspect_problem
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError, NoOpStore
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.initialization import initialize_verifier
from slop_code.findings import Finding, Findings


@dataclass(frozen=True, slots=True)
class CaseCount:
    """How many cases a group has; `complete` is false where later cases need the results of earlier ones."""

    checkpoint: str
    group: str
    type: str
    cases: int
    complete: bool = True

    @property
    def shown(self) -> str:
        return str(self.cases) if self.complete else f"{self.cases}+ (the rest needs results)"


@dataclass
class CheckedPackage:
    """What was found."""

    findings: Findings = field(default_factory=Findings)
    counts: list[CaseCount] = field(default_factory=list)


def check_package(folder: Path) -> CheckedPackage:
    """Read the configuration, make the loaders, and load every case of every group."""
    checked = CheckedPackage()
    problem = inspect_problem(folder, checked.findings)
    if problem is None or checked.findings.errors:
        return checked
    _check_verifier(problem, checked)
    if not problem.checkpoints:
        checked.findings.warning("the problem has no checkpoints, so there is nothing to run", path=folder)
    for checkpoint in problem.iterate_checkpoints():
        _check_checkpoint(problem, checkpoint, checked)
    return checked


def _check_verifier(problem: ProblemConfig, checked: CheckedPackage) -> None:
    for checkpoint in problem.iterate_checkpoints():
        try:
            initialize_verifier(problem, checkpoint)
        except VerifierError as error:
            checked.findings.add(Finding("error", str(error), ""))


def _check_checkpoint(problem: ProblemConfig, checkpoint: CheckpointConfig, checked: CheckedPackage) -> None:
    try:
        loader = initialize_loader(problem, checkpoint)
    except LoaderError as error:
        checked.findings.add(Finding("error", str(error), ""))
        return
    for group in checkpoint.groups.values():
        _count_cases(loader, problem, checkpoint, group, checked)


def _count_cases(
    loader: GroupLoader,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    group: GroupConfig,
    checked: CheckedPackage,
) -> None:
    seen: dict[str, int] = {}
    complete = True
    stateful = False
    try:
        store = make_store(loader, problem, checkpoint)
        stateful = type(store) is not NoOpStore
        for case, _ in iterate_cases(loader, problem, checkpoint, group, store):
            seen[case.id] = seen.get(case.id, 0) + 1
    except LoaderError as error:
        # A loader that builds cases from earlier results cannot go on without them, but a mistake looks the same.
        complete = not (stateful and seen)
        where = f'checkpoint "{checkpoint.name}", group "{group.name}"'
        if complete:
            checked.findings.add(Finding("error", f"{where}: {error}", ""))
        else:
            stop = f"{where}: without results, the loader stops after {sum(seen.values())}"
            checked.findings.add(Finding("warning", f"{stop}: {error}", ""))
    for name, times in seen.items():
        if times > 1:
            message = f'checkpoint "{checkpoint.name}", group "{group.name}": {times} cases have the id "{name}"'
            checked.findings.add(Finding("error", message, ""))
    if not seen and complete and not checked.findings.errors:
        checked.findings.warning(
            f'checkpoint "{checkpoint.name}", group "{group.name}" has no cases', path=problem.path
        )
    checked.counts.append(CaseCount(checkpoint.name, group.name, group.type, sum(seen.values()), complete))
