"""What the words on a command line mean: a problem, a checkpoint, an environment."""

from __future__ import annotations

from collections.abc import Iterable
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from slop_code.cli.console import note
from slop_code.errors import SlopCodeError
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig
    from slop_code.execution import EnvironmentSpec


class UsageError(SlopCodeError):
    """The command line asks for something that is not there."""


def problem_folder(problem_path: Path, wanted: str) -> Path:
    """The folder of a problem: by name below the problem path, or as a path."""
    named = problem_path / wanted
    if "/" not in wanted and named.is_dir():
        return named
    if Path(wanted).exists():
        return Path(wanted)
    if not problem_path.is_dir():
        raise no_problems(problem_path, f'no problem "{wanted}": ')
    known = sorted(file.parent.name for file in problem_path.glob("*/config.yaml"))
    raise UsageError(f'no problem "{wanted}"{did_you_mean(wanted, known)}: {problem_path} has {listed(known)}')


def no_problems(problem_path: Path, start: str = "") -> UsageError:
    """What to tell somebody who stands where there are no problems."""
    way_out = 'say where they are with "slop-code -p DIR …", or begin one with "slop-code problems new NAME"'
    return UsageError(f"{start}{shown_path(problem_path)}: no such folder of problems; {way_out}")


def checkpoint_of(problem: ProblemConfig, wanted: str) -> CheckpointConfig:
    """A checkpoint by its number (from 1, in order) or its name."""
    if not (wanted.isascii() and wanted.isdigit()):
        return problem.load_checkpoint(wanted)
    checkpoints = list(problem.iterate_checkpoints())
    number = int(wanted)
    if not 1 <= number <= len(checkpoints):
        names = listed(checkpoint.name for checkpoint in checkpoints)
        raise UsageError(f'problem "{problem.name}" has no checkpoint {number}: it has {len(checkpoints)} ({names})')
    return checkpoints[number - 1]


def check_groups(option: str, globs: Iterable[str], checkpoints: Iterable[CheckpointConfig]) -> None:
    """Raise `UsageError` for a glob that matches no group of any of these checkpoints."""
    asked = list(checkpoints)
    groups = list(dict.fromkeys(name for checkpoint in asked for name in checkpoint.groups))
    for glob in globs:
        if not any(fnmatchcase(name, glob) for name in groups):
            where = f"{asked[0].name} has" if len(asked) == 1 else "there are"
            known = f"{where} the groups {', '.join(groups) or 'none'}"
            raise UsageError(f'nothing matches {option} "{glob}"{did_you_mean(glob, groups)}; {known}')


def environment_of(wanted: str | None) -> EnvironmentSpec:
    """The environment that was asked for; by default the sandbox where it works, else `local`, and it says which."""
    from slop_code.execution import EnvironmentSpec

    if wanted is not None:
        return EnvironmentSpec.from_yaml(wanted)
    from slop_code.execution.bubblewrap import why_not
    from slop_code.execution.diagnosis import default_environment

    name, reason = default_environment(), why_not()
    note(f"environment: {name}{f', without protection, because {reason}' if reason else ' (the default)'}")
    return EnvironmentSpec.from_yaml(name)


def snapshot_folder(wanted: Path) -> Path:
    """The folder of a submission."""
    if wanted.is_file():
        where = f"give the folder that it lies in, {shown_path(wanted.parent)}"
        raise UsageError(f"{shown_path(wanted)}: is a file, and a submission is a folder: {where}")
    if not wanted.is_dir():
        near = [entry.name for entry in wanted.parent.iterdir()] if wanted.parent.is_dir() else []
        raise UsageError(f"{shown_path(wanted)}: no such folder{did_you_mean(wanted.name, near)}")
    return wanted


def check_entry_file(snapshot: Path, problem: ProblemConfig, environment: EnvironmentSpec) -> None:
    """Say so before anything runs if a submission lacks its entry file, unless setup commands may yet make it."""
    from slop_code.evaluation.entry_file import entry_name, is_there

    wanted = entry_name(environment.commands.entry_file, problem.entry_file)
    made = environment.setup.commands or environment.setup.eval_commands
    if wanted is None or made or is_there(snapshot, wanted):
        return
    names = sorted(entry.name for entry in snapshot.iterdir())
    there = listed(names, 8) if names else "no files"
    raise UsageError(
        f'{shown_path(snapshot)}: has no "{wanted}", the program that problem "{problem.name}" starts in environment '
        f'"{environment.name or environment.type}"{did_you_mean(wanted, names)}: it has {there}'
    )
