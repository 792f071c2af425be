"""What callers may ask of a run, and what they hear while it goes on."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.evaluation.verifiers.models import VerifierReport


class Selection(NamedTuple):
    """Which groups and cases are wanted; everything by default. Plain data, since it travels to other processes."""

    groups: tuple[str, ...] = ("*",)
    """Globs; a group is wanted if one of them matches its name."""
    cases: tuple[str, ...] = ("*",)
    """Globs of case ids."""
    only: frozenset[tuple[str, str]] | None = None
    """If given, just these (group, case id)."""

    def has_group(self, name: str) -> bool:
        """Whether anything of a group may be wanted."""
        named = self.only is None or any(group == name for group, _ in self.only)
        return named and _matches(name, self.groups)

    def has_case(self, group: str, case_id: str) -> bool:
        """Whether a case of a wanted group is."""
        return (self.only is None or (group, case_id) in self.only) and _matches(case_id, self.cases)


class RunOptions(NamedTuple):
    """How a checkpoint is run."""

    jobs: int | None = None
    """How many cases at the same time; by default as many as there are cores for this process."""
    confirm_failures: bool = False
    """Run a case that failed once more, alone, before it is judged."""
    fail_fast: bool = False
    """Start nothing more once a case did not pass."""
    keep_workspaces: Path | None = None
    """Where to leave the workspaces of cases that did not pass, as `<group>/<case id>/`."""
    exclusive: tuple[str, ...] = ()
    """Globs of groups that are kept alone on the machine, besides those whose configuration says so."""
    reuse: bool = False
    """Do not run what an earlier run in the output folder has observed, if nothing that matters has changed."""
    surroundings: str = ""
    """A hash of what else matters for that, besides what a run itself knows of."""


class RunLabel(NamedTuple):
    """Which run something happened in: one submission at one checkpoint of one problem."""

    problem: str
    checkpoint: str
    submission: str


class Listener:
    """Hears how an evaluation goes. Calls come one at a time, from any thread, and have to be quick."""

    def preparing(self, run: RunLabel) -> None:
        """The submission's image is being made, or found."""

    def prepared(self, run: RunLabel, seconds: float, reused: bool) -> None:
        """It is ready; `reused` if it was prepared by an earlier run."""

    def enumerated(self, run: RunLabel, group: str, cases: int, complete: bool) -> None:
        """So many cases of a group are known by now; `complete` if these are all."""

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        """A case begins to run. A case that is run a second time begins a second time."""

    def case_reused(self, run: RunLabel, group: str, case_id: str) -> None:
        """A case does not have to run: what it did before is judged again."""

    def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
        """A case is judged."""

    def run_ended(self, run: RunLabel, results: CorrectnessResults) -> None:
        """Everything that was wanted of a checkpoint is judged."""


class RunInterrupted(KeyboardInterrupt):
    """Ctrl-C during a run; `results` has what was finished (`complete` is false)."""

    def __init__(self, results: CorrectnessResults) -> None:
        super().__init__()
        self.results = results


def _matches(name: str, globs: tuple[str, ...]) -> bool:
    return any(glob == "*" or fnmatchcase(name, glob) for glob in globs)
