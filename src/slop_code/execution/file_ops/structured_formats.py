"""JSON, JSON lines and YAML."""

import json
from functools import cache
from typing import Any

import yaml

from slop_code.execution.file_ops.errors import ContentError
from slop_code.execution.file_ops.utf8 import decode_utf8, encode_utf8

_RARE_LINE_ENDS = frozenset("\x85\u2028\u2029")


def encode_json(content: Any) -> bytes:
    """Write a str verbatim and anything else as JSON with indent 2, without a newline at the end."""
    return encode_utf8(content) if isinstance(content, str) else _json_bytes(content, indent=2)


def decode_json(data: bytes) -> Any:
    """Parse JSON in any of its Unicode encodings."""
    return _parsed_json(data, first_line=1)


def encode_jsonl(content: Any) -> bytes:
    """Write each item of a list as one line of JSON, and any other value, a str too, as the only line."""
    items = content if isinstance(content, list | tuple) else [content]
    return b"".join(_json_bytes(item, at=f"line {number}: ") + b"\n" for number, item in enumerate(items, 1))


def decode_jsonl(data: bytes) -> list[Any]:
    """Parse each line that is not blank."""
    # Not splitlines(): a JSON string may hold U+2028 and its like as they are.
    lines = enumerate(decode_utf8(data).split("\n"), 1)
    return [_parsed_json(line, number) for number, line in lines if line.strip()]


def encode_yaml(content: Any) -> bytes:
    """Dump plain data with sorted keys; a str becomes a YAML scalar."""
    try:
        return encode_utf8(yaml.dump(content, Dumper=_yaml_dumper(), sort_keys=True, allow_unicode=True))
    except (yaml.YAMLError, RecursionError) as error:
        raise ContentError(f"cannot be written as YAML: {error} (use plain data)") from error


def decode_yaml(data: bytes) -> Any:
    """Load the file's only document, plain data only."""
    try:
        return yaml.safe_load(data)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ContentError(error.problem or str(error), mark.line + 1 if mark else None) from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ContentError(str(error)) from error


@cache
def _yaml_dumper() -> Any:
    class Dumper(yaml.SafeDumper):
        """Escapes the rarer line ends, which the reader would otherwise fold into spaces."""

        def analyze_scalar(self, scalar: str) -> Any:
            analysis = super().analyze_scalar(scalar)
            if not _RARE_LINE_ENDS.isdisjoint(scalar):
                analysis.allow_flow_plain = analysis.allow_block_plain = False
                analysis.allow_single_quoted = analysis.allow_block = False
            return analysis

    return Dumper


def _json_bytes(content: Any, indent: int | None = None, at: str = "") -> bytes:
    try:
        text = json.dumps(content, indent=indent, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError) as error:
        place = _not_json(content) if isinstance(error, TypeError) else None
        raise ContentError(f"{at}cannot be written as JSON: {place or error}") from error
    # A lone surrogate, which only a string can hold, turns into the JSON escape that means it.
    return text.encode(errors="backslashreplace")


def _not_json(content: Any) -> str | None:
    """Find what in the content JSON has no notation for, as `$.rows[2].day is a date`."""
    pending: list[tuple[str, Any]] = [("$", content)]
    while pending:
        place, value = pending.pop()
        if isinstance(value, dict):
            bad = [key for key in value if key is not None and not isinstance(key, str | int | float)]
            if bad:
                return f"{place} has the key {bad[0]!r}, a {type(bad[0]).__name__}"
            pending += [(f"{place}.{key}", item) for key, item in reversed(value.items())]
        elif isinstance(value, list | tuple):
            pending += [(f"{place}[{i}]", value[i]) for i in reversed(range(len(value)))]
        elif value is not None and not isinstance(value, str | int | float):
            return f"{place} is a {type(value).__name__}, {value!r:.80}"
    return None


def _parsed_json(text: str | bytes, first_line: int) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise ContentError(f"{error.msg} at column {error.colno}", first_line + error.lineno - 1) from error
    except (ValueError, RecursionError) as error:
        raise ContentError(str(error)) from error
