"""One case, in this process: run, then verify, then show it to the store, then report."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.adapters import AdapterError, CLICase, CLIResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.runner import run_case
from slop_code.evaluation.verifiers import VerificationResult, VerifierReport, initialize_verifier
from slop_code.execution import ExecutionError
from tests.conftest import MakeProblem

RIGHT = {"output": VerificationResult.create("", True)}


class Adapter:
    """Gives a fixed observation, or raises."""

    def __init__(self, observed: Observation | Exception) -> None:
        self.observed = observed
        self.steps: list[str] = []

    def run(self, case: CLICase, expected: CLIResult) -> Observation:
        self.steps.append("run")
        if isinstance(self.observed, Exception):
            raise self.observed
        return self.observed


class Store:
    def __init__(self, update: Callable[..., None]) -> None:
        self.update = update


Judge = Callable[..., VerifierReport]


@pytest.fixture
def one(make_problem: MakeProblem) -> Judge:
    config = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
    problem = ProblemConfig.from_yaml(make_problem(config))

    def judge(observed: Observation | Exception, verifier: Any, store: Any = None) -> VerifierReport:
        case = CLICase(
            id="a", group="core", group_type="Regression", original_checkpoint="zero", original_group="first"
        )
        adapter: Any = observed if isinstance(observed, Adapter) else Adapter(observed)
        checkpoint = problem.load_checkpoint("one")
        return run_case(case, CLIResult(output="x"), adapter, verifier, problem, checkpoint, store)

    return judge


def seen(**fields: Any) -> Observation:
    return Observation(CLIResult(output="x", files={"made": "by the program"}), **fields)


def test_the_steps_come_in_order_and_each_sees_what_the_one_before_it_changed(one: Judge) -> None:
    adapter = Adapter(seen())

    def verify(group_name: str, case_name: str, actual: CLIResult, expected: CLIResult) -> Any:
        adapter.steps.append(f"verify {group_name}/{case_name}")
        actual.files["note"] = "by the verifier"
        return RIGHT

    def update(case: CLICase, result: CLIResult, expected: CLIResult) -> None:
        adapter.steps.append(f"update {case.id} {result.files['note']} {expected.output}")
        result.files["kept"] = "by the store"

    report = one(adapter, verify, Store(update))
    assert adapter.steps == ["run", "verify core/a", "update a by the verifier x"]
    files = {name: line.actual for name, line in report.results.items() if name.startswith("files-")}
    assert files == {"files-made": "by the program", "files-note": "by the verifier", "files-kept": "by the store"}
    assert report.outcome == "passed"


def test_what_was_measured_of_the_program_is_apart_from_the_time_of_the_verification(one: Judge) -> None:
    def verify(**_: Any) -> Any:
        time.sleep(0.02)
        return RIGHT

    observed = seen(run_s=7.5, cpu_s=6.5, peak_memory=1 << 30, cut=True, attempts=3, warnings=("it was cut",))
    report = one(observed, verify, Store(lambda *_: time.sleep(0.5)))
    assert (report.run_s, report.cpu_s, report.peak_memory) == (7.5, 6.5, 1 << 30)
    assert (report.output_cut, report.attempts, report.warnings) == (True, 3, ["it was cut"])
    assert 0.02 <= report.duration < 0.5


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (AdapterError("no such method"), "no such method"),
        (ExecutionError("the engine is gone"), "the engine is gone"),
        (RuntimeError("a bug"), "slop-code itself failed on this case: RuntimeError: a bug"),
    ],
)
def test_a_case_that_cannot_be_run_is_an_error_and_keeps_its_origin(one: Judge, error: Exception, said: str) -> None:
    report = one(error, lambda **_: RIGHT)
    assert (report.outcome, report.error, report.calculate_score()) == ("error", said, 0.0)
    assert (report.id, report.group, report.type) == ("a", "core", "Regression")
    assert (report.original_checkpoint, report.original_group) == ("zero", "first")


def raises(**_: Any) -> Any:
    raise KeyError("lost")


def test_a_verifier_that_raises_leaves_the_values_and_the_store_its_turn(one: Judge) -> None:
    updates: list[str] = []
    report = one(seen(run_s=1.0), raises, Store(lambda case, *_: updates.append(case.id)))
    assert (report.outcome, report.error) == ("error", "the verifier raised: KeyError: 'lost'")
    assert (report.results["output"].actual, report.results["output"].is_correct) == ("x", None)
    assert (report.run_s, report.original_group, updates) == (1.0, "first", ["a"])


def test_a_store_that_raises_makes_an_error_of_a_case_whose_verdict_can_still_be_read(one: Judge) -> None:
    report = one(seen(), lambda **_: RIGHT, Store(lambda *_: 1 / 0))  # type: ignore[arg-type]
    assert (report.outcome, report.did_pass()) == ("error", False)
    assert report.error == "the store's update raised: ZeroDivisionError: division by zero"
    assert report.format_result() == {"output": "P"}


def test_if_both_raise_both_are_told(one: Judge) -> None:
    report = one(seen(), raises, Store(lambda *_: 1 / 0))  # type: ignore[arg-type]
    assert str(report.error).splitlines() == [
        "the verifier raised: KeyError: 'lost'",
        "the store's update raised: ZeroDivisionError: division by zero",
    ]


def test_a_verifier_that_verifies_nothing_lets_nothing_pass_and_the_report_says_so(one: Judge) -> None:
    report = one(seen(), lambda **_: {})
    assert (report.outcome, report.warnings) == ("failed", ["the verifier returned nothing, so nothing was verified"])


def test_a_verifier_judges_a_result_that_timed_out_and_may_let_it_pass(one: Judge) -> None:
    late = Observation(CLIResult(timed_out=True, status_code=-1))
    wrong = {"output": VerificationResult.create("", False)}
    assert one(late, lambda **_: RIGHT).outcome == "passed"
    assert one(late, lambda **_: wrong).outcome == "timed out"
    assert one(late, raises).outcome == "error"


def test_a_result_that_the_adapter_calls_its_own_error_is_not_judged(one: Judge) -> None:
    report = one(Observation(CLIResult(adapter_error=True, stderr="bad base64")), lambda **_: RIGHT)
    assert (report.outcome, report.error) == ("error", "the case could not be put to the submission: bad base64")


def test_a_verifier_is_made_with_nothing_but_the_checkpoint(make_problem: MakeProblem, tmp_path: Path) -> None:
    script = """
        class Verifier:
            def __init__(self, *arguments, **keywords):
                self.given = [getattr(argument, "name", None) for argument in arguments], keywords
            def __call__(self, group_name, case_name, actual, expected): ...
    """
    folder = make_problem({"checkpoints": {"one": {"groups": {"core": {}}}}}, {"verifier.py": script})
    problem = ProblemConfig.from_yaml(folder)
    verifier: Any = initialize_verifier(problem, problem.load_checkpoint("one"))
    assert verifier.given == (["one"], {})
