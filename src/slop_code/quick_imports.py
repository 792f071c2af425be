"""Importing what a command needs in less time."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from contextlib import contextmanager

_VARIABLE = "PYDANTIC_DISABLE_PLUGINS"


@contextmanager
def quick_imports() -> Iterator[None]:
    """For a block that imports most of us, once per process.

    Importing makes very many objects and hardly any garbage, so the collector waits, and never looks at them again:
    not in this process, not in those that are forked from it, and not when they end. And pydantic does not look
    through all installed packages for plugins; what runs later finds no variable of ours in its environment.
    """
    given = os.environ.get(_VARIABLE)
    collecting = gc.isenabled()
    os.environ[_VARIABLE] = "__all__"
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
        if given is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = given
