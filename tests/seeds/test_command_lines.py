"""Every command line that the two seed guides print works as printed, given the problem and environment it names."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest
import yaml

from tests import warm
from tests.engines import docker_skip_reason
from tests.markdown import Block, blocks

GUIDES = [Path(__file__).parents[3] / "shared" / "seeds" / name for name in ("loaders.md", "verification.md")]
pytestmark = pytest.mark.skipif(
    not all(guide.exists() for guide in GUIDES), reason="the seed guides are not beside this checkout"
)
ENVIRONMENT = "configs/environments/docker-python3.12-uv.yaml"
# What the guides leave out where they print `...`.
LEFT_OUT = f"-s solution -p my_problem -c 1 -e {ENVIRONMENT}"
SOLUTION = """
import sys

name, = sys.argv[1:]
print("wrong" if name == "failing" else name)
open("out.txt", "w").write(name)
"""
CASES = ("test_edge_case", "specific_case", "failing")
NEEDS_JQ = pytest.mark.skipif(
    shutil.which("jq") is None, reason="jq is not installed; scripts/test does it where it may"
)


def command_lines(block: Block) -> list[str]:
    """The commands of a block, each with its pipes and continued lines, and the comment about a bug, which is a deed."""
    joined = re.sub(r"\\\n\s*", " ", block.text)
    return [line for line in joined.splitlines() if line and (not line.startswith("#") or "Introduce a bug" in line)]


BLOCKS = [
    pytest.param(block, id=f"{guide.stem} {block.line}", marks=[NEEDS_JQ] if "| jq" in block.text else [])
    for guide in GUIDES
    if guide.exists()
    for block in blocks(guide, "bash")
]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """Where an author stands: a problem, its solution, and the environment where its image is not at hand."""
    groups = {"core": {"type": "Core"}, "my_new_group": {"type": "Functionality"}, "errors": {"type": "Error"}}
    config = {
        "name": "my_problem",
        "version": 1,
        "description": "A problem for the guides' commands.",
        "entry_file": "main",
        "adapter": {"type": "cli", "tracked_files": ["out.txt"]},
        "loader_script": "builtin:files",
        "checkpoints": {"checkpoint_1": {"groups": groups}},
    }
    folder = tmp_path / "problems" / "my_problem"
    for group in groups:
        (folder / "checkpoint_1" / group).mkdir(parents=True)
        cases = [
            {"name": name, "argv": [name], "expected": {"output": f"{name}\n", "files": {"out.txt": name}}}
            for name in (CASES if group == "core" else [f"{group}_case"])
        ]
        (folder / "checkpoint_1" / group / "cases.yaml").write_text(yaml.safe_dump(cases))
    (folder / "config.yaml").write_text(yaml.safe_dump(config, sort_keys=False))
    (folder / "checkpoint_1" / "spec.md").write_text("Say your name.\n")
    solution = folder / "checkpoint_1" / "solution"
    solution.mkdir()
    (solution / "main.py").write_text(textwrap.dedent(SOLUTION))
    shutil.copytree(solution, tmp_path / "solution")
    if docker_skip_reason() is not None or not _has_image():
        stand_in = tmp_path / ENVIRONMENT
        stand_in.parent.mkdir(parents=True)
        stand_in.write_text('type: local\ncommands: {command: python3 -S -E, entry_file: "{entry_file}.py"}\n')
    return tmp_path


def _has_image() -> bool:
    from slop_code.execution import DockerEnvironmentSpec, EnvironmentSpec

    shipped = EnvironmentSpec.from_yaml("docker-python3.12-uv")
    assert isinstance(shipped, DockerEnvironmentSpec)
    command = ["docker", "image", "inspect", shipped.docker.image]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


@pytest.mark.parametrize("block", BLOCKS)
def test_every_command_of_a_block_works(block: Block, place: Path) -> None:
    env = {
        **os.environ,
        "PATH": os.pathsep.join([str(warm.slop_code_on_path(place / "bin")), os.environ["PATH"]]),
        "SLOP_CODE_CACHE": str(place / "cache"),
    }
    ran = 0
    for line in command_lines(block):
        if line.startswith("#"):
            (place / "broken_solution" / "main.py").write_text("print('wrong')\n")
            continue
        command = line.replace("run-case ...", f"run-case {LEFT_OUT}")
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command], cwd=place, env=env, capture_output=True, text=True, check=False
        )
        assert "Traceback" not in done.stderr
        # One of the solution's cases fails, for the guides look into failures, too.
        assert done.returncode in (0, 1), done.stderr
        _check_printed(command, done.stdout)
        ran += 1
    assert ran


def _check_printed(command: str, printed: str) -> None:
    if command.startswith("cp "):
        assert printed == ""
        return
    values = [json.loads(text) for text in re.split(r"(?<=\})\n(?=\{)", printed.strip())]
    assert values
    if "| jq" not in command:
        (cases,) = values
        names = {"my_new_group": ["my_new_group_case"], "specific_case": ["specific_case"]}
        names["test_edge_case"] = ["test_edge_case"]
        wanted = next((names[word] for word in command.split() if word in names), None)
        assert [case["id"] for case in cases] == (wanted or [*CASES, "my_new_group_case", "errors_case"])
        if "broken_solution" in command:
            assert all(case["score"] < 1.0 and not case["passed"] for case in cases)
        if "--full" in command:
            assert {"actual", "expected", "diff", "is_correct", "weight"} <= cases[0]["results"]["output"].keys()
    elif "add / length" in command:
        assert 0.0 < values[0] < 1.0
    elif ".results.output" in command:
        assert (values[0]["expected"], values[0]["actual"], values[0]["is_correct"]) == ("failing\n", "wrong\n", False)
    elif "startswith" in command:
        assert [value["key"] for value in values] == ["files-out.txt"]
    else:
        assert {"attr": "output", "weight": 1, "correct": True} in values
