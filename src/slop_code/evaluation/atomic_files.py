"""Files that are replaced at once or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO

from slop_code.evaluation.report_format import ReportError
from slop_code.paths import shown_path


def replace_files(contents: Mapping[Path, Callable[[BinaryIO], None]]) -> None:
    """Write each path by its function. Only when all are written and on the disk do they appear under their names.

    Raises:
        ReportError: a file cannot be written; then those that were there before are as they were.
    """
    with ExitStack() as leftovers:
        written: list[tuple[Path, Path]] = []
        for path, write in contents.items():
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                # In the same folder, since a rename cannot cross file systems.
                new = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
                leftovers.callback(new.unlink, missing_ok=True)
                with new.open("xb") as file:
                    write(file)
                    file.flush()
                    os.fsync(file.fileno())
            except OSError as error:
                raise cannot_write(path, error) from error
            written.append((new, path))
        for new, path in written:
            try:
                new.replace(path)
            except OSError as error:
                raise cannot_write(path, error) from error
    for folder in {path.parent for path in contents}:
        _sync_folder(folder)


def cannot_write(path: Path, error: OSError) -> ReportError:
    """The error of a file that could not be written, in one line."""
    return ReportError(
        f"{shown_path(path)}: cannot be written: {error.strerror or error}; what was there before is untouched"
    )


def _sync_folder(folder: Path) -> None:
    """Put the new names on the disk, too."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    except OSError:
        pass  # some file systems cannot, and the files themselves are safe
    finally:
        os.close(handle)
