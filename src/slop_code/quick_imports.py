"""Importing what a command needs in less time."""

from __future__ import annotations

import gc
import importlib
import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

_METADATA = "importlib.metadata"


@contextmanager
def quick_imports() -> Iterator[None]:
    """For a block that imports most of us, once per process.

    Importing makes very many objects and hardly any garbage, so the collector waits, and never looks at them again:
    not in this process, not in those that are forked from it, and not when they end. And pydantic does not look
    through all installed packages for plugins.
    """
    collecting = gc.isenabled()
    if _METADATA not in sys.modules:
        sys.modules[_METADATA] = importlib.metadata = _MetadataLater(_METADATA)
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()


class _MetadataLater(ModuleType):
    """Stands in for a module that is imported once somebody asks it for something.

    It takes longer than Python itself takes to start, and pydantic has it imported just to ask for plugins.
    """

    _turn = threading.Lock()
    # Asked for by every `from … import …`.
    __path__ = [f"{place}/metadata" for place in importlib.__path__]

    def entry_points(self, **wanted: Any) -> Iterable[Any]:
        return () if wanted == {"group": "pydantic"} else self._real().entry_points(**wanted)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real(), name)

    def _real(self) -> ModuleType:
        with self._turn:
            if sys.modules.get(_METADATA) is self:
                del sys.modules[_METADATA]
        return importlib.import_module(_METADATA)
