"""The loop that serves one client, a job at a time."""

from __future__ import annotations

import contextlib
import json
import os
import select
import struct
import time

from .descriptors import open_files
from .job import Job
from .place import Place, Traces
from .processes import GIVE_UP_S
from .removal import remove_folder, remove_ipc_objects
from .starting import Expendable
from .system import CHUNK, PR_SET_DUMPABLE, acting_as, condition, forget_peak, prctl
from .usage import Disk, Victims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, List, Optional, Set, Tuple


class Warden:
    """Serves one client until it goes away."""

    def __init__(self, channel: int, settings: Dict[str, Any]) -> None:
        self.channel = channel
        self.victims = Victims(settings.get("memory_groups", []))
        self.empty: List[str] = settings.get("empty", [])
        self.clear_ipc: bool = settings.get("clear_ipc", False)
        self.traces = Traces(terminals="/dev/pts") if settings.get("own_network") else None
        self.expendable = Expendable()
        # Programs of the same user can then neither trace this process nor read its memory.
        prctl(PR_SET_DUMPABLE, 0)
        self.condition = condition()
        self.disk: Optional[Disk] = None
        self.keeps_folders = False
        self.place: Optional[Place] = None
        self.buffer = bytearray()
        self.known: Dict[str, Any] = {}
        self.job: Optional[Job] = None
        self.finished: Optional[Job] = None
        self.waiting = False
        self.was_large = False

    def serve(self) -> None:
        try:
            while self._step():
                pass
        finally:
            if self.job is not None:
                self.job.kill()
                self.job.finish()

    def _step(self) -> bool:
        """Wait for the next event and deal with it; False when the client is gone."""
        job = self.job
        readable = [self.channel]
        writable: List[int] = []
        timeout = None
        if job is not None:
            readable.append(job.pidfd)
            if job.stdin_fd is not None:
                writable.append(job.stdin_fd)
            now = time.monotonic()
            times = [job.next_look] + ([job.deadline] if job.deadline is not None else [])
            if now >= job.listens_from:
                readable += job.open_streams
            else:
                times.append(job.listens_from)
            timeout = max(0.0, min(times) - now)
        poll = select.poll()
        for item in readable:
            poll.register(item, select.POLLIN)
        for item in writable:
            poll.register(item, select.POLLOUT)
        events = {fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000 + 1)}
        if job is not None:
            self._attend(job, events)
        return self._receive() if self.channel in events else True

    def _attend(self, job: Job, events: Set[int]) -> None:
        if job.stdin_fd is not None and job.stdin_fd in events:
            job.feed()
        now = time.monotonic()
        job.hear(events, now)
        if job.deadline is not None and now >= job.deadline and job.pidfd not in events:
            # One that is being ended for another reason may take a while to go.
            job.timed_out = not job.note
            job.deadline = None
            job.kill()
        elif job.pidfd in events:
            job.finish()
            traces = self.place.traces if self.place is not None else self.traces
            # Connections to a server may still be somebody's; they are closed elsewhere.
            if traces is not None and not job.is_server:
                traces.await_sockets(time.monotonic() + GIVE_UP_S)
            self._clear_up(job.user)
            if self.waiting:
                self._answer_job(job)
            elif self.job is job:
                self.finished = job
                self.job = None
        elif now >= job.next_look:
            job.look(now)

    def _clear_up(self, user: Optional[int]) -> None:
        """Remove what a job can leave to the next one besides its folders; as its user, who may enter them all."""
        if not self.empty and not self.clear_ipc:
            return
        with acting_as(user):
            for folder in self.empty:
                with contextlib.suppress(OSError):
                    for name in os.listdir(folder):
                        remove_folder(os.path.join(folder, name))
            if self.clear_ipc:
                remove_ipc_objects()

    def _receive(self) -> bool:
        try:
            chunk = os.read(self.channel, CHUNK)
        except ConnectionError:
            return False
        if not chunk:
            return False
        self.buffer += chunk
        while True:
            message = self._take_message()
            if message is None:
                return True
            self._handle(*message)

    def _take_message(self) -> Optional[Tuple[Dict[str, Any], bytes]]:
        if len(self.buffer) < 4:
            return None
        (length,) = struct.unpack(">I", self.buffer[:4])
        if len(self.buffer) < 4 + length:
            return None
        header = json.loads(self.buffer[4 : 4 + length])
        end = 4 + length + header.get("payload", 0)
        if len(self.buffer) < end:
            return None
        payload = bytes(self.buffer[4 + length : end])
        del self.buffer[:end]
        return header, payload

    def _handle(self, request: Dict[str, Any], payload: bytes) -> None:
        op = request["op"]
        if op in ("run", "start"):
            self.finished = None
            if self.was_large:
                forget_peak()
            self.was_large = len(payload) > CHUNK
            # What is as it was for the command before is not said again.
            self.known.update(request)
            self._watch_disk(self.known.get("disk"))
            try:
                if self.place is not None:
                    self.place.freshen()
                if "files" in request:
                    open_files(request["files"])
                self.job = Job(self.known, payload, op == "start", self.disk, self.expendable, self.victims)
            except (OSError, ValueError) as error:
                # A line with a null byte or a lone surrogate is no ValueError of ours.
                self._send({"failure": "%s: %s" % (self.known["argv"][0], error)})
                return
            self.waiting = op == "run"
            if op == "start":
                self._send({"pid": self.job.pid})
        elif op == "state":
            self._send_report(self.job or self.finished)
        elif op == "stop":
            if self.job is not None:
                self.job.kill()
                self.waiting = True
            else:
                self._send_report(self.finished)
        elif op == "connect":
            self._connect(request)
        elif op == "keep":
            self.keeps_folders = True
            self._send({})
        elif op == "enter":
            # Nobody waits for an answer; whoever comes with a command is told what is wrong.
            self.place = Place(request["making"])
            with contextlib.suppress(OSError):
                self.place.freshen()

    def _watch_disk(self, wanted: Optional[Dict[str, Any]]) -> None:
        """Go on with what is known of the folders from the jobs before, as long as they are the same."""
        if wanted is None:
            self.disk = None
        elif self.disk is None or self.disk.wanted != wanted:
            self.disk = Disk(wanted)

    def _answer_job(self, job: Job) -> None:
        self.waiting = False
        self.job = None
        self.was_large = self.was_large or len(job.out.data) + len(job.err.data) > CHUNK
        self._send_report(job)

    def _send_report(self, job: Optional[Job]) -> None:
        if job is None:
            self._send({"failure": "nothing has been started"})
            return
        if job.ended is None:
            job.out.drain()
            job.err.drain()
        spoiled = self.condition != condition() or (self.traces is not None and self.traces.are_there())
        self._send({**job.report(), "spoiled": spoiled}, bytes(job.out.data) + bytes(job.err.data))

    def _connect(self, request: Dict[str, Any]) -> None:
        """Connect to the server from where it runs, and hand the connection over."""
        import socket

        connection = socket.socket(socket.AF_INET6 if ":" in request["host"] else socket.AF_INET)
        try:
            connection.settimeout(request["timeout"])
            connection.connect((request["host"], request["port"]))
            connection.settimeout(None)
        except OSError as error:
            self._send({"error": error.strerror or str(error), "errno": error.errno})
        else:
            with socket.socket(fileno=os.dup(self.channel)) as channel:
                socket.send_fds(channel, [_message({"connected": True})], [connection.fileno()])
        finally:
            connection.close()

    def _send(self, header: Dict[str, Any], payload: bytes = b"") -> None:
        left = memoryview(_message(header, payload))
        while left:
            left = left[os.write(self.channel, left) :]


def _message(header: Dict[str, Any], payload: bytes = b"") -> bytes:
    header["payload"] = len(payload)
    body = json.dumps(header).encode()
    return struct.pack(">I", len(body)) + body + payload
