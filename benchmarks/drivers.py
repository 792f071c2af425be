"""What a case costs in each driver, beside the same command as a bare process."""

from __future__ import annotations

import contextlib
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.engines import bwrap_skip_reason, docker_skip_reason
from tests.execution.drivers import make_spec

from benchmarks.measure import table
from slop_code.execution.driver import open_driver
from slop_code.execution.session import Session

ROUNDS = 150
TARGETS = {"local": 3.0, "sandbox": 12.0, "docker": 15.0}
# A virtual environment of 2,000 files, as setup would leave it in the submission's folder.
SETUP = "mkdir -p .venv/lib; for n in $(seq 2000); do echo $n > .venv/lib/$n.py; done"


def main() -> None:
    reasons = {"local": None, "sandbox": bwrap_skip_reason(), "docker": docker_skip_reason()}
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        submission = Path(folder)
        for number in range(20):
            (submission / f"module_{number}.py").write_text("x = 1\n")
        (submission / "main.sh").write_text("echo hello\n")
        floor = _bare(submission)
        actions: dict[str, Callable[[], object]] = {"bare process (floor)": floor}
        for kind, reason in reasons.items():
            if reason is None:
                actions[kind] = _case(stack.enter_context(_session(kind, submission)))
            else:
                print(f"{kind} is left out: {reason}")
        times = _differences(actions)
    rows = [("a case: restore the workspace, run `sh main.sh`", "ms", "added ms", "at most")]
    base = times["bare process (floor)"]
    for name, value in times.items():
        target = f"{TARGETS[name]:g}" if name in TARGETS else ""
        rows.append((name, f"{value:.2f}", f"{value - base:+.2f}", target))
    table(rows)
    print(
        f"Medians of {ROUNDS} interleaved rounds; the submission has 20 files, and 2,000 more in a folder that setup made."
    )


def _differences(actions: dict[str, Callable[[], object]]) -> dict[str, float]:
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(ROUNDS):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            times[name].append((time.perf_counter() - start) * 1000)
    return {name: statistics.median(values) for name, values in times.items()}


def _bare(submission: Path) -> Callable[[], object]:
    command = ["/bin/sh", "-c", "sh main.sh"]
    env = {"PATH": "/usr/bin:/bin"}
    return lambda: subprocess.run(command, cwd=submission, env=env, capture_output=True, check=True)


def _case(session: Session) -> Callable[[], object]:
    def run() -> None:
        session.restore()
        assert session.run("sh main.sh", timeout=10).stdout == b"hello\n"

    return run


@contextlib.contextmanager
def _session(kind: str, submission: Path) -> Iterator[Session]:
    driver = open_driver(make_spec(kind, setup={"commands": [SETUP], "network": False}))
    image = driver.prepare(submission)
    session = driver.session(image)
    try:
        yield session
    finally:
        session.close()
        image.close()
