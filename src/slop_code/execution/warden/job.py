"""One command: its streams, its limits, its end."""

from __future__ import annotations

import os
import signal
import time

from .descriptors import STATUS_FD, hand_over, reserve_fd
from .processes import GIVE_UP_S, descendants, kill_all, proportional, resident, send_signal
from .starting import Expendable, start_program
from .system import CHUNK
from .usage import Disk, Victims

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Dict, Optional, Set

FIRST_LOOK_S, LOOK_EVERY_S = 0.1, 0.1
GOING_S = 0.002
# A program that writes less than this at a time is not listened to again for so long.
LITTLE, REST_S = 1 << 12, 0.005


class Job:
    """One command with everything that it started."""

    def __init__(
        self,
        request: Dict[str, Any],
        stdin: bytes,
        server: bool,
        disk: "Optional[Disk]",
        expendable: "Expendable",
        victims: "Victims",
    ) -> None:
        self.started = time.monotonic()
        self.is_server = server
        timeout = request.get("timeout")
        self.deadline = None if timeout is None else self.started + timeout
        self.memory_limit = request.get("memory")
        self.process_limit = request.get("processes")
        self.disk = disk
        self.victims = victims
        self.next_look = self.started + FIRST_LOOK_S
        self.timed_out = False
        self.note = ""
        self.cpu_s = 0.0
        self.peak = 0
        self.status: Optional[int] = None
        self.ended: Optional[float] = None
        self.stdin = memoryview(stdin)
        self.user: Optional[int] = (request.get("user") or [None])[0]
        self.told: Optional[int] = None
        try:
            if request.get("tells_status"):
                self.told, writer = os.pipe()
                hand_over(writer, STATUS_FD)
            for number in request.get("files", {}):
                os.lseek(int(number), 0, os.SEEK_SET)
            self.pid, self.stdin_fd, out, err = start_program(request, bool(stdin), expendable)
        except (OSError, ValueError):
            if self.told is not None:
                os.close(self.told)
            raise
        finally:
            if self.told is not None:
                reserve_fd(STATUS_FD)
        self.pidfd = os.pidfd_open(self.pid)
        if self.stdin_fd is not None:
            os.set_blocking(self.stdin_fd, False)
        limit = request["output_limit"]
        self.out = Capture(out, limit, server)
        self.err = Capture(err, limit, server)
        self.open_streams = {self.out.fd: self.out, self.err.fd: self.err}
        self.listens_from = self.started

    def feed(self) -> None:
        """Write as much of stdin as the program takes now."""
        if self.stdin_fd is None:
            return
        try:
            written = os.write(self.stdin_fd, self.stdin[:CHUNK])
            self.stdin = self.stdin[written:]
        except BlockingIOError:
            return
        except OSError:
            self.stdin = self.stdin[:0]
        if not self.stdin:
            os.close(self.stdin_fd)
            self.stdin_fd = None

    def hear(self, events: Set[int], now: float) -> None:
        """Take what the program has written."""
        total = 0
        for fd, capture in list(self.open_streams.items()):
            if fd in events:
                size = capture.read()
                total += size
                if not size:
                    del self.open_streams[fd]
        if 0 < total < LITTLE:
            # Soon there will be more, or the program's end with it, and each time we look takes time from it.
            self.listens_from = now + REST_S

    def look(self, now: float) -> None:
        """Kill the job if all its processes together take too much; rlimits only bind them one by one."""
        self.next_look = now + LOOK_EVERY_S
        pids = descendants(self.pid)
        if self.process_limit is not None and len(pids) > self.process_limit:
            self.note = "more than %d processes" % self.process_limit
        if self.memory_limit is not None:
            total = sum(resident(pid) for pid in pids)
            if total > self.memory_limit:
                # Pages that processes share count once for each above; ask exactly only when it matters.
                total = sum(proportional(pid) for pid in pids)
            self.peak = max(self.peak, total)
            if total > self.memory_limit or self.victims.are_new():
                self._note_memory(self.memory_limit)
        if self.disk is not None and self.disk.is_exceeded():
            self.note = "more than %d MiB on the disk" % (self.disk.allowance >> 20)
        if self.note:
            self.kill()

    def _note_memory(self, limit: int) -> None:
        self.note = "more than %d MiB of memory" % (limit >> 20)

    def kill(self) -> None:
        send_signal(self.pid, signal.SIGKILL)

    def finish(self) -> None:
        """End whatever is left, and collect what the job gave."""
        self.ended = time.monotonic()
        os.close(self.pidfd)
        self._reap(self.ended + GIVE_UP_S)
        self.out.drain()
        self.err.drain()
        for fd in (self.stdin_fd, self.out.fd, self.err.fd):
            if fd is not None:
                os.close(fd)
        if self.told is not None:
            self._read_told_status(self.told)
        if self.victims.are_new() and self.memory_limit is not None and not self.note:
            self._note_memory(self.memory_limit)

    def _reap(self, give_up: float) -> None:
        """Wait for the job's own process, then kill and reap until this process has no children at all."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                now = time.monotonic()
                if now > give_up:
                    self.note = "something that it started could not be ended"
                    return
                # A sandbox takes a moment to go, and to look for everybody in it would take as long.
                if now > give_up - GIVE_UP_S + GOING_S:
                    kill_all()
                time.sleep(0.0004)
                continue
            self.cpu_s += usage.ru_utime + usage.ru_stime
            self.peak = max(self.peak, usage.ru_maxrss * 1024)
            if pid == self.pid:
                self.status = os.waitstatus_to_exitcode(status)

    def _read_told_status(self, told: int) -> None:
        """Everybody who could write is dead, so this ends."""
        os.set_blocking(told, False)
        try:
            words = os.read(told, CHUNK).decode("utf-8", "replace").split()
        except OSError:
            words = []
        os.close(told)
        code = self.status
        if code is not None and code > 128 and (not words or (len(words) > 1 and words[-1] == str(code))):
            self.status = 128 - code

    def report(self) -> Dict[str, Any]:
        timed_out = self.timed_out
        return {
            "ended": self.ended is not None,
            "status": -1 if timed_out else self.status,
            "timed_out": timed_out,
            "note": self.note,
            "wall_s": (self.ended or time.monotonic()) - self.started,
            "cpu_s": self.cpu_s,
            "peak": self.peak,
            "out": len(self.out.data),
            "err": len(self.err.data),
            "out_cut": self.out.cut,
            "err_cut": self.err.cut,
        }


class Capture:
    """What came out of one stream: the first `limit` bytes, or, for a server, the last."""

    def __init__(self, fd: int, limit: int, keep_tail: bool) -> None:
        self.fd = fd
        self.limit = limit
        self.keep_tail = keep_tail
        self.data = bytearray()
        self.cut = False
        os.set_blocking(fd, False)

    def read(self) -> int:
        """Take what is there, and say how much; 0 at the end of the stream, and a negative number if it is nothing."""
        try:
            chunk = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return -1
        except OSError:
            return 0
        room = self.limit - len(self.data)
        if len(chunk) <= room:
            self.data += chunk
            return len(chunk)
        self.cut = True
        if self.keep_tail:
            self.data += chunk
            del self.data[: len(self.data) - self.limit]
        elif room > 0:
            self.data += chunk[:room]
        return len(chunk)

    def drain(self) -> None:
        """Take what is already in the pipe, without waiting for whoever else may hold it open."""
        # Twice the largest pipe: enough for what was written before the end, and bounded.
        for _ in range(2 * (1 << 20) // CHUNK):
            if self.read() <= 0:
                break
