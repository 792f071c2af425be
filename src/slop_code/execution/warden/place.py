"""Mounts and a network for all jobs."""

from __future__ import annotations

import contextlib
import os
import time

from .system import CHUNK, LIBC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
MS_REC, MS_PRIVATE = 0x4000, 0x40000
GOING_S = 0.2
# What says, between them, whether anything was sent in a network, or somebody tried to, or reserved something.
NETWORK_COUNTERS = ("dev", "snmp", "netstat", "snmp6", "rt6_stats", "dev_snmp6/lo", "ip6_flowlabel")


class Place:
    """Namespaces for mounts and network that all jobs share, made by a command for the one that it runs.

    Nobody can change the mounts. A network that nobody has used is as good as a new one, which takes long to make.
    """

    def __init__(self, making: List[str]) -> None:
        self.argv = [*making, "/bin/sh", "-c", "echo $$; read line"]
        self.outside = os.open("/proc/self/ns/mnt", os.O_RDONLY)
        self.is_inside = False
        self.traces: Optional[Traces] = None

    def freshen(self) -> None:
        """Be there, and find the network unused: if it is not, or this is the first time, all is made anew."""
        if self.traces is not None:
            if not self.traces.are_there():
                return
            self.traces.close()
            self.traces = None
        self.leave()
        self._enter()
        # This process has no sockets of its own in there, but that of whoever made the network takes a moment to go.
        self.traces = Traces(own_sockets=0)
        self.traces.await_sockets(time.monotonic() + GOING_S)

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
        child = None
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
            # What this machine mounts from now on is not for the programs, and would not be read-only.
            if LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None):
                raise OSError("the mounts that were made cannot be kept apart from this machine's")
        finally:
            # It ends when nobody is left who could write to it.
            for end in ends:
                os.close(end)
            if child is not None:
                os.waitpid(child, 0)


class Traces:
    """What jobs can leave in a network that the next one shares, and, where it shares them, of terminals.

    A socket need not end with the processes that had it: it can be on its way to nobody, in another socket, and so can
    every open file, with the locks on it.
    """

    def __init__(self, own_sockets: Optional[int] = None, terminals: Optional[str] = None) -> None:
        self.terminals = terminals
        self.counters = [os.open("/proc/self/net/sockstat", os.O_RDONLY)]
        for name in NETWORK_COUNTERS:
            # Not every machine has all of them.
            with contextlib.suppress(OSError):
                self.counters.append(os.open("/proc/self/net/" + name, os.O_RDONLY))
        self.before = self._read()
        if own_sockets is not None:
            self.before[0] = b"sockets: used %d" % own_sockets

    def are_there(self) -> bool:
        """Whether anybody sent or kept anything, or tried to."""
        return self.before != self._read()

    def await_sockets(self, give_up: float) -> None:
        """Wait until there are no sockets any more: the kernel closes those that nobody can reach one by one."""
        while self._sockets() != self.before[0] and time.monotonic() < give_up:
            time.sleep(0.0005)

    def close(self) -> None:
        for counter in self.counters:
            os.close(counter)

    def _read(self) -> List[bytes]:
        traffic = (os.pread(counter, CHUNK, 0) for counter in self.counters[1:])
        terminals = sorted(os.listdir(self.terminals)) if self.terminals is not None else []
        return [self._sockets(), *traffic, *map(os.fsencode, terminals)]

    def _sockets(self) -> bytes:
        # The other lines count those of the whole machine.
        return os.pread(self.counters[0], CHUNK, 0).split(b"\n", 1)[0]


def _join(space: int, kind: int) -> None:
    if LIBC.setns(space, kind):
        raise OSError("the namespaces that were made cannot be entered")
