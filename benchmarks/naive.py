"""What an evaluator does that prepares everything again for every case: for scale, not a straw man.

Copy the submission, install what it needs, write the inputs, run the command, compare, remove; one case after another.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from slop_code.execution.file_ops import write_input_files


def evaluate(submission: Path, python: str, entry: str, cases: Iterable[tuple[Any, Any]]) -> list[bool]:
    """Whether each case passed."""
    verdicts = []
    for case, expected in cases:
        workspace = Path(tempfile.mkdtemp(prefix="naive-"))
        try:
            shutil.copytree(submission, workspace, dirs_exist_ok=True)
            _install(workspace, python)
            write_input_files(workspace, case.input_files)
            command = " ".join([".venv/bin/python", entry, *case.arguments])
            done = subprocess.run(
                command,
                shell=True,
                cwd=workspace,
                input=case.stdin or "",
                capture_output=True,
                text=True,
                timeout=case.timeout_s,
                check=False,
            )
            verdicts.append(done.returncode == expected.status_code)
        finally:
            shutil.rmtree(workspace, ignore_errors=True)
    return verdicts


def _install(workspace: Path, python: str) -> None:
    """A virtual environment without any dependency: the least that an installation can be."""
    subprocess.run([python, "-m", "venv", "--without-pip", ".venv"], cwd=workspace, check=True)
