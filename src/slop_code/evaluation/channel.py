"""Python objects, and open files, between two processes of ours."""

from __future__ import annotations

import contextlib
import pickle
import socket
import struct
from collections.abc import Sequence
from typing import Any

# What begins every message: code of authors that writes to a descriptor which is not its own does not.
_MARK = b"slop"
_HEAD = struct.Struct(">4sQ")


class ChannelClosed(Exception):  # noqa: N818  # it is the other side's end, not a mistake
    """The other process is gone."""


class Channel:
    """One end of a connection. For one thread at a time, but `close` may be called from any."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    @classmethod
    def pair(cls) -> tuple[Channel, Channel]:
        """Both ends of a new connection."""
        ours, theirs = socket.socketpair()
        return cls(ours), cls(theirs)

    @classmethod
    def from_descriptor(cls, descriptor: int) -> Channel:
        """The end that was received as an open file."""
        return cls(socket.socket(fileno=descriptor))

    def fileno(self) -> int:
        return self._connection.fileno()

    def send(self, message: Any, descriptors: Sequence[int] = ()) -> None:
        """Send an object; nothing is sent if it cannot be pickled.

        Raises:
            ChannelClosed: nobody is there.
        """
        body = pickle.dumps(message, pickle.HIGHEST_PROTOCOL)
        head = _HEAD.pack(_MARK, len(body))
        try:
            if descriptors:
                socket.send_fds(self._connection, [head], list(descriptors))
                self._connection.sendall(body)
            elif len(body) < 1 << 16:
                self._connection.sendall(head + body)
            else:
                self._connection.sendall(head)
                self._connection.sendall(body)
        except OSError as error:
            raise ChannelClosed from error

    def receive(self, patience_s: float | None = None) -> Any:
        """The next object.

        Raises:
            TimeoutError: none began to arrive in time.
            ChannelClosed: nobody is there any more, or somebody else writes there.
        """
        return self.receive_with_descriptors(patience_s)[0]

    def receive_with_descriptors(self, patience_s: float | None = None) -> tuple[Any, list[int]]:
        """The next object, and the open files that came with it."""
        try:
            self._connection.settimeout(patience_s)
            head, descriptors, _, _ = socket.recv_fds(self._connection, _HEAD.size, 4)
            head += self._exactly(_HEAD.size - len(head)) if head else b""
            if not head:
                raise ChannelClosed
            mark, size = _HEAD.unpack(head)
            if mark != _MARK:
                raise ChannelClosed
            self._connection.settimeout(None)
            return pickle.loads(self._exactly(size)), descriptors  # noqa: S301  # our own process
        except TimeoutError:
            raise
        except OSError as error:
            raise ChannelClosed from error

    def close(self) -> None:
        """Let the other side know; a `receive` in another thread ends."""
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    def close_copy(self) -> None:
        """Close what a forked process has inherited of this end; the parent's stays as it is."""
        self._connection.close()

    def _exactly(self, count: int) -> bytearray:
        data = bytearray(count)
        view = memoryview(data)
        while view:
            received = self._connection.recv_into(view)
            if not received:
                raise ChannelClosed
            view = view[received:]
        return data
