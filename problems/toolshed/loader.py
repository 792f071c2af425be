"""Scenarios: requests in order, in which `${case.field}` stands for what an earlier answer of the group held."""

import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote

import yaml

from slop_code.evaluation import GroupConfig
from slop_code.evaluation.adapters import APICase, APIResult
from slop_code.evaluation.loaders import BaseLoader, LoaderError, helpers

REFERENCE = re.compile(r"\$\{(\w+)\.(\w+)\}")


class Answers:
    """The store: the JSON object that each case of the group got, by the name of the case."""

    def __init__(self) -> None:
        self.objects: dict[str, dict[str, Any]] = {}

    def update(self, case: APICase, result: APIResult, expected: APIResult) -> None:
        self.objects[case.id] = result.output if isinstance(result.output, dict) else {}

    def value(self, name: str, field: str) -> Any:
        """What the answer to a case held. A server that gave nothing of the kind gets a stand-in to stumble over:
        its later cases fail then, one by one, and the group goes on."""
        return self.objects.get(name, {}).get(field, f"no-{field}-from-{name}")


class Loader(BaseLoader):
    def initialize_store(self) -> Answers:
        return Answers()

    def __call__(self, group: GroupConfig, store: Answers) -> Iterator[tuple[APICase, APIResult]]:
        folder = helpers.get_chkpt_path(group, self.problem, self.checkpoint)
        file = folder / f"{group.get_real_name()}.yaml"
        steps = yaml.safe_load(file.read_text(encoding="utf-8"))
        check_references(steps, file.name)
        for step in steps:
            path = REFERENCE.sub(lambda match: quote(str(store.value(*match.groups())), safe=""), step["path"])
            filled = {**filled_in(step, store), "path": path}
            expected = filled.pop("expected")
            yield APICase(**filled), APIResult(**expected)


def check_references(steps: list[dict[str, Any]], file: str) -> None:
    """A reference to a case that does not come earlier is a slip of the author's; found before anything runs."""
    earlier: set[str] = set()
    for step in steps:
        for name, field in REFERENCE.findall(repr(step)):
            if name not in earlier:
                raise LoaderError(f"{file}: {step['name']} uses ${{{name}.{field}}}, and no case before it is {name}")
        earlier.add(step["name"])


def filled_in(value: Any, store: Answers) -> Any:
    """`value` with every reference replaced; one that is a whole text keeps the type of what it stands for."""
    if isinstance(value, dict):
        return {key: filled_in(item, store) for key, item in value.items()}
    if isinstance(value, list):
        return [filled_in(item, store) for item in value]
    if not isinstance(value, str):
        return value
    if whole := REFERENCE.fullmatch(value):
        return store.value(*whole.groups())
    return REFERENCE.sub(lambda match: str(store.value(*match.groups())), value)
