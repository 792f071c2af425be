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


def chosen_python(folder: Path, **env: str) -> str:
    """The interpreter that the commands would make their environment with, where `folder` is all of PATH."""
    script = f"PATH={folder}; source {ROOT}/scripts/bootstrap.sh 2>/dev/null; find_python"
    done = run(["/bin/bash", "-c", script], ROOT, **env)
    return done.stdout.strip() if done.returncode == 0 else f"none: {done.stderr.strip()}"


def stand_in(folder: Path, name: str, *, usable: bool) -> Path:
    program = folder / name
    program.write_text(f"#!/bin/sh\nexit {0 if usable else 1}\n")
    program.chmod(0o755)
    return program


def test_the_python_that_is_named_is_taken_if_it_will_do(tmp_path: Path) -> None:
    named = stand_in(tmp_path, "named", usable=True)
    assert chosen_python(tmp_path, PYTHON=str(named)) == str(named)
    stand_in(tmp_path, "named", usable=False)
    assert chosen_python(tmp_path, PYTHON=str(named)) != str(named)


def test_the_systems_own_python_goes_before_what_is_on_path(tmp_path: Path) -> None:
    stand_in(tmp_path, "python3", usable=True)
    system = subprocess.run(
        ["/usr/bin/python3", "-c", "import sys, pip; sys.exit(sys.version_info < (3, 11))"],
        check=False,
        capture_output=True,
    )
    expected = "/usr/bin/python3" if system.returncode == 0 else "python3"
    assert chosen_python(tmp_path, PYTHON="") == expected
