"""What a program prints, leaves and finds."""

from __future__ import annotations

from dataclasses import replace

from tests.hostile.attack import SHORT, TIMED_OUT, Attack, Rule
from tests.hostile.breaches import (
    YOUR_FILES,
    YOUR_KERNEL,
    YOURS,
    status_is_not,
    tells,
    tells_again,
    too_much_kept,
    tracked_file,
)
from tests.hostile.host import TOKEN, Host
from tests.hostile.stage import Stage


def secret(host: Host, _stage: Stage) -> list[str]:
    return [str(host.secret)]


def _places(host: Host, stage: Stage) -> list[str]:
    layout = stage.session.layout
    # In `local` these are the machine's own.
    system = ["/dev/shm", "/dev/mqueue", "/run", "/dev", "/"] if stage.kind != "local" else []
    return [layout.home, layout.tmp, ".", str(host.folder), *system]


def _message(name: str, **more: object) -> Attack:
    return Attack(name, first=("leave", TOKEN), second=("look", TOKEN), breach=tells_again, **more)  # type: ignore[arg-type]


# The kernel removes it soon, and the next case may be later.
_FOR_A_WHILE = replace(YOUR_KERNEL, may=True)

OUTPUT = Rule(
    "output is only data",
    (
        Attack("a flood on stdout", evidence="stdout was cut", breach=too_much_kept),
        Attack("a flood on stderr", evidence="stderr was cut", breach=too_much_kept),
        Attack("an endless line", TIMED_OUT, timeout=SHORT, evidence="stdout was cut", breach=too_much_kept),
        Attack("binary junk", evidence="\ufffd", breach=too_much_kept),
        Attack("nul bytes", evidence="\0honest\n\0", breach=too_much_kept),
        Attack("invalid utf8", evidence="\ufffdhonest\n\ufffd", breach=too_much_kept),
        Attack("terminal escapes", evidence="\x1b]0;owned", breach=too_much_kept),
        Attack("what looks like a report", evidence='"passed": true', breach=too_much_kept),
    ),
)
TRACKED = Rule(
    "tracked files are its own",
    tuple(
        Attack(
            name,
            arguments=secret,
            tracked=("tracked", "folder", "folder/out/*", "*.txt", "../*", "/etc/passwd"),
            breach=tells,
            left={"local": YOURS} if name == "a hard link to the host" else {},
        )
        for name in (
            "a link to the host",
            "a hard link to the host",
            "a link to proc",
            "a fifo",
            "a device",
            "a socket",
            "files larger than anyone keeps",
            "links in a circle",
            "folders without end",
            "names that no text can hold",
            "files that nobody may read",
            "hundreds of links to nowhere",
        )
    ),
)
VERDICTS = Rule(
    "verdicts are made elsewhere",
    (
        Attack("a forged evaluation", tracked=("*.json", "reports.parquet"), evidence='"score": 1.0'),
        Attack("a forged status", breach=status_is_not(3)),
        Attack("modules for whoever imports them", tracked=("sprung",), breach=tracked_file("sprung")),
    ),
)
FRESH = Rule(
    "the next case starts fresh",
    (
        Attack("deletes its workspace"),
        Attack("puts a link in the place of its workspace", arguments=secret),
        Attack("changes its code", evidence="changed"),
        Attack("changes its code through an open file", evidence="changed"),
        Attack("adds modules beside its code"),
        Attack("takes all rights from its folders"),
        Attack("files that cannot be removed"),
        _message("changes the shared dependencies", left={"local": YOUR_FILES}),
        _message("a message in a folder", arguments=_places, left={"local": YOUR_KERNEL}),
        _message("a message in shared memory", left={"local": YOUR_KERNEL}),
        _message("a message in a semaphore", left={"local": YOUR_KERNEL}),
        _message("a message in a message queue", left={"local": YOUR_KERNEL}),
        _message("a message in a posix queue", left={"local": YOUR_KERNEL}),
        _message("a message in a keyring", left={"local": YOUR_KERNEL}),
        _message("a message in an abstract socket"),
        _message("a message in counters of the network", left={"local": YOUR_KERNEL}),
        _message("a port that stays taken", left={"local": YOUR_KERNEL}),
        _message("a port of a socket that nobody holds", left={"local": _FOR_A_WHILE}),
        _message("a message in a terminal that nobody holds", left={"local": _FOR_A_WHILE}),
        _message("a lock on a file that nobody holds", left={"local": _FOR_A_WHILE}),
        _message("a message in a flow label", left={"local": YOUR_KERNEL}),
    ),
)
