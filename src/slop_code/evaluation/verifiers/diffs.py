"""Diffs for people: the guide's four styles, and `text_diff`, which shows the first difference exactly.

All take text, bytes or any other value, and all stay short: what is left out of a long diff is counted.
"""

from __future__ import annotations

import difflib
from itertools import zip_longest
from typing import Any

from slop_code.evaluation.verifiers.json_values import shortened
from slop_code.evaluation.verifiers.text_excerpt import excerpt, first_difference

MATCH = "✓ Match"
MAX_SHOWN_TEXT = 20_000
MAX_SHOWN_LINES = 1_000
MAX_SHOWN_COLUMNS = 1_000
MAX_LINES_TO_ALIGN = 10_000


def text_diff(expected: Any, actual: Any) -> str:
    """The first difference with its line, column and neighbourhood; invisible characters are made visible.

    Quick for texts of any size. Equal texts give "✓ Match".
    """
    if expected == actual and type(expected) is type(actual):
        return MATCH
    wanted, found = _text(expected), _text(actual)
    if wanted != found:
        return excerpt(wanted, found)
    return f"The same text, but of another type: expected {type(expected).__name__}, got {type(actual).__name__}"


def simple_diff(expected: Any, actual: Any) -> str:
    """Both values in full, one after the other, or "✓ Match"."""
    if expected == actual:
        return MATCH
    return f"Expected:\n{_shown(expected)}\n\nActual:\n{_shown(actual)}"


def line_diff(expected: Any, actual: Any) -> str:
    """`Line 3: 'a' != 'b'` for each line that differs, or "✓ Match"."""
    wanted, found = _text(expected), _text(actual)
    if wanted == found:
        return MATCH
    rows = []
    for number, (old, new) in enumerate(zip_longest(wanted.splitlines(), found.splitlines()), start=1):
        if old == new:
            continue
        if old is None or new is None:
            rows.append(f"Line {number}: {'unexpected' if old is None else 'missing'} '{_short(new or old)}'")
        else:
            rows.append(f"Line {number}: '{_short(old, new)}' != '{_short(new, old)}'")
    return _limited(rows or [_ends_differ(wanted, found)])


def unified_diff(expected: Any, actual: Any, fromfile: str = "expected", tofile: str = "actual") -> str:
    """A diff as `git diff` makes it; empty if the texts are equal.

    Very long texts are not aligned: of these, the first difference is shown as `text_diff` shows it.
    """
    wanted, found = _text(expected), _text(actual)
    if wanted == found:
        return ""
    if _too_long(wanted, found):
        return f"--- {fromfile}\n+++ {tofile}\n{excerpt(wanted, found)}\n(too long for a full diff)"
    old, new = wanted.splitlines(keepends=True), found.splitlines(keepends=True)
    rows = []
    for row in difflib.unified_diff(old, new, fromfile=fromfile, tofile=tofile):
        rows.append(row if row.endswith("\n") else f"{row}\n\\ No newline at end of file\n")
        if len(rows) > MAX_SHOWN_LINES:
            rows[-1] = f"(cut after {MAX_SHOWN_LINES} lines)\n"
            break
    return "".join(rows)


def visual_diff(expected: Any, actual: Any) -> str:
    """Every line: `  ` in front of equal ones, `- ` of expected and `+ ` of actual ones; or "✓ Match"."""
    wanted, found = _text(expected), _text(actual)
    if wanted == found:
        return MATCH
    rows = []
    for old, new in zip_longest(wanted.splitlines(), found.splitlines()):
        if old == new:
            rows.append(f"  {_short(old)}")
            continue
        rows += [f"- {_short(old, new)}"] if old is not None else []
        rows += [f"+ {_short(new, old)}"] if new is not None else []
    if wanted.splitlines() == found.splitlines():
        rows.append(_ends_differ(wanted, found))
    return _limited(rows)


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, (bytes, bytearray)):
        return value.decode("utf-8", "backslashreplace")
    return "" if value is None else str(value)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else str(value)
    return str(shortened(text, MAX_SHOWN_TEXT))


def _short(line: str | None, other: str | None = None) -> str:
    """`line`, or the part of a very long one in which it departs from `other`."""
    line = line or ""
    if len(line) <= MAX_SHOWN_COLUMNS:
        return line
    start = max(0, first_difference(line, other or "") - MAX_SHOWN_COLUMNS // 2)
    return f"{'…' if start else ''}{line[start : start + MAX_SHOWN_COLUMNS]}… ({len(line)} characters)"


def _ends_differ(wanted: str, found: str) -> str:
    return f"The lines are the same, but not their ends.\n{excerpt(wanted, found)}"


def _too_long(wanted: str, found: str) -> bool:
    return max(len(wanted), len(found)) > 2_000_000 or wanted.count("\n") + found.count("\n") > MAX_LINES_TO_ALIGN


def _limited(rows: list[str]) -> str:
    if len(rows) <= MAX_SHOWN_LINES:
        return "\n".join(rows)
    return "\n".join([*rows[:MAX_SHOWN_LINES], f"(cut: {len(rows) - MAX_SHOWN_LINES} more lines)"])
