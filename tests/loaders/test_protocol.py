"""The protocol, stores, and how loaders are found and made."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from slop_code.evaluation import GroupConfig, ProblemConfig, initialize_loader
from slop_code.evaluation.adapters import BaseCase, CaseResult
from slop_code.evaluation.loaders import (
    BaseLoader,
    CaseStore,
    GroupLoader,
    LoaderError,
    NoOpStore,
    loader_protocol,
)
from tests.conftest import MakeProblem

ONE = {"checkpoints": {"one": {"groups": {"core": {"type": "Core"}}}}}
HEADER = "from slop_code.evaluation.loaders import BaseLoader, GroupLoader as Protocol\n"
PLAIN = "class {name}(BaseLoader):\n    label = '{name}'\n    def __call__(self, group, store):\n        return []\n"


def made(folder: Path) -> Any:
    problem = ProblemConfig.from_yaml(folder)
    return initialize_loader(problem, next(problem.iterate_checkpoints()))


def test_loader_protocol_holds_the_same_names() -> None:
    for name in ("GroupLoader", "BaseLoader", "CaseStore", "NoOpStore", "LoaderError", "LoaderYieldType"):
        assert getattr(loader_protocol, name) is getattr(sys.modules["slop_code.evaluation.loaders"], name)


def test_base_loader_keeps_its_arguments_and_has_a_store_that_does_nothing() -> None:
    class Loader(BaseLoader):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[Any]:
            return iter(())

    problem, checkpoint = Mock(), Mock()
    loader = Loader(problem, checkpoint, use_placeholders=True)
    assert (loader.problem, loader.checkpoint, loader.use_placeholders) == (problem, checkpoint, True)
    assert Loader(problem, checkpoint).use_placeholders is False
    store = loader.initialize_store()
    assert isinstance(store, NoOpStore)
    store.update(BaseCase(id="a"), CaseResult(), CaseResult())
    assert isinstance(loader, GroupLoader)


def test_a_store_is_anything_with_update() -> None:
    class Mine:
        def update(self, case: BaseCase, result: CaseResult, expected: CaseResult) -> None: ...

    assert isinstance(Mine(), CaseStore)
    assert not isinstance(object(), CaseStore)


@pytest.mark.parametrize(
    ("classes", "chosen"),
    [
        (["GroupLoader"], "GroupLoader"),
        (["Loader"], "Loader"),
        (["Loader", "GroupLoader"], "GroupLoader"),
    ],
)
def test_the_default_class_is_group_loader_then_loader(
    make_problem: MakeProblem, classes: list[str], chosen: str
) -> None:
    script = HEADER + "".join(PLAIN.format(name=name) for name in classes)
    assert made(make_problem(ONE, {"loader.py": script})).label == chosen


def test_importing_the_protocol_of_that_name_is_not_defining_it(make_problem: MakeProblem) -> None:
    script = "from slop_code.evaluation.loaders import BaseLoader, GroupLoader\n" + PLAIN.format(name="Loader")
    assert made(make_problem(ONE, {"loader.py": script})).label == "Loader"


def test_a_loader_class_may_come_from_a_neighbour(make_problem: MakeProblem) -> None:
    files = {
        "shared_loader.py": HEADER + PLAIN.format(name="Loader"),
        "loader.py": "from shared_loader import Loader\n",
    }
    assert made(make_problem(ONE, files)).label == "Loader"


def test_script_and_class_can_be_named(make_problem: MakeProblem) -> None:
    script = HEADER + PLAIN.format(name="Special") + PLAIN.format(name="Loader")
    config = {**ONE, "loader_script": "scripts/mine.py", "loader_entrypoint": "Special"}
    assert made(make_problem(config, {"scripts/mine.py": script})).label == "Special"


@pytest.mark.parametrize("level", ["problem", "checkpoint"])
@pytest.mark.parametrize("entrypoint", ["load_cases", "gone"])
def test_a_legacy_block_that_names_a_function_or_nothing_means_the_class(
    make_problem: MakeProblem, level: str, entrypoint: str
) -> None:
    legacy = {"type": "script", "path": "old.py", "entrypoint": entrypoint}
    config = (
        {**ONE, "loader": legacy}
        if level == "problem"
        else {"checkpoints": {"one": {"groups": {"core": {}}, "loader": legacy}}}
    )
    script = HEADER + "def load_cases(config, path): ...\n" + PLAIN.format(name="Loader")
    assert made(make_problem(config, {"old.py": script})).label == "Loader"


def test_a_legacy_block_that_names_a_class_means_that_class(make_problem: MakeProblem) -> None:
    script = HEADER + PLAIN.format(name="Mine") + PLAIN.format(name="Loader")
    config = {**ONE, "loader": {"type": "script", "path": "loader.py", "entrypoint": "Mine"}}
    assert made(make_problem(config, {"loader.py": script})).label == "Mine"


def test_a_function_without_a_class_is_told_how_to_become_one(make_problem: MakeProblem) -> None:
    config = {**ONE, "loader": {"type": "script", "path": "loader.py", "entrypoint": "load_cases"}}
    with pytest.raises(
        LoaderError, match=r'"load_cases" is a function, but loaders are classes now(.|\n)*class Loader'
    ):
        made(make_problem(config, {"loader.py": "def load_cases(a, b): ...\n"}))


def test_a_missing_class_names_those_that_exist(make_problem: MakeProblem) -> None:
    files = {"loader.py": HEADER + PLAIN.format(name="Loder")}
    with pytest.raises(LoaderError, match=r'loader.py: no loader class.*the script defines "Loder"'):
        made(make_problem(ONE, files))
    with pytest.raises(LoaderError, match=r'names "Lodr" \(did you mean "Loder"\?\)'):
        made(make_problem({**ONE, "loader_entrypoint": "Lodr"}, files))


def test_a_missing_script_names_the_ways_out(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r"loader.py: the loader script is missing; .*builtin:files"):
        made(make_problem(ONE))
    with pytest.raises(LoaderError, match=r'unknown loader "builtin:file" \(did you mean "builtin:files"\?\)'):
        made(make_problem({**ONE, "loader_script": "builtin:file"}))


@pytest.mark.parametrize(
    "signature",
    [
        "self, problem, checkpoint, *, use_placeholders=False",
        "self, checkpoint, *, use_placeholders=False",
        "self, checkpoint",
        "self, problem, checkpoint",
        "self, *, checkpoint, problem=None",
        "self, config",
        "self, problem_config, checkpoint_config",
        "self, checkpoint, **kwargs",
        "self, checkpoint_config",
        "self, problem, chk",
        "self, config, checkpoint",
        "self, config, check, /",
        "self, check, **kwargs",
    ],
)
def test_both_constructor_forms_work_under_any_names(make_problem: MakeProblem, signature: str) -> None:
    names = [part.strip(" *").partition("=")[0] for part in signature.split(",")]
    seen = next(name for name in reversed(names) if name.startswith(("check", "chk", "config")))
    script = (
        f"class Loader:\n    def __init__({signature}):\n        self.seen = {seen}\n"
        "    def initialize_store(self): ...\n    def __call__(self, group, store): ...\n"
    )
    assert made(make_problem(ONE, {"loader.py": script})).seen.name == "one"


@pytest.mark.parametrize(
    ("signature", "seen"),
    [
        ("self, config, checkpoint", "config"),
        ("self, config, check, /", "config"),
        ("self, problem, chk", "problem"),
        ("self, first, second, *, use_placeholders", "first"),
        ("self, *both", "both[0]"),
    ],
)
def test_the_first_of_two_under_other_names_is_the_problem(
    make_problem: MakeProblem, signature: str, seen: str
) -> None:
    script = HEADER + f"class Loader:\n    def __init__({signature}):\n        self.seen = {seen}\n"
    assert made(make_problem(ONE, {"loader.py": script})).seen.name == "demo"


def test_a_metaclass_that_passes_its_arguments_on_leaves_the_form_to_the_constructor(make_problem: MakeProblem) -> None:
    script = (
        "class Meta(type):\n    def __call__(cls, *args, **kwargs):\n        return super().__call__(*args, **kwargs)\n"
        "class Loader(metaclass=Meta):\n    def __init__(self, checkpoint):\n        self.seen = checkpoint\n"
    )
    assert made(make_problem(ONE, {"loader.py": script})).seen.name == "one"


def test_a_constructor_that_wants_more_is_shown_with_its_line(make_problem: MakeProblem) -> None:
    script = "class Loader:\n    def __init__(self, problem, checkpoint, more): ...\n"
    with pytest.raises(LoaderError, match=r"loader.py:2: TypeError: .*missing 1 required.*'more'"):
        made(make_problem(ONE, {"loader.py": script}))


@pytest.mark.parametrize("wanted", [True, False])
def test_use_placeholders_is_passed(make_problem: MakeProblem, wanted: bool) -> None:
    problem = ProblemConfig.from_yaml(make_problem(ONE, {"loader.py": HEADER + PLAIN.format(name="Loader")}))
    loader: Any = initialize_loader(problem, problem.checkpoints["one"], use_placeholders=wanted)
    assert loader.use_placeholders is wanted


def test_a_class_that_the_script_defines_comes_before_an_imported_one_of_the_other_name(
    make_problem: MakeProblem,
) -> None:
    files = {
        "shared_loader.py": HEADER + PLAIN.format(name="GroupLoader"),
        "loader.py": HEADER + "from shared_loader import GroupLoader\n" + PLAIN.format(name="Loader"),
    }
    assert made(make_problem(ONE, files)).label == "Loader"


def test_a_protocol_that_the_script_writes_down_is_not_its_loader(make_problem: MakeProblem) -> None:
    script = (
        "from typing import Protocol\nfrom slop_code.evaluation.loaders import BaseLoader\n"
        "class GroupLoader(Protocol):\n    def __call__(self, group, store): ...\n"
    ) + PLAIN.format(name="Loader")
    assert made(make_problem(ONE, {"loader.py": script})).label == "Loader"


def test_an_abstract_class_is_told_what_it_lacks(make_problem: MakeProblem) -> None:
    script = HEADER + "\nclass Loader(BaseLoader):\n    def call(self, group, store): ...\n"
    with pytest.raises(
        LoaderError, match=r'loader.py:3: the loader class "Loader" is abstract: it does not define "__call__"'
    ):
        made(make_problem(ONE, {"loader.py": script}))


def test_a_module_getattr_that_raises_is_no_reason_to_fail(make_problem: MakeProblem) -> None:
    script = HEADER + "def __getattr__(name):\n    raise RuntimeError(name)\n" + PLAIN.format(name="Loader")
    assert made(make_problem(ONE, {"loader.py": script})).label == "Loader"


LEGACY = {"type": "script", "path": "old.py", "entrypoint": "load_cases"}


@pytest.mark.parametrize(
    ("present", "chosen"),
    [
        (["old.py", "one/old.py", "loader.py"], "old.py"),
        (["one/old.py", "loader.py"], "one/old.py"),
        (["loader.py"], "loader.py"),
    ],
)
@pytest.mark.parametrize("level", ["problem", "checkpoint"])
def test_a_legacy_path_is_looked_for_in_the_problem_then_the_checkpoint_then_loader_py_is_taken(
    make_problem: MakeProblem, present: list[str], chosen: str, level: str
) -> None:
    config = (
        {**ONE, "loader": LEGACY}
        if level == "problem"
        else {"checkpoints": {"one": {"groups": {"core": {}}, "loader": LEGACY}}}
    )
    folder = make_problem(config, {name: HEADER + PLAIN.format(name="Loader") for name in present})
    assert sys.modules[made(folder).__module__].__file__ == str(folder / chosen)


def test_a_legacy_path_that_is_nowhere_is_named(make_problem: MakeProblem) -> None:
    with pytest.raises(LoaderError, match=r'loader.py: the loader script is missing \(and so is "old.py"'):
        made(make_problem({**ONE, "loader": LEGACY}))


def test_a_constructor_that_does_io_finds_its_own_files(make_problem: MakeProblem) -> None:
    script = HEADER + (
        "from pathlib import Path\n"
        "class Loader(BaseLoader):\n"
        "    def __init__(self, *args, **kwargs):\n"
        "        super().__init__(*args, **kwargs)\n"
        "        self.text = (Path(__file__).parent / 'data.txt').read_text()\n"
        "    def __call__(self, group, store): ...\n"
    )
    assert made(make_problem(ONE, {"loader.py": script, "data.txt": "hello"})).text == "hello"


def test_a_constructor_that_raises_is_shown_with_its_line(make_problem: MakeProblem) -> None:
    script = "class Loader:\n    def __init__(self, checkpoint):\n        raise KeyError('inputs')\n"
    with pytest.raises(LoaderError, match=r"loader.py:3: KeyError: 'inputs'\n\s+raise KeyError"):
        made(make_problem(ONE, {"loader.py": script}))


def test_base_loader_works_with_mocks_as_the_guides_unit_test_does(tmp_path: Path) -> None:
    from slop_code.evaluation.loaders import helpers

    (tmp_path / "checkpoint_1" / "core" / "a").mkdir(parents=True)
    problem = Mock(path=tmp_path)
    checkpoint = Mock(path=tmp_path / "checkpoint_1")
    checkpoint.name = "checkpoint_1"
    group = Mock(type="Core", group_files=[])
    group.name = "core"

    class Loader(BaseLoader):
        def __call__(self, group: GroupConfig, store: CaseStore) -> Iterator[tuple[BaseCase, CaseResult]]:
            folder = helpers.get_group_path(group, self.problem, self.checkpoint)
            for case_dir in helpers.discover_dir_cases(group, folder):
                yield BaseCase(id=case_dir.name, group=group.name), CaseResult()

    loader = Loader(problem, checkpoint)
    cases = list(loader(group, loader.initialize_store()))
    assert [(case.id, case.group) for case, _ in cases] == [("a", "core")]
    assert helpers.get_actual_checkpoint(group, problem, checkpoint) == "checkpoint_1"
