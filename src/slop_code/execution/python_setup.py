"""The commands that make a submission's virtual environment, with uv where it is, else with venv and pip."""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

from slop_code.execution.interpreter import Interpreter
from slop_code.execution.pyproject import read_project


def find_uv() -> Path | None:
    """uv, beside the Python that runs us or on PATH."""
    beside = Path(sys.executable).with_name("uv")
    found = str(beside) if beside.is_file() else shutil.which("uv")
    return Path(found) if found else None


def virtualenv_commands(submission: Path, interpreter: Interpreter, venv: str, uv: Path | None) -> list[str]:
    """Shell lines that make `venv` and install what the submission asks for, compiled to bytecode.

    `requirements.txt` decides; without it, the dependencies of `pyproject.toml`. With neither, it stays empty.
    """
    python = shlex.quote(str(interpreter.path))
    place = shlex.quote(venv)
    wanted = _wanted(submission)
    if uv is not None:
        tool = shlex.quote(str(uv))
        lines = [f"{tool} venv --quiet --no-project --python {python} {place}"]
        if wanted:
            lines.append(f"{tool} pip install --quiet --compile-bytecode --python {place}/bin/python {wanted}")
        return lines
    if not wanted:
        return [f"{python} -m venv --without-pip {place}"]
    return [
        f"{python} -m venv {place}",
        f"{place}/bin/python -m pip install --quiet --disable-pip-version-check --no-input --compile {wanted}",
    ]


def _wanted(submission: Path) -> str:
    if (submission / "requirements.txt").is_file():
        return "-r requirements.txt"
    dependencies = read_project(submission / "pyproject.toml").get("dependencies")
    if not isinstance(dependencies, list):
        return ""
    return " ".join(shlex.quote(item) for item in dependencies if isinstance(item, str))
