"""How paths are shown to people."""

from __future__ import annotations

import os
from pathlib import Path


def shown_path(path: str | Path) -> str:
    """`path` relative to the working directory where they have anything in common, else as it is."""
    if not os.path.isabs(path):  # noqa: PTH117
        return str(path)
    try:
        here = os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return str(path)
    return os.path.relpath(path, here) if os.path.commonpath([path, here]) != os.sep else str(path)
