"""What an evaluation observed before is judged and not run again, and the end says how much that was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.world import World

COUNTING = 'echo "$1" >> {log}\necho hello $1\n'


@pytest.fixture
def counted(world: World) -> World:
    """A world whose submissions leave a line for each time that they run."""
    for checkpoint in ("first", "second"):
        world.snapshot("run", "greet", checkpoint, COUNTING.format(log=world.root / "log"))
    return world


def runs(world: World) -> int:
    log: Path = world.root / "log"
    count = len(log.read_text().splitlines()) if log.exists() else 0
    log.unlink(missing_ok=True)
    return count


def test_only_what_a_change_can_make_a_difference_to_is_run_again(counted: World) -> None:
    assert "reused" not in counted.invoke("eval", "run").stderr
    assert runs(counted) == 4
    assert "skipped 2" in counted.invoke("eval", "run").stderr
    assert runs(counted) == 0
    counted.write("problems/greet/first/core/you.yaml", 'arguments: [you, there]\nexpected: {output: "hello you\\n"}\n')
    done = counted.invoke("eval", "run")
    assert "reused the observations of 3 cases" in done.stderr
    assert runs(counted) == 1
    counted.write("problems/greet/first/core/you.yaml", 'arguments: [you, there]\nexpected: {output: "other"}\n')
    done = counted.invoke("eval", "run")
    assert done.returncode == 1
    assert "reused the observations of 4 cases" in done.stderr
    assert runs(counted) == 0


def test_one_line_of_a_submission_runs_all_of_it_again_and_no_other(counted: World) -> None:
    counted.invoke("eval", "run")
    runs(counted)
    counted.snapshot("run", "greet", "second", COUNTING.format(log=counted.root / "log") + "# changed\n")
    assert "reused" not in counted.invoke("eval", "run").stderr
    assert runs(counted) == 2


@pytest.mark.parametrize("option", ["--no-cache", "--overwrite"])
def test_everything_can_be_asked_for(counted: World, option: str) -> None:
    counted.invoke("eval", "run")
    runs(counted)
    assert "reused" not in counted.invoke("eval", "run", option).stderr
    assert runs(counted) == 4


def test_eval_snapshot_reuses_too_and_can_be_told_not_to(counted: World) -> None:
    arguments = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1", "-o", "out")
    counted.invoke(*arguments)
    assert runs(counted) == 2
    assert "reused the observations of 2 cases" in counted.invoke(*arguments).stderr
    assert runs(counted) == 0
    counted.invoke(*arguments, "--no-cache")
    assert runs(counted) == 2
