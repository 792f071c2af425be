"""kill -9 in the middle of an evaluation, then the same command: nothing that was finished runs twice."""

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


def finished(journal: Path) -> set[str]:
    lines = journal.read_bytes().splitlines(keepends=True) if journal.exists() else []
    return {json.loads(line)["report"]["id"] for line in lines if line.endswith(b"\n") and b'"report"' in line}


def comparable(folder: Path) -> Any:
    results = CorrectnessResults.from_dir(folder)
    usage = {"timestamp", "duration", "run_s", "cpu_s", "peak_memory", "attempts"}
    rows = []
    for report in results.reports:
        row = json.loads(report.model_dump_json(exclude=usage))
        row["results"]["elapsed"]["actual"] = None
        rows.append(row)
    return rows, results.pass_counts, results.total_counts, results.score


def killed_and_resumed(world: World, count: int) -> None:
    checkpoints = {"first": {"groups": {"core": {"type": "Core"}}}}
    world.problem("many", ("first",), loader_script="loader.py", checkpoints=checkpoints)
    world.write("problems/many/loader.py", LOADER.format(count=count))
    for name in ("killed", "undisturbed"):
        world.snapshot(name, "many", "first", f'echo "$1" >> {world.root}/{name}.log; echo hello $1\n')
    folder, other = (world.root / name / "many" / "first" for name in ("killed", "undisturbed"))
    journal = folder / JOURNAL
    with world.started("eval", "killed") as process:
        wait_until(lambda: len(finished(journal)) > count // 3, "a third of the cases")
        process.kill()
        process.communicate(timeout=60)
    before = finished(journal)
    assert count // 3 < len(before) < count
    log = world.root / "killed.log"
    log.unlink()
    assert world.invoke("eval", "killed").returncode == 0
    again = {f"case-{line}" for line in log.read_text().split()}
    assert not again & before, "nothing that was finished runs twice"
    assert again | before == {f"case-{number}" for number in range(count)}
    assert world.invoke("eval", "undisturbed").returncode == 0
    assert comparable(folder) == comparable(other)
    assert sorted(path.name for path in folder.iterdir()) == sorted(path.name for path in other.iterdir())


def test_nothing_that_was_finished_runs_twice(world: World) -> None:
    killed_and_resumed(world, 60)


@pytest.mark.nightly
def test_nor_with_a_thousand_cases(world: World) -> None:
    killed_and_resumed(world, 1_000)
