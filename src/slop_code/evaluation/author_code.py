"""Calling what problem authors wrote, so that it cannot disturb anything around it by accident."""

from __future__ import annotations

import importlib
import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from slop_code.evaluation.scripts import ScriptFolder, author_turn
from slop_code.evaluation.streams import put_streams_back, set_streams_aside
from slop_code.logging import ensure_configured

_ATTRIBUTE = "_slop_code_random_state"


class RandomState:
    """The global state of `random`, and of `numpy.random`, as one piece of author code left it.

    It starts from what `after` left, if that seeded or drew, and else from `seed`: a loader that never seeds gives the
    same cases each time too. For numpy that holds where numpy was imported before the block. A block that imports it
    first, and does not seed it, draws from numpy's own start, which is another in each process.
    """

    def __init__(self, seed: str, after: RandomState | None = None) -> None:
        self._seed = seed
        self._python: Any = random.Random(seed).getstate()  # noqa: S311  # repeatable, not secret
        self._numpy: Any = None
        self._untouched_python: Any = self._python
        self._untouched_numpy: Any = None
        if after is not None and after._python != after._untouched_python:
            self._python, self._untouched_python = after._python, None
        if after is not None and not _same(after._numpy, after._untouched_numpy):
            self._numpy = after._numpy

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Make this state the global one for the time of the block; afterwards the former one is back."""
        python_before = random.getstate()
        random.setstate(self._python)
        numpy_before = self._swap_numpy_in()
        try:
            yield
        finally:
            self._python = random.getstate()
            random.setstate(python_before)
            numpy_random = sys.modules.get("numpy.random")
            if numpy_random is not None:
                self._numpy = numpy_random.get_state()
                if numpy_before is not None:
                    numpy_random.set_state(numpy_before)

    def forget_numpy(self) -> None:
        """Let what comes after this start numpy from its own seed."""
        self._numpy = self._untouched_numpy = None

    def _swap_numpy_in(self) -> Any:
        numpy_random = _numpy_random()
        if numpy_random is None:
            return None
        before = numpy_random.get_state()
        if self._numpy is None:
            start = random.Random(self._seed).getrandbits(32)  # noqa: S311
            self._numpy = self._untouched_numpy = numpy_random.RandomState(start).get_state()
        numpy_random.set_state(self._numpy)
        return before


def remember_state(owner: Any, state: RandomState) -> RandomState:
    """Attach the state that making `owner` left, unless it has one already; return the one it has."""
    known = recall_state(owner)
    if known is None:
        with suppress(AttributeError, TypeError):  # a class with __slots__ has no place for it
            object.__setattr__(owner, _ATTRIBUTE, state)
    return known or state


def recall_state(owner: Any) -> RandomState | None:
    """The state that making `owner` left, if it was remembered."""
    try:
        # Past the author's own __getattr__.
        state: RandomState = object.__getattribute__(owner, _ATTRIBUTE)
    except AttributeError:
        return None
    return state


def _numpy_random() -> Any:
    if "numpy" not in sys.modules or "numpy.random" in sys.modules:
        return sys.modules.get("numpy.random")
    # numpy imports this part of itself when it is first used, which would be too late to set its start.
    with suppress(ImportError):
        return importlib.import_module("numpy.random")
    return None


def _same(state: Any, other: Any) -> bool:
    """Whether two states of numpy are equal; they hold an array."""
    if state is None or other is None:
        return state is other
    return all(
        bool((now == then).all()) if hasattr(now, "all") else now == then
        for now, then in zip(state, other, strict=True)
    )


@contextmanager
def author_code(folder: ScriptFolder | None, state: RandomState | None = None) -> Iterator[None]:
    """Run a block of calls into the code of `folder`.

    Neighbours are importable, what it prints goes to stderr, the working directory, the standard streams and
    structlog's configuration are put back, `state` is the state of `random`, and no other author's code runs at the
    same time.
    """
    with author_turn:
        streams = set_streams_aside()
        directory = _working_directory()
        logging = _logging_configuration() if folder is not None else None
        try:
            if folder is None:
                yield
            elif state is None:
                with folder.active():
                    yield
            else:
                with folder.active(), state.installed():
                    yield
        finally:
            put_streams_back(streams)
            if directory is not None and _working_directory() != directory:
                os.chdir(directory)
            if logging is not None and _logging_configuration() != logging:
                sys.modules["structlog"].configure(**logging)


def _logging_configuration() -> dict[str, Any]:
    ensure_configured()
    configuration: dict[str, Any] = sys.modules["structlog"].get_config()
    return configuration


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a Path costs more than the call
    except FileNotFoundError:
        return None
