"""`slop-code problems ls`, `show`, `chkpt` and `make-registry`."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from slop_code.cli.problems import app
from slop_code.evaluation.registry import content_hash
from tests.cli.test_problems import ROOT, slop_code
from tests.conftest import MakeProblem

CONFIG: dict[str, Any] = {
    "description": "Says things.\nIn two lines.",
    "adapter": {"type": "api", "port": 8080, "arguments": ["--data", "{{static:rates}}"]},
    "static_assets": {"rates": {"path": "assets"}},
    "env": {"RATE": "5"},
    "timeout": 7,
    "seed": 3,
    "checkpoints": {
        "one": {"groups": {"core": {"weight": 2.5, "group_files": ["b", "a"]}, "broken": {}}},
        "two": {"state": "Verified", "regressions": [{"checkpoint": "one", "groups": ["core"]}]},
    },
}
LOADER = """
    from slop_code.evaluation.adapters import APICase, APIResult
    from slop_code.evaluation.loaders import BaseLoader
    class Loader(BaseLoader):
        def __call__(self, group, store):
            if group.name == "broken":
                raise KeyError(group.name)
            yield APICase(id="a"), APIResult(status_code=200)
            yield APICase(id="b"), APIResult(status_code=200)
"""
FILES = {"loader.py": LOADER, "assets/rates.json": "{}", "one/spec.md": "# One\n\nDo \x1b[31mthis.\n"}


def test_show_has_what_there_is_to_know_and_a_broken_loader_does_not_hide_it(
    make_problem: MakeProblem, tmp_path: Path
) -> None:
    make_problem(CONFIG, FILES)
    done = slop_code("-p", ".", "problems", "show", "demo", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "demo\n"
        "Says things.\n"
        "In two lines.\n"
        "\n"
        "folder      demo\n"
        "version     1\n"
        "difficulty  Easy\n"
        "adapter     api arguments=--data,{{static:rates}} port=8080\n"
        "entry file  demo\n"
        "loader      loader.py\n"
        "verifier    the ready one\n"
        "timeout     7 s\n"
        "env         RATE=5\n"
        "\n"
        "asset  file or folder  in cases\n"
        "rates  demo/assets     {{static:rates}}\n"
        "\n"
        "one: Draft, version 1, demo/one/spec.md\n"
        "group   type  weight  timeout  cases\n"
        "core    Core  2.5     7 s      2\n"
        "broken  Core  1       7 s      ?\n"
        "\n"
        "two: Verified, version 1, demo/two/spec.md (missing)\n"
        "group     type        weight  timeout  cases\n"
        "one_core  Regression  2.5     7 s      2\n"
    )


def test_show_as_json_is_the_whole_model_without_this_machines_paths(make_problem: MakeProblem, tmp_path: Path) -> None:
    make_problem(CONFIG, FILES)
    done = slop_code("-p", ".", "problems", "show", "demo", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert str(tmp_path) not in done.stdout
    shown = json.loads(done.stdout)
    assert (shown["path"], shown["seed"], shown["adapter"]["port"]) == ("demo", 3, 8080)
    assert shown["checkpoints"]["one"]["groups"]["core"]["group_files"] == ["a", "b"]
    assert shown["checkpoints"]["two"]["groups"]["one_core"]["original_group"] == "core"


@pytest.mark.parametrize("wanted", ["1", "one"])
def test_chkpt_ends_with_the_specification_and_steers_no_terminal(
    wanted: str, make_problem: MakeProblem, tmp_path: Path
) -> None:
    make_problem(CONFIG, FILES)
    done = slop_code("-p", ".", "problems", "chkpt", "demo", wanted, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("demo\n\none: Draft, version 1, demo/one/spec.md\ngroup   type")
    assert done.stdout.endswith("\n\n# One\n\nDo <U+001B>[31mthis.\n")


def test_chkpt_as_json_has_the_specification_as_it_is(make_problem: MakeProblem, tmp_path: Path) -> None:
    make_problem(CONFIG, FILES)
    shown = json.loads(slop_code("-p", ".", "problems", "chkpt", "demo", "1", "--json", cwd=tmp_path).stdout)
    assert (shown["name"], shown["path"]) == ("one", "demo/one")
    assert shown["specification_text"] == "# One\n\nDo \x1b[31mthis.\n"
    done = slop_code("-p", ".", "problems", "chkpt", "demo", "2", "--json", cwd=tmp_path)
    assert json.loads(done.stdout)["specification_text"] is None
    assert done.stderr == 'warning: demo/two/spec.md: the specification of checkpoint "two" is missing\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["show", "calculater"], 'no problem "calculater" (did you mean "calculator"?): problems has "calculator"'),
        (["chkpt", "calculater", "1"], 'no problem "calculater" (did you mean "calculator"?)'),
        (["chkpt", "calculator", "7"], 'has no checkpoint 7: it has 2 ("checkpoint_1" and "checkpoint_2")'),
        (["chkpt", "calculator", "chekpoint_1"], 'has no checkpoint "chekpoint_1" (did you mean "checkpoint_1"?)'),
        (["show", "tests"], "tests: this folder has no config.yaml, so it is not a problem"),
        (["check", "tests/nowhere"], 'no problem "tests/nowhere"'),
    ],
)
def test_what_is_not_there_is_one_line_with_the_candidates(arguments: list[str], message: str) -> None:
    done = slop_code("problems", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: ")
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("command", ["ls", "show", "chkpt", "new", "check", "make-registry"])
def test_help_teaches_with_examples(command: str) -> None:
    done = CliRunner().invoke(app, [command, "--help"])
    assert done.exit_code == 0
    assert "  Examples:\n    slop-code " in done.stdout
    assert f"problems {command}" in done.stdout.partition("Examples:")[2]


def problems_with_broken_ones(make_problem: MakeProblem) -> None:
    sound = {"loader_script": "builtin:files", "checkpoints": {"one": {"groups": {"core": {}}}}}
    for name in ("zebra", "ant"):
        make_problem({**sound, "name": name, "tags": ["b", "a"]}, {"one/core/a.yaml": "expected: {output: x}"}, name)
    make_problem({"version": "x", "timeout": "y"}, name="bad")
    make_problem({**sound, "name": "ant"}, {"one/core/a.yaml": "expected: {output: x}"}, name="twin")


def test_ls_names_each_broken_package_in_one_line_and_shows_the_others(
    make_problem: MakeProblem, tmp_path: Path
) -> None:
    problems_with_broken_ones(make_problem)
    done = slop_code("-p", ".", "problems", "ls", cwd=tmp_path)
    assert done.returncode == 0
    assert [line.split()[0] for line in done.stdout.splitlines()] == ["problem", "ant", "zebra"]
    broken, twin = done.stderr.splitlines()
    assert broken.startswith(
        'error: left out bad, which is broken: bad/config.yaml:2: the problem: "version" should be'
    )
    assert broken.endswith(" (and 1 more error)")
    assert twin == 'error: left out twin: ant has the same name, "ant"'


def test_a_folder_without_problems_says_how_to_begin_one(tmp_path: Path) -> None:
    done = slop_code("-p", ".", "problems", "ls", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "no problems in .; `slop-code problems new NAME` begins one\n")


def test_the_registry_is_sorted_and_leaves_out_what_is_broken_with_exit_code_2(
    make_problem: MakeProblem, tmp_path: Path
) -> None:
    problems_with_broken_ones(make_problem)
    done = slop_code("-p", ".", "problems", "make-registry", cwd=tmp_path)
    assert done.returncode == 2
    assert done.stderr.count("error: left out ") == 2
    ant, zebra = json.loads(done.stdout)
    assert (ant["name"], zebra["name"]) == ("ant", "zebra")
    assert ant == {
        "name": "ant",
        "folder": "ant",
        "version": 1,
        "category": "NOT_SET",
        "difficulty": "Easy",
        "tags": ["a", "b"],
        "description": "A problem for a test.",
        "adapter": "cli",
        "entry_file": "demo",
        "checkpoints": [
            {
                "name": "one",
                "version": 1,
                "order": 1,
                "state": "Draft",
                "cases": 1,
                "groups": [{"name": "core", "type": "Core", "weight": 1.0, "cases": 1, "all_cases_known": True}],
            }
        ],
        "content": f"sha256:{content_hash(tmp_path / 'ant')}",
    }


def test_the_registry_is_the_same_anywhere_and_can_be_written_to_a_file(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "problems" / "calculator", tmp_path / "elsewhere" / "calculator")
    shutil.copytree(ROOT / "problems" / "calculator", tmp_path / "problems" / "calculator")
    printed = slop_code("problems", "make-registry", cwd=tmp_path)
    assert (printed.returncode, printed.stderr) == (0, "")
    done = slop_code("-p", "elsewhere", "problems", "make-registry", "-o", "out/registry.json", cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "out/registry.json: 1 problem\n")
    assert (tmp_path / "out" / "registry.json").read_text() == printed.stdout
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["registry.json"]


def test_a_hash_depends_on_names_contents_and_execution_bits_only(tmp_path: Path) -> None:
    def write(**files: str) -> str:
        shutil.rmtree(tmp_path / "p", ignore_errors=True)
        for name, text in files.items():
            file = tmp_path / "p" / name.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return content_hash(tmp_path / "p")

    first = write(a="1", d__b="2")
    assert write(d__b="2", a="1") == first
    os.utime(tmp_path / "p" / "a", (0, 0))
    (tmp_path / "p" / "__pycache__").mkdir()
    (tmp_path / "p" / "__pycache__" / "x.pyc").write_text("")
    assert content_hash(tmp_path / "p") == first
    (tmp_path / "p" / "a").chmod(0o755)
    assert content_hash(tmp_path / "p") != first
    assert len({first, write(a="12", d__b=""), write(a="1", d__c="2"), write(a="1", d__b="3"), write(a="1")}) == 5
