"""`tools run-case --watch`: what an edit affects is run again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import ProblemConfig
from slop_code.execution import LocalEnvironmentSpec
from slop_code.runs.watched_files import Watched, changes
from tests.cli.small_problem import SmallProblem, small_problem

GROUPS = {"core": {"type": "Core"}, "errors": {"type": "Error"}}
FILES = {
    "core/a.yaml": "expected: {output: x}\n",
    "errors/b.yaml": "expected: {output: x}\n",
    "spec.md": "Print x.\n",
}


class Watcher:
    """A `--watch` that is running. Each step edits something and waits for what comes of it."""

    def __init__(self, problem: SmallProblem) -> None:
        self.process = subprocess.Popen(
            problem.command("--watch"),
            cwd=problem.root,
            env=problem.env,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.said = ""

    def next_round(self) -> list[str]:
        """The cases of the next array, once it waits for an edit again."""
        self.await_line("watching ")
        return [f"{case['group']}/{case['id']} {case['passed']}" for case in self._array()]

    def await_line(self, start: str) -> None:
        """Read what it says until a line starts so."""
        assert self.process.stderr is not None
        line = ""
        while not line.startswith(start):
            line = self.process.stderr.readline().decode()
            assert line, f"it ended: {self.said}"
            self.said += line

    def _array(self) -> Any:
        assert self.process.stdout is not None
        text = ""
        while True:
            line = self.process.stdout.readline().decode()
            text += line
            if line in ("]\n", "[]\n"):
                return json.loads(text)


@pytest.fixture
def problem(tmp_path: Path) -> SmallProblem:
    return small_problem(tmp_path, FILES, "printf x\n", groups=GROUPS)


@pytest.fixture
def watcher(problem: SmallProblem) -> Iterator[Watcher]:
    started = Watcher(problem)
    yield started
    started.process.kill()
    started.process.communicate()


def test_each_edit_runs_what_it_affects_until_it_is_interrupted(problem: SmallProblem, watcher: Watcher) -> None:
    assert watcher.next_round() == ["core/a True", "errors/b True"]

    problem.file("one/errors/b.yaml").write_text("expected: {output: y}\n")
    assert watcher.next_round() == ["errors/b False"]

    problem.program.write_text("printf y\n")
    assert watcher.next_round() == ["core/a False", "errors/b True"]

    config = problem.file("config.yaml").read_text()
    problem.file("config.yaml").write_text(f"{config}entry_file: [\n")
    watcher.await_line("error: ")
    watcher.await_line("watching ")
    problem.file("config.yaml").write_text(config)
    assert watcher.next_round() == ["core/a False", "errors/b True"]

    problem.file("one/spec.md").write_text("Print y.\n")
    assert watcher.next_round() == []
    assert "it affects none of the cases" in watcher.said

    watcher.process.send_signal(signal.SIGINT)
    assert watcher.process.wait(60) == 130
    assert b"Traceback" not in watcher.process.communicate()[1]


def test_what_an_edit_affects(tmp_path: Path) -> None:
    checkpoints = {
        "zero": {"groups": {"old": {}}},
        "one": {"groups": GROUPS, "regressions": [{"checkpoint": "zero"}]},
    }
    files = {**FILES, "/zero/old/c.yaml": "expected: {output: x}\n", "/zero/spec.md": "", "/data/words.txt": "x"}
    problem = small_problem(
        tmp_path, files, "printf x\n", checkpoints=checkpoints, static_assets={"words": {"path": "data/words.txt"}}
    )
    config = ProblemConfig.from_yaml(problem.root / "demo")
    submission = problem.program.parent.resolve()
    watched = Watched(config, config.load_checkpoint("one"), submission, LocalEnvironmentSpec())

    def affected(path: Path) -> set[str]:
        before = watched.look()
        os.utime(path, ns=(1, 1))
        edited = changes(before, watched.look())
        assert edited == {path.resolve()}
        return set(watched.affected(edited))

    everything = {"core", "errors", "zero_old"}
    assert affected(problem.file("one/core/a.yaml")) == {"core"}
    assert affected(problem.file("zero/old/c.yaml")) == {"zero_old"}
    assert affected(problem.file("config.yaml")) == everything
    assert affected(problem.file("data/words.txt")) == everything
    assert affected(problem.program) == everything
    assert affected(problem.file("one/spec.md")) == set()
    problem.file("verifier.py").write_text("")
    assert affected(problem.file("verifier.py")) == everything
