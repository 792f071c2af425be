"""SQLite: a database from plain rows, and plain rows from a database."""

import datetime
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from slop_code.execution.file_ops.errors import ContentError

if TYPE_CHECKING:
    import sqlite3

BARE_TABLE = "table"
_INTEGERS = range(-(2**63), 2**63)


def encode_sqlite(content: Any) -> bytes:
    """Make a database of rows (into the table `table`), `{"tables": {name: body}}` or `{name: body}`.

    A body is a list of dicts, or `{columns, rows}` with rows as lists or dicts. Columns without `columns` are
    the union of the rows' keys; their types come from the values. A body with neither columns nor rows leaves
    no table behind, since SQLite has none without columns.
    """
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(":memory:")) as connection:
        # Writes the header, without which a database that gets no tables would be no file at all.
        connection.execute("PRAGMA user_version = 0")
        for table in _tables(content):
            if table.columns:
                try:
                    _create(connection, table)
                except (sqlite3.Error, UnicodeError) as error:
                    raise ContentError(f"table {table.name!r}: {error}") from error
        connection.commit()
        return connection.serialize()


def decode_sqlite(data: bytes) -> dict[str, dict[str, list[dict[str, Any]]]]:
    """Read every table as a list of dicts; text that is not UTF-8 comes as bytes."""
    import sqlite3
    from contextlib import closing

    with closing(sqlite3.connect(":memory:")) as connection:
        try:
            if data:
                connection.deserialize(_without_write_ahead_log(data))
            names = connection.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND substr(lower(name), 1, 7) <> 'sqlite_'"
            ).fetchall()
            connection.text_factory = _text
            return {"tables": {name: _read_rows(connection, name) for (name,) in names}}
        except sqlite3.Error as error:
            raise ContentError(str(error)) from error


@dataclass(frozen=True)
class _Table:
    name: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def _tables(content: Any) -> Iterator[_Table]:
    if isinstance(content, list | tuple) or _is_columns_and_rows(content):
        yield _table(BARE_TABLE, content)
        return
    if not isinstance(content, Mapping):
        raise ContentError(
            f"its content is a {type(content).__name__}, not rows, {{'tables': ...}}, {{name: rows}} or bytes"
        )
    if list(content) == ["tables"] and isinstance(content["tables"], Mapping):
        content = content["tables"]
    for name, body in content.items():
        yield _table(str(name), body)


def _is_columns_and_rows(body: Any) -> bool:
    return (
        isinstance(body, Mapping)
        and "columns" in body
        and body.keys() <= {"columns", "rows"}
        and isinstance(body["columns"], list | tuple)
        and all(isinstance(column, str) for column in body["columns"])
    )


def _table(name: str, body: Any) -> _Table:
    columns: list[str] | None = None
    rows = body
    if _is_columns_and_rows(body):
        columns, rows = list(body["columns"]), body.get("rows") or ()
    if not isinstance(rows, list | tuple):
        raise ContentError(f"table {name!r} is a {type(rows).__name__}, not rows or {{columns, rows}}")
    if columns is None:
        columns = list(dict.fromkeys(key for row in rows if isinstance(row, Mapping) for key in row))
        if rows and not columns:
            raise ContentError(f"table {name!r} has rows without column names: use dicts or {{columns, rows}}")
    cells = (_cells(f"table {name!r}, row {number}", row, columns) for number, row in enumerate(rows, 1))
    return _Table(name, tuple(map(str, columns)), tuple(cells))


def _cells(place: str, row: Any, columns: list[str]) -> tuple[Any, ...]:
    if isinstance(row, Mapping):
        unknown = [key for key in row if key not in columns]
        if unknown:
            raise ContentError(f"{place} has the unknown key {unknown[0]!r}, the columns are {columns}")
        return tuple(_value(f"{place}, {column!r}", row.get(column)) for column in columns)
    if not isinstance(row, list | tuple):
        raise ContentError(f"{place} is a {type(row).__name__}, not a dict or a list")
    if len(row) != len(columns):
        raise ContentError(f"{place} has {len(row)} cells for {len(columns)} columns: {columns}")
    return tuple(_value(f"{place}, {column!r}", cell) for column, cell in zip(columns, row, strict=True))


def _value(place: str, value: Any) -> Any:
    """Turn a cell into what SQLite stores: NULL, INTEGER, REAL, TEXT or BLOB."""
    match value:
        case bool():
            return int(value)
        case int() if value not in _INTEGERS:
            raise ContentError(f"{place} is beyond SQLite's 64-bit integers (give it as a str)")
        case None | int() | float() | str() | bytes():
            return value
        case bytearray() | memoryview():
            return bytes(value)
        case datetime.datetime():
            return value.isoformat(" ")
        case datetime.date():
            return value.isoformat()
        case list() | tuple() | dict():
            try:
                return json.dumps(value, ensure_ascii=False)
            except (TypeError, ValueError, RecursionError) as error:
                raise ContentError(f"{place} cannot be stored as JSON text: {error}") from error
    raise ContentError(f"{place} is a {type(value).__name__}, which SQLite has no type for")


def _create(connection: "sqlite3.Connection", table: _Table) -> None:
    declared = (
        f"{_quoted(column)} {_declared_type(row[i] for row in table.rows)}".rstrip()
        for i, column in enumerate(table.columns)
    )
    connection.execute(f"CREATE TABLE {_quoted(table.name)} ({', '.join(declared)})")
    holes = ", ".join("?" * len(table.columns))
    connection.executemany(f"INSERT INTO {_quoted(table.name)} VALUES ({holes})", table.rows)  # noqa: S608


def _declared_type(values: Iterator[Any]) -> str:
    """Name the type that all values have; none for a mixture, so that SQLite converts nothing."""
    kinds = {type(value) for value in values if value is not None}
    if kinds == {int, float}:
        return "REAL"
    for name, base in (("INTEGER", int), ("REAL", float), ("TEXT", str), ("BLOB", bytes)):
        if kinds and all(issubclass(kind, base) for kind in kinds):
            return name
    return ""


def _quoted(identifier: str) -> str:
    return '"' + identifier.replace('"', '""') + '"'


def _text(data: bytes) -> str | bytes:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return data


def _without_write_ahead_log(data: bytes) -> bytes:
    """Take a database out of WAL mode, in which it cannot be opened in memory."""
    return data[:18] + b"\x01\x01" + data[20:] if data[18:20] == b"\x02\x02" else data


def _read_rows(connection: "sqlite3.Connection", table: str) -> list[dict[str, Any]]:
    cursor = connection.execute(f"SELECT * FROM {_quoted(table)}")  # noqa: S608
    names = [column[0] for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]
