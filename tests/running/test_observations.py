"""Observations are stored without loss, used again where nothing changed, and judged again without running anything."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation import CorrectnessResults, ProblemConfig, run_checkpoint
from slop_code.evaluation.adapters import APIResult, CLIResult
from slop_code.evaluation.adapters.running import Observation
from slop_code.evaluation.listening import Listener, RunInterrupted, RunLabel, RunOptions
from slop_code.evaluation.observations import LIMIT, Subject, from_row, to_row
from slop_code.evaluation.rejudging import judge_again
from slop_code.evaluation.report import ReportError, iter_reports
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution import EnvironmentSpec
from tests.conftest import MakeProblem

SUBJECT = Subject("place", "case")
TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


def stored(result: Any, **usage: Any) -> Any:
    row, contents = to_row("core", "a", SUBJECT, Observation(result, **usage), [])
    return from_row(json.loads(json.dumps(row)), contents.__getitem__)


@given(
    output=TEXTS | st.none(),
    stderr=TEXTS,
    files=st.dictionaries(TEXTS.filter(bool), TEXTS | st.binary(), max_size=3),
    status=st.integers(-64, 255),
)
def test_what_a_command_did_comes_back_as_it_was(output: Any, stderr: str, files: Any, status: int) -> None:
    result = CLIResult(
        id="a", group="core", output=output, stderr=stderr, files=files, status_code=status, command="x y"
    )
    kept = stored(result, run_s=0.5, cpu_s=0.25, peak_memory=9, cut=True, warnings=("w",), attempts=2)
    assert kept.observation.result == result
    usage = kept.observation
    assert (usage.run_s, usage.cpu_s, usage.peak_memory, usage.cut) == (0.5, 0.25, 9, True)
    assert (usage.warnings, usage.attempts, kept.whole, kept.subject) == (("w",), 2, True, SUBJECT)


@given(output=JSON, headers=st.dictionaries(st.text("abc-", min_size=1), TEXTS, max_size=3))
def test_what_a_server_answered_comes_back_as_it_was(output: Any, headers: Any) -> None:
    result = APIResult(
        id="a", output=output, headers=headers, status_code=200, method="GET", binary_response_base64="AA=="
    )
    assert stored(result).observation.result == result


def test_a_large_content_is_kept_apart_and_one_that_is_too_large_is_left_out_visibly() -> None:
    large = "x" * 50_000
    row, contents = to_row("core", "a", SUBJECT, Observation(CLIResult(output=large, files={"f": large})), [])
    assert [part["value"] for part in row["parts"]] == [None, None]
    assert len(contents) == 1
    row, contents = to_row("core", "a", SUBJECT, Observation(CLIResult(output="y" * LIMIT, stderr="kept")), [])
    assert (row["whole"], row["reusable"]) == (False, False)
    assert {part["part"]: (part["value"], part["content"]) for part in row["parts"]} == {
        "output": (None, None),
        "stderr": ('"kept"', None),
    }
    assert row["parts"][0]["size"] > LIMIT


def test_secrets_are_masked_and_then_it_is_not_used_again() -> None:
    row, _ = to_row("core", "a", SUBJECT, Observation(CLIResult(output="the hunter2 word")), ["hunter2"])
    assert "hunter2" not in json.dumps(row)
    assert (row["whole"], row["reusable"]) == (False, False)


def test_a_timeout_is_kept_and_not_used_again() -> None:
    row, _ = to_row("core", "a", SUBJECT, Observation(CLIResult(timed_out=True)), [])
    assert (row["whole"], row["reusable"]) == (True, False)


class Hears(Listener):
    def __init__(self) -> None:
        self.ran: list[str] = []
        self.reused: list[str] = []

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        self.ran.append(case_id)

    def case_reused(self, run: RunLabel, group: str, case_id: str) -> None:
        self.reused.append(case_id)


class World:
    """A problem and a submission whose program tells, in a place of its own, each time that it runs."""

    def __init__(self, make_problem: MakeProblem, root: Path) -> None:
        self.root = root
        self.out = root / "out"
        self.config: dict[str, Any] = {
            "entry_file": "main",
            "loader_script": "builtin:files",
            "adapter": {"type": "cli", "tracked_files": ["made.txt"]},
            "timeout": 20,
            "static_assets": {"words": {"path": "words.txt"}},
            "checkpoints": {"one": {"groups": {"core": {}, "kept": {"isolated": False}}}},
        }
        self.files = {
            "words.txt": "a word",
            **{f"one/core/{name}.yaml": self.case(name) for name in "abc"},
            **{f"one/kept/{name}.yaml": self.case(name) for name in "xyz"},
        }
        self.make_problem = make_problem
        self.spec: dict[str, Any] = {"commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}
        self.submission = root / "submission"
        self.submission.mkdir()
        (self.submission / "main.sh").write_text('echo "hello $1"; echo made > made.txt\n')

    def case(self, name: str, **extra: Any) -> str:
        return json.dumps({"arguments": [name], "expected": {"output": f"hello {name}\n"}, **extra})

    def problem(self) -> ProblemConfig:
        return ProblemConfig.from_yaml(self.make_problem(self.config, self.files))

    def evaluate(self, **options: Any) -> tuple[CorrectnessResults, Hears]:
        problem, hears = self.problem(), Hears()
        results = run_checkpoint(
            self.submission,
            problem,
            problem.load_checkpoint("one"),
            EnvironmentSpec.model_validate({"type": "local", **self.spec}),
            options=RunOptions(**{"jobs": 2, "reuse": True, **options}),
            listener=hears,
            output_dir=self.out,
        )
        return results, hears


@pytest.fixture
def world(make_problem: MakeProblem, tmp_path: Path) -> World:
    return World(make_problem, tmp_path)


def comparable(results: CorrectnessResults) -> list[Any]:
    return [report.model_dump(exclude={"timestamp", "duration"}) for report in results.reports]


def test_what_did_not_change_is_not_run_again(world: World) -> None:
    first, hears = world.evaluate()
    assert (sorted(hears.ran), hears.reused) == (list("abcxyz"), [])
    second, hears = world.evaluate()
    assert (hears.ran, sorted(hears.reused)) == ([], list("abcxyz"))
    assert comparable(first) == comparable(second)
    assert [report.outcome for report in second.reports] == ["passed"] * 6
    _, hears = world.evaluate(reuse=False)
    assert sorted(hears.ran) == list("abcxyz")


def change_the_submission(world: World) -> None:
    (world.submission / "main.sh").write_text('echo "hello $1"; echo made > made.txt # again\n')


def add_to_the_submission(world: World) -> None:
    (world.submission / "other.sh").write_text("")


def change_the_command(world: World) -> None:
    world.spec["commands"] = {"command": "sh -e", "entry_file": "{entry_file}.sh"}


def change_a_variable(world: World) -> None:
    world.spec["environment"] = {"env": {"COLOUR": "red"}}


def change_a_limit(world: World) -> None:
    world.spec["limits"] = {"open_files": 77}


def change_the_checkpoints_variables(world: World) -> None:
    world.config["checkpoints"]["one"]["env"] = {"COLOUR": "red"}


def change_the_timeout(world: World) -> None:
    world.config["timeout"] = 21


def change_an_asset(world: World) -> None:
    world.files["words.txt"] = "other words"


def change_what_is_tracked(world: World) -> None:
    world.config["adapter"] = {"type": "cli", "tracked_files": ["made.txt", "more.txt"]}


def change_the_setup(world: World) -> None:
    world.spec["setup"] = {"commands": ["true"]}


@pytest.mark.parametrize(
    "change",
    [
        change_the_submission,
        add_to_the_submission,
        change_the_command,
        change_a_variable,
        change_a_limit,
        change_the_checkpoints_variables,
        change_the_timeout,
        change_an_asset,
        change_what_is_tracked,
        change_the_setup,
    ],
)
def test_what_could_change_every_observation_runs_everything_again(
    world: World, change: Callable[[World], None]
) -> None:
    world.evaluate()
    change(world)
    _, hears = world.evaluate()
    assert (sorted(hears.ran), hears.reused) == (list("abcxyz"), [])


def test_so_does_a_change_of_the_surroundings(world: World) -> None:
    world.evaluate(surroundings="one")
    assert world.evaluate(surroundings="one")[1].ran == []
    assert sorted(world.evaluate(surroundings="two")[1].ran) == list("abcxyz")


@pytest.mark.parametrize(
    "extra",
    [
        {"arguments": ["b", ";", "true"]},
        {"stdin": "text"},
        {"timeout": 30},
        {"input_files": [{"path": "in.txt", "content": "one"}]},
        {"tracked_files": ["more.txt"]},
    ],
)
def test_a_changed_case_is_run_again_and_no_other(world: World, extra: dict[str, Any]) -> None:
    world.evaluate()
    world.files["one/core/b.yaml"] = world.case("b", **extra)
    _, hears = world.evaluate()
    assert hears.ran == ["b"]
    if "input_files" in extra:
        world.files["one/core/b.yaml"] = world.case("b", input_files=[{"path": "in.txt", "content": "two"}])
        assert world.evaluate()[1].ran == ["b"]


def test_a_changed_expectation_runs_nothing_and_is_judged(world: World) -> None:
    world.evaluate()
    world.files["one/core/b.yaml"] = world.case("b", expected={"output": "other"})
    results, hears = world.evaluate()
    assert hears.ran == []
    assert [report.id for report in results.reports if report.outcome == "failed"] == ["b"]


def test_a_renamed_case_is_the_same_question(world: World) -> None:
    world.evaluate()
    world.files["one/core/d.yaml"] = world.case("a")
    results, hears = world.evaluate()
    assert hears.ran == []
    assert [report.id for report in results.reports][:4] == ["a", "b", "c", "d"]
    assert {report.results["id"].actual for report in results.reports if report.id == "d"} == {"d"}


def test_a_group_that_keeps_state_is_run_again_as_a_whole(world: World) -> None:
    world.evaluate()
    world.files["one/kept/z.yaml"] = world.case("z", stdin="more")
    _, hears = world.evaluate()
    assert hears.ran == ["x", "y", "z"]
    assert sorted(hears.reused) == ["a", "b", "c"]


def test_what_did_not_end_well_is_run_again(world: World) -> None:
    (world.submission / "main.sh").write_text('[ "$1" != b ] || sleep 63.25; echo "hello $1"\n')
    world.config["timeout"] = 0.5
    world.evaluate()
    results, hears = world.evaluate()
    assert set(hears.ran) == {"b"}
    assert [report.outcome for report in results.reports if report.id == "b"] == ["timed out"]


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


def test_a_run_that_was_stopped_goes_on_where_it_was_however_often(world: World) -> None:
    world.config["checkpoints"]["one"]["groups"] = {"core": {}}
    world.files.update({f"one/core/{name}.yaml": world.case(name) for name in "defghijk"})
    problem = world.problem()
    spec = EnvironmentSpec.model_validate({"type": "local", **world.spec})
    finished: set[str] = set()
    for _ in range(3):
        with WorkerPool(1) as pool:
            hears = Stopping(pool)
            with pytest.raises(RunInterrupted):
                run_checkpoint(
                    world.submission,
                    problem,
                    problem.load_checkpoint("one"),
                    spec,
                    options=RunOptions(reuse=True),
                    listener=hears,
                    output_dir=world.out,
                    pool=pool,
                )
        assert finished <= set(hears.reused), "nothing that was finished is run twice"
        assert not finished & set(hears.ran)
        finished |= set(hears.finished)
    results, last = world.evaluate()
    assert finished <= set(last.reused)
    assert set(last.ran) == set("abcdefghijk") - set(last.reused)
    assert [report.outcome for report in results.reports] == ["passed"] * 11
    assert comparable(results) == comparable(CorrectnessResults.from_dir(world.out))


def rows_of(query: str) -> list[Any]:
    relation = duckdb.sql(query)
    assert relation is not None
    return relation.fetchall()


def test_duckdb_reads_the_observations(world: World) -> None:
    world.evaluate()
    query = """
        SELECT id, json_extract_string(part.value, '$') AS text
        FROM (SELECT id, unnest(parts) AS part FROM 'observations.parquet' WHERE "group" = 'core')
        WHERE part.part = 'output' ORDER BY id
    """.replace("observations.parquet", str(world.out / "observations.parquet"))
    assert rows_of(query) == [(name, f"hello {name}\n") for name in "abc"]


def test_contents_that_cases_share_are_stored_once(world: World) -> None:
    (world.submission / "main.sh").write_text("head -c 100000 /dev/zero | tr '\\0' x; echo made > made.txt\n")
    world.evaluate()
    ((count, size),) = rows_of(f"SELECT count(*), max(length(value)) FROM '{world.out}/contents.parquet'")
    assert (count, size) == (1, 100_002)
    results, hears = world.evaluate()
    assert hears.ran == []
    assert {len(report.results["output"].actual) for report in results.reports} == {100_000}


def test_stored_observations_are_judged_by_the_present_verifier(world: World) -> None:
    world.files["verifier.py"] = VERIFIER.format(rule="actual.output == expected.output")
    world.evaluate()
    world.files["verifier.py"] = VERIFIER.format(rule="'b' not in actual.output")
    problem = world.problem()
    again = world.root / "again"
    results = judge_again(world.out, problem, problem.load_checkpoint("one"), again)
    assert [report.outcome for report in iter_reports(world.out)] == ["passed"] * 6
    assert {report.id: report.outcome for report in iter_reports(again)} == {
        name: "failed" if name == "b" else "passed" for name in "abcxyz"
    }
    assert results.pass_counts == {"Core": 5}
    assert CorrectnessResults.from_dir(again, with_reports=False) == results


VERIFIER = """
from slop_code.evaluation.verifiers import VerificationResult
class Verifier:
    def __init__(self, checkpoint_config): pass
    def __call__(self, group_name, case_name, actual, expected):
        return {{"output": VerificationResult.create("", {rule})}}
"""


def test_judging_again_says_what_it_has_no_observation_of_and_what_changed(world: World) -> None:
    world.evaluate()
    world.files["one/core/new.yaml"] = world.case("new")
    world.files["one/core/b.yaml"] = world.case("b", stdin="more")
    problem = world.problem()
    judge_again(world.out, problem, problem.load_checkpoint("one"), world.root / "again")
    reports = {report.id: report for report in iter_reports(world.root / "again")}
    assert "there is no observation of this case" in (reports["new"].error or "")
    assert "has changed since it was observed" in reports["b"].warnings[0]
    assert reports["b"].outcome == "passed"
    assert reports["a"].warnings == []


def test_judging_again_needs_observations(world: World, tmp_path: Path) -> None:
    problem = world.problem()
    with pytest.raises(ReportError, match="has no observations to judge"):
        judge_again(tmp_path / "nothing", problem, problem.load_checkpoint("one"), tmp_path / "again")
