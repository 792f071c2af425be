"""Names for temporary folders: a helper learns of them before they are made, so that not even a kill leaves one."""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path

from slop_code.execution.process import Warden


def scratch_name(kind: str = "") -> Path:
    """A path in the temporary directory that nobody else has; there is nothing there yet."""
    return Path(tempfile.gettempdir()) / f"slop-code-{kind}{secrets.token_hex(8)}"


def make_scratch(kind: str = "", *, mode: int = 0o700) -> tuple[Path, Warden]:
    """A new temporary folder, and the helper that removes it when it is closed, or when this process is gone."""
    folder = scratch_name(kind)
    janitor = Warden.launch(remove=[folder])
    try:
        folder.mkdir()
        folder.chmod(mode)
    except BaseException:
        janitor.close()
        raise
    return folder, janitor
