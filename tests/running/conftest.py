"""Problems with programs, run for real."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import CorrectnessResults, ProblemConfig
from slop_code.evaluation.listening import RunOptions
from slop_code.evaluation.runner import run_checkpoint
from slop_code.execution import EnvironmentSpec
from tests.conftest import MakeProblem

Run = Callable[..., CorrectnessResults]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOP_CODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def run(make_problem: MakeProblem, tmp_path: Path) -> Run:
    """Write a problem and a submission, and evaluate the one on the other's first checkpoint (locally, in `sh`).

    With one worker, unless `running` asks for others: each one costs more than the few cases do.
    """

    def evaluate(
        program: str | Mapping[str, str],
        files: Mapping[str, str],
        groups: Mapping[str, Any] | None = None,
        *,
        spec: Mapping[str, Any] | None = None,
        running: Mapping[str, Any] | None = None,
        **config: Any,
    ) -> CorrectnessResults:
        folder = make_problem(
            {
                "entry_file": "main",
                "loader_script": "loader.py" if "loader.py" in files else "builtin:files",
                "timeout": 20,
                **config,
                "checkpoints": {"one": {"groups": dict(groups or {"core": {"type": "Core"}})}},
            },
            files,
        )
        submission = tmp_path / "submission"
        submission.mkdir(exist_ok=True)
        for name, text in ({"main.sh": program} if isinstance(program, str) else program).items():
            (submission / name).parent.mkdir(parents=True, exist_ok=True)
            (submission / name).write_text(text)
        problem = ProblemConfig.from_yaml(folder)
        environment = {"type": "local", "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}, **(spec or {})}
        return run_checkpoint(
            submission_path=submission,
            problem=problem,
            checkpoint=problem.load_checkpoint("one"),
            env_spec=EnvironmentSpec.model_validate(environment),
            **{"options": RunOptions(jobs=1), **(running or {})},
        )

    return evaluate
