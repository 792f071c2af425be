"""Whether a submission has the program that it is started by."""

from __future__ import annotations

import os
from pathlib import Path


def entry_name(pattern: str, entry_file: str) -> str | None:
    """The path of the program in the workspace, as the environment's pattern makes it; None if it is no plain path."""
    wanted = pattern.replace("{entry_file}", entry_file)
    plain = not wanted.startswith(("-", "/", "~")) and not set(wanted) & set(" \t'\"$`*?|&;<>(){}\\")
    return wanted if plain and wanted else None


def is_there(folder: Path, wanted: str) -> bool:
    """Whether the program is in `folder`.

    A bare name, without a suffix, may stand for a file with one: node and `python -m` find it so.
    """
    # Asked before every case, and a Path takes as long to make as the question.
    if os.path.exists(f"{folder}/{wanted}"):  # noqa: PTH110
        return True
    path = folder / wanted
    if path.suffix:
        return False
    try:
        return any(entry.stem == path.name for entry in path.parent.iterdir())
    except OSError:
        return False
