"""Mounts and a network for all jobs."""

from __future__ import annotations

import contextlib
import os

from .system import CHUNK, LIBC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import List, Optional

CLONE_NEWNS, CLONE_NEWNET = 0x20000, 0x40000000
# What says, between them, whether anything was sent in a network namespace, or somebody tried to.
NETWORK_COUNTERS = ("dev", "snmp", "netstat", "snmp6", "rt6_stats", "dev_snmp6/lo")


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
