"""kill -9 of the evaluator at any moment: nothing is left, nothing is half-written, and the next run works."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.report import ReportError
from tests.engines import bwrap_skip_reason, docker_skip_reason
from tests.execution.drivers import DRIVERS, make_spec
from tests.hostile.whole import write_problem, write_submission

CASES, HUNDRED = 6, 100
PROGRAM = """
import subprocess, sys, time
subprocess.Popen(["sh", "-c", "sleep 1000; : " + sys.argv[1]], start_new_session=True)
time.sleep(0.02)
print("honest")
"""
EVALUATE = """
from slop_code.evaluation import ProblemConfig, run_checkpoint
from slop_code.execution import EnvironmentSpec
problem = ProblemConfig.from_yaml("problem")
results = run_checkpoint(
    submission_path="submission",
    problem=problem,
    checkpoint=problem.load_checkpoint("one"),
    env_spec=EnvironmentSpec.from_yaml("environment.yaml"),
    output_dir="out",
)
assert {report.outcome for report in results.reports} == {"passed"}, results.reports
"""
RUN_CASE = ("tools", "run-case", "-s", "submission", "-p", "problem", "-c", "1", "-e", "environment.yaml")


class World:
    """A problem, a submission, and places for everything that an evaluator writes, which nobody else uses."""

    def __init__(self, root: Path, kind: str) -> None:
        self.root = root
        self.kind = kind
        # Short, and known to every process that the evaluator or a program starts, by its environment or arguments.
        self.temporary = Path(tempfile.mkdtemp(prefix="k9-", dir="/tmp"))
        case = {"arguments": [self.temporary.name], "expected": {"output": "honest\n"}}
        cases = {f"core/{number}": case for number in range(CASES)}
        write_problem(root / "problem", cases, static_assets={"given": {"path": "config.yaml"}})
        write_submission(root / "submission", PROGRAM)
        spec = make_spec(kind).model_dump(mode="json", exclude_none=True)
        (root / "environment.yaml").write_text(yaml.safe_dump(spec))

    def start(self, number: int) -> subprocess.Popen[bytes]:
        """An evaluator, by one of two ways."""
        script = [sys.executable, "-c", EVALUATE]
        command = [str(Path(sys.executable).with_name("slop-code")), *RUN_CASE]
        environment = {
            **os.environ,
            "TMPDIR": str(self.temporary),
            "SLOP_CODE_CACHE": str(self.root / "cache"),
        }
        return subprocess.Popen(
            command if number % 2 else script,
            cwd=self.root,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def left(self) -> list[str]:
        """What is running, mounted or lying around that an evaluator made."""
        name = os.fsencode(self.temporary.name)
        found = [
            f"mounted: {line}"
            for line in Path("/proc/self/mounts").read_text().splitlines()
            if str(self.temporary) in line
        ]
        for entry in Path("/proc").iterdir():
            if entry.name.isdigit():
                try:
                    if any(name in (entry / part).read_bytes() for part in ("cmdline", "environ")):
                        found.append(f"running: {(entry / 'cmdline').read_bytes()!r}")
                except OSError:
                    continue
        return found + [f"lying around: {path.name}" for path in self.temporary.iterdir()]

    def containers(self) -> list[str]:
        """Containers of this world; one that was made and never started stays until the next run."""
        if self.kind != "docker":
            return []
        import docker

        from slop_code.execution.docker_container import LABEL

        client = docker.from_env()
        try:
            found = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
            return [item.name for item in found if str(self.temporary) in str(item.attrs["Mounts"])]
        finally:
            client.close()

    def half_written(self) -> list[str]:
        """Result files that are not whole."""
        folder, found = self.root / "out", []
        summary = folder / "evaluation.json"
        try:
            if summary.exists():
                json.loads(summary.read_text())
            if folder.exists() and any(folder.glob("reports.*")):
                CorrectnessResults.from_dir(folder)
        except (ValueError, ReportError) as error:
            found.append(f"half-written: {error}")
        return found


@contextlib.contextmanager
def open_world(root: Path, kind: str) -> Iterator[World]:
    made = World(root, kind)
    try:
        yield made
    finally:
        shutil.rmtree(made.temporary, ignore_errors=True)


def kill_and_look(world: World, number: int, delay: float) -> tuple[list[str], float]:
    """Everything that is wrong after an evaluator was killed so many seconds after its start, and what the next took."""
    shutil.rmtree(world.root / "out", ignore_errors=True)
    evaluator = world.start(number)
    try:
        evaluator.wait(delay)
    except subprocess.TimeoutExpired:
        evaluator.send_signal(signal.SIGKILL)
    evaluator.communicate(timeout=60)
    deadline = time.monotonic() + 30
    while (wrong := world.left()) and time.monotonic() < deadline:
        time.sleep(0.01)
    wrong += world.half_written()
    started = time.monotonic()
    again = world.start(number)
    output, _ = again.communicate(timeout=120)
    took = time.monotonic() - started
    if again.returncode != 0:
        wrong.append(f"the next run failed: {output.decode(errors='replace')[-2000:]}")
    wrong += [f"after the next run: {item}" for item in (*world.half_written(), *world.containers())]
    return wrong, took


def kill_many_times(world: World, count: int) -> dict[str, list[str]]:
    """What was wrong after which of so many killed evaluators."""
    # How long a whole run takes, which is known after the first one.
    usual = 1.0
    moments = random.Random(world.kind)
    wrong = {}
    for number in range(count):
        if number % 4 == 3:
            # Now and then the submission has to be prepared again.
            shutil.rmtree(world.root / "cache", ignore_errors=True)
        delay = moments.uniform(0, usual)
        found, usual = kill_and_look(world, number, delay)
        if found:
            wrong[f"{world.kind}, number {number}, killed after {delay:.3f} s"] = found
    return wrong


@pytest.mark.parametrize("kind", DRIVERS)
def test_a_killed_evaluator_leaves_nothing(kind: str, tmp_path: Path) -> None:
    with open_world(tmp_path, kind) as world:
        assert kill_many_times(world, {"local": 2, "sandbox": 1, "docker": 1}[kind]) == {}


@pytest.mark.nightly
def test_a_hundred_killed_evaluators_leave_nothing(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    reasons = {"local": None, "sandbox": bwrap_skip_reason(), "docker": docker_skip_reason()}
    kinds = [kind for kind, reason in reasons.items() if reason is None]
    counts = {kind: len(range(place, HUNDRED, len(kinds))) for place, kind in enumerate(kinds)}
    wrong: dict[str, list[str]] = {}
    for kind, count in counts.items():
        with open_world(tmp_path / kind, kind) as world:
            wrong |= kill_many_times(world, count)
    parts = ", ".join(f"{kind} {count}" for kind, count in counts.items())
    with capfd.disabled():
        print(f"\nkill -9 of the evaluator: {HUNDRED - len(wrong)} of {HUNDRED} clean ({parts})", file=sys.stderr)
    assert wrong == {}
