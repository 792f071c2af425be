"""The process that starts submissions, watches them, and ends everything that they started.

A program of its own, with nothing but the standard library, so that it can also be put into a container. This package
is then imported from the folder that it is in (see `process.warden_command`), and `main` is given CHANNEL, an open
stream socket's number or a Unix socket's path, of which `process.Warden` has the other end.

It is the ancestor (subreaper) of all that its jobs start: a grandchild that called setsid or lost its parent becomes
its child, and is killed with the rest when the job ends. When the other end of the socket goes away, however it goes,
the warden kills its job, removes the folders and exits, so that not even `kill -9` of the evaluator leaves anything.

A program that is the warden's own user could kill it, so it has a guard, its parent, which does the same when the
warden cannot; and where the kernel can tell (Landlock, Linux 6.12), programs cannot even send it a signal.

Messages both ways are framed: 4 bytes of length, a JSON header, then as many bytes as the header's "payload" says.
The first one has the settings, see `main`. One job at a time: `run` waits for it to end, `start` leaves it running
(a server) until `stop`. Of a job, only what is not as it was for the one before is said.

    lifetime        settings, the guard, the end        job, starting       a command, from its start to its end
    serving         messages and their answers          usage, processes    what it takes, and what it started
    place           mounts and a network for all jobs   removal             what it left

What few commands need (socket, subprocess, typing) is imported where it is used: that takes a third of the start.
"""

from .lifetime import main

__all__ = ["main"]
