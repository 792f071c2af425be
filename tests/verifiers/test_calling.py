"""A verifier is called with four keywords, and whatever it does costs one case."""

from __future__ import annotations

import inspect
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.config import ProblemConfig
from slop_code.evaluation.scripts import ScriptFolder
from slop_code.evaluation.verifiers import VerificationResult, VerifierError, VerifierReport, initialize_verifier
from slop_code.evaluation.verifiers.calling import MAX_KEYS, TIME_LIMIT_S, call_verifier
from slop_code.evaluation.verifiers.initialization import verifier_folder
from slop_code.evaluation.verifiers.time_limit import TimeIsUp, run_limited
from tests.conftest import MakeProblem

ONE = {"checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}}}
RIGHT = VerificationResult.create("✓", True)
HEAD = """\
from slop_code.evaluation.verifiers import VerificationResult
class Verifier:
    def __init__(self, checkpoint_config): ...
    def __call__(self, group_name, case_name, actual, expected):
"""
BODY_LINE = HEAD.count("\n") + 1

Judge = Callable[[str], dict[str, VerificationResult]]


@pytest.fixture
def judge(make_problem: MakeProblem) -> Judge:
    """Call a verifier whose `__call__` has this body."""

    def call(body: str, time_limit: float = 30.0) -> dict[str, VerificationResult]:
        indented = "".join(f"        {line}\n" for line in body.splitlines())
        problem = ProblemConfig.from_yaml(make_problem(ONE, {"verifier.py": HEAD + indented}))
        verifier = initialize_verifier(problem, problem.load_checkpoint("one"))
        return called(verifier, verifier_folder(problem), time_limit)

    return call


def called(
    verifier: Any, folder: ScriptFolder | None = None, time_limit: float = 30.0
) -> dict[str, VerificationResult]:
    return call_verifier(
        verifier,
        folder,
        group_name="core",
        case_name="one",
        actual=CLIResult(output="a"),
        expected=CLIResult(output="b"),
        time_limit=time_limit,
    )


class Returns:
    """A verifier that returns one thing."""

    def __init__(self, returned: Any) -> None:
        self.returned = returned

    def __call__(self, group_name: str, case_name: str, actual: Any, expected: Any) -> Any:
        return self.returned


def test_it_is_called_with_the_keywords_group_name_case_name_actual_and_expected(judge: Judge) -> None:
    seen = "f'{group_name} {case_name} {actual.output} {expected.output}'"
    assert judge(f"return {{'x': VerificationResult.create({seen}, True)}}")["x"].diff == "core one a b"


def test_only_keywords_are_passed() -> None:
    class Strict:
        def __call__(self, *, expected: Any, actual: Any, case_name: str, group_name: str) -> Any:
            return {"x": RIGHT}

    assert called(Strict()) == {"x": RIGHT}


def test_a_verifier_can_import_its_neighbours_while_it_is_called(make_problem: MakeProblem) -> None:
    body = HEAD + "        import rules\n        return {'x': VerificationResult.create(rules.NAME, True)}\n"
    problem = ProblemConfig.from_yaml(make_problem(ONE, {"verifier.py": body, "rules.py": "NAME = 'neighbour'\n"}))
    verifier = initialize_verifier(problem, problem.load_checkpoint("one"))
    assert called(verifier, verifier_folder(problem))["x"].diff == "neighbour"
    assert "rules" not in sys.modules


def test_what_it_prints_goes_to_stderr(judge: Judge, capsys: pytest.CaptureFixture[str]) -> None:
    judge("print('thinking')\nreturn {}")
    assert capsys.readouterr() == ("", "thinking\n")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("return expected['output']", r"TypeError: 'CLIResult' object is not subscriptable"),
        ("raise ValueError('first\\nsecond')", "ValueError: first second"),
        ("import sys\nsys.exit(3)", r"the script called sys.exit\(3\)"),
        ("raise BaseException('odd')", "BaseException: odd"),
        ("raise GeneratorExit", "GeneratorExit"),
        ("assert actual.output == expected.output", "AssertionError"),
        ("def deep(): deep()\ndeep()", "RecursionError: maximum recursion depth exceeded"),
        (
            "return {'x': VerificationResult.create('', True, float('nan'))}",
            "ValidationError: weight: Input should be a finite number\n",
        ),
        (
            "from slop_code.evaluation.verifiers import matches_regex\nreturn {'x': matches_regex('a', ' ')}",
            "VerifierError: matches_regex: the expected pattern is empty",
        ),
    ],
)
def test_one_that_raises_is_shown_in_one_line_and_the_last_line_of_the_authors_file(
    judge: Judge, body: str, said: str
) -> None:
    last = BODY_LINE + len(body.splitlines()) - 1
    source = body.splitlines()[-1]
    if source == "deep()":
        last, source = BODY_LINE, body.splitlines()[0]
    with pytest.raises(VerifierError, match=rf"^the verifier raised: .*verifier.py:{last}: .*{said}") as caught:
        judge(body)
    first, second = str(caught.value).splitlines()
    assert len(first) < 800
    assert second == f"    {source}"


def test_a_huge_or_broken_message_does_not_break_the_report(judge: Judge) -> None:
    with pytest.raises(VerifierError, match="ValueError: xxx") as caught:
        judge("raise ValueError('x' * 10_000_000)")
    assert len(str(caught.value)) < 1000
    with pytest.raises(VerifierError, match=rf"verifier.py:{BODY_LINE + 2}: Broken\n"):
        judge("class Broken(Exception):\n    def __str__(self): raise RuntimeError('worse')\nraise Broken")


def test_an_interrupt_by_the_user_is_not_swallowed(judge: Judge) -> None:
    with pytest.raises(KeyboardInterrupt):
        judge("raise KeyboardInterrupt")


def test_where_ctrl_c_is_ignored_an_interrupt_is_the_verifiers_own(judge: Judge) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with pytest.raises(VerifierError, match=rf"^the verifier raised: .*verifier.py:{BODY_LINE}: KeyboardInterrupt"):
            judge("raise KeyboardInterrupt")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize(
    ("returned", "said"),
    [
        ("None", "None: it should return a dict of names to VerificationResult"),
        ("True", "a value of type bool: it should return a dict"),
        ("[VerificationResult.create('', True)]", "a value of type list"),
        ("{1: VerificationResult.create('', True)}", "a value of type int as a key: keys should be str"),
        ("{'output': True}", 'a value of type bool for "output": make it with VerificationResult.create'),
        ("{'output': (True, '')}", 'a value of type tuple for "output"'),
        (
            "{'output': {'diff': '', 'is_correct': True, 'weight': float('nan')}}",
            'a result for "output" that is not valid: weight: ',
        ),
        ("{'output': {'diff': ''}}", 'a result for "output" that is not valid: is_correct: '),
        (
            "{'output': {'diff': '', 'is_correct': True, 'scroe': 1}}",
            'a result for "output" that is not valid: scroe: ',
        ),
        (
            "dict.fromkeys(map(str, range(100_000)), VerificationResult.create('', True))",
            "more than 10,000 results for one case",
        ),
    ],
)
def test_one_that_returns_something_else_is_told_what_and_where(judge: Judge, returned: str, said: str) -> None:
    with pytest.raises(VerifierError, match=rf"verifier.py:{BODY_LINE - 1}: the verifier returned {said}") as caught:
        judge(f"return {returned}")
    _, second = str(caught.value).splitlines()
    assert second == "    def __call__(self, group_name, case_name, actual, expected):"


@pytest.mark.parametrize("weight", [math.nan, math.inf, 0.0, -1.0, None, "heavy"])
def test_a_weight_that_was_spoiled_after_the_result_was_made_is_found(weight: Any) -> None:
    spoiled = VerificationResult.create("", True)
    spoiled.weight = weight
    with pytest.raises(VerifierError, match="not valid: weight"):
        called(Returns({"output": spoiled}))
    with pytest.raises(VerifierError, match="not valid: is_correct"):
        called(Returns({"output": VerificationResult.model_construct(diff="")}))  # type: ignore[call-arg]


class _Key(StrEnum):
    OUTPUT = "output"


class _TheirResult(BaseModel):
    diff: str
    is_correct: bool
    weight: float = 1.0


@dataclass
class _PlainResult:
    diff: str
    is_correct: bool


@pytest.mark.parametrize(
    "verdict",
    [
        {"diff": "d", "is_correct": True},
        _TheirResult(diff="d", is_correct=True),
        _PlainResult("d", True),
        VerificationResult.create("d", True),
    ],
)
def test_mappings_and_compatible_models_are_accepted_as_results(verdict: Any) -> None:
    (result,) = called(Returns({_Key.OUTPUT: verdict})).items()
    assert result == ("output", VerificationResult.create("d", True))
    assert type(result[0]) is str
    assert type(result[1]) is VerificationResult


def test_any_mapping_is_accepted_even_an_odd_one() -> None:
    class Odd(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return RIGHT

        def __len__(self) -> int:
            return 2

        def __iter__(self) -> Iterator[str]:
            return iter(("a", "b"))

    assert called(Returns(Odd())) == {"a": RIGHT, "b": RIGHT}


def test_a_mapping_that_never_ends_is_ended_too() -> None:
    class Endless(Mapping[str, Any]):
        def __getitem__(self, key: str) -> Any:
            return RIGHT

        def __len__(self) -> int:
            return 1

        def __iter__(self) -> Iterator[str]:
            yield from map(str, range(MAX_KEYS * 100))

    with pytest.raises(VerifierError, match="more than 10,000 results for one case"):
        called(Returns(Endless()))


def test_as_many_keys_as_allowed_are_no_trouble() -> None:
    assert len(called(Returns(dict.fromkeys(map(str, range(MAX_KEYS)), RIGHT)))) == MAX_KEYS


def test_objects_json_cannot_hold_reach_the_report_as_text(judge: Judge) -> None:
    body = (
        "actual.files['odd'] = {1, object}\nreturn {'x': {'diff': {1: object(), 'b': b'\\xff'}, 'is_correct': False}}"
    )
    returned = judge(body)
    case = CLICase(id="one", group="core", group_type="Core")
    report = VerifierReport.from_verifier_result(case, 0.1, CLIResult(), CLIResult(), returned)
    assert report.results["x"].diff["b"] == "\\xff"
    assert VerifierReport.from_parquet_row(report.to_parquet_row()) == report


LOOPS = {
    "a loop": "while True:\n    pass",
    "a loop that catches every Exception": "while True:\n    try:\n        int('x')\n    except Exception:\n        pass",
    "a loop that catches everything": "import time\nwhile True:\n    try:\n        time.sleep(0.01)\n    except:\n        pass",
    "a generator": "import itertools\nfor _ in itertools.count():\n    pass",
    "a loop in a finally": "try:\n    while True: pass\nfinally:\n    while True: pass",
    "one that then returns": "try:\n    while True: pass\nexcept BaseException:\n    return {}",
}


@pytest.mark.parametrize("body", [pytest.param(body, id=name) for name, body in LOOPS.items()])
def test_one_that_loops_for_ever_is_ended_after_the_time_limit(judge: Any, body: str) -> None:
    start = time.monotonic()
    with pytest.raises(VerifierError, match=r"^the verifier was ended: ") as caught:
        judge(body, time_limit=0.2)
    assert time.monotonic() - start < 5
    assert "still running after 0.2 s" in str(caught.value)
    if "return" not in body:
        assert "verifier.py:" in str(caught.value)


def test_the_time_limit_is_30_seconds_unless_another_is_given() -> None:
    assert TIME_LIMIT_S == 30.0
    assert inspect.signature(call_verifier).parameters["time_limit"].default == TIME_LIMIT_S


def test_the_time_limit_holds_in_every_thread(judge: Any) -> None:
    errors: list[VerifierError] = []

    def run() -> None:
        try:
            judge("while True: pass", time_limit=0.2)
        except VerifierError as error:
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join(10)
    assert "still running after 0.2 s" in str(errors[0])


def test_waiting_for_another_authors_code_does_not_count() -> None:
    class Slow:
        def __call__(self, **_: Any) -> Any:
            end = time.monotonic() + 0.3
            while time.monotonic() < end:
                pass
            return {"x": RIGHT}

    threads = [threading.Thread(target=lambda: done.append(called(Slow(), time_limit=0.5))) for _ in range(3)]
    done: list[Any] = []
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(10)
    assert done == [{"x": RIGHT}] * 3


@pytest.mark.parametrize("rounds", [60, pytest.param(3000, marks=pytest.mark.nightly)])
def test_nothing_is_raised_after_a_call_has_ended(rounds: int) -> None:
    """Calls that end just when their time is up, in three threads at once."""
    late: list[int] = []
    stray: list[BaseException] = []

    def strike(seed: int) -> None:
        for number in range(rounds):
            end = time.monotonic() + 0.001 + (seed + number) % 7 * 0.0003
            try:
                run_limited(lambda: _work_until(end), 0.002)  # noqa: B023
            except TimeIsUp:
                late.append(number)
            try:
                for _ in range(2000):
                    len("x")
            except BaseException as error:  # noqa: BLE001
                stray.append(error)

    threads = [threading.Thread(target=strike, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stray == []
    assert late


def _work_until(end: float) -> None:
    while time.monotonic() < end:
        try:  # noqa: SIM105  # swallows everything, as verifiers do
            len("x")
        except BaseException:  # noqa: BLE001
            pass


def test_a_call_within_a_call_shares_its_limit() -> None:
    def endless() -> None:
        while True:
            pass

    start = time.monotonic()
    with pytest.raises(TimeIsUp):
        run_limited(lambda: run_limited(endless, 60.0), 0.1)
    assert time.monotonic() - start < 5


def test_a_step_that_cannot_be_interrupted_is_ended_when_it_ends() -> None:
    start = time.monotonic()
    with pytest.raises(TimeIsUp):
        run_limited(lambda: time.sleep(0.4), 0.1)
    assert 0.4 <= time.monotonic() - start < 5


def test_a_forked_process_has_a_watchdog_of_its_own() -> None:
    code = (
        "import os, sys\n"
        "from slop_code.evaluation.verifiers.time_limit import TimeIsUp, run_limited\n"
        "run_limited(lambda: None, 60.0)\n"
        "def endless():\n    while True: pass\n"
        "if os.fork() == 0:\n"
        "    try: run_limited(endless, 0.1)\n"
        "    except TimeIsUp: os._exit(7)\n"
        "sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 7


def test_a_call_is_cheap(tmp_path: Path) -> None:
    verifier, folder = Returns({"output": RIGHT, "status_code": RIGHT}), ScriptFolder(tmp_path)
    called(verifier, folder)
    actual = expected = CLIResult()
    best = math.inf
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(200):
            call_verifier(verifier, folder, group_name="g", case_name="c", actual=actual, expected=expected)
        best = min(best, (time.perf_counter() - start) / 200)
    assert best < 60e-6, "30 µs on a quiet machine"
    assert threading.active_count() < 10


def test_the_ready_verifiers_own_errors_are_shown_as_they_are() -> None:
    class Raises:
        def __call__(self, **_: Any) -> Any:
            raise VerifierError("the case expects nothing")

    with pytest.raises(VerifierError, match=r"^the case expects nothing$"):
        called(Raises())
