"""A warden within reach of the programs that it runs: one of the same user, or in the same sandbox."""

from __future__ import annotations

import contextlib
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import TypeVar

from slop_code.execution.commands import Command, Outcome
from slop_code.execution.process import Warden, WardenLostError

Answer = TypeVar("Answer")


class ReachableWarden:
    """Passes everything on to a warden. A program that kills it has ended, with everything that it started.

    That is the program's own doing, and no error: what is asked of it after that says how it ended.
    """

    def __init__(self, warden: Warden) -> None:
        self._warden = warden
        self._fate: Outcome | None = None
        self._started = time.monotonic()
        self._closed = threading.Event()

    @property
    def is_spoiled(self) -> bool:
        """Whether the next command should get another one."""
        return self._warden.is_spoiled

    def run(self, command: Command) -> Outcome:
        self._started = time.monotonic()
        return self._asked(lambda: self._warden.run(command))

    def start(self, command: Command) -> None:
        self._started = time.monotonic()
        self._asked(lambda: self._warden.start(command))

    def state(self) -> Outcome | None:
        return self._asked(self._warden.state)

    def last_words(self) -> bytes:
        words = self._asked(self._warden.last_words)
        return words.stderr if isinstance(words, Outcome) else words

    def stop(self) -> Outcome:
        return self._asked(self._warden.stop)

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        connection = self._asked(lambda: self._warden.connect(host, port, timeout))
        if isinstance(connection, Outcome):
            raise ConnectionRefusedError(connection.note)
        return connection

    def close(self, *, keep_folders: bool = False) -> None:
        """End it, with or without the folders that it should remove."""
        if keep_folders and self._fate is None:
            with contextlib.suppress(WardenLostError):
                self._warden.keep_folders()
        self._closed.set()
        self._warden.close()

    def _asked(self, question: Callable[[], Answer]) -> Answer | Outcome:
        """The warden's answer, or how the program ended that killed it.

        Raises:
            WardenLostError: it is gone for another reason, such as our own `close`.
        """
        if self._fate is None:
            try:
                return question()
            except WardenLostError:
                self._warden.close()
                if self._closed.is_set() or not self._warden.was_killed:
                    raise
                self._fate = self._ended_with_its_helper()
        return self._fate

    def _ended_with_its_helper(self) -> Outcome:
        return Outcome(
            status=-signal.SIGKILL,
            stdout=b"",
            stderr=b"",
            timed_out=False,
            wall_s=time.monotonic() - self._started,
            cpu_s=0.0,
            peak_memory=0,
            note="it killed the helper process that watched over it",
        )
