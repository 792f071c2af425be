"""Results in the forms that other tools read, line by line, so that they need not be held as a whole.

JSON    {"checkpoints": [{…evaluation.json…, "cases": [{…}, …]}, …]}, with one case a line
CSV     a header, and one line a case
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from slop_code.evaluation.report import iter_reports
from slop_code.evaluation.report_format import written_summary
from slop_code.evaluation.verifiers.json_text import from_json_text, printable
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.runs.case_records import first_line, row_score
from slop_code.runs.result_folders import ResultFolder

CSV_COLUMNS = (
    "problem",
    "checkpoint",
    "group",
    "id",
    "type",
    "outcome",
    "score",
    "run_s",
    "cpu_s",
    "peak_memory",
    "attempts",
    "error",
)
_STORED = [*(name for name in CSV_COLUMNS if name != "score"), "results"]
# Whatever ends a line somewhere, steers a terminal, or has no place in UTF-8.
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


def json_lines(folders: Iterable[ResultFolder]) -> Iterator[str]:
    """The lines of one JSON object. A case is its whole report, with `score` and `passed`.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    yield '{"checkpoints": ['
    first = True
    for folder in folders:
        summary = _json(written_summary(folder.summary()))
        yield f'{"" if first else ","}{summary[:-1]}, "cases": ['
        rows = iter_reports(folder.path, columns=list(VerifierReport.model_fields))
        yield from _separated(_json(case_entry(row)) for row in rows)
        yield "]}"
        first = False
    yield "]}"


def csv_lines(folders: Iterable[ResultFolder]) -> Iterator[str]:
    """The lines of a CSV file. Characters that could break a line are written as in Python: `\\n`, `\\x1b`.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    writer = csv.writer(_Line(), lineterminator="")
    yield _written(writer, CSV_COLUMNS)
    for folder in folders:
        for row in iter_reports(folder.path, columns=_STORED):
            cells = {**row, "score": row_score(row), "error": first_line(row["error"])}
            yield _written(writer, [_cell(cells[name]) for name in CSV_COLUMNS])


def case_entry(row: dict[str, Any]) -> dict[str, Any]:
    """A stored report as JSON values. Its texts are JSON already, so no report has to be made of it, which is slow."""
    results = {
        line["attribute"]: {**line, **{name: _value(line[name]) for name in ("actual", "expected", "diff")}}
        for line in row["results"] or ()
    }
    case = {item["attribute"]: _value(item["value"]) for item in row["case"] or ()}
    return {**row, "results": results, "case": case, "score": row_score(row), "passed": row["outcome"] == "passed"}


def _value(text: str) -> Any:
    # A lone surrogate is spelled out: few readers of JSON accept one.
    return printable(from_json_text(text)) if "\\ud" in text else json.loads(text)


class _Line:
    """Takes the place of a file, and gives back what is written to it."""

    def write(self, text: str) -> str:
        return text


def _written(writer: Any, cells: Iterable[Any]) -> str:
    return str(writer.writerow(cells))


def _cell(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    return _UNPRINTABLE.sub(lambda match: repr(match[0])[1:-1], value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _separated(texts: Iterable[str]) -> Iterator[str]:
    """Each text with a comma behind it, but the last."""
    held: str | None = None
    for text in texts:
        if held is not None:
            yield f"{held},"
        held = text
    if held is not None:
        yield held
