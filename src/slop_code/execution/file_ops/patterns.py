"""Matching a path against a glob one component at a time, so that a walk skips what cannot match."""

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate

Progress = frozenset[int]

_ANY_DEPTH = "**"


def has_glob(text: str) -> bool:
    """Tell whether a text has characters that mean something in a glob."""
    return any(character in text for character in "*?[")


class Glob:
    """A glob such as `out/**/*.json`; `*` takes any name, dot-files too, and `**` any number of directories.

    A walk starts with `start`, takes a step with each name, and asks what that has come to.
    """

    def __init__(self, parts: Sequence[str]) -> None:
        parts = [*parts, "*"] if parts and parts[-1] == _ANY_DEPTH else list(parts)
        self._parts = [None if part == _ANY_DEPTH else re.compile(translate(part)) for part in parts]
        self.start = self._with_skips({0})

    def step(self, progress: Progress, name: str) -> Progress:
        """Return how far the glob is matched after one more component."""
        reached = set()
        for position in progress:
            if position < len(self._parts):
                part = self._parts[position]
                if part is None:
                    reached.add(position)
                elif part.match(name):
                    reached.add(position + 1)
        return self._with_skips(reached)

    def is_match(self, progress: Progress) -> bool:
        """Tell whether the components so far match the whole glob."""
        return len(self._parts) in progress

    def may_match_below(self, progress: Progress) -> bool:
        """Tell whether more components could match."""
        return any(position < len(self._parts) for position in progress)

    def _with_skips(self, positions: Iterable[int]) -> Progress:
        """Add the positions that are reached when each `**` takes no directory at all."""
        reached = set(positions)
        for position, part in enumerate(self._parts):
            if position in reached and part is None:
                reached.add(position + 1)
        return frozenset(reached)
