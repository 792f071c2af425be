"""Several evaluators on one run: each checkpoint is evaluated by one of them, and nobody's results are lost."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

from slop_code.runs.checkpoint_results import CheckpointResults
from slop_code.runs.locks import LOCK, holder, try_lock, wait_for_lock
from tests.runs.world import World, wait_until


def test_the_second_waits_for_the_first_and_takes_its_results(world: World) -> None:
    world.snapshot(
        "run",
        "greet",
        "second",
        f'echo "$1" >> {world.root}/log\nwhile ! test -e {world.root}/go; do sleep 0.02; done\necho hello $1\n',
    )
    with world.started("eval", "run", "-j", "2", cold=True) as first:
        wait_until((world.root / "log").exists, "the first evaluator's cases")
        with world.started("eval", "run", "-j", "2") as second:
            assert second.stderr is not None
            assert f"run/greet/second: process {first.pid} is at it; waiting\n" in iter(second.stderr.readline, "")
            (world.root / "go").touch()
            ended = [process.communicate(timeout=60) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ended
    assert sorted((world.root / "log").read_text().splitlines()) == ["", "you"]
    assert [line["passed"] for line in world.lines()] == [True, True]
    assert "greet/second" not in ended[1][1].partition("evaluated")[2]
    assert not (world.root / "run/greet/second" / LOCK).exists()


def test_two_at_once_share_the_work(world: World) -> None:
    names = tuple(f"checkpoint_{number}" for number in range(4))
    world.problem("greet", names)
    shutil.rmtree(world.root / "run")
    for name in names:
        world.snapshot("run", "greet", name, f"echo case >> {world.root}/log\necho hello $1\n")
    with world.started("eval", "run") as first, world.started("eval", "run") as second:
        ended = [process.communicate(timeout=100) for process in (first, second)]
    assert (first.returncode, second.returncode) == (0, 0), ended
    assert len((world.root / "log").read_text().splitlines()) == 8
    assert [(line["checkpoint"], line["passed"]) for line in world.lines()] == [(name, True) for name in names]


def test_a_lock_is_held_by_one_and_names_its_holder(tmp_path: Path) -> None:
    lock = tmp_path / "folder" / "lock"
    with try_lock(lock) as held:
        assert held
        assert holder(lock) == f"process {os.getpid()}"
        with try_lock(lock) as again:
            assert not again
    assert not lock.exists()
    with try_lock(lock) as held:
        assert held


def test_a_lock_that_a_killed_process_left_is_nobodys(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    lock.write_text('{"pid": 1, "host": "elsewhere"}')
    assert holder(lock) == "process 1 on elsewhere"
    with try_lock(lock) as held:
        assert held
        assert holder(lock) == f"process {os.getpid()}"


def test_a_lock_without_words_is_another_process(tmp_path: Path) -> None:
    (tmp_path / "lock").write_text("")
    assert holder(tmp_path / "lock") == "another process"


def test_who_waits_for_a_lock_gets_it_in_the_end(tmp_path: Path) -> None:
    inside = 0
    most = 0

    def work() -> None:
        nonlocal inside, most
        for _ in range(20):
            with wait_for_lock(tmp_path / "lock", lambda _: None):
                inside += 1
                most = max(most, inside)
                inside -= 1

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
    assert not (tmp_path / "lock").exists()


def test_lines_of_several_writers_are_all_there(tmp_path: Path) -> None:
    names = [f"checkpoint_{number}" for number in range(24)]
    for name in names:
        (tmp_path / "greet" / name).mkdir(parents=True)

    def work(own: list[str]) -> None:
        results = CheckpointResults(tmp_path)
        for name in own:
            results.put([{"problem": "greet", "checkpoint": name, "order": int(name[11:])}])

    threads = [threading.Thread(target=work, args=(names[start::3],)) for start in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line["checkpoint"] for line in CheckpointResults(tmp_path).read()] == names
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["checkpoint_results.jsonl"]


def test_a_damaged_line_is_passed_over(tmp_path: Path) -> None:
    (tmp_path / "greet" / "first").mkdir(parents=True)
    (tmp_path / "greet" / "second").mkdir()
    line = '{"checkpoint": "first", "order": 1, "problem": "greet"}\n'
    (tmp_path / "checkpoint_results.jsonl").write_text(f'{line}[]\n{{"checkpoint": "seco')
    results = CheckpointResults(tmp_path)
    results.put([{"problem": "greet", "checkpoint": "second", "order": 2}])
    assert results.path.read_text() == line + line.replace("first", "second").replace("1", "2")
