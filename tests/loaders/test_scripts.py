"""How problem scripts are imported."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import threading
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any

import pytest

from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.author_code import author_code
from slop_code.evaluation.loaders import LoaderError
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.scripts import script_folder
from tests import warm
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


def test_what_a_script_adds_to_the_path_is_there_for_its_code_and_for_nobody_else(make_problem: MakeProblem) -> None:
    before = list(sys.path)
    files = {
        "loader.py": script(
            f"from late_words import WORD\n        {YIELD_WORD}", "import sys\nsys.path.insert(0, sys.path[0] + '/lib')"
        ),
        "lib/late_words.py": "WORD = 'late'",
    }
    assert ids(make_problem(ONE, files)) == ["late"]
    assert sys.path == before
    assert "late_words" not in sys.modules
    rebinding = script(ONE_CASE, "import sys\nsys.path = ['/nowhere', *sys.path]")
    path = sys.path
    ids(make_problem(ONE, {"loader.py": rebinding}, name="other"))
    assert sys.path is path
    assert sys.path == before


def test_a_module_that_a_script_puts_in_a_neighbours_place_is_its_own(make_problem: MakeProblem) -> None:
    imports = "import sys, types\nsys.modules['words'] = types.SimpleNamespace(WORD='put')\nfrom words import WORD"
    body = f"import words\n        WORD = words.WORD\n        {YIELD_WORD}"
    assert ids(make_problem(ONE, {"loader.py": script(body, imports), "words.py": "WORD = 'file'"})) == ["put"]
    assert "words" not in sys.modules


def test_a_neighbour_gets_the_script_itself_and_not_a_copy(make_problem: MakeProblem) -> None:
    imports = "class Spec: ...\nimport words"
    body = "import late\n        yield CLICase(id=f'{words.spec() is Spec} {late.Spec is Spec}'), CLIResult()"
    files = {
        "loader.py": script(body, imports),
        "words.py": "def spec():\n    from loader import Spec\n    return Spec",
        "late.py": "from loader import Spec",
    }
    assert ids(make_problem(ONE, files)) == ["True True"]
    assert "loader" not in sys.modules


def test_a_script_that_another_one_imported_before_is_not_imported_again(make_problem: MakeProblem) -> None:
    files = {"loader.py": script(ONE_CASE), "verifier.py": "from loader import Loader"}
    folder = script_folder(make_problem(ONE, files))
    with author_code(folder):
        assert folder.load("verifier.py").Loader is folder.load("loader.py").Loader


@pytest.mark.parametrize("name", ["words", "loader"])
def test_a_module_getattr_that_raises_is_the_scripts_own_affair(make_problem: MakeProblem, name: str) -> None:
    files = {"loader.py": script(ONE_CASE, "import words"), "words.py": ""}
    files[f"{name}.py"] += "\ndef __getattr__(name):\n    raise RuntimeError(name)\n"
    assert ids(make_problem(ONE, files)) == ["a"]


def test_forgetting_what_was_edited_waits_for_running_author_code(make_problem: MakeProblem) -> None:
    folder = script_folder(make_problem(ONE, {"loader.py": ""}))
    thread = threading.Thread(target=folder.refresh)
    with author_code(folder):
        thread.start()
        thread.join(0.1)
        assert thread.is_alive()
    thread.join()


def test_a_script_that_failed_is_imported_again_when_it_is_mended(make_problem: MakeProblem) -> None:
    folder = make_problem(ONE, {"loader.py": "1 / 0"})
    with pytest.raises(LoaderError):
        ids(folder)
    assert not any(getattr(module, "__file__", None) == str(folder / "loader.py") for module in sys.modules.values())
    (folder / "loader.py").write_text(script(ONE_CASE))
    assert ids(folder) == ["a"]


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


@pytest.mark.parametrize("package", ["numpy", "pandas"])
@pytest.mark.parametrize("method", ["__init__", "__call__"])
def test_the_extra_is_named_wherever_the_import_fails(make_problem: MakeProblem, package: str, method: str) -> None:
    body = f"import {package}.nothing"
    text = script(body) if method == "__call__" else script(f"...\n    def __init__(self, checkpoint):\n        {body}")
    with pytest.raises(LoaderError, match=r"loader.py:\d+: ModuleNotFound(.|\n)*pip install 'slop-code\[problems\]'"):
        ids(make_problem(ONE, {"loader.py": text, f"{package}.py": ""}))


@pytest.mark.parametrize("statement", ["from .shapes import X", "from . import shapes"])
def test_a_relative_import_is_told_the_plain_one(make_problem: MakeProblem, statement: str) -> None:
    with pytest.raises(LoaderError, match=r"loader.py:1: ImportError(.|\n)*write `import shapes`"):
        ids(make_problem(ONE, {"loader.py": statement, "shapes.py": "X = 1"}))


@pytest.mark.parametrize("where", ["import", "construct", "call"])
@pytest.mark.parametrize("raised", ["pytest.skip('no')", "raise asyncio.CancelledError('no')"])
def test_what_is_no_exception_is_contained_too(make_problem: MakeProblem, where: str, raised: str) -> None:
    imports = "import asyncio, pytest"
    text = {
        "import": script(ONE_CASE, f"{imports}\n{raised}"),
        "construct": script(f"...\n    def __init__(self, checkpoint):\n        {raised}", imports),
        "call": script(raised, imports),
    }[where]
    with pytest.raises(LoaderError, match=r"loader.py:\d+: (Skipped|CancelledError): no"):
        ids(make_problem(ONE, {"loader.py": text}))


def test_an_exception_that_cannot_be_shown_still_has_its_place(make_problem: MakeProblem) -> None:
    imports = "class Mute(Exception):\n    def __str__(self):\n        raise ValueError"
    with pytest.raises(LoaderError, match=r"loader.py:9: Mute\n\s+raise Mute"):
        ids(make_problem(ONE, {"loader.py": script("raise Mute", imports)}))


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


RUN_ALONE = """
import sys
from pathlib import Path
from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
problem = ProblemConfig.from_yaml(Path(sys.argv[1]))
checkpoint = next(problem.iterate_checkpoints())
loader = initialize_loader(problem, checkpoint)
for group in checkpoint.groups.values():
    for case, _ in iterate_cases(loader, problem, checkpoint, group, make_store(loader, problem, checkpoint)):
        print(case.id)
"""


def run_alone(folder: Path, more: str = "", *, cold: bool = False) -> subprocess.CompletedProcess[str]:
    """The cases on stdout, one a line, by a process of its own; `cold`, where nothing is to be imported beforehand."""
    command = [*([sys.executable, "-c"] if cold else warm.python()), RUN_ALONE + more, str(folder)]
    return subprocess.run(command, capture_output=True, text=True, check=True)


ONE_CASE = "yield CLICase(id='a'), CLIResult()"


def test_structlog_is_configured_before_a_script_is_imported(make_problem: MakeProblem) -> None:
    imports = "import structlog\nassert structlog.is_configured()\nstructlog.get_logger().warning('careful', n=1)"
    done = run_alone(make_problem(ONE, {"loader.py": script(ONE_CASE, imports)}), cold=True)
    assert done.stdout == "a\n"
    assert "careful" in done.stderr


@pytest.mark.parametrize("where", ["imports", "body"])
def test_a_script_that_configures_structlog_does_so_for_itself_only(make_problem: MakeProblem, where: str) -> None:
    configure = "import structlog; structlog.configure(logger_factory=structlog.PrintLoggerFactory())"
    text = script(ONE_CASE, configure) if where == "imports" else script(f"{configure}\n        {ONE_CASE}")
    done = run_alone(
        make_problem(ONE, {"loader.py": text}),
        "from slop_code.logging import get_logger; get_logger('x').warning('ours')",
        cold=True,
    )
    assert done.stdout == "a\n"
    assert "ours" in done.stderr


@pytest.mark.parametrize(
    "statement",
    [
        "sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding='utf-8')",
        "sys.stderr = io.TextIOWrapper(sys.stderr.detach(), encoding='utf-8', line_buffering=True)",
        "sys.stdout = codecs.getwriter('utf-8')(sys.stdout.buffer)",
        "sys.stdout.reconfigure(encoding='utf-8', line_buffering=True)",
        "sys.stdout.close(); sys.stderr.close(); sys.stdin = None",
        "sys.stdout.buffer.write(b''); sys.stdout.buffer.close()",
        "logging.basicConfig(stream=sys.stdout)",
        "assert sys.stdout.encoding and not sys.stdout.isatty() and sys.stdout.fileno() == 2",
    ],
)
def test_a_script_that_wraps_closes_or_replaces_a_stream_leaves_ours_alone(
    make_problem: MakeProblem, statement: str
) -> None:
    imports = f"import codecs, io, logging, sys\n{statement}\nprint('grüß')"
    body = f"{statement}\n        print('calling', file=sys.stderr)\n        {ONE_CASE}"
    done = run_alone(
        make_problem(ONE, {"loader.py": script(body, imports)}),
        "assert sys.stdin and not sys.stdin.closed; print('out'); print('err', file=sys.stderr)",
    )
    assert done.stdout == "a\nout\n"
    assert done.stderr.split() == ["grüß", "calling", "err"]


def test_a_captured_stderr_without_a_buffer_takes_bytes_too(make_problem: MakeProblem) -> None:
    body = f"sys.stdout.buffer.write(b'raw'); print('text')\n        {ONE_CASE}"
    captured = io.StringIO()
    with redirect_stderr(captured):
        ids(make_problem(ONE, {"loader.py": script(body, "import sys")}))
    assert captured.getvalue() == "rawtext\n"


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


TWO: dict[str, Any] = {"checkpoints": {"one": {"groups": {"core": {}, "more": {}}}}}
CONSTRUCTING = """
import {package}
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader
{top}
class Loader(BaseLoader):
    def __init__(self, problem, checkpoint):
        {init}
    def __call__(self, group, store):
        for n in range(2):
            yield CLICase(id=f"{{{draw}}}"), CLIResult()
"""


@pytest.mark.parametrize("place", ["top", "init"])
def test_seeding_before_the_calls_counts_for_every_group(make_problem: MakeProblem, place: str) -> None:
    seeding = {"top": "", "init": "...", place: "random.seed(1)"}
    text = CONSTRUCTING.format(package="random", draw="random.random()", **seeding)
    folder = make_problem(TWO, {"loader.py": text})
    random.seed(99)
    untouched = random.getstate()
    generator = random.Random(1)
    wanted = [str(generator.random()) for _ in range(2)]
    assert [ids(folder), ids(folder, "more"), ids(folder)] == [wanted] * 3
    assert random.getstate() == untouched


def test_numpys_seeding_in_the_constructor_counts_for_every_group(make_problem: MakeProblem) -> None:
    import numpy as np

    text = CONSTRUCTING.format(package="numpy", draw="numpy.random.rand()", top="", init="numpy.random.seed(1)")
    folder = make_problem(TWO, {"loader.py": text})
    generator = np.random.RandomState(1)
    wanted = [str(generator.rand()) for _ in range(2)]
    np.random.seed(5)
    expected_next = np.random.RandomState(5).rand()
    assert [ids(folder), ids(folder, "more")] == [wanted] * 2
    assert np.random.rand() == expected_next
    assert run_alone(folder).stdout.split() == wanted * 2


def test_a_constructor_that_leaves_random_alone_leaves_each_group_its_own_seed(make_problem: MakeProblem) -> None:
    for package, draw in (("random", "random.random()"), ("numpy", "numpy.random.rand()")):
        text = CONSTRUCTING.format(package=package, draw=draw, top="", init="...")
        folder = make_problem(TWO, {"loader.py": text}, name=package)
        assert ids(folder) == ids(folder) != ids(folder, "more")
        assert run_alone(folder).stdout.split() == [*ids(folder), *ids(folder, "more")]


def test_the_state_of_numpy_is_continued_per_group(make_problem: MakeProblem) -> None:
    import numpy as np

    body = DRAWING.replace("random.seed", "numpy.random.seed").replace("random.random()", "numpy.random.rand()")
    folder = make_problem(TWO, {"loader.py": script(body, "import numpy")})
    problem = ProblemConfig.from_yaml(folder)
    checkpoint = problem.checkpoints["one"]
    loader = initialize_loader(problem, checkpoint)
    streams = [iterate_cases(loader, problem, checkpoint, group, None) for group in checkpoint.groups.values()]
    generator = np.random.RandomState(7)
    for n in range(3):
        wanted = f"{n}-{generator.rand()}"
        assert [next(stream)[0].id for stream in streams] == [wanted, wanted]
        np.random.rand()


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


def test_a_neighbour_named_like_a_library_of_ours_does_not_get_in_our_way(make_problem: MakeProblem) -> None:
    imports = "from pathlib import Path\nfrom slop_code.execution.file_ops import InputFile\nimport yaml"
    body = "yield CLICase(id=str(InputFile.from_path(Path(__file__).parent / 'data.yaml').content['a'])), CLIResult()"
    files = {"loader.py": script(body, imports), "yaml.py": "WORD = 'neighbour'", "data.yaml": "a: 5"}
    assert ids(make_problem(ONE, files)) == ["5"]
