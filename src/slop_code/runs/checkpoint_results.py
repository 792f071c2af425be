"""`checkpoint_results.jsonl`: one line for each checkpoint of a run, by problem and order.

Each line is a JSON object with sorted keys. It is rewritten as a whole whenever a checkpoint is through, so it is
complete at any time, and several evaluators may add to it.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

from slop_code.evaluation.atomic_files import replace_files
from slop_code.evaluation.report import PassPolicy
from slop_code.logging import get_logger
from slop_code.paths import shown_path
from slop_code.runs.evaluate import Outcome
from slop_code.runs.locks import wait_for_lock
from slop_code.runs.targets import Target

NAME = "checkpoint_results.jsonl"
_LOCK = "checkpoint_results.lock"

Line = dict[str, Any]
Item = TypeVar("Item")

# Of a checkpoint that could not be evaluated at all.
_NOTHING: Line = {
    "complete": False,
    "error_count": 1,
    "pass_counts": {},
    "passed": False,
    "passed_cases": 0,
    "score": 0.0,
    "total_cases": 0,
    "total_counts": {},
}


class Record:
    """Keeps the lines of several runs while they are evaluated; `folders` is where each run's file is."""

    def __init__(self, folders: Mapping[Path, Path], policy: PassPolicy) -> None:
        self._files = {run: CheckpointResults(folder) for run, folder in folders.items()}
        self._policy = policy

    @property
    def paths(self) -> list[Path]:
        """The files."""
        return [file.path for file in self._files.values()]

    def begin(self, targets: Iterable[Target]) -> None:
        """Take out the lines of targets that are going to be evaluated: they are not true any more.

        Raises:
            ReportError: a file cannot be written.
        """
        for run, group in _by_run(targets, lambda target: target):
            self._files[run].drop(group)

    def settle(self, outcomes: Iterable[Outcome]) -> None:
        """Add a line for each target that is through.

        Raises:
            ReportError: a file cannot be written.
        """
        for run, group in _by_run(outcomes, lambda outcome: outcome.target):
            lines = (outcome_line(outcome, self._policy) for outcome in group)
            self._files[run].put(line for line in lines if line is not None)


class CheckpointResults:
    """The lines in one folder, whose `<problem>/<checkpoint>/` they tell of. Any thread may use it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._turn = threading.Lock()
        self.path = folder / NAME

    def put(self, lines: Iterable[Line]) -> None:
        """Add lines, or replace those of the same checkpoints.

        Raises:
            ReportError: the file cannot be written.
        """
        self._update({_key(line): line for line in lines})

    def drop(self, targets: Iterable[Target]) -> None:
        """Take out the lines of checkpoints that are to be evaluated again."""
        self._update({(target.snapshot.problem, target.snapshot.checkpoint): None for target in targets})

    def read(self) -> list[Line]:
        """The lines that are there; damaged ones are passed over."""
        try:
            texts = self.path.read_bytes().splitlines()
        except FileNotFoundError:
            return []
        lines = []
        for number, text in enumerate(texts, start=1):
            try:
                line = json.loads(text)
                _key(line)
            except (ValueError, TypeError, KeyError):
                get_logger(__name__).warning(f"{shown_path(self.path)}:{number}: a damaged line is passed over")
            else:
                lines.append(line)
        return lines

    def _update(self, changes: dict[tuple[str, str], Line | None]) -> None:
        with self._turn, wait_for_lock(self._folder / _LOCK, time.sleep):
            before = {_key(line): line for line in self.read()}
            after = {**before, **changes}
            # What somebody has removed is no part of the run any more.
            kept = [line for key, line in after.items() if line is not None and self._folder.joinpath(*key).is_dir()]
            kept.sort(key=lambda line: (line["problem"], line.get("order", 0), line["checkpoint"]))
            if kept != list(before.values()) or not self.path.exists():
                replace_files({self.path: lambda file: _write(kept, file)})


def outcome_line(outcome: Outcome, policy: PassPolicy) -> Line | None:
    """What a line says of a target; nothing of one that was not evaluated, or not to the end."""
    names = {
        "problem": outcome.target.snapshot.problem,
        "checkpoint": outcome.target.snapshot.checkpoint,
        "order": outcome.target.checkpoint.order,
        "pass_policy": policy.value,
    }
    if outcome.status == "unjudged":
        return {**names, **_NOTHING, "errors": [outcome.text]}
    if outcome.status not in ("evaluated", "skipped") or outcome.summary is None:
        return None
    summary = outcome.summary
    return {
        **names,
        **asdict(summary),
        "error_count": len(summary.errors),
        "passed_cases": summary.passed_cases,
        "total_cases": summary.total_cases,
        "passed": summary.passes(policy),
    }


def _by_run(items: Iterable[Item], target_of: Callable[[Item], Target]) -> Iterable[tuple[Path, list[Item]]]:
    groups: dict[Path, list[Item]] = {}
    for item in items:
        groups.setdefault(target_of(item).snapshot.run, []).append(item)
    return groups.items()


def _key(line: Line) -> tuple[str, str]:
    return str(line["problem"]), str(line["checkpoint"])


def _write(lines: Iterable[Line], file: BinaryIO) -> None:
    for line in lines:
        file.write(json.dumps(line, sort_keys=True, ensure_ascii=False).encode(errors="backslashreplace") + b"\n")
