"""A folder with problems, an environment and runs, all small, and the ways to evaluate them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from typer.testing import CliRunner

from slop_code.cli import app
from slop_code.errors import SlopCodeError
from slop_code.evaluation.listening import RunOptions, Selection
from slop_code.execution import EnvironmentSpec
from slop_code.runs.discovery import snapshots_of_run
from slop_code.runs.evaluate import Asked, Evaluation, Outcome
from slop_code.runs.targets import problem_finder, resolve
from tests import warm
from tests.cli.terminal import SLOP_CODE

GOOD = "echo hello $1\n"
BAD = "echo goodbye $1\n"


@dataclass(frozen=True, slots=True)
class Done:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


@dataclass(frozen=True)
class World:
    """`problems/greet` asks for a greeting, in two checkpoints `first` and `second`; submissions are shell scripts."""

    root: Path

    @property
    def greet(self) -> Path:
        return self.root / "problems" / "greet"

    @property
    def environment(self) -> Path:
        return self.root / "sh.yaml"

    def write(self, path: str, text: str) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        return file

    def problem(self, name: str, names: tuple[str, ...] = ("first", "second"), **config: Any) -> Path:
        """A problem with a Core case and an Error case in each checkpoint; every expectation is `hello …`."""
        groups = {"core": {"type": "Core"}, "errors": {"type": "Error"}}
        body = {
            "name": name,
            "version": 1,
            "description": "Say hello.",
            "entry_file": "main",
            "adapter": {"type": "cli"},
            "loader_script": "builtin:files",
            "timeout": 60,
            "checkpoints": {checkpoint: {"groups": groups} for checkpoint in names},
            **config,
        }
        folder = f"problems/{name}"
        self.write(f"{folder}/config.yaml", yaml.safe_dump(body, sort_keys=False))
        for checkpoint in names:
            self.write(f"{folder}/{checkpoint}/spec.md", "Say hello.\n")
            self.write(f"{folder}/{checkpoint}/core/you.yaml", 'arguments: [you]\nexpected: {output: "hello you\\n"}\n')
            self.write(f"{folder}/{checkpoint}/errors/nobody.yaml", 'expected: {output: "hello\\n"}\n')
        return self.root / folder

    def snapshot(self, run: str, problem: str, checkpoint: str, program: str = GOOD) -> Path:
        return self.write(f"{run}/{problem}/{checkpoint}/snapshot/main.sh", program).parent

    def evaluation(
        self,
        run: str = "run",
        *,
        overwrite: bool = False,
        selection: Selection | None = None,
        options: RunOptions | None = None,
    ) -> Evaluation:
        found = snapshots_of_run(self.root / run)
        targets = resolve(found.snapshots, problem_finder(self.root / "problems")).targets
        spec = EnvironmentSpec.from_yaml(self.environment)
        asked = Asked(spec, options or RunOptions(jobs=1), selection or Selection(), overwrite=overwrite)
        return Evaluation(targets, asked)

    def evaluate(self, run: str = "run", **asked: Any) -> dict[str, Outcome]:
        """Evaluate a run in this process; outcomes by `problem/checkpoint`."""
        evaluation = self.evaluation(run, **asked)
        evaluation.look()
        return {outcome.target.name: outcome for outcome in evaluation.run()}

    def look(self, run: str = "run", **asked: Any) -> dict[str, str]:
        """What an evaluation would do: for each checkpoint "skipped", or why it is to be evaluated."""
        evaluation = self.evaluation(run, **asked)
        reasons = {target.name: reason for target, reason in evaluation.look()}
        return {**{outcome.target.name: outcome.status for outcome in evaluation.settled}, **reasons}

    def command(self, *arguments: str | Path, cold: bool = False) -> list[str]:
        """The command line, to be run in `root`; `cold`, where it matters what the process is that a test has started."""
        return [*(SLOP_CODE if cold else warm.slop_code()), *map(str, arguments)]

    def invoke(self, *arguments: str | Path) -> Done:
        """Run a command in this process, which is quicker, as `main` does; the current folder is the world's.

        With one worker, unless another number is asked for: each one costs more than the few cases do.
        """
        here = Path.cwd()
        os.chdir(self.root)
        given = [str(argument) for argument in arguments]
        jobs = [] if {"-j", "--jobs", "-proc", "--num-workers"} & set(given) else ["-j", "1"]
        try:
            done = CliRunner().invoke(app, [*given, *jobs, "-e", "sh.yaml"])
        finally:
            os.chdir(here)
        if done.exception is not None and not isinstance(done.exception, SystemExit):
            if not isinstance(done.exception, SlopCodeError):
                raise done.exception
            return Done(2, done.stdout, f"{done.stderr}error: {done.exception}\n")
        return Done(done.exit_code, done.stdout, done.stderr)

    def slop_code(
        self, *arguments: str | Path, env: Mapping[str, str] | None = None, cold: bool = False
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as a user does, in the world's folder."""
        return subprocess.run(
            self.command(*arguments, "-e", "sh.yaml", cold=cold),
            capture_output=True,
            text=True,
            check=False,
            cwd=self.root,
            env={**os.environ, **(env or {})},
            timeout=120,
        )

    @contextmanager
    def started(
        self, *arguments: str | Path, process_group: int | None = None, cold: bool = False
    ) -> Iterator[subprocess.Popen[str]]:
        """A command that goes on; whatever the test does, it is over at the end of the block."""
        command = self.command(*arguments, "-e", "sh.yaml", cold=cold)
        with subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=self.root,
            process_group=process_group,
        ) as process:
            try:
                yield process
            finally:
                process.kill()

    def lines(self, folder: str = "run") -> list[dict[str, Any]]:
        """What `checkpoint_results.jsonl` says."""
        text = (self.root / folder / "checkpoint_results.jsonl").read_text()
        return [json.loads(line) for line in text.splitlines()]

    def summary(self, folder: str) -> dict[str, Any]:
        """What `evaluation.json` says."""
        found: dict[str, Any] = json.loads((self.root / folder / "evaluation.json").read_text())
        return found


def make_world(root: Path) -> World:
    """A world with one problem and one run of it, in which everything passes."""
    world = World(root)
    world.write(
        "sh.yaml",
        yaml.safe_dump({"type": "local", "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}),
    )
    world.problem("greet")
    for checkpoint in ("first", "second"):
        world.snapshot("run", "greet", checkpoint)
    return world


def copy_of(world: World, root: Path) -> World:
    """The same world elsewhere, which nothing that counts can tell apart."""
    shutil.copytree(world.root, root, symlinks=True, dirs_exist_ok=True)
    return World(root)


def wait_until(condition: Callable[[], bool], what: str, seconds: float = 60.0) -> None:
    """Wait for something that another process does."""
    for _ in _ticks(seconds):
        if condition():
            return
    raise AssertionError(f"{what} did not happen within {seconds} s")


def _ticks(seconds: float) -> Iterator[None]:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        yield
        time.sleep(0.01)
