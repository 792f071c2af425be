"""Finding a group's folder and the files in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from slop_code.evaluation.config.models import find_checkpoint
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from slop_code.evaluation.config import CheckpointConfig, GroupConfig, ProblemConfig


def get_group_path(group: GroupConfig, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Path:
    """The folder of a group's cases: for a regression, that of the original group.

    Raises:
        LoaderError: there is no such folder.
    """
    path = get_chkpt_path(group, problem, checkpoint) / _origin(group, problem)[1]
    if not path.is_dir():
        raise LoaderError(f'{shown_path(path)}: the folder of group "{group.name}" is missing')
    return path


def get_chkpt_path(group: GroupConfig, problem: ProblemConfig, checkpoint: CheckpointConfig) -> Path:
    """The folder of the checkpoint that a group's cases come from.

    Raises:
        LoaderError: the group comes from a checkpoint that the problem does not have.
    """
    original, _ = _origin(group, problem)
    if original is None:
        return Path(checkpoint.path)
    if not isinstance(original, str):
        return Path(original.path)
    if not isinstance(problem.checkpoints, Mapping):
        return Path(problem.path) / original
    raise LoaderError(f'group "{group.name}" comes from checkpoint "{original}", which this problem does not have')


def get_actual_checkpoint(group: GroupConfig, problem: ProblemConfig, checkpoint: CheckpointConfig) -> str:
    """The name of the checkpoint that a group's cases come from."""
    original, _ = _origin(group, problem)
    if original is None:
        return checkpoint.name
    return original if isinstance(original, str) else original.name


def discover_dir_cases(group: GroupConfig, directory: str | Path) -> list[Path]:
    """The subfolders of `directory`, sorted, without those that `group.group_files` names.

    Raises:
        LoaderError: there is no such folder.
    """
    root = Path(directory)
    if not root.is_dir():
        raise LoaderError(f"{shown_path(root)}: no such folder")
    files = group.group_files if isinstance(group.group_files, Iterable) else ()
    taken = {PurePosixPath(name).parts[0] for name in files if PurePosixPath(name).parts}
    return sorted(entry for entry in root.iterdir() if entry.is_dir() and entry.name not in taken)


def get_files_from_globs(
    read_dir: str | Path, globs: Iterable[str], exclude: Iterable[str] | None = None
) -> list[Path]:
    """The files below `read_dir` that `globs` name, sorted, relative to it.

    An entry of `globs` or `exclude` is a file, a folder (everything below it) or a glob; an exclude wins.

    Raises:
        LoaderError: an entry is absolute or leaves `read_dir`.
    """
    root = Path(read_dir)
    return sorted(_expand(root, globs) - _expand(root, exclude or ()))


def _expand(root: Path, patterns: Iterable[str]) -> set[Path]:
    found: set[Path] = set()
    for pattern in [patterns] if isinstance(patterns, str) else patterns:
        text = str(pattern)
        parts = PurePosixPath(text)
        if parts.is_absolute() or ".." in parts.parts:
            raise LoaderError(f'{shown_path(root)}: "{text}" leaves the folder; name files relative to it')
        literal = root / text
        matches = [literal] if text in {"", "."} or literal.exists() else root.glob(text)
        for match in matches:
            below = match.rglob("*") if match.is_dir() else [match]
            found.update(path.relative_to(root) for path in below if path.is_file())
    return found


def _origin(group: GroupConfig, problem: ProblemConfig) -> tuple[CheckpointConfig | str | None, str]:
    """Where the cases of `group` come from in the end: a checkpoint, and the name of a group of it.

    The checkpoint is None for the group's own, and text if the problem does not know it.

    Raises:
        LoaderError: the group comes from itself, by way of others.
    """
    source: CheckpointConfig | None = None
    current, name = group, group.name
    passed: set[tuple[str, str]] = set()
    while True:
        name = _original(current, "original_group") or name
        key = _original(current, "original_checkpoint")
        if key is None:
            return source, name
        checkpoints = problem.checkpoints
        source = find_checkpoint(checkpoints, key) if isinstance(checkpoints, Mapping) else None
        if source is None:
            return key, name
        if (source.name, name) in passed:
            raise LoaderError(f'group "{group.name}" comes from itself, by way of group "{name}" of "{source.name}"')
        passed.add((source.name, name))
        if not isinstance(source.groups, Mapping) or name not in source.groups:
            return source, name
        current = source.groups[name]


def _original(group: GroupConfig, field: str) -> str | None:
    # A Mock has every attribute; only text is a real one.
    value = getattr(group, field, None)
    return value if isinstance(value, str) and value else None
