"""A new problem package from a template: small, complete, and sound from the first moment.

templates/<flavour>/          as the package will be, with __NAME__ for its name
  config.yaml
  loader.py.template          Python has this suffix more, so that nobody takes it for a module of ours
"""

from __future__ import annotations

import re
import shutil
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path

from slop_code.errors import SlopCodeError
from slop_code.findings import did_you_mean
from slop_code.paths import shown_path

FLAVOURS = ("files", "python", "api")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_PLACEHOLDER = "__NAME__"
_SUFFIX = ".template"


class NewPackageError(SlopCodeError):
    """The package cannot be made there, or under that name. Nothing was changed."""


def make_package(problem_path: Path, name: str, flavour: str) -> Path:
    """Write a new package below `problem_path` and return its folder; what exists is never touched.

    Raises:
        NewPackageError: the name or the flavour is not valid, or the folder exists.
    """
    if flavour not in FLAVOURS:
        known = ", ".join(FLAVOURS)
        raise NewPackageError(f'unknown flavour "{flavour}"{did_you_mean(flavour, FLAVOURS)}: one of {known}')
    if not _NAME.fullmatch(name):
        raise NewPackageError(
            f'"{name}" cannot name a problem{_suggestion(name)}: use letters, digits, "-" and "_", '
            "begin with a letter, and stay below 65 characters"
        )
    folder = problem_path / name
    try:
        problem_path.mkdir(parents=True, exist_ok=True)
        folder.mkdir()
    except FileExistsError as error:
        there = folder if folder.exists() or folder.is_symlink() else problem_path
        raise NewPackageError(f"{shown_path(there)} exists already; nothing was changed") from error
    except OSError as error:
        raise NewPackageError(f"{shown_path(folder)} cannot be made: {error.strerror}") from error
    try:
        _copy(resources.files("slop_code") / "templates" / flavour, folder, name)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    return folder


def _copy(source: Traversable, target: Path, name: str) -> None:
    for item in source.iterdir():
        place = target / item.name.removesuffix(_SUFFIX)
        if item.is_dir():
            place.mkdir()
            _copy(item, place, name)
        else:
            place.write_text(item.read_text(encoding="utf-8").replace(_PLACEHOLDER, name), encoding="utf-8")


def _suggestion(name: str) -> str:
    near = re.sub(r"[^A-Za-z0-9_-]+", "_", name).strip("_-").lstrip("0123456789_-")[:64]
    return f' (try "{near}")' if _NAME.fullmatch(near) else ""
