"""Whether the solutions that come with a problem do what they should: references pass, wrong ones are caught.

<problem>/
  checkpoint_1/
    solution/                  passes every case of its checkpoint
    wrong_solutions/
      forgets_zero/            fails at least one
  wrong_solutions/             the same, at the last checkpoint
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from slop_code.errors import SlopCodeError
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.listening import Listener
from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.runner import run_checkpoint
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.execution.environment import EnvironmentSpec

REFERENCE = "solution"
WRONG = "wrong_solutions"

Verdict = Literal["as it should", "not as it should", "not judged"]


@dataclass(frozen=True, slots=True)
class Solution:
    """A program of the package and the checkpoint that it is for."""

    name: str
    """Its folder in the package."""
    path: Path
    checkpoint: CheckpointConfig
    is_reference: bool


@dataclass(frozen=True, slots=True)
class Trial:
    """What came of running a solution. `failing` and `errors` are cases as `group/id`."""

    solution: Solution
    total: int = 0
    failing: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    trouble: str = ""
    """Why it could not be run at all."""
    first: VerifierReport | None = None
    """The first case that a reference did not pass."""

    @property
    def name(self) -> str:
        return self.solution.name

    @property
    def passed(self) -> int:
        return self.total - len(self.failing) - len(self.errors)

    @property
    def verdict(self) -> Verdict:
        """A reference has to pass everything; a wrong one is caught by a case that it fails, not by an error."""
        unjudged = bool(self.errors or self.trouble)
        if self.solution.is_reference:
            return "not judged" if unjudged else "not as it should" if self.failing else "as it should"
        return "as it should" if self.failing else "not judged" if unjudged else "not as it should"

    @property
    def may_be_no_program(self) -> bool:
        """Whether a wrong solution fails so thoroughly that it says nothing about any single case."""
        return not self.solution.is_reference and self.total > 1 and len(self.failing) == self.total

    @property
    def said(self) -> str:
        """What there is to say about it, in one line."""
        if self.trouble:
            return self.trouble
        if self.solution.is_reference:
            parts = [f"fails {_named(self.failing)}" if self.failing else ""]
            parts.append(f"could not be judged on {_named(self.errors)}" if self.errors else "")
            return ", and ".join(filter(None, parts)) or f"passes {_all(self.total)}"
        if self.failing:
            return f"caught by {_named(self.failing)}"
        if self.errors:
            return f"fails no case, and could not be judged on {_named(self.errors)}"
        return f"passes {_all(self.total)}, but is there to fail: add a case that catches it"


def find_solutions(problem: ProblemConfig) -> list[Solution]:
    """The solutions of a package, by checkpoint, each reference before the wrong ones."""
    found: list[tuple[Path, CheckpointConfig, bool]] = []
    checkpoints = list(problem.iterate_checkpoints())
    for checkpoint in checkpoints:
        reference = checkpoint.path / REFERENCE
        if reference.is_dir():
            found.append((reference, checkpoint, True))
        found += [(path, checkpoint, False) for path in _folders(checkpoint.path / WRONG)]
    if checkpoints:
        found += [(path, checkpoints[-1], False) for path in _folders(problem.path / WRONG)]
    return [
        Solution(path.relative_to(problem.path).as_posix(), path, checkpoint, is_reference)
        for path, checkpoint, is_reference in found
    ]


def without_reference(problem: ProblemConfig) -> list[CheckpointConfig]:
    """The checkpoints that have no reference solution."""
    return [item for item in problem.iterate_checkpoints() if not (item.path / REFERENCE).is_dir()]


def try_solutions(
    problem: ProblemConfig,
    solutions: list[Solution],
    env_spec: EnvironmentSpec,
    listener: Listener | None = None,
) -> Iterator[Trial]:
    """Run one solution after another, each on all cases of its checkpoint."""
    with WorkerPool() as pool:
        for solution in solutions:
            try:
                results = run_checkpoint(
                    submission_path=solution.path,
                    problem=problem,
                    checkpoint=solution.checkpoint,
                    env_spec=env_spec,
                    listener=listener,
                    pool=pool,
                )
            except SlopCodeError as error:
                yield Trial(solution, trouble=f"could not be run: {error}")
                continue
            yield _trial(solution, results)


def exit_code(trials: list[Trial]) -> int:
    """0 if every solution did as it should, 3 if one could not be judged, else 1."""
    verdicts = {trial.verdict for trial in trials}
    return 3 if "not judged" in verdicts else 1 if "not as it should" in verdicts else 0


def _trial(solution: Solution, results: CorrectnessResults) -> Trial:
    failing = [f"{item.group}/{item.id}" for item in results.reports if item.outcome in {"failed", "timed out"}]
    errors = [f"{item.group}/{item.id}" for item in results.reports if item.outcome == "error"]
    first = next((item for item in results.reports if item.outcome != "passed"), None)
    return Trial(
        solution,
        len(results.reports),
        tuple(failing),
        tuple(errors),
        first=first if solution.is_reference else None,
    )


def _folders(parent: Path) -> list[Path]:
    if not parent.is_dir():
        return []
    return sorted(path for path in parent.iterdir() if path.is_dir() and not path.name.startswith((".", "__")))


def _named(cases: tuple[str, ...]) -> str:
    shown = ", ".join(cases[:4])
    return f"{shown} and {len(cases) - 4} more" if len(cases) > 4 else shown


def _all(total: int) -> str:
    return "its only case" if total == 1 else f"all {total} cases"
