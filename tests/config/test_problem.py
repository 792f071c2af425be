"""`config.yaml` and what is made of it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import structlog

from slop_code.evaluation import ProblemConfig, get_available_problems
from slop_code.evaluation.config import ConfigError
from tests.conftest import MINIMAL, MakeProblem


@pytest.mark.parametrize("key", ["name", "version", "description", "entry_file", "adapter"])
def test_a_required_key_is_missed(make_problem: MakeProblem, key: str) -> None:
    config = {name: value for name, value in MINIMAL.items() if name != key}
    folder = make_problem("\n".join(f"{name}: {value!r}" for name, value in config.items()))
    with pytest.raises(ConfigError, match=f'the problem lacks the key "{key}"'):
        ProblemConfig.from_yaml(folder)


def test_optional_keys_have_the_documented_defaults(make_problem: MakeProblem) -> None:
    problem = ProblemConfig.from_yaml(make_problem())
    assert problem.checkpoints == {}
    assert problem.tags == []
    assert (problem.author, problem.inspiration, problem.design_doc) == (None, None, None)
    assert (problem.category, problem.difficulty) == ("NOT_SET", "Easy")
    assert problem.static_assets == {}
    assert (problem.loader_script, problem.loader_entrypoint) == ("loader.py", None)
    assert (problem.env, problem.timeout) == ({}, None)


def test_optional_keys_are_read(make_problem: MakeProblem) -> None:
    values: dict[str, Any] = {
        "tags": ["a", "b"],
        "author": "someone",
        "inspiration": "a book",
        "category": "tools",
        "difficulty": "Hard",
        "design_doc": "design.md",
        "static_assets": {"rates": {"path": "assets"}, "seeds": {"path": "seeds", "save_path": "data/seeds"}},
        "loader_script": "group_loader.py",
        "loader_entrypoint": "Mine",
        "env": {"MODE": "test"},
        "timeout": 2.5,
    }
    problem = ProblemConfig.from_yaml(make_problem(values))
    assets = problem.static_assets
    assert (assets["rates"].path, assets["rates"].save_path) == ("assets", None)
    assert (assets["seeds"].path, assets["seeds"].save_path) == ("seeds", "data/seeds")
    for key in values.keys() - {"static_assets"}:
        assert getattr(problem, key) == values[key], key


def test_numeric_strings_are_accepted_for_numbers(make_problem: MakeProblem) -> None:
    problem = ProblemConfig.from_yaml(make_problem({"version": "3", "timeout": "2.5"}))
    assert (problem.version, problem.timeout) == (3, 2.5)


@pytest.mark.parametrize("word", ["easy", "MEDIUM", "Hard"])
def test_difficulty_is_one_of_three_words_in_any_case(make_problem: MakeProblem, word: str) -> None:
    assert ProblemConfig.from_yaml(make_problem({"difficulty": word})).difficulty == word.capitalize()


def test_an_unknown_difficulty_names_the_three(make_problem: MakeProblem) -> None:
    with pytest.raises(ConfigError, match=r'"difficulty" should be one of Easy, Medium, Hard, found "Hrd"'):
        ProblemConfig.from_yaml(make_problem({"difficulty": "Hrd"}))


def test_environment_values_are_text_as_the_author_wrote_it(make_problem: MakeProblem) -> None:
    folder = make_problem(
        """
        name: demo
        version: 1
        description: x
        entry_file: demo
        adapter: {type: cli}
        env: {VERSION: 1.10, DEBUG: yes, PORT: 08080, EMPTY: ""}
        """
    )
    env = ProblemConfig.from_yaml(folder).env
    assert env == {"VERSION": "1.10", "DEBUG": "yes", "PORT": "08080", "EMPTY": ""}


def test_unknown_keys_are_kept_as_attributes_and_with_get(make_problem: MakeProblem) -> None:
    problem = ProblemConfig.from_yaml(make_problem({"seed": 7}))
    assert problem.seed == 7  # type: ignore[attr-defined]
    assert problem.get("seed", 42) == 7
    assert problem.get("nothing", 42) == 42
    assert problem.get("nothing") is None
    assert problem.get("version") == 1


def test_each_unknown_key_gets_one_warning_with_a_suggestion_when_close(make_problem: MakeProblem) -> None:
    with structlog.testing.capture_logs() as logs:
        ProblemConfig.from_yaml(make_problem({"timout": 5, "favourite_colour": "red"}))
    events = [entry["event"] for entry in logs if entry["log_level"] == "warning"]
    assert len(events) == 2
    assert 'unknown key "timout" (did you mean "timeout"?)' in events[0]
    assert "config.yaml:7" in events[0]
    assert 'unknown key "favourite_colour"; it is kept as an extra' in events[1]


def test_from_yaml_takes_the_folder_or_its_file_and_path_is_the_folder(make_problem: MakeProblem) -> None:
    folder = make_problem()
    assert ProblemConfig.from_yaml(folder).path == folder
    assert ProblemConfig.from_yaml(folder / "config.yaml").path == folder
    assert ProblemConfig.from_yaml(str(folder)).path == folder


def test_a_relative_problem_stays_where_it_is_when_the_working_directory_changes(
    make_problem: MakeProblem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = make_problem({"checkpoints": {"one": {}}})
    monkeypatch.chdir(tmp_path)
    problem = ProblemConfig.from_yaml("demo")
    monkeypatch.chdir("/")
    assert problem.path == folder
    assert problem.load_checkpoint("one").path == folder / "one"


def test_load_checkpoint_finds_by_name_and_names_the_candidates(make_problem: MakeProblem) -> None:
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": {"first": {}, "second": {}}}))
    assert problem.load_checkpoint("second").name == "second"
    with pytest.raises(ConfigError, match=r'no checkpoint "secnd" \(did you mean "second"\?\).*"first" and "second"'):
        problem.load_checkpoint("secnd")


def test_checkpoints_are_iterated_by_order_then_name(make_problem: MakeProblem) -> None:
    checkpoints = {"late": {"order": 9}, "b": {"order": 2}, "a": {"order": 2}, "first": {"order": 1}}
    problem = ProblemConfig.from_yaml(make_problem({"checkpoints": checkpoints}))
    assert [checkpoint.name for checkpoint in problem.iterate_checkpoints()] == ["first", "a", "b", "late"]
    assert [name for name, _ in problem.iterate_checkpoint_items()] == ["first", "a", "b", "late"]
    assert all(checkpoint.name == name for name, checkpoint in problem.iterate_checkpoint_items())


def test_available_problems_are_mapped_by_name_and_a_broken_one_is_reported_and_skipped(
    make_problem: MakeProblem, tmp_path: Path
) -> None:
    make_problem({"name": "good"}, name="good")
    make_problem("name: [", name="bad")
    (tmp_path / "not_a_problem").mkdir()
    with structlog.testing.capture_logs() as logs:
        problems = get_available_problems(tmp_path)
    assert list(problems) == ["good"]
    assert problems["good"].path == tmp_path / "good"
    assert [entry["log_level"] for entry in logs] == ["error"]
    assert "bad/config.yaml:1" in logs[0]["event"]


def test_two_problems_of_one_name_are_reported(make_problem: MakeProblem, tmp_path: Path) -> None:
    shutil.copytree(make_problem(name="one"), tmp_path / "two")
    with structlog.testing.capture_logs() as logs:
        assert get_available_problems(tmp_path)["demo"].path == tmp_path / "one"
    assert "has the same name" in logs[0]["event"]


def test_a_folder_of_problems_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no such folder of problems"):
        get_available_problems(tmp_path / "nowhere")
