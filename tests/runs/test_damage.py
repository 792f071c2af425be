"""Whatever happened to the files of an evaluation, the next one gives what an undisturbed one would, or says why not."""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation.observations import Subject
from slop_code.evaluation.recall import Recall
from slop_code.evaluation.report_format import CONTENTS, JOURNAL, OBSERVATIONS, REPORTS, SUMMARY
from slop_code.runs.finished import KEY
from tests.runs.world import World, copy_of, make_world

FIRST = Path("run/greet/first")
ROOM = 120_000
"""Bytes that the journal of the first case fits in, and not that of the second."""
PROGRAM = """
count=20000
test "$1" = a || count=120000
yes 0123456789 | head -c $count
"""


@pytest.fixture(scope="session")
def _stopped(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> World:
    """A world of two cases whose evaluation has ended, and beside it (`stopped`) one that had no room for the second.

    Both give more than a row holds, so that there are contents, too.
    """
    world = make_world(tmp_path_factory.mktemp("stopped"))
    world.problem("greet", ("first",), checkpoints={"first": {"groups": {"core": {"type": "Core"}}}})
    for name in "ab":
        world.write(f"problems/greet/first/core/{name}.yaml", f"arguments: [{name}]\nexpected: {{output: hello}}\n")
    (world.greet / "first/core/you.yaml").unlink()
    shutil.rmtree(world.root / "run")
    world.snapshot("run", "greet", "first", PROGRAM)
    shutil.copytree(world.root / "run", world.root / "stopped")
    small = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
    with_little_room = world.command("eval", "stopped", "-e", "sh.yaml", "-j", "1", cold=True)
    stopped = subprocess.run(
        with_little_room,
        cwd=world.root,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (ROOM, small)),
    )
    assert stopped.returncode == 2, stopped.stderr
    assert "Traceback" not in stopped.stderr
    assert "reports.partial.jsonl: cannot be written: File too large" in stopped.stderr
    assert {outcome.status for outcome in world.evaluate().values()} == {"evaluated"}
    return world


@pytest.fixture
def world(_stopped: World, tmp_path: Path) -> World:
    return copy_of(_stopped, tmp_path)


def stopped_instead(world: World) -> Path:
    """The folder of an evaluation that was stopped after its first case."""
    shutil.rmtree(world.root / "run")
    (world.root / "stopped").rename(world.root / "run")
    assert sorted(path.name for path in (world.root / FIRST).iterdir()) == [JOURNAL, "snapshot"]
    return world.root / FIRST


def evaluated_again(world: World) -> tuple[int, str]:
    """Evaluate, and look whether all is as it should be; how many cases were reused, and what was said."""
    done = world.invoke("eval", "run")
    assert "slop-code itself failed" not in done.stderr
    assert done.returncode == 1, done.stderr
    summary = world.summary(str(FIRST))
    assert (summary["complete"], summary["pass_counts"]) == (True, {"Core": 0})
    assert set(world.look().values()) == {"skipped"}
    left = sorted(path.name for path in (world.root / FIRST).iterdir())
    assert left == sorted([CONTENTS, SUMMARY, KEY, OBSERVATIONS, REPORTS, "snapshot"])
    reused = done.stderr.partition("reused the observations of ")[2].partition(" case")[0]
    return int(reused or 0), done.stderr


def test_a_full_disk_costs_what_did_not_fit_and_the_next_evaluation_goes_on(world: World) -> None:
    stopped_instead(world)
    assert evaluated_again(world)[0] == 1


@pytest.mark.parametrize(("case", "reused"), [("a", 0), ("b", 1)])
def test_so_it_does_if_the_problem_changed_meanwhile(world: World, case: str, reused: int) -> None:
    stopped_instead(world)
    world.write(f"problems/greet/first/core/{case}.yaml", f"arguments: [{case}, more]\nexpected: {{output: hello}}\n")
    assert evaluated_again(world)[0] == reused


def lines_of(folder: Path) -> list[Any]:
    return [json.loads(line) for line in (folder / JOURNAL).read_text().splitlines()]


def write_lines(folder: Path, lines: list[Any]) -> None:
    texts = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / JOURNAL).write_text("".join(f"{text}\n" for text in texts))


def tear_the_line_of_the_observation(folder: Path) -> None:
    data = (folder / JOURNAL).read_bytes()
    begins = data.index(b'{"observation":')
    os.truncate(folder / JOURNAL, data.index(b"\n", begins) - 5)


def lose_all_but_half_a_head(folder: Path) -> None:
    os.truncate(folder / JOURNAL, 40)


def empty_the_journal(folder: Path) -> None:
    os.truncate(folder / JOURNAL, 0)


def lose_a_content(folder: Path) -> None:
    write_lines(folder, [line for line in lines_of(folder) if "content" not in line])


def damage_a_content(folder: Path) -> None:
    write_lines(folder, [{**line, "value": '"hello you"'} if "content" in line else line for line in lines_of(folder)])


def edit_the_rows(folder: Path) -> None:
    write_lines(
        folder, [{"observation": {"reusable": True}} if "observation" in line else line for line in lines_of(folder)]
    )


def write_other_things(folder: Path) -> None:
    odd = [
        '{"observation": 5}',
        '{"observation": [1]}',
        '{"content": []}',
        "[]",
        "5",
        "{",
        "\x00\xff",
        '{"carried": {}}',
    ]
    write_lines(folder, [lines_of(folder)[0], *odd])


def spoil_what_is_in_a_row(folder: Path) -> None:
    lines = lines_of(folder)
    for line in lines:
        if "observation" in line:
            line["observation"]["kind"] = "film"
    write_lines(folder, lines)


def is_recalled(folder: Path, subjects: list[Subject]) -> list[bool]:
    recall = Recall(folder)
    try:
        return [recall.find(subject) is not None for subject in subjects]
    finally:
        recall.close()


@pytest.mark.parametrize(
    "damage",
    [
        tear_the_line_of_the_observation,
        lose_all_but_half_a_head,
        empty_the_journal,
        lose_a_content,
        damage_a_content,
        edit_the_rows,
        write_other_things,
        spoil_what_is_in_a_row,
    ],
)
def test_nothing_is_made_of_a_damaged_journal(world: World, damage: Callable[[Path], None]) -> None:
    folder = stopped_instead(world)
    rows = [line["observation"] for line in lines_of(folder) if "observation" in line]
    subjects = [Subject(row["place_key"], row["case_key"]) for row in rows]
    assert is_recalled(folder, subjects) == [True]
    damage(folder)
    assert is_recalled(folder, subjects) == [False]


@pytest.mark.parametrize("damage", [tear_the_line_of_the_observation, write_other_things])
def test_an_evaluation_goes_on_from_a_damaged_journal(world: World, damage: Callable[[Path], None]) -> None:
    damage(stopped_instead(world))
    assert evaluated_again(world)[0] == 0


def truncate(name: str) -> Callable[[Path], None]:
    return lambda folder: os.truncate(folder / name, 100)


def remove(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


def another_ones(folder: Path) -> None:
    (folder / CONTENTS).write_bytes((folder / REPORTS).read_bytes())


@pytest.mark.parametrize(
    "damage",
    [
        remove(OBSERVATIONS),
        truncate(OBSERVATIONS),
        remove(CONTENTS),
        truncate(CONTENTS),
        another_ones,
    ],
)
def test_nothing_is_made_of_damaged_observations(world: World, damage: Callable[[Path], None]) -> None:
    import pyarrow.parquet  # type: ignore[import-untyped]

    folder = world.root / FIRST
    rows = pyarrow.parquet.read_table(folder / OBSERVATIONS, columns=["place_key", "case_key"]).to_pylist()
    subjects = [Subject(row["place_key"], row["case_key"]) for row in rows]
    assert is_recalled(folder, subjects) == [True, True]
    damage(folder)
    assert is_recalled(folder, subjects) == [False, False]


@pytest.mark.parametrize(
    ("damage", "reused"),
    [(remove(REPORTS), 2), (truncate(SUMMARY), 2), (truncate(OBSERVATIONS), 0), (remove(CONTENTS), 0)],
)
def test_damaged_files_are_made_again_of_what_can_be_read(
    world: World, damage: Callable[[Path], None], reused: int
) -> None:
    damage(world.root / FIRST)
    # Observations do not matter to what is done; here something has to be done.
    world.write("problems/greet/verifier.py", VERIFIER)
    assert evaluated_again(world)[0] == reused


VERIFIER = """
from slop_code.evaluation.verifiers import deepdiff_verify

class Verifier:
    def __init__(self, checkpoint): ...
    def __call__(self, group_name, case_name, actual, expected):
        return {"output": deepdiff_verify(actual.output, expected.output)}
"""


def test_observations_of_a_newer_slop_code_are_passed_over_and_it_is_said(world: World) -> None:
    import pyarrow.parquet

    path = world.root / FIRST / OBSERVATIONS
    table = pyarrow.parquet.read_table(path)
    pyarrow.parquet.write_table(table.replace_schema_metadata({"slop_code.format_version": "99"}), path)
    world.write("problems/greet/verifier.py", VERIFIER)
    reused, said = evaluated_again(world)
    assert reused == 0
    assert "run/greet/first/observations.parquet: is written in version 99 of the format" in said
