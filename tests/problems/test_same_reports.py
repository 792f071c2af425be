"""Reports do not tell how many workers there were: with one and with eight, they are the same."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults, ProblemConfig, run_checkpoint
from slop_code.evaluation.listening import RunOptions
from tests.problems.plain import plain_python

PROBLEMS = Path(__file__).parents[2] / "problems"
NAMES = sorted(file.parent.name for file in PROBLEMS.glob("*/config.yaml"))
# Times, what the program took, and what depends on the port or on a temporary folder.
USAGE = {"timestamp", "duration", "run_s", "cpu_s", "peak_memory", "attempts"}
TIMES = {"elapsed", "resource_path"}


def shuffled(problem: ProblemConfig, seed: int) -> ProblemConfig:
    """The problem with the groups of its checkpoints in another order."""
    draw = random.Random(seed)
    for checkpoint in problem.checkpoints.values():
        groups = list(checkpoint.groups.items())
        draw.shuffle(groups)
        checkpoint.groups = dict(groups)
    return problem


def comparable(results: CorrectnessResults) -> dict[str, Any]:
    """Reports by group and id, with their order inside the group, without what differs from run to run."""
    groups: dict[str, Any] = {}
    for report in results.reports:
        row = json.loads(report.model_dump_json(exclude=USAGE))
        for name in TIMES & row["results"].keys():
            row["results"][name]["actual"] = None
        groups.setdefault(report.group, []).append(row)
    return groups


def evaluate(name: str, solution: str, jobs: int, seed: int, out: Path) -> CorrectnessResults:
    problem = shuffled(ProblemConfig.from_yaml(PROBLEMS / name), seed)
    checkpoint = list(problem.iterate_checkpoints())[-1]
    return run_checkpoint(
        PROBLEMS / name / solution,
        problem,
        checkpoint,
        plain_python(),
        options=RunOptions(jobs=jobs),
        output_dir=out,
    )


def same_with_one_and_with_eight(name: str, seed: int, folder: Path, *solutions: str) -> None:
    for solution in solutions:
        one = evaluate(name, solution, 1, 0, folder / "one")
        many = evaluate(name, solution, 8, seed, folder / "many")
        assert comparable(one) == comparable(many)
        assert comparable(CorrectnessResults.from_dir(folder / "many")) == comparable(one)
        assert list(many.group_outcomes) == list(dict.fromkeys(report.group for report in many.reports))
        assert one.pass_counts == many.pass_counts
        assert one.score == pytest.approx(many.score)
        assert not one.errors
        for place in ("one", "many"):
            shutil.rmtree(folder / place)


# Cases in any order and a group whose cases follow from each other; a loader and a verifier in Python, and servers with a store.
@pytest.mark.parametrize("name", ["calculator", "toolshed"])
def test_one_and_eight_workers_give_the_same_reports(name: str, tmp_path: Path) -> None:
    # An older solution passes some of what is asked and fails some, so that there are both to compare.
    same_with_one_and_with_eight(name, 1, tmp_path, "checkpoint_1/solution")


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.parametrize("name", NAMES)
def test_they_do_every_time(name: str, seed: int, tmp_path: Path) -> None:
    same_with_one_and_with_eight(name, seed, tmp_path, "checkpoint_2/solution", "checkpoint_1/solution")
