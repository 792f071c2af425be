"""What a problem package is worth as a key: the content of every file that can change a verdict.

Specifications and reference solutions are for people and cannot, unless the package's own code or case files mention
them; then they count like everything else. When in doubt a file counts: evaluating once too often does no harm.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from pathlib import Path

from slop_code.evaluation.config.errors import ConfigError
from slop_code.evaluation.config.models import ProblemConfig
from slop_code.evaluation.config.reading import CONFIG_NAME
from slop_code.paths import shown_path
from slop_code.runs.finished import RESULT_FILES

_NEVER = ("__pycache__", ".git", ".hg", ".svn", ".DS_Store", "*.pyc")
_SOLUTIONS = ("solution", "solution-*", "solutions", "wrong_solutions")
# Files that can name others. Larger ones are data.
_NAMING = (".py", ".yaml", ".yml", ".json", ".toml")
_NAMING_SIZE = 4 << 20


def package_key(problem: ProblemConfig) -> str:
    """A hash of the names and contents of the files that count. Times, owners and the folder's own name do not.

    Raises:
        ConfigError: a file cannot be read.
    """
    try:
        lines = list(_lines(problem))
    except OSError as error:
        place = shown_path(error.filename or problem.path)
        raise ConfigError(f"{place}: cannot be read: {error.strerror or error}") from error
    return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogateescape")).hexdigest()


def _lines(problem: ProblemConfig) -> Iterator[str]:
    doubtful = _doubtful(problem)
    words = {word for mentions in doubtful.values() for word in mentions}
    aside: list[tuple[Path, str, Path]] = []
    for name, path in _all_files(problem):
        place = next((place for place in (path, *path.parents) if place in doubtful), None)
        if place is not None:
            aside.append((place, name, path))
            continue
        yield _line(name, path)
        words -= _mentioned(words, path)
    for place, name, path in aside:
        if not words.issuperset(doubtful[place]):
            yield _line(name, path)


def _doubtful(problem: ProblemConfig) -> dict[Path, tuple[bytes, ...]]:
    """Files and folders that count only if one of these words stands in the package's code or cases."""
    doubtful: dict[Path, tuple[bytes, ...]] = {}
    folders = {problem.path: None}
    groups: set[str] = set()
    for checkpoint in problem.iterate_checkpoints():
        specification = checkpoint.path / checkpoint.specification
        names = (specification.name, f"*{specification.suffix}")
        doubtful[specification] = (*map(os.fsencode, names), b"get_spec_text", b".specification")
        folders[checkpoint.path] = None
        groups.update(group.get_real_name() for group in checkpoint.groups.values())
    for child in (child for folder in folders if folder.is_dir() for child in folder.iterdir()):
        is_solution = child.name not in groups and _matches(child.name, _SOLUTIONS)
        if is_solution or child.name in RESULT_FILES:
            doubtful[child] = (os.fsencode(child.name),)
    return doubtful


def _all_files(problem: ProblemConfig) -> Iterator[tuple[str, Path]]:
    """All of the package, in a fixed order, under names that do not depend on where it lies."""
    yield from _walk(problem.path, "package")
    for name, asset in sorted(problem.static_assets.items()):
        path = problem.path / asset.path
        if not path.resolve().is_relative_to(problem.path.resolve()):
            yield from _walk(path, f"asset {name}")


def _walk(path: Path, name: str, above: frozenset[tuple[int, int]] = frozenset()) -> Iterator[tuple[str, Path]]:
    """Files and folders, through links too, since loaders and assets read through them."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return
    if stat.S_ISREG(status.st_mode):
        yield name, path
    elif stat.S_ISDIR(status.st_mode):
        yield name, path
        own = (status.st_dev, status.st_ino)
        if own not in above:
            for child in sorted(path.iterdir()):
                if not _matches(child.name, _NEVER):
                    yield from _walk(child, f"{name}/{child.name}", above | {own})


def _line(name: str, path: Path) -> str:
    if path.is_dir():
        return f"{name!r} folder"
    with path.open("rb") as file:
        # Assets are copied with their modes, so the right to execute one counts.
        kind = "program" if os.fstat(file.fileno()).st_mode & 0o111 else "file"
        return f"{name!r} {kind} {hashlib.file_digest(file, 'sha256').hexdigest()}"


def _mentioned(words: Iterable[bytes], path: Path) -> set[bytes]:
    if path.suffix not in _NAMING or not path.is_file() or path.stat().st_size > _NAMING_SIZE:
        return set()
    data = path.read_bytes()
    if path.name == CONFIG_NAME:
        # There it says which file the specification is, and not that anything reads it.
        data = b"\n".join(line for line in data.splitlines() if not line.strip().startswith(b"specification:"))
    return {word for word in words if word in data}


def _matches(name: str, patterns: Iterable[str]) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns)
