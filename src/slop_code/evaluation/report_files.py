"""`evaluation.json` and `reports.parquet`: writing them, and reading them whole or bit by bit."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, overload

from slop_code.evaluation.atomic_files import replace_files
from slop_code.evaluation.journal_reading import journal_rows, replay
from slop_code.evaluation.observations import content_schema, observation_schema
from slop_code.evaluation.report_format import (
    CONTENTS,
    FORMAT_VERSION,
    JOURNAL,
    OBSERVATIONS,
    REPORTS,
    SUMMARY,
    ReportError,
    check_version,
    read_summary,
    written_summary,
)
from slop_code.evaluation.report_journal import ReportWriter
from slop_code.evaluation.verifiers.json_text import spelled_out
from slop_code.evaluation.verifiers.models import VerifierReport
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path
from slop_code.validation import first_reason

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults

    Results = TypeVar("Results", bound=CorrectnessResults)

ROW_GROUP_ROWS = 1_000
ROW_GROUP_TEXT = 32_000_000
"""A row group is read as a whole, so it stays small in rows and in characters."""

_VERSION_KEY = b"slop_code.format_version"
_SUMMARY_KEY = b"slop_code.evaluation"


def save_results(results: CorrectnessResults, directory: Path, journal: ReportWriter | None = None) -> None:
    """Write the files of `results`, and remove the journal of the run, which they replace.

    With a `journal`, the rows come from there, and observations with them. Those of an earlier run are removed.
    """
    summary = written_summary(results)
    text = json.dumps(summary, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    rows = journal.rows if journal is not None else lambda: (report.to_parquet_row() for report in results.reports)
    files: dict[Path, Callable[[BinaryIO], None]] = {}
    if journal is not None and journal.has_contents:
        files[directory / CONTENTS] = lambda file: _write_table(content_schema(), journal.contents(), file)
    if journal is not None and journal.has_observations:
        files[directory / OBSERVATIONS] = lambda file: _write_table(observation_schema(), journal.observations(), file)
    files[directory / REPORTS] = lambda file: _write_reports(results, summary, file, rows())
    files[directory / SUMMARY] = lambda file: _write_text(text, file)
    replace_files(files)
    for old in (directory / OBSERVATIONS, directory / CONTENTS, directory / JOURNAL):
        if old not in files:
            old.unlink(missing_ok=True)


def load_results(cls: type[Results], directory: Path, *, with_reports: bool = True) -> Results:
    """The results in `directory`: of the run whose journal is there, or else of the last one that ended."""
    if (directory / JOURNAL).is_file():
        return replay(cls, directory / JOURNAL, with_reports=with_reports)
    with _opened(directory) as (file, path):
        results = read_summary(cls, json.loads(file.schema_arrow.metadata.get(_SUMMARY_KEY, b"null")), path)
    if with_reports:
        results.reports = list(iter_reports(directory))
    return results


@overload
def iter_reports(
    directory: str | Path, columns: None = None, *, batch_size: int = ROW_GROUP_ROWS
) -> Iterator[VerifierReport]: ...
@overload
def iter_reports(
    directory: str | Path, columns: Sequence[str], *, batch_size: int = ROW_GROUP_ROWS
) -> Iterator[dict[str, Any]]: ...
def iter_reports(
    directory: str | Path, columns: Sequence[str] | None = None, *, batch_size: int = ROW_GROUP_ROWS
) -> Iterator[Any]:
    """The reports in `directory`, of which only `batch_size` are held at a time.

    With `columns`, only these are read, and each report is a dict of them as they are stored: `actual`,
    `expected`, `diff` and `value` are JSON text (see `verifiers.json_text`).

    Raises:
        ReportError: there are no results, they are damaged, or a newer slop-code wrote them.
    """
    folder = Path(directory)
    if columns is not None:
        _check_columns(columns)
    journal = folder / JOURNAL
    for row in journal_rows(journal) if journal.is_file() else _stored_rows(folder, columns, batch_size):
        yield _report(row, folder) if columns is None else {name: row.get(name) for name in columns}


def _write_text(text: str, file: BinaryIO) -> None:
    file.write(text.encode(errors="backslashreplace"))


def _write_reports(
    results: CorrectnessResults, summary: dict[str, Any], file: BinaryIO, rows: Iterable[dict[str, Any]]
) -> None:
    metadata = {_VERSION_KEY: str(summary["format_version"]), _SUMMARY_KEY: json.dumps(summary)}
    common = {
        "problem": results.problem_name,
        "checkpoint": results.name,
        "version": results.version,
        "problem_version": results.problem_version,
    }
    encodable = ({**common, **_encodable(row)} for row in rows)
    _write_table(_schema().with_metadata(metadata), encodable, file)


def _write_table(schema: Any, rows: Iterable[dict[str, Any]], file: BinaryIO) -> None:
    import pyarrow  # type: ignore[import-untyped]
    import pyarrow.parquet  # type: ignore[import-untyped]

    if _VERSION_KEY not in (schema.metadata or {}):
        schema = schema.with_metadata({_VERSION_KEY: str(FORMAT_VERSION)})
    with pyarrow.parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _row_groups(rows):
            writer.write_batch(pyarrow.RecordBatch.from_pylist(group, schema=schema))


def _row_groups(given: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    text = 0
    for row in given:
        rows.append(row)
        text += _characters(row)
        if len(rows) == ROW_GROUP_ROWS or text > ROW_GROUP_TEXT:
            yield rows
            rows, text = [], 0
    if rows:
        yield rows


def _characters(row: dict[str, Any]) -> int:
    """About how much text a row holds."""
    lists = (item for name in ("results", "parts") for item in row.get(name, ()))
    return sum(len(text) for item in (row, *lists) for text in item.values() if isinstance(text, str))


def _encodable(row: dict[str, Any]) -> dict[str, Any]:
    """The row without lone surrogates, which models spell out, but copies with an update do not."""
    safe = {name: spelled_out(value) if isinstance(value, str) else value for name, value in row.items()}
    return {**safe, "warnings": [spelled_out(text) for text in row["warnings"]]}


@cache
def _schema() -> Any:
    import pyarrow as pa

    text, number, whole = pa.string(), pa.float64(), pa.int64()
    line = pa.struct(
        [
            ("attribute", text),
            ("actual", text),
            ("expected", text),
            ("diff", text),
            ("is_correct", pa.bool_()),
            ("weight", number),
        ]
    )
    return pa.schema(
        [
            ("problem", text),
            ("checkpoint", text),
            ("version", whole),
            ("problem_version", whole),
            ("id", text),
            ("group", text),
            ("type", text),
            ("timestamp", text),
            ("duration", number),
            ("results", pa.list_(line)),
            ("case", pa.list_(pa.struct([("attribute", text), ("value", text)]))),
            ("original_checkpoint", text),
            ("original_group", text),
            ("outcome", text),
            ("error", text),
            ("warnings", pa.list_(text)),
            ("run_s", number),
            ("cpu_s", number),
            ("peak_memory", whole),
            ("output_cut", pa.bool_()),
            ("attempts", whole),
        ]
    )


def _stored_rows(directory: Path, columns: Sequence[str] | None, batch_size: int) -> Iterator[dict[str, Any]]:
    with _opened(directory) as (file, _):
        stored = None if columns is None else [name for name in columns if name in file.schema_arrow.names]
        for batch in file.iter_batches(batch_size=batch_size, columns=stored):
            yield from batch.to_pylist()


@contextmanager
def _opened(directory: Path) -> Iterator[tuple[Any, Path]]:
    """The Parquet file of `directory`, which is of a version that we know, and its path."""
    import pyarrow
    import pyarrow.parquet

    path = directory / REPORTS
    if not path.is_file():
        beside = f" beside {SUMMARY}" if (directory / SUMMARY).is_file() else ""
        raise ReportError(f"{shown_path(path)}: no such file{beside}, so there are no results to read")
    try:
        with pyarrow.parquet.ParquetFile(path) as file:
            version = (file.schema_arrow.metadata or {}).get(_VERSION_KEY, b"")
            check_version(int(version) if version.isdigit() else None, path)
            yield file, path
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ReportError(f"{shown_path(path)}: is damaged or cannot be read: {error}") from error


def _check_columns(columns: Iterable[str]) -> None:
    known = _schema().names
    for name in columns:
        if name not in known:
            raise ReportError(
                f'reports have no column "{name}"{did_you_mean(name, known)}: they have {listed(known, 30)}'
            )


def _report(row: dict[str, Any], directory: Path) -> VerifierReport:
    try:
        return VerifierReport.from_parquet_row(row)
    except (ValueError, TypeError, KeyError) as error:
        reason = first_reason(error) if isinstance(error, ValueError) else repr(error)
        raise ReportError(f'{shown_path(directory)}: the report of "{row.get("id")}" is damaged: {reason}') from error
