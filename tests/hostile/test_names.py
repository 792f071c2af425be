"""Names with `..`, and absolute ones, wherever a name is taken: they lead nowhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from slop_code.evaluation.listening import RunOptions
from tests.execution.drivers import DRIVERS
from tests.hostile.whole import evaluate, outcomes, write_problem, write_submission

PROGRAM = "import os, sys; print(sorted(os.listdir('.'))); open('made.txt', 'w').write('made')"
EXPECTED = {"output": "never\n"}


@pytest.mark.parametrize("kind", DRIVERS)
def test_input_and_tracked_files_stay_in_the_workspace(kind: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    names = ("../escaped.txt", "a/../../escaped.txt", "/escaped.txt", str(tmp_path / "escaped.txt"))
    cases: dict[str, dict[str, object]] = {
        f"core/input-{number}": {
            "input_files": [{"path": name, "content": "x", "file_type": "text"}],
            "expected": EXPECTED,
        }
        for number, name in enumerate(names)
    }
    tracked = ["../*", "../../**", str(outside), "..", "/etc/passwd", "made.txt/../../*", "~/x", "made.txt"]
    cases["core/tracked"] = {"tracked_files": tracked, "expected": EXPECTED}
    submission = write_submission(tmp_path / "submission", PROGRAM)
    (submission / "leak.txt").symlink_to(outside)
    cases["core/leak"] = {"tracked_files": ["leak.txt", "*.txt"], "expected": EXPECTED}
    results = evaluate(kind, write_problem(tmp_path / "problem", cases), submission)
    assert outcomes(results) == {
        **{f"input-{number}": "error" for number in range(len(names))},
        "leak": "failed",
        "tracked": "failed",
    }
    files = {
        report.id: {name: line.actual for name, line in report.results.items() if name.startswith("files-")}
        for report in results.reports
    }
    assert files["tracked"] == files["leak"] == {"files-made.txt": "made"}
    assert not list(tmp_path.rglob("escaped.txt"))


def test_ids_and_groups_are_no_paths_where_workspaces_are_kept(tmp_path: Path) -> None:
    loader = tmp_path / "problem" / "loader.py"
    problem = write_problem(
        tmp_path / "problem", {}, loader_script="loader.py", groups={"../../escaped": {"type": "Core"}}
    )
    loader.write_text(
        "from slop_code.evaluation.adapters import CLICase, CLIResult\n"
        "from slop_code.evaluation.loaders import BaseLoader\n"
        "class Loader(BaseLoader):\n"
        "    def __call__(self, group, store):\n"
        f"        for name in ('../../../escaped', {str(tmp_path / 'escaped')!r}, '..', '.', 'x' * 400):\n"
        "            yield CLICase(id=name), CLIResult(output='never')\n"
    )
    kept = tmp_path / "deep" / "er" / "kept"
    results = evaluate(
        "local",
        problem,
        write_submission(tmp_path / "submission", PROGRAM),
        options=RunOptions(keep_workspaces=kept),
        output_dir=tmp_path / "deep" / "er" / "out",
    )
    assert [report.outcome for report in results.reports] == ["failed"] * 5
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "problem", "submission"]
    assert sorted(path.name for path in (tmp_path / "deep" / "er").iterdir()) == ["kept", "out"]
    assert len(list(kept.glob("*/*"))) == 5


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("entry", ["../outside", "/etc/outside"])
def test_an_entry_file_elsewhere_is_not_found(kind: str, entry: str, tmp_path: Path) -> None:
    (tmp_path / "outside.py").write_text("print('never')")
    problem = write_problem(tmp_path / "problem", {"core/1": {"expected": EXPECTED}}, entry_file=entry)
    results = evaluate(kind, problem, write_submission(tmp_path / "submission", PROGRAM))
    assert outcomes(results) == {"1": "failed"}
