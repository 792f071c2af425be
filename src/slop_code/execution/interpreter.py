"""Which Python a submission runs with.

`environment.python` of the environment decides; without it the submission's `.python-version` or `requires-python`,
where such a one is on the machine; else the Python that runs us. What is found is always a real interpreter, never a
launcher or shim that would be paid for in every case.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from slop_code.execution.errors import ExecutionError
from slop_code.execution.pyproject import read_project

_SELF_DESCRIPTION = """
import os, sys
print(os.path.realpath(sys._base_executable), "%d.%d.%d" % sys.version_info[:3], sys.base_prefix, sep="\\n")
"""
_VERSIONED = re.compile(r"python3\.[0-9]+")


class Interpreter(NamedTuple):
    """A Python on this machine: its executable, its version, and the folder that holds its library."""

    path: Path
    version: str
    prefix: Path

    @property
    def minor(self) -> str:
        return ".".join(self.version.split(".")[:2])


def choose_interpreter(wanted: str | None, submission: Path) -> Interpreter:
    """The interpreter for a submission.

    Raises:
        ExecutionError: the environment names one that is not on this machine.
    """
    if wanted is not None:
        found = _named(wanted)
        if found is None:
            versions = ", ".join(sorted({item.version for item in available()})) or "none"
            raise ExecutionError(
                f'environment.python asks for "{wanted}", which is not on this machine (it has {versions})'
            )
        return found
    pinned = _first_line(submission / ".python-version")
    if pinned and (found := _named(pinned.removeprefix("python").lstrip("-"))):
        return found
    required = _requires_python(submission / "pyproject.toml")
    own = own_interpreter()
    if required:
        return next((item for item in (own, *available()) if _satisfies(item.version, required)), own)
    return own


def own_interpreter() -> Interpreter:
    """The Python that runs us, outside of any virtual environment."""
    base = Path(getattr(sys, "_base_executable", None) or sys.executable).resolve()
    if not base.is_file():
        raise ExecutionError(f"{base}: the Python that runs slop-code is not there any more")
    return Interpreter(base, "{}.{}.{}".format(*sys.version_info), Path(sys.base_prefix))


@cache
def available() -> tuple[Interpreter, ...]:
    """The interpreters that can be found on this machine, newest first."""
    folders = [Path(entry) for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    home = Path.home()
    folders += sorted(home.glob(".pyenv/versions/*/bin")) + sorted(home.glob(".local/share/uv/python/*/bin"))
    candidates: set[Path] = set()
    for folder in folders:
        # What is on PATH need not be there, or may be closed to us.
        with contextlib.suppress(OSError):
            names = os.listdir(folder)  # noqa: PTH208  # `iterdir` gives paths, and most are of no use
            candidates |= {(folder / name).resolve() for name in names if _VERSIONED.fullmatch(name)}
    found = {item for path in candidates if (item := _probe(path)) is not None}
    return tuple(sorted(found, key=lambda item: _numbers(item.version), reverse=True))


def _named(wanted: str) -> Interpreter | None:
    if "/" in wanted:
        return _probe(Path(wanted).expanduser())
    own = own_interpreter()
    parts = wanted.strip().split(".")
    matching = [item for item in (own, *available()) if item.version.split(".")[: len(parts)] == parts]
    if matching:
        return matching[0]
    path = shutil.which(wanted)
    return _probe(Path(path)) if path else None


@cache
def _probe(path: Path) -> Interpreter | None:
    try:
        done = subprocess.run(
            [path, "-I", "-S", "-c", _SELF_DESCRIPTION], capture_output=True, text=True, timeout=20, check=True
        )
        executable, version, prefix = done.stdout.splitlines()
    except (OSError, subprocess.SubprocessError, ValueError):
        return None
    return Interpreter(Path(executable), version, Path(prefix))


def _first_line(path: Path) -> str:
    try:
        lines = path.read_text(encoding="utf-8").split()
    except (OSError, UnicodeDecodeError):
        return ""
    return lines[0] if lines else ""


def _requires_python(path: Path) -> str:
    required = read_project(path).get("requires-python")
    return required if isinstance(required, str) else ""


def _satisfies(version: str, required: str) -> bool:
    from packaging.specifiers import InvalidSpecifier, SpecifierSet

    try:
        return version in SpecifierSet(required)
    except InvalidSpecifier:
        return False


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))
