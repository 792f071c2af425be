"""A problem of case files and a submission in shell, and `tools run-case` on them as a user runs it."""

from __future__ import annotations

import json
import os
import subprocess
import textwrap
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests import warm
from tests.cli.terminal import SLOP_CODE

ENVIRONMENT = {"type": "local", "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command gave."""

    code: int
    stdout: str
    stderr: str

    @property
    def cases(self) -> Any:
        return json.loads(self.stdout)

    @property
    def outcomes(self) -> dict[str, bool]:
        return {f"{case['group']}/{case['id']}": case["passed"] for case in self.cases}


@dataclass(frozen=True, slots=True)
class SmallProblem:
    """Lives in `root`: `demo/` (the problem, with checkpoint `one`), `submission/main.sh`, `sh.yaml`, `cache/`."""

    root: Path

    @property
    def env(self) -> dict[str, str]:
        return {**os.environ, "SLOP_CODE_CACHE": str(self.root / "cache")}

    @property
    def program(self) -> Path:
        return self.root / "submission" / "main.sh"

    def file(self, name: str) -> Path:
        """A file of the problem."""
        return self.root / "demo" / name

    def command(self, *arguments: str | Path, cold: bool = False) -> list[str]:
        """The command line, to be run in `root`; `cold`, where it matters how an interpreter starts.

        With one worker, unless another number is asked for: each one costs more than the few cases do.
        """
        fixed = ["tools", "run-case", "-s", "submission", "-p", "demo", "-c", "one", "-e", "sh.yaml"]
        jobs = [] if {"-j", "--jobs"} & set(arguments) else ["-j", "1"]
        return [*(SLOP_CODE if cold else warm.slop_code()), *fixed, *jobs, *map(str, arguments)]

    def run(self, *arguments: str | Path, cold: bool = False, **env: str) -> Ran:
        done = subprocess.run(
            self.command(*arguments, cold=cold),
            cwd=self.root,
            env={**self.env, **env},
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        return Ran(done.returncode, done.stdout, done.stderr)


def small_problem(
    root: Path,
    files: Mapping[str, str],
    program: str,
    *,
    groups: Mapping[str, Any] | None = None,
    **config: Any,
) -> SmallProblem:
    """Write a problem with the given files (`core/a.yaml`: below its checkpoint; `/loader.py`: beside config.yaml)."""
    whole = {
        "name": "demo",
        "version": 1,
        "description": "A problem for a test.",
        "entry_file": "main",
        "adapter": {"type": "cli"},
        "loader_script": "loader.py" if "/loader.py" in files else "builtin:files",
        "timeout": 20,
        "checkpoints": {"one": {"groups": dict(groups or {"core": {"type": "Core"}})}},
        **config,
    }
    problem = SmallProblem(root)
    for path, text in files.items():
        file = problem.file(path[1:] if path.startswith("/") else f"one/{path}")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text))
    problem.file("config.yaml").parent.mkdir(exist_ok=True)
    problem.file("config.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))
    problem.program.parent.mkdir()
    problem.program.write_text(program)
    (root / "sh.yaml").write_text(yaml.safe_dump(ENVIRONMENT))
    return problem
