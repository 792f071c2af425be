"""What a report lists: the attributes of two results side by side, and the case's own fields."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.verifiers.json_values import json_safe, shortened
from slop_code.execution.file_ops import InputFile

CASE_VALUE_LIMIT = 4096
"""Characters of a case's field, or of one input file's content, that a report keeps."""

_SHORT = frozenset((bool, int, type(None)))
_FILE_PREFIX = "files-"
_OTHER_NAMES = {
    "exit_code": "status_code",
    "exit_status": "status_code",
    "exitcode": "status_code",
    "return_code": "status_code",
    "returncode": "status_code",
    "status": "status_code",
    "std_err": "stderr",
    "std_out": "output",
    "stderror": "stderr",
    "stdout": "output",
}


def paired_values(actual: CaseResult, expected: CaseResult) -> dict[str, tuple[Any, Any]]:
    """Attribute → (actual, expected): each field of either result, then `files-<name>` for each of their files.

    What only one of the two has is None on the other side.
    """
    ours, theirs = _fields(actual), _fields(expected)
    pairs = {name: (value, theirs.get(name)) for name, value in ours.items()}
    for name, value in theirs.items():
        if name not in pairs:
            pairs[name] = (None, value)
    del pairs["files"]
    our_files, their_files = actual.files_by_name(), expected.files_by_name()
    for name in dict.fromkeys([*our_files, *their_files]):
        pairs[f"{_FILE_PREFIX}{name}"] = (our_files.get(name), their_files.get(name))
    return pairs


def case_values(case: BaseCase) -> dict[str, Any]:
    """The case's fields as JSON, each cut at `CASE_VALUE_LIMIT`, and so the content of each input file."""
    values: dict[str, Any] = {}
    for name, value in _fields(case).items():
        if name == "input_files":
            values[name] = [_input_file(file) for file in value]
        elif type(value) in _SHORT:
            values[name] = value
        else:
            values[name] = shortened(value, CASE_VALUE_LIMIT)
    return values


def meant_attribute(key: str, attributes: Collection[str]) -> str | None:
    """The attribute that was probably meant by `key`, which is none: `output` for `stdout` or `ouput`."""
    written = _plain(key)
    usual = _OTHER_NAMES.get(written)
    if usual in attributes:
        return usual
    if match := re.match(r"files?[-_:/. ]+", key, re.IGNORECASE):
        return _meant_file(key[match.end() :], attributes)
    names = (name for name in attributes if not name.startswith(_FILE_PREFIX))
    return next((name for name in names if _alike(written, _plain(name))), None)


def _fields(model: BaseCase | CaseResult) -> dict[str, Any]:
    # Not model_dump: it would copy every value, and turn input files into something else.
    return {**model.__dict__, **(model.__pydantic_extra__ or {})}


def _input_file(file: Any) -> Any:
    if type(file) is not InputFile:
        return {**json_safe({**file.__dict__, "content": None}), "content": shortened(file.content, CASE_VALUE_LIMIT)}
    return {
        "path": str(file.path),
        "content": shortened(file.content, CASE_VALUE_LIMIT),
        "file_type": file.file_type.value,
        "compression": file.compression.value,
    }


def _meant_file(written: str, attributes: Collection[str]) -> str | None:
    wanted = _plain_path(written)
    files = (name for name in attributes if name.startswith(_FILE_PREFIX))
    return next((name for name in files if _alike(wanted, _plain_path(name.removeprefix(_FILE_PREFIX)))), None)


def _alike(written: str, name: str) -> bool:
    if written.replace("_", "") == name.replace("_", ""):
        return True
    # A slip in a short word makes another word, and what differs in a digit is numbered on purpose.
    return len(name) > 4 and _digits(written) == _digits(name) and _one_slip_apart(written, name)


def _digits(text: str) -> str:
    return re.sub(r"\D", "", text)


def _plain(name: str) -> str:
    return re.sub(r"[\s-]+", "_", name.strip().lower())


def _plain_path(name: str) -> str:
    return re.sub(r"^(\.?/)+", "", name.strip()).lower()


def _one_slip_apart(one: str, other: str) -> bool:
    """Whether one letter more, less, wrong, or swapped with its neighbour makes the two the same."""
    if abs(len(one) - len(other)) > 1 or one == other:
        return False
    shorter, longer = sorted((one, other), key=len)
    start = next((i for i, (a, b) in enumerate(zip(shorter, longer, strict=False)) if a != b), len(shorter))
    if len(shorter) != len(longer):
        return shorter[start:] == longer[start + 1 :]
    swapped = shorter[start + 1 : start + 2] + shorter[start : start + 1] + shorter[start + 2 :]
    return shorter[start + 1 :] == longer[start + 1 :] or swapped == longer[start:]
