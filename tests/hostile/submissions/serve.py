"""What the hostile servers share: a port to listen on, and what a client asked for."""

import socket
import sys
from collections.abc import Iterator

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"


def port() -> int:
    return int(sys.argv[sys.argv.index("--port") + 1])


def listening() -> socket.socket:
    return socket.create_server(("127.0.0.1", port()), backlog=50)


def visitors() -> Iterator[socket.socket]:
    """Connections, one after another, that have asked for something besides the health of the server."""
    listener = listening()
    while True:
        client, _ = listener.accept()
        if b" /health " in asked(client):
            client.sendall(OK)
            client.close()
        else:
            yield client


def asked(client: socket.socket) -> bytes:
    request = b""
    while b"\r\n\r\n" not in request:
        if not (part := client.recv(65536)):
            break
        request += part
    return request
