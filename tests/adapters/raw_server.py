"""Servers that say exactly what a test tells them to, byte by byte."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Self

Script = Callable[["Talk"], None]


class Talk:
    """One accepted connection, as a script sees it."""

    def __init__(self, server: RawServer, sock: socket.socket) -> None:
        self.server = server
        self.sock = sock

    def read(self) -> bytes:
        """One request: its head, and as much body as it says. Ends the script if the client hangs up."""
        data = b""
        while b"\r\n\r\n" not in data:
            data += self._some()
        head, _, body = data.partition(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        while len(body) < length:
            body += self._some()
        self.server.requests.append(head + b"\r\n\r\n" + body)
        return self.server.requests[-1]

    def say(self, data: bytes) -> None:
        self.sock.sendall(data)

    def answer(self, body: bytes = b"ok", *headers: str, status: str = "200 OK") -> None:
        lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers]
        self.say("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def drip(self, data: bytes) -> None:
        """Say `data` again and again, a little at a time, until the test is over."""
        while not self.server.over.wait(0.002):
            self.say(data)

    def flood(self, data: bytes) -> None:
        while not self.server.over.is_set():
            self.say(data)

    def hang(self) -> None:
        self.server.over.wait()

    def _some(self) -> bytes:
        data = self.sock.recv(1 << 16)
        if not data:
            raise ConnectionResetError
        return data


class RawServer:
    """Plays the first script on the first connection, the second on the second, and the last on all the others."""

    def __init__(self, *scripts: Script, listener: socket.socket | None = None) -> None:
        self._scripts = scripts
        self._listener = listener or socket.create_server(("127.0.0.1", 0))
        self._acceptor = threading.Thread(target=self._accept)
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.address = self._listener.getsockname()
        self.base_url = f"http://127.0.0.1:{self.address[1]}"
        self.over = threading.Event()
        self.requests: list[bytes] = []
        self.connections = 0

    def connect(self, left: float) -> socket.socket:
        return socket.create_connection(self.address, timeout=left)

    def stop(self) -> None:
        """Hang up on everybody, as a server does that dies."""
        self.over.set()
        _hang_up(self._listener)
        self._acceptor.join()
        for sock in self._sockets:
            _hang_up(sock)
        for thread in self._threads:
            thread.join()
        for sock in (self._listener, *self._sockets):
            sock.close()

    def __enter__(self) -> Self:
        self._acceptor.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _accept(self) -> None:
        while not self.over.is_set():
            try:
                sock, _ = self._listener.accept()
            except OSError:
                return
            script = self._scripts[min(self.connections, len(self._scripts) - 1)]
            self.connections += 1
            self._sockets.append(sock)
            self._threads.append(threading.Thread(target=self._play, args=(sock, script)))
            self._threads[-1].start()

    def _play(self, sock: socket.socket, script: Script) -> None:
        with contextlib.suppress(OSError):
            script(Talk(self, sock))
        sock.close()


def _hang_up(sock: socket.socket) -> None:
    with contextlib.suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)
