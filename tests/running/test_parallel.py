"""What runs at the same time, what never does, and that nobody can tell from the reports."""

from __future__ import annotations

import json
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults, ProblemConfig, run_checkpoint
from slop_code.evaluation.listening import Listener, RunInterrupted, RunLabel, RunOptions, Selection
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution import EnvironmentSpec
from tests.conftest import MakeProblem
from tests.running.conftest import Run
from tests.running.test_api_cases import PYTHON, SERVER

MEET = """
touch "$SHARED/$1"
for i in $(seq 400); do [ -e "$SHARED/$2" ] && exit 0; sleep 0.02; done
exit 1
"""
# Says when it begins and ends, and that long enough for others to get in between.
LOG = 'echo "+$1" >> "$SHARED/log"; sleep 0.05; echo "-$1" >> "$SHARED/log"'
OK = "expected: {status_code: 0}"


@pytest.fixture
def shared(tmp_path: Path) -> Path:
    folder = tmp_path / "shared"
    folder.mkdir()
    return folder


def with_shared(shared: Path) -> dict[str, Any]:
    return {"environment": {"env": {"SHARED": str(shared)}}}


def jobs(count: int, **options: Any) -> dict[str, Any]:
    return {"options": RunOptions(jobs=count, **options)}


def outcomes(results: CorrectnessResults) -> dict[str, Any]:
    return {report.id: report.outcome for report in results.reports}


def named(*names: str, group: str = "core", **extra: Any) -> dict[str, str]:
    body = {"expected": {"status_code": 0}, **extra}
    return {f"one/{group}/{name}.yaml": json.dumps({**body, "arguments": [name]}) for name in names}


def overlapping(log: Path) -> set[frozenset[str]]:
    """The pairs of programs that ran at the same time, by what they logged."""
    open_now: set[str] = set()
    pairs: set[frozenset[str]] = set()
    for line in log.read_text().split():
        if line[0] == "+":
            pairs |= {frozenset({line[1:], other}) for other in open_now}
            open_now.add(line[1:])
        else:
            open_now.discard(line[1:])
    return pairs


def test_independent_cases_of_a_group_run_at_the_same_time(run: Run, shared: Path) -> None:
    cases = {f"one/core/{a}.yaml": f"arguments: [{a}, {b}]\n{OK}" for a, b in (("a", "b"), ("b", "a"))}
    assert outcomes(run(MEET, cases, spec=with_shared(shared), running=jobs(2))) == {"a": "passed", "b": "passed"}


def test_groups_that_keep_state_run_beside_each_other_and_stay_in_order_inside(run: Run, shared: Path) -> None:
    cases = {f"one/{a}/{a}.yaml": f"arguments: [{a}, {b}]\n{OK}" for a, b in (("a", "b"), ("b", "a"))}
    groups = {name: {"type": "Core", "isolated": False} for name in "ab"}
    assert set(outcomes(run(MEET, cases, groups, spec=with_shared(shared), running=jobs(2))).values()) == {"passed"}


def test_cases_of_a_group_that_is_not_isolated_never_overlap(run: Run, shared: Path) -> None:
    results = run(LOG, named(*"abcd"), {"core": {"isolated": False}}, spec=with_shared(shared), running=jobs(4))
    assert set(outcomes(results).values()) == {"passed"}
    assert (shared / "log").read_text().split() == [f"{sign}{name}" for name in "abcd" for sign in "+-"]


@pytest.mark.parametrize("base", ["object", "NoOpStore"])
def test_cases_that_feed_a_store_never_overlap(run: Run, shared: Path, base: str) -> None:
    loader = f"""
        from slop_code.evaluation.adapters import CLICase, CLIResult
        from slop_code.evaluation.loaders import BaseLoader, NoOpStore
        class Store({base}):
            def __init__(self): self.seen = []
            def update(self, case, result, expected): self.seen.append(case.id)
        class Loader(BaseLoader):
            def initialize_store(self): return Store()
            def __call__(self, group, store):
                for number, name in enumerate("abcd"):
                    assert len(store.seen) == number
                    yield CLICase(id=name, arguments=[name]), CLIResult(status_code=0)
    """
    verifier = """
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): pass
            def __call__(self, group_name, case_name, actual, expected):
                return {"status_code": VerificationResult.create("", actual.status_code == 0)}
    """
    results = run(LOG, {"loader.py": loader, "verifier.py": verifier}, spec=with_shared(shared), running=jobs(4))
    assert outcomes(results) == dict.fromkeys("abcd", "passed")
    assert overlapping(shared / "log") == set()


def test_reports_keep_the_loaders_order_whatever_order_the_cases_ended_in(run: Run, shared: Path) -> None:
    # Each waits for the next one to have ended.
    program = """
    [ -n "$2" ] && for i in $(seq 400); do [ -e "$SHARED/$2" ] && break; sleep 0.02; done
    touch "$SHARED/$1"
    """
    following = {"a": "b", "b": "c", "c": "d", "d": ""}
    cases = {f"one/core/{name}.yaml": f"arguments: [{name}, '{after}']\n{OK}" for name, after in following.items()}
    results = run(program, cases, {"core": {"case_order": list("abcd")}}, spec=with_shared(shared), running=jobs(4))
    assert list(outcomes(results).items()) == [(name, "passed") for name in "abcd"]
    assert list(results.group_outcomes["core"].results) == list("abcd")


@pytest.mark.parametrize("where", ["problem", "checkpoint", "group", "option"])
def test_what_is_exclusive_is_alone(make_problem: MakeProblem, tmp_path: Path, shared: Path, where: str) -> None:
    config: dict[str, Any] = {
        "entry_file": "main",
        "loader_script": "builtin:files",
        "exclusive": where == "problem",
        "checkpoints": {
            "one": {
                "exclusive": where == "checkpoint",
                "groups": {"timing": {"exclusive": where == "group"}, "other": {}, "kept": {"isolated": False}},
            }
        },
    }
    files = {**named("t1", "t2", group="timing"), **named("o1", "o2", group="other"), **named("k1", "k2", group="kept")}
    problem = ProblemConfig.from_yaml(make_problem(config, files))
    results = evaluate(problem, tmp_path, LOG, shared, exclusive=("tim*",) if where == "option" else ())
    assert set(outcomes(results).values()) == {"passed"}
    pairs = overlapping(shared / "log")
    assert not any(name in pair for pair in pairs for name in ("t1", "t2"))
    # That the others may run beside each other is shown by tests in which they have to.
    assert where in {"group", "option"} or not pairs


def evaluate(problem: ProblemConfig, tmp_path: Path, program: str, shared: Path, **options: Any) -> CorrectnessResults:
    submission = tmp_path / "submission"
    submission.mkdir(exist_ok=True)
    (submission / "main.sh").write_text(program)
    environment = {
        "type": "local",
        "commands": {"command": "sh", "entry_file": "{entry_file}.sh"},
        **with_shared(shared),
    }
    spec = EnvironmentSpec.model_validate(environment)
    checkpoint = next(problem.iterate_checkpoints())
    return run_checkpoint(submission, problem, checkpoint, spec, options=RunOptions(jobs=3, **options))


# Hangs (or fails) the first time, and then never again.
FIRST_TIME = 'if [ "$1" = odd ] && mkdir "$SHARED/first"; then {}; fi; echo "$1" >> "$SHARED/runs"'
# Waits until the odd one has begun, so that it has company.
COMPANION = 'for i in $(seq 400); do [ -e "$SHARED/first" ] && break; sleep 0.02; done; sleep 0.2; '


def test_a_case_that_timed_out_in_company_is_run_again_alone_before_it_is_judged(run: Run, shared: Path) -> None:
    program = f'[ "$1" = odd ] || {{ {COMPANION} }}; {FIRST_TIME.format("sleep 61.25")}'
    cases = {**named("odd", timeout=1), **named("other")}
    results = run(program, cases, {"core": {"case_order": ["odd", "other"]}}, spec=with_shared(shared), running=jobs(2))
    odd, other = results.reports
    assert (odd.outcome, odd.attempts, other.outcome, other.attempts) == ("passed", 2, "passed", 1)
    assert "run again, alone" in odd.warnings[0]


def test_a_case_that_times_out_again_alone_is_timed_out(run: Run) -> None:
    cases = named("a", "b", timeout=0.3)
    results = run("sleep 61.5", cases, running=jobs(2))
    assert [(report.outcome, report.attempts) for report in results.reports] == [("timed out", 2)] * 2


def test_a_case_that_timed_out_with_nothing_else_running_is_not_run_again(run: Run, shared: Path) -> None:
    results = run(
        FIRST_TIME.format("sleep 61.75"), named("odd", timeout=0.3), spec=with_shared(shared), running=jobs(2)
    )
    assert [(report.outcome, report.attempts) for report in results.reports] == [("timed out", 1)]


def test_a_group_that_keeps_state_is_run_again_from_its_start_when_one_of_its_cases_timed_out_in_company(
    run: Run, shared: Path
) -> None:
    program = f"""
    [ "$1" = companion ] && {{ {COMPANION} true; }}
    echo "$1" >> state; cat state | tr '\\n' ' '
    {FIRST_TIME.format("sleep 61.8")}
    """
    cases = {
        "one/kept/before.yaml": 'arguments: [before]\nexpected: {output: "before "}',
        "one/kept/odd.yaml": 'arguments: [odd]\ntimeout: 1\nexpected: {output: "before odd "}',
        "one/kept/then.yaml": 'arguments: [then]\nexpected: {output: "before odd then "}',
        **named("companion", group="core"),
    }
    groups = {"kept": {"isolated": False, "case_order": ["before", "odd", "then"]}, "core": {}}
    results = run(program, cases, groups, spec=with_shared(shared), running=jobs(2))
    assert outcomes(results) == dict.fromkeys(["before", "odd", "then", "companion"], "passed")
    assert [report.attempts for report in results.reports] == [1, 2, 1, 1]
    assert (shared / "runs").read_text().split().count("before") == 2


@pytest.mark.parametrize("isolated", [True, False])
def test_failures_are_confirmed_on_request(run: Run, shared: Path, isolated: bool) -> None:
    program = FIRST_TIME.format("exit 1")
    cases = {**named("a"), **named("odd")}
    results = run(
        program,
        cases,
        {"core": {"isolated": isolated}},
        spec=with_shared(shared),
        running=jobs(2, confirm_failures=True),
    )
    assert [(r.id, r.outcome, r.attempts) for r in results.reports] == [("a", "passed", 1), ("odd", "passed", 2)]
    assert "it failed the first time" in results.reports[1].warnings[0]


def test_without_the_request_they_are_not(run: Run, shared: Path) -> None:
    results = run(FIRST_TIME.format("exit 1"), named("odd"), spec=with_shared(shared), running=jobs(2))
    assert [(report.outcome, report.attempts) for report in results.reports] == [("failed", 1)]


def test_fail_fast_starts_nothing_more_after_the_first_that_did_not_pass(run: Run, shared: Path) -> None:
    # Whatever is begun before the verdict on the second is out holds the only worker until it is stopped.
    program = 'echo "$1" >> "$SHARED/runs"; case "$1" in a) exit 0;; b) exit 1;; *) exec sleep 15;; esac'
    results = run(program, named(*"abcdefgh"), spec=with_shared(shared), running=jobs(1, fail_fast=True))
    assert outcomes(results) == {"a": "passed", "b": "failed"}
    assert not results.complete
    assert len((shared / "runs").read_text().split()) <= 3


@pytest.mark.parametrize("isolated", [True, False])
def test_workspaces_of_cases_that_did_not_pass_are_kept_on_request(run: Run, tmp_path: Path, isolated: bool) -> None:
    kept = tmp_path / "kept"
    program = 'echo "by $1" > made.txt; ln -sf made.txt link; mkfifo pipe; [ "$1" = good ]'
    run(program, named("good", "bad"), {"core": {"isolated": isolated}}, running=jobs(2, keep_workspaces=kept))
    assert [path.name for path in (kept / "core").iterdir()] == ["bad"]
    left = kept / "core" / "bad"
    assert (left / "made.txt").read_text() == "by bad\n"
    assert (left / "link").is_symlink()
    assert (left / "main.sh").is_file()


def test_the_longest_case_goes_first_when_it_is_known(run: Run, shared: Path) -> None:
    program = 'echo "$1" >> "$SHARED/runs"; [ "$1" != c ] || sleep 0.2'
    for first in ("a", "c"):
        results = run(program, named(*"abcd"), spec=with_shared(shared), running=jobs(1))
        assert list(outcomes(results)) == ["a", "b", "c", "d"]
        started = (shared / "runs").read_text().split()
        (shared / "runs").unlink()
        assert sorted(started) == ["a", "b", "c", "d"]
        assert started[0] == first


def test_two_groups_with_the_same_fixed_port_do_not_run_at_the_same_time_in_local(run: Run) -> None:
    from slop_code.execution.session import free_local_port

    # Slow enough for the servers to meet. One that finds its port taken ends, and the other answers in its place.
    slow = SERVER.replace("        count += 1\n", "        count += 1; import time; time.sleep(0.2)\n")
    port = free_local_port()
    results = run(
        {"main.py": slow},
        {f"one/{group}/x.yaml": f"path: /x\n{OK.replace('0', '200')}" for group in "ab"},
        {name: {} for name in "ab"},
        spec=PYTHON,
        adapter={"type": "api", "port": port, "health_path": "/health", "response_is_json": True},
        running=jobs(2),
    )
    answers = [report.results["output"].actual for report in results.reports]
    assert [(report.outcome, answer["count"]) for report, answer in zip(results.reports, answers, strict=True)] == [
        ("passed", 2),
        ("passed", 2),
    ]
    assert answers[0]["pid"] != answers[1]["pid"]
    assert results.reports[0].results["resource_path"].actual == f"http://127.0.0.1:{port}/x"


def test_reports_can_be_kept_on_the_disk_alone(run: Run, tmp_path: Path) -> None:
    groups = {"core": {}, "kept": {"isolated": False}}
    files = {**named(*"abc"), **named(*"de", group="kept")}
    kept = run("true", files, groups, running={"output_dir": tmp_path / "one"})
    light = run("true", files, groups, running={"output_dir": tmp_path / "two", "keep_reports": False})
    assert light.reports == []
    assert [report.id for report in kept.reports] == list("abcde")
    stored = CorrectnessResults.from_dir(tmp_path / "two")
    assert [report.id for report in stored.reports] == list("abcde")
    assert stored.model_copy(update={"reports": []}) == light
    assert CorrectnessResults.from_dir(tmp_path / "one") == kept


class Recorder(Listener):
    def __init__(self) -> None:
        self.heard: list[tuple[Any, ...]] = []
        self._busy = threading.Lock()

    def _hear(self, *facts: Any) -> None:
        assert self._busy.acquire(blocking=False), "calls come one at a time"
        self.heard.append(facts)
        self._busy.release()

    def preparing(self, run: RunLabel) -> None:
        self._hear("preparing", run)

    def prepared(self, run: RunLabel, seconds: float, reused: bool) -> None:
        assert seconds >= 0
        self._hear("prepared", reused)

    def enumerated(self, run: RunLabel, group: str, cases: int, complete: bool) -> None:
        self._hear("enumerated", group, cases, complete)

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        self._hear("started", group, case_id)

    def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
        self._hear("finished", report.group, report.id)

    def run_ended(self, run: RunLabel, results: CorrectnessResults) -> None:
        self._hear("ended", len(results.reports))


def test_a_listener_hears_everything_in_a_sensible_order(run: Run) -> None:
    recorder = Recorder()
    run("true", named(*"ab"), running={"listener": recorder, **jobs(2)})
    heard = recorder.heard
    assert heard[0][0] == "preparing"
    assert heard[0][1].problem == "demo"
    assert heard[1][0] == "prepared"
    assert ("enumerated", "core", 2, True) in heard
    for case in "ab":
        assert heard.index(("started", "core", case)) < heard.index(("finished", "core", case))
    assert heard[-1] == ("ended", 2)


def test_a_stopped_pool_ends_the_run_with_what_is_finished(run: Run, tmp_path: Path) -> None:
    with WorkerPool(1) as pool:

        class Stopping(Listener):
            def case_finished(self, run: RunLabel, report: VerifierReport) -> None:
                if report.id == "b":
                    threading.Thread(target=pool.stop).start()

        program = '[ "$1" != c ] || sleep 62.25'
        with pytest.raises(RunInterrupted) as caught:
            run(
                program,
                named(*"abcd"),
                running={"pool": pool, "listener": Stopping(), "output_dir": tmp_path / "out"},
            )
    assert outcomes(caught.value.results) == {"a": "passed", "b": "passed"}
    assert not caught.value.results.complete
    stored = CorrectnessResults.from_dir(tmp_path / "out")
    assert not stored.complete
    assert [report.id for report in stored.reports] == ["a", "b"]


def test_runs_that_share_a_pool_go_on_at_the_same_time(make_problem: MakeProblem, tmp_path: Path, shared: Path) -> None:
    problems = {}
    for mine, other in (("x", "y"), ("y", "x")):
        config = {
            "name": mine,
            "entry_file": "main",
            "loader_script": "builtin:files",
            "checkpoints": {"one": {"groups": {"core": {}}}},
        }
        files = {"one/core/case.yaml": f"arguments: [{mine}, {other}]\n{OK}"}
        problems[mine] = ProblemConfig.from_yaml(make_problem(config, files, name=mine))
    submission = tmp_path / "submission"
    submission.mkdir()
    (submission / "main.sh").write_text(MEET)
    environment: Mapping[str, Any] = {
        "type": "local",
        "commands": {"command": "sh", "entry_file": "{entry_file}.sh"},
        **with_shared(shared),
    }
    spec = EnvironmentSpec.model_validate(environment)
    results: dict[str, Any] = {}
    with WorkerPool(2) as pool:

        def work(name: str) -> None:
            problem = problems[name]
            results[name] = run_checkpoint(submission, problem, problem.load_checkpoint("one"), spec, pool=pool)

        threads = [threading.Thread(target=work, args=(name,)) for name in problems]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert {name: outcomes(result) for name, result in results.items()} == {
        "x": {"case": "passed"},
        "y": {"case": "passed"},
    }


def test_a_selection_of_a_group_with_state_runs_what_comes_before_it_and_nothing_after(run: Run, shared: Path) -> None:
    program = 'echo "$1" >> "$SHARED/runs"'
    selection = Selection(only=frozenset({("kept", "b")}))
    groups = {"kept": {"isolated": False}, "other": {"isolated": False}}
    files = {**named(*"abc", group="kept"), **named(*"de", group="other")}
    results = run(program, files, groups, spec=with_shared(shared), running={"selection": selection})
    assert outcomes(results) == {"b": "passed"}
    assert (shared / "runs").read_text().split() == ["a", "b"]


def test_groups_of_which_no_case_is_selected_do_not_count(run: Run) -> None:
    groups: dict[str, Any] = {"core": {}, "other": {}}
    files = {**named(*"ab"), **named(*"cd", group="other")}
    results = run("true", files, groups, running={"selection": Selection(cases=("a",))})
    assert list(results.group_outcomes) == ["core"]
    assert (results.score, results.total_counts) == (1.0, {"Core": 1})


def test_a_program_that_takes_its_helper_with_it_costs_its_own_case(run: Run) -> None:
    program = '[ "$1" != b ] || kill -9 $PPID'
    results = run(program, named(*"abcd"), running=jobs(1))
    assert {name: outcome for name, outcome in outcomes(results).items() if name != "b"} == dict.fromkeys(
        "acd", "passed"
    )


def test_fail_fast_does_not_blame_what_it_stopped(run: Run, shared: Path) -> None:
    program = """
    if [ "$1" = bad ]; then while ! [ -e "$SHARED/slow" ]; do sleep 0.02; done; exit 1; fi
    touch "$SHARED/slow"; sleep 64.25
    """
    groups = {"core": {}, "kept": {"isolated": False}}
    files = {**named("bad"), **named("slow", group="kept")}
    results = run(program, files, groups, spec=with_shared(shared), running=jobs(2, fail_fast=True))
    assert outcomes(results) == {"bad": "failed"}
    assert results.errors == []


def test_confirming_failures_reports_no_case_twice(run: Run, shared: Path) -> None:
    # `b` fails only the second time, when it is run again for what `d` depends on; `d` always fails.
    program = """
    case $1 in
      b) if mkdir "$SHARED/once" 2>/dev/null; then exit 0; else exit 1; fi;;
      d) exit 1;;
    esac
    """
    files = named(*"abcde")
    running = jobs(2, confirm_failures=True)
    results = run(program, files, {"core": {"isolated": False}}, spec=with_shared(shared), running=running)
    assert [(report.id, report.outcome) for report in results.reports] == [
        ("a", "passed"), ("b", "passed"), ("c", "passed"), ("d", "failed"), ("e", "passed"),
    ]  # fmt: skip


def test_nobody_verifies_while_an_exclusive_group_runs(run: Run, shared: Path) -> None:
    loader = """
        from slop_code.evaluation.adapters import CLICase, CLIResult
        from slop_code.evaluation.loaders import BaseLoader
        class Loader(BaseLoader):
            def __call__(self, group, store):
                for number in range(3):
                    yield CLICase(id=f"{group.name}{number}", arguments=[f"{group.name}{number}"]), CLIResult()
    """
    verifier = """
        import os, time
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): pass
            def __call__(self, group_name, case_name, actual, expected):
                with open(os.environ["VERIFIER_LOG"], "a", buffering=1) as log:
                    log.write(f"+verify-{case_name}\\n")
                    time.sleep(0.1)
                    log.write(f"-verify-{case_name}\\n")
                return {"status_code": VerificationResult.create("", actual.status_code == 0)}
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VERIFIER_LOG", str(shared / "log"))
        results = run(
            LOG,
            {"loader.py": loader, "verifier.py": verifier},
            {"other": {}, "timing": {"exclusive": True}},
            spec=with_shared(shared),
            running=jobs(2),
        )
    assert set(outcomes(results).values()) == {"passed"}
    mixed = [pair for pair in overlapping(shared / "log") if any(name.startswith("timing") for name in pair)]
    assert not [pair for pair in mixed if any("other" in name for name in pair)]


def test_a_preparation_beside_a_case_is_company() -> None:
    with WorkerPool(1) as pool:
        begun, prepared = threading.Event(), threading.Event()

        def work() -> None:
            begun.set()
            prepared.wait(10)

        task = pool.submit(work)
        begun.wait(10)
        assert not task.company
        with pool.beside(is_company=True):
            assert task.company
        prepared.set()
