"""What a program may take, how it ends, and whom it can hurt."""

from __future__ import annotations

from tests.hostile.attack import FAILED, SHORT, TIMED_OUT, Attack, Left, Rule
from tests.hostile.breaches import (
    AS_ROOT,
    WITHOUT_LANDLOCK,
    is_root,
    says,
    status_is_not,
    too_many_born,
    too_much_memory,
    without_group,
    without_landlock,
)

_STORM = {
    "local": Left(
        "run by root without control groups, it can for a tenth of a second",
        lambda: is_root() and without_group(processes=40)(),
    )
}
_UNSEEN_MEMORY = Left(
    "without control groups, memory that no process has mapped is not counted",
    without_group(memory=1 << 28),
)

NOTHING_OUTLIVES = Rule(
    "nothing outlives its case",
    (
        Attack("a session of its own"),
        Attack("a daemon"),
        Attack("a child that holds the pipes", evidence="before"),
        Attack("a child that ignores every signal"),
        Attack("a chain that forks and exits"),
        Attack("a stopped child"),
        Attack("a traced child"),
    ),
)
TIMEOUTS = Rule(
    "a case ends at its timeout",
    (
        *(
            Attack(name, TIMED_OUT, timeout=SHORT)
            for name in ("silence", "stops itself", "closes its streams", "waits for itself", "a child goes on alone")
        ),
        Attack("chatter", TIMED_OUT, timeout=SHORT, evidence="still here"),
        Attack("deaf to every signal", TIMED_OUT, timeout=SHORT, evidence="deaf"),
        Attack("leaves its input unread", TIMED_OUT, timeout=SHORT, stdin="x" * 1_000_000),
    ),
)
LIMITS_HOLD = Rule(
    "limits hold",
    (
        Attack("a storm of processes", evidence="born", breach=too_many_born, left=_STORM),
        Attack("a storm of threads", evidence="born", breach=too_many_born, left=_STORM),
        Attack(
            "a tree that doubles", (FAILED, TIMED_OUT), timeout=1, evidence="born", breach=too_many_born, left=_STORM
        ),
        Attack("memory of one process", breach=says("took it all")),
        Attack("memory of many processes", breach=too_much_memory),
        Attack(
            "memory that nobody maps",
            (FAILED, TIMED_OUT),
            breach=too_much_memory,
            left={"local": _UNSEEN_MEMORY, "sandbox": _UNSEEN_MEMORY},
        ),
        Attack("memory as files in dev shm", breach=says("took it all"), left={"local": _UNSEEN_MEMORY}),
        Attack("one large file", evidence="File too large", breach=says("took it all")),
        Attack("open files", evidence="Too many open files", breach=says("took it all")),
        *(
            Attack(name, evidence="more than 24 MiB on the disk", breach=says("took it all"))
            for name in ("many files", "many files in hidden folders", "many files in home and tmp", "many empty files")
        ),
    ),
)
HARMLESS = Rule(
    "the evaluator cannot be harmed",
    (
        Attack("kills its parent"),
        Attack("kills everybody", contained=True, left={"local": WITHOUT_LANDLOCK}),
        Attack("kills every ancestor", contained=True, left={"local": WITHOUT_LANDLOCK}),
        Attack("stops its parent", (FAILED, TIMED_OUT), timeout=1),
        Attack(
            "traces its parent",
            breach=says("warden"),
            left={"local": Left(WITHOUT_LANDLOCK.text, lambda: is_root() and without_landlock())},
        ),
        Attack("limits its parent"),
        Attack("slows its parent down"),
    ),
)
CLOCKS = Rule(
    "clocks belong to the evaluator",
    (
        Attack("sets the clock", breach=says("set"), left={"local": AS_ROOT}),
        Attack(
            "sleeps and denies it",
            breach=lambda scene: None if float(str(scene.actual("elapsed"))) >= 0.4 else "it took no time",
        ),
    ),
)
BROKEN = Rule(
    "broken programs only fail",
    (
        Attack("syntax", evidence="SyntaxError"),
        Attack("dies of a signal", breach=status_is_not(-11)),
        Attack("crashes", breach=status_is_not(-11)),
        Attack("ends without a word", breach=status_is_not(0)),
        Attack("a folder"),
        Attack("a link to nothing"),
        Attack("no such file"),
    ),
)
