"""Where two texts part, and what stands around that place, with everything invisible made visible.

Works on texts of any size in little time: only the place of the first difference is looked for, and what is
shown is a few short pieces.
"""

from __future__ import annotations

import unicodedata

CONTEXT_LINES = 2
SHOWN_COLUMNS = 120
_BEFORE_COLUMN = 60
_BLOCK = 1 << 16
_NAMED = {"\t": "→", "\r": "␍", "\n": "⏎"}


def first_difference(one: str, other: str) -> int:
    """The index of the first character that differs; the length of the shorter text if it begins the other."""
    start, end = 0, min(len(one), len(other))
    while start + _BLOCK < end and one[start : start + _BLOCK] == other[start : start + _BLOCK]:
        start += _BLOCK
    stop = min(start + _BLOCK, end)
    while start < stop:
        middle = (start + stop + 1) // 2
        if one[start:middle] == other[start:middle]:
            start = middle
        else:
            stop = middle - 1
    return start


def excerpt(expected: str, actual: str) -> str:
    """The first difference of two texts that differ: line and column, both lines, a caret, a few lines around."""
    at = first_difference(expected, actual)
    line = expected.count("\n", 0, at) + 1
    start = expected.rfind("\n", 0, at) + 1
    column = at - start + 1
    shown_from = max(0, column - 1 - _BEFORE_COLUMN)
    width = len(str(line))
    rows = [f"Line {line}, column {column}: expected {_named(expected, at)}, got {_named(actual, at)}"]
    rows += [f"  {number:>{width}} | {_cut(text, shown_from)}" for number, text in _lines_before(expected, start, line)]
    wanted, found = _line_at(expected, start), _line_at(actual, start)
    rows.append(f"- {line:>{width}} | {_cut(wanted, shown_from)}{_no_newline(expected, start, wanted)}")
    rows.append(f"+ {line:>{width}} | {_cut(found, shown_from)}{_no_newline(actual, start, found)}")
    lead = visible(wanted[shown_from : column - 1], whole_line=False)
    rows.append(f"{' ' * (width + 5 + len(lead) + (shown_from > 0))}^")
    rows += _lines_after(expected, start + len(wanted), line, width)
    return "\n".join(rows)


def visible(text: str, *, whole_line: bool = True) -> str:
    """`text` with tabs, line ends, trailing blanks and invisible characters as signs or `<U+00A0>`."""
    shown = "".join(_NAMED.get(char) or (f"<U+{ord(char):04X}>" if _invisible(char) else char) for char in text)
    if not whole_line:
        return shown
    body = shown.rstrip("⏎␍→ ")
    return body + shown[len(body) :].replace(" ", "·")


def _invisible(char: str) -> bool:
    if " " <= char <= "~":
        return False
    return unicodedata.category(char) in ("Cc", "Cf", "Co", "Cs", "Cn", "Zs", "Zl", "Zp")


def _named(text: str, at: int) -> str:
    if at >= len(text):
        return "the end of the text"
    char = text[at]
    if char == "\n":
        return "the end of the line"
    if char == " ":
        return "a space"
    name = unicodedata.name(char, "") if not char.isascii() or _invisible(char) else ""
    return f'"{visible(char, whole_line=False)}"' + (f" ({name.lower()})" if name else "")


def _line_at(text: str, start: int) -> str:
    """The line that begins at `start`, with its end."""
    end = text.find("\n", start)
    return text[start:] if end < 0 else text[start : end + 1]


def _no_newline(text: str, start: int, line: str) -> str:
    if start > len(text) or (not line and start == len(text)):
        return "(no such line)"
    return "" if line.endswith("\n") else "  (no newline at the end)"


def _cut(line: str, start: int) -> str:
    piece = line[start : start + SHOWN_COLUMNS]
    before = "…" if start and line[:1] else ""
    return f"{before}{visible(piece)}{'…' if start + SHOWN_COLUMNS < len(line) else ''}"


def _lines_before(text: str, start: int, line: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    end = start
    while end > 0 and len(found) < CONTEXT_LINES:
        begin = text.rfind("\n", 0, end - 1) + 1
        found.append((line - len(found) - 1, text[begin:end]))
        end = begin
    return found[::-1]


def _lines_after(text: str, start: int, line: int, width: int) -> list[str]:
    rows = []
    for number in range(line + 1, line + 1 + CONTEXT_LINES):
        if start >= len(text):
            break
        found = _line_at(text, start)
        rows.append(f"  {number:>{width}} | {_cut(found, 0)}")
        start += len(found)
    return rows
