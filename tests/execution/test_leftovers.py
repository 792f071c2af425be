"""Nothing is left: not after many cases, not when the evaluator is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from pathlib import Path

import pytest

from slop_code.execution import ExecutionError
from tests import warm
from tests.execution.drivers import DRIVERS, make_spec, opened
from tests.execution.test_driver_contract import OWN, alive


def belongings() -> dict[str, int]:
    """What this process and machine hold that a session could leave behind."""
    own = os.getpid()
    children = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                children += int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == own
            except OSError:
                continue
    return {
        "descriptors": len(list(Path("/proc/self/fd").iterdir())),
        "children": children,
        "mounts": sum("slop-code-" in line for line in Path("/proc/self/mounts").read_text().splitlines()),
        "folders": len(list(Path(tempfile.gettempdir()).iterdir())),
    }


def own_containers(kind: str) -> set[str]:
    if kind != "docker":
        return set()
    import docker

    from slop_code.execution.docker_container import LABEL

    client = docker.from_env()
    try:
        found = client.containers.list(all=True, filters={"label": LABEL}, ignore_removed=True)
        return {item.id for item in found if item.labels[LABEL].startswith(f"{os.getpid()}:")}
    finally:
        client.close()


@pytest.mark.parametrize("count", [100, pytest.param(500, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("kind", DRIVERS)
def test_many_cases_in_a_row_leave_nothing_behind(
    kind: str, count: int, submission: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A place for temporary folders that nobody else uses; short, because sockets have short paths.
    private = tempfile.mkdtemp(prefix="t", dir="/tmp")
    monkeypatch.setattr(tempfile, "tempdir", private)
    with opened(kind, submission) as session:
        session.run("true")
    before, containers = belongings(), own_containers(kind)
    with opened(kind, submission) as session:
        folder = session.folder
        for number in range(count):
            session.restore()
            outcome = session.run(f"sh -c 'sleep 71.{OWN} &' ; echo {number} > made; cat made", timeout=20)
            assert outcome.stdout == f"{number}\n".encode()
    assert belongings() == before
    assert not folder.exists()
    assert alive(f"71.{OWN}") == []
    assert own_containers(kind) <= containers
    Path(private).rmdir()


@pytest.mark.parametrize("kind", DRIVERS)
def test_whoever_goes_on_with_a_session_that_another_thread_has_closed_leaves_nothing_behind(
    kind: str, submission: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with opened(kind, submission) as session:
        session.close()
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
        before = belongings()
        for _ in range(2):  # the first one finds its helper gone, and the second one would get another
            for attempt in (lambda: session.run("true"), lambda: session.start("sleep 60"), session.restore):
                with pytest.raises(ExecutionError):
                    attempt()
        assert not session.folder.exists()
        assert belongings() == before


KILLED = """
import os, sys
from contextlib import closing
from pathlib import Path
from slop_code.execution import EnvironmentSpec
from slop_code.execution.driver import open_driver
with (
    closing(open_driver(EnvironmentSpec.model_validate_json(sys.argv[1]))) as driver,
    closing(driver.prepare(Path(sys.argv[2]))) as image,
    closing(driver.session(image, None)) as session,
):
    session.restore()
    print(session.folder, flush=True)
    session.run("sh -c 'setsid sleep %s & sleep %s'" % ((os.environ["SECONDS_TO_SLEEP"],) * 2))
"""


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_an_evaluator_that_is_killed_leaves_nothing_behind(kind: str, number: int, submission: Path) -> None:
    evaluator = subprocess.Popen(
        [*warm.python(), KILLED, make_spec(kind).model_dump_json(exclude_none=True), submission],
        env={**os.environ, "SECONDS_TO_SLEEP": f"72.{OWN}"},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    assert evaluator.stdout is not None
    folder = Path(evaluator.stdout.readline().strip())
    assert folder.is_dir()
    deadline = time.monotonic() + 30
    while len(alive(f"72.{OWN}")) < 2:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    evaluator.send_signal(number)
    evaluator.wait(30)
    evaluator.stdout.close()
    while alive(f"72.{OWN}") or folder.exists():
        assert time.monotonic() < deadline, (alive(f"72.{OWN}"), folder.exists())
        time.sleep(0.01)
