"""`slop-code problems new`: what it makes is sound at once, and a mistake made in it is found."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from slop_code.evaluation.new_package import NewPackageError, make_package
from tests import warm
from tests.cli.terminal import Shown, on_terminal
from tests.cli.test_problems import slop_code

ALL_WELL = r"mine: \d+ cases, no errors; 4 solutions run, all as they should be"


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Python as it is on this machine: the solutions need no environment of their own."""
    file = tmp_path_factory.mktemp("environment") / "plain.yaml"
    file.write_text('type: local\ncommands: {command: python3 -S -E, entry_file: "{entry_file}.py"}\n')
    return file


def edit(file: Path, old: str, new: str) -> None:
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new))


def test_case_files_at_a_terminal_with_the_commands_that_it_prints(tmp_path: Path, plain: Path) -> None:
    def shown(line: str) -> tuple[Shown, list[str]]:
        path = os.pathsep.join([str(warm.slop_code_on_path(tmp_path / "bin")), os.environ["PATH"]])
        done = on_terminal(["/bin/sh", "-c", line], cwd=tmp_path, width=200, env={"PATH": path})
        return done, [line for line in done.screen if line]

    made, screen = shown("slop-code -p 'my problems' problems new mine")
    assert (made.code, made.stdout, screen[0]) == (0, b"my problems/mine\n", "Next:")
    check, run_case = (line.strip() for line in screen if line.startswith("  slop-code"))
    assert check == "slop-code -p 'my problems' problems check mine --run"
    done, screen = shown(f"{check} -e {plain}")
    assert done.code == 0
    assert b"checkpoint_2/wrong_solutions/opens_too_early     fail    8 of 9  caught by saving/untouched" in done.stdout
    assert re.fullmatch(ALL_WELL, screen[-1])
    assert shown(f"{run_case} -e {plain}")[0].code == 0

    case = tmp_path / "my problems" / "mine" / "checkpoint_1" / "core" / "nothing_to_add.yaml"
    edit(case, '"0\\n"', '"0"')
    done, screen = shown(f"{check} -e {plain}")
    assert done.code == 1
    assert "failed: checkpoint_1/solution: fails core/nothing_to_add" in screen
    assert screen[-1] == "mine: 15 cases, no errors; 4 solutions run, 2 failed"


def test_a_loader_and_a_verifier(tmp_path: Path, plain: Path) -> None:
    check = ("problems", "check", "mine", "--run", "-e", plain)
    made = slop_code("problems", "new", "mine", "--flavour", "python", cwd=tmp_path)
    assert (made.returncode, made.stdout) == (0, "problems/mine\n")
    done = slop_code(*check, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert re.fullmatch(ALL_WELL, done.stderr.rstrip())

    edit(tmp_path / "problems/mine/verifier.py", 'results["value"] =', "results.value =")
    done = slop_code(*check, cwd=tmp_path)
    assert done.returncode == 3
    assert "not judged: checkpoint_1/solution: could not be judged on mean/one_number, " in done.stderr

    edit(tmp_path / "problems/mine/loader.py", "OPERATIONS[operation]", "OPERATION[operation]")
    done = slop_code(*check, cwd=tmp_path)
    assert done.returncode == 2
    assert "NameError: name 'OPERATION' is not defined" in done.stderr
    assert done.stderr.endswith("mine: 1 error; no solution was run\n")


def test_a_server_with_a_store(tmp_path: Path, plain: Path) -> None:
    check = ("problems", "check", "mine", "--run", "-e", plain)
    assert slop_code("problems", "new", "mine", "--flavour", "api", cwd=tmp_path).returncode == 0
    done = slop_code(*check, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert re.fullmatch(ALL_WELL, done.stderr.rstrip())

    edit(tmp_path / "problems/mine/loader.py", "APIResult(status_code=204)", "APIResult(status_code=200)")
    done = slop_code(*check, cwd=tmp_path)
    assert done.returncode == 1
    assert "failed: checkpoint_2/solution: fails deleting/delete\n" in done.stderr


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("my problem", ' (try "my_problem")'),
        ("a/b", ' (try "a_b")'),
        ("..", ""),
        ("", ""),
        ("-x", ' (try "x")'),
        ("7up", ' (try "up")'),
        ("naïve", ' (try "na_ve")'),
        ("x" * 65, f' (try "{"x" * 64}")'),
        ("new\n", ' (try "new")'),
    ],
)
def test_a_name_that_is_not_sound_is_refused_with_a_better_one(name: str, hint: str, tmp_path: Path) -> None:
    with pytest.raises(NewPackageError) as caught:
        make_package(tmp_path / "problems", name, "files")
    assert str(caught.value).startswith(f'"{name}" cannot name a problem{hint}: use letters, digits')
    assert list(tmp_path.iterdir()) == []


def test_a_bad_name_or_flavour_is_one_line_and_exit_code_2(tmp_path: Path) -> None:
    for arguments, message in (
        (["my problem"], 'error: "my problem" cannot name a problem (try "my_problem"): '),
        (["mine", "--flavour", "pyton"], 'error: unknown flavour "pyton" (did you mean "python"?): one of files, '),
    ):
        done = slop_code("problems", "new", *arguments, cwd=tmp_path)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert done.stderr.startswith(message)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("kind", ["folder", "file", "dangling link"])
def test_what_exists_is_never_overwritten(kind: str, tmp_path: Path) -> None:
    place = tmp_path / "mine"
    if kind == "folder":
        place.mkdir()
    elif kind == "file":
        place.write_text("kept")
    else:
        place.symlink_to("nowhere")
    with pytest.raises(NewPackageError, match="mine exists already; nothing was changed"):
        make_package(tmp_path, "mine", "files")
    assert (place.is_dir(), place.is_symlink()) == (kind == "folder", kind == "dangling link")
    assert kind != "folder" or list(place.iterdir()) == []


def test_a_problem_path_that_is_a_file_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "problems").write_text("")
    done = slop_code("problems", "new", "mine", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (2, "error: problems exists already; nothing was changed\n")
