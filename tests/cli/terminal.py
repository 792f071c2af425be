"""Running a command with a terminal for stderr, and what that terminal shows in the end."""

from __future__ import annotations

import errno
import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
SLOP_CODE = [sys.executable, "-c", "from slop_code.command import main; main()"]


@dataclass(frozen=True, slots=True)
class Shown:
    """What a command gave: its exit code, stdout as bytes, and everything that went to the terminal."""

    code: int
    stdout: bytes
    sent: str

    @property
    def screen(self) -> list[str]:
        """The lines that are left on the terminal."""
        return screen_of(self.sent)


def on_terminal(
    command: list[str],
    *,
    width: int = 100,
    env: Mapping[str, str] | None = None,
    typed: str | None = None,
    cwd: Path = ROOT,
    while_running: Callable[[subprocess.Popen[bytes], Callable[[], str]], None] | None = None,
) -> Shown:
    """Run `command` with stderr (and stdin, when something is `typed`) on a pseudo-terminal.

    `while_running` is given the process and a function that returns what was sent so far.
    """
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 50, width, 0, 0))
    sent: list[bytes] = []
    own = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "NO_COLOR"}}
    process = subprocess.Popen(
        command,
        cwd=cwd,
        env={**own, "TERM": "xterm-256color", **(env or {})},
        stdin=terminal if typed is not None else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=terminal,
    )
    os.close(terminal)
    reader = threading.Thread(target=_read_all, args=(controller, sent))
    reader.start()
    try:
        if typed is not None:
            os.write(controller, typed.encode())
        if while_running is not None:
            while_running(process, lambda: b"".join(sent).decode("utf-8", "replace"))
        stdout, _ = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
        reader.join()
        os.close(controller)
    return Shown(process.returncode, stdout, b"".join(sent).decode("utf-8", "replace"))


def _read_all(controller: int, into: list[bytes]) -> None:
    while True:
        try:
            data = os.read(controller, 65536)
        except OSError as error:
            if error.errno != errno.EIO:  # which means that nobody holds the other end any more
                raise
            return
        if not data:
            return
        into.append(data)


_PIECE = re.compile(r"\x1b\[([0-9;?]*)([A-Za-z])|([\r\n])|([^\x1b\r\n]+)")


def screen_of(sent: str) -> list[str]:
    """What a terminal shows after `sent`: as much of one as our output needs; anything else raises."""
    lines: list[str] = [""]
    row = column = 0
    position = 0
    while position < len(sent):
        match = _PIECE.match(sent, position)
        if match is None:
            raise AssertionError(f"not understood: {sent[position : position + 20]!r}")
        position = match.end()
        argument, command, end, text = match.groups()
        if text:
            lines[row] = lines[row][:column].ljust(column) + text + lines[row][column + len(text) :]
            column += len(text)
        elif end == "\r":
            column = 0
        elif end == "\n":
            row += 1
            if row == len(lines):
                lines.append("")
        elif command == "A":
            row = max(0, row - int(argument or 1))
        elif command == "K" and argument == "2":
            lines[row] = ""
        elif command not in "mhl":
            raise AssertionError(f"not understood: {match[0]!r}")
    return [line.rstrip() for line in lines]
