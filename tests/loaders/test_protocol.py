"""Contract §5: the protocol, stores, and how loaders are found and made."""

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
    ],
)
def test_both_constructor_forms_work_under_any_names(make_problem: MakeProblem, signature: str) -> None:
    names = [part.strip(" *").partition("=")[0] for part in signature.split(",")]
    seen = next(name for name in reversed(names) if name.startswith(("check", "config")))
    script = (
        f"class Loader:\n    def __init__({signature}):\n        self.seen = {seen}\n"
        "    def initialize_store(self): ...\n    def __call__(self, group, store): ...\n"
    )
    assert made(make_problem(ONE, {"loader.py": script})).seen.name == "one"


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
