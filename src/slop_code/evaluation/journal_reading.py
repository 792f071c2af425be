"""Reading the journal of a run that goes on, or did not end; see `report_journal`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, TypeVar

from slop_code.evaluation.report_format import ReportError, check_version, read_summary
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.logging import get_logger
from slop_code.paths import shown_path
from slop_code.validation import first_reason

if TYPE_CHECKING:
    from slop_code.evaluation.report import CaseDigest, CorrectnessResults

    Results = TypeVar("Results", bound=CorrectnessResults)


def replay(cls: type[Results], path: Path, *, with_reports: bool = True) -> Results:
    """The results of the run whose journal this is, with the unfinished groups as far as they came."""
    from slop_code.evaluation.report import digest_of

    lines = _lines(path)
    results = read_summary(cls, next(lines)["evaluation"], path)
    waiting: dict[int, _Waiting] = {}
    try:
        for line in lines:
            if "report" in line:
                report = VerifierReport.from_parquet_row(line["report"])
                place = (report.group, report.type, line["weight"])
                kept = report if with_reports else None
                waiting[line["case"]] = _Waiting(place, report.duration, digest_of(report), kept)
            elif "group" in line:
                cases = [waiting.pop(number) for number in line["cases"] if number in waiting]
                results.add_group_digests(
                    line["group"], line["type"], line["duration"], (case.digest for case in cases), line["weight"]
                )
                results.reports += [case.report for case in cases if case.report is not None]
    except (KeyError, TypeError, ValueError) as error:
        reason = first_reason(error) if isinstance(error, ValueError) else repr(error)
        raise ReportError(f"{shown_path(path)}: is not a journal that slop-code wrote: {reason}") from error
    _add_unfinished(results, waiting.values())
    return results


class _Waiting(NamedTuple):
    """A case whose group is not through; of its report only what is asked for is held."""

    place: tuple[str, str, float]
    duration: float
    digest: CaseDigest
    report: VerifierReport | None


def journal_places(file: BinaryIO, path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Where each line begins that is whole, and the line; `file` is the journal at `path`, opened."""
    place = 0
    try:
        for text in file:
            line = _decoded(text)
            if line is not None:
                yield place, line
            place += len(text)
    except OSError as error:
        raise ReportError(f"{shown_path(path)}: cannot be read: {error.strerror or error}") from error


def journal_rows(path: Path) -> Iterator[dict[str, Any]]:
    """The rows of the finished cases, in the order in which they ended, one at a time."""
    lines = _lines(path)
    common = next(lines)["evaluation"]
    names = {
        "problem": common.get("problem_name"),
        "checkpoint": common.get("name"),
        "version": common.get("version"),
        "problem_version": common.get("problem_version"),
    }
    for line in lines:
        if "report" in line:
            yield {**names, **line["report"]}


def _add_unfinished(results: CorrectnessResults, waiting: Iterable[_Waiting]) -> None:
    groups: dict[tuple[str, str, float], list[_Waiting]] = {}
    for case in waiting:
        groups.setdefault(case.place, []).append(case)
    for (name, kind, weight), cases in groups.items():
        if name not in results.group_outcomes:
            duration = sum(case.duration for case in cases)
            results.add_group_digests(name, kind, duration, (case.digest for case in cases), weight)
            results.reports += [case.report for case in cases if case.report is not None]


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    """The head, which is checked, and then every line that is whole."""
    try:
        with path.open("rb") as file:
            yield _head(file.readline(), path)
            for number, text in enumerate(file, start=2):
                line = _decoded(text)
                if line is not None:
                    yield line
                elif text.endswith(b"\n"):
                    get_logger(__name__).warning(f"{shown_path(path)}:{number}: a damaged line is passed over")
    except OSError as error:
        raise ReportError(f"{shown_path(path)}: cannot be read: {error.strerror or error}") from error


def _head(text: bytes, path: Path) -> dict[str, Any]:
    if not text:
        raise ReportError(f"{shown_path(path)}: is empty; remove it, and what was there before can be read again")
    summary = (_decoded(text) or {}).get("evaluation")
    check_version(summary.get("format_version") if isinstance(summary, dict) else None, path)
    return {"evaluation": summary}


def _decoded(text: bytes) -> dict[str, Any] | None:
    try:
        line = json.loads(text)
    except ValueError:
        return None
    return line if isinstance(line, dict) and text.endswith(b"\n") else None
