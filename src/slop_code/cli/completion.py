"""What the shell offers behind an option: only names that can be had without reading whole problems."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

# Completion must stay quick, so a configuration is looked through by its lines and not parsed.
_LINE = re.compile(r"^(?P<indent> *)(?:- +(?P<item>[\w.-]+)|(?P<key>[\w.-]+):)")


def complete_problem(ctx: Any, incomplete: str) -> list[str]:
    """The problems below the problem path."""
    names = sorted(file.parent.name for file in _problem_path(ctx).glob("*/config.yaml"))
    return [name for name in names if name.startswith(incomplete)]


def complete_checkpoint(ctx: Any, incomplete: str) -> list[str]:
    """The checkpoints of the problem that is already on the command line."""
    wanted = str(ctx.params.get("problem") or "")
    folder = _problem_path(ctx) / wanted if "/" not in wanted else Path(wanted)
    try:
        text = (folder / "config.yaml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    return [name for name in _checkpoint_names(text) if name.startswith(incomplete)]


def complete_environment(incomplete: str) -> list[str]:
    """The environments that are shipped, and those of configs/environments here."""
    shipped = Path(__file__).parents[1] / "environments"
    names = {file.stem for folder in (shipped, Path("configs/environments")) for file in folder.glob("*.yaml")}
    return sorted(name for name in names if name.startswith(incomplete))


def _problem_path(ctx: Any) -> Path:
    """The folder of problems that was given before the command."""
    while ctx.parent is not None:
        ctx = ctx.parent
    return Path(ctx.params.get("problem_path") or "problems")


def _checkpoint_names(text: str) -> list[str]:
    """The keys, or the items, below `checkpoints:`."""
    _, found, rest = f"\n{text}".partition("\ncheckpoints:")
    first, *lines = rest.split("\n")
    if not found or "[" in first:
        return re.findall(r"[\w.-]+", first.partition("#")[0])
    names: list[str] = []
    depth: int | None = None
    for line in lines:
        match = _LINE.match(line)
        if match is None:
            continue
        indent = len(match["indent"])
        depth = indent if depth is None else depth
        if indent < depth or (indent == 0 and match["key"]):
            break
        if indent == depth:
            names.append(match["item"] or match["key"])
    return names
