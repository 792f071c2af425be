"""What waits for what: loaders for cases to be judged, and nothing for anything else."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from slop_code.evaluation import ProblemConfig, independent_cases, run_checkpoint
from slop_code.evaluation.scheduler import WorkerPool
from slop_code.execution import EnvironmentSpec
from tests.conftest import MakeProblem
from tests.running.conftest import Run
from tests.running.test_parallel import OK, jobs, outcomes, shared, with_shared

__all__ = ["shared"]

CASES = 100

# Counts what it has handed out.
LOADER = """
import os
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader
class Loader(BaseLoader):
    def __call__(self, group, store):
        for number in range(100):
            with open(os.environ["HANDED_OUT"], "a") as log:
                log.write("x")
            yield CLICase(id=f"{number:03}", arguments=[f"{number:03}"]), CLIResult(status_code=0)
"""
VERIFIER = """
from slop_code.evaluation.verifiers import VerificationResult
class Verifier:
    def __init__(self, checkpoint_config): pass
    def __call__(self, group_name, case_name, actual, expected):
        return {"status_code": VerificationResult.create("", actual.status_code == 0)}
"""
# The first case waits for some of the others, then long enough to be sure that no more come. It says how many cases the
# loader has handed out by then, and how many have run.
PROGRAM = """
if [ "$1" = 000 ]; then
    ran() { ls "$SHARED" | wc -l; }
    for i in $(seq 400); do [ $(ran) -ge 5 ] && break; sleep 0.02; done
    for i in $(seq 20); do [ $(ran) -ge 50 ] && break; sleep 0.02; done
    echo $(wc -c < "$HANDED_OUT") $(ran) > "$SHARED.seen"
else
    touch "$SHARED/$1"
    printf '%01000d' 0
fi
"""


@pytest.mark.parametrize(
    ("limit", "value", "most"),
    # A handful is 16, and so is what a loader may be ahead. Of results, five are too many; they are counted a little later.
    [("WINDOW", 20, (20 + 2 * 16, 20 + 16)), ("HELD_BYTES", 5000, (CASES, 25))],
)
def test_no_more_cases_are_taken_and_run_while_too_many_results_wait_to_be_judged(
    run: Run,
    shared: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    limit: str,
    value: int,
    most: tuple[int, int],
) -> None:
    monkeypatch.setattr(independent_cases, limit, value)
    monkeypatch.setenv("HANDED_OUT", str(tmp_path / "handed-out"))
    spec = with_shared(shared)
    spec["environment"]["env"]["HANDED_OUT"] = str(tmp_path / "handed-out")
    results = run(PROGRAM, {"loader.py": LOADER, "verifier.py": VERIFIER}, spec=spec, running=jobs(2))
    assert [report.id for report in results.reports] == [f"{number:03}" for number in range(CASES)]
    assert {report.outcome for report in results.reports} == {"passed"}
    handed_out, ran = map(int, shared.with_suffix(".seen").read_text().split())
    assert handed_out <= most[0]
    assert ran <= most[1]


def test_a_case_is_verified_while_the_next_one_runs(run: Run, shared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHARED", str(shared))
    verifier = """
        import os, pathlib, time
        from slop_code.evaluation.verifiers import VerificationResult
        class Verifier:
            def __init__(self, checkpoint_config): pass
            def __call__(self, group_name, case_name, actual, expected):
                folder = pathlib.Path(os.environ["SHARED"])
                (folder / "verifying").touch()
                end = time.monotonic() + 10
                while case_name == "a" and not (folder / "runs").exists() and time.monotonic() < end:
                    time.sleep(0.01)
                return {"status_code": VerificationResult.create("", actual.status_code == 0 and (folder / "runs").exists())}
    """
    # The second one goes on until the first one is being verified, and says that it runs.
    program = """
    [ "$1" = a ] && exit 0
    for i in $(seq 400); do [ -e "$SHARED/verifying" ] && break; sleep 0.02; done
    touch "$SHARED/runs"
    """
    cases = {f"one/core/{name}.yaml": f"arguments: [{name}]\n{OK}" for name in "ab"}
    results = run(program, {**cases, "verifier.py": verifier}, spec=with_shared(shared), running=jobs(1))
    assert outcomes(results) == {"a": "passed", "b": "passed"}


def test_one_submission_is_prepared_while_the_cases_of_another_run(
    make_problem: MakeProblem, tmp_path: Path, shared: Path
) -> None:
    # One is only through with its preparation when the other's case runs, and that one only ends when it is through.
    wait = "for i in $(seq 400); do [ -e {0} ] && exit 0; sleep 0.02; done; exit 1"
    setup = f"[ -e first ] && exit 0; {wait.format(shared / 'runs')}"
    program = f'touch "$SHARED/runs"; [ -e first ] || exit 0; {wait.format(shared / "prepared")}'
    case = {"one/core/a.yaml": OK}
    folder = make_problem(
        {
            "entry_file": "main",
            "loader_script": "builtin:files",
            "timeout": 20,
            "checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}},
        },
        case,
    )
    problem = ProblemConfig.from_yaml(folder)
    spec = EnvironmentSpec.model_validate(
        {
            "type": "local",
            "commands": {"command": "sh", "entry_file": "{entry_file}.sh"},
            "setup": {"commands": [f"({setup}) && {{ [ -e first ] || touch {shared}/prepared; }}"], "network": False},
            **with_shared(shared),
        }
    )
    found: dict[str, object] = {}

    def evaluate(name: str, pool: WorkerPool) -> None:
        submission = tmp_path / name
        submission.mkdir()
        (submission / "main.sh").write_text(program)
        (submission / name).touch()
        results = run_checkpoint(submission, problem, problem.load_checkpoint("one"), spec, pool=pool)
        found[name] = [*outcomes(results).values(), *results.setup_failures]

    with WorkerPool(1) as pool:
        threads = [threading.Thread(target=evaluate, args=(name, pool)) for name in ("first", "second")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == {"first": ["passed"], "second": ["passed"]}
