"""The process that starts submissions, watches them, and ends everything that they started.

Run as a script of its own, with nothing but the standard library, so that it can also be put into a container:

    python -I -S warden.py CHANNEL    CHANNEL is an open stream socket's number, or a Unix socket's path, and
                                      `process.Warden` has the other end

It is the ancestor (subreaper) of all that its jobs start: a grandchild that called setsid or lost its parent becomes
its child, and is killed with the rest when the job ends. When the other end of the socket goes away, however it goes,
the warden kills its job, removes the folders and exits, so that not even `kill -9` of the evaluator leaves anything.

A program that is the warden's own user could kill it, so it has a guard, its parent, which does the same when the
warden cannot; and where the kernel can tell (Landlock, Linux 6.12), programs cannot even send it a signal.

Messages both ways are framed: 4 bytes of length, a JSON header, then as many bytes as the header's "payload" says.
The first one has the settings, see `main`. One job at a time: `run` waits for it to end, `start` leaves it running
(a server) until `stop`. Of a job, only what is not as it was for the one before is said.
"""

from __future__ import annotations

import _thread
import contextlib
import ctypes
import errno
import fcntl
import functools
import json
import os
import resource
import select
import signal
import struct
import sys
import time

# What few commands need (socket, subprocess, typing) is not imported here: that takes a third of the start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Callable, Dict, Iterator, List, NoReturn, Optional, Set, Tuple, Union

PR_SET_DUMPABLE, PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS = 4, 36, 38
LANDLOCK_CREATE_RULESET, LANDLOCK_RESTRICT_SELF, LANDLOCK_SCOPE_SIGNAL = 444, 446, 2
CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
# What says, between them, whether anything was sent in a network namespace, or somebody tried to.
NETWORK_COUNTERS = ("dev", "snmp", "netstat", "snmp6", "rt6_stats", "dev_snmp6/lo")
IPC_RMID = 0
RLIMIT_KINDS = 16
LIBC = ctypes.CDLL(None)
CHUNK = 1 << 16
# Descriptors of a program that we agree with it about; nothing else of ours ever gets these numbers.
ARGUMENTS_FD, FILTER_FD, STATUS_FD = 7, 8, 9
RESERVED_FDS = (ARGUMENTS_FD, FILTER_FD, STATUS_FD)
FIRST_LOOK_S, LOOK_EVERY_S, GIVE_UP_S = 0.1, 0.1, 10
GOING_S = 0.002
# A program that writes less than this at a time is not listened to again for so long.
LITTLE, REST_S = 1 << 12, 0.005
# What a name takes of the disk, at least: so a limit on the space is one on the number of files, too.
LEAST_FILE = 4096
COUNT_EVERY_S = 0.5
# Where a disk has less than this left, growth that nobody can be seen to own counts against the job.
DISK_RESERVE = 1 << 29
# Exit codes: the warden's when its folders are to stay, and the guard's when a signal ended the warden.
KEPT, KILLED = 69, 70


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
                _hand_over(writer, STATUS_FD)
            for number in request.get("files", {}):
                os.lseek(int(number), 0, os.SEEK_SET)
            self.pid, self.stdin_fd, out, err = _start(request, bool(stdin), expendable)
        except (OSError, ValueError):
            if self.told is not None:
                os.close(self.told)
            raise
        finally:
            if self.told is not None:
                _reserve_fd(STATUS_FD)
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
        pids = _descendants(self.pid)
        if self.process_limit is not None and len(pids) > self.process_limit:
            self.note = "more than %d processes" % self.process_limit
        if self.memory_limit is not None:
            total = sum(_resident(pid) for pid in pids)
            if total > self.memory_limit:
                # Pages that processes share count once for each above; ask exactly only when it matters.
                total = sum(_proportional(pid) for pid in pids)
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
        _signal(self.pid, signal.SIGKILL)

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
                    _kill_all()
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


class Warden:
    """Serves one client until it goes away."""

    def __init__(self, channel: int, settings: Dict[str, Any]) -> None:
        self.channel = channel
        self.victims = Victims(settings.get("memory_groups", []))
        self.empty: List[str] = settings.get("empty", [])
        self.clear_ipc: bool = settings.get("clear_ipc", False)
        self.network = Network() if settings.get("own_network") else None
        self.expendable = Expendable()
        # Programs of the same user can then neither trace this process nor read its memory.
        _prctl(PR_SET_DUMPABLE, 0)
        self.condition = _condition()
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
        with _acting_as(user):
            for folder in self.empty:
                with contextlib.suppress(OSError):
                    for name in os.listdir(folder):
                        _remove(os.path.join(folder, name))
            if self.clear_ipc:
                _remove_ipc_objects()

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
                _forget_peak()
            self.was_large = len(payload) > CHUNK
            # What is as it was for the command before is not said again.
            self.known.update(request)
            self._watch_disk(self.known.get("disk"))
            try:
                if self.place is not None:
                    self.place.freshen()
                if "files" in request:
                    _open_files(request["files"])
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
        spoiled = self.condition != _condition() or (self.network is not None and self.network.is_used())
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


class Place:
    """Namespaces for mounts and network that all jobs share, made by a command for the one that it runs.

    Nobody can change the mounts. A network that nobody has used is as good as a new one, which takes long to make.
    """

    def __init__(self, making: List[str]) -> None:
        self.argv = [*making, "/bin/sh", "-c", "echo $$; read line"]
        self.outside = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        self.is_inside = False
        self.network: Optional[Network] = None

    def freshen(self) -> None:
        """Be there, and find the network unused: if it is not, or this is the first time, all is made anew."""
        if self.network is not None:
            if not self.network.is_used():
                return
            self.network.close()
            self.network = None
        self.leave()
        self._enter()
        self.network = Network()

    def leave(self) -> None:
        """Go where nothing is mounted but what this machine has; the network stays."""
        if self.is_inside:
            _join(self.outside, CLONE_NEWNS)
            self.is_inside = False

    def _enter(self) -> None:
        theirs, held = os.pipe()
        heard, said = os.pipe()
        ends = [theirs, held, heard, said]
        streams = [(os.POSIX_SPAWN_DUP2, end, number) for end, number in ((theirs, 0), (said, 1), (said, 2))]
        try:
            child = os.posix_spawn(self.argv[0], self.argv, {}, file_actions=streams)
            os.close(ends.pop())
            words = b""
            while not words.endswith(b"\n"):
                chunk = os.read(heard, CHUNK)
                if not chunk:
                    break
                words += chunk
            if not words.strip().isdigit():
                raise OSError(words.decode("utf-8", "replace").strip() or "no namespaces can be made")
            for name, kind in (("mnt", CLONE_NEWNS), ("net", CLONE_NEWNET)):
                space = os.open("/proc/%d/ns/%s" % (int(words), name), os.O_RDONLY)
                try:
                    _join(space, kind)
                    self.is_inside = True
                finally:
                    os.close(space)
        finally:
            # It ends when nobody is left who could write to it.
            for end in ends:
                os.close(end)
        os.waitpid(child, 0)


class Network:
    """The network namespace that this process is in, and what was sent there since."""

    def __init__(self) -> None:
        self.counters: List[int] = []
        for name in NETWORK_COUNTERS:
            # Not every machine has all of them.
            with contextlib.suppress(OSError):
                self.counters.append(os.open("/proc/self/net/" + name, os.O_RDONLY))
        self.before = self._read()

    def is_used(self) -> bool:
        """Whether anybody sent anything or tried to: what remains of that, the next one could see. If unknown, yes."""
        return not self.counters or self.before != self._read()

    def close(self) -> None:
        for counter in self.counters:
            os.close(counter)

    def _read(self) -> List[bytes]:
        return [os.pread(counter, CHUNK, 0) for counter in self.counters]


def _join(space: int, kind: int) -> None:
    if LIBC.setns(space, kind):
        raise OSError("the namespaces that were made cannot be entered")


class Victims:
    """Processes that the kernel ended, because all of a control group together took more memory than they may.

    It ends one or a few and leaves the others, which then take less.
    """

    def __init__(self, groups: List[str]) -> None:
        self.counters: List[Tuple[int, Optional[str]]] = []
        for group in groups:
            # The two versions of control groups. In the older one, only another file tells whose limit was met.
            for name, other in (("memory.events", None), ("memory.oom_control", "memory.failcnt")):
                with contextlib.suppress(OSError):
                    counter = os.open(os.path.join(group, name), os.O_RDONLY)
                    self.counters.append((counter, other and os.path.join(group, other)))
        self.known = self._count()

    def are_new(self) -> bool:
        """Whether there are more than at the last time."""
        before, self.known = self.known, self._count()
        return self.known > before

    def _count(self) -> int:
        total = 0
        for counter, other in self.counters:
            with contextlib.suppress(OSError, ValueError, IndexError):
                values = {line.split()[0]: line.split()[1] for line in os.pread(counter, CHUNK, 0).splitlines()}
                killed = int(values.get(b"oom_kill", 0))
                # A machine without memory ends processes, too, and then it was not this limit.
                if killed and (int(values.get(b"oom", 0)) or (other and _read_number(other))):
                    total += killed
        return total


def _read_number(path: str) -> int:
    with open(path) as file:
        return int(file.read())


class Disk:
    """How much is in the folders that a job can write to.

    Looking at every file is dear, so it is done when the disk as a whole has grown by as much as would be needed, and
    now and then besides: others may make room on it while the job takes it.
    """

    def __init__(self, wanted: Dict[str, Any]) -> None:
        self.wanted = wanted
        self.allowance: int = wanted["allowance"]
        # What was there from the beginning is not the job's.
        self.limit: int = self.allowance + wanted["given"]
        self.total: int = wanted["given"]
        self.mark = self._fill()
        self.next_count = time.monotonic() + COUNT_EVERY_S

    def is_exceeded(self) -> bool:
        fill = self._fill()
        grown = sum(_growth(self.mark.get(device, now), now) for device, now in fill.items())
        started = time.monotonic()
        if self.total + grown <= self.limit and started < self.next_count:
            return False
        unseen = grown > self.allowance and self._is_nearly_full()
        self.total, self.mark = self._count(), fill
        ended = time.monotonic()
        # Where there is much to count, it may take a twentieth of the time.
        self.next_count = ended + max(COUNT_EVERY_S, 20 * (ended - started))
        return self.total > self.limit or unseen

    def _fill(self) -> Dict[int, Tuple[int, int]]:
        """The bytes and names on each file system that the folders are on."""
        found: Dict[int, Tuple[int, int]] = {}
        for folder in self.wanted["folders"]:
            with contextlib.suppress(OSError):
                state = os.statvfs(folder)
                names = state.f_files - state.f_ffree
                found[os.stat(folder).st_dev] = (state.f_blocks - state.f_bfree) * state.f_frsize, names
        return found

    def _is_nearly_full(self) -> bool:
        """Files that are deleted but open are on the disk and in no folder."""
        with contextlib.suppress(OSError):
            states = [os.statvfs(folder) for folder in self.wanted["folders"]]
            return any(state.f_bavail * state.f_frsize < DISK_RESERVE for state in states)
        return False

    def _count(self) -> int:
        total = 0
        pending = list(self.wanted["folders"])
        while pending and total <= self.limit:
            try:
                for child in os.scandir(pending.pop()):
                    total += max(LEAST_FILE, child.stat(follow_symlinks=False).st_blocks * 512)
                    if child.is_dir(follow_symlinks=False) and child.path not in self.wanted["without"]:
                        pending.append(child.path)
            except OSError:
                continue
        return total


def _growth(before: Tuple[int, int], now: Tuple[int, int]) -> int:
    return max(0, now[0] - before[0], (now[1] - before[1]) * LEAST_FILE)


def _start(request: Dict[str, Any], has_stdin: bool, expendable: "Expendable") -> Tuple[int, Optional[int], int, int]:
    """Start a program: its number, and our ends of its standard streams.

    All our other descriptors are closed by the exec, so there is nothing else to close.
    """
    ends: List[int] = []
    try:
        for _ in range(3 if has_stdin else 2):
            ends += os.pipe()
        out, its_out, err, its_err, *rest = ends
        its_in = rest[0] if rest else None
        way = _as_another_user if request.get("user") else _as_this_user
        start = functools.partial(way, request, its_in, its_out, its_err)
        with expendable:
            pid = _in_a_scope(start) if request.get("scoped") else start()
    except BaseException:
        for end in ends:
            os.close(end)
        raise
    for end in (its_out, its_err, *rest[:1]):
        os.close(end)
    return pid, rest[1] if rest else None, out, err


def _as_this_user(request: Dict[str, Any], stdin: Optional[int], stdout: int, stderr: int) -> int:
    """Start a program in half the time that `_as_another_user` takes."""
    its_in = (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDWR, 0) if stdin is None else (os.POSIX_SPAWN_DUP2, stdin, 0)
    os.chdir(request["cwd"])
    try:
        return os.posix_spawnp(
            request["argv"][0],
            request["argv"],
            request["env"],
            file_actions=[its_in, (os.POSIX_SPAWN_DUP2, stdout, 1), (os.POSIX_SPAWN_DUP2, stderr, 2)],
            setsid=True,
            # What Python itself ignores.
            setsigdef=[signal.SIGPIPE, signal.SIGXFSZ],
        )
    finally:
        os.chdir("/")


def _as_another_user(request: Dict[str, Any], stdin: Optional[int], stdout: int, stderr: int) -> int:
    import subprocess

    user, group = request["user"]
    process = subprocess.Popen(
        request["argv"],
        stdin=subprocess.DEVNULL if stdin is None else stdin,
        stdout=stdout,
        stderr=stderr,
        cwd=request["cwd"],
        env=request["env"],
        start_new_session=True,
        close_fds=False,
        user=user,
        group=group,
        extra_groups=[],
    )
    # We wait for it ourselves.
    process.returncode = 0
    return process.pid


class Expendable:
    """What is started in this context is what the kernel ends if memory runs out, and not the evaluator.

    Has to be made while this process can still be inspected: later, not even its own user may change it.
    """

    def __init__(self) -> None:
        self.own = -1
        self.before = b"0"
        with contextlib.suppress(OSError):
            self.own = os.open("/proc/self/oom_score_adj", os.O_RDWR)
            self.before = os.pread(self.own, 16, 0)

    def __enter__(self) -> None:
        self._set(b"1000")

    def __exit__(self, *_: object) -> None:
        self._set(self.before)

    def _set(self, value: bytes) -> None:
        if self.own >= 0:
            with contextlib.suppress(OSError):
                os.pwrite(self.own, value, 0)


def _in_a_scope(start: Callable[[], int]) -> int:
    """What `start` returns, called where the kernel lets nobody signal or trace a process that it did not start.

    Such a restriction is a thread's own and goes to what the thread starts. A fork of this process would do as well,
    and take a millisecond longer.
    """
    result: List[Union[int, BaseException]] = []
    ended = _thread.allocate_lock()
    ended.acquire()

    def work() -> None:
        try:
            _forbid_signals()
            result.append(start())
        except BaseException as error:  # noqa: BLE001  # raised again where somebody can see it
            result.append(error)
        finally:
            ended.release()

    try:
        _thread.start_new_thread(work, ())
    except RuntimeError:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN)) from None
    ended.acquire()
    started = result[0]
    if isinstance(started, BaseException):
        raise started
    return started


def _forbid_signals() -> None:
    """Where the kernel does not know how to, nothing happens: then there is still the guard."""
    rules = _scope()
    if rules >= 0:
        _prctl(PR_SET_NO_NEW_PRIVS, 1)
        LIBC.syscall(LANDLOCK_RESTRICT_SELF, rules, 0)


@functools.lru_cache(maxsize=1)
def _scope() -> int:
    """The kernel's rules for a thread that may signal nobody else, as an open file; negative where it has none."""
    rules = struct.pack("QQQ", 0, 0, LANDLOCK_SCOPE_SIGNAL)
    ruleset: int = LIBC.syscall(LANDLOCK_CREATE_RULESET, rules, ctypes.c_size_t(len(rules)), 0)
    return ruleset


def _condition() -> Tuple[Any, ...]:
    """What somebody could change about this process from outside, to hinder it."""
    limits = tuple(resource.getrlimit(kind) for kind in range(RLIMIT_KINDS))
    return limits, os.sched_getscheduler(0), os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0)


@contextlib.contextmanager
def _acting_as(user: Optional[int]) -> Iterator[None]:
    if user is None or os.geteuid() != 0:
        yield
        return
    os.seteuid(user)
    try:
        yield
    finally:
        os.seteuid(0)


def _remove_ipc_objects() -> None:
    """Shared memory, semaphores and message queues of System V, all that this namespace has."""
    ways = {
        "shm": (LIBC.shmctl, (IPC_RMID, None)),
        "sem": (LIBC.semctl, (0, IPC_RMID)),
        "msg": (LIBC.msgctl, (IPC_RMID, None)),
    }
    for kind, (control, arguments) in ways.items():
        with contextlib.suppress(OSError, ValueError, IndexError), open("/proc/sysvipc/%s" % kind) as file:
            for line in file.read().splitlines()[1:]:
                control(int(line.split()[1]), *arguments)


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
    if _is_control_group(folder):
        try:
            os.rmdir(folder)
        except FileNotFoundError:
            return
        except OSError:
            # That needs nobody in it, this process included; moving takes the kernel a while.
            _write(os.path.join(os.path.dirname(folder), "cgroup.procs"), str(os.getpid()))
            with contextlib.suppress(OSError):
                os.rmdir(folder)
    elif os.path.lexists(folder) and not _rm(folder):
        _unlock(folder)
        _rm(folder)


def _is_control_group(path: str) -> bool:
    return path.startswith("/sys/fs/cgroup/")


def _rm(path: str) -> bool:
    """Remove a file or folder, and say whether that was possible; sooner than by starting `rm`, if it is easy."""
    try:
        _remove_plainly(path, os.path.isdir(path) and not os.path.islink(path))
        return True
    except (OSError, RecursionError):
        return _rm_by_program(path)


def _remove_plainly(path: str, is_folder: bool) -> None:
    if not is_folder:
        os.unlink(path)
        return
    with os.scandir(path) as children:
        for child in children:
            _remove_plainly(child.path, child.is_dir(follow_symlinks=False))
    os.rmdir(path)


def _rm_by_program(folder: str) -> bool:
    import subprocess

    try:
        # Sooner done than importing what Python has for it.
        return subprocess.call(["rm", "-rf", "--", folder], stderr=subprocess.DEVNULL) == 0
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
        return not os.path.lexists(folder)


def _unlock(folder: str) -> None:
    """Give back to the owner the rights that a program took from its folders."""
    pending = [folder]
    while pending:
        place = pending.pop()
        with contextlib.suppress(OSError):
            os.chmod(place, 0o700)
            pending += [child.path for child in os.scandir(place) if child.is_dir(follow_symlinks=False)]


def _forget_peak() -> None:
    """A program's peak memory starts from that of the process which forked it: make this one's small again."""
    _prctl(PR_SET_DUMPABLE, 1)
    _write("/proc/self/clear_refs", "5")
    _prctl(PR_SET_DUMPABLE, 0)


def _prctl(option: int, value: int) -> None:
    LIBC.prctl(option, value, 0, 0, 0)


def _hand_over(descriptor: int, number: int) -> None:
    """Make a descriptor the program's, as one of the numbers that are kept for that."""
    os.dup2(descriptor, number, inheritable=True)
    os.close(descriptor)


def _open_files(files: Dict[str, str]) -> None:
    """Open the files that programs get under numbers which are kept for that, for this one and those after it."""
    for number in (ARGUMENTS_FD, FILTER_FD):
        _reserve_fd(number)
    for wanted, path in files.items():
        _hand_over(os.open(path, os.O_RDONLY), int(wanted))


def _reserve_fd(number: int) -> None:
    """Keep the number taken, so that nothing else of ours ever gets it; programs do not see it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing == number:
        return
    os.dup2(nothing, number, inheritable=False)
    os.close(nothing)


def _open_channel(where: str) -> int:
    if where.isdigit():
        given = int(where)
    else:
        import socket

        connection = socket.socket(socket.AF_UNIX)
        connection.connect(where)
        given = connection.detach()
    # Out of the way of the reserved descriptors, whatever its number was.
    channel = fcntl.fcntl(given, fcntl.F_DUPFD_CLOEXEC, max(RESERVED_FDS) + 1)
    os.close(given)
    os.set_blocking(channel, True)
    return channel


def _read_settings(channel: int) -> Optional[Dict[str, Any]]:
    """The first message; None if the client went away without one."""
    try:
        (length,) = struct.unpack(">I", _read_exactly(channel, 4))
        settings: Dict[str, Any] = json.loads(_read_exactly(channel, length))
        return settings
    except (EOFError, ConnectionError):
        return None


def _read_exactly(channel: int, count: int) -> bytes:
    data = b""
    while len(data) < count:
        chunk = os.read(channel, count - len(data))
        if not chunk:
            raise EOFError
        data += chunk
    return data


def _guard(warden: int, remove: List[str]) -> NoReturn:
    """Wait for the warden; end what it left if it could not, and remove the folders, which it leaves to us."""
    code = 0
    try:
        while True:
            pid, status = os.waitpid(-1, os.WUNTRACED)
            if pid != warden:
                continue
            if os.WIFSTOPPED(status):
                _signal(warden, signal.SIGCONT)
                continue
            code = os.waitstatus_to_exitcode(status)
            break
        _end_children(time.monotonic() + GIVE_UP_S)
    finally:
        for path in remove:
            if code != KEPT or _is_control_group(path):
                _remove(path)
        os._exit(KILLED if code < 0 or code == KILLED else 0 if code in (0, KEPT) else 1)


def _end_children(give_up: float) -> None:
    """Kill and reap until this process has no children at all."""
    while time.monotonic() < give_up:
        try:
            if os.waitpid(-1, os.WNOHANG)[0] == 0:
                _kill_all()
                time.sleep(0.0002)
        except ChildProcessError:
            return


def main() -> None:
    """Settings: `rlimits` by name; control `groups` to be in, each a folder, a file in it, and its value; those that
    bound the memory of all jobs, and may be there or not, as `memory_groups`; folders to `empty` and whether to
    `clear_ipc` after each job; whether there is a network of `own_network`, which is spoiled once it is used; what to
    `remove` at the end.
    """
    channel = _open_channel(sys.argv[1])
    settings = _read_settings(channel)
    if settings is None:
        # Nobody needed this process.
        return
    # Made by the guard, who is in none of them, and removes them: so not even a kill of the evaluator leaves one.
    groups = settings.get("groups", [])
    for folder, file, value in groups:
        with contextlib.suppress(OSError):
            os.makedirs(folder, exist_ok=True)
            _write(os.path.join(folder, file), str(value))
    # Ctrl-C reaches the whole foreground group; ending is the client's decision, by closing the socket.
    # Handlers, unlike "ignore", are not passed on to the programs.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    _prctl(PR_SET_CHILD_SUBREAPER, 1)
    # The first process of a namespace cannot be killed from within, and takes everybody with it when it ends.
    guard = os.getpid() if os.getpid() != 1 else 0
    if guard:
        try:
            warden = os.fork()
        except OSError:
            # There is no room for another process; then it has to do without.
            warden = guard = 0
        if warden:
            os.close(channel)
            _prctl(PR_SET_DUMPABLE, 0)
            _guard(warden, settings["remove"])
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
    for folder, _, _ in groups:
        _write(os.path.join(folder, "cgroup.procs"), str(os.getpid()))
    os._exit(_serve(channel, settings, guard))


def _serve(channel: int, settings: Dict[str, Any], guard: int) -> int:
    os.umask(0o022)
    for number in RESERVED_FDS:
        _reserve_fd(number)
    for name, value in settings["rlimits"].items():
        kind = getattr(resource, name)
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))
    warden = Warden(channel, settings)
    try:
        warden.serve()
    except OSError:
        if warden.condition == _condition():
            raise
        # Somebody took from us what it takes to go on.
        return KILLED
    finally:
        if os.getppid() != guard and not warden.keeps_folders:
            if warden.place is not None:
                # In there, things are mounted in them.
                warden.place.leave()
            for folder in settings["remove"]:
                _remove(folder)
    return KEPT if warden.keeps_folders else 0


if __name__ == "__main__":
    main()
