"""What an evaluation observed before is judged and not run again, and the end says how much that was."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.world import World, copy_of, make_world

COUNTING = 'echo "$1" >> {log}\necho hello $1\n'
SNAPSHOT = ("eval-snapshot", "run/greet/first/snapshot", "-p", "greet", "-c", "1", "-o", "out")


class Counted:
    """A world whose submissions leave a line, in a place that all such worlds share, each time that they run."""

    def __init__(self, world: World, log: Path) -> None:
        self.world = world
        self.log = log

    def runs(self, *arguments: str, said: str = "") -> int:
        """How many cases a command ran."""
        self.log.write_text("")
        done = self.world.invoke(*arguments)
        assert said in done.stderr
        assert bool(said.startswith("reused")) == ("reused" in done.stderr)
        return len(self.log.read_text().splitlines())


@pytest.fixture(scope="session")
def _counted(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> Counted:
    world = make_world(tmp_path_factory.mktemp("counted"))
    log = world.root / "log"
    for checkpoint in ("first", "second"):
        world.snapshot("run", "greet", checkpoint, COUNTING.format(log=log))
    counted = Counted(world, log)
    assert counted.runs("eval", "run") == 4
    return counted


@pytest.fixture
def counted(_counted: Counted, tmp_path: Path) -> Counted:
    """It is evaluated."""
    return Counted(copy_of(_counted.world, tmp_path), _counted.log)


def test_only_what_a_change_can_make_a_difference_to_is_run_again(counted: Counted) -> None:
    assert counted.runs("eval", "run", said="skipped 2") == 0
    case = "problems/greet/first/core/you.yaml"
    counted.world.write(case, 'arguments: [you, there]\nexpected: {output: "hello you\\n"}\n')
    assert counted.runs("eval", "run", said="reused the observations of 3 cases") == 1
    counted.world.write(case, 'arguments: [you, there]\nexpected: {output: "other"}\n')
    assert counted.runs("eval", "run", said="reused the observations of 4 cases") == 0
    assert counted.world.lines()[0]["passed_cases"] == 1


def test_one_line_of_a_submission_runs_all_of_it_again_and_no_other(counted: Counted) -> None:
    counted.world.snapshot("run", "greet", "second", COUNTING.format(log=counted.log) + "# changed\n")
    assert counted.runs("eval", "run") == 2


def test_what_moved_as_a_whole_is_not_run_again(counted: Counted) -> None:
    """Problem, checkpoint, group, cases and submission have other names and places: the questions are the same."""
    world = counted.world
    (world.root / "problems/greet").rename(world.root / "problems/salute")
    config = world.root / "problems/salute/config.yaml"
    config.write_text(config.read_text().replace("name: greet", "name: salute").replace("errors:", "mistakes:"))
    (world.root / "problems/salute/first/errors").rename(world.root / "problems/salute/first/mistakes")
    (world.root / "problems/salute/first/core/you.yaml").rename(world.root / "problems/salute/first/core/thou.yaml")
    (world.root / "run/greet/first").rename(world.root / "elsewhere")
    arguments = ("eval-snapshot", "elsewhere/snapshot", "-p", "salute", "-c", "1")
    assert counted.runs(*arguments, said="reused the observations of 2 cases") == 0
    assert world.summary("elsewhere")["pass_counts"] == {"Core": 1, "Error": 1}


@pytest.mark.parametrize("option", ["--no-cache", "--overwrite"])
def test_everything_can_be_asked_for(counted: Counted, option: str) -> None:
    assert counted.runs("eval", "run", option) == 4


def test_eval_snapshot_reuses_too_and_can_be_told_not_to(counted: Counted) -> None:
    assert counted.runs(*SNAPSHOT) == 2
    assert counted.runs(*SNAPSHOT, said="reused the observations of 2 cases") == 0
    assert counted.runs(*SNAPSHOT, "--no-cache") == 2
