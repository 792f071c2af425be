"""Contract §5: how problem scripts are imported."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.loaders import LoaderError
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from tests.conftest import MakeProblem

ONE = {"checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}}}
YIELDING = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader
{imports}
class Loader(BaseLoader):
    def __call__(self, group, store):
        {body}
"""


def script(body: str, imports: str = "") -> str:
    return YIELDING.format(body=body, imports=imports)


def ids(folder: Path, group: str = "core") -> list[str]:
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = next(problem.iterate_checkpoints())
    loader = initialize_loader(problem, checkpoint)
    store = make_store(loader, problem, checkpoint)
    return [case.id for case, _ in iterate_cases(loader, problem, checkpoint, checkpoint.groups[group], store)]


YIELD_WORD = "yield CLICase(id=WORD), CLIResult()"


def test_a_script_has_its_real_file(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE, {"loader.py": script("yield CLICase(id=__file__), CLIResult()")})
    assert ids(folder) == [str(folder / "loader.py")]


def test_a_script_has_a_name_that_is_private_to_its_path(make_problem: MakeProblem) -> None:
    text = script("yield CLICase(id=__name__), CLIResult()")
    names = {ids(make_problem(ONE, {"loader.py": text}, name=name))[0] for name in ("a", "b")}
    assert len(names) == 2
    assert not names & {"loader", "__main__"}


def test_neighbours_can_be_imported_at_the_top_and_inside_functions(make_problem: MakeProblem) -> None:
    body = "from deep.late import WORD as late\n        yield CLICase(id=WORD + late), CLIResult()"
    files = {
        "loader.py": script(body, "from words import WORD"),
        "words.py": "WORD = 'top'",
        "deep/__init__.py": "",
        "deep/late.py": "from words import WORD\nWORD = WORD + '-late'",
    }
    assert ids(make_problem(ONE, files)) == ["toptop-late"]


def test_two_problems_do_not_get_each_others_neighbours(make_problem: MakeProblem) -> None:
    text = script(f"import words\n        WORD = words.WORD\n        {YIELD_WORD}")
    folders = [make_problem(ONE, {"loader.py": text, "words.py": f"WORD = '{name}'"}, name=name) for name in "ab"]
    assert [ids(folder) for folder in (*folders, *folders)] == [["a"], ["b"], ["a"], ["b"]]
    assert "words" not in sys.modules
    assert not any(str(folder) in sys.path for folder in folders)


def test_a_problem_named_like_an_installed_package_gets_its_own_code_and_leaves_the_package_alone(
    make_problem: MakeProblem,
) -> None:
    import yaml

    files = {"loader.py": script(YIELD_WORD, "from yaml import WORD"), "yaml.py": "WORD = 'neighbour'"}
    assert ids(make_problem(ONE, files, name="yaml")) == ["neighbour"]
    assert sys.modules["yaml"] is yaml


def test_edited_files_are_picked_up_in_a_long_lived_process(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE, {"loader.py": script(YIELD_WORD, "from words import WORD"), "words.py": "WORD = 'a'"})
    assert ids(folder) == ["a"]
    # The same size within the same second: neither tells that the file was edited, its nanoseconds do.
    (folder / "words.py").write_text("WORD = 'b'")
    assert ids(folder) == ["b"]
    (folder / "loader.py").write_text(script("yield CLICase(id=WORD * 2), CLIResult()", "from words import WORD"))
    assert ids(folder) == ["bb"]


def test_importing_leaves_nothing_in_the_problems_folder(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE, {"loader.py": script(YIELD_WORD, "from words import WORD"), "words.py": "WORD = 'a'"})
    ids(folder)
    assert sorted(path.name for path in folder.rglob("*")) == ["config.yaml", "loader.py", "words.py"]


def test_annotations_of_scripts_are_evaluated_when_imported(make_problem: MakeProblem) -> None:
    imports = """
from collections.abc import Generator
from slop_code.evaluation.adapters import cli
def later(x: Generator[tuple[CLICase, CLIResult], None, None]) -> cli.CLIResult: ...
"""
    assert ids(make_problem(ONE, {"loader.py": script("yield CLICase(id='a'), CLIResult()", imports)})) == ["a"]


def test_dataclasses_and_models_of_a_script_resolve_their_annotations(make_problem: MakeProblem) -> None:
    text = (
        "from __future__ import annotations\nfrom dataclasses import dataclass, fields\nfrom pydantic import BaseModel\n"
        "@dataclass\nclass Row:\n    word: str\nclass Model(BaseModel):\n    row: Row\n"
    ) + script("yield CLICase(id=Model(row={'word': 'x'}).row.word), CLIResult()")
    assert ids(make_problem(ONE, {"loader.py": text})) == ["x"]


def test_a_syntax_error_is_shown_with_its_line(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r"cannot be imported: .*loader.py:2: SyntaxError: .*\n\s+def broken\("):
        ids(make_problem(ONE, {"loader.py": "x = 1\ndef broken(\n"}))


def test_an_error_in_a_neighbour_is_shown_with_the_neighbours_line(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r"words.py:2: ZeroDivisionError: division by zero"):
        ids(make_problem(ONE, {"loader.py": "import words", "words.py": "\n1 / 0\n"}))


@pytest.mark.parametrize("package", ["numpy", "pandas"])
def test_a_missing_package_of_our_extra_is_named_with_the_extra(make_problem: MakeProblem, package: str) -> None:
    folder = make_problem(ONE, {"loader.py": f"import {package}\n", f"{package}.py": f"import {package}.nothing"})
    with pytest.raises(LoaderError, match=r"pip install 'slop-code\[problems\]'"):
        ids(folder)


def test_a_script_that_exits_is_an_error_not_the_end(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r"called sys.exit\(3\)"):
        ids(make_problem(ONE, {"loader.py": "import sys\nsys.exit(3)\n"}))
    with pytest.raises(LoaderError, match=r"called sys.exit\('bye'\)"):
        ids(make_problem(ONE, {"loader.py": script("raise SystemExit('bye')")}, name="other"))


def test_what_scripts_print_goes_to_stderr(make_problem: MakeProblem, capsys: pytest.CaptureFixture[str]) -> None:
    body = "print('calling')\n        yield CLICase(id='a'), CLIResult()"
    ids(make_problem(ONE, {"loader.py": script(body, "print('importing')")}))
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "importing\ncalling\n"


def test_structlog_is_configured_before_a_script_is_imported(make_problem: MakeProblem) -> None:
    folder = make_problem(
        ONE,
        {
            "loader.py": script(
                "yield CLICase(id='a'), CLIResult()", "import structlog\nstructlog.get_logger().warning('careful', n=1)"
            )
        },
    )
    code = "import sys; from tests.loaders.test_scripts import ids; from pathlib import Path; ids(Path(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, folder], capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2]
    )
    assert done.stdout == ""
    assert "careful" in done.stderr


def test_a_changed_working_directory_is_put_back(make_problem: MakeProblem) -> None:
    before = Path.cwd()
    body = "os.chdir('/')\n        yield CLICase(id='a'), CLIResult()"
    ids(make_problem(ONE, {"loader.py": script(body, "import os\nos.chdir('/tmp')")}))
    assert Path.cwd() == before


DRAWING = (
    "random.seed(7)\n        for n in range(3):\n            yield CLICase(id=f'{n}-{random.random()}'), CLIResult()"
)


def test_the_state_of_random_is_kept_apart_per_group(make_problem: MakeProblem) -> None:
    groups: dict[str, dict[str, str]] = {"a": {}, "b": {}}
    folder = make_problem({"checkpoints": {"one": {"groups": groups}}}, {"loader.py": script(DRAWING, "import random")})
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = problem.checkpoints["one"]
    loader = initialize_loader(problem, checkpoint)
    streams = [
        iterate_cases(loader, problem, checkpoint, group, make_store(loader, problem, checkpoint))
        for group in checkpoint.groups.values()
    ]
    random.seed(99)
    untouched = random.getstate()
    mixed: list[list[str]] = [[], []]
    for _ in range(3):
        for position, stream in enumerate(streams):
            mixed[position].append(next(stream)[0].id)
    assert random.getstate() == untouched
    assert mixed[0] == mixed[1] == ids(folder, "a")


def test_the_state_of_numpy_is_kept_apart_too(make_problem: MakeProblem) -> None:
    import numpy as np

    body = DRAWING.replace("random.seed", "numpy.random.seed").replace("random.random()", "numpy.random.rand()")
    folder = make_problem(ONE, {"loader.py": script(body, "import numpy")})
    np.random.seed(5)
    first = ids(folder)
    after: Any = np.random.rand()
    np.random.seed(5)
    assert np.random.rand() == after
    assert ids(folder) == first


def test_a_loader_that_never_seeds_gives_the_same_cases_each_time(make_problem: MakeProblem) -> None:
    body = DRAWING.replace("random.seed(7)\n        ", "")
    folder = make_problem(ONE, {"loader.py": script(body, "import random")})
    assert ids(folder) == ids(folder)


def test_errors_show_paths_as_the_user_sees_them(
    make_problem: MakeProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_problem(ONE, {"loader.py": "1 / 0"})
    monkeypatch.chdir(tmp_path)
    with pytest.raises(LoaderError, match=r": demo/loader.py:1: ZeroDivisionError") as caught:
        ids(Path("demo"))
    assert os.fspath(tmp_path) not in str(caught.value)
