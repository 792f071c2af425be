"""What an observation depends on, by content: with equal keys, the program would be asked the same in the same place.

Never a name, and never a time. What cannot be known from here (a clock, a program's own dice) is not in it.
"""

from __future__ import annotations

import hashlib
import json
import pickle
import secrets
from typing import Any

from slop_code.evaluation.adapters.api import APICase
from slop_code.evaluation.adapters.models import BaseCase
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.verifiers.json_text import to_json_text
from slop_code.execution.assets import Assets
from slop_code.execution.environment import EnvironmentSpec, LocalEnvironmentSpec
from slop_code.execution.image import Image
from slop_code.execution.local import host_path
from slop_code.execution.snapshot import content_key, list_entries

MEANING = 2
"""Raised when running the same case comes to mean something else."""
_IN_ORDER = "in-order-"
_ASKED = ("arguments", "timeout_s", "tracked_files", "reset")
_CLI = ("stdin",)
_API = ("query", "method", "path", "headers", "body", "retries")
_PLAIN: frozenset[type] = frozenset((str, int, bool, float, bytes, type(None)))
_MARK = "\0"


def place_key(
    image: Image,
    spec: EnvironmentSpec,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    assets: Assets,
    surroundings: str = "",
) -> str:
    """Everything around the cases: the prepared submission, the command, limits, variables, adapter and assets."""
    given: Any = {
        "meaning": MEANING,
        "surroundings": surroundings,
        "image": image.key,
        "made": image.made,
        "type": spec.type,
        "commands": spec.commands.model_dump(mode="json"),
        "entry_file": problem.entry_file,
        "limits": spec.limits.model_dump(mode="json"),
        "host": spec.host_env(),
        "path": host_path() if isinstance(spec, LocalEnvironmentSpec) else None,
        "env": checkpoint.env,
        "adapter": problem.adapter.model_dump(mode="json"),
        "assets": content_key(assets.folder, list_entries(assets.folder)) if assets.folder else None,
        "asset_paths": dict(assets.paths),
    }
    return _hash(json.dumps(given, sort_keys=True))


def case_key(case: BaseCase) -> str:
    """What is asked of the program, with which files."""
    names = (*_ASKED, *(_API if isinstance(case, APICase) else _CLI))
    try:
        given = {name: _told_apart(getattr(case, name)) for name in names}
        given["input_files"] = [
            [str(file.path), str(file.file_type.value), str(file.compression.value), _told_apart(file.content)]
            for file in case.input_files
        ]
        return _hash(to_json_text(given))
    except RecursionError:
        return _unknown()


def start_of_row(*, isolated: bool) -> str:
    """What the first of a row of cases comes `after`: they may share a workspace, or only the loader's store."""
    return "in order, each in a workspace of its own" if isolated else "in order"


def after(earlier: str, key: str) -> str:
    """The key of a case that also depends on those before it."""
    return _IN_ORDER + _hash(f"{earlier}/{key}")


def is_in_order(key: str) -> bool:
    """Whether a key is that of a case in a row of cases."""
    return key.startswith(_IN_ORDER)


def _told_apart(value: Any) -> Any:
    """`value` as plain JSON that is another one for whatever could be written or sent in another way.

    A date is not its text, a tuple no list, and the key 1 not the key "1".
    """
    kind = type(value)
    if kind in _PLAIN:
        return value
    if kind is list:
        return [_told_apart(item) for item in value]
    if kind is dict and all(type(key) is str and not key.startswith(_MARK) for key in value):
        return {key: _told_apart(item) for key, item in value.items()}
    if kind is dict:
        return {_MARK: ["dict", [[_told_apart(key), _told_apart(item)] for key, item in value.items()]]}
    if kind is tuple:
        return {_MARK: ["tuple", [_told_apart(item) for item in value]]}
    if kind in (set, frozenset):
        return {_MARK: ["set", sorted(to_json_text(_told_apart(item)) for item in value)]}
    try:
        content = hashlib.sha256(pickle.dumps(value, protocol=5)).hexdigest()
    except Exception:  # noqa: BLE001  # foreign classes: whatever they raise, nothing is known of their content
        content = _unknown()
    return {_MARK: [f"{kind.__module__}.{kind.__qualname__}", content]}


def _unknown() -> str:
    """A key of what nobody can compare, and that is therefore never the same."""
    return f"unknown-{secrets.token_hex(16)}"


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
