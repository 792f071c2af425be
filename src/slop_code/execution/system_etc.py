"""What sandboxed programs see of /etc: a copy of the few things that programs need, made once per machine state.

One mount of a copy costs a case far less than a mount of each entry, and nothing of the host's own /etc is shown.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from functools import cache
from pathlib import Path

from slop_code.execution.cache import cache_folder, locked

SHOWN = (
    *("alternatives", "ca-certificates", "debian_version", "fonts", "java-17-openjdk", "ld.so.cache", "ld.so.conf"),
    *("ld.so.conf.d", "localtime", "mime.types", "nsswitch.conf", "os-release", "protocols", "services", "ssl"),
)
# Places for the files that each session brings along itself.
OWN_FILES = ("passwd", "group", "hosts")


def system_etc() -> Path:
    """The folder to mount as /etc."""
    return _made(cache_folder())


@cache
def _made(cache_root: Path) -> Path:
    entries = [path for name in SHOWN if (path := Path("/etc") / name).exists()]
    state = "\n".join(f"{path} {path.lstat().st_mtime_ns}" for path in entries)
    folder = cache_root / "etc" / hashlib.sha256(state.encode()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    with locked(folder.with_suffix(".lock"), exclusive=True):
        if not folder.is_dir():
            # What is there already, somebody could not finish.
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            partial.chmod(0o755)
            for path in entries:
                _copy(path, partial / path.name)
            for name in OWN_FILES:
                (partial / name).touch()
            partial.rename(folder)
    return folder


def _copy(source: Path, target: Path) -> None:
    if source.is_symlink() and not str(source.resolve()).startswith("/etc/"):
        target.symlink_to(os.readlink(source))  # noqa: PTH115  # as it is written, relative or not
    elif source.is_dir():
        # Private keys and the like cannot be read by everybody, and are not for programs.
        shutil.copytree(source, target, symlinks=True, ignore=_unreadable)
    else:
        shutil.copyfile(source, target)


def _unreadable(folder: str, names: list[str]) -> set[str]:
    return {name for name in names if not _is_for_all(Path(folder) / name)}


def _is_for_all(path: Path) -> bool:
    mode = path.lstat().st_mode
    return path.is_symlink() or bool(mode & 0o004)
