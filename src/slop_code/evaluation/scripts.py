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
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType

from slop_code.errors import SlopCodeError
from slop_code.logging import ensure_configured
from slop_code.paths import shown_path

_OUR_EXTRA = {"numpy", "pandas"}
_folders: dict[Path, ScriptFolder] = {}


class ScriptError(SlopCodeError):
    """A problem's script could not be imported."""


def script_folder(path: Path) -> ScriptFolder:
    """The one `ScriptFolder` of this process for a problem's folder."""
    root = path.absolute()
    if root not in _folders:
        _folders[root] = ScriptFolder(root)
    return _folders[root]


class ScriptFolder:
    """The Python code of one problem: its scripts, and the neighbours that they import."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._neighbours: dict[str, ModuleType] = {}
        self._scripts: dict[Path, ModuleType] = {}
        self._stamps: dict[Path, tuple[int, int]] = {}
        self._own_names = self._find_own_names()

    def refresh(self) -> None:
        """Forget what was imported if any of it has been edited since, so that `load` imports it again."""
        if any(_stamp(file) != stamp for file, stamp in self._stamps.items()):
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
            self._scripts[path] = self._import(path)
        return self._scripts[path]

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let `import neighbour` find this folder's modules, and nobody else's, for the time of the block."""
        hidden = self._hide_namesakes()
        sys.modules.update(self._neighbours)
        known = len(sys.modules)
        sys.path.insert(0, str(self.root))
        write_bytecode, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        try:
            yield
        finally:
            sys.dont_write_bytecode = write_bytecode
            if str(self.root) in sys.path:
                sys.path.remove(str(self.root))
            if len(sys.modules) > known:
                self._adopt(list(sys.modules)[known:])
            for name in self._neighbours:
                sys.modules.pop(name, None)
            sys.modules.update(hidden)

    def place_of(self, error: BaseException) -> str:
        """What went wrong, with the last line of this folder's code that took part in it."""
        what = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
        if isinstance(error, SystemExit):
            what = f"the script called sys.exit({error.code!r})"
        if isinstance(error, SyntaxError) and error.filename and self._holds(error.filename):
            caret = f"\n    {error.text.rstrip()}" if error.text else ""
            return f"{shown_path(error.filename)}:{error.lineno}: {type(error).__name__}: {error.msg}{caret}"
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if self._holds(frame.filename)]
        if not frames:
            return what
        last = frames[-1]
        line = f"\n    {last.line}" if last.line else ""
        return f"{shown_path(last.filename)}:{last.lineno}: {what}{line}"

    def _holds(self, filename: str) -> bool:
        return Path(filename).is_relative_to(self.root)

    def _hide_namesakes(self) -> dict[str, ModuleType]:
        """Take modules from elsewhere that are named like a neighbour out of the way; return them."""
        hidden: dict[str, ModuleType] = {}
        for name in self._own_names:
            if name in sys.modules:
                family = [other for other in sys.modules if other == name or other.startswith(f"{name}.")]
                hidden.update((other, sys.modules.pop(other)) for other in family)
        return hidden

    def _find_own_names(self) -> frozenset[str]:
        names = {file.stem for file in self.root.glob("*.py")} | {
            file.parent.name for file in self.root.glob("*/__init__.py")
        }
        return frozenset(names - sys.stdlib_module_names)

    def _import(self, path: Path) -> ModuleType:
        ensure_configured()
        importlib.invalidate_caches()
        digest = hashlib.sha256(str(path).encode()).hexdigest()[:12]
        private = f"_slop_code_script_{digest}_{path.stem}"
        spec = importlib.util.spec_from_loader(private, _FreshLoader(private, str(path)), origin=str(path))
        if spec is None:
            raise ScriptError(f"{shown_path(path)}: not a Python script")
        spec.has_location = True
        module = importlib.util.module_from_spec(spec)
        # Dataclasses and pydantic models of the script look their module up by name.
        sys.modules[private] = module
        self._stamps[path] = _stamp(path)
        try:
            _FreshLoader(private, str(path)).exec_module(module)
        except ModuleNotFoundError as error:
            sys.modules.pop(private, None)
            raise ScriptError(self.place_of(error) + _extra_hint(error)) from error
        except (Exception, SystemExit) as error:
            sys.modules.pop(private, None)
            raise ScriptError(self.place_of(error)) from error
        return module

    def _adopt(self, names: list[str]) -> None:
        for name in names:
            module = sys.modules.get(name)
            file = getattr(module, "__file__", None)
            folders = [str(entry) for entry in getattr(module, "__path__", ())]
            if module is None or module in self._scripts.values():
                continue
            if any(self._holds(place) for place in ([file] if file else folders)) and not name.startswith(
                "_slop_code_"
            ):
                self._neighbours[name] = module
                if file:
                    self._stamps[Path(file)] = _stamp(Path(file))


class _FreshLoader(SourceFileLoader):
    """Compiles the source each time: a bytecode file can be older than an edit of the same second."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return compile(self.get_data(path), path, "exec", dont_inherit=True)


def _stamp(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return (0, -1)
    return status.st_mtime_ns, status.st_size


def _extra_hint(error: ModuleNotFoundError) -> str:
    package = (error.name or "").partition(".")[0]
    if package in _OUR_EXTRA:
        return f"\n{package} comes with an extra: pip install 'slop-code[problems]'"
    return f"\nIs {package} installed in the Python that runs slop-code?" if package else ""
