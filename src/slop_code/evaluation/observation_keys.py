"""What an observation depends on, by content: with equal keys, the program would be asked the same in the same place.

Never a name, and never a time. What cannot be known from here (a clock, a program's own dice) is not in it.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

from slop_code.evaluation.adapters.api import APICase
from slop_code.evaluation.adapters.models import BaseCase
from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.verifiers.json_text import to_json_text
from slop_code.evaluation.verifiers.json_values import recordable
from slop_code.execution.assets import Assets
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.image import Image
from slop_code.execution.snapshot import content_key, list_entries

MEANING = 1
"""Raised when running the same case comes to mean something else."""
START = "in order"
"""What the first of a row of cases comes `after`."""
_ASKED = ("arguments", "timeout_s", "tracked_files", "reset")
_CLI = ("stdin",)
_API = ("query", "method", "path", "headers", "body", "retries")


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
        "type": spec.type,
        "command": spec.get_command(problem.entry_file),
        "limits": spec.limits.model_dump(mode="json"),
        "host": spec.host_env(),
        "env": checkpoint.env,
        "adapter": problem.adapter.model_dump(mode="json"),
        "assets": content_key(assets.folder, list_entries(assets.folder)) if assets.folder else None,
        "asset_paths": dict(assets.paths),
    }
    return _hash(json.dumps(given, sort_keys=True))


def case_key(case: BaseCase) -> str:
    """What is asked of the program, with which files."""
    names = (*_ASKED, *(_API if isinstance(case, APICase) else _CLI))
    given = {name: recordable(getattr(case, name)) for name in names}
    given["input_files"] = [
        [str(file.path), str(file.file_type.value), str(file.compression.value), recordable(file.content)]
        for file in case.input_files
    ]
    return _hash(to_json_text(given))


def after(earlier: str, key: str) -> str:
    """The key of a case that also depends on those before it."""
    return _hash(f"{earlier}/{key}")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]
