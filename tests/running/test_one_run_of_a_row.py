"""What is reported of a group that keeps state is what one run of it gave, from its first case to its last."""

from __future__ import annotations

import json
import random
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.listening import RunInterrupted, RunLabel
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.verifiers import VerifierReport
from tests.running.world import Hears, World

# What it says begins with what it threw when the workspace was fresh.
DICE = """test -f dice || od -An -N8 -tx1 /dev/urandom | tr -d ' \\n' > dice
case $1 in hang) sleep 63.25;; esac
echo "$(cat dice)" "$1"
"""


class Rows(World):
    """Groups that keep state, given as words in an order; the case of the word `hang` does not end by itself."""

    def __init__(self, root: Path, program: str = DICE) -> None:
        super().__init__(root)
        self.config["adapter"] = {"type": "cli"}
        self.config["timeout"] = 120
        self.program(program)

    def rows(self, **rows: Iterable[str]) -> None:
        self.files = {"words.txt": ""}
        self.config["checkpoints"]["one"]["groups"] = {name: {"isolated": False} for name in rows}
        for group, words in rows.items():
            for number, word in enumerate(words):
                body = self.case(word, expected={"status_code": 0})
                self.files[f"one/{group}/{number}-{word}.yaml"] = body

    def break_off(self, **options: Any) -> None:
        """Evaluate until a case hangs, and end there."""
        with WorkerPool(1) as pool, pytest.raises(RunInterrupted):
            self.evaluate(_StopsAtHang(pool), pool=pool, **options)


class _StopsAtHang(Hears):
    def __init__(self, pool: WorkerPool) -> None:
        super().__init__()
        self._pool = pool

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        super().case_started(run, group, case_id)
        if case_id.endswith("hang"):
            threading.Thread(target=self._pool.stop).start()


@pytest.fixture
def world(tmp_path: Path) -> Rows:
    return Rows(tmp_path)


def thrown(reports: Iterable[VerifierReport]) -> dict[str, list[str]]:
    """What the dice showed in each case of each group."""
    seen: dict[str, list[str]] = {}
    for report in reports:
        seen.setdefault(report.group, []).append(str(report.results["output"].actual).split(" ")[0])
    return seen


def is_of_one_run(results: CorrectnessResults) -> bool:
    return all(len(set(dice)) == 1 and dice[0] for dice in thrown(results.reports).values())


def test_a_longer_row_that_broke_off_lends_nothing_to_a_finished_one(world: Rows) -> None:
    world.rows(kept=["x", "y", "z"])
    first, _ = world.evaluate()
    assert is_of_one_run(first)
    world.rows(kept=["x", "other", "more", "still more", "hang"])
    world.break_off()
    world.rows(kept=["x", "y", "z"])
    again, hears = world.evaluate()
    assert (thrown(again.reports), hears.ran) == (thrown(first.reports), [])


def test_cases_are_counted_once_however_often_their_group_begins(world: Rows) -> None:
    world.rows(kept=["x", "y", "z"])
    assert world.evaluate()[1].known == {"kept": 3}
    world.rows(kept=["x", "y", "other", "more"])
    _, hears = world.evaluate()
    assert (hears.known, len(hears.ran)) == ({"kept": 4}, 4)


def test_groups_that_begin_with_the_same_cases_keep_what_is_theirs(world: Rows) -> None:
    world.rows(one=["x", "y", "z"], two=["x", "y", "other", "more"], three=["x"])
    first, _ = world.evaluate()
    assert is_of_one_run(first)
    again, hears = world.evaluate()
    assert (thrown(again.reports), hears.ran) == (thrown(first.reports), [])


def test_a_row_has_what_it_needs_of_one_run_whatever_its_group_is_called(world: Rows) -> None:
    world.rows(one=["x", "y", "z"], two=["x", "y", "other", "more"])
    first, _ = world.evaluate()
    world.rows(two=["x", "y", "z"], one=["x", "y", "other"])
    again, hears = world.evaluate()
    before = thrown(first.reports)
    assert (thrown(again.reports), hears.ran) == ({"two": before["one"], "one": before["two"][:3]}, [])


def test_cases_that_several_runs_have_and_none_has_all_of_are_run_as_a_whole(world: Rows) -> None:
    world.rows(kept=["x", "y", "z", "hang"])
    world.break_off()
    world.rows(kept=["x", "y", "hang"])
    world.break_off()
    world.rows(kept=["x", "y", "z", "end"])
    results, hears = world.evaluate()
    assert (is_of_one_run(results), len(hears.ran)) == (True, 4)


def test_a_case_that_was_confirmed_alone_is_of_another_run_than_those_before_it(world: Rows) -> None:
    world.rows(kept=["x", "y", "z"])
    world.files["one/kept/1-y.yaml"] = world.case("y", expected={"output": "what it never says"})
    confirmed, _ = world.evaluate(confirm_failures=True)
    assert len(set(thrown(confirmed.reports)["kept"])) == 2, "the report says so in its warnings"
    assert set(thrown(world.judge_again())["kept"]) == set(thrown(confirmed.reports)["kept"])
    again, hears = world.evaluate()
    assert (is_of_one_run(again), len(hears.ran)) == (True, 3)


def test_whatever_rows_came_broke_off_and_came_back(world: Rows) -> None:
    chance = random.Random(20)
    reused = 0
    for _ in range(14):
        rows = {name: ["x", *chance.choices("yz", k=chance.choice((1, 2, 3)))] for name in ("one", "two")}
        if chance.random() < 0.4:
            rows[chance.choice(("one", "two"))].append("hang")
            world.rows(**rows)
            world.break_off(reuse=chance.random() < 0.7)
        else:
            world.rows(**rows)
            results, hears = world.evaluate(reuse=chance.random() < 0.9)
            reused += len(hears.reused)
            assert is_of_one_run(results)
    assert reused


SERVER = """
import argparse, http.server, os, secrets
parser = argparse.ArgumentParser()
parser.add_argument("--address"); parser.add_argument("--port", type=int)
options = parser.parse_args()
DICE = secrets.token_hex(8)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if "hang" in self.path:
            import time; time.sleep(63.25)
        body = f"{DICE} {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *arguments):
        pass

http.server.HTTPServer((options.address, options.port), Handler).serve_forever()
"""

LOADER = """
from slop_code.evaluation.adapters import APICase, APIResult
from slop_code.evaluation.loaders import BaseLoader

class Store:
    last = "nothing"
    def update(self, case, result, expected):
        self.last = str(result.output)[:4] if {fed} else "nothing"

class Loader(BaseLoader):
    def initialize_store(self):
        return Store()

    def __call__(self, group, store):
        for word in {rows}[group.name]:
            yield APICase(id=word, path=f"/{{word}}/{{store.last}}"), APIResult(status_code=200)
"""


@pytest.mark.parametrize("fed", [True, False])
def test_so_it_is_behind_a_server_and_with_a_store(tmp_path: Path, fed: bool) -> None:
    world = Rows(tmp_path)
    (world.submission / "main.sh").unlink()
    (world.submission / "main.py").write_text(SERVER)
    world.spec = {"commands": {"command": "python", "entry_file": "{entry_file}.py"}}
    world.config["adapter"] = {"type": "api", "address": "127.0.0.1"}
    world.config["loader_script"] = "loader.py"

    def rows(**words: list[str]) -> None:
        world.config["checkpoints"]["one"]["groups"] = {name: {} for name in words}
        world.files = {"words.txt": "", "loader.py": LOADER.format(rows=words, fed=fed)}

    rows(one=["x", "y", "z"], two=["x", "y", "other"])
    first, _ = world.evaluate()
    assert is_of_one_run(first)
    rows(one=["x", "other", "more", "still more", "hang"], two=["x", "y", "other"])
    world.break_off()
    rows(one=["x", "y", "z"], two=["x", "y", "other"])
    again, hears = world.evaluate()
    assert (thrown(again.reports), hears.ran) == (thrown(first.reports), [])


OPENED_ONCE = """
from pathlib import Path
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, NoOpStore

class Store:
    def update(self, case, result, expected):
        pass

class Loader(BaseLoader):
    def initialize_store(self):
        with Path(__file__).with_name("opened").open("a+") as opened:
            opened.seek(0)
            if "now" in opened.read():
                raise ValueError("opened twice")
            opened.write({mark!r})
        return Store()

    def __call__(self, group, store):
        yield CLICase(id="x", arguments=["x"]), CLIResult(status_code=0)
        yield CLICase(id="y", arguments=[{word!r}]), CLIResult(status_code=0)
"""


def test_a_loader_that_cannot_begin_again_costs_its_group(world: Rows) -> None:
    world.rows(kept=[])
    world.config["loader_script"] = "loader.py"
    world.files["loader.py"] = OPENED_ONCE.format(mark="then", word="y")
    world.evaluate()
    world.files["loader.py"] = OPENED_ONCE.format(mark="now", word="other")
    results, hears = world.evaluate()
    assert hears.ran == []
    assert [("opened twice" in (report.error or ""), report.outcome) for report in results.reports] == [(True, "error")]


def test_judging_again_takes_a_row_of_one_run_too(world: Rows) -> None:
    world.rows(one=["x", "y", "z"], two=["x", "y", "other", "more"])
    before = thrown(world.evaluate()[0].reports)
    world.rows(first=["x", "y", "z"], two=["x", "y", "other", "more"])
    assert thrown(world.judge_again()) == {"first": before["one"], "two": before["two"]}
    world.rows(one=["x", "y", "other"], two=["x", "y", "z"])
    swapped = world.judge_again()
    assert thrown(swapped) == {"one": before["two"][:3], "two": before["one"]}
    world.rows(one=["x", "y", "z", "more"])
    longer = world.judge_again()
    assert [bool(report.error) for report in longer] == [False, False, False, True]
    assert thrown(longer[:3]) == {"one": before["one"]}


def forget_runs(folder: Path) -> None:
    """Make the files of a run such as slop-code wrote before it knew which run of a row an observation is from."""
    import pyarrow.parquet  # type: ignore[import-untyped]

    table, journal = folder / "observations.parquet", folder / "reports.partial.jsonl"
    if table.is_file():
        columns = pyarrow.parquet.read_table(table)
        known = [name for name in columns.column_names if name != "row_run"]
        pyarrow.parquet.write_table(columns.select(known), table)
    if journal.is_file():
        lines = [json.loads(line) for line in journal.read_text().splitlines()]
        for line in lines:
            (line.get("observation") or line.get("carried") or {}).pop("row_run", None)
        journal.write_text("".join(f"{json.dumps(line)}\n" for line in lines))


@pytest.mark.parametrize("breaks_off", [False, True])
def test_files_that_do_not_know_the_run_of_a_row_serve_for_other_cases_only(world: Rows, breaks_off: bool) -> None:
    def cases(*words: str) -> None:
        world.rows(core=["a", "b"], kept=words)
        world.config["checkpoints"]["one"]["groups"]["core"] = {}

    cases("x", "y")
    world.evaluate()
    forget_runs(world.out)
    if breaks_off:
        cases("x", "y", "hang")
        world.break_off()
        forget_runs(world.out)
    cases("x", "y")
    judged = world.judge_again()
    assert [report.error for report in judged] == [None] * 4, "they can be judged again as they are"
    _, hears = world.evaluate()
    assert (hears.ran, hears.reused) == (["0-x", "1-y"], ["0-a", "1-b"])
    assert world.evaluate()[1].ran == []
