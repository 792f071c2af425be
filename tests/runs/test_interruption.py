"""Ctrl-C, SIGTERM and kill -9 in the middle: what is finished is kept, and the same command goes on from there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from slop_code.evaluation.report import CorrectnessResults
from tests.runs.world import World, wait_until

SECOND = "run/greet/second"


@pytest.fixture
def stuck(world: World) -> World:
    """A world where `second` has one case that is done at once and one that waits for the file `go`."""
    world.snapshot(
        "run",
        "greet",
        "second",
        f'test -n "$1" || {{ echo hello; exit; }}\necho $$ > {world.root}/mark\n'
        f"while ! test -e {world.root}/go; do sleep 0.02; done\necho hello $1\n",
    )
    return world


def in_the_middle(world: World, process: subprocess.Popen[str]) -> None:
    """Wait until `first` is finished, and one case of `second`, and the other one runs."""

    def is_there() -> bool:
        assert process.poll() is None, process.communicate()
        journal = world.root / SECOND / "reports.partial.jsonl"
        finished = (world.root / "run/checkpoint_results.jsonl").exists() and "first" in {
            line["checkpoint"] for line in world.lines()
        }
        return finished and (world.root / "mark").exists() and journal.exists() and '"nobody"' in journal.read_text()

    wait_until(is_there, "the middle of the evaluation")


def goes_on(world: World) -> None:
    (world.root / "go").touch()
    done = world.invoke("eval", "run")
    assert done.returncode == 0
    assert "evaluated 1: the last evaluation did not end (greet/second)" in done.stderr
    assert "skipped 1" in done.stderr
    assert [line["passed"] for line in world.lines()] == [True, True]
    left = sorted(path.name for path in (world.root / SECOND).iterdir())
    assert left == ["evaluation.json", "evaluation.key.json", "observations.parquet", "reports.parquet", "snapshot"]


@pytest.mark.parametrize(("signal_number", "times"), [(signal.SIGINT, 20), (signal.SIGTERM, 1)])
def test_an_interrupted_evaluation_reports_what_is_finished_and_impatience_changes_nothing(
    stuck: World, signal_number: signal.Signals, times: int
) -> None:
    with stuck.started("eval", "run", "-j", "2") as process:
        in_the_middle(stuck, process)
        for _ in range(times):
            process.send_signal(signal_number)
        stdout, stderr = process.communicate(timeout=60)
    assert (process.returncode, stdout) == (130, "")
    assert "Traceback" not in stderr
    assert "greet    2/2 ✓  1/1 so far" in stderr
    assert "interrupted: what is finished is kept" in stderr
    assert [line["checkpoint"] for line in stuck.lines()] == ["first"]
    partial = CorrectnessResults.from_dir(stuck.root / SECOND)
    assert (partial.complete, [report.id for report in partial.reports]) == (False, ["nobody"])
    assert not Path(f"/proc/{(stuck.root / 'mark').read_text().strip()}").exists()
    goes_on(stuck)


def test_a_killed_reevaluation_loses_nothing_that_was_finished_and_does_not_leave_the_old_line(stuck: World) -> None:
    (stuck.root / "go").touch()
    stuck.invoke("eval", "run")
    (stuck.root / "go").unlink()
    (stuck.root / "mark").unlink()
    stuck.write(f"{SECOND}/snapshot/new", "")
    with stuck.started("eval", "run", "-j", "2", cold=True) as process:
        in_the_middle(stuck, process)
        assert [line["checkpoint"] for line in stuck.lines()] == ["first"]
        process.kill()
        process.communicate(timeout=60)
    assert [line["checkpoint"] for line in stuck.lines()] == ["first"]
    goes_on(stuck)


def test_eval_snapshot_keeps_what_is_finished_of_a_part_too(stuck: World) -> None:
    arguments = ("eval-snapshot", f"{SECOND}/snapshot", "-p", "greet", "-c", "2", "--case", "*o*")
    with stuck.started(*arguments) as process:
        wait_until((stuck.root / "mark").exists, "the case")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in stderr
    # One of the two cases may have been finished by then, and nothing is written if it was not.
    if (stuck.root / SECOND / "evaluation.json").exists():
        assert CorrectnessResults.from_dir(stuck.root / SECOND).complete is False


BUSY = """
import time
from pathlib import Path
from slop_code.evaluation.loaders import BaseLoader

class Loader(BaseLoader):
    def __call__(self, group, store):
        Path({mark!r}).touch()
        time.sleep(63.25)
        yield
"""


def test_a_loader_that_is_busy_does_not_keep_ctrl_c_from_ending_the_run(world: World) -> None:
    mark = world.root / "mark"
    config = world.greet / "config.yaml"
    config.write_text(config.read_text().replace("builtin:files", "loader.py"))
    world.write("problems/greet/loader.py", BUSY.format(mark=str(mark)))
    arguments = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1")
    # The terminal tells every process of ours, not the evaluator alone.
    with world.started(*arguments, process_group=0, cold=True) as process:
        wait_until(mark.exists, "the loader's start")
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "interrupted" in stderr
    assert "KeyboardInterrupt" not in stderr


IMPORTED = """
import builtins, signal

# A shell that starts us in the background has it ignored, and whoever is started inherits that.
signal.signal(signal.SIGINT, signal.default_int_handler)
real = builtins.__import__

def imports(name, *rest):
    if name == "typer":
        signal.raise_signal(signal.SIGINT)
    return real(name, *rest)

builtins.__import__ = imports
from slop_code.command import main
main()
"""


def test_ctrl_c_while_it_is_being_imported_is_no_traceback() -> None:
    done = subprocess.run([sys.executable, "-c", IMPORTED], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")
