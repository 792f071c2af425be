"""Whether the results in a folder are those of exactly this evaluation, whole and undamaged.

evaluation.key.json      written last, beside evaluation.json and reports.parquet: what they are of (a fingerprint),
                         and the content that they have. It is removed before anything else is touched.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slop_code.evaluation.atomic_files import replace_files
from slop_code.evaluation.report import CorrectnessResults, ReportError
from slop_code.evaluation.report_format import CONTENTS, JOURNAL, OBSERVATIONS, REPORTS, SUMMARY, read_summary
from slop_code.runs.fingerprint import Fingerprint
from slop_code.runs.locks import LOCK
from slop_code.runs.summaries import Summary

KEY = "evaluation.key.json"
RESULT_FILES = frozenset({SUMMARY, REPORTS, OBSERVATIONS, CONTENTS, JOURNAL, KEY, LOCK})
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Unfinished:
    """Why an evaluation has to be made, in a few words."""

    reason: str


def finished_results(folder: Path, wanted: Fingerprint) -> Summary | Unfinished:
    """The summary of the results in `folder` if they need not be made again, else why they do."""
    if (folder / JOURNAL).exists():
        return Unfinished("the last evaluation did not end")
    if not (folder / SUMMARY).exists():
        return Unfinished("not evaluated before")
    key = _read_key(folder / KEY)
    if key is None:
        return Unfinished("the results do not say what they are of")
    if difference := wanted.difference(key["fingerprint"]):
        return Unfinished(difference)
    if key["files"] != _contents(folder):
        return Unfinished("the results were changed or damaged")
    try:
        results = read_summary(
            CorrectnessResults, json.loads((folder / SUMMARY).read_text(encoding="utf-8")), folder / SUMMARY
        )
    except (ReportError, OSError, ValueError):
        return Unfinished("the results cannot be read")
    if not results.complete:
        return Unfinished("the last evaluation was not complete")
    if results.errors:
        return Unfinished("something could not be judged the last time")
    return Summary.of(results)


def mark_unfinished(folder: Path) -> None:
    """From now on, until `mark_finished`, the results in `folder` are not taken for anything."""
    (folder / KEY).unlink(missing_ok=True)


def mark_finished(folder: Path, made_of: Fingerprint) -> None:
    """The results in `folder` are complete.

    Raises:
        ReportError: this cannot be written down.
    """
    key = {"format_version": FORMAT_VERSION, "fingerprint": made_of.as_dict(), "files": _contents(folder)}
    text = json.dumps(key, indent=2, sort_keys=True) + "\n"
    replace_files({folder / KEY: lambda file: _write(text, file)})


def _read_key(path: Path) -> dict[str, Any] | None:
    try:
        key = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    known = isinstance(key, dict) and key.get("format_version") == FORMAT_VERSION
    return key if known and isinstance(key.get("fingerprint"), dict) and "files" in key else None


def _contents(folder: Path) -> dict[str, str]:
    return {name: _hash(folder / name) for name in (SUMMARY, REPORTS)}


def _hash(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def _write(text: str, file: Any) -> None:
    file.write(text.encode())
