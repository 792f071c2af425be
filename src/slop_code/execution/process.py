"""Running commands through a warden: the evaluator's side.

A `Warden` is a helper process (see `warden`) that starts one command at a time and ends all that it started.
Starting a warden costs some 30 ms, once per worker; a command through it costs little more than the bare process.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from slop_code.execution.cgroup import ControlGroup
from slop_code.execution.commands import Command, Outcome
from slop_code.execution.errors import ExecutionError

WARDEN_FOLDER = Path(__file__).with_name("warden")
# Numbers of descriptors that a warden keeps for the `files` of its commands.
ARGUMENTS_FD, FILTER_FD = 7, 8
# How much longer than a command's own timeout we wait for the warden before we take it for broken.
_PATIENCE_S = 60.0
# How much is read at once; nearly all answers are shorter.
_CHUNK = 1 << 16
# The exit code of a warden's guard from which on a signal ended the warden: `KILLED` there, or what bubblewrap says.
_KILLED = 70
# How long one may take to end that does not answer as it should.
_LAST_PATIENCE_S = 2.0


class WardenLostError(ExecutionError):
    """The helper process is gone or does not answer."""


class Warden:
    """A helper process that starts commands and ends everything that they started. For one thread at a time.

    `is_spoiled` once it is lost, or somebody did to it what could hinder the next command. Once it is closed,
    `was_killed` says whether somebody ended it by a signal.
    """

    _ahead: ClassVar[list[tuple[socket.socket, subprocess.Popen[bytes]]]] = []

    def __init__(
        self,
        channel: socket.socket,
        settings: Mapping[str, Any],
        process: subprocess.Popen[bytes] | None = None,
        group: ControlGroup | None = None,
    ) -> None:
        self._channel = channel
        self._process = process
        self._group = group
        self._closing = threading.Lock()
        self._told: dict[str, Any] = {}
        self._is_lost = False
        self.is_spoiled = False
        self.was_killed = False
        # If it is gone already, whoever asks it for something first is told so.
        with contextlib.suppress(WardenLostError):
            self._send(dict(settings))

    @classmethod
    def launch_ahead(cls) -> None:
        """Start one that `launch` will find ready; it ends with this process if it does not. Forks do not have it."""
        with contextlib.suppress(ExecutionError):
            channel, process = _launch([], sys.executable, [])
            os.register_at_fork(after_in_child=channel.close)
            cls._ahead.append((channel, process))

    @classmethod
    def launch(
        cls,
        *,
        rlimits: Mapping[str, int] | None = None,
        group: ControlGroup | None = None,
        remove: Sequence[Path] = (),
        prefix: Sequence[str] = (),
        python: str = sys.executable,
        pass_fds: Sequence[int] = (),
    ) -> Warden:
        """Start a warden on this machine, under limits that hold for all its commands.

        It removes the folders in `remove` when it ends, however that comes about; they need not be there yet. With a
        `group`, it and all that it starts are in it, and it is removed too. `prefix` is a command that runs the warden,
        by `python`, somewhere else.

        Raises:
            ExecutionError: this machine has no room for another process.
        """
        groups = group.limits if group is not None else ()
        settings = {
            "rlimits": dict(rlimits or {}),
            "groups": [(str(limit.folder), limit.file, limit.value) for limit in groups],
            "memory_groups": [str(limit.folder) for limit in groups if limit.file.startswith("memory.")],
            "remove": [str(path) for path in (*remove, *(limit.folder for limit in groups))],
        }
        ready = None
        if not prefix and python == sys.executable:
            # Another thread may be as quick.
            with contextlib.suppress(IndexError):
                ready = cls._ahead.pop()
        channel, process = ready or _launch(prefix, python, pass_fds)
        return cls(channel, settings, process, group)

    def enter(self, making: Sequence[str]) -> None:
        """Have it run its commands where `making`, a command, runs another one: in other mounts and another network.

        If it cannot go there, whoever has it run a command is told so.
        """
        with contextlib.suppress(WardenLostError):
            self._send({"op": "enter", "making": list(making)})

    def run(self, command: Command) -> Outcome:
        """Run a command to its end.

        Raises:
            ExecutionError: it cannot be started.
            WardenLostError: the warden is gone.
        """
        self._send({"op": "run", **self._news(command)}, command.stdin)
        patience = None if command.timeout is None else command.timeout + _PATIENCE_S
        return _outcome(*self._checked(*self._receive(patience)))

    def start(self, command: Command) -> None:
        """Start a command and leave it running until `stop`; of its streams the last part is kept."""
        self._send({"op": "start", **self._news(command)}, command.stdin)
        self._checked(*self._receive(_PATIENCE_S))

    def state(self) -> Outcome | None:
        """What the started command has given if it has ended, else None."""
        self._send({"op": "state"})
        header, payload = self._checked(*self._receive(_PATIENCE_S))
        return _outcome(header, payload) if header["ended"] else None

    def last_words(self) -> bytes:
        """The last part of what the started command has written to stderr so far."""
        self._send({"op": "state"})
        header, payload = self._checked(*self._receive(_PATIENCE_S))
        return payload[header["out"] : header["out"] + header["err"]]

    def stop(self) -> Outcome:
        """End the started command with everything that it started."""
        self._send({"op": "stop"})
        return _outcome(*self._checked(*self._receive(_PATIENCE_S)))

    def keep_folders(self) -> None:
        """Have it leave the folders that it should remove, when it ends: another one will."""
        self._send({"op": "keep"})
        self._receive(_PATIENCE_S)

    def connect(self, host: str, port: int, timeout: float) -> socket.socket:
        """A connection to a server, made from where the warden is.

        Raises:
            OSError: nobody listens there, or not in time.
        """
        self._send({"op": "connect", "host": host, "port": port, "timeout": timeout})
        fds: list[int] = []
        header, _ = self._receive(timeout + _PATIENCE_S, fds)
        if not fds:
            raise OSError(header.get("errno") or 0, header.get("error", "no connection"))
        return socket.socket(fileno=fds[0])

    def close(self) -> None:
        """End the warden and all that it runs; may be called from another thread, and twice."""
        with self._closing:
            with contextlib.suppress(OSError):
                self._channel.shutdown(socket.SHUT_RDWR)
            if self._process is not None:
                code = _end_of(self._process, _LAST_PATIENCE_S if self._is_lost else _PATIENCE_S)
                self.was_killed = not 0 <= code < _KILLED
            if self._group is not None:
                self._group.close()
            self._channel.close()

    def _news(self, command: Command) -> dict[str, Any]:
        """What the warden has to know of a command and does not know from the one before, which is most of it."""
        before, self._told = self._told, _request(command)
        return {name: value for name, value in self._told.items() if name not in before or before[name] != value}

    def _send(self, header: dict[str, Any], payload: bytes = b"") -> None:
        header["payload"] = len(payload)
        body = json.dumps(header).encode()
        try:
            self._channel.sendall(struct.pack(">I", len(body)) + body)
            if payload:
                self._channel.sendall(payload)
        except OSError as error:
            raise self._lost() from error

    def _receive(self, patience: float | None, fds: list[int] | None = None) -> tuple[dict[str, Any], bytes]:
        """The warden's answer; an open descriptor that it may come with is added to `fds`."""
        try:
            self._channel.settimeout(patience)
            if fds is None:
                data = bytearray(self._channel.recv(_CHUNK))
            else:
                received, fds[:], _, _ = socket.recv_fds(self._channel, _CHUNK, 1)
                data = bytearray(received)
            # Nothing follows an answer, so whatever comes is a part of it.
            self._read_up_to(4, data)
            (length,) = struct.unpack_from(">I", data)
            self._read_up_to(4 + length, data)
            header: dict[str, Any] = json.loads(data[4 : 4 + length])
            self.is_spoiled |= bool(header.get("spoiled"))
            self._read_up_to(4 + length + header["payload"], data)
            return header, bytes(memoryview(data)[4 + length :])
        except OSError as error:
            raise self._lost() from error

    def _read_up_to(self, count: int, data: bytearray) -> None:
        if len(data) >= count:
            return
        have = len(data)
        data.extend(bytes(count - have))
        with memoryview(data) as view:
            while have < count:
                received = self._channel.recv_into(view[have:])
                if not received:
                    raise ConnectionResetError
                have += received

    def _checked(self, header: dict[str, Any], payload: bytes) -> tuple[dict[str, Any], bytes]:
        if "failure" in header:
            # What it then knows of the command is not sure.
            self._told = {}
            raise ExecutionError(f"cannot be started: {header['failure']}")
        return header, payload

    def _lost(self) -> WardenLostError:
        self._is_lost = self.is_spoiled = True
        return WardenLostError("the helper process that runs commands is gone: it was killed from outside")


def warden_command(python: str, folder: Path) -> list[str]:
    """The command that starts a warden whose package is `folder`; its channel is to follow."""
    code = f"import sys; sys.path.append({str(folder.parent)!r}); import warden; warden.main()"
    return [python, "-I", "-S", "-c", code]


def _launch(
    prefix: Sequence[str], python: str, pass_fds: Sequence[int]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        try:
            process = subprocess.Popen(
                [*prefix, *warden_command(python, WARDEN_FOLDER), str(theirs.fileno())],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                pass_fds=[theirs.fileno(), *pass_fds],
                start_new_session=True,
                # Memory that held a large message goes back at once, so that jobs do not inherit it when forked.
                env={"MALLOC_MMAP_THRESHOLD_": str(1 << 18), "MALLOC_ARENA_MAX": "1"},
            )
        except OSError as error:
            ours.close()
            raise ExecutionError(f"no helper process can be started: {error.strerror}") from error
    return ours, process


def _end_of(process: subprocess.Popen[bytes], patience: float) -> int:
    """Wait for a warden's end, and bring it about if it does not come; its exit code."""
    if not _ends_within(process, patience):
        # Its guard ends everything once the warden is dead, whichever of the two somebody has stopped.
        for warden in _children(process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(warden, signal.SIGKILL)
        process.send_signal(signal.SIGCONT)
        if not _ends_within(process, patience):
            process.kill()
    return process.wait()


def _children(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def _ends_within(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait for a process. `Popen.wait` with a timeout only looks now and then, which takes longer than most wardens."""
    if process.returncode is not None:
        return True
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return process.poll() is not None
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def _request(command: Command) -> dict[str, Any]:
    limits = command.limits
    request: dict[str, Any] = {
        "argv": list(command.argv),
        "cwd": command.cwd,
        "env": dict(command.env),
        "timeout": command.timeout,
        "memory": limits.memory,
        "processes": limits.processes,
        "output_limit": limits.output,
        "tells_status": command.tells_status,
        "files": dict(command.files),
        "scoped": command.scoped,
        "disk": None,
        "user": command.user,
    }
    if command.writable is not None and limits.disk is not None:
        request["disk"] = {**command.writable._asdict(), "allowance": limits.disk}
    return request


def _outcome(header: Mapping[str, Any], payload: bytes) -> Outcome:
    end = header["out"]
    return Outcome(
        status=header["status"] if header["status"] is not None else -1,
        stdout=payload[:end],
        stderr=payload[end : end + header["err"]],
        timed_out=header["timed_out"],
        wall_s=header["wall_s"],
        cpu_s=header["cpu_s"],
        peak_memory=header["peak"],
        note=header["note"],
        cut=tuple(name for name, cut in (("stdout", header["out_cut"]), ("stderr", header["err_cut"])) if cut),
    )
