"""Has the process behind a socket do a command with our descriptors, and ends as it ends. Starts in no time."""

import json
import os
import signal
import socket
import sys


def main() -> None:
    connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    asked = {"arguments": sys.argv[2:], "folder": os.getcwd(), "environment": dict(os.environ)}  # noqa: PTH109  # pathlib takes time to import
    message = json.dumps(asked).encode("ascii")
    socket.send_fds(connection, [len(message).to_bytes(8, "big")], [0, 1, 2])
    connection.sendall(message)
    for forwarded in (signal.SIGINT, signal.SIGTERM):
        signal.signal(forwarded, lambda number, _: connection.sendall(bytes([number])))
    # Ours are of no use any more, and whoever reads should see the end when the command closes its own.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    status = os.waitstatus_to_exitcode(int.from_bytes(connection.recv(8, socket.MSG_WAITALL), "big"))
    if status < 0:
        signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
