"""The standard streams as problem scripts see them: whatever they print, close or replace, ours stay as they are."""

from __future__ import annotations

import io
import sys
from typing import Any


class _ScriptBytes(io.RawIOBase):
    """The `buffer` of a `ScriptOutput`."""

    def __init__(self, text: ScriptOutput) -> None:
        super().__init__()
        self._text = text

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        content = bytes(data)
        target = self._text.target
        buffer = getattr(target, "buffer", None)
        if buffer is None:
            self._text.write(content.decode(errors="replace"))
        else:
            target.flush()
            buffer.write(content)
            buffer.flush()
        return len(content)

    def flush(self) -> None:
        self._text.flush()

    def isatty(self) -> bool:
        return self._text.isatty()

    def fileno(self) -> int:
        return self._text.fileno()

    def close(self) -> None:
        """Only flush: a script's wrapper closes what it wraps when it is thrown away."""
        self.flush()


class ScriptOutput(io.TextIOBase):
    """Writes to the stderr of the moment. It can be wrapped, closed and detached, and nothing of ours closes."""

    def __init__(self) -> None:
        super().__init__()
        self.shielded: Any = None
        self.bytes = _ScriptBytes(self)

    @property
    def target(self) -> Any:
        """Our stderr: the one that was set aside, or, between two blocks, the one that is in place."""
        return self.shielded if self.shielded is not None else sys.stderr

    @property
    def buffer(self) -> Any:
        return self.bytes

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self.target, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return getattr(self.target, "errors", None) or "backslashreplace"

    def write(self, text: str) -> int:
        target = self.target
        if target is not None:
            target.write(text)
        return len(text)

    def writable(self) -> bool:
        return True

    def flush(self) -> None:
        target = self.target
        if target is not None and not getattr(target, "closed", False):
            target.flush()

    def isatty(self) -> bool:
        return bool(self.target is not None and self.target.isatty())

    def fileno(self) -> int:
        if self.target is None:
            raise io.UnsupportedOperation("fileno")
        number: int = self.target.fileno()
        return number

    def reconfigure(self, **_: Any) -> None:
        """Accepted and without effect: the encoding is that of our stderr."""

    def detach(self) -> Any:
        return self.bytes

    def close(self) -> None:
        """Only flush."""
        self.flush()


_output = ScriptOutput()


def set_streams_aside() -> tuple[Any, ...]:
    """Make what is printed go to stderr until what this returns is given to `put_streams_back`.

    The caller sees to it that two threads do not do so at the same time; one may do so again.
    """
    before = sys.stdin, sys.stdout, sys.stderr, _output.shielded
    if _output.shielded is None:
        _output.shielded = sys.stderr
    sys.stdout = sys.stderr = _output
    return before


def put_streams_back(before: tuple[Any, ...]) -> None:
    """Make the three streams the ones of before, whatever a script put there."""
    sys.stdin, sys.stdout, sys.stderr, _output.shielded = before
