"""Observations are stored without loss, used again where nothing changed, and judged again without running anything."""

from __future__ import annotations

import copy
import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation import CorrectnessResults, independent_cases
from slop_code.evaluation.adapters import APIResult, CLIResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.listening import RunInterrupted, RunLabel
from slop_code.evaluation.observations import INLINE, LIMIT, Subject, from_row, to_row
from slop_code.evaluation.recall import Recall
from slop_code.evaluation.rejudging import judge_again
from slop_code.evaluation.report import ReportError, ReportWriter
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.verifiers import VerifierReport
from tests.running.world import Hears, World

SUBJECT = Subject("place", "case")
TEXTS = st.text(st.characters(codec=None) | st.characters(categories=["Cs", "Cc"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)
NUMBERS = st.floats(0, allow_nan=False, allow_infinity=False)
USAGE = st.fixed_dictionaries(
    {
        "run_s": NUMBERS,
        "cpu_s": st.none() | NUMBERS,
        "peak_memory": st.none() | st.integers(0, 2**62),
        "cut": st.booleans(),
        "warnings": st.lists(TEXTS, max_size=2).map(tuple),
        "attempts": st.integers(1, 9),
        "fault": TEXTS,
        "met_limit": st.booleans(),
        "row_run": st.text("0123456789abcdef"),
    }
)


def stored(observation: Observation) -> Observation:
    row, contents = to_row("core", "a", SUBJECT, observation, [])
    kept = from_row(json.loads(json.dumps(row)), contents.__getitem__)
    assert kept.subject == SUBJECT
    assert kept.whole
    return kept.observation


@given(
    output=TEXTS | st.none(),
    stderr=TEXTS | st.none(),
    files=st.dictionaries(TEXTS.filter(bool), TEXTS | st.binary(), max_size=3),
    status=st.integers(-64, 255),
    timed_out=st.booleans(),
    usage=USAGE,
)
def test_what_a_command_did_comes_back_as_it_was(
    output: Any, stderr: Any, files: Any, status: int, timed_out: bool, usage: Any
) -> None:
    result = CLIResult(
        id="a",
        group="core",
        group_type="Core",
        output=output,
        stderr=stderr,
        files=files,
        status_code=status,
        timed_out=timed_out,
        elapsed=usage["run_s"],
        command="x y \ud800",
    )
    seen = Observation(result, **usage)
    assert stored(seen) == seen


@given(
    output=JSON,
    headers=st.dictionaries(st.text("abc-", min_size=1), TEXTS, max_size=3),
    files=st.dictionaries(TEXTS.filter(bool), TEXTS | st.binary() | st.none(), max_size=3),
)
def test_what_a_server_answered_comes_back_as_it_was(output: Any, headers: Any, files: Any) -> None:
    result = APIResult(
        id="a",
        output=output,
        headers=headers,
        files=files,
        status_code=200,
        method="GET",
        resource_path="http://127.0.0.1:1/x",
        retries=2,
        binary_response_base64="AA==",
        binary_response_filename="a\ud800.bin",
        binary_response_size=1,
    )
    # A nan is only equal to itself; how it is written is the same.
    assert repr(stored(Observation(result)).result) == repr(result)


ODD = "\ud83d\x00\x1b漢\r\n\u2028"
SEEN = {
    "plain": Observation(CLIResult(output="hello\n", stderr="")),
    "nothing": Observation(CLIResult()),
    "empty": Observation(CLIResult(output="", stderr="", files={"empty.txt": "", "empty.bin": b""})),
    "bytes": Observation(
        CLIResult(output="", files={"b": bytes(range(256)), "\udcff|\udc80": "x", "\\udcff": b"\xff"})
    ),
    "large": Observation(CLIResult(output="x" * 40_000, stderr="x" * 40_000, files={"same": "x" * 40_000})),
    "edge": Observation(CLIResult(output="x" * (INLINE - 2), stderr="x" * (INLINE - 1))),
    ODD: Observation(CLIResult(output=ODD, files={ODD: ODD}), cut=True, warnings=(ODD, "w"), attempts=3, fault=ODD),
    "usage": Observation(CLIResult(output="1", elapsed=1 / 3), run_s=1 / 3, cpu_s=1e-9, peak_memory=2**40),
    "signal": Observation(CLIResult(output="1", status_code=-11)),
    "late": Observation(CLIResult(output="1", status_code=-1, timed_out=True)),
    "tags": Observation(APIResult(output={"$bytes": "eA=="}, status_code=200, headers={"set-cookie": "a=1, b=2"})),
    "numbers": Observation(APIResult(output=[10**5000, float("-inf"), 0.1, -0.0], status_code=200)),
}


def write_journal(folder: Path, *, ends: bool, seen: dict[str, Observation] = SEEN) -> Path:
    """The files of a run that saw these, with one case for each; or its journal, if it does not end."""
    results = CorrectnessResults(problem_name="p", problem_version=1, name="one", version=1)
    writer = ReportWriter(folder, results)
    reports = []
    for number, (name, observation) in enumerate(seen.items()):
        report = VerifierReport(id=name, group="core", type="Core", duration=0.0, results={})
        row = to_row("core", name, Subject("place", f"case {number}"), observation, [])
        writer.add(report, observed=writer.keep(row))
        reports.append(report)
    if ends:
        writer.add_group_report("core", "Core", 0.0, reports)
        writer.finish()
    else:
        writer.close()
    return folder


@pytest.mark.parametrize("ends", [True, False])
def test_the_files_and_the_journal_lose_nothing(tmp_path: Path, ends: bool) -> None:
    recall = Recall(write_journal(tmp_path, ends=ends))
    for number, (name, seen) in enumerate(SEEN.items()):
        kept = recall.named("core", name)
        assert kept is not None
        assert kept.whole
        assert kept.observation == seen
        found = recall.find(Subject("place", f"case {number}"))
        assert (None if found is None else found.observation) == (None if name == "late" else seen)
    recall.close()


def rows_of(query: str) -> list[Any]:
    import duckdb

    relation = duckdb.sql(query)
    assert relation is not None
    return relation.fetchall()


def test_duckdb_and_pandas_read_the_format_that_is_documented(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    write_journal(tmp_path, ends=True)
    pages = Path(__file__).parents[2] / "docs"
    documented = (pages / "reporting.md").read_text() + (pages / "comparing.md").read_text()
    for file in ("observations", "contents"):
        path = tmp_path / f"{file}.parquet"
        frame = pandas.read_parquet(path)
        described = [(name, kind) for name, kind, *_ in rows_of(f"DESCRIBE SELECT * FROM '{path}'")]
        assert [name for name, _ in described] == list(frame.columns)
        assert [name for name in frame.columns if f"`{name}`" not in documented] == []
        assert len(frame) == rows_of(f"SELECT count(*) FROM '{path}'")[0][0]
    assert dict(described) == {"content": "VARCHAR", "value": "VARCHAR"}
    described = rows_of(f"DESCRIBE SELECT * FROM '{tmp_path}/observations.parquet'")
    kinds = {name: kind for name, kind, *_ in described}
    assert kinds["parts"] == 'STRUCT(part VARCHAR, "value" VARCHAR, "content" VARCHAR, size BIGINT)[]'
    assert (kinds["whole"], kinds["run_s"], kinds["peak_memory"], kinds["attempts"]) == (
        "BOOLEAN",
        "DOUBLE",
        "BIGINT",
        "BIGINT",
    )
    frame = pandas.read_parquet(tmp_path / "observations.parquet")
    large = frame[frame.id == "large"].iloc[0]
    contents = dict(pandas.read_parquet(tmp_path / "contents.parquet").itertuples(index=False))
    assert {json.loads(contents[part["content"]]) for part in large.parts} == {"x" * 40_000}
    assert len(contents) == 2, "a content that is shared is there once"
    assert not frame[frame.id == "late"].reusable.item()


def test_a_large_content_is_kept_apart_and_one_that_is_too_large_is_left_out_visibly() -> None:
    row, contents = to_row("core", "a", SUBJECT, Observation(CLIResult(output="y" * LIMIT, stderr="kept")), [])
    assert (row["whole"], row["reusable"], contents) == (False, False, {})
    assert {part["part"]: (part["value"], part["content"]) for part in row["parts"]} == {
        "output": (None, None),
        "stderr": ('"kept"', None),
    }
    assert row["parts"][0]["size"] > LIMIT


def test_what_is_nested_too_deeply_to_be_kept_is_left_out_visibly() -> None:
    deep: Any = "x"
    for _ in range(300):
        deep = [deep]
    row, _ = to_row("core", "a", SUBJECT, Observation(APIResult(output=deep, status_code=200)), [])
    assert (row["whole"], row["reusable"]) == (False, False)
    assert [(part["value"], part["content"]) for part in row["parts"]] == [(None, None)]


def test_secrets_are_masked_and_then_it_is_not_used_again() -> None:
    row, _ = to_row("core", "a", SUBJECT, Observation(CLIResult(output="the hunter2 word")), ["hunter2"])
    assert "hunter2" not in json.dumps(row)
    assert (row["whole"], row["reusable"]) == (False, False)


@pytest.mark.parametrize(
    ("seen", "reusable"),
    [
        (Observation(CLIResult(output="x")), True),
        (Observation(CLIResult(output="x", status_code=3)), True),
        (Observation(CLIResult(output="x", status_code=-11)), True),
        (Observation(CLIResult(output="x"), cut=True, warnings=("stdout was cut",)), True),
        (Observation(CLIResult(output=""), fault="the submission has no main.sh"), True),
        (Observation(APIResult(status_code=500)), True),
        (Observation(CLIResult(timed_out=True, status_code=-1)), False),
        (Observation(APIResult(timed_out=True, status_code=-1)), False),
        (Observation(CLIResult(adapter_error=True)), False),
        (Observation(CLIResult(status_code=-9)), False),
        (Observation(CLIResult(status_code=137)), False),
        (Observation(CLIResult(output="x"), met_limit=True), False),
        (Observation(APIResult(status_code=200), met_limit=True), False),
        (Observation(CLIResult(output="x"), warnings=("the program was ended: so it says itself",)), True),
        (Observation(APIResult(status_code=-1, stderr="the server did not become ready")), False),
    ],
)
def test_only_what_would_come_out_the_same_is_used_again(seen: Observation, reusable: bool) -> None:
    row, _ = to_row("core", "a", SUBJECT, seen, [])
    assert (row["whole"], row["reusable"]) == (True, reusable)


ALL = sorted("abcdefxyz")


@pytest.fixture
def world(tmp_path: Path) -> World:
    """A world that nobody has evaluated."""
    world = World(tmp_path)
    world.program('echo "hello $1"; echo made > made.txt\n')
    return world


@pytest.fixture(scope="session")
def _evaluated(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> tuple[World, CorrectnessResults]:
    world = World(tmp_path_factory.mktemp("evaluated"))
    world.program('echo "hello $1"; echo made > made.txt\n')
    results, hears = world.evaluate()
    assert (sorted(hears.ran), hears.reused) == (ALL, [])
    assert [report.outcome for report in results.reports] == ["passed"] * 9
    return world, results


@pytest.fixture
def done(_evaluated: tuple[World, CorrectnessResults], tmp_path: Path) -> World:
    """A world that is evaluated: the same as any other such, elsewhere."""
    world = copy.deepcopy(_evaluated[0])
    world.root = tmp_path
    shutil.copytree(_evaluated[0].root, tmp_path, dirs_exist_ok=True)
    return world


def comparable(results: CorrectnessResults) -> list[Any]:
    return [report.model_dump(exclude={"timestamp", "duration"}) for report in results.reports]


def test_what_did_not_change_is_not_run_again(done: World, _evaluated: tuple[World, CorrectnessResults]) -> None:
    again, hears = done.evaluate()
    assert (hears.ran, sorted(hears.reused)) == ([], ALL)
    assert comparable(again) == comparable(_evaluated[1])
    assert sorted(done.evaluate(reuse=False)[1].ran) == ALL


def change_the_submission(world: World) -> None:
    world.program('echo "hello $1"; echo made > made.txt # again\n')


def change_a_limit(world: World) -> None:
    world.spec["limits"] = {"open_files": 77}


def change_an_asset(world: World) -> None:
    world.files["words.txt"] = "other words"


# Of each kind of thing, one for real: tests/runs/test_observation_keys.py has all that is in the keys.
@pytest.mark.parametrize("change", [change_the_submission, change_a_limit, change_an_asset])
def test_what_could_change_every_observation_runs_everything_again(
    done: World, change: Callable[[World], None]
) -> None:
    change(done)
    _, hears = done.evaluate()
    assert (sorted(hears.ran), hears.reused) == (ALL, [])


def test_so_does_a_change_of_the_surroundings(done: World) -> None:
    assert sorted(done.evaluate(surroundings="one")[1].ran) == ALL
    assert done.evaluate(surroundings="one")[1].ran == []


def test_changed_cases_are_run_again_and_no_others(done: World) -> None:
    changes: dict[str, dict[str, Any]] = {
        "b": {"arguments": ["b", ";", "true"]},
        "c": {"stdin": "text"},
        "d": {"timeout": 30},
        "e": {"input_files": [{"path": "in.txt", "content": "one"}]},
        "f": {"tracked_files": ["more.txt"]},
    }
    for name, change in changes.items():
        done.files[f"one/core/{name}.yaml"] = done.case(name, **change)
    _, hears = done.evaluate()
    assert (sorted(hears.ran), sorted(hears.reused)) == (sorted(changes), ["a", "x", "y", "z"])
    done.files["one/core/e.yaml"] = done.case("e", input_files=[{"path": "in.txt", "content": "two"}])
    assert done.evaluate()[1].ran == ["e"]


def test_new_expectations_and_names_run_nothing_and_are_judged(done: World) -> None:
    done.files["one/core/b.yaml"] = done.case("b", expected={"output": "other"})
    done.files["one/core/g.yaml"] = done.files.pop("one/core/a.yaml")
    groups = done.config["checkpoints"]["one"]["groups"]
    groups["heart"] = {**groups.pop("core"), "type": "Error"}
    done.files = {name.replace("/core/", "/heart/"): text for name, text in done.files.items()}
    results, hears = done.evaluate()
    assert hears.ran == []
    assert [report.id for report in results.reports if report.outcome != "passed"] == ["b"]
    (renamed,) = (report for report in results.reports if report.id == "g")
    assert [renamed.results[name].actual for name in ("id", "group", "group_type")] == ["g", "heart", "Error"]


def test_a_group_that_keeps_state_is_run_again_as_a_whole(done: World) -> None:
    done.files["one/kept/z.yaml"] = done.case("z", stdin="more")
    _, hears = done.evaluate()
    assert hears.ran == ["x", "y", "z"]
    assert sorted(hears.reused) == list("abcdef")
    done.files["one/kept/w.yaml"] = done.case("w")
    assert done.evaluate()[1].ran == ["w", "x", "y", "z"], "another one before them"


STORING = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader

class Store:
    last = "nothing"
    def update(self, case, result, expected):
        self.last = result.output.strip()

class Loader(BaseLoader):
    def initialize_store(self):
        return Store()

    def __call__(self, group, store):
        for name in {names!r}:
            # What is asked is made of the answer before it.
            yield CLICase(id="same", arguments=[name, store.last]), CLIResult(status_code=0)
"""


def test_a_store_that_feeds_later_cases_and_equal_ids_are_seen_through(world: World) -> None:
    world.config |= {"loader_script": "loader.py", "checkpoints": {"one": {"groups": {"core": {}}}}}
    world.files["loader.py"] = STORING.format(names=["1", "2", "3"])
    world.program('echo "$@" >> seen; cat seen\n')

    def outputs(results: CorrectnessResults) -> list[str]:
        return [str(report.results["output"].actual) for report in results.reports]

    first, hears = world.evaluate()
    assert (outputs(first), len(hears.ran)) == (["1 nothing\n", "2 1 nothing\n", "3 2 1 nothing\n"], 3)
    again, hears = world.evaluate()
    assert (outputs(again), hears.ran, len(hears.reused)) == (outputs(first), [], 3)
    world.files["loader.py"] = STORING.format(names=["1", "other", "3"])
    changed, hears = world.evaluate()
    assert (outputs(changed)[2], len(hears.ran)) == ("3 other 1 nothing\n", 3)
    # They are in a row all the same, but now in one workspace.
    world.config["checkpoints"]["one"]["groups"]["core"]["isolated"] = False
    shared, hears = world.evaluate()
    assert (outputs(shared)[1], len(hears.ran)) == ("1 nothing\nother 1 nothing\n", 3)


def test_what_did_not_end_well_is_run_again(world: World) -> None:
    world.config["checkpoints"]["one"]["groups"] = {"core": {}}
    world.program(
        "case $1 in b) sleep 63.25;; c) kill -9 $$;; d) head -c 3000000 /dev/zero > big; sleep 63.25;; esac\n"
        'echo "hello $1"; echo made > made.txt\n'
    )
    world.spec["limits"] = {"disk_mb": 1}
    world.files["one/core/b.yaml"] = world.case("b", timeout=0.5)
    results, _ = world.evaluate()
    outcomes = {report.id: report.outcome for report in results.reports}
    assert (outcomes["b"], outcomes["c"], outcomes["d"], outcomes["e"]) == ("timed out", "failed", "failed", "passed")
    assert "the program was ended" in next(report.warnings[0] for report in results.reports if report.id == "d")
    again, hears = world.evaluate()
    assert (set(hears.ran), sorted(hears.reused)) == (set("bcd"), list("aef"))
    assert {report.id: report.outcome for report in again.reports} == outcomes


class Stopping(Hears):
    """Stops the pool when the first case that had to be run is finished."""

    def __init__(self, pool: WorkerPool) -> None:
        super().__init__()
        self.pool = pool
        self.finished: list[str] = []

    def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
        self.finished.append(report.id)
        if self.ran:
            threading.Thread(target=self.pool.stop).start()


def test_a_run_that_was_stopped_goes_on_where_it_was_however_often(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Each result is judged by itself, so that the run can be stopped between two.
    monkeypatch.setattr(independent_cases, "_COMPANY_S", 0.0)
    world.config["checkpoints"]["one"]["groups"] = {"core": {}}
    world.files.update({f"one/core/{name}.yaml": world.case(name) for name in "ghijk"})
    finished: set[str] = set()
    for _ in range(3):
        with WorkerPool(1) as pool:
            hears = Stopping(pool)
            with pytest.raises(RunInterrupted):
                world.evaluate(hears, pool=pool)
        assert finished <= set(hears.reused), "nothing that was finished is run twice"
        assert not finished & set(hears.ran)
        finished |= set(hears.finished)
    results, last = world.evaluate()
    assert finished <= set(last.reused)
    assert set(last.ran) == set("abcdefghijk") - set(last.reused)
    assert [report.outcome for report in results.reports] == ["passed"] * 11
    assert comparable(results) == comparable(CorrectnessResults.from_dir(world.out))


VERIFIER = """
from slop_code.evaluation.verifiers import VerificationResult
class Verifier:
    def __init__(self, checkpoint_config): pass
    def __call__(self, group_name, case_name, actual, expected):
        return {{"output": VerificationResult.create("", {rule})}}
"""


def by_id(reports: list[VerifierReport]) -> dict[str, VerifierReport]:
    return {report.id: report for report in reports}


def test_stored_observations_are_judged_by_the_present_verifier(done: World) -> None:
    before = (done.out / "reports.parquet").read_bytes()
    done.files["verifier.py"] = VERIFIER.format(rule="'b' not in actual.output and 1 / ('c' not in actual.output)")
    again = by_id(done.judge_again())
    outcomes = {name: report.outcome for name, report in again.items()}
    assert outcomes == {name: {"b": "failed", "c": "error"}.get(name, "passed") for name in ALL}
    assert "ZeroDivisionError" in (again["c"].error or "")
    assert (done.out / "reports.parquet").read_bytes() == before


def test_an_observation_belongs_to_the_case_that_asks_the_same(done: World) -> None:
    done.files["one/core/new.yaml"] = done.case("new")
    done.files["one/core/renamed.yaml"] = done.files.pop("one/core/a.yaml")
    done.files["one/core/b.yaml"] = done.case("b", stdin="more")
    done.files["one/core/c.yaml"], done.files["one/core/d.yaml"] = done.case("d"), done.case("c")
    done.files["one/core/e.yaml"] = done.case("e", expected={"output": "hello e\n", "files": {"more.txt": "x"}})
    done.files["one/kept/y.yaml"] = done.case("y", stdin="more")
    reports = by_id(done.judge_again())
    errors = {name: report.error or "" for name, report in reports.items()}
    assert "there is no observation of this case" in errors.pop("new")
    for name in ("b", "e", "y", "z"):
        assert "has changed since it was observed" in errors.pop(name), name
    assert errors == dict.fromkeys(["c", "d", "f", "renamed", "x"], "")
    assert {reports[name].outcome for name in errors} == {"passed"}
    assert reports["c"].results["output"].actual == "hello d\n"
    assert reports["renamed"].results["id"].actual == "renamed"


def test_what_was_not_kept_whole_cannot_be_judged_again(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.config["checkpoints"]["one"]["groups"] = {"core": {}}
    monkeypatch.setattr("slop_code.evaluation.observations.LIMIT", 1_000)
    world.program('test "$1" != b || head -c 2000 /dev/zero | tr "\\0" x; echo "hello $1"; echo made > made.txt\n')
    world.evaluate()
    reports = by_id(world.judge_again())
    assert "is not whole: a part was too large to keep" in (reports["b"].error or "")
    assert reports["a"].outcome == "passed"
    assert set(world.evaluate()[1].ran) == {"b"}


def test_judging_again_needs_observations_that_can_be_read(done: World, tmp_path: Path) -> None:
    problem = done.problem()
    checkpoint = problem.load_checkpoint("one")
    with pytest.raises(ReportError, match="has no observations to judge"):
        judge_again(tmp_path / "nothing", problem, checkpoint, tmp_path / "again")
    (done.out / "observations.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(ReportError, match=r"observations\.parquet: is damaged or cannot be read"):
        judge_again(done.out, problem, checkpoint, tmp_path / "again")
