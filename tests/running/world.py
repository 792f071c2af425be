"""A problem and a submission that are evaluated again and again in one folder, and what is heard of it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import yaml

from slop_code.evaluation import CorrectnessResults, ProblemConfig, run_checkpoint
from slop_code.evaluation.listening import Listener, RunLabel, RunOptions
from slop_code.evaluation.rejudging import judge_again
from slop_code.evaluation.report import iter_reports
from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution import EnvironmentSpec


class Hears(Listener):
    def __init__(self) -> None:
        self.ran: list[str] = []
        self.reused: list[str] = []
        self.known: dict[str, int] = {}

    def enumerated(self, run: RunLabel, group: str, cases: int, complete: bool) -> None:
        self.known[group] = cases

    def case_started(self, run: RunLabel, group: str, case_id: str) -> None:
        self.ran.append(case_id)

    def case_reused(self, run: RunLabel, group: str, case_id: str) -> None:
        self.reused.append(case_id)


class World:
    """A problem and a submission, evaluated for real; `core` has independent cases, `kept` shares a workspace."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.config: dict[str, Any] = {
            "name": "demo",
            "version": 1,
            "description": "Say hello.",
            "entry_file": "main",
            "loader_script": "builtin:files",
            "adapter": {"type": "cli", "tracked_files": ["made.txt"]},
            "timeout": 20,
            "static_assets": {"words": {"path": "words.txt"}},
            "checkpoints": {"one": {"groups": {"core": {}, "kept": {"isolated": False}}}},
        }
        self.files = {
            "words.txt": "a word",
            **{f"one/core/{name}.yaml": self.case(name) for name in "abcdef"},
            **{f"one/kept/{name}.yaml": self.case(name) for name in "xyz"},
        }
        self.spec: dict[str, Any] = {"commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}

    @property
    def out(self) -> Path:
        return self.root / "out"

    @property
    def submission(self) -> Path:
        return self.root / "submission"

    def program(self, text: str) -> None:
        self.submission.mkdir(exist_ok=True)
        (self.submission / "main.sh").write_text(text)

    def case(self, name: str, **extra: Any) -> str:
        return json.dumps({"arguments": [name], "expected": {"output": f"hello {name}\n"}, **extra})

    def problem(self) -> ProblemConfig:
        folder = self.root / "problem"
        shutil.rmtree(folder, ignore_errors=True)
        for name, text in {**self.files, "config.yaml": yaml.safe_dump(self.config, sort_keys=False)}.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text)
        return ProblemConfig.from_yaml(folder)

    def evaluate(self, listener: Hears | None = None, **options: Any) -> tuple[CorrectnessResults, Hears]:
        problem, hears = self.problem(), listener or Hears()
        pool = options.pop("pool", None)
        results = run_checkpoint(
            self.submission,
            problem,
            problem.load_checkpoint("one"),
            EnvironmentSpec.model_validate({"type": "local", **self.spec}),
            options=RunOptions(**{"jobs": 1, "reuse": True, **options}),
            listener=hears,
            output_dir=self.out,
            pool=pool,
        )
        return results, hears

    def judge_again(self) -> list[VerifierReport]:
        problem = self.problem()
        results = judge_again(self.out, problem, problem.load_checkpoint("one"), self.root / "again")
        assert CorrectnessResults.from_dir(self.root / "again", with_reports=False) == results
        return list(iter_reports(self.root / "again"))
