"""Authors' code has processes of its own: whatever it does to them costs what it must and no more."""

from __future__ import annotations

import os
import subprocess
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults
from slop_code.evaluation.listening import RunOptions
from slop_code.evaluation.verifiers import VerifierError, calling
from tests import warm
from tests.conftest import MakeProblem
from tests.running.conftest import Run

OK = "expected: {status_code: 0}"
CASES = {f"one/core/{name}.yaml": OK for name in "abc"}
LOADER = """
import os, random, sys, time
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader, NoOpStore

class Store:
    def __init__(self): self.seen = []
    def update(self, case, result, expected): self.seen.append(case.id)

class Loader(BaseLoader):
    def initialize_store(self): return {store}
    def __call__(self, group, store):
        for name in "abc":
            {body}
            yield CLICase(id=name), CLIResult(status_code=0)
"""
VERIFIER = """
import os, re, subprocess, sys, threading, time
from slop_code.evaluation.verifiers import VerificationResult

class Verifier:
    def __init__(self, checkpoint_config): self.calls = 0
    def __call__(self, group_name, case_name, actual, expected):
        self.calls += 1
        {body}
        return {{"status_code": VerificationResult.create({diff}, actual.status_code == 0)}}
"""


def verifier(body: str, diff: str = '""') -> dict[str, str]:
    return {"verifier.py": VERIFIER.format(body=body, diff=diff)}


def loader(body: str = "pass", store: str = "NoOpStore()") -> dict[str, str]:
    return {"loader.py": LOADER.format(body=body, store=store)}


def outcomes(results: CorrectnessResults) -> dict[str, Any]:
    return {report.id: report.outcome for report in results.reports}


def error_of(results: CorrectnessResults, case: str) -> str:
    return next(report.error or "" for report in results.reports if report.id == case)


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return state != "Z"


def wait_until_gone(pid: int) -> None:
    deadline = time.monotonic() + 5
    while is_alive(pid):
        assert time.monotonic() < deadline, f"{pid} is still there"
        time.sleep(0.01)


@pytest.mark.parametrize(
    "deed", ["os._exit(0)", "os.kill(os.getpid(), 9)", "os.close(0), os.closerange(3, 256), os._exit(3)"]
)
def test_a_verifier_that_ends_its_process_costs_one_case(run: Run, deed: str) -> None:
    results = run("true", {**CASES, **verifier(f"case_name == 'b' and ({deed})")})
    assert outcomes(results) == {"a": "passed", "b": "error", "c": "passed"}
    assert "the verifier ended its own process" in error_of(results, "b")


@pytest.mark.parametrize(
    "hang",
    ["time.sleep(300)", "subprocess.run(['sleep', '301'])", "re.match('(a+)+$', 'a' * 64 + '!')"],
    ids=["sleep", "process", "regex"],
)
def test_a_verifier_that_hangs_where_python_cannot_end_it_costs_one_case(
    run: Run, monkeypatch: pytest.MonkeyPatch, hang: str
) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT_S", 0.4)
    monkeypatch.setattr("slop_code.evaluation.author_process._GRACE_S", 0.4)
    results = run("true", {**CASES, **verifier(f"case_name == 'b' and {hang}")})
    assert outcomes(results) == {"a": "passed", "b": "error", "c": "passed"}
    error = error_of(results, "b")
    assert "still running after 0.4 s" in error
    assert "verifier.py:9: " in error


def test_a_pattern_of_a_case_file_that_backtracks_for_ever_costs_one_case(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT_S", 0.4)
    monkeypatch.setattr("slop_code.evaluation.author_process._GRACE_S", 0.4)
    files = {
        **CASES,
        "one/core/b.yaml": "expected: {files: [{path: out, matches: '(a+)+$'}]}",
    }
    program = "printf '%s!' aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa > out"
    results = run(program, files, adapter={"type": "cli", "tracked_files": ["out"]})
    assert outcomes(results) == {"a": "passed", "b": "error", "c": "passed"}
    assert "still running after 0.4 s" in error_of(results, "b")


def test_what_a_killed_verifier_started_is_killed_too(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(calling, "TIME_LIMIT_S", 0.4)
    monkeypatch.setattr("slop_code.evaluation.author_process._GRACE_S", 0.4)
    note = tmp_path / "pid"
    run(
        "true",
        {**CASES, **verifier(f"case_name == 'c' and subprocess.run(['sh', '-c', 'echo $$ > {note}; exec sleep 302'])")},
    )
    wait_until_gone(int(note.read_text()))


def test_what_a_verifier_left_running_ends_with_its_group(run: Run, tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"open({str(note)!r}, 'w').write(str(subprocess.Popen(['sleep', '303']).pid))"
    assert set(outcomes(run("true", {**CASES, **verifier(body)})).values()) == {"passed"}
    wait_until_gone(int(note.read_text()))


def test_a_loader_that_ends_its_process_costs_the_rest_of_its_group(run: Run) -> None:
    files = loader("name == 'b' and group.name == 'core' and os._exit(0)")
    results = run("true", {**files, **verifier("pass")}, {"core": {}, "other": {}})
    assert [(report.group, report.id, report.outcome) for report in results.reports] == [
        ("core", "a", "passed"),
        ("core", "(loader)", "error"),
        *(("other", name, "passed") for name in "abc"),
    ]
    assert "the loader ended its own process" in error_of(results, "(loader)")


def test_a_loader_that_hangs_costs_the_rest_of_its_group(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slop_code.evaluation.author_process.LOADER_PATIENCE_S", 0.5)
    files = loader("name == 'b' and group.name == 'core' and time.sleep(304)")
    results = run("true", {**files, **verifier("pass")}, {"core": {}, "other": {}})
    assert [report.id for report in results.reports if report.group == "core"] == ["a", "(loader)"]
    assert "loader.py:14: still running after 0.5 s" in error_of(results, "(loader)")
    assert [report.outcome for report in results.reports if report.group == "other"] == ["passed"] * 3


def test_a_script_that_ends_the_process_when_it_is_imported_is_an_error_of_the_problem(run: Run) -> None:
    with pytest.raises(VerifierError, match="ended its process while it was imported"):
        run("true", {**CASES, "verifier.py": "import os\nos._exit(0)\n"})


INTERRUPTING_LOADER = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader

class Store:
    def update(self, case, result, expected):
        pass  # updating

class Loader(BaseLoader):
    def __init__(self, problem, checkpoint, use_placeholders=False):
        pass  # making
    def initialize_store(self):
        pass  # storing
        return Store()
    def __call__(self, group, store):
        for name in "ab":
            yield CLICase(id=name), CLIResult(status_code=0)
        pass  # yielding

# importing
"""
INTERRUPTING_VERIFIER = """
from slop_code.evaluation.verifiers import VerificationResult

class Verifier:
    def __init__(self, checkpoint_config):
        pass  # making
    def __call__(self, group_name, case_name, actual, expected):
        return {"status_code": VerificationResult.create("", True)}

# importing
"""


def interrupting(source: str, place: str, raised: str) -> tuple[str, int]:
    """The source that raises at one place, and the line of that."""
    before, _, after = source.partition(f"# {place}")
    assert after
    before = before.removesuffix("pass  ")
    return f"{before}raise {raised}{after}", before.count("\n") + 1


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "GeneratorExit"])
@pytest.mark.parametrize(
    ("place", "said", "reports"),
    [
        ("importing", "the loader cannot be imported: ", {"(loader)": "error"}),
        ("making", "the loader cannot be made: ", {"(loader)": "error"}),
        ("storing", "initialize_store raised: ", {"(loader)": "error"}),
        ("yielding", "the loader raised: ", {"a": "passed", "b": "passed", "(loader)": "error"}),
        ("updating", "the store's update raised: ", {"a": "error", "b": "error"}),
    ],
)
def test_an_interrupt_that_a_loader_or_store_raises_itself_is_its_error_and_has_a_place(
    run: Run, place: str, said: str, reports: dict[str, str], raised: str
) -> None:
    source, line = interrupting(INTERRUPTING_LOADER, place, raised)
    results = run("true", {"loader.py": source})
    assert outcomes(results) == reports
    (error, *_) = {report.error for report in results.reports if report.outcome == "error"}
    assert error is not None
    assert said in error
    assert f"loader.py:{line}: {raised}\n    raise {raised}" in error


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "GeneratorExit"])
@pytest.mark.parametrize(("place", "said"), [("importing", "cannot be imported"), ("making", "cannot be made")])
def test_so_is_one_that_a_verifier_raises_before_it_is_called(run: Run, place: str, said: str, raised: str) -> None:
    source, line = interrupting(INTERRUPTING_VERIFIER, place, raised)
    with pytest.raises(
        VerifierError, match=rf"the verifier {said}: .*verifier.py:{line}: {raised}\n    raise {raised}"
    ):
        run("true", {**CASES, "verifier.py": source})


def test_a_store_that_went_with_its_process_costs_the_rest_of_its_group(run: Run) -> None:
    results = run("true", {**loader(store="Store()"), **verifier("case_name == 'b' and os._exit(0)")})
    assert outcomes(results) == {"a": "passed", "b": "error", "(loader)": "error"}
    assert "the store was lost" in error_of(results, "(loader)")


def test_what_authors_code_writes_to_descriptor_1_goes_to_stderr(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    body = "os.write(1, b'raw\\n'); subprocess.run(['echo', 'from a process']); print('printed')"
    assert set(outcomes(run("true", {**CASES, **verifier(body)})).values()) == {"passed"}
    out, err = capfd.readouterr()
    assert out == ""
    assert {"raw", "from a process", "printed"} <= set(err.split("\n"))


@pytest.mark.parametrize(
    "deed",
    [
        "os.chdir('/')",
        "os.environ.clear()",
        "os.environ.update(PATH='/nowhere', HOME='/nowhere')",
        "__import__('locale').setlocale(6, 'C')",
        "__import__('random').seed(1)",
        "threading.Thread(target=time.sleep, args=(305,)).start()",
        "setattr(__import__('json'), 'dumps', None)",
        "setattr(__import__('subprocess'), 'Popen', None)",
        "sys.modules.clear()",
        "__import__('signal').signal(2, lambda *_: None)",
        "os.umask(0o777)",
        "sys.setrecursionlimit(60)",
    ],
)
def test_what_authors_code_does_to_its_process_does_not_reach_the_run(run: Run, deed: str) -> None:
    before = (Path.cwd(), dict(os.environ), os.umask(0o022))
    os.umask(before[2])
    files = {**loader(f"group.name == 'core' and ({deed})"), **verifier(f"group_name == 'core' and ({deed})")}
    results = run("true", files, {"core": {}, "other": {}})
    assert [report.outcome for report in results.reports if report.group == "other"] == ["passed"] * 3
    assert before == (Path.cwd(), dict(os.environ), os.umask(before[2]))


def test_every_group_finds_loader_and_verifier_as_they_were_made(run: Run) -> None:
    results = run("true", {**loader(), **verifier("pass", diff="self.calls")}, {"core": {}, "other": {}})
    calls = [report.results["status_code"].diff for report in results.reports]
    assert calls == [1, 2, 3, 1, 2, 3]


def test_a_verifier_judges_in_the_loaders_order_and_draws_the_same_numbers_in_every_run(run: Run) -> None:
    body = "import random; number = random.random()"
    program = "sleep 0.$(( $$ % 5 ))"
    drawn = [
        [
            report.results["status_code"].diff
            for report in run(
                program,
                {**loader(), **verifier(body, diff="[self.calls, number]")},
                running={"options": RunOptions(jobs=count)},
            ).reports
        ]
        for count in (1, 3)
    ]
    assert drawn[0] == drawn[1]
    assert [calls for calls, _ in drawn[0]] == [1, 2, 3]


def test_values_that_cannot_leave_the_loaders_process_do_not_have_to(run: Run) -> None:
    source = textwrap.dedent("""
        from slop_code.evaluation.adapters import CLICase, CLIResult
        from slop_code.evaluation.loaders import BaseLoader
        class Own(CLICase):
            helper: object = None
        class Loader(BaseLoader):
            def __call__(self, group, store):
                yield Own(id="a", helper=lambda: 0), CLIResult(status_code=0, check=lambda result: result.status_code == 0)
    """)
    judge = VERIFIER.format(body="assert expected.check(actual)", diff='""')
    assert outcomes(run("true", {"loader.py": source, "verifier.py": judge})) == {"a": "passed"}


@pytest.mark.parametrize("isolated", [True, False])
def test_a_case_with_a_value_that_is_no_plain_data_costs_itself(run: Run, isolated: bool) -> None:
    source = textwrap.dedent("""
        from slop_code.evaluation.adapters import CLICase, CLIResult
        from slop_code.evaluation.loaders import BaseLoader
        from slop_code.execution.file_ops import InputFile
        class Loader(BaseLoader):
            def __call__(self, group, store):
                for name in "abc":
                    content = (lambda: 0) if name == "b" else "text"
                    yield CLICase(id=name, input_files=[InputFile(path="in.txt", content=content)]), CLIResult(status_code=0)
    """)
    results = run("true", {"loader.py": source, **verifier("pass")}, {"core": {"isolated": isolated}})
    assert outcomes(results) == {"a": "passed", "b": "error", "c": "passed"}
    assert "it has a value that is no plain data" in error_of(results, "b")


def test_a_killed_evaluator_leaves_no_assets_behind(tmp_path: Path) -> None:
    for name, text in {
        "p/config.yaml": "name: p\nversion: 1\ndescription: d\nentry_file: main\nadapter: {type: cli}\n"
        "loader_script: builtin:files\nstatic_assets: {words: {path: words.txt}}\ncheckpoints: {one: {groups: {core: {}}}}\n",
        "p/words.txt": "words",
        "p/one/core/a.yaml": "expected: {status_code: 0}\n",
        "s/main.sh": f"echo $$ > {tmp_path}/pid; sleep 306\n",
        "sh.yaml": "type: local\ncommands: {command: sh, entry_file: '{entry_file}.sh'}\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "tmp").mkdir()
    command = [*warm.slop_code(), "tools", "run-case", "-s", "s", "-p", "p", "-c", "1", "-e", "sh.yaml"]
    environment = {**os.environ, "TMPDIR": str(tmp_path / "tmp")}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, cwd=tmp_path, env=environment, **quiet) as evaluator:  # type: ignore[call-overload]
        note = tmp_path / "pid"
        deadline = time.monotonic() + 20
        while not (note.exists() and note.read_text().strip()):
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert list((tmp_path / "tmp").glob("slop-code-assets-*"))
        evaluator.kill()
    wait_until_gone(int(note.read_text()))
    while list((tmp_path / "tmp").iterdir()):
        assert time.monotonic() < deadline, list((tmp_path / "tmp").iterdir())
        time.sleep(0.01)


# The verifier's constructor leaves a line for each bench that is made.
AHEAD = """
import sys
from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.author_process import Nursery
from slop_code.evaluation.listening import Selection
problem = ProblemConfig.from_yaml(sys.argv[1])
checkpoint = problem.load_checkpoint("one")
assert not Nursery.bench_ahead(problem, checkpoint, Selection())
Nursery.make_ahead()
assert Nursery.bench_ahead(problem, checkpoint, Selection())
nursery = Nursery.get()
for selection in (Selection({first}), Selection()):
    bench = nursery.bench(problem, checkpoint, selection)
    desk = bench.desk(checkpoint.groups["core"])
    print(*(handed.case.id for handed in desk.take(3).cases))
    desk.close()
    bench.close()
nursery.let_go()
nursery.close()
"""


@pytest.mark.parametrize(
    ("first", "printed", "benches"), [("", "a b c\na b c\n", 2), ("cases=('b',)", "b\na b c\n", 3)]
)
def test_a_bench_that_was_begun_ahead_is_for_just_what_it_was_asked_for(
    make_problem: MakeProblem, tmp_path: Path, first: str, printed: str, benches: int
) -> None:
    made = tmp_path / "made"
    source = VERIFIER.format(body="pass", diff='""').replace(
        "self.calls = 0", f"open({str(made)!r}, 'a').write('bench\\n')"
    )
    folder = make_problem(
        {
            "entry_file": "main",
            "loader_script": "builtin:files",
            "checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}},
        },
        {**CASES, "verifier.py": source},
    )
    script = AHEAD.format(first=first)
    done = subprocess.run([*warm.python(), script, folder], capture_output=True, text=True, check=False, timeout=60)
    assert (done.stdout, done.returncode) == (printed, 0), done.stderr
    assert len(made.read_text().splitlines()) == benches
