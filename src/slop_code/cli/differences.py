"""What was wrong with a case, in a few lines that a person can read. Nothing here can steer a terminal."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

from slop_code.cli.styling import one_line
from slop_code.evaluation.verifiers.text_excerpt import excerpt

if TYPE_CHECKING:
    from slop_code.evaluation.verifiers.models import AttributeResult, VerifierReport

DIFFERENCE_LINES = 8
STDERR_LINES = 6
ERROR_LINES = 12
_ERROR_WIDTH = 1_000
_ENOUGH_LINES = 3
# Of a text that may be long, no more than this is looked at.
_LOOKED_AT = 20_000


def explain(report: VerifierReport, width: int) -> list[str]:
    """Why a case did not pass: its error, or its first difference and what else was wrong; then the end of stderr."""
    lines: list[str] = []
    if report.error is not None:
        lines += _error_lines(report.error)
    wrong = [result for result in report.get_verified_attributes() if not result.is_correct]
    shown = 0
    # A first difference of one line, such as an exit code, leaves room for the next.
    while shown < len(wrong) and len(lines) < _ENOUGH_LINES:
        lines += _attribute_lines(wrong[shown], width)
        shown += 1
    if shown < len(wrong):
        lines.append(one_line(f"also wrong: {', '.join(result.attribute for result in wrong[shown:])}", width))
    if not lines and not report.did_pass():
        lines.append("nothing was verified")
    lines += [one_line(f"warning: {text}", width) for text in report.warnings[:3]]
    if any(result.attribute == "stderr" for result in wrong[:shown]):
        return lines
    # That a program did not start is often said on stderr, too.
    return lines + _stderr_lines(report, width, told={str(result.diff) for result in wrong[:shown]})


def first_difference(report: VerifierReport, width: int = 200) -> str:
    """One line that says why a case did not pass."""
    lines = explain(report, width)
    if not lines:
        return str(report.outcome)
    alone = not lines[0].endswith(":") or len(lines) == 1
    return lines[0] if alone else one_line(f"{lines[0]} {lines[1].strip()}", width)


def _attribute_lines(result: AttributeResult, width: int) -> list[str]:
    name = one_line(result.attribute, width // 2)
    if result.attribute == "status_code":
        return [one_line(f"{name}: expected {_value(result.expected)}, got {_value(result.actual)}", width)]
    lines = list(islice(_difference(result), DIFFERENCE_LINES + 1))
    cut = len(lines) > DIFFERENCE_LINES
    shown = [one_line(line, width - 2) for line in lines[:DIFFERENCE_LINES]]
    if len(shown) == 1 and len(shown[0]) + len(name) + 2 <= width:
        return [f"{name}: {shown[0]}"]
    return [f"{name}:", *(f"  {line}" for line in shown), *(["  …"] if cut else [])]


def _difference(result: AttributeResult) -> Iterator[str]:
    """The verifier's diff line by line, or both values where it has none."""
    diff = result.diff
    if isinstance(diff, str) and diff.strip():
        yield from diff[:_LOOKED_AT].rstrip("\n").split("\n")
    elif isinstance(diff, Mapping) and diff:
        yield from chain.from_iterable(_entry(str(kind), value) for kind, value in diff.items())
    elif diff:
        yield _value(diff)
    else:
        yield from _both(result.expected, result.actual)


def _both(expected: Any, actual: Any) -> Iterator[str]:
    if isinstance(expected, str) and isinstance(actual, str) and expected != actual:
        yield from excerpt(expected, actual).split("\n")
    else:
        yield f"expected {_value(expected)}, got {_value(actual)}"


_WORDS = {
    "dictionary_item_added": "unexpected",
    "iterable_item_added": "unexpected",
    "set_item_added": "unexpected",
    "dictionary_item_removed": "missing",
    "iterable_item_removed": "missing",
    "set_item_removed": "missing",
}


def _entry(kind: str, value: Any) -> Iterator[str]:
    """The lines for one key of a diff that is a mapping: DeepDiff's kinds, `{expected, actual}`, or anything else."""
    if kind in ("values_changed", "type_changes") and isinstance(value, Mapping):
        for place, change in value.items():
            yield from _change(str(place), change)
    elif kind in _WORDS and isinstance(value, Mapping):
        yield from (f"{_place(str(place))}{_WORDS[kind]} {_value(item)}" for place, item in value.items())
    elif kind in _WORDS and isinstance(value, list):
        yield from (f"{_place(str(place))}{_WORDS[kind]}" for place in value)
    elif isinstance(value, Mapping) and {"expected", "actual"} <= value.keys():
        yield f"{kind}: expected {_value(value['expected'])}, got {_value(value['actual'])}"
    else:
        text = value if isinstance(value, str) else _value(value)
        first, *rest = text[:_LOOKED_AT].rstrip("\n").split("\n")
        yield f"{kind}: {first}"
        yield from rest


def _change(place: str, change: Any) -> Iterator[str]:
    if not isinstance(change, Mapping) or not {"old_value", "new_value"} <= change.keys():
        yield f"{_place(place)}{_value(change)}"
        return
    old, new = change["old_value"], change["new_value"]
    if isinstance(old, str) and isinstance(new, str) and old != new and "\n" in old + new:
        first, *rest = excerpt(old, new).split("\n")
        yield f"{_place(place)}{first}"
        yield from rest
    else:
        yield f"{_place(place)}expected {_value(old)}, got {_value(new)}"


def _place(place: str) -> str:
    inner = place.removeprefix("root")
    return f"{inner}: " if inner else ""


def _value(value: Any) -> str:
    if isinstance(value, bytes):
        return f"{len(value)} bytes {value[:40]!r}"
    if isinstance(value, str) and len(value) > _LOOKED_AT:
        value = value[:_LOOKED_AT]
    try:
        return json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _stderr_lines(report: VerifierReport, width: int, told: set[str]) -> list[str]:
    result = report.results.get("stderr")
    text = result.actual if result is not None else None
    if isinstance(text, bytes):
        text = text[-_LOOKED_AT:].decode("utf-8", "replace")
    if not isinstance(text, str) or not text.strip():
        return []
    lines = [line for line in text[-_LOOKED_AT:].rstrip("\n").split("\n") if line not in told]
    if not lines:
        return []
    mark = ["  …"] if len(lines) > STDERR_LINES or len(text) > _LOOKED_AT else []
    return ["stderr:", *mark, *(f"  {one_line(line, width - 2)}" for line in lines[-STDERR_LINES:])]


def _error_lines(text: str) -> list[str]:
    """An error as it is: what matters often stands at the end of a long line, so that is left to the terminal."""
    lines = [one_line(line, _ERROR_WIDTH) for line in text[:_LOOKED_AT].rstrip("\n").split("\n")]
    return lines[:ERROR_LINES] + (["…"] if len(lines) > ERROR_LINES else [])
