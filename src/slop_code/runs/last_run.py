"""How each case went when it last ran, per submission, problem and checkpoint: what `--rerun-failed` goes by.

~/.cache/slop-code/last-runs/KEY.json    {"format": 1, "outcomes": {group: {case id: outcome}}}
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from slop_code.execution.cache import cache_folder

if TYPE_CHECKING:
    from slop_code.evaluation.verifiers.models import VerifierReport

FORMAT = 1
MOST_KEPT = 500

Case = tuple[str, str]


class LastRun(NamedTuple):
    """The memory of one submission at one checkpoint. It goes by where they are, not by what they hold."""

    file: Path

    @classmethod
    def of(cls, submission: Path, problem: Path, checkpoint: str, *, cache: Path | None = None) -> LastRun:
        """The memory for a submission's folder, a problem's folder and a checkpoint's name."""
        text = json.dumps([str(submission.resolve()), str(problem.resolve()), checkpoint])
        key = hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()[:32]
        return cls((cache or cache_folder()) / "last-runs" / f"{key}.json")

    def outcomes(self) -> dict[Case, str] | None:
        """(group, case id) → outcome; None if nothing is remembered."""
        try:
            data = json.loads(self.file.read_text(encoding="utf-8"))
            if data["format"] != FORMAT:
                return None
            return {
                (group, case): str(outcome)
                for group, cases in data["outcomes"].items()
                for case, outcome in cases.items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None

    def failed(self) -> frozenset[Case] | None:
        """The cases that did not pass when they last ran; None if nothing is remembered."""
        outcomes = self.outcomes()
        return None if outcomes is None else frozenset(case for case, word in outcomes.items() if word != "passed")

    def remember(self, reports: Iterable[VerifierReport], *, whole: bool = False, gone: Iterable[Case] = ()) -> None:
        """Keep how the cases of a run went, beside what is known of the others.

        `whole` if everything ran to the end: then others no longer exist. `gone` are cases that were asked for and
        did not turn up. A cache that cannot be written is no error.
        """
        known = {} if whole else self.outcomes() or {}
        for case in gone:
            known.pop(case, None)
        now: dict[Case, str] = {}
        for report in reports:
            case = (report.group, report.id)
            # Where several cases have one id, the one that did not pass counts: they can only be run together.
            if now.get(case, "passed") == "passed":
                now[case] = report.outcome or "error"
        known |= now
        outcomes: dict[str, dict[str, str]] = {}
        for (group, case_id), outcome in known.items():
            outcomes.setdefault(group, {})[case_id] = outcome
        with contextlib.suppress(OSError):
            self._write(json.dumps({"format": FORMAT, "outcomes": outcomes}))

    def _write(self, text: str) -> None:
        self.file.parent.mkdir(parents=True, exist_ok=True)
        new = self.file.with_suffix(f".{os.getpid()}.tmp")
        try:
            new.write_text(text, encoding="utf-8")
            new.replace(self.file)
        finally:
            new.unlink(missing_ok=True)
        _forget_oldest(self.file.parent)


def _forget_oldest(folder: Path) -> None:
    files = list(folder.glob("*.json"))
    if len(files) <= MOST_KEPT:
        return
    by_age = sorted((file.stat().st_mtime, file) for file in files)
    for _, file in by_age[: len(files) - MOST_KEPT]:
        file.unlink(missing_ok=True)
