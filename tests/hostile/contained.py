"""Attacks in `local` that would harm the machine if a rule did not hold, in a process namespace of their own.

python -m tests.hostile.contained unscoped|scoped ATTACK...   plays them; a line of JSON each says what is wrong
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from tests.engines import bwrap_skip_reason

ROOT = Path(__file__).parents[2]
NAMESPACE = ("bwrap", "--unshare-pid", "--dev-bind", "/", "/", "--proc", "/proc", "--die-with-parent", "--")


@cache
def play_contained(paths: tuple[str, ...], *, scoped: bool = True) -> dict[str, list[str]]:
    """Everything that is wrong after each attack in `local`, played where they can only reach a copy of the evaluator.

    Without `scoped` it is as on a kernel that cannot keep a program's signals to itself.
    """
    reason = bwrap_skip_reason()
    if reason is not None:
        pytest.skip(f"without a process namespace it would harm this machine: {reason}")
    found: dict[str, list[str]] = {}
    while left := [path for path in paths if path not in found]:
        lines, complaint = _play(left, scoped=scoped)
        found |= dict(zip(left, map(json.loads, lines), strict=False))
        if len(lines) < len(left):
            found[left[len(lines)]] = [f"the evaluator did not survive it: {complaint}"]
    return found


def _play(paths: Sequence[str], *, scoped: bool) -> tuple[list[str], str]:
    done = subprocess.run(
        [*NAMESPACE, sys.executable, "-m", "tests.hostile.contained", "scoped" if scoped else "unscoped", *paths],
        cwd=ROOT,
        # Only `local` is used, so nobody has to look for engines.
        env={**os.environ, "SLOP_CODE_NO_DOCKER_REASON": "not asked", "SLOP_CODE_NO_BWRAP_REASON": "not asked"},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    return done.stdout.splitlines(), done.stderr[-500:]


def main() -> None:
    from slop_code.execution import process
    from tests.hostile.host import Host
    from tests.hostile.rules import ATTACKS
    from tests.hostile.stage import Stage

    way, *paths = sys.argv[1:]
    if way == "unscoped":
        request_of = process._request
        process._request = lambda command: {**request_of(command), "scoped": False}
    attacks = {attack.path: attack for attack in ATTACKS}
    host, stage = Host(), Stage("local")
    try:
        for path in paths:
            scene = stage.play(attacks[path], host)
            breach = attacks[path].breach(scene)
            print(json.dumps(attacks[path].breaches(scene) + ([breach] if breach else [])), flush=True)
    finally:
        stage.close()
        host.close()


if __name__ == "__main__":
    main()
