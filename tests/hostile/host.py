"""What a submission might want of the machine that judges it, planted where a plain process can reach it."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import socket
import tempfile
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

TOKEN = "the-secret-of-the-host"


class Host:
    """Files, sockets and ports that tell `TOKEN` to whoever gets at them."""

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="hostile-host-", dir="/tmp"))
        # Nobody is kept out by the modes of files: that would prove nothing.
        self.folder.chmod(0o777)
        self.secret = self._file("secret.txt")
        self.expected = self._file("problem/one/core/expected-results.yaml")
        self.target = self._file("target.txt")
        self.abstract = f"hostile-{secrets.token_hex(8)}"
        self._over = threading.Event()
        self._threads: list[threading.Thread] = []
        self._sockets: list[socket.socket] = []
        self.port = self._tells(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        self.unix = str(self.folder / "socket")
        self._tells(_listening(self.unix))
        Path(self.unix).chmod(0o777)
        self._tells(_listening(f"\0{self.abstract}"))
        datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        datagrams.bind(("127.0.0.1", 0))
        self.datagram_port = datagrams.getsockname()[1]
        self._run(_echo, datagrams)

    def close(self) -> None:
        self._over.set()
        for thread in self._threads:
            thread.join()
        for sock in self._sockets:
            sock.close()
        shutil.rmtree(self.folder)

    @contextlib.contextmanager
    def visiting(self, port: int) -> Iterator[list[str]]:
        """Keep trying to get into a port of this machine; gives what came of it."""
        over = threading.Event()
        came_in: list[str] = []

        def visit() -> None:
            while not over.wait(0.01) and not came_in:
                with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 0.2):
                    came_in.append("somebody came in")

        thread = threading.Thread(target=visit)
        thread.start()
        try:
            yield came_in
        finally:
            over.set()
            thread.join()

    def _file(self, name: str) -> Path:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(TOKEN)
        path.chmod(0o666)
        return path

    def _tells(self, listener: socket.socket) -> socket.socket:
        self._run(_tell, listener)
        return listener

    def _run(self, work: Callable[[socket.socket, threading.Event], None], sock: socket.socket) -> None:
        sock.settimeout(0.1)
        self._sockets.append(sock)
        self._threads.append(threading.Thread(target=work, args=(sock, self._over), daemon=True))
        self._threads[-1].start()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _listening(name: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(name)
    listener.listen()
    return listener


def _tell(listener: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(OSError):
            client, _ = listener.accept()
            with client:
                client.sendall(TOKEN.encode())


def _echo(sock: socket.socket, over: threading.Event) -> None:
    while not over.is_set():
        with contextlib.suppress(OSError):
            _, sender = sock.recvfrom(100)
            sock.sendto(TOKEN.encode(), sender)
