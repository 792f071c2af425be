"""CSV, TSV and Parquet: contents that are rows."""

import io
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slop_code.execution.file_ops.errors import ContentError
from slop_code.execution.file_ops.utf8 import decode_utf8, encode_utf8


def encode_csv(content: Any) -> bytes:
    """Write dicts under a header of the first row's keys, lists without one, a str verbatim; lines end in CRLF."""
    return _encode_delimited(content, ",")


def encode_tsv(content: Any) -> bytes:
    """Write rows as `encode_csv` does, with tabs."""
    return _encode_delimited(content, "\t")


def decode_csv(data: bytes) -> list[dict[str | None, Any]]:
    """Read each row as a dict of str under the header's names.

    A short row's missing cells are empty; a long row keeps its surplus cells as a list under the key None,
    and is written again as it was.
    """
    return _decode_delimited(data, ",")


def decode_tsv(data: bytes) -> list[dict[str | None, Any]]:
    """Read rows as `decode_csv` does, with tabs."""
    return _decode_delimited(data, "\t")


def encode_parquet(content: Any) -> bytes:
    """Write dicts as rows; the columns are the union of their keys, and a missing key is null."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]

    rows = _rows(content)
    names = list(dict.fromkeys(key for row in rows for key in row))
    if rows and not names:
        raise ContentError("its rows have no keys, so there are no columns")
    try:
        columns = {name: _arrow_column(name, [row.get(name) for row in rows]) for name in names}
        sink = io.BytesIO()
        pyarrow.parquet.write_table(pyarrow.table(columns), sink)
    except (pyarrow.ArrowException, UnicodeError) as error:
        raise ContentError(f"cannot be written as Parquet: {error}") from error
    return sink.getvalue()


def decode_parquet(data: bytes) -> list[dict[str, Any]]:
    """Read each row as a dict."""
    import pyarrow  # type: ignore[import-untyped, unused-ignore]
    import pyarrow.parquet  # type: ignore[import-untyped, unused-ignore]

    try:
        rows: list[dict[str, Any]] = pyarrow.parquet.read_table(pyarrow.BufferReader(data)).to_pylist()
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        raise ContentError(str(error)) from error
    return rows


def _encode_delimited(content: Any, delimiter: str) -> bytes:
    import csv

    if isinstance(content, str):
        return encode_utf8(content)
    if not isinstance(content, list | tuple):
        raise ContentError(f"its content is a {type(content).__name__}, not a list of dicts or lists, or a str")
    sink = io.StringIO(newline="")
    try:
        csv.writer(sink, delimiter=delimiter, lineterminator="\r\n").writerows(_lines(content))
    except csv.Error as error:
        raise ContentError(str(error)) from error
    return encode_utf8(sink.getvalue())


def _lines(rows: Sequence[Any]) -> Iterator[list[Any]]:
    """Yield the header, if the rows are dicts, and the cells of each row."""
    if not rows or not isinstance(rows[0], Mapping):
        for number, row in enumerate(rows, 1):
            if not isinstance(row, list | tuple):
                raise ContentError(
                    f"row {number} is a {type(row).__name__} and row 1 is none: all are dicts, or all lists"
                )
            yield list(row)
        return
    columns = [key for key in rows[0] if not _is_surplus(rows[0], key)]
    if not columns:
        raise ContentError("row 1 has no keys, so there is no header (write lists to have none)")
    yield columns
    known = set(columns)
    for number, row in enumerate(rows, 1):
        if not isinstance(row, Mapping):
            raise ContentError(f"row {number} is a {type(row).__name__} and row 1 a dict: all are dicts, or all lists")
        unknown = [key for key in row if key not in known and not _is_surplus(row, key)]
        if unknown:
            raise ContentError(
                f"row {number} has the unknown key {unknown[0]!r}: the header is the first row's keys, "
                + ", ".join(map(str, columns))
            )
        surplus = row[None] if None in row and _is_surplus(row, None) else []
        yield [row.get(column) for column in columns] + surplus


def _is_surplus(row: Mapping[Any, Any], key: Any) -> bool:
    """Tell whether a key is the one under which reading keeps the cells that have no column."""
    return key is None and isinstance(row[key], list)


def _decode_delimited(data: bytes, delimiter: str) -> list[dict[str | None, Any]]:
    import csv

    # The module's own limit is for everybody in the process, and there is no other way to lift it.
    csv.field_size_limit(sys.maxsize)
    reader = csv.DictReader(io.StringIO(decode_utf8(data), newline=""), delimiter=delimiter, restval="")
    try:
        return list(reader)
    except csv.Error as error:
        raise ContentError(str(error), reader.line_num) from error


def _rows(content: Any) -> list[Mapping[str, Any]]:
    if not isinstance(content, list | tuple):
        raise ContentError(f"its content is a {type(content).__name__}, not a list of dicts or bytes")
    for number, row in enumerate(content, 1):
        if not isinstance(row, Mapping):
            raise ContentError(f"row {number} is a {type(row).__name__}, not a dict")
        odd = [key for key in row if not isinstance(key, str)]
        if odd:
            raise ContentError(f"row {number} has the key {odd[0]!r}, which is not a str")
    return list(content)


def _arrow_column(name: str, values: list[Any]) -> Any:
    import pyarrow  # type: ignore[import-untyped, unused-ignore]

    try:
        return pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError) as error:
        raise ContentError(f"the column {name!r} does not have one type: {error}") from error
