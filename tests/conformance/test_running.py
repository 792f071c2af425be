"""Both packages pass, case by case, in every driver, with their own reference solutions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from slop_code.evaluation import ProblemConfig, run_checkpoint
from slop_code.execution import EnvironmentSpec
from tests.execution.drivers import DRIVERS

PROBLEMS = Path(__file__).parent / "problems"


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))
    yield


def environment(kind: str) -> EnvironmentSpec:
    if kind != "docker":
        return EnvironmentSpec.from_yaml(f"{kind}-py")
    image = os.environ.get("SLOP_CODE_TEST_IMAGE", "slop-code-test:python")
    commands = {"command": "python3 -S", "entry_file": "{entry_file}.py"}
    return EnvironmentSpec.model_validate({"type": "docker", "docker": {"image": image}, "commands": commands})


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize(
    ("name", "checkpoint", "total"),
    [("ledger", "checkpoint_1", 5), ("ledger", "checkpoint_2", 11), ("parcels", "checkpoint_1", 13)],
)
def test_the_reference_solution_passes_every_case(kind: str, name: str, checkpoint: str, total: int) -> None:
    problem = ProblemConfig.from_yaml(PROBLEMS / name)
    chosen = problem.load_checkpoint(checkpoint)
    results = run_checkpoint(
        submission_path=chosen.path / "solution", problem=problem, checkpoint=chosen, env_spec=environment(kind)
    )
    failing = {
        f"{r.group}/{r.id}": (r.outcome, r.error, r.format_result()) for r in results.reports if not r.did_pass()
    }
    assert failing == {}
    assert len(results.reports) == total
    assert results.score == 1.0
