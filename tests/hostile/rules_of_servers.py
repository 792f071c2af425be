"""What a server may answer, and how it may end."""

from __future__ import annotations

from dataclasses import replace

from tests.hostile.attack import FAILED, SHORT, TIMED_OUT, Attack, Rule
from tests.hostile.breaches import escaped, says, tells
from tests.hostile.rules_of_data import secret

ANSWERS = Rule(
    "answers are only data",
    (
        Attack("a slow head", TIMED_OUT, timeout=SHORT, evidence="a part of its head"),
        Attack("a slow drip", TIMED_OUT, timeout=SHORT, evidence="bytes of its body"),
        Attack("tiny chunks without end", TIMED_OUT, timeout=SHORT, evidence="bytes of its body"),
        Attack("headers without end", evidence="is larger than 262144 bytes"),
        Attack("a header line without end", evidence="is larger than 262144 bytes"),
        Attack("interim answers without end", evidence="more than 20 interim answers"),
        Attack("a body without end", evidence="was cut at 52428800 bytes"),
        Attack("a length that is too long", evidence="received 6 bytes, expected 10"),
        Attack("a length that is too short", evidence="hon"),
        Attack("a length that is no number", evidence="bad Content-Length"),
        Attack("broken chunks", evidence="incomplete chunked read"),
        Attack("no http at all", evidence="closed the connection within the head"),
        Attack("a redirect to a file", arguments=secret, breach=tells),
        Attack("a redirect to the host", arguments=lambda host, _: [str(host.port)], breach=tells),
        Attack("an archive that leads elsewhere", evidence="leads out of the archive"),
        Attack("a file name that leads elsewhere", evidence="../../../../tmp/hostile-escaped.zip", breach=escaped),
        Attack("an archive of links", evidence="it is a device or a pipe"),
        Attack("an archive that explodes", evidence="archive"),
        Attack("an archive of a million members", evidence="more than 10000 members"),
        Attack("json without a bottom", evidence="[[[[["),
        Attack("an answer before anyone asks", requests=2, evidence="ok"),
        Attack("an answer too many", requests=2, evidence="ok", breach=says("no")),
    ),
)
SERVERS = Rule(
    "servers may die and hang",
    (
        Attack("dies before it listens", evidence="no server today"),
        Attack("never listens", startup_s=0.5, evidence="cannot connect"),
        Attack("never answers the first question", startup_s=0.5, evidence="did not become ready"),
        *(
            Attack(name, evidence="the server has ended (exit code 3)")
            for name in (
                "dies once it is ready",
                "dies when asked",
                "dies within the head",
                "dies within the body",
                "leaves a child that holds the port",
            )
        ),
        *(
            Attack(name, TIMED_OUT, timeout=SHORT, evidence="no complete answer within")
            for name in ("hangs when asked", "hangs within the head", "hangs within the body", "stops itself")
        ),
        Attack("two servers on one port", requests=4, evidence="ok"),
        Attack("fills the disk", evidence="more than 24 MiB on the disk"),
        # Without Landlock it may get its guard, too, and then only the timeout ends it.
        Attack("kills its parent", (FAILED, TIMED_OUT), timeout=2),
        Attack("stops its parent", requests=2),
        Attack("limits its parent", (FAILED, TIMED_OUT), requests=2),
    ),
)
SERVER_RULES = tuple(
    replace(rule, attacks=tuple(replace(attack, kind="api") for attack in rule.attacks)) for rule in (ANSWERS, SERVERS)
)
