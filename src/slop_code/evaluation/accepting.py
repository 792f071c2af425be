"""Making what a submission gave the new expectation of its cases, by edits of their case files.

Only values are taken over: what a file should contain or match is a rule of the author's, and stays.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import yaml

from slop_code.documents import Document, Location, read_documents
from slop_code.evaluation.atomic_files import replace_files
from slop_code.evaluation.loaders.case_files import PATTERNS, WrittenCase, read_case_file
from slop_code.evaluation.loaders.helpers import get_files_from_globs, get_group_path
from slop_code.evaluation.loaders.initialization import loader_script
from slop_code.evaluation.verifiers.content import CHECKS
from slop_code.evaluation.yaml_edits import EditError, documents_equal, set_value
from slop_code.findings import Findings

if TYPE_CHECKING:
    from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
    from slop_code.evaluation.verifiers.models import AttributeResult, VerifierReport

_FILE_PREFIX = "files-"
_RULES = frozenset(CHECKS) - {"content"}
_NEVER_ACCEPTED = {"timed_out", "elapsed", "type", "id", "group", "group_type", "adapter_error", "command"}


@dataclass(frozen=True, slots=True)
class FileChange:
    """A case file before and after."""

    path: Path
    old: str
    new: str


@dataclass(slots=True)
class Acceptance:
    """What can be taken over: edits, the (group, case id) they are for, and what was left out, with the reason."""

    changes: list[FileChange] = field(default_factory=list)
    accepted: set[tuple[str, str]] = field(default_factory=set)
    left_out: list[str] = field(default_factory=list)


class _NotAcceptableError(Exception):
    """Why a value cannot become the expectation."""


def has_case_files(problem: ProblemConfig, checkpoint: CheckpointConfig) -> bool:
    """Whether the problem's cases are files that can be edited."""
    return loader_script(problem, checkpoint) is None


def plan_acceptance(
    problem: ProblemConfig, checkpoint: CheckpointConfig, reports: Iterable[VerifierReport]
) -> Acceptance:
    """Work out the edits that make every failed case pass. Nothing is written."""
    plan = Acceptance()
    failed = [report for report in reports if report.outcome != "passed"]
    texts: dict[Path, str] = {}
    originals: dict[Path, str] = {}
    places = {
        name: _places(checkpoint.groups[name], problem, checkpoint)
        for name in dict.fromkeys(report.group for report in failed)
        if name in checkpoint.groups
    }
    for report in failed:
        name = f"{report.group}/{report.id}"
        try:
            written = _written(report, places)
            path = written.document.path
            original = originals.setdefault(path, written.document.text)
            texts[path] = _accepted(texts.get(path, original), written, report)
        except _NotAcceptableError as error:
            plan.left_out.append(f"{name}: {error}")
        else:
            plan.accepted.add((report.group, report.id))
    plan.changes = [FileChange(path, originals[path], new) for path, new in texts.items() if new != originals[path]]
    return plan


def write_acceptance(plan: Acceptance) -> None:
    """Write the edited files, all of them or none.

    Raises:
        ReportError: one of them cannot be written.
    """
    # What a link leads to is edited, and the link stays.
    replace_files({change.path.resolve(): partial(_write, change) for change in plan.changes})


def _write(change: FileChange, file: BinaryIO) -> None:
    mark = b"\xef\xbb\xbf"
    if change.path.read_bytes().startswith(mark):
        file.write(mark)
    file.write(change.new.encode("utf-8"))


def _places(group: GroupConfig, problem: ProblemConfig, checkpoint: CheckpointConfig) -> dict[str, WrittenCase]:
    folder = get_group_path(group, problem, checkpoint)
    files = get_files_from_globs(folder, PATTERNS, exclude=group.group_files)
    return {written.name: written for file in files for written in read_case_file(folder / file)}


def _written(report: VerifierReport, places: Mapping[str, Mapping[str, WrittenCase]]) -> WrittenCase:
    """Where the case of a report is written, if its values can be taken over at all."""
    if report.outcome != "failed":
        raise _NotAcceptableError("it could not be judged" if report.outcome == "error" else "it timed out")
    if report.original_checkpoint is not None:
        raise _NotAcceptableError(
            f"it comes from {report.original_checkpoint}; accept it there, if the expectation is what is wrong"
        )
    if report.output_cut:
        raise _NotAcceptableError("its output was too long to be kept whole")
    written = places.get(report.group, {}).get(report.id)
    if written is None:
        raise _NotAcceptableError("its case file cannot be found")
    return written


def _accepted(text: str, written: WrittenCase, report: VerifierReport) -> str:
    """`text` with the expectation of one case as the report has it."""
    number = _document_number(written.document)
    as_json = written.document.path.suffix.lower() == ".json"
    for result in report.get_verified_attributes():
        if result.is_correct:
            continue
        for at, value in _values(result, written):
            place = (*written.at, "expected", *at)
            try:
                new = set_value(text, number, place, value, as_json=as_json)
            except (EditError, yaml.YAMLError) as error:
                raise _NotAcceptableError(f"{result.attribute} cannot be edited in place: {error}") from error
            _check(text, new, number, place, value, written.document.path)
            text = new
    return text


def _values(result: AttributeResult, written: WrittenCase) -> Iterator[tuple[Location, Any]]:
    """What to set below `expected`, for one attribute that was wrong."""
    name = result.attribute
    if name.startswith(_FILE_PREFIX):
        yield _file_value(name.removeprefix(_FILE_PREFIX), result, written)
    elif name == "headers":
        yield from _header_values(result, written)
    elif name in _NEVER_ACCEPTED or (result.actual is None and result.expected is None):
        raise _NotAcceptableError(f"{name} is nothing that could be expected")
    elif isinstance(result.expected, Mapping) and result.expected and result.expected.keys() <= set(CHECKS):
        raise _NotAcceptableError(f"what {name} should contain or match is a rule; change it by hand")
    else:
        yield (name,), _as_expected(result.actual, result.expected, name)


def _as_expected(actual: Any, expected: Any, name: str) -> Any:
    """The actual value in the shape of the expected one: text, or what the text holds as JSON."""
    if isinstance(actual, bytes):
        raise _NotAcceptableError(f"{name} is not text")
    if expected is None or isinstance(expected, str):
        return "" if actual is None else actual
    if isinstance(actual, str):
        try:
            return json.loads(actual)
        except ValueError:
            return actual
    return actual


def _file_value(file: str, result: AttributeResult, written: WrittenCase) -> tuple[Location, Any]:
    if result.actual is None:
        raise _NotAcceptableError(f"{file} was not written")
    files = _expected(written).get("files")
    if isinstance(files, Mapping):
        name = next((name for name in files if name.removeprefix("./") == file), file)
        known = files.get(name)
        if isinstance(known, Mapping) and known.keys() & _RULES and known.keys() <= set(CHECKS):
            raise _NotAcceptableError(f"what {file} should be is a rule; change it by hand")
        if isinstance(known, Mapping) and known.keys() == {"content"}:
            return ("files", name, "content"), _as_expected(result.actual, known["content"], file)
        return ("files", name), _as_expected(result.actual, known, file)
    for index, spec in enumerate(files if isinstance(files, list) else ()):
        if str(spec.get("path", "")).removeprefix("./") == file and "content" in spec and not spec.keys() & _RULES:
            return ("files", index, "content"), _as_expected(result.actual, spec["content"], file)
    raise _NotAcceptableError(f"what {file} should be is a rule; change it by hand")


def _header_values(result: AttributeResult, written: WrittenCase) -> Iterator[tuple[Location, Any]]:
    actual = result.actual if isinstance(result.actual, Mapping) else {}
    for name, wanted in (_expected(written).get("headers") or {}).items():
        found = actual.get(str(name).lower())
        if found is None:
            raise _NotAcceptableError(f'there was no header "{name}"')
        if str(found) != str(wanted):
            yield ("headers", str(name)), found


def _expected(written: WrittenCase) -> Mapping[str, Any]:
    expected = written.values.get("expected")
    return expected if isinstance(expected, Mapping) else {}


def _document_number(document: Document) -> int:
    """Which document of its file this is, from 0."""
    place = document.place()
    starts = [node.start_mark.line + 1 for node in yaml.compose_all(document.text, Loader=yaml.SafeLoader)]
    return starts.index(place.line) if place is not None and place.line in starts else 0


def _check(old: str, new: str, number: int, at: Location, value: Any, path: Path) -> None:
    """Read the edited text again: it has to differ in that one value and in nothing else."""
    wanted = _read(old, path)
    _put(wanted[number], at, value)
    if not documents_equal(_read(new, path), wanted):
        raise _NotAcceptableError("its expectation cannot be edited in place (is there an anchor or a merge?)")


def _read(text: str, path: Path) -> list[Any]:
    with tempfile.TemporaryDirectory(prefix="slop-code-accept-") as folder:
        file = Path(folder) / f"case{path.suffix}"
        file.write_bytes(text.encode("utf-8"))
        return [_unshared(document.data) for document in read_documents(file, Findings()) or []]


def _unshared(data: Any) -> Any:
    """A copy in which an alias is a value of its own, so that a change in one place is seen to be in one place."""
    if isinstance(data, dict):
        return {key: _unshared(value) for key, value in data.items()}
    return [_unshared(value) for value in data] if isinstance(data, list) else data


def _put(data: Any, at: Location, value: Any) -> None:
    for part, following in pairwise(at):
        if isinstance(data, dict) and data.get(part) is None:
            data[part] = [] if isinstance(following, int) else {}
        data = data[part]
    data[at[-1]] = value
