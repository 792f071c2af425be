"""Imports slop-code once, and forks for each command that comes through a socket.

Its arguments are the socket and a descriptor: when that reads as closed, it ends.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import selectors
import shutil
import signal
import socket
import sys
import threading
import traceback
from pathlib import Path
from typing import NamedTuple, NoReturn

from slop_code import command as slop_code_command
from tests.warm.ahead import import_everything


class _Request(NamedTuple):
    folder: str
    arguments: list[str]
    environment: dict[str, str]


def main() -> None:
    place, life = Path(sys.argv[1]), int(sys.argv[2])
    command, own = None, os.getpid()
    try:
        listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listening.bind(str(place))
        listening.listen(64)
        import_everything()
        command = _serve(listening, life)
    finally:
        if os.getpid() == own:
            shutil.rmtree(place.parent, ignore_errors=True)
    if command is not None:
        _run(command)


def _run(command: list[str]) -> NoReturn:
    """Do a command in a child, and end as an interpreter does, but without clearing up what it shares with us."""
    program, *arguments = command
    code: object = 0
    try:
        if program == "slop-code":
            sys.argv = command
            slop_code_command.main()
        else:
            sys.argv = ["-c", *arguments[1:]]
            exec(compile(arguments[0], "<string>", "exec", dont_inherit=True), {"__name__": "__main__"})
    except SystemExit as stop:
        code = stop.code
    except BaseException:  # noqa: BLE001  # as an interpreter would
        traceback.print_exc()
        code = 1
    if code is not None and not isinstance(code, int):
        print(code, file=sys.stderr)
        code = 1
    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code or 0)


def _serve(listening: socket.socket, life: int) -> list[str] | None:
    """Fork for each command. Returns its words in the child, and None when there will be no more."""
    ended, told = os.pipe()
    for descriptor in (ended, told):
        os.set_blocking(descriptor, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    children: dict[int, socket.socket] = {}
    chosen = selectors.DefaultSelector()
    for source in (listening, life, ended):
        chosen.register(source, selectors.EVENT_READ)
    os.write(1, b"ready\n")
    while True:
        for key, _ in chosen.select():
            if key.fileobj == life:
                for child in children:
                    os.kill(child, signal.SIGKILL)
                return None
            if key.fileobj == ended:
                os.read(ended, 4096)
                _collect(children, chosen)
            elif key.fileobj is listening:
                connection = listening.accept()[0]
                asked, descriptors = _request(connection)
                child = os.fork()
                if child == 0:
                    signal.set_wakeup_fd(-1)
                    for number in (signal.SIGCHLD, signal.SIGINT):
                        signal.signal(number, signal.SIG_DFL)
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                    chosen.close()
                    for one in (listening, connection, *children.values()):
                        one.close()
                    for descriptor in (life, ended, told):
                        os.close(descriptor)
                    _become(asked, descriptors)
                    return asked.arguments
                for descriptor in descriptors:
                    os.close(descriptor)
                children[child] = connection
                chosen.register(connection, selectors.EVENT_READ, child)
            else:
                _forward(key.data, children[key.data], chosen)


def _request(connection: socket.socket) -> tuple[_Request, list[int]]:
    size, descriptors, _, _ = socket.recv_fds(connection, 8, 3)
    message = b""
    while len(message) < int.from_bytes(size, "big"):
        message += connection.recv(65536)
    folder, count, *words = map(os.fsdecode, message.split(b"\0"))
    arguments, environment = words[: int(count)], words[int(count) :]
    return _Request(folder, arguments, dict(word.split("=", 1) for word in environment)), descriptors


def _become(asked: _Request, descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(asked.folder)
    os.environ.clear()
    os.environ.update(asked.environment)
    for number, stream, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        errors, buffering = ("backslashreplace", 1) if number == 2 else ("strict", -1)
        opened = open(number, mode, buffering, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        setattr(sys, stream, opened)
        setattr(sys, f"__{stream}__", opened)


def _collect(children: dict[int, socket.socket], chosen: selectors.BaseSelector) -> None:
    with contextlib.suppress(ChildProcessError):
        while True:
            child, status = os.waitpid(-1, os.WNOHANG)
            if child == 0:
                return
            connection = children.pop(child)
            with contextlib.suppress(KeyError, ValueError):
                chosen.unregister(connection)
            with contextlib.suppress(OSError):
                connection.sendall(status.to_bytes(8, "big"))
            connection.close()


def _forward(child: int, connection: socket.socket, chosen: selectors.BaseSelector) -> None:
    """A signal for a command; or the one who asked for it is gone, and it goes too."""
    try:
        numbers = connection.recv(64)
    except OSError:
        numbers = b""
    if not numbers:
        chosen.unregister(connection)
    for number in numbers or [signal.SIGKILL]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, number)
