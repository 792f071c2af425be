"""Values as JSON text from which the very same values can be read again.

The text is plain JSON, but for values that JSON has no form for. Those are objects with one key:

    {"$bytes": "<base64>"}    bytes
    {"$float": "nan"}         nan, inf, -inf
    {"$int": "<hex>"}         integers too long for Python's JSON reader

An ordinary object whose only key starts with `$` gets one more `$` in front of it, so nothing can be mistaken.
"""

from __future__ import annotations

import base64
import json
import math
from typing import Any

# Python refuses to read or write integers of more than 4300 digits in decimal.
_LONG_INT_BITS = 12_000
# Made once: `json.dumps` with options makes an encoder for every call.
_encode = json.JSONEncoder(allow_nan=False).encode
_encode_any = json.JSONEncoder().encode


def to_json_text(value: Any) -> str:
    """The text from which `from_json_text` makes the same value again, for whatever `recordable` returns."""
    try:
        text = _encode(value)
    except (TypeError, ValueError):
        return _encode_any(tagged(value))
    return _encode_any(tagged(value)) if '{"$' in text else text


def from_json_text(text: str) -> Any:
    """The value that was given to `to_json_text`."""
    value = json.loads(text)
    return untagged(value) if '"$' in text else value


def tagged(value: Any) -> Any:
    """`value` as plain JSON, with the objects of this module's docstring where JSON has no form for it."""
    if isinstance(value, bytes):
        return {"$bytes": base64.b64encode(value).decode("ascii")}
    if isinstance(value, float) and not math.isfinite(value):
        return {"$float": repr(value)}
    if isinstance(value, int) and value.bit_length() > _LONG_INT_BITS:
        return {"$int": hex(value)}
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(tagged(item))  # noqa: PERF401  # a comprehension takes a second frame at each level
        return items
    if isinstance(value, dict):
        escaped = {}
        for key, item in value.items():
            escaped[f"${key}" if len(value) == 1 and key.startswith("$") else key] = tagged(item)
        return escaped
    return value


def untagged(value: Any) -> Any:
    """The reverse of `tagged`. A malformed tag is left as it stands."""
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(untagged(item))  # noqa: PERF401
        return items
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        ((key, item),) = value.items()
        if key.startswith("$$"):
            return {key[1:]: untagged(item)}
        if key in ("$bytes", "$float", "$int") and isinstance(item, str):
            try:
                return _read_tag(key, item)
            except ValueError:
                return value
    plain = {}
    for key, item in value.items():
        plain[key] = untagged(item)
    return plain


def printable(value: Any) -> Any:
    """`tagged`, with lone surrogates spelled out as `\\udXXX`: no writer of UTF-8 accepts them."""
    return _all_spelled_out(tagged(value))


def spelled_out(text: str) -> str:
    """`text` with lone surrogates as `\\udXXX`."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode("utf-8")


def _read_tag(key: str, text: str) -> Any:
    if key == "$bytes":
        return base64.b64decode(text, validate=True)
    return float(text) if key == "$float" else int(text, 16)


def _all_spelled_out(value: Any) -> Any:
    if isinstance(value, str):
        return spelled_out(value)
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(_all_spelled_out(item))  # noqa: PERF401
        return items
    if isinstance(value, dict):
        spelled = {}
        for key, item in value.items():
            spelled[spelled_out(key)] = _all_spelled_out(item)
        return spelled
    return value
