"""What a program sees and reaches of the machine that judges it."""

from __future__ import annotations

import os

from tests.hostile.attack import Attack, Left, Rule
from tests.hostile.breaches import (
    AS_ROOT,
    WITHOUT_LANDLOCK,
    YOUR_FILES,
    YOUR_NETWORK,
    YOURS,
    assets_changed,
    dependencies_changed,
    is_root,
    says,
    target_changed,
    tells,
)
from tests.hostile.host import Host, free_port
from tests.hostile.rules_of_data import secret
from tests.hostile.stage import Stage

# Newer kernels show it to whoever may measure the machine's performance.
_ENVIRONMENT = Left("run by root, it can on some kernels", is_root, may=True)


def _evaluator(_host: Host, _stage: Stage) -> list[str]:
    return [str(os.getpid())]


PROBLEM = Rule(
    "the problem stays unseen",
    (
        Attack("expected results", arguments=lambda host, _: [str(host.expected)], breach=tells, left={"local": YOURS}),
        Attack("a search of every folder", breach=says("expected-results.yaml"), left={"local": YOURS}),
        Attack("a search of its own process", evidence="[stack]", breach=says("hostile-problem-")),
    ),
)
OTHERS = Rule(
    "other runs stay unseen",
    (
        Attack(
            "another submission in the cache",
            arguments=lambda _, stage: [str(stage.image_folder / "workspace" / "honest.attack")],
            breach=says("It has to pass"),
            left={"local": YOURS},
        ),
        Attack(
            "the workspace of a neighbour",
            arguments=lambda _, stage: [str(stage.neighbour().workspace / "secret.txt")],
            breach=tells,
            left={"local": YOURS},
        ),
        Attack(
            "the processes of a neighbour",
            # Who runs once he is asked for.
            arguments=lambda _, stage: [str(stage.neighbour().workspace)],
            breach=says("process_of_a_neighbour"),
            left={"local": YOURS},
        ),
    ),
)
HOST = Rule(
    "the host stays unseen",
    (
        Attack("its environment", arguments=_evaluator, breach=says("PATH="), left={"local": _ENVIRONMENT}),
        Attack(
            "the memory of the evaluator", arguments=_evaluator, breach=says("read"), left={"local": WITHOUT_LANDLOCK}
        ),
        Attack(
            "the files that the evaluator has open",
            arguments=_evaluator,
            breach=says("read"),
            left={"local": WITHOUT_LANDLOCK},
        ),
        Attack("its files", arguments=secret, breach=tells, left={"local": YOURS}),
    ),
)
WRITTEN = Rule(
    "nothing is written outside",
    (
        Attack(
            "a file of the host",
            arguments=lambda host, _: [str(host.target)],
            breach=target_changed,
            left={"local": YOUR_FILES},
        ),
        Attack("the system", breach=says("may write"), left={"local": AS_ROOT}),
        Attack(
            "the assets",
            arguments=lambda _, stage: [f"{stage.session.layout.assets}/given/given.txt"],
            breach=assets_changed,
            left={"local": YOUR_FILES},
        ),
        Attack("the shared dependencies", breach=dependencies_changed, left={"local": YOUR_FILES}),
        Attack("settings of the kernel", breach=says("may write"), left={"local": AS_ROOT}),
    ),
)
NETWORK = Rule(
    "there is no network",
    (
        Attack(
            "a port of the host", arguments=lambda host, _: [str(host.port)], breach=tells, left={"local": YOUR_NETWORK}
        ),
        Attack(
            "a datagram to the host",
            arguments=lambda host, _: [str(host.datagram_port)],
            breach=tells,
            left={"local": YOUR_NETWORK},
        ),
        Attack("the metadata of a cloud", breach=says("a way leads"), left={"local": YOUR_NETWORK}),
        Attack(
            "a unix socket of the host",
            arguments=lambda host, _: [host.unix],
            breach=tells,
            left={"local": YOUR_NETWORK},
        ),
        Attack(
            "an abstract socket of the host",
            arguments=lambda host, _: [host.abstract],
            breach=tells,
            left={"local": YOUR_NETWORK},
        ),
        Attack(
            "somebody comes in from the host",
            arguments=lambda _host, _stage: [str(free_port())],
            visited=True,
            breach=says("let in"),
            left={"local": YOUR_NETWORK},
        ),
        Attack("packets of its own making", breach=says("may send"), left={"local": AS_ROOT}),
    ),
)
