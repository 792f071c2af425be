"""Colours and widths of what is printed for people."""

from __future__ import annotations

import shutil
import unicodedata
from typing import NamedTuple

from slop_code.cli.console import harmless

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "magenta": "35", "cyan": "36"}
OUTCOME_STYLES = {"passed": "green", "failed": "red", "timed out": "yellow", "error": "magenta"}
_WIDE = ("W", "F")


class Paint(NamedTuple):
    """Puts text in a style, or leaves it as it is where there are no colours."""

    colours: bool

    def __call__(self, text: str, style: str) -> str:
        return f"\x1b[{_CODES[style]}m{text}\x1b[0m" if self.colours and text else text


PLAIN = Paint(colours=False)


def terminal_width() -> int:
    """How many columns there are, within what people can read; 100 where nobody knows."""
    return max(40, min(shutil.get_terminal_size((100, 24)).columns, 160))


def one_line(text: str, width: int) -> str:
    """The beginning of `text` that fits into `width` columns, harmless and on one line."""
    # More than this cannot fit, however narrow the characters are; the rest need not be looked at.
    shown = harmless(text[: width * 2 + 1]).replace("\t", " ").replace("\n", "⏎")
    if len(text) <= width * 2 and columns(shown) <= width:
        return shown
    taken = 0
    for index, char in enumerate(shown):
        taken += columns(char)
        if taken > width - 1:
            return f"{shown[:index]}…"
    return f"{shown}…"


def columns(text: str) -> int:
    """How many columns `text` takes on a terminal."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in _WIDE else 1 for char in text
    )


def seconds(value: float) -> str:
    """A time as people read it: `0.03 s`, `4.2 s`, `3 min 05 s`."""
    if value < 9.995:
        return f"{value:.2f} s"
    if value < 99.95:
        return f"{value:.1f} s"
    minutes, rest = divmod(round(value), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"
