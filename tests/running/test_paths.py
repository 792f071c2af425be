"""What a program sees of where it runs is the same in every case and every run, but for `local`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slop_code.evaluation import ProblemConfig, run_checkpoint
from tests.conftest import MakeProblem
from tests.execution.drivers import DRIVERS, make_spec


@pytest.mark.parametrize("kind", [kind for kind in DRIVERS if kind != "local"])
def test_workspace_and_assets_are_at_the_same_place_in_every_case_and_every_run(
    kind: str, make_problem: MakeProblem, tmp_path: Path
) -> None:
    names = [f"one/{group}/{name}.yaml" for group in ("core", "kept") for name in "ab"]
    case = "arguments: ['{{static:words}}']\nexpected: {status_code: 0}\n"
    config = {
        "entry_file": "main",
        "loader_script": "builtin:files",
        "static_assets": {"words": {"path": "words.txt"}},
        "checkpoints": {"one": {"groups": {"core": {}, "kept": {"isolated": False}}}},
    }
    problem = ProblemConfig.from_yaml(make_problem(config, {"words.txt": "words", **dict.fromkeys(names, case)}))
    spec = make_spec(kind, commands={"command": "sh", "entry_file": "{entry_file}.sh"})
    first = tmp_path / "first"
    first.mkdir()
    (first / "main.sh").write_text('pwd; echo "$0 $1 $HOME $TMPDIR"; cat "$1"')
    second = shutil.copytree(first, tmp_path / "elsewhere" / "second")
    seen = []
    for submission in (first, second):
        results = run_checkpoint(submission, problem, problem.load_checkpoint("one"), spec)
        seen += [report.results["output"].actual for report in results.reports]
    assert len(seen) == 8
    assert len(set(seen)) == 1
    assert seen[0].endswith("words")
    assert str(tmp_path) not in seen[0]
