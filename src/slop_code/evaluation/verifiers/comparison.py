"""Comparing two plain values exactly as DeepDiff would with our default options, but at any size and depth.

Plain means dict with str keys, list, tuple, str, bytes, int, float, bool and None, and nothing derived from them.
DeepDiff's rules for these, which its users rely on:

- keys that start with two underscores are ignored;
- numbers are equal within a relative 1e-9 or the absolute `epsilon`; nan equals nan;
- an expected bool wants an exact match, but an expected 1 may be met by true;
- text equals the same text as ASCII bytes;
- lists and tuples are different things, and so is null and anything else.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

_NUMBERS = frozenset((int, float, bool))
_TEXTS = frozenset((str, bytes))
_SCALARS = _NUMBERS | _TEXTS | {type(None)}
_SEQUENCES = frozenset((list, tuple))

MISSING: Any = object()
"""Stands for the value on the side that has none."""


class NotPlainError(Exception):
    """A value that is not plain: these rules do not apply."""


@dataclass(frozen=True, slots=True)
class Path:
    """Where in a value something is; written `root['rows'][3]` as DeepDiff writes it."""

    parent: Path | None = None
    key: str | int = ""

    def __str__(self) -> str:
        keys = []
        here = self
        while here.parent is not None:
            keys.append(f"[{here.key!r}]")
            here = here.parent
        return f"root{''.join(reversed(keys))}"


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where the values differ. `old` is the expected side; either may be `MISSING`."""

    path: Path
    old: Any
    new: Any


def identical(one: Any, other: Any) -> bool:
    """Whether two plain values are the same in value and in every type. False for anything not plain."""
    kind = type(one)
    if kind is not type(other):
        return False
    if kind is dict:
        if len(one) != len(other):
            return False
        for key, item in one.items():
            if type(key) is not str or key not in other:
                return False
            counterpart = other[key]
            item_kind = type(item)
            if item_kind in _SCALARS:
                if item_kind is not type(counterpart) or item != counterpart:
                    return False
            elif not identical(item, counterpart):
                return False
        return True
    if kind in _SEQUENCES:
        if len(one) != len(other):
            return False
        for item, counterpart in zip(one, other, strict=True):
            item_kind = type(item)
            if item_kind in _SCALARS:
                if item_kind is not type(counterpart) or item != counterpart:
                    return False
            elif not identical(item, counterpart):
                return False
        return True
    return kind in _SCALARS and bool(one == other)


def differences(expected: Any, actual: Any, epsilon: float) -> Iterator[Difference]:
    """Every difference, in order, found as it is asked for: the first one settles the verdict.

    Raises:
        NotPlainError: met on the way to a difference.
    """
    pending = [iter([(Path(), expected, actual)])]
    seen: set[tuple[int, int]] = set()  # pairs that were gone into, so that cycles come to an end
    while pending:
        for path, old, new in pending[-1]:
            if old is new:
                continue
            if old is MISSING or new is MISSING:
                yield Difference(path, old, new)
            elif type(old) is type(new) and type(old) not in _SCALARS:
                if (id(old), id(new)) not in seen:
                    seen.add((id(old), id(new)))
                    pending.append(_children(path, old, new))
                    break
            elif not same_scalar(old, new, epsilon):
                yield Difference(path, old, new)
        else:
            pending.pop()


def same_scalar(expected: Any, actual: Any, epsilon: float) -> bool:
    """Whether two values without parts, or of different types, are equal by the rules above."""
    old, new = type(expected), type(actual)
    for kind in (old, new):
        if kind not in _SCALARS and kind is not dict and kind not in _SEQUENCES:
            raise NotPlainError(kind.__name__)
    if old in _TEXTS and new in _TEXTS:
        return bool(expected == actual) if old is new else _ascii(expected) == _ascii(actual)
    if old not in _NUMBERS or new not in _NUMBERS:
        return expected is None and actual is None
    if old is float and new is float and math.isnan(expected) and math.isnan(actual):
        return True
    if old is bool:
        return bool(expected == actual)
    return close(expected, actual, epsilon)


def close(one: float, other: float, epsilon: float, relative: float = 1e-9) -> bool:
    """`math.isclose`, also for integers that no float can hold."""
    try:
        return math.isclose(one, other, rel_tol=relative, abs_tol=epsilon)
    except OverflowError:
        if math.inf in (abs(one), abs(other)) or one != one or other != other:
            return False
        allowed = max(Fraction(relative) * max(abs(Fraction(one)), abs(Fraction(other))), Fraction(epsilon))
        return abs(Fraction(one) - Fraction(other)) <= allowed


def _children(path: Path, old: Any, new: Any) -> Iterator[tuple[Path, Any, Any]]:
    if type(old) is dict:
        for key in {**old, **new}:
            if type(key) is not str:
                raise NotPlainError(f"a key of type {type(key).__name__}")
            if not key.startswith("__"):
                yield Path(path, key), old.get(key, MISSING), new.get(key, MISSING)
    elif type(old) in _SEQUENCES:
        for index in range(max(len(old), len(new))):
            yield (
                Path(path, index),
                old[index] if index < len(old) else MISSING,
                new[index] if index < len(new) else MISSING,
            )
    else:
        raise NotPlainError(type(old).__name__)


def _ascii(text: str | bytes) -> str | bytes:
    try:
        return text.decode("ascii") if isinstance(text, bytes) else text
    except UnicodeDecodeError:
        return text
