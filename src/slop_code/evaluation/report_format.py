"""What the files of a run have in common: their names, their version, and the error when they cannot be used.

New columns and keys do not change the version: old readers ignore them, and new readers give older files their
defaults. It is raised when something that was there comes to mean something else; then older readers refuse.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from slop_code.errors import SlopCodeError
from slop_code.paths import shown_path
from slop_code.validation import first_reason

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults

    Results = TypeVar("Results", bound=CorrectnessResults)

SUMMARY = "evaluation.json"
REPORTS = "reports.parquet"
OBSERVATIONS = "observations.parquet"
CONTENTS = "contents.parquet"
JOURNAL = "reports.partial.jsonl"
FORMAT_VERSION = 1


class ReportError(SlopCodeError):
    """Results of a run cannot be written or read; the text names the file and the reason."""


def written_summary(results: CorrectnessResults) -> dict[str, Any]:
    """Everything but the reports, as JSON values, with the format's version."""
    return {"format_version": FORMAT_VERSION, **results.model_dump(mode="json", exclude={"reports"})}


def read_summary(cls: type[Results], data: Any, path: Path) -> Results:
    """The results that `written_summary` was made of, without reports; `path` is the file that holds it."""
    check_version(data.get("format_version") if isinstance(data, dict) else None, path)
    try:
        return cls.model_validate(data)
    except ValueError as error:
        raise ReportError(f"{shown_path(path)}: the summary is damaged: {first_reason(error)}") from error


def check_version(found: Any, path: Path) -> None:
    """Refuse what has no version, or a newer one than we know."""
    if type(found) is not int or found < 1:
        raise ReportError(f"{shown_path(path)}: has no format version, so slop-code did not write it")
    if found > FORMAT_VERSION:
        raise ReportError(
            f"{shown_path(path)}: is written in version {found} of the format, and this slop-code reads up to "
            f"version {FORMAT_VERSION}; use a newer slop-code"
        )
