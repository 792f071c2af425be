"""Problems as people read them, and as JSON."""

from __future__ import annotations

import base64
import math
from collections.abc import Iterable, Mapping
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slop_code.cli.console import table
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, ProblemConfig


def problem_view(problem: ProblemConfig) -> str:
    """Everything about a problem but the texts of its specifications."""
    facts = {
        "folder": shown_path(problem.path),
        "version": str(problem.version),
        "category": problem.category if problem.category != "NOT_SET" else "",
        "difficulty": problem.difficulty,
        "tags": ", ".join(problem.tags),
        "author": problem.author or "",
        "adapter": _adapter(problem),
        "entry file": problem.entry_file,
        "loader": _with_class(problem.loader_script, problem.loader_entrypoint),
        "verifier": _verifier(problem),
        "timeout": _seconds(problem.timeout),
        "env": _settings(problem.env),
    }
    parts = [f"{problem.name}\n{problem.description.strip()}", _facts(facts)]
    if problem.static_assets:
        rows = [
            [name, shown_path(problem.path / asset.path), f"{{{{static:{name}}}}}"]
            for name, asset in problem.static_assets.items()
        ]
        parts.append(table(["asset", "file or folder", "in cases"], rows))
    parts += [_checkpoint_part(problem, checkpoint) for checkpoint in problem.iterate_checkpoints()]
    return "\n\n".join(parts)


def checkpoint_view(problem: ProblemConfig, checkpoint: CheckpointConfig) -> str:
    """A checkpoint without the text of its specification."""
    facts = {
        "folder": shown_path(checkpoint.path),
        "timeout": _seconds(checkpoint.timeout),
        "env": _settings(checkpoint.env),
        "constant files": ", ".join(sorted(checkpoint.constant_files)),
    }
    return f"{problem.name}\n\n{_checkpoint_part(problem, checkpoint)}\n\n{_facts(facts)}"


def as_json(value: Any) -> Any:
    """A model as plain JSON data that is the same in every run; paths are shown as they are elsewhere."""
    if hasattr(type(value), "model_fields"):
        fields = {name: getattr(value, name) for name in type(value).model_fields}
        return as_json({**fields, **(value.model_extra or {})})
    if isinstance(value, Mapping):
        return {str(key): as_json(item) for key, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(map(as_json, value), key=str)
    if isinstance(value, (list, tuple)):
        return [as_json(item) for item in value]
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return shown_path(value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _checkpoint_part(problem: ProblemConfig, checkpoint: CheckpointConfig) -> str:
    from slop_code.evaluation.check_counts import quick_counts

    specification = checkpoint.path / checkpoint.specification
    lost = "" if specification.is_file() else " (missing)"
    head = f"{checkpoint.name}: {checkpoint.state}, version {checkpoint.version}, {shown_path(specification)}{lost}"
    if not checkpoint.groups:
        return f"{head}\n(no groups)"
    counts = quick_counts(problem, checkpoint)
    rows = [
        [group.name, str(group.type), f"{group.weight:g}", _seconds(group.timeout), counts[group.name]]
        for group in checkpoint.groups.values()
    ]
    return f"{head}\n{table(['group', 'type', 'weight', 'timeout', 'cases'], rows)}"


def _adapter(problem: ProblemConfig) -> str:
    values = {name: getattr(problem.adapter, name) for name in problem.adapter.model_fields_set if name != "type"}
    return " ".join([problem.adapter.type, *(f"{name}={_plain(value)}" for name, value in sorted(values.items()))])


def _verifier(problem: ProblemConfig) -> str:
    script = problem.verifier_script or "verifier.py"
    own = problem.verifier_script is not None or (problem.path / script).is_file()
    return _with_class(script, problem.verifier_entrypoint) if own else "the ready one"


def _with_class(script: str, entrypoint: str | None) -> str:
    return f"{script} ({entrypoint})" if entrypoint else script


def _facts(facts: Mapping[str, str]) -> str:
    given = {name: value for name, value in facts.items() if value}
    width = max(map(len, given))
    return "\n".join(f"{name.ljust(width)}  {value}" for name, value in given.items())


def _settings(values: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in values.items())


def _plain(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, Iterable) and not isinstance(value, str) else str(value)


def _seconds(value: float | None) -> str:
    return "none" if value is None else f"{value:g} s"
