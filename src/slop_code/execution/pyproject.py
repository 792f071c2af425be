"""What a submission says of itself in its `pyproject.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def read_project(path: Path) -> dict[str, Any]:
    """The `[project]` table; empty if there is none, or no sound file."""
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    # Most submissions have no such file, and then it would be imported in vain.
    import tomllib

    try:
        project = tomllib.loads(text).get("project")
    except tomllib.TOMLDecodeError:
        return {}
    return project if isinstance(project, dict) else {}
