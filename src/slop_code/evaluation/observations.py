"""What programs did, kept apart from any verdict, so that it can be judged again without running anything.

observations.parquet    a row for each case: what it was an observation of, how the program ended, its usage, and in
                        `parts` what it gave: `output`, `stderr`, `files-<name>`, `binary_response_base64`
contents.parquet        what is too large for a row, once, however many cases share it; `content` is its SHA-256

Values are JSON text in the way of `verifiers.json_text`, so that they keep their types.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from slop_code.evaluation.adapters.api import APIResult
from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.masking import masked
from slop_code.evaluation.verifiers.json_text import from_json_text, spelled_out, to_json_text
from slop_code.evaluation.verifiers.json_values import recordable

INLINE = 16_384
"""Characters of JSON text that a row holds itself."""
LIMIT = 32 << 20
"""Characters of JSON text that are kept of a case; of one that gave more, the largest parts are left out."""
_LARGE = ("output", "stderr", "files", "binary_response_base64")
_EXACT = "$exact"
"""In `result`, by column: texts with lone surrogates, which a column of text cannot hold and spells out."""
_KILLED = (-9, 128 + 9)
_KINDS: dict[str, type[CaseResult]] = {"cli": CLIResult, "api": APIResult}


class Subject(NamedTuple):
    """What a case's observation depends on, as hashes: the `place` is the same for all cases of a run."""

    place: str
    case: str


class Kept(NamedTuple):
    """A stored observation. One that is not `whole` lacks parts that were too large, or secrets that were masked."""

    group: str
    id: str
    subject: Subject
    observation: Observation
    whole: bool

    def seen_as(self, case: BaseCase) -> Observation:
        """The observation as one of `case`, which asks the same and may have another name."""
        names = {"id": case.id, "group": case.group, "group_type": case.group_type}
        return self.observation._replace(result=self.observation.result.model_copy(update=names))


def is_clean(observation: Observation) -> bool:
    """Whether the same may be expected if the case were run again.

    Not of what ran out of time, on a clock or on another limit that is looked at now and then, of what somebody killed
    (this machine does, when it runs out of memory), or of a server that was not ready or went away.
    """
    result = observation.result
    if result.timed_out or result.adapter_error or result.status_code in _KILLED:
        return False
    unanswered = isinstance(result, APIResult) and result.status_code < 0
    return not unanswered and not observation.met_limit


def to_row(
    group: str, case_id: str, subject: Subject, observation: Observation, secrets: list[str]
) -> tuple[dict[str, Any], dict[str, str]]:
    """The row of an observation, and the contents that it refers to, by their hash."""
    result = observation.result
    values = {name: getattr(result, name) for name in type(result).model_fields}
    given = {"output": values["output"], "stderr": values["stderr"]}
    given["binary_response_base64"] = values.get("binary_response_base64")
    given = {name: value for name, value in given.items() if value is not None}
    given |= {f"files-{name}": content for name, content in result.files_by_name().items()}
    small = {name: _plain(value) for name, value in values.items() if name not in _LARGE}
    hidden = False
    if secrets:
        before = (given, small)
        given, small = masked(given, secrets), masked(small, secrets)
        hidden = (given, small) != before
    parts, contents, dropped = _parts(given)
    warnings = [masked(text, secrets) for text in observation.warnings]
    exact: dict[str, Any] = {"parts": list(given), "warnings": warnings, "fault": observation.fault}
    exact = {name: texts for name, texts in exact.items() if _spelled(texts) != texts}
    row = {
        "group": spelled_out(group),
        "id": spelled_out(case_id),
        "place_key": subject.place,
        "case_key": subject.case,
        "kind": result.type if result.type in _KINDS else "cli",
        "whole": not dropped and not hidden,
        "reusable": is_clean(observation) and not dropped and not hidden,
        "result": to_json_text({**small, _EXACT: exact} if exact else small),
        "parts": parts,
        "run_s": observation.run_s,
        "cpu_s": observation.cpu_s,
        "peak_memory": observation.peak_memory,
        "output_cut": observation.cut,
        "warnings": _spelled(warnings),
        "attempts": observation.attempts,
        "fault": spelled_out(observation.fault),
        "met_limit": observation.met_limit,
        "row_run": observation.row_run,
    }
    return row, contents


def from_row(row: Mapping[str, Any], content: Callable[[str], str]) -> Kept:
    """The observation of a row; `content` finds what it refers to."""
    values: dict[str, Any] = from_json_text(row["result"])
    exact: dict[str, Any] = values.pop(_EXACT, {})
    files: dict[str, Any] = {}
    names = exact.get("parts") or [part["part"] for part in row["parts"]]
    for name, part in zip(names, row["parts"], strict=True):
        text = part["value"] if part["value"] is not None else part["content"] and content(part["content"])
        value = from_json_text(text) if text else None
        if name.startswith("files-"):
            files[name.removeprefix("files-")] = value
        else:
            values[name] = value
    result = _KINDS[row["kind"]].model_validate({**values, "files": files})
    observation = Observation(
        result,
        run_s=row["run_s"],
        cpu_s=row["cpu_s"],
        peak_memory=row["peak_memory"],
        cut=row["output_cut"],
        warnings=tuple(exact.get("warnings") or row["warnings"]),
        attempts=row["attempts"],
        fault=exact.get("fault") or row.get("fault") or "",
        met_limit=bool(row.get("met_limit")),
        row_run=str(row.get("row_run") or ""),
    )
    return Kept(row["group"], row["id"], Subject(row["place_key"], row["case_key"]), observation, row["whole"])


def observation_schema() -> Any:
    """The columns of observations.parquet."""
    import pyarrow as pa  # type: ignore[import-untyped]

    text, number, whole, yes_or_no = pa.string(), pa.float64(), pa.int64(), pa.bool_()
    part = pa.struct([("part", text), ("value", text), ("content", text), ("size", whole)])
    return pa.schema(
        [
            ("group", text),
            ("id", text),
            ("place_key", text),
            ("case_key", text),
            ("kind", text),
            ("whole", yes_or_no),
            ("reusable", yes_or_no),
            ("result", text),
            ("parts", pa.list_(part)),
            ("run_s", number),
            ("cpu_s", number),
            ("peak_memory", whole),
            ("output_cut", yes_or_no),
            ("warnings", pa.list_(text)),
            ("attempts", whole),
            ("fault", text),
            ("met_limit", yes_or_no),
            ("row_run", text),
        ]
    )


def content_schema() -> Any:
    """The columns of contents.parquet."""
    import pyarrow as pa

    return pa.schema([("content", pa.string()), ("value", pa.string())])


def _parts(given: Mapping[str, Any]) -> tuple[list[dict[str, Any]], dict[str, str], bool]:
    values = {name: recordable(value) for name, value in given.items()}
    texts = {name: to_json_text(value) for name, value in values.items()}
    room = LIMIT
    kept: set[str] = set()
    for name in sorted(texts, key=lambda name: len(texts[name])):
        room -= len(texts[name])
        if room >= 0 and _is_same(values[name], given[name]):
            kept.add(name)
    parts: list[dict[str, Any]] = []
    contents: dict[str, str] = {}
    for name, text in texts.items():
        part: dict[str, Any] = {"part": spelled_out(name), "value": None, "content": None, "size": len(text)}
        if name in kept and len(text) <= INLINE:
            part["value"] = text
        elif name in kept:
            part["content"] = hashlib.sha256(text.encode()).hexdigest()
            contents[part["content"]] = text
        parts.append(part)
    return parts, contents, len(kept) < len(texts)


def _is_same(kept: Any, seen: Any) -> bool:
    """Whether nothing was lost; what is nested too deeply is."""
    if isinstance(seen, str | bytes):
        return True
    try:
        return bool(kept == seen)
    except RecursionError:
        return False


def _spelled(texts: str | list[str]) -> str | list[str]:
    return spelled_out(texts) if isinstance(texts, str) else [spelled_out(text) for text in texts]


def _plain(value: Any) -> Any:
    return recordable(getattr(value, "value", value))
