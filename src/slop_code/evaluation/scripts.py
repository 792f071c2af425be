"""Importing the Python scripts of a problem: private, fresh, and with errors that point at their line.

problems/ledger/          a ScriptFolder
  loader.py               imported under a name made from its path, so no other `loader` can be meant
  verifier.py
  shapes.py               a neighbour: `import shapes` finds it while this folder's code runs, and only then
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from itertools import takewhile
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from slop_code.errors import SlopCodeError
from slop_code.paths import shown_path

# Scripts share process-wide things (random, sys.path, sys.modules, stdout), so one author's code runs at a time.
author_turn = threading.RLock()

_OUR_EXTRA = {"numpy", "pandas"}
_PRIVATE = "_slop_code_script_"
_folders: dict[Path, ScriptFolder] = {}


class ScriptError(SlopCodeError):
    """A problem's script could not be imported."""


def script_folder(path: Path) -> ScriptFolder:
    """The one `ScriptFolder` of this process for a problem's folder."""
    root = path.absolute()
    with author_turn:
        if root not in _folders:
            _folders[root] = ScriptFolder(root)
        return _folders[root]


def is_ctrl_c(error: BaseException) -> bool:
    """Whether the user interrupts. Where Ctrl-C is ignored, as in author processes, only the author's code can."""
    return isinstance(error, KeyboardInterrupt) and signal.getsignal(signal.SIGINT) is not signal.SIG_IGN


class ScriptFolder:
    """The Python code of one problem: its scripts, and the neighbours that they import."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._below = f"{root}{os.sep}"
        self._path = [str(root)]
        self._neighbours: dict[str, ModuleType] = {}
        self._scripts: dict[Path, ModuleType] = {}
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._own_names = self._find_own_names()

    def refresh(self) -> None:
        """Forget what was imported if any of it has been edited since, so that `load` imports it again."""
        with author_turn:
            if any(_stamp(file) != stamp for file, stamp in self._stamps.items()):
                self._path = [str(self.root)]
                self._neighbours.clear()
                self._scripts.clear()
                self._stamps.clear()
            self._own_names = self._find_own_names()

    def load(self, name: str) -> ModuleType:
        """Import the script `name` of this folder. The caller holds the folder active (see `active`).

        Raises:
            ScriptError: it is missing or cannot be imported; the text has the place in the author's code.
        """
        path = self.root / name
        if not path.is_file():
            raise ScriptError(f"{shown_path(path)}: no such script")
        if path not in self._scripts:
            # Another script may have imported this one by its plain name: a second copy would have other classes.
            known = sys.modules.get(path.stem) if path.stem in self._own_names else None
            self._scripts[path] = known if known and _places(known) == [str(path)] else self._import(path)
        return self._scripts[path]

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let `import neighbour` find this folder's modules, and nobody else's, for the time of the block."""
        hidden = self._hide_namesakes()
        sys.modules.update(self._neighbours)
        last_module = next(reversed(sys.modules))
        path, entries = sys.path, sys.path[:]
        path[:0] = self._path
        write_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield
        finally:
            sys.dont_write_bytecode = write_bytecode
            self._restore_path(path, entries)
            self._take_modules_out(last_module)
            sys.modules.update(hidden)

    def place_of(self, error: BaseException) -> str:
        """What went wrong, with the last line of this folder's code that took part in it, and a hint if we have one."""
        if isinstance(error, SyntaxError) and error.filename and self._holds(error.filename):
            caret = f"\n    {error.text.rstrip()}" if error.text else ""
            return f"{shown_path(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}{caret}"
        what = _described(error)
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self._holds(frame.filename)]
        if not frames:
            return what + _hint(error, "")
        last = frames[-1]
        line = f"\n    {last.line}" if last.line else ""
        return f"{shown_path(last.filename)}:{last.lineno}: {what}{line}{_hint(error, last.line or '')}"

    def _holds(self, filename: str) -> bool:
        return filename.startswith(self._below)

    def _hide_namesakes(self) -> dict[str, ModuleType]:
        """Take modules from elsewhere that are named like a neighbour out of the way; return them."""
        hidden: dict[str, ModuleType] = {}
        for name in self._own_names:
            if name in sys.modules:
                family = [other for other in list(sys.modules) if other == name or other.startswith(f"{name}.")]
                hidden.update((other, sys.modules.pop(other)) for other in family)
        return hidden

    def _find_own_names(self) -> frozenset[str]:
        names = {file.stem for file in self.root.glob("*.py")} | {
            file.parent.name for file in self.root.glob("*/__init__.py")
        }
        taken = sys.stdlib_module_names | {"slop_code"}
        return frozenset(name for name in names if name not in taken and not name.startswith("__"))

    def _import(self, path: Path) -> ModuleType:
        importlib.invalidate_caches()
        digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
        private = f"{_PRIVATE}{digest}_{path.stem}"
        spec = importlib.util.spec_from_loader(private, _FreshLoader(private, str(path)), origin=str(path))
        if spec is None:
            raise ScriptError(f"{shown_path(path)}: not a Python script")
        spec.has_location = True
        module = importlib.util.module_from_spec(spec)
        # Dataclasses and pydantic models of the script look their module up by name; neighbours by the plain one.
        names = [private, path.stem] if path.stem in self._own_names else [private]
        sys.modules.update(dict.fromkeys(names, module))
        self._stamps[path] = _stamp(path)
        try:
            _FreshLoader(private, str(path)).exec_module(module)
        except BaseException as error:
            for name in names:
                sys.modules.pop(name, None)
            if is_ctrl_c(error):
                raise
            raise ScriptError(self.place_of(error)) from error
        return module

    def _restore_path(self, path: list[str], entries: list[str]) -> None:
        """Put `sys.path` back, and keep what the script added to it for the next time that its code runs."""
        if sys.path is path and path == [*self._path, *entries]:
            del path[: len(self._path)]
            return
        root = str(self.root)
        self._path = list(dict.fromkeys(entry for entry in sys.path if entry == root or entry not in entries))
        sys.path = path
        path[:] = entries

    def _take_modules_out(self, last_module: str) -> None:
        """Keep this folder's modules for the next time, and leave none of them in `sys.modules`."""
        new: list[str] = []
        if next(reversed(sys.modules)) != last_module:
            new = list(takewhile(lambda name: name != last_module, list(reversed(sys.modules))))
        for name in list(self._neighbours):
            self._keep(name, sys.modules.pop(name, None))
        for name in new:
            if name in sys.modules and self._owns(name):
                self._keep(name, sys.modules.pop(name))

    def _owns(self, name: str) -> bool:
        if name.startswith(_PRIVATE):
            return False
        return name.partition(".")[0] in self._own_names or any(map(self._holds, _places(sys.modules[name])))

    def _keep(self, name: str, module: ModuleType | None) -> None:
        if module is None:
            self._neighbours.pop(name, None)
        elif self._neighbours.get(name) is not module:
            self._neighbours[name] = module
            for place in filter(self._holds, _places(module)):
                self._stamps.setdefault(Path(place), _stamp(Path(place)))


class _FreshLoader(SourceFileLoader):
    """Compiles the source each time: a bytecode file can be older than an edit of the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(self.get_data(path), path, "exec", dont_inherit=True)


def _places(module: object) -> list[str]:
    """The file of a module, or the folders of a package without one; read past its `__getattr__`."""
    try:
        values: dict[str, Any] = vars(module)
        file = values.get("__file__")
        return [str(file)] if file else [str(entry) for entry in values.get("__path__") or ()]
    except Exception:  # noqa: BLE001  # anything can stand in sys.modules
        return []


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, -1)
    return status.st_mtime_ns, status.st_size


def _described(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return f"the script called sys.exit({error.code!r})"
    try:
        text = str(error)
    except Exception:  # noqa: BLE001  # a broken __str__ is no reason to lose the place
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _hint(error: BaseException, line: str) -> str:
    if isinstance(error, ModuleNotFoundError):
        package = (error.name or "").partition(".")[0]
        if package in _OUR_EXTRA:
            return f"\n{package} comes with an extra: pip install 'slop-code[problems]'"
        return f"\nIs {package} installed in the Python that runs slop-code?" if package else ""
    relative = re.match(r"\s*from\s+\.+\s*(?:import\s+)?(\w+)", line)
    if isinstance(error, ImportError) and relative and "no known parent package" in str(error):
        return f"\nA script is not part of a package: write `import {relative[1]}`"
    return ""
