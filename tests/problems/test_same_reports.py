"""Reports do not tell how many workers there were: with one and with eight, they are the same."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults, ProblemConfig, run_checkpoint
from slop_code.evaluation.adapters import GroupType
from slop_code.evaluation.listening import RunOptions
from tests.problems.plain import plain_python

PROBLEMS = Path(__file__).parents[2] / "problems"
NAMES = sorted(file.parent.name for file in PROBLEMS.glob("*/config.yaml"))
# Times, what the program took, and what depends on the port or on a temporary folder.
USAGE = {"timestamp", "duration", "run_s", "cpu_s", "peak_memory", "attempts"}
TIMES = {"elapsed", "resource_path"}


def shuffled(problem: ProblemConfig, seed: int, *, regressions: bool) -> ProblemConfig:
    """The problem with the groups of its checkpoints in another order, with or without those of earlier ones."""
    draw = random.Random(seed)
    for checkpoint in problem.checkpoints.values():
        groups = [
            (name, group)
            for name, group in checkpoint.groups.items()
            if regressions or group.type is not GroupType.REGRESSION
        ]
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


def evaluate(name: str, solution: str, jobs: int, seed: int, out: Path, *, regressions: bool) -> CorrectnessResults:
    problem = shuffled(ProblemConfig.from_yaml(PROBLEMS / name), seed, regressions=regressions)
    checkpoint = list(problem.iterate_checkpoints())[-1]
    return run_checkpoint(
        PROBLEMS / name / solution,
        problem,
        checkpoint,
        plain_python(),
        options=RunOptions(jobs=jobs),
        output_dir=out,
    )


def same_with_one_and_with_eight(
    name: str, seed: int, folder: Path, *solutions: str, regressions: bool = True
) -> None:
    for solution in solutions:
        one = evaluate(name, solution, 1, 0, folder / "one", regressions=regressions)
        many = evaluate(name, solution, 8, seed, folder / "many", regressions=regressions)
        assert comparable(one) == comparable(many)
        assert comparable(CorrectnessResults.from_dir(folder / "many")) == comparable(one)
        assert list(many.group_outcomes) == list(dict.fromkeys(report.group for report in many.reports))
        assert one.pass_counts == many.pass_counts
        assert one.score == pytest.approx(many.score)
        assert not one.errors
        for place in ("one", "many"):
            shutil.rmtree(folder / place)


@pytest.mark.parametrize("name", NAMES)
def test_one_and_eight_workers_give_the_same_reports(name: str, tmp_path: Path) -> None:
    # An older solution passes some of what is asked and fails some, so that there are both to compare.
    same_with_one_and_with_eight(name, 1, tmp_path, "checkpoint_1/solution", regressions=False)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 22))
@pytest.mark.parametrize("name", NAMES)
def test_they_do_every_time(name: str, seed: int, tmp_path: Path) -> None:
    same_with_one_and_with_eight(name, seed, tmp_path, "checkpoint_2/solution", "checkpoint_1/solution")
