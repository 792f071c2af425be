"""What can happen to the machine during a run: a full disk, no more processes, a clock that goes back."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from slop_code.execution.cgroup import ControlGroup
from tests.engines import bwrap_skip_reason
from tests.execution.drivers import opened
from tests.execution.test_driver_contract import alive
from tests.hostile.whole import write_problem, write_submission

ROOT = Path(__file__).parents[2]
HONEST = {"expected": {"output": "honest\n"}}
# The scripts run things in `local` only, so nobody has to look for engines.
NO_ENGINES = {"SLOP_CODE_NO_DOCKER_REASON": "not asked", "SLOP_CODE_NO_BWRAP_REASON": "not asked"}
needs_bwrap = pytest.mark.skipif(bwrap_skip_reason() is not None, reason=str(bwrap_skip_reason()))


def script(root: Path, text: str, *prefix: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a Python script beside the problem and the submission in `root`, behind a command."""
    folders = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    return subprocess.run(
        [*prefix, sys.executable, "-c", text],
        cwd=root,
        env={**os.environ, "PYTHONPATH": folders, "SLOP_CODE_CACHE": str(root / "cache"), **NO_ENGINES, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


FULL_DISK = """
import json
from pathlib import Path
from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.report import ReportError
from tests.hostile.whole import evaluate, outcomes

run = lambda: evaluate("local", Path("problem"), Path("submission"), output_dir="out/results")
filler = Path("out/filler")
filler.write_bytes(b"x" * 900_000)
try:
    run()
except ReportError as error:
    print(error)
for path in Path("out/results").iterdir():
    if path.name == "evaluation.json":
        json.loads(path.read_text())
if any(Path("out/results").iterdir()):
    print(set(outcomes(CorrectnessResults.from_dir("out/results")).values()) <= {"passed"})
filler.unlink()
print(set(outcomes(run()).values()))
print(len(CorrectnessResults.from_dir("out/results").reports))
"""


@needs_bwrap
def test_a_full_disk_loses_nothing_that_was_written_and_the_next_run_works(tmp_path: Path) -> None:
    program = "print('honest', 'x' * 30_000)"
    expected = {"expected": {"output": f"honest {'x' * 30_000}\n"}}
    write_problem(tmp_path / "problem", {f"core/{number}": expected for number in range(6)})
    write_submission(tmp_path / "submission", program)
    (tmp_path / "out").mkdir()
    small = ["bwrap", "--dev-bind", "/", "/", "--perms", "0755", "--size", "1000000", "--tmpfs", str(tmp_path / "out")]
    done = script(tmp_path, FULL_DISK, *small, "--")
    assert done.returncode == 0, done.stderr
    complaint, kept, again, count = done.stdout.splitlines()
    assert "cannot be written: No space left on device" in complaint
    assert (kept, again, count) == ("True", "{'passed'}", "6")


def test_room_that_others_make_on_the_disk_hides_nothing_of_what_a_program_takes(tmp_path: Path) -> None:
    taken = tmp_path / "taken by others"
    with taken.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, 64 << 20)
    program = "import time\nfor n in range(16): open(str(n), 'wb').write(bytes(1 << 20))\ntime.sleep(30)"
    with opened("local", write_submission(tmp_path / "submission", program), limits={"disk_mb": 8}) as session:
        assert session.run("true").status == 0
        taken.unlink()
        outcome = session.run("python3 main.py", timeout=25)
    assert (outcome.note, outcome.timed_out) == ("more than 8 MiB on the disk", False)


EVALUATE = """
from pathlib import Path
from tests.hostile.whole import evaluate, outcomes
print(outcomes(evaluate("local", Path("problem"), Path("submission"))))
"""


@contextlib.contextmanager
def small_process_table(size: int) -> Iterator[list[str]]:
    """The start of a command whose processes have only so many in all."""
    group = ControlGroup.plan(processes=size - 4, memory=None)
    if group is None:
        pytest.skip("no control group can be made here to limit the processes of a test")
    try:
        yield group.entering()
    finally:
        group.close()


@pytest.mark.parametrize(
    "size", [4, 8, *(pytest.param(size, marks=pytest.mark.nightly) for size in (2, 3, 5, 6, 7, 9, 10, 12))]
)
def test_a_full_process_table_ends_the_run_and_leaves_nothing(size: int, tmp_path: Path) -> None:
    write_problem(tmp_path / "problem", {"core/1": HONEST})
    write_submission(tmp_path / "submission", "print('honest')")
    temporary = Path(tempfile.mkdtemp(prefix="pt-", dir="/tmp"))
    with small_process_table(size) as prefix:
        done = script(tmp_path, EVALUATE, *prefix, TMPDIR=str(temporary))
    assert done.returncode in (0, 1)
    deadline = time.monotonic() + 20
    while left := [*map(str, alive(str(temporary))), *(path.name for path in temporary.iterdir())]:
        assert time.monotonic() < deadline, left
    temporary.rmdir()
    assert script(tmp_path, EVALUATE).stdout == "{'1': 'passed'}\n"


CLOCK_GOES_BACK = """
import itertools, json, time
from pathlib import Path
from tests.hostile.whole import evaluate
hours = itertools.count()
true_time = time.time
time.time = lambda: true_time() - 3600 * next(hours)
time.time_ns = lambda: int(time.time() * 1e9)
results = evaluate("local", Path("problem"), Path("submission"), output_dir="out")
print(json.dumps([[r.id, r.outcome, r.duration >= 0, r.run_s >= 0] for r in results.reports] + [results.duration >= 0]))
"""


def test_a_clock_that_goes_back_changes_no_verdict_and_no_timeout(tmp_path: Path) -> None:
    cases = {f"core/{number}": HONEST for number in range(3)}
    cases["core/9"] = {"arguments": ["sleep"], "timeout": 0.3, **HONEST}  # type: ignore[dict-item]
    write_problem(tmp_path / "problem", cases)
    write_submission(tmp_path / "submission", "import sys, time\nif sys.argv[1:]: time.sleep(60)\nprint('honest')")
    started = time.monotonic()
    done = script(tmp_path, CLOCK_GOES_BACK)
    assert time.monotonic() - started < 50
    assert json.loads(done.stdout) == [
        *([str(number), "passed", True, True] for number in range(3)),
        ["9", "timed out", True, True],
        True,
    ]
