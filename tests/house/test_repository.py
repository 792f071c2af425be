"""Rules of the house that a test can keep."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_constraints_are_names_with_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    assert lines
    assert all(re.fullmatch(r"[A-Za-z0-9_.-]+==[A-Za-z0-9_.!+-]+", line) for line in lines)


def test_every_dependency_is_pinned() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [
        *project["dependencies"],
        *(item for extra in project["optional-dependencies"].values() for item in extra),
    ]
    names = {re.split(r"[<>=\[ ]", item)[0].lower().replace("_", "-") for item in wanted}
    pinned = {
        line.partition("==")[0].lower().replace("_", "-")
        for line in (ROOT / "constraints.txt").read_text().splitlines()
    }
    assert names <= pinned


def test_no_module_imports_to_its_left() -> None:
    layers = ["execution", "evaluation", "runs", "cli"]
    for file in (ROOT / "src" / "slop_code").rglob("*.py"):
        layer = file.relative_to(ROOT / "src" / "slop_code").parts[0]
        if layer == "command.py":
            continue  # where everything begins
        own = layers.index(layer) if layer in layers else -1
        imported = re.findall(r"^\s*(?:from|import) slop_code\.(\w+)", file.read_text(), re.MULTILINE)
        above = [name for name in imported if name in layers and layers.index(name) > own]
        assert not above, f"{file} imports {above}"


def test_the_readmes_commands_exist_and_are_executable() -> None:
    readme = (ROOT / "README.md").read_text()
    for command in ("scripts/demo", "scripts/test"):
        assert command in readme
        assert (ROOT / command).stat().st_mode & 0o111
    assert "scripts/test" in (ROOT / ".ci" / "run").read_text()


def test_scripts_are_valid_shell() -> None:
    for script in [*(ROOT / "scripts").iterdir(), ROOT / ".ci" / "run"]:
        assert subprocess.run(["bash", "-n", script], check=False).returncode == 0
