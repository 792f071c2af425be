"""Static assets: copies of a problem's files at a neutral place, and the placeholders that stand for it.

slop-code-assets-…/      seen by programs as /assets in a sandbox or container
  rates/                 an asset's `save_path`, or its name
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from slop_code.execution.errors import ExecutionError
from slop_code.execution.scratch import scratch_name
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

_PLACEHOLDER = re.compile(r"\{\{\s*static:\s*([^{}]*?)\s*\}\}")


class UnknownAssetError(ExecutionError):
    """A placeholder names an asset that the problem does not have."""


@dataclass(frozen=True, slots=True)
class Assets:
    """The assets of a problem, copied to `folder`; `paths` are their places below it."""

    folder: Path | None
    paths: Mapping[str, str]

    @classmethod
    def copy(
        cls,
        problem: Path,
        declared: Mapping[str, tuple[str, str | None]],
        announce: Callable[[Path], None] = lambda _: None,
    ) -> Assets:
        """Copy the declared assets, name → (path in the problem, save path), to a folder of their own.

        `announce` is told which folder that will be before it is there.

        Raises:
            ExecutionError: an asset is missing, or its save path leaves the folder.
        """
        if not declared:
            return cls(None, {})
        folder = scratch_name("assets-")
        announce(folder)
        paths: dict[str, str] = {}
        try:
            folder.mkdir()
            folder.chmod(0o755)
            for name, (source, save_path) in declared.items():
                paths[name] = _copy(name, problem / source, save_path, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        return cls(folder, paths)

    def close(self) -> None:
        """Remove the copies."""
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def fill_in(self, value: Any, root: str) -> Any:
        """`value` with every `{{static:NAME}}` in its texts replaced by the asset's path below `root`.

        Raises:
            UnknownAssetError: there is no such asset; the text names those that exist.
        """
        if isinstance(value, str):
            return _PLACEHOLDER.sub(lambda found: f"{root}/{self._path(found[1])}", value) if "{{" in value else value
        if isinstance(value, dict):
            return {self.fill_in(key, root): self.fill_in(item, root) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.fill_in(item, root) for item in value]
        return value

    def _path(self, name: str) -> str:
        if name not in self.paths:
            raise UnknownAssetError(
                f"{{{{static:{name}}}}} names an unknown asset{did_you_mean(name, self.paths)}: "
                f"this problem has {listed(self.paths)}"
            )
        return self.paths[name]


def _copy(name: str, source: Path, save_path: str | None, folder: Path) -> str:
    place = (
        PurePosixPath(save_path)
        if save_path
        else PurePosixPath(name) / source.name
        if source.is_file()
        else PurePosixPath(name)
    )
    if place.is_absolute():
        place = place.relative_to("/")
    if ".." in place.parts or not place.parts:
        raise ExecutionError(f'asset "{name}": save_path "{save_path}" leaves the assets folder')
    target = folder / place
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        shutil.copytree(source, target, symlinks=False, dirs_exist_ok=True)
    elif source.is_file():
        shutil.copyfile(source, target)
    else:
        raise ExecutionError(f'asset "{name}": {shown_path(source)} does not exist')
    return str(place)
