"""Calling what problem authors wrote, so that it cannot disturb anything around it by accident."""

from __future__ import annotations

import os
import random
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stdout
from typing import Any

from slop_code.evaluation.scripts import ScriptFolder

# Loaders and verifiers share process-wide things (random, sys.path, stdout), so one runs at a time.
_turn = threading.RLock()


class RandomState:
    """The global state of `random`, and of `numpy.random` once imported, as one group's code left it.

    It starts from `seed`, so that even a loader that never seeds gives the same cases each time.
    """

    def __init__(self, seed: str) -> None:
        self._seed = seed
        self._python: Any = random.Random(seed).getstate()  # noqa: S311  # repeatable, not secret
        self._numpy: Any = None

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

    def _swap_numpy_in(self) -> Any:
        numpy_random: Any = sys.modules.get("numpy.random")
        if numpy_random is None:
            return None
        before = numpy_random.get_state()
        if self._numpy is None:
            start = random.Random(self._seed).getrandbits(32)  # noqa: S311
            self._numpy = numpy_random.RandomState(start).get_state()
        numpy_random.set_state(self._numpy)
        return before


@contextmanager
def author_code(folder: ScriptFolder | None, state: RandomState | None = None) -> Iterator[None]:
    """Run a block of calls into the code of `folder`.

    Neighbours are importable, what it prints goes to stderr, the working directory is put back, `state` is the
    state of `random`, and no other author's code runs at the same time.
    """
    with _turn, redirect_stdout(sys.stderr):
        before = _working_directory()
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
            if before is not None and _working_directory() != before:
                os.chdir(before)


def _working_directory() -> str | None:
    try:
        return os.getcwd()  # noqa: PTH109  # a Path costs more than the call
    except FileNotFoundError:
        return None
