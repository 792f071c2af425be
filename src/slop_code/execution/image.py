"""A submission prepared once: a filtered copy, its dependencies, its setup commands.

images/KEY/
  workspace/     the submission's files after setup; cases get copies of them
  tools/         what preparation made beside them (a virtual environment); cases share it, read-only
  complete       written last, as JSON: what was done, and what cases need to know. Without it the folder is rubble.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from slop_code.execution.cache import COMPLETE, bound_cache, cache_folder, locked, size_of
from slop_code.execution.environment import EnvironmentSpec
from slop_code.execution.errors import ExecutionError
from slop_code.execution.session import PreparedTools, SetupStep
from slop_code.execution.snapshot import content_key, copy_entries, list_entries
from slop_code.execution.workspace import Template, remove

FORMAT = 3
# A folder that setup made and filled with more files than this is shared by all cases instead of copied.
_SHARED_FROM = 200


class Preparation(NamedTuple):
    """What a driver's preparation of an image gave."""

    steps: tuple[SetupStep, ...]
    tools: PreparedTools
    python: str = ""


@dataclass(frozen=True, slots=True)
class Image:
    """A prepared submission. Close it when done: until then nobody clears it from the cache.

    `made` is a hash of what setup made of it: the same commands may give something else on another day.
    """

    key: str
    folder: Path
    template: Template
    preparation: Preparation
    made: str
    reused: bool
    _hold: ExitStack

    @property
    def tools_folder(self) -> Path:
        return self.folder / "tools"

    def close(self) -> None:
        self._hold.close()


class SetupError(ExecutionError):
    """A setup command failed and the environment is strict; the text shows its output."""


def prepare_image(
    submission: Path,
    spec: EnvironmentSpec,
    identity: Any,
    prepare: Callable[[Path], Preparation],
    *,
    cache: Path | None = None,
) -> Image:
    """The image of a submission: from the cache, or made by `prepare`, which is given the image's folder.

    `identity` is all else that decides what `prepare` does (an interpreter, a container image), as JSON. Safe with
    several evaluators at once: one makes it, the others wait and use it.

    Raises:
        ExecutionError: the submission cannot be read.
        SetupError: a setup command failed in a strict environment.
    """
    images = (cache or cache_folder()) / "images"
    entries = list_entries(submission, spec.snapshot.keep_globs, spec.snapshot.ignore_globs)
    key = _key(content_key(submission, entries), spec, identity)
    folder = images / key
    lock = images / f"{key}.lock"
    reused = True
    while True:
        hold = ExitStack()
        hold.enter_context(locked(lock, exclusive=False))
        if (folder / COMPLETE).exists():
            if not reused:
                # While we hold it, since it could be the one to go.
                bound_cache(images.parent)
            return _load(key, folder, reused, hold)
        hold.close()
        reused = False
        with locked(lock, exclusive=True):
            if not (folder / COMPLETE).exists():
                remove(folder)
                folder.mkdir(parents=True)
                (folder / "tools").mkdir()
                copy_entries(submission, entries, folder / "workspace")
                _finish(folder, prepare(folder), {entry.path for entry in entries}, strict=spec.setup.strict)
        # Somebody else who clears the cache may take it before we hold it; then it is made once more.


def _key(content: str, spec: EnvironmentSpec, identity: Any) -> str:
    deciding = spec.model_dump(mode="json", exclude={"name", "limits", "commands"})
    text = json.dumps([FORMAT, content, deciding, identity], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _finish(folder: Path, done: Preparation, submitted: set[str], *, strict: bool) -> None:
    failed = next((step for step in done.steps if step.status != 0), None)
    if failed is not None and strict:
        remove(folder)
        raise SetupError(
            f"setup command failed with exit code {failed.status}: {failed.command}\n{failed.output.rstrip()}"
        )
    shared = sorted(_shared_folders(folder / "workspace", submitted))
    for name in shared:
        _make_read_only(folder / "workspace" / name)
    size = size_of(folder)
    record = {"format": FORMAT, "shared": shared, "made": _made(folder, done), "size": size, **_as_json(done)}
    partial = folder / f"{COMPLETE}.partial"
    with partial.open("w", encoding="utf-8") as file:
        json.dump(record, file)
        file.flush()
        os.fsync(file.fileno())
    partial.rename(folder / COMPLETE)


def _as_json(done: Preparation) -> dict[str, Any]:
    return {**done._asdict(), "steps": [step._asdict() for step in done.steps], "tools": done.tools._asdict()}


def _made(folder: Path, done: Preparation) -> str:
    parts = (folder / "workspace", folder / "tools")
    if not done.steps and not any((folder / "tools").iterdir()):
        # Nothing but what was submitted, and that is in the image's key.
        return ""
    # Python leaves its bytecode wherever it may, whenever it likes.
    return "-".join(content_key(part, list_entries(part, ignore=("*.pyc", "__pycache__"))) for part in parts)


def _load(key: str, folder: Path, reused: bool, hold: ExitStack) -> Image:
    complete = folder / COMPLETE
    record = json.loads(complete.read_text(encoding="utf-8"))
    os.utime(complete)
    steps = tuple(SetupStep(**step) for step in record["steps"])
    tools = PreparedTools(tuple(record["tools"]["path"]), record["tools"]["env"])
    workspace = folder / "workspace"
    template = Template.read(workspace, list_entries(workspace), frozenset(record["shared"]))
    return Image(key, folder, template, Preparation(steps, tools, record["python"]), record["made"], reused, hold)


def _shared_folders(workspace: Path, submitted: set[str]) -> set[str]:
    """The topmost folders that setup made and filled with many files."""
    shared: set[str] = set()
    pending = [""]
    while pending:
        folder = pending.pop()
        for child in os.scandir(workspace / folder):
            path = f"{folder}/{child.name}" if folder else child.name
            if not child.is_dir(follow_symlinks=False):
                continue
            if path not in submitted and _count_files(workspace / path) > _SHARED_FROM:
                shared.add(path)
            else:
                pending.append(path)
    return shared


def _count_files(folder: Path) -> int:
    return sum(len(files) for _, _, files in os.walk(folder))


def _make_read_only(folder: Path) -> None:
    for parent, _, files in os.walk(folder, topdown=False):
        for path in (*(Path(parent) / name for name in files), Path(parent)):
            with contextlib.suppress(OSError):
                mode = path.lstat().st_mode
                if not stat.S_ISLNK(mode):
                    path.chmod(stat.S_IMODE(mode) & ~0o222)
