"""Reading what programs print: text in, values out, and `VerifierError` for what cannot be read."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.json_values import shortened

_BAD_TABLE = "Invalid markdown table"
_MAX_YAML_ITEMS = 1_000_000


def convert_to_io(val: str | bytes | None) -> io.StringIO | io.BytesIO:
    """`val` as a file to read from: of text or of bytes. None is an empty text."""
    if isinstance(val, (bytes, bytearray)):
        return io.BytesIO(val)
    if val is None or isinstance(val, str):
        return io.StringIO(val or "")
    raise VerifierError(f"only text or bytes can be read like a file, not {_described(val)}")


def ensure_non_null_string(val: Any, allow_empty: bool = False) -> str:
    """`val` as text: None is "", bytes are decoded. Blank text is a `VerifierError` unless `allow_empty`."""
    text = _text(val)
    if not allow_empty and not text.strip():
        raise VerifierError("expected some text, but it is empty")
    return text


def ensure_expected_is_not_none(expected: Any) -> str:
    """`expected` as text; a `VerifierError` if there is none."""
    if expected is None:
        raise VerifierError("the case expects nothing here: its expected value is None")
    return _text(expected)


def extract_actual_output(
    actual: Any,
    split_output_on: str | None = None,
    split_output_index: int = -1,
    output_key: str = "output",
    decode: str = "utf-8",
    *,
    strip: bool = False,
) -> Any:
    """An attribute of a result as text, or the part of it between two separators. None stays None.

    A value that is neither text nor bytes, such as an answer in JSON, is returned as it is.
    """
    try:
        value = getattr(actual, output_key)
    except AttributeError:
        raise VerifierError(f'{type(actual).__name__} has no attribute "{output_key}"') from None
    if isinstance(value, (bytes, bytearray)):
        value = _decoded(value, decode)
    if not isinstance(value, str):
        return value
    part = maybe_split_string(value, split_output_on, split_output_index)
    return part.strip() if strip else part


def maybe_split_string(content: str | None, split_output_on: str | None = None, split_output_index: int = -1) -> str:
    """The part of `content` at an index after splitting it, by default the last; all of it without a separator."""
    if content is None:
        return ""
    if not split_output_on:
        return content
    parts = content.split(split_output_on)
    try:
        return parts[split_output_index]
    except IndexError:
        raise VerifierError(
            f"there is no part {split_output_index} of a text that {split_output_on!r} splits into {len(parts)}"
        ) from None


def drop_keys_from_dicts(dicts: Iterable[Any] | None, keys: Iterable[str] | None = None) -> list[Any]:
    """Copies of the dicts without `keys`; whatever is no dict is kept."""
    dropped = {keys} if isinstance(keys, str) else set(keys or ())
    return [
        {key: value for key, value in item.items() if key not in dropped} if isinstance(item, Mapping) else item
        for item in dicts or ()
    ]


def parse_markdown_table(content: str | bytes | None, allow_errors: bool = False) -> list[dict[str, str]]:
    """The rows of a Markdown table as dicts of stripped text. None is an empty table.

    A row with too few or too many cells is a `VerifierError`, or `[{"error": "Invalid markdown table"}]` in place
    of the table with `allow_errors`.
    """
    if content is None:
        return []
    try:
        return _table_rows(content)
    except VerifierError:
        if allow_errors:
            return [{"error": _BAD_TABLE}]
        raise


def parse_csv_content(content: Any, allows_error: bool = True) -> list[Any]:
    """The rows of a CSV text as dicts, with the types that pandas finds; missing values are None.

    None is [], a list is returned as it is, and a dict is one row. What cannot be read is [], or a
    `VerifierError` without `allows_error`.
    """
    rows = _rows_already(content, "CSV")
    if rows is not None:
        return rows
    try:
        import pandas  # type: ignore[import-untyped]
    except ImportError:
        raise VerifierError("reading CSV needs pandas: install slop-code[problems]") from None
    try:
        table = pandas.read_csv(convert_to_io(content), low_memory=False)
        records: list[Any] = table.astype(object).where(table.notna(), None).to_dict(orient="records")
    except Exception as error:
        # pandas fails in many ways on what a submission may print, and all of them mean the same here.
        if allows_error:
            return []
        raise VerifierError(f"the text is not CSV: {error}") from error
    return records


def parse_jsonl(content: Any) -> list[Any]:
    """The values in a text of one JSON value a line; lines that are not JSON are skipped.

    None is [], a list is returned as it is, and a dict is one value.
    """
    rows = _rows_already(content, "JSON lines")
    if rows is not None:
        return rows
    values = []
    for line in content.split(b"\n" if isinstance(content, bytes) else "\n"):
        try:
            values.append(json.loads(_text(line)))
        except (ValueError, RecursionError, VerifierError):
            continue
    return values


def parse_json(content: Any, *, allow_invalid: bool = False) -> Any:
    """What a JSON text holds. None and blank text are {}, and a dict is returned as it is.

    Anything else is a `VerifierError`, or `{"error": "Invalid JSON"}` with `allow_invalid`.
    """
    if content is None or isinstance(content, dict):
        return {} if content is None else content
    try:
        if not isinstance(content, (str, bytes)):
            raise VerifierError(f"expected JSON text, not {_described(content)}")
        text = _text(content)
        return json.loads(text) if text.strip() else {}
    except (ValueError, RecursionError, VerifierError) as error:
        if allow_invalid:
            return {"error": "Invalid JSON"}
        raise VerifierError(f"not JSON: {error or type(error).__name__}") from error


def parse_yaml(content: Any) -> Any:
    """What a YAML text holds. None, blank and invalid text are {}, and a dict is returned as it is.

    Text whose aliases would make it grow beyond measure counts as invalid. Lists and numbers are a `VerifierError`.
    """
    if content is None:
        return {}
    if isinstance(content, dict):
        return content
    if not isinstance(content, (str, bytes)):
        raise VerifierError(f"expected YAML text, not {_described(content)}")
    try:
        text = _text(content)
        value = yaml.safe_load(text) if text.strip() else {}
        return value if _expanded_size(value) <= max(_MAX_YAML_ITEMS, len(text)) else {}
    # Bad dates are ValueErrors, and some bad tags come out as anything from an AttributeError to an OverflowError.
    except (yaml.YAMLError, VerifierError, ValueError, TypeError, AttributeError, ArithmeticError, LookupError):
        return {}
    except RecursionError:
        return {}


def parse_yaml_file(result: Any, file_name: str, allow_missing: bool = False) -> Any:
    """`parse_yaml` of one of a result's files; a missing file is a `VerifierError`, or {} with `allow_missing`."""
    files = result.files_by_name() if hasattr(result, "files_by_name") else result.files
    if file_name not in files:
        if allow_missing:
            return {}
        raise VerifierError(f'there is no file "{file_name}" among {", ".join(sorted(files)) or "no files at all"}')
    return parse_yaml(files[file_name])


def _table_rows(content: str | bytes) -> list[dict[str, str]]:
    if not isinstance(content, (str, bytes)):
        raise VerifierError(f"expected a Markdown table, not {_described(content)}")
    lines = [line for line in io.StringIO(_text(content)) if line.strip()]
    try:
        cells = [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter="|")]
    except csv.Error as error:
        raise VerifierError(f"not a Markdown table: {error}") from error
    if not cells:
        return []
    header, rows = cells[0], cells[2:]
    for number, row in enumerate(rows, start=1):
        if len(row) != len(header):
            found = " | ".join(row)
            raise VerifierError(
                f"row {number} of the Markdown table has {len(row)} cells, the header has {len(header)}: "
                f"{shortened(found, 200)}"
            )
    return [{key: cell for key, cell in zip(header, row, strict=True) if key} for row in rows]


def _rows_already(content: Any, expected: str) -> list[Any] | None:
    """The rows of what needs no reading; None for text."""
    if content is None:
        return []
    if isinstance(content, list):
        return content
    if isinstance(content, dict):
        return [content]
    if isinstance(content, (str, bytes)):
        return None
    raise VerifierError(f"expected {expected}, not {_described(content)}")


def _expanded_size(value: Any) -> int:
    """How many items there are with every alias written out, without writing them out."""
    sizes: dict[int, int] = {}

    def size(item: Any) -> int:
        if not isinstance(item, (dict, list)):
            return 1
        if id(item) not in sizes:
            sizes[id(item)] = _MAX_YAML_ITEMS * 1_000  # for an alias of something around it
            sizes[id(item)] = 1 + sum(map(size, item.values() if isinstance(item, dict) else item))
        return sizes[id(item)]

    return size(value)


def _text(value: Any) -> str:
    return _decoded(value) if isinstance(value, (bytes, bytearray)) else "" if value is None else str(value)


def _decoded(value: bytes | bytearray, encoding: str = "utf-8") -> str:
    try:
        return value.decode(encoding)
    except (UnicodeDecodeError, LookupError) as error:
        raise VerifierError(f"the bytes cannot be decoded as {encoding}: {error}") from error


def _described(value: Any) -> str:
    return f"{type(value).__name__} ({shortened(value, 100)!r})"
