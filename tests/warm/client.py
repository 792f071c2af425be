"""Has the process behind a socket do a command with our descriptors, and ends as it ends.

It starts hundreds of times in a run of the tests, so it takes the modules that others are wrapped around: they are there
at once, and `socket`, `signal` and `json` take longer to import than the interpreter takes to start.
"""

import _signal  # type: ignore[import-not-found]
import _socket
import os
import sys


def main() -> None:
    connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    connection.connect(sys.argv[1])
    arguments, environment = sys.argv[2:], [f"{name}={value}" for name, value in os.environ.items()]
    words = [os.getcwd(), str(len(arguments)), *arguments, *environment]  # noqa: PTH109  # pathlib takes time to import
    message = b"\0".join(map(os.fsencode, words))
    descriptors = b"".join(number.to_bytes(4, sys.byteorder) for number in range(3))
    size = len(message).to_bytes(8, "big")
    connection.sendmsg([size], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, descriptors)])
    connection.sendall(message)
    for forwarded in (_signal.SIGINT, _signal.SIGTERM):
        _signal.signal(forwarded, lambda number, _: connection.sendall(bytes([number])))
    # Ours are of no use any more, and whoever reads should see the end when the command closes its own.
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nowhere, number)
    status = os.waitstatus_to_exitcode(int.from_bytes(connection.recv(8, _socket.MSG_WAITALL), "big"))
    if status < 0:
        _signal.signal(-status, _signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    os._exit(status)


main()
