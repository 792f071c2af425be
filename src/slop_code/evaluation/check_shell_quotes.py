"""What is quoted in a shell line, and quotes that do not quote what they seem to."""

from __future__ import annotations

import string
from collections.abc import Sequence
from dataclasses import dataclass, field

QUOTED = "\x01"
"""Stands for a character that means itself."""
QUOTED_DOLLAR = "\x02"
"""Stands for a dollar sign in double quotes, where it still means a variable."""

# Before a backslash's way out: blanks, quotes, and what the shell would otherwise interpret.
_WORTH_ESCAPING = frozenset(" \t\n\\'\"$`*?[]{}()<>|&;#~!=")
# With the names of variables, which mean nothing by themselves.
_LIVE_IN_DOUBLE_QUOTES = frozenset("$`{}_" + string.ascii_letters + string.digits)


@dataclass(frozen=True, slots=True)
class QuoteTrouble:
    """What the shell makes of a quote or a backslash in the argument at `index`."""

    index: int
    message: str


@dataclass
class Reading:
    """The arguments with everything that is quoted replaced by `QUOTED`, and what is odd about their quotes."""

    bare: list[str] = field(default_factory=list)
    troubles: list[QuoteTrouble] = field(default_factory=list)


def read_quotes(texts: Sequence[str]) -> Reading:
    """Read the arguments as the shell reads them in one line: a quote may end in a later one."""
    reading = Reading()
    opened: _Quote | None = None
    for index, text in enumerate(texts):
        bare = list(text)
        position = 0
        while position < len(text):
            sign = text[position]
            if opened is not None:
                width = 2 if sign == "\\" and opened.sign == '"' and position + 1 < len(text) else 1
                if width == 2 or sign not in _LIVE_IN_DOUBLE_QUOTES or opened.sign == "'":
                    bare[position : position + width] = QUOTED * width
                elif sign == "$":
                    bare[position] = QUOTED_DOLLAR
                if sign == opened.sign:
                    _note_odd_end(opened, index, position, texts, reading)
                    opened = None
            elif sign in "'\"":
                opened = _Quote(sign, index, position)
                bare[position] = QUOTED
                _note_odd_start(opened, text, bare, reading)
                width = 1
            elif sign == "\\":
                width = 2 if position + 1 < len(text) else 1
                following = text[position + 1 : position + 2]
                if following and following not in _WORTH_ESCAPING:
                    message = f'the shell makes "{following}" of "\\{following}"'
                    reading.troubles.append(QuoteTrouble(index, message))
                elif not following and index + 1 < len(texts):
                    message = (
                        f"its backslash quotes the blank behind it, so that argument {index + 2} becomes a part of it"
                    )
                    reading.troubles.append(QuoteTrouble(index, message))
                bare[position : position + width] = QUOTED * width
            else:
                width = 1
            position += width
        reading.bare.append("".join(bare))
    if opened is not None:
        message = f"its quote ({opened.sign}) is never closed, so the shell runs nothing at all"
        # Whatever else is odd about the line, this is worse.
        reading.troubles.insert(0, QuoteTrouble(opened.index, message))
    return reading


@dataclass(frozen=True, slots=True)
class _Quote:
    sign: str
    index: int
    position: int


def _note_odd_start(quote: _Quote, text: str, bare: Sequence[str], reading: Reading) -> None:
    before = text[quote.position - 1] if quote.position else ""
    is_bare = quote.position > 0 and bare[quote.position - 1] != QUOTED
    if is_bare and (before.isalnum() or before in "{["):
        message = f"the shell takes its quotes ({quote.sign}) away"
        reading.troubles.append(QuoteTrouble(quote.index, message))


def _note_odd_end(quote: _Quote, index: int, position: int, texts: Sequence[str], reading: Reading) -> None:
    """A quote over several arguments is fine where it surrounds whole words, as in a line that was split at blanks."""
    if index == quote.index:
        return
    starts_well = quote.position == 0 or texts[quote.index][quote.position - 1] == "="
    if not starts_well or position != len(texts[index]) - 1:
        message = f"its quote ({quote.sign}) goes on until argument {index + 1}"
        reading.troubles.append(QuoteTrouble(quote.index, message))
