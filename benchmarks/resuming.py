"""Evaluating all example problems, and then once more without any change."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.measure import table

ROOT = Path(__file__).parents[1]
AT_MOST = 0.05


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        for solution in sorted(ROOT.glob("problems/*/checkpoint_*/solution")):
            problem, checkpoint = solution.parent.parent.name, solution.parent.name
            shutil.copytree(solution, run / problem / checkpoint / "snapshot")
        environment = {**os.environ, "SLOP_CODE_CACHE": f"{folder}/cache"}
        first, second = (_evaluate(run, environment) for _ in range(2))
    share = second / first
    table(
        [
            ("slop-code eval of all example problems", "s", "of the first", "at most"),
            ("first", f"{first:.2f}", "", ""),
            ("again, unchanged", f"{second:.2f}", f"{share:.1%}", f"{AT_MOST:.0%}"),
        ]
    )


def _evaluate(run: Path, environment: dict[str, str]) -> float:
    command = [sys.executable, "-c", "from slop_code.cli import main; main()", "-p", str(ROOT / "problems")]
    started = time.perf_counter()
    subprocess.run([*command, "eval", str(run), "-q"], env=environment, check=True, capture_output=True)
    return time.perf_counter() - started
