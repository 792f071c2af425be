"""The code blocks of a Markdown file, for tests that execute them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```([\w+-]*)[^\n]*\n(.*?)^```\s*$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, its text, the line it starts on, and the heading above it."""

    language: str
    text: str
    line: int
    heading: str


def blocks(path: Path, language: str | None = None) -> list[Block]:
    """The blocks of `path`, or those in one language."""
    text = path.read_text(encoding="utf-8")
    found = []
    for match in FENCE.finditer(text):
        above = text[: match.start()]
        headings = re.findall(r"^#+ (.*)$", FENCE.sub("", above), re.MULTILINE)
        block = Block(match[1], match[2], above.count("\n") + 2, headings[-1] if headings else "")
        if language in (None, block.language):
            found.append(block)
    return found
