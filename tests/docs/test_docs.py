"""Every block of our guides is executed, and every command's output is real.

Each second-level section gets a folder of its own, in which its blocks run from top to bottom:

    ```yaml file=config.yaml     written to that file
    ```console                   each `$ command` is run, and what follows it is what it prints (`…` stands for anything)
    ```python                    run as a script
    ```yaml, ```json             parsed
    ```sh                        a script of this repository that is there to be run
    ```text                      nothing: a picture or a sketch
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)(?: file=(\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def sections() -> list[tuple[str, str]]:
    found = []
    for file in sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"]):
        for part in re.split(r"^(?=## )", file.read_text(encoding="utf-8"), flags=re.MULTILINE):
            if FENCE.search(part):
                found.append((f"{file.name}: {part.splitlines()[0].strip('# ')}", part))
    return found


def environment() -> dict[str, str]:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    return {**os.environ, "PATH": path, "NO_COLOR": "1", "COLUMNS": "100"}


def check_console(text: str, folder: Path) -> None:
    for match in re.finditer(r"^\$ (.*(?:\\\n.*)*)\n((?:(?!\$ ).*\n?)*)", text, re.MULTILINE):
        command, expected = match[1], match[2]
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder,
            env=environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        pattern = "".join(".*" if part == "…" else re.escape(part) for part in re.split("(…)", expected.rstrip("\n")))
        assert re.fullmatch(pattern, done.stdout.rstrip("\n"), re.DOTALL), f"$ {command}\n{done.stdout}"


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in sections()])
def test_every_block_of_a_section_works(text: str, tmp_path: Path) -> None:
    if "problems/calculator" in text:
        shutil.copytree(ROOT / "problems", tmp_path / "problems")
    for language, file, body in FENCE.findall(text):
        if file:
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        elif language == "console":
            check_console(body, tmp_path)
        elif language == "python":
            done = subprocess.run(
                [sys.executable, "-c", body],
                cwd=tmp_path,
                env=environment(),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == 0, done.stderr
        elif language == "yaml":
            list(yaml.safe_load_all(body))
        elif language == "json":
            json.loads(body)
        elif language == "sh":
            assert os.access(ROOT / body.strip(), os.X_OK)
        else:
            assert language == "text", f"a block in {language!r} is not executed by anything"


def test_links_between_pages_lead_somewhere() -> None:
    for file in [*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")]:
        for target in re.findall(r"\]\((?!https?://|#)([^)#]+)", file.read_text(encoding="utf-8")):
            assert (file.parent / target).exists(), f"{file.name} links to {target}"
