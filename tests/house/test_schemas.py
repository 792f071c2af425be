"""The shipped JSON Schemas: in step with the models, valid for what is valid, and against what is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from slop_code.cli.schema import generate_schemas, rendered, shipped_folder

ROOT = Path(__file__).parents[2]
NAMES = ["case", "config", "environment"]


def validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((shipped_folder() / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", NAMES)
def test_the_shipped_schema_is_what_the_models_give(name: str) -> None:
    shipped = (shipped_folder() / f"{name}.schema.json").read_text()
    assert shipped == rendered(generate_schemas()[name]), "run `make schemas`"


@pytest.mark.parametrize(
    "path",
    sorted([*ROOT.glob("problems/*/config.yaml"), *ROOT.glob("tests/conformance/problems/*/config.yaml")]),
    ids=str,
)
def test_valid_configurations_are_valid(path: Path) -> None:
    validator("config").validate(yaml.safe_load(path.read_text()))


@pytest.mark.parametrize("path", sorted(ROOT.glob("problems/calculator/*/*/*.yaml")), ids=str)
def test_valid_case_files_are_valid(path: Path) -> None:
    for document in yaml.safe_load_all(path.read_text()):
        filled = document
        if isinstance(document, dict) and "cases" not in document:
            filled = {"expected": {}, **document}
        validator("case").validate(filled)


BASE: dict[str, Any] = {
    "name": "d",
    "version": "1",
    "description": "d",
    "entry_file": "d",
    "adapter": {"type": "cli"},
}


@pytest.mark.parametrize(
    "extra",
    [
        {"checkpoints": ["one", "two"]},
        {"checkpoints": {"one": {"groups": {"a": {"type": "core"}, "b": {"type": "file_based"}}, "seed": 5}}},
        {"env": {"A": 1, "B": True, "C": 1.5, "D": "x"}},
        {"timeout": None, "difficulty": "hard"},
        {"adapter": {"type": "api", "port": 80, "arguments": ["--x", 5]}},
    ],
)
def test_what_the_models_accept_the_schema_accepts(extra: dict[str, Any]) -> None:
    validator("config").validate({**BASE, **extra})


@pytest.mark.parametrize(
    "extra",
    [
        {"version": "one"},
        {"adapter": {"type": "web"}},
        {"checkpoints": {"one": {"groups": {"a": {"type": "Cor"}}}}},
        {"checkpoints": {"one": {"groups": {"a": {"timeout": -1}}}}},
        {"difficulty": "Extreme"},
        {"tags": "one"},
    ],
)
def test_what_the_models_refuse_the_schema_refuses(extra: dict[str, Any]) -> None:
    assert list(validator("config").iter_errors({**BASE, **extra}))


def test_case_files_are_checked() -> None:
    check = validator("case")
    check.validate({"arguments": ["a", 1], "expected": {"output": {"x": [1]}, "files": [{"path": "a"}]}})
    check.validate([{"expected": {}}])
    check.validate({"timeout": 5, "cases": [{"expected": {}}]})
    assert list(check.iter_errors({"arguments": ["a"]}))
    assert list(check.iter_errors({"expected": {"status_code": "x"}}))


def test_environment_files_are_checked() -> None:
    check = validator("environment")
    check.validate({"type": "local", "environment": {"env": {"A": 1}}})
    check.validate({"type": "docker", "docker": {"image": "x"}})
    assert list(check.iter_errors({"type": "docker"}))
    assert list(check.iter_errors({"type": "local", "setupp": {}}))
