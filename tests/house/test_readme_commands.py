"""The two commands of the README."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PREPARED = (ROOT / ".venv" / ".stamp").exists() and Path(sys.prefix) == ROOT / ".venv"


def run(command: list[str], cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=cwd,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
    )


@pytest.mark.skipif(not PREPARED, reason="this environment was not made by the README's commands")
def test_the_demo_is_idempotent_and_runs_at_once_when_everything_is_prepared() -> None:
    done = run(["scripts/demo"], ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("17 of 17 passed\n")
    assert "Preparing" not in done.stderr


@pytest.mark.nightly
def test_the_demo_works_from_a_fresh_clone_with_an_empty_home(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    subprocess.run(["git", "clone", "--quiet", ROOT, tmp_path / "clone"], check=True)
    done = run(["scripts/demo"], tmp_path / "clone", HOME=str(tmp_path / "home"))
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("17 of 17 passed\n")
