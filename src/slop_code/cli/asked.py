"""What the command line of `tools run-case` asks for, as plain data."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from slop_code.evaluation.listening import RunOptions, Selection


class Asked(NamedTuple):
    """Which cases to run, and how. Paths and names are as they were typed."""

    problem_path: Path
    snapshot: Path
    problem: str
    checkpoint: str
    environment: str | None
    selection: Selection
    options: RunOptions
    rerun_failed: bool = False
    full: bool = False
    table: bool = False
    quiet: bool = False
    junit: Path | None = None

    def command(self) -> str:
        """The command that runs just those cases again that did not pass."""
        words = ["slop-code"]
        if self.problem_path != Path("problems"):
            words += ["-p", str(self.problem_path)]
        words += ["tools", "run-case", "-s", str(self.snapshot), "-p", self.problem, "-c", self.checkpoint]
        if self.environment is not None:
            words += ["-e", self.environment]
        for option, globs in (("-g", self.selection.groups), ("--case", self.selection.cases)):
            words += [word for glob in globs if globs != ("*",) for word in (option, glob)]
        return shlex.join([*words, "--rerun-failed"])


class Wanted(NamedTuple):
    """A request, and what is to be done with it; at most one of `only_list`, `watch`, `accept` and several repeats."""

    asked: Asked
    only_list: bool = False
    repeat: int = 1
    watch: bool = False
    accept: bool = False
    yes: bool = False
    verbose: bool = False
