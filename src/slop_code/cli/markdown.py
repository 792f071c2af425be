"""Markdown in which nothing that a submission printed can become anything but text."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from slop_code.cli.console import harmless
from slop_code.cli.styling import one_line

_WIDTH = 1_000


def code(text: str) -> str:
    """`text` on one line and as it is, also within a table."""
    shown = one_line(text, _WIDTH) or " "
    ticks = _longer_than_any(shown, 1)
    padding = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{padding}{shown}{padding}{ticks}"


def cell(text: str) -> str:
    """Markdown that is made by us, as a cell of a table, which no bar in it can split."""
    # A backslash in front of a bar must not be taken for the one that we put there.
    return re.sub(r"(\\*)\|", lambda match: match[1] + "\\" * (len(match[1]) % 2) + r"\|", text)


def fenced(lines: Iterable[str]) -> list[str]:
    """Lines as a block of text."""
    shown = [harmless(line) for line in lines]
    ticks = _longer_than_any("\n".join(shown), 3)
    return [f"{ticks}text", *shown, ticks]


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1) -> list[str]:
    """A table whose first `left` columns are text and the others numbers."""
    marks = ["---"] * left + ["---:"] * (len(header) - left)
    lines = [header, marks, *([cell(text) for text in row] for row in rows)]
    return [f"| {' | '.join(line)} |" for line in lines]


def _longer_than_any(text: str, least: int) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    return "`" * max(least, longest + 1)
