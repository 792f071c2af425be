"""Printing: machine-readable output to stdout, everything for people to stderr."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Sequence
from typing import TextIO

from slop_code.descriptors import occupy_missing

# Whatever moves a cursor, changes colours, turns the direction of writing or cannot be seen at all.
_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"
    "\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff\U000f0000-\U0010ffff]"
)


def note(text: str) -> None:
    """Tell a person something. Control characters in it are shown, not sent to the terminal."""
    tell(harmless(text))


def tell(text: str) -> None:
    """Print `text` to stderr as it is, for texts with colours of our own."""
    # Through the sys.stderr of the moment: a live display puts itself there, to stay below what is printed.
    if sys.stderr is not None:
        # That nobody can be told changes nothing about what happened.
        with contextlib.suppress(OSError, ValueError):
            print(text, file=sys.stderr, flush=True)


def emit(text: str) -> None:
    """Give a machine what it asked for, with a newline. A reader that has gone away is no error."""
    try:
        print(text, flush=True)
    except BrokenPipeError:
        _discard_stdout()


def harmless(text: str) -> str:
    """`text` with everything that could steer a terminal as `<U+001B>`; newlines and tabs stay."""
    return _HARMFUL.sub(_shown, text)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns, left-aligned, with a header."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a person looks at `stream`, on something that understands cursor movements."""
    try:
        return stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb"
    except ValueError:  # it is closed
        return False


def wants_colour(stream: TextIO | None) -> bool:
    """Whether to use colours on `stream`: on terminals, unless NO_COLOR is set."""
    return is_terminal(stream) and not os.environ.get("NO_COLOR")


def protect_stdout() -> None:
    """Keep stdout for what we print ourselves through `sys.stdout`.

    File descriptor 1 becomes stderr, so that whatever authors' code, its C libraries or its subprocesses write there
    cannot come between the lines that a machine reads. What we print is UTF-8, whatever the locale says.
    """
    occupy_missing()
    own = os.dup(1)
    if sys.stdout is not None:
        sys.stdout.flush()
    os.dup2(2, 1)
    # In JSON, a lone surrogate written with a backslash is the same string.
    sys.stdout = open(own, "w", encoding="utf-8", errors="backslashreplace")  # noqa: PTH123, SIM115


def finish_stdout() -> None:
    """Flush what is left, so that the interpreter has nothing to complain about when it ends."""
    if sys.stdout is None or sys.stdout.closed:
        return
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        _discard_stdout()


def _discard_stdout() -> None:
    with contextlib.suppress(OSError, ValueError), open(os.devnull, "wb") as nowhere:  # noqa: PTH123  # a Path would have to be imported
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _shown(match: re.Match[str]) -> str:
    return "␍" if match[0] == "\r" else f"<U+{ord(match[0]):04X}>"
