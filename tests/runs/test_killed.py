"""kill -9 in the middle of an evaluation, then the same command: only what was running then runs twice."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.report import CorrectnessResults
from slop_code.evaluation.report_format import JOURNAL
from tests.runs.world import World, wait_until

LOADER = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader

class Loader(BaseLoader):
    def __call__(self, group, store):
        for number in range({count}):
            yield CLICase(id=f"case-{{number}}", arguments=[str(number)]), CLIResult(output=f"hello {{number}}\\n")
"""


# Cases that should hang do, until somebody says that they may go on.
PROGRAM = """
echo "$1" >> {root}/{name}.log
for i in $(seq 3000); do [ {hangs} ] && [ ! -e {root}/go ] || break; sleep 0.02; done
echo hello $1
"""


def observed(journal: Path) -> set[str]:
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return {
        json.loads(line)["observation"]["id"] for line in lines if line.endswith(b"\n") and b'"observation"' in line
    }


def comparable(folder: Path) -> Any:
    results = CorrectnessResults.from_dir(folder)
    usage = {"timestamp", "duration", "run_s", "cpu_s", "peak_memory", "attempts"}
    rows = []
    for report in results.reports:
        row = json.loads(report.model_dump_json(exclude=usage))
        row["results"]["elapsed"]["actual"] = None
        rows.append(row)
    return rows, results.pass_counts, results.total_counts, results.score


def killed_and_resumed(world: World, count: int, hangs: str, hanging: set[int]) -> None:
    """Kill it when `hanging` are all the cases that have not ended, and those of them that run hang."""
    checkpoints = {"first": {"groups": {"core": {"type": "Core"}}}}
    world.problem("many", ("first",), loader_script="loader.py", checkpoints=checkpoints)
    world.write("problems/many/loader.py", LOADER.format(count=count))
    for name in ("killed", "undisturbed"):
        world.snapshot(name, "many", "first", PROGRAM.format(root=world.root, name=name, hangs=hangs))
    folder, other = (world.root / name / "many" / "first" for name in ("killed", "undisturbed"))
    journal = folder / JOURNAL
    ended = {f"case-{number}" for number in range(count) if number not in hanging}
    with world.started("eval", "killed", "-j", "2", cold=True) as process:
        wait_until(lambda: observed(journal) >= ended, "all but those that hang")
        process.kill()
        process.communicate(timeout=60)
    assert observed(journal) == ended
    log = world.root / "killed.log"
    log.unlink()
    (world.root / "go").touch()
    assert world.invoke("eval", "killed").returncode == 0
    assert {int(line) for line in log.read_text().split()} == hanging, "what had ended does not run twice"
    assert world.invoke("eval", "undisturbed").returncode == 0
    assert comparable(folder) == comparable(other)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in other.iterdir())


@pytest.mark.parametrize(
    ("hangs", "hanging"),
    # All others have to wait for the first one to be judged; in the middle, some are judged and some are not.
    [('"$1" -eq 0', {0}), ('"$1" -ge 30', set(range(30, 60)))],
    ids=["the first one hangs", "the later half hangs"],
)
def test_nothing_that_had_ended_runs_twice(world: World, hangs: str, hanging: set[int]) -> None:
    killed_and_resumed(world, 60, hangs, hanging)


@pytest.mark.nightly
def test_nor_with_a_thousand_cases(world: World) -> None:
    killed_and_resumed(world, 1_000, '"$1" -ge 500', set(range(500, 1_000)))
