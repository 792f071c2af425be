"""How long people wait for the command line: for its help, and for one trivial case of a problem without Python."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

import yaml
from tests.engines import bwrap_skip_reason

from benchmarks.measure import interleaved, table

ROUNDS = 15
TARGETS = {"slop-code --help": 10.0, "run-case, local": 25.0, "run-case, sandbox": 25.0}
COMMAND = [sys.executable, "-c", "from slop_code.command import main; main()"]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        # Bytecode is kept, as it is for everybody who installed the package.
        env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        env |= {"PYTHONPYCACHEPREFIX": str(root / "bytecode"), "SLOP_CODE_CACHE": str(root / "cache")}
        actions = {
            "python -c pass (floor)": _run([sys.executable, "-c", "pass"], env),
            "import typer": _run([sys.executable, "-c", "import typer"], env),
            "import pydantic, yaml; a model": _run(
                [
                    sys.executable,
                    "-c",
                    "import yaml\nfrom pydantic import BaseModel\nclass Model(BaseModel): x: int = 1",
                ],
                env,
            ),
            "slop-code --help": _run([*COMMAND, "--help"], env),
        }
        for kind, reason in (("local", None), ("sandbox", bwrap_skip_reason())):
            if reason is None:
                actions[f"run-case, {kind}"] = _run([*COMMAND, *_one_case(root, kind)], env)
            else:
                print(f"{kind} is left out: {reason}")
        for action in actions.values():
            action()
        times = interleaved(actions, rounds=ROUNDS)
    base = times["python -c pass (floor)"]
    rows = [("from the shell and back", "ms", "ratio", "at most")]
    rows += [
        (name, f"{seconds * 1000:.0f}", f"{seconds / base:.1f}", f"{TARGETS[name]:g}" if name in TARGETS else "")
        for name, seconds in times.items()
    ]
    table(rows)
    print(f"Medians of {ROUNDS} interleaved rounds, the submission prepared, bytecode cached.")


def _run(command: list[str], env: Mapping[str, str]) -> Callable[[], object]:
    return lambda: subprocess.run(command, env=env, check=True, capture_output=True, stdin=subprocess.DEVNULL)


def _one_case(root: Path, kind: str) -> list[str]:
    """A problem with one case file, a submission in shell, and the arguments that run it."""
    problem, submission = root / "problem", root / "submission"
    (problem / "one" / "core").mkdir(parents=True, exist_ok=True)
    submission.mkdir(exist_ok=True)
    config = {
        "name": "bench",
        "version": 1,
        "description": "A greeting.",
        "entry_file": "main",
        "adapter": {"type": "cli"},
        "loader_script": "builtin:files",
        "checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}},
    }
    environment = {"type": kind, "commands": {"command": "sh", "entry_file": "{entry_file}.sh"}}
    (problem / "config.yaml").write_text(yaml.safe_dump(config))
    (problem / "one" / "core" / "greeting.yaml").write_text('expected: {output: "hello\\n"}\n')
    (submission / "main.sh").write_text("echo hello\n")
    (root / f"{kind}.yaml").write_text(yaml.safe_dump(environment))
    return [
        "tools", "run-case", "-s", str(submission), "-p", str(problem), "-c", "one", "-e", str(root / f"{kind}.yaml"),
    ]  # fmt: skip
