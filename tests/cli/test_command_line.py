"""The command line as a whole: help, version, completion, lazy loading, and what stdout is protected from."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from slop_code import __version__
from slop_code.cli import Commands
from slop_code.cli.completion import _checkpoint_names
from slop_code.cli.lazy_commands import load_command
from slop_code.runs.last_run import LastRun
from tests import warm
from tests.cli.terminal import ROOT, SLOP_CODE
from tests.reports.make import line, report


def slop_code(*arguments: str, cwd: Path = ROOT, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*warm.slop_code(), *arguments], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_names_every_command_and_teaches_by_example(option: str) -> None:
    done = slop_code(option, COLUMNS="100")
    assert (done.returncode, done.stderr) == (0, "")
    for name in ("tools", "problems", "eval-snapshot", "eval-problem", "eval", "env", "cache", "schema"):
        assert f"\n  {name} " in done.stdout
    assert "slop-code tools run-case -s problems/calculator/checkpoint_1/solution -p calculator -c 1" in done.stdout


def test_version() -> None:
    assert slop_code("--version").stdout == f"slop-code {__version__}\n"


def test_without_a_command_there_is_the_help_and_exit_code_2() -> None:
    done = slop_code()
    assert done.returncode == 2
    assert "Usage: " in done.stdout + done.stderr


def test_a_misspelt_command_is_suggested() -> None:
    done = slop_code("tols")
    assert done.returncode == 2
    assert "Did you mean 'tools'?" in done.stderr


@pytest.mark.parametrize("name", list(Commands.lazy))
def test_the_line_in_the_help_is_the_beginning_of_the_commands_own_help(name: str) -> None:
    command = load_command(name, Commands.lazy[name])
    assert (command.help or "").replace("\n", " ").startswith(Commands.lazy[name].help.rstrip("."))


def test_help_loads_neither_commands_nor_heavy_libraries() -> None:
    code = (
        "import sys\nfrom slop_code.cli import app\n"
        "try: app(['--help'])\nexcept SystemExit: pass\n"
        "print(*sys.modules, file=sys.stderr)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stderr.split()
    assert not {"rich", "pydantic", "yaml", "structlog", "slop_code.cli.tools", "slop_code.evaluation"} & set(loaded)


def test_completion_knows_commands_problems_checkpoints_and_environments() -> None:
    # The name of the program decides the variable's name, so the installed script is asked, too.
    program = Path(sys.executable).with_name("slop-code")
    if not program.exists():
        pytest.skip("slop-code is not installed as a script beside this Python")

    def offered(text: str, *command: str) -> list[str]:
        env = {
            **os.environ,
            "_SLOP_CODE_COMPLETE": "complete_bash",
            "COMP_WORDS": text,
            "COMP_CWORD": str(len(text.split(" ")) - 1),
        }
        words = command or warm.slop_code()
        return subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=False).stdout.split()

    assert offered("slop-code to", str(program)) == offered("slop-code to") == ["tools"]
    assert offered("slop-code tools run-") == ["run-case"]
    assert offered("slop-code tools run-case -p calc") == ["calculator"]
    assert offered("slop-code tools run-case -p calculator -c ") == ["checkpoint_1", "checkpoint_2"]
    assert "sandbox-py" in offered("slop-code tools run-case -e sand")


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("name: x\ncheckpoints:\n  one:\n    order: 1\n  two: {}\ntags: []\n", ["one", "two"]),
        ("checkpoints: [one, two]  # in order\n", ["one", "two"]),
        ("checkpoints:\n- one\n- two\nname: x\n", ["one", "two"]),
        ("checkpoints:\n    # first\n    one:\n      groups: {}\n", ["one"]),
        ("name: x\n", []),
    ],
)
def test_checkpoints_are_found_without_parsing(text: str, names: list[str]) -> None:
    assert _checkpoint_names(text) == names


def test_stdout_is_ours_alone_and_the_rest_goes_to_stderr() -> None:
    code = (
        "import os, sys\nfrom slop_code.cli.console import emit, protect_stdout\nprotect_stdout()\n"
        "os.write(1, b'stray\\n')\nos.system('echo child')\nemit('ours \\udc80')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("ours \\udc80\n", "stray\nchild\n")


@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_a_missing_stream_is_no_traceback(closed: str, tmp_path: Path) -> None:
    line = f'"$0" "$@" {closed}'
    command = ["sh", "-c", line, *SLOP_CODE, "cache", "ls"]
    done = subprocess.run(
        command, env={**os.environ, "SLOP_CODE_CACHE": str(tmp_path)}, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr in ("", "0 images, 0.0 MB\n")


def test_memory_of_runs_is_kept_merged_and_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = LastRun.of(tmp_path / "a", tmp_path / "p", "one", cache=tmp_path)
    assert memory.failed() is None
    wrong = report("wrong", line(is_correct=False))
    memory.remember([report("right"), wrong])
    assert memory.failed() == frozenset({("core", "wrong")})
    memory.remember([report("other", line(is_correct=False))])
    assert memory.failed() == frozenset({("core", "wrong"), ("core", "other")})
    memory.remember([], gone=[("core", "other")])
    assert memory.failed() == frozenset({("core", "wrong")})
    memory.remember([report("right")], whole=True)
    assert memory.outcomes() == {("core", "right"): "passed"}
    assert LastRun.of(tmp_path / "b", tmp_path / "p", "one", cache=tmp_path).failed() is None
    memory.file.write_text('{"format": 1, "outcomes": []}')
    assert memory.failed() is None
    monkeypatch.setattr("slop_code.runs.last_run.MOST_KEPT", 2)
    for number in range(4):
        LastRun.of(tmp_path, tmp_path, str(number), cache=tmp_path).remember([wrong])
    assert len(list(memory.file.parent.iterdir())) == 2


@pytest.mark.parametrize(
    ("arguments", "redirection"),
    [
        *(
            (words, target)
            for words in ("problems ls", "--help")
            for target in (">/dev/full", "2>/dev/full", "2>&-", ">&-")
        ),
        ("problems check calculator", ">/dev/full"),
        ("problems check calculator", "2>/dev/full"),
    ],
)
def test_streams_that_cannot_be_written_to_are_no_traceback(arguments: str, redirection: str) -> None:
    command = f"{sys.executable} -c 'from slop_code.command import main; main()' {arguments} {redirection}"
    done = subprocess.run(["sh", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "Exception ignored" not in done.stderr
    assert done.returncode == (2 if redirection == ">/dev/full" else 0), done.stderr


@pytest.mark.parametrize(
    ("words", "forks"),
    [
        ("tools run-case --help", True),
        # Whatever is only called so is none of it: a fork would go on after Ctrl-C.
        ("problems show run-case", False),
        ("-p tools problems show run-case", False),
    ],
)
def test_only_the_command_line_of_run_case_is_parsed_in_a_fork(words: str, forks: bool) -> None:
    script = "import os, sys\nos.fork = lambda: sys.exit('forked')\nfrom slop_code.command import main\nmain()"
    done = subprocess.run(
        [sys.executable, "-c", script, *words.split()], capture_output=True, text=True, check=False, timeout=60
    )
    assert ("forked" in done.stderr) == forks
    assert done.returncode == (1 if forks else 2)
