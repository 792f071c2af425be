"""The verdict and the diff of `deepdiff_verify`: DeepDiff's, without its cost where that can be avoided.

Equal values never reach DeepDiff. Different values of ordinary size do, for the diff. For large ones, DeepDiff takes
minutes and makes diffs that nobody can read; there our own comparison gives the verdict, which is the same, and the
first differences. With options whose rules only DeepDiff knows, it is always asked, however long it takes: a verdict
that depends on a time limit would be worse than a slow one.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any, NamedTuple

from slop_code.evaluation.verifiers.comparison import (
    MISSING,
    Difference,
    NotPlainError,
    differences,
    identical,
)
from slop_code.evaluation.verifiers.diffs import text_diff
from slop_code.evaluation.verifiers.errors import VerifierError
from slop_code.evaluation.verifiers.json_values import fits, json_diff, shortened
from slop_code.evaluation.verifiers.unordered import same_but_for_order, unmatched

MAX_ITEMS = 3_000
MAX_TEXT = 200_000
MAX_LINES = 4_000
"""Up to here, counted over both values, DeepDiff makes the diff."""

SHOWN_DIFFERENCES = 100
SHOWN_TEXT = 1_000
MAX_DIFF_TEXT = 200_000
_PATIENCE_S = 2.0
_TABLES = ("pandas", "polars")
_DEEPDIFF_FAILURES = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)

_OUR_RULES = {"ignore_string_type_changes": True, "ignore_numeric_type_changes": True, "ignore_nan_inequality": True}
# With none of these does DeepDiff find a difference between identical values. Others, and misspelled ones, go to it.
_HARMLESS = frozenset(
    [
        "cache_size",
        "cutoff_distance_for_pairs",
        "cutoff_intersection_for_pairs",
        "exclude_obj_callback",
        "exclude_paths",
        "exclude_regex_paths",
        "exclude_types",
        "ignore_nan_inequality",
        "ignore_numeric_type_changes",
        "ignore_order",
        "ignore_private_variables",
        "ignore_string_case",
        "ignore_string_type_changes",
        "ignore_type_in_groups",
        "ignore_type_subclasses",
        "include_paths",
        "math_epsilon",
        "max_diffs",
        "max_passes",
        "number_format_notation",
        "report_repetition",
        "significant_digits",
        "truncate_datetime",
        "verbose_level",
    ]
)
_PAIRING = frozenset({"ignore_order", "report_repetition", "math_epsilon", "cache_size", "verbose_level"})


class Judgement(NamedTuple):
    """Whether the values are equal, and a diff for people, which is empty exactly if they are."""

    is_correct: bool
    diff: Any


def judge(expected: Any, actual: Any, options: Mapping[str, Any]) -> Judgement:
    """What DeepDiff(expected, actual, **options) finds; a large diff is cut, and says so under "cut".

    Raises:
        VerifierError: DeepDiff does not know an option, or cannot handle the values.
    """
    with suppress(RecursionError):  # no table is as deep as that
        expected, actual = _tables_as_rows(expected), _tables_as_rows(actual)
    if options.keys() <= _HARMLESS and _identical(expected, actual):
        return Judgement(True, {})
    try:
        if _knows_rules(options):
            way = _judge_unordered if options.get("ignore_order") else _judge_ordered
            try:
                return way(expected, actual, options)
            except NotPlainError:
                pass
        return _judge_by_deepdiff(expected, actual, options)
    except _DEEPDIFF_FAILURES as error:
        raise VerifierError(f"DeepDiff cannot compare these values with these options: {error}") from error


def _tables_as_rows(value: Any) -> Any:
    """`value` with pandas' tables, which DeepDiff takes for equal whatever they hold, as lists of rows."""
    pandas = sys.modules.get("pandas")
    if pandas is None or isinstance(value, (str, bytes, int, float, type(None))):
        return value
    if isinstance(value, pandas.DataFrame):
        return value.to_dict("records")
    if isinstance(value, (pandas.Series, pandas.Index)):
        return value.to_list()
    if type(value) is dict:
        return {key: _tables_as_rows(item) for key, item in value.items()}
    if type(value) in {list, tuple}:
        return type(value)(map(_tables_as_rows, value))
    return value


def _judge_ordered(expected: Any, actual: Any, options: Mapping[str, Any]) -> Judgement:
    every = differences(expected, actual, options["math_epsilon"])
    first = next(every, None)
    if first is None:
        return Judgement(True, {})
    if not _is_large(expected, actual):
        with suppress(*_DEEPDIFF_FAILURES):
            return _judge_by_deepdiff(expected, actual, options)
    found = [first]
    with suppress(NotPlainError):  # the verdict stands, whatever comes after the first difference
        for difference in every:
            if len(found) == SHOWN_DIFFERENCES:
                break
            found.append(difference)
        else:
            return Judgement(False, _our_diff(found, complete=True))
    return Judgement(False, _our_diff(found, complete=False))


def _judge_unordered(expected: Any, actual: Any, options: Mapping[str, Any]) -> Judgement:
    if same_but_for_order(expected, actual):
        return Judgement(True, {})
    if not _is_large(expected, actual):
        with suppress(_OutOfTimeError, *_DEEPDIFF_FAILURES):
            return _judge_by_deepdiff(expected, actual, {**options, "custom_operators": [_Deadline(_PATIENCE_S)]})
    found, complete = unmatched(expected, actual, options["math_epsilon"], SHOWN_DIFFERENCES)
    return Judgement(False, _our_diff(found, complete)) if found else _judge_by_deepdiff(expected, actual, options)


def _judge_by_deepdiff(expected: Any, actual: Any, options: Mapping[str, Any]) -> Judgement:
    diff = _load_deepdiff().DeepDiff(expected, actual, **options)
    return Judgement(not diff, _cut(json_diff(diff)))


def _identical(expected: Any, actual: Any) -> bool:
    try:
        return identical(expected, actual)
    except RecursionError:
        return False


def _knows_rules(options: Mapping[str, Any]) -> bool:
    epsilon = options.get("math_epsilon")
    return (
        isinstance(epsilon, (int, float))
        and epsilon >= 0
        and all(options.get(name) is value for name, value in _OUR_RULES.items())
        and options.keys() - _OUR_RULES.keys() <= _PAIRING
    )


def _is_large(*values: Any) -> bool:
    items = text = lines = 0
    pending: list[Iterable[Any]] = [values]
    while pending:
        for item in pending.pop():
            items += 1
            if isinstance(item, (str, bytes)):
                text += len(item)
                lines += item.count("\n") if isinstance(item, str) and text <= MAX_TEXT else 0
            elif isinstance(item, dict):
                pending += [item.keys(), item.values()]
            elif isinstance(item, (list, tuple)):
                pending.append(item)
            if items > MAX_ITEMS or text > MAX_TEXT or lines > MAX_LINES:
                return True
    return False


def _our_diff(found: list[Difference], complete: bool) -> dict[str, Any]:
    """The differences in the shape of DeepDiff's. Unless they are `complete` and short, "cut" says so."""
    diff: dict[str, Any] = {}
    cut = not complete
    for difference in found:
        path, old, new = str(difference.path)[:SHOWN_TEXT], difference.old, difference.new
        cut = cut or not (fits(old, SHOWN_TEXT) and fits(new, SHOWN_TEXT))
        if old is not MISSING and new is not MISSING:
            kind = "values_changed" if _same_kind(old, new) else "type_changes"
            diff.setdefault(kind, {})[path] = _change(old, new)
        else:
            change, value = ("added", new) if old is MISSING else ("removed", old)
            if isinstance(difference.path.key, str):
                diff.setdefault(f"dictionary_item_{change}", []).append(path)
            else:
                diff.setdefault(f"iterable_item_{change}", {})[path] = shortened(value, SHOWN_TEXT)
    if cut:
        diff["cut"] = (
            f"only {len(found)} differences are shown, the first ones, with {SHOWN_TEXT} characters of each value"
        )
    return diff


def _change(old: Any, new: Any) -> dict[str, Any]:
    change = {"new_value": shortened(new, SHOWN_TEXT), "old_value": shortened(old, SHOWN_TEXT)}
    if not _same_kind(old, new):
        return {"old_type": type(old).__name__, "new_type": type(new).__name__, **change}
    if isinstance(old, str) and isinstance(new, str):
        change["diff"] = text_diff(old, new)
    return change


def _same_kind(old: Any, new: Any) -> bool:
    kinds: tuple[Any, ...] = ((int, float), (str, bytes), type(old))
    return any(isinstance(old, kind) and isinstance(new, kind) for kind in kinds)


def _cut(diff: Any) -> Any:
    """DeepDiff's diff, or the beginning of each part of it if it is very long."""
    if fits(diff, MAX_DIFF_TEXT):
        return diff
    cut: dict[str, Any] = {}
    for kind, changes in diff.items():
        if isinstance(changes, dict):
            first = islice(changes.items(), SHOWN_DIFFERENCES)
            cut[kind] = {path: shortened(change, SHOWN_TEXT) for path, change in first}
        elif isinstance(changes, list):
            cut[kind] = [shortened(change, SHOWN_TEXT) for change in changes[:SHOWN_DIFFERENCES]]
        else:
            cut[kind] = shortened(changes, SHOWN_TEXT)
    cut["cut"] = f"only the first {SHOWN_DIFFERENCES} differences of each kind are shown, and long values in part"
    return cut


class _OutOfTimeError(Exception):
    """DeepDiff has had its time."""


class _Deadline:
    """An operator that DeepDiff asks about every pair of values: the only way to stop it from inside."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    def match(self, level: Any) -> bool:
        self._check()
        return False

    def give_up_diffing(self, level: Any, diff_instance: Any) -> bool:
        return False

    def normalize_value_for_hashing(self, parent: str, value: Any) -> Any:
        self._check()
        return value

    def _check(self) -> None:
        if time.monotonic() > self._end:
            raise _OutOfTimeError


@cache
def _load_deepdiff() -> Any:
    # It imports these to know their tables when it meets one, which takes longer than most runs. It does not meet any:
    # those of pandas are lists of rows by then.
    hidden = [name for name in _TABLES if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]
    try:
        import deepdiff
    finally:
        for name in hidden:
            sys.modules.pop(name, None)
    # It warns at every call that math_epsilon, which is among our defaults, means less with ignore_order.
    logging.getLogger("deepdiff.diff").addFilter(lambda record: "math_epsilon" not in record.getMessage())
    return deepdiff
