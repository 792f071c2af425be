"""From the names that snapshots lie under to what they are to be evaluated on."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from slop_code.errors import SlopCodeError
from slop_code.evaluation.config import CheckpointConfig, ConfigError, ProblemConfig
from slop_code.evaluation.config.models import find_checkpoint
from slop_code.evaluation.config.reading import inspect_problem
from slop_code.findings import Findings, did_you_mean, listed
from slop_code.paths import shown_path
from slop_code.runs.discovery import Snapshot
from slop_code.runs.package_content import package_key


@dataclass(frozen=True, slots=True)
class Target:
    """A snapshot, and the checkpoint that it is evaluated on."""

    snapshot: Snapshot
    problem: ProblemConfig
    checkpoint: CheckpointConfig
    package: str
    """The content of the problem package when it was read."""

    @property
    def name(self) -> str:
        """`problem/checkpoint`, for people."""
        return f"{self.snapshot.problem}/{self.snapshot.checkpoint}"


@dataclass(frozen=True, slots=True)
class Targets:
    """What can be evaluated, and a text for each thing that is wrong with the rest."""

    targets: list[Target] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def resolve(snapshots: Iterable[Snapshot], find_problem: Callable[[str], Path]) -> Targets:
    """Read the problems that snapshots are named after. What is unknown or broken costs its own snapshots only.

    `find_problem` gives the folder of a problem, and raises a `SlopCodeError` if there is none.
    """
    resolved = Targets()
    problems: dict[str, tuple[ProblemConfig, str] | None] = {}
    for snapshot in snapshots:
        if snapshot.problem not in problems:
            try:
                problem = ProblemConfig.from_yaml(find_problem(snapshot.problem))
                problems[snapshot.problem] = problem, package_key(problem)
            except SlopCodeError as error:
                resolved.troubles.append(f"{shown_path(snapshot.path.parent.parent)}: not evaluated: {error}")
                problems[snapshot.problem] = None
        known = problems[snapshot.problem]
        if known is None:
            continue
        checkpoint = find_checkpoint(known[0].checkpoints, snapshot.checkpoint)
        if checkpoint is None:
            names = [name for name, _ in known[0].iterate_checkpoint_items()]
            resolved.troubles.append(
                f'{shown_path(snapshot.path.parent)}: not evaluated: problem "{snapshot.problem}" has no checkpoint '
                f'"{snapshot.checkpoint}"{did_you_mean(snapshot.checkpoint, names)}: it has {listed(names)}'
            )
        else:
            resolved.targets.append(Target(snapshot, known[0], checkpoint, known[1]))
    return resolved


def problem_finder(problem_path: Path) -> Callable[[str], Path]:
    """Find problems as runs name them: by the name of their folder, or by the name in their configuration.

    What it returns raises `ConfigError` for an unknown name; the text says which there are.
    """

    @cache
    def by_name() -> dict[str, Path]:
        folders = [file.parent for file in sorted(problem_path.glob("*/config.yaml"))]
        problems = ((folder, inspect_problem(folder, Findings())) for folder in folders)
        return {problem.name if problem else folder.name: folder for folder, problem in problems}

    def find(name: str) -> Path:
        if (problem_path / name / "config.yaml").is_file():
            return problem_path / name
        if not problem_path.is_dir():
            raise ConfigError(f"{shown_path(problem_path)}: no such folder of problems; name it: slop-code -p DIR …")
        if name not in by_name():
            shown = listed(sorted(by_name()))
            raise ConfigError(
                f'no problem "{name}"{did_you_mean(name, by_name())}: {shown_path(problem_path)} has {shown}'
            )
        return by_name()[name]

    return find
