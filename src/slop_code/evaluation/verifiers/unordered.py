"""Comparing without regard to the order of lists: quick proofs, both ways, of what DeepDiff would find.

DeepDiff pairs every item that was added with every item that was removed, which takes hours for long lists. Most
verdicts need none of that: values that are the same but for order are equal, and if one item has nothing on the
other side that it could possibly equal, they are not. What neither proof settles is left to DeepDiff.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from typing import Any

from slop_code.evaluation.verifiers.comparison import MISSING, Difference, NotPlainError, Path, close

_MAX_DEPTH = 100
_MAX_STEPS = 2_000_000
_NUMBERS = (int, float)
_TEXTS = (str, bytes)


class _TooLongError(Exception):
    """The search for a proof has taken enough steps."""


class _TooDeepError(Exception):
    """Nested beyond what is worth a proof."""


def same_but_for_order(one: Any, other: Any) -> bool:
    """Whether it is certain that two plain values are identical, in every type too, once all lists are sorted.

    Raises:
        NotPlainError: one of them is not plain.
    """
    try:
        return _unordered(one, _MAX_DEPTH) == _unordered(other, _MAX_DEPTH)
    except (_TooDeepError, RecursionError):
        return False


def unmatched(expected: Any, actual: Any, epsilon: float, limit: int) -> tuple[list[Difference], bool]:
    """Up to `limit` places that prove the values different whatever the order, and whether these are all.

    No place at all means that nothing is proven.
    """
    found: list[Difference] = []
    try:
        for difference in _Search(epsilon).differences(Path(), expected, actual):
            if len(found) == limit:
                return found, False
            found.append(difference)
    except (_TooLongError, _TooDeepError, NotPlainError, RecursionError):
        return found, False
    return found, True


def _unordered(value: Any, depth: int) -> Hashable:
    kind = type(value)
    if kind is float and value != value:
        return (float, "nan")
    if kind in (str, bytes, int, float, bool, type(None)):
        return (kind, value)
    if depth == 0:
        raise _TooDeepError
    if kind is dict:
        items = []
        for key, item in value.items():
            items.append((key, _unordered(item, depth - 1)))  # a frame less at each level
        return (dict, frozenset(items))
    if kind in (list, tuple):
        counts: dict[Hashable, int] = {}
        for item in value:
            unordered = _unordered(item, depth - 1)
            counts[unordered] = counts.get(unordered, 0) + 1
        return (kind, frozenset(counts.items()))
    raise NotPlainError(kind.__name__)


class _Search:
    """Looks for what cannot be equal. `could_equal` errs on the side of yes, so that a no is a proof."""

    def __init__(self, epsilon: float) -> None:
        # Hashes in DeepDiff see twelve decimals, its comparisons epsilon; this is wider than both.
        self._absolute = max(2 * epsilon, 1e-9)
        self._steps = 0

    def differences(self, path: Path, old: Any, new: Any) -> Iterator[Difference]:
        if isinstance(old, dict) and isinstance(new, dict):
            for key in {**old, **new}:
                if _counts(key):
                    here = Path(path, key)
                    if key not in old or key not in new:
                        yield Difference(here, old.get(key, MISSING), new.get(key, MISSING))
                    else:
                        yield from self.differences(here, old[key], new[key])
        elif isinstance(old, (list, tuple)) and isinstance(new, (list, tuple)):
            for index, item in self._alone(old, new):
                yield Difference(Path(path, index), item, MISSING)
            for index, item in self._alone(new, old):
                yield Difference(Path(path, index), MISSING, item)
        elif not self.could_equal(old, new):
            yield Difference(path, old, new)

    def could_equal(self, one: Any, other: Any) -> bool:
        self._steps += 1
        if self._steps > _MAX_STEPS:
            raise _TooLongError
        if isinstance(one, dict) and isinstance(other, dict):
            keys = [key for key in one if _counts(key)]
            if len(keys) != sum(map(_counts, other)):
                return False
            return all(key in other and self.could_equal(one[key], other[key]) for key in keys)
        if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
            return all(any(self.could_equal(item, theirs) for theirs in other) for item in one) and all(
                any(self.could_equal(item, theirs) for theirs in one) for item in other
            )
        if isinstance(one, _NUMBERS) and isinstance(other, _NUMBERS):
            return (one != one and other != other) or close(one, other, self._absolute, relative=1e-8)
        if isinstance(one, str) and isinstance(other, str):
            return one == other
        if isinstance(one, _TEXTS) and isinstance(other, _TEXTS):
            return True
        return one is None and other is None

    def _alone(self, items: Any, others: Any) -> Iterator[tuple[int, Any]]:
        known = set(map(_key, others))
        for index, item in enumerate(items):
            key = _key(item)
            if (key is None or key not in known) and not any(self.could_equal(item, one) for one in others):
                yield index, item


def _key(value: Any) -> Hashable:
    try:
        return _unordered(value, _MAX_DEPTH)
    except (_TooDeepError, RecursionError):
        return None


def _counts(key: Any) -> bool:
    if type(key) is not str:
        raise NotPlainError(f"a key of type {type(key).__name__}")
    return not key.startswith("__")
