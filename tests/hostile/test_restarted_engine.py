"""The Docker engine is restarted in the middle of a run."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.engines import docker_skip_reason
from tests.execution.test_driver_contract import alive
from tests.hostile.whole import evaluate, outcomes, write_problem, write_submission

ROOT = Path(__file__).parents[2]
PROGRAM = "import os, time\nif not os.path.exists('go'): time.sleep(40)\nprint('honest')"


@contextlib.contextmanager
def private_engine() -> Iterator[tuple[str, str, Path]]:
    """A Docker engine that nobody else uses: its image for tests, its address, and its folder."""
    environment = {name: value for name, value in os.environ.items() if name != "SLOP_CODE_TEST_IMAGE"}
    keeper = subprocess.Popen(
        ["bash", str(ROOT / "scripts" / "engines.sh"), "keep_engine"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**environment, "DOCKER_HOST": "unix:///nowhere/docker.sock"},
        start_new_session=True,
    )
    assert keeper.stdout is not None
    try:
        kind, _, rest = keeper.stdout.readline().partition(" ")
        if kind != "private":
            pytest.skip(f"no engine of its own for this test: {rest.strip()}")
        image, address = rest.split()
        yield image, address, Path(address.removeprefix("unix://")).parent
    finally:
        keeper.communicate(timeout=60)


def restart(folder: Path, address: str) -> subprocess.Popen[bytes]:
    """End the engine and start it again in the same way; the keeper ends the new one, too."""
    pid = int((folder / "pid").read_text())
    command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
    os.kill(pid, signal.SIGTERM)
    wait_until(lambda: not _runs(pid))
    started = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
    )
    wait_until(lambda: _answers(address))
    return started


def _runs(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2][:4]
    except OSError:
        return False


def _answers(address: str) -> bool:
    with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as asking:
        asking.connect(address.removeprefix("unix://"))
        asking.sendall(b"GET /_ping HTTP/1.0\r\n\r\n")
        return b" 200 " in asking.recv(100)
    return False


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not happened():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.nightly
# The SDK leaves its sockets open when the engine goes away.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.skipif(docker_skip_reason() is not None, reason=str(docker_skip_reason()))
def test_an_engine_restarted_in_the_middle_costs_the_cases_that_ran_and_no_verdict(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    marker = f"engine-{os.getpid()}"
    case = {"arguments": [marker], "expected": {"output": "honest\n"}}
    problem = write_problem(tmp_path / "problem", {"core/1": case, "other/1": {**case, "input_files": {"go": ""}}})
    submission = write_submission(tmp_path / "submission", PROGRAM)
    engines: list[subprocess.Popen[bytes]] = []
    with private_engine() as (image, address, folder):
        monkeypatch.setenv("DOCKER_HOST", address)
        monkeypatch.setenv("SLOP_CODE_TEST_IMAGE", image)

        def disturb() -> None:
            wait_until(lambda: bool(alive(marker)))
            engines.append(restart(folder, address))

        thread = threading.Thread(target=disturb)
        thread.start()
        results = evaluate("docker", problem, submission, output_dir=tmp_path / "out")
        thread.join()
        lost = [report for report in results.reports if report.outcome == "error"]
        assert [report.group for report in lost] == ["core"], outcomes(results)
        assert "helper process" in str(lost[0].error)
        (submission / "go").touch()
        assert set(outcomes(evaluate("docker", problem, submission)).values()) == {"passed"}
    assert [engine.wait(60) for engine in engines] == [-signal.SIGKILL]
