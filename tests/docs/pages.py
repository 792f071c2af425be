"""The guides as something to execute.

Each second-level section gets a folder of its own, in which its blocks run from top to bottom. A page that begins with
`<!-- one folder -->` has one for all its sections, which go on from each other.

    ```yaml file=config.yaml     written to that file
    ```console                   each `$ command` is run, and what follows it is what it prints (`…` stands for anything)
    ```console install           the same, where slop-code is not installed yet: only `make nightly` has the time
    ```python                    run as a script
    ```yaml, ```json             parsed
    ```sh                        a script of this repository that is there to be run
    ```text                      nothing: a picture or a sketch

What a command prints may be broken by two things that a person does once everything above it can be seen:

    (elsewhere) $ command        run it in another terminal
    ^C                           press Ctrl-C

Where a block mentions a problem of the repository, `problems/` and `configs/` are in the folder.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests import warm

ROOT = Path(__file__).parents[2]
ONE_FOLDER = "<!-- one folder -->"
PATIENCE_S = 60.0
_FENCE = re.compile(r"^```(\w*)(?: file=(\S+))?( install)?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ ((?:.*\\\n)*.*)\n((?:(?!\$ ).*\n?)*)", re.MULTILINE)
_DEED = re.compile(r"^(?:\(elsewhere\) \$ (.*)|\^C)$", re.MULTILINE)


@dataclass(frozen=True)
class Part:
    """What is executed in one folder: a section of a page, or the page."""

    name: str
    text: str


def pages() -> list[Path]:
    """The guides, and the page that leads to them."""
    return sorted([*ROOT.glob("docs/*.md"), ROOT / "README.md"])


def parts() -> list[Part]:
    """Whatever has blocks to execute."""
    found = []
    for page in pages():
        text = page.read_text(encoding="utf-8")
        if text.startswith(ONE_FOLDER):
            found.append(Part(page.name, text))
            continue
        for section in re.split(r"^(?=## )", text, flags=re.MULTILINE):
            found.append(Part(f"{page.name}: {section.splitlines()[0].strip('# ')}", section))
    return [part for part in found if _FENCE.search(part.text)]


def execute(part: Part, folder: Path, env: Mapping[str, str], *, installs: bool = False) -> None:
    """Run the blocks of a part in `folder`; those that install slop-code only if it is to be installed."""
    own = {**os.environ, "NO_COLOR": "1", "COLUMNS": "100", **env}
    examples = [child.name for child in (ROOT / "problems").iterdir()]
    blocks = "".join(body for *_, body in _FENCE.findall(part.text))
    if any(f"problems/{name}" in blocks for name in examples):
        for name in ("problems", "configs"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for language, file, install, body in _FENCE.findall(part.text):
        if file:
            path = folder / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(body, encoding="utf-8")
        elif language == "console":
            if installs or not install:
                _check_console(body, folder, own)
        else:
            _check_block(language, body, folder, own)


def _check_block(language: str, body: str, folder: Path, env: Mapping[str, str]) -> None:
    if language == "python":
        command = [*warm.python(), body]
        done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    elif language == "yaml":
        list(yaml.safe_load_all(body))
    elif language == "json":
        json.loads(body)
    elif language == "sh":
        assert os.access(ROOT / body.strip(), os.X_OK)
    else:
        assert language == "text", f"a block in {language!r} is not executed by anything"


def _check_console(text: str, folder: Path, env: Mapping[str, str]) -> None:
    assert text.startswith("$ "), f"a console block begins with a command, not with {text[:40]!r}"
    for match in _COMMAND.finditer(text):
        command, expected = match[1], match[2]
        terminal = _Terminal(command, folder, env)
        try:
            shown = ""
            at = 0
            for deed in _DEED.finditer(expected):
                shown += expected[at : deed.start()]
                at = deed.end() + 1
                terminal.wait_for(_pattern(shown))
                if deed[1] is None:
                    terminal.interrupt()
                else:
                    subprocess.run(["bash", "-c", deed[1]], cwd=folder, env=env, check=True)
            shown += expected[at:]
            printed = terminal.rest()
        finally:
            terminal.close()
        assert re.fullmatch(_pattern(shown.rstrip("\n")), printed.rstrip("\n"), re.DOTALL), f"$ {command}\n{printed}"


def _pattern(shown: str) -> str:
    return "".join(".*" if piece == "…" else re.escape(piece) for piece in re.split("(…)", shown))


class _Terminal:
    """A command that is running, and what it has printed by now."""

    def __init__(self, command: str, folder: Path, env: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            ["bash", "-c", command],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self._printed = ""
        self._ended = False
        self._more = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def wait_for(self, pattern: str) -> None:
        """Wait until what has been printed begins like this."""
        begins = re.compile(pattern, re.DOTALL)
        with self._more:
            seen = self._more.wait_for(lambda: self._ended or begins.match(self._printed), PATIENCE_S)
            assert seen and begins.match(self._printed), f"never seen: {pattern}\n{self._printed}"

    def interrupt(self) -> None:
        """Press Ctrl-C: every process of the terminal hears of it."""
        os.killpg(self._process.pid, signal.SIGINT)

    def rest(self) -> str:
        """All that was printed, when there will be no more."""
        self._reader.join(PATIENCE_S)
        assert not self._reader.is_alive(), f"still running after {PATIENCE_S:g} s\n{self._printed}"
        return self._printed

    def close(self) -> None:
        """End it, if it has not ended."""
        if self._reader.is_alive():
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._reader.join()

    def _read(self) -> None:
        stream = self._process.stdout
        while stream is not None and (line := stream.readline()):
            with self._more:
                self._printed += line
                self._more.notify_all()
        if stream is not None:
            stream.close()
        with self._more:
            self._ended = True
            self._more.notify_all()
