"""Options that several commands share, with what they complete to."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from slop_code.cli.completion import complete_checkpoint, complete_environment, complete_problem

if TYPE_CHECKING:
    from slop_code.evaluation.listening import RunOptions, Selection

Snapshot = Annotated[Path, typer.Option("-s", "--snapshot-dir", metavar="DIR", help="Folder of the submission.")]
Problem = Annotated[
    str,
    typer.Option(
        "-p", "--problem", metavar="NAME", help="A problem's name, or its folder.", autocompletion=complete_problem
    ),
]
Checkpoint = Annotated[
    str,
    typer.Option(
        "-c", "--checkpoint", metavar="N", help="A number from 1, or a name.", autocompletion=complete_checkpoint
    ),
]
Environment = Annotated[
    str | None,
    typer.Option(
        "-e",
        "--env-config",
        metavar="ENV",
        help="An environment's file or name; by default the sandbox where it works, else local-py.",
        autocompletion=complete_environment,
    ),
]
Groups = Annotated[
    list[str] | None,
    typer.Option("-g", "--group", metavar="GLOB", help="Only groups that match; may be given several times."),
]
Cases = Annotated[
    list[str] | None,
    typer.Option("--case", metavar="GLOB", help="Only cases that match; may be given several times."),
]
Jobs = Annotated[
    int | None,
    typer.Option("-j", "--jobs", min=1, metavar="N", help="Cases at the same time; by default one per core."),
]
ConfirmFailures = Annotated[
    bool, typer.Option("--confirm-failures", help="Run a case that failed once more, alone, before it is judged.")
]
FailFast = Annotated[bool, typer.Option("--fail-fast", help="Start nothing more once a case did not pass.")]
Exclusive = Annotated[
    list[str] | None,
    typer.Option(
        "--exclusive", metavar="GLOB", help="Keep these groups alone on the machine; may be given several times."
    ),
]
KeepWorkspaces = Annotated[
    Path | None,
    typer.Option(
        "--keep-workspaces", metavar="DIR", help="Leave the files of cases that did not pass in DIR/<group>/<case>/."
    ),
]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="Show neither progress nor a summary.")]


def selection_of(groups: list[str] | None, cases: list[str] | None) -> Selection:
    """The cases that the globs of a command line select."""
    from slop_code.evaluation.listening import Selection

    return Selection(groups=tuple(groups or ["*"]), cases=tuple(cases or ["*"]))


def run_options(
    jobs: int | None = None,
    confirm_failures: bool = False,
    fail_fast: bool = False,
    exclusive: list[str] | None = None,
    keep_workspaces: Path | None = None,
) -> RunOptions:
    """The options of a run from those of a command line."""
    from slop_code.evaluation.listening import RunOptions

    return RunOptions(
        jobs=jobs,
        confirm_failures=confirm_failures,
        fail_fast=fail_fast,
        exclusive=tuple(exclusive or ()),
        keep_workspaces=keep_workspaces,
    )
