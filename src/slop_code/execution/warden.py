"""The process that starts submissions, watches them, and ends everything that they started.

Run as a script of its own, with nothing but the standard library, so that it can also be put into a container:

    python -I -S warden.py CHANNEL SETTINGS    CHANNEL is an open stream socket's number, or a Unix socket's path, and
                                               `process.Warden` has the other end; SETTINGS is JSON: rlimits to set,
                                               folders to empty after each job, folders to remove at the end

It is the ancestor (subreaper) of all that its jobs start: a grandchild that called setsid or lost its parent becomes
its child, and is killed with the rest when the job ends. When the other end of the socket goes away, however it goes,
the warden kills its job, removes the folders and exits, so that not even `kill -9` of the evaluator leaves anything.

Messages both ways are framed: 4 bytes of length, a JSON header, then as many bytes as the header's "payload" says.
One job at a time: `run` waits for it to end, `start` leaves it running (a server) until `stop`.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import json
import os
import resource
import select
import signal
import socket
import struct
import subprocess
import sys
import time
from typing import Any, Dict, List, Optional, Set, Tuple

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER = 4, 36
LIBC = ctypes.CDLL(None)
CHUNK = 1 << 16
STATUS_FD = 9
FIRST_LOOK_S, LOOK_EVERY_S, GIVE_UP_S = 0.1, 0.1, 10


class Capture:
    """What came out of one stream: the first `limit` bytes, or, for a server, the last."""

    def __init__(self, fd: int, limit: int, keep_tail: bool) -> None:
        self.fd = fd
        self.limit = limit
        self.keep_tail = keep_tail
        self.data = bytearray()
        self.cut = False
        os.set_blocking(fd, False)

    def read(self) -> bool:
        """Take what is there; False at the end of the stream."""
        try:
            chunk = os.read(self.fd, CHUNK)
        except BlockingIOError:
            return True
        except OSError:
            return False
        if not chunk:
            return False
        room = self.limit - len(self.data)
        if len(chunk) <= room:
            self.data += chunk
            return True
        self.cut = True
        if self.keep_tail:
            self.data += chunk
            del self.data[: len(self.data) - self.limit]
        elif room > 0:
            self.data += chunk[:room]
        return True

    def drain(self) -> None:
        """Take what is already in the pipe, without waiting for whoever else may hold it open."""
        with contextlib.suppress(OSError):
            # Twice the largest pipe: enough for what was written before the end, and bounded.
            for _ in range(2 * (1 << 20) // CHUNK):
                before = len(self.data), self.cut
                if not self.read() or (len(self.data), self.cut) == before:
                    break


class Job:
    """One command with everything that it started."""

    def __init__(self, request: Dict[str, Any], stdin: bytes, server: bool) -> None:
        self.started = time.monotonic()
        timeout = request.get("timeout")
        self.deadline = None if timeout is None else self.started + timeout
        self.memory_limit = request.get("memory")
        self.process_limit = request.get("processes")
        self.next_look = self.started + FIRST_LOOK_S
        self.timed_out = False
        self.note = ""
        self.cpu_s = 0.0
        self.peak = 0
        self.status: Optional[int] = None
        self.ended: Optional[float] = None
        self.stdin = memoryview(stdin)
        user = (
            {} if request.get("uid") is None else {"user": request["uid"], "group": request["gid"], "extra_groups": []}
        )
        self.told: Optional[int] = None
        if request.get("tells_status"):
            self.told, writer = os.pipe()
            os.dup2(writer, STATUS_FD, inheritable=True)
            os.close(writer)
        try:
            # All our other descriptors are closed by the exec, so there is nothing else to close.
            process: Any = subprocess.Popen(
                request["argv"],
                stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=request["cwd"],
                env=request["env"],
                start_new_session=True,
                close_fds=False,
                bufsize=0,
                umask=0o022,
                **user,
            )
        except (OSError, ValueError):
            if self.told is not None:
                os.close(self.told)
            raise
        finally:
            _reserve_status_fd()
        self.process = process
        self.pid = process.pid
        # If memory runs out, the kernel is to end the program and not the evaluator.
        _write("/proc/%d/oom_score_adj" % self.pid, "1000")
        self.pidfd = os.pidfd_open(self.pid)
        self.stdin_fd: Optional[int] = None
        if stdin:
            self.stdin_fd = process.stdin.fileno()
            os.set_blocking(self.stdin_fd, False)
        limit = request["output_limit"]
        self.out = Capture(process.stdout.fileno(), limit, server)
        self.err = Capture(process.stderr.fileno(), limit, server)
        self.open_streams = {self.out.fd: self.out, self.err.fd: self.err}

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
            self.process.stdin.close()
            self.stdin_fd = None

    def look(self, now: float) -> None:
        """Kill the job if all its processes together take too much; rlimits only bind them one by one."""
        self.next_look = now + LOOK_EVERY_S
        pids = _descendants(self.pid)
        if self.process_limit is not None and len(pids) > self.process_limit:
            self.note = "more than %d processes" % self.process_limit
        if self.memory_limit is not None:
            total = sum(_resident(pid) for pid in pids)
            if total > self.memory_limit:
                # Pages that processes share count once for each above; ask exactly only when it matters.
                total = sum(_proportional(pid) for pid in pids)
            self.peak = max(self.peak, total)
            if total > self.memory_limit:
                self.note = "more than %d MiB of memory" % (self.memory_limit >> 20)
        if self.note:
            self.kill()

    def kill(self) -> None:
        _signal(self.pid, signal.SIGKILL)

    def finish(self) -> None:
        """End whatever is left, and collect what the job gave."""
        self.ended = time.monotonic()
        os.close(self.pidfd)
        self._reap(self.ended + GIVE_UP_S)
        self.out.drain()
        self.err.drain()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            if stream is not None:
                stream.close()
        if self.told is not None:
            self._read_told_status(self.told)
        # We have waited for it ourselves.
        self.process.returncode = self.status

    def _reap(self, give_up: float) -> None:
        """Wait for the job's own process, then kill and reap until this process has no children at all."""
        while True:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                if time.monotonic() > give_up:
                    self.note = "something that it started could not be ended"
                    return
                _kill_all()
                time.sleep(0.0002)
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


class Warden:
    """Serves one client until it goes away."""

    def __init__(self, channel: socket.socket, empty: List[str]) -> None:
        self.channel = channel
        self.empty = empty
        self.buffer = bytearray()
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
        readable = [self.channel.fileno()]
        writable: List[int] = []
        timeout = None
        if job is not None:
            readable += [job.pidfd, *job.open_streams]
            if job.stdin_fd is not None:
                writable.append(job.stdin_fd)
            now = time.monotonic()
            times = [job.next_look] + ([job.deadline] if job.deadline is not None else [])
            timeout = max(0.0, min(times) - now)
        poll = select.poll()
        for item in readable:
            poll.register(item, select.POLLIN)
        for item in writable:
            poll.register(item, select.POLLOUT)
        events = {fd for fd, _ in poll.poll(None if timeout is None else timeout * 1000 + 1)}
        if job is not None:
            self._attend(job, events)
        return self._receive() if self.channel.fileno() in events else True

    def _attend(self, job: Job, events: Set[int]) -> None:
        if job.stdin_fd is not None and job.stdin_fd in events:
            job.feed()
        for fd, capture in list(job.open_streams.items()):
            if fd in events and not capture.read():
                del job.open_streams[fd]
        now = time.monotonic()
        if job.deadline is not None and now >= job.deadline and job.pidfd not in events:
            job.timed_out = True
            job.kill()
        elif job.pidfd in events:
            job.finish()
            for folder in self.empty:
                with contextlib.suppress(OSError):
                    for name in os.listdir(folder):
                        _remove(os.path.join(folder, name))
            if self.waiting:
                self._answer_job(job)
            elif self.job is job:
                self.finished = job
                self.job = None
        elif now >= job.next_look:
            job.look(now)

    def _receive(self) -> bool:
        try:
            chunk = self.channel.recv(1 << 20)
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
                _forget_peak()
            self.was_large = len(payload) > CHUNK
            try:
                self.job = Job(request, payload, server=op == "start")
            except (OSError, ValueError) as error:
                # A line with a null byte or a lone surrogate is no ValueError of ours.
                self._send({"failure": "%s: %s" % (request["argv"][0], error)})
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

    def _answer_job(self, job: Job) -> None:
        self.waiting = False
        self.job = None
        self.was_large = self.was_large or len(job.out.data) + len(job.err.data) > CHUNK
        self._send_report(job)

    def _send_report(self, job: Optional[Job]) -> None:
        if job is None:
            self._send({"failure": "nothing has been started"})
            return
        self._send(job.report(), bytes(job.out.data) + bytes(job.err.data))

    def _connect(self, request: Dict[str, Any]) -> None:
        """Connect to the server from where it runs, and hand the connection over."""
        connection = socket.socket(socket.AF_INET6 if ":" in request["host"] else socket.AF_INET)
        try:
            connection.settimeout(request["timeout"])
            connection.connect((request["host"], request["port"]))
            connection.settimeout(None)
        except OSError as error:
            self._send({"error": error.strerror or str(error), "errno": error.errno})
        else:
            self._send({"connected": True}, fd=connection.fileno())
        finally:
            connection.close()

    def _send(self, header: Dict[str, Any], payload: bytes = b"", fd: Optional[int] = None) -> None:
        header["payload"] = len(payload)
        body = json.dumps(header).encode()
        data = struct.pack(">I", len(body)) + body
        if fd is None:
            self.channel.sendall(data + payload)
        else:
            socket.send_fds(self.channel, [data], [fd])


def _descendants(root: Optional[int]) -> List[int]:
    """The process ids below `root` (or below this process), `root` included."""
    found = [] if root is None else [root]
    pending = [os.getpid() if root is None else root]
    seen = set(pending)
    while pending:
        for child in _children(pending.pop()):
            if child not in seen:
                seen.add(child)
                found.append(child)
                pending.append(child)
    return found


def _kill_all() -> None:
    """Kill everything below this process; first hold it still, so that nothing forks faster than it is found."""
    held: Set[int] = set()
    while True:
        new = [pid for pid in _descendants(None) if pid not in held]
        for pid in new:
            _signal(pid, signal.SIGSTOP)
        held.update(new)
        if not new:
            break
    for pid in held:
        _signal(pid, signal.SIGKILL)


def _signal(pid: int, number: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _children(pid: int) -> List[int]:
    children: List[int] = []
    try:
        for task in os.listdir("/proc/%d/task" % pid):
            with open("/proc/%d/task/%s/children" % (pid, task)) as file:
                children += [int(item) for item in file.read().split()]
    except OSError:
        pass
    return children


def _resident(pid: int) -> int:
    try:
        with open("/proc/%d/statm" % pid) as file:
            return int(file.read().split()[1]) * resource.getpagesize()
    except (OSError, IndexError):
        return 0


def _proportional(pid: int) -> int:
    try:
        with open("/proc/%d/smaps_rollup" % pid) as file:
            for line in file:
                if line.startswith("Pss:"):
                    return int(line.split()[1]) * 1024
    except (OSError, IndexError):
        pass
    return 0


def _write(path: str, text: str) -> None:
    with contextlib.suppress(OSError), open(path, "w") as file:
        file.write(text)


def _remove(folder: str) -> None:
    if folder.startswith("/sys/fs/cgroup/"):
        # A control group can only be removed once nobody is in it, this process included.
        _write(os.path.join(os.path.dirname(folder), "cgroup.procs"), str(os.getpid()))
        with contextlib.suppress(OSError):
            os.rmdir(folder)
    elif os.path.lexists(folder):
        # Sooner done than importing what Python has for it.
        subprocess.call(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL)


def _forget_peak() -> None:
    """A program's peak memory starts from that of the process which forked it: make this one's small again."""
    _prctl(PR_SET_DUMPABLE, 1)
    _write("/proc/self/clear_refs", "5")
    _prctl(PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    LIBC.prctl(option, value, 0, 0, 0)


def _reserve_status_fd() -> None:
    """Keep the number of the told status taken, so that nothing else of ours ever gets it; programs do not see it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing != STATUS_FD:
        os.dup2(nothing, STATUS_FD, inheritable=False)
        os.close(nothing)


def _open_channel(where: str) -> socket.socket:
    if where.isdigit():
        inherited = int(where)
        # Out of the way of the status descriptor, whatever its number was on the other side.
        channel = socket.socket(fileno=fcntl.fcntl(inherited, fcntl.F_DUPFD_CLOEXEC, STATUS_FD + 1))
        os.close(inherited)
        return channel
    channel = socket.socket(socket.AF_UNIX)
    channel.connect(where)
    return channel


def main() -> None:
    channel = _open_channel(sys.argv[1])
    settings = json.loads(sys.argv[2])
    channel.setblocking(True)
    os.set_inheritable(channel.fileno(), False)
    _reserve_status_fd()
    # Ctrl-C reaches the whole foreground group; ending is the client's decision, by closing the socket.
    # Handlers, unlike "ignore", are not passed on to the programs.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    for name, value in settings["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    # Programs of the same user can then neither trace this process nor read its memory.
    _prctl(PR_SET_DUMPABLE, 0)
    try:
        Warden(channel, settings.get("empty", [])).serve()
    finally:
        for folder in settings["remove"]:
            _remove(folder)
    os._exit(0)


if __name__ == "__main__":
    main()
