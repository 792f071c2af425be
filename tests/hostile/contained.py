"""Attacks in `local` that would harm the machine if a rule did not hold, in a process namespace of their own.

python -m tests.hostile.contained ATTACK [unscoped]   plays it, and prints what is wrong as JSON
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engines import bwrap_skip_reason

ROOT = Path(__file__).parents[2]


def play_contained(path: str, *words: str) -> list[str]:
    """Everything that is wrong after an attack in `local`, played where it can only reach a copy of the evaluator."""
    reason = bwrap_skip_reason()
    if reason is not None:
        pytest.skip(f"without a process namespace it would harm this machine: {reason}")
    namespace = ["bwrap", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "--die-with-parent", "--"]
    done = subprocess.run(
        [*namespace, sys.executable, "-m", "tests.hostile.contained", path, *words],
        cwd=ROOT,
        env=os.environ,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    if done.returncode != 0 or not done.stdout:
        return [f"the evaluator did not survive it ({done.returncode}): {done.stderr[-500:]}"]
    found: list[str] = json.loads(done.stdout)
    return found


def main() -> None:
    from slop_code.execution.process import Command
    from tests.hostile.host import Host
    from tests.hostile.rules import ATTACKS
    from tests.hostile.stage import Stage

    if "unscoped" in sys.argv:
        # As on a kernel that cannot keep a program's signals to itself.
        make = Command.__init__
        Command.__init__ = lambda self, *values, **named: make(self, *values, **{**named, "scoped": False})  # type: ignore[method-assign]
    attack = next(attack for attack in ATTACKS if attack.path == sys.argv[1])
    host, stage = Host(), Stage("local")
    try:
        scene = stage.play(attack, host)
        breach = attack.breach(scene)
        print(json.dumps(attack.breaches(scene) + ([breach] if breach else [])))
    finally:
        stage.close()
        host.close()


if __name__ == "__main__":
    main()
