"""Any Python value as a JSON value: nothing that a verifier or a submission produced can make a report fail."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterable, Mapping, Set
from enum import Enum
from typing import Any

from pydantic import BaseModel

from slop_code.evaluation.verifiers.json_text import to_json_text

MAX_DEPTH = 200
TOO_DEEP = f"(nested more than {MAX_DEPTH} levels deep)"
CYCLE = "(refers to itself)"

_JSON_SCALARS: frozenset[type] = frozenset((str, int, bool, type(None)))
_RECORDED_SCALARS: frozenset[type] = _JSON_SCALARS | {float, bytes}
_NON_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


class _NotPlainError(Exception):
    """There is something in the value that cannot be copied as it is."""


def json_safe(value: Any) -> Any:
    """A copy of `value` that JSON can hold; whatever JSON cannot hold becomes text. Never fails."""
    if type(value) in _JSON_SCALARS:
        return value
    if issubclass(type(value), str):  # an object can lie about its __class__, and its type cannot
        return str.__str__(value)
    try:
        return _copied(value, _JSON_SCALARS, MAX_DEPTH)
    except _NotPlainError:
        return _converted(value, MAX_DEPTH, set(), exact=False)


def recordable(value: Any) -> Any:
    """A copy of `value` that `to_json_text` keeps exactly: as `json_safe`, but bytes, nan and inf stay."""
    if type(value) in _RECORDED_SCALARS:
        return value
    if issubclass(type(value), str):
        return str.__str__(value)
    try:
        return _copied(value, _RECORDED_SCALARS, MAX_DEPTH)
    except _NotPlainError:
        return _converted(value, MAX_DEPTH, set(), exact=True)


def json_diff(value: Any) -> Any:
    """`json_safe`, which gives a `DeepDiff` the shape of its own `to_json`."""
    deepdiff = sys.modules.get("deepdiff")  # where it is not loaded, nobody has a DeepDiff
    if deepdiff is None or not issubclass(type(value), deepdiff.DeepDiff):
        return json_safe(value)
    try:
        return json_safe(json.loads(value.to_json(force_use_builtin_json=True)))
    except (TypeError, ValueError, RecursionError):
        return json_safe(value.to_dict())


def shortened(value: Any, limit: int) -> Any:
    """`json_safe(value)`, or text that is cut after `limit` characters and says so."""
    if isinstance(value, (str, bytes)):
        if len(value) <= limit:
            return json_safe(value)
        unit = "characters" if isinstance(value, str) else "bytes"
        return f"{json_safe(value[:limit])}… (cut: {limit} of {len(value)} {unit} shown)"
    if fits(value, limit):
        return json_safe(value)
    return f"{_text_prefix(value, limit)}… (cut after {limit} characters)"


def fits(value: Any, limit: int) -> bool:
    """Whether `value` is no longer than about `limit` characters. Looks at no more of it than that."""
    left = limit
    pending: list[Iterable[Any]] = [[value]]
    while pending:
        for item in pending.pop():
            left -= len(item) + 2 if isinstance(item, (str, bytes)) else 4
            if left < 0:
                return False
            if isinstance(item, dict):
                pending += [item.keys(), item.values()]
            elif isinstance(item, (list, tuple, set, frozenset)):
                pending.append(item)
    return True


def _copied(value: Any, scalars: frozenset[type], depth: int) -> Any:
    kind = type(value)
    if kind in scalars or (kind is float and math.isfinite(value)):
        return value
    if depth == 0:
        raise _NotPlainError
    if kind is dict:
        copy = {}
        for key, item in value.items():
            if type(key) is not str:
                raise _NotPlainError
            copy[key] = item if type(item) in scalars else _copied(item, scalars, depth - 1)
        return copy
    if kind is list:
        items = []
        for item in value:
            items.append(item if type(item) in scalars else _copied(item, scalars, depth - 1))  # noqa: PERF401
        return items
    raise _NotPlainError


def _converted(value: Any, depth: int, above: set[int], *, exact: bool) -> Any:
    """The slow way, for whatever is not plain. `above` holds the containers around `value`, to find cycles."""
    parts = _parts(value)
    if parts is None:
        return _scalar(value, exact)
    if id(value) in above:
        return CYCLE
    if depth == 0:
        return TOO_DEEP
    above.add(id(value))
    try:
        if isinstance(parts, dict):
            converted: dict[str, Any] = {}
            for key, item in parts.items():
                converted[_free_name(key, converted)] = _converted(item, depth - 1, above, exact=exact)
            return converted
        items = []
        for item in parts:
            items.append(_converted(item, depth - 1, above, exact=exact))  # noqa: PERF401
        return sorted(items, key=to_json_text) if isinstance(value, Set) else items
    finally:
        above.discard(id(value))


def _parts(value: Any) -> dict[Any, Any] | list[Any] | None:
    """What `value` consists of, or None if it is one thing."""
    try:
        if isinstance(value, Mapping):
            return dict(value.items())
        if isinstance(value, (list, tuple, Set)):
            return list(value)
        if isinstance(value, BaseModel):
            return {**value.__dict__, **(value.__pydantic_extra__ or {})}
        # Arrays and series of numpy and pandas, without importing either.
        if getattr(value, "shape", ()) != () and callable(getattr(value, "tolist", None)):
            return list(value.tolist())
    except Exception:  # noqa: BLE001  # foreign code: whatever it does, a report must come out
        return None
    return None


def _scalar(value: Any, exact: bool) -> Any:
    try:
        return _plain_scalar(value, exact)
    except Exception:  # noqa: BLE001  # a broken __str__, or a __getattr__ that raises, must not cost a report
        return f"<{type(value).__name__}>"


def _plain_scalar(value: Any, exact: bool) -> Any:
    if isinstance(value, Enum):
        value = value.value
    if getattr(value, "shape", None) == () and callable(getattr(value, "item", None)):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if exact or math.isfinite(value) else _NON_FINITE[repr(float(value))]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value) if exact else bytes(value).decode("utf-8", "backslashreplace")
    if isinstance(value, type):
        return value.__name__
    return str(value.isoformat() if hasattr(value, "isoformat") else value)


def _free_name(key: Any, taken: Mapping[str, Any]) -> str:
    name = key if type(key) is str else _key_name(_scalar(key, exact=False))
    while name in taken:
        name += f" ({type(key).__name__})"
    return name


def _key_name(scalar: Any) -> str:
    if scalar is None or isinstance(scalar, bool):
        return json.dumps(scalar)
    try:
        return str(scalar)
    except ValueError:  # an integer of more digits than Python writes in decimal
        return hex(scalar)


def _text_prefix(value: Any, limit: int) -> str:
    text = ""
    try:
        for part in json.JSONEncoder(ensure_ascii=False, default=str).iterencode(value):
            text += part[: limit + 1]
            if len(text) > limit:
                break
    except (TypeError, ValueError, RecursionError):
        text = json.dumps(json_safe(value), ensure_ascii=False)
    return text[:limit]
