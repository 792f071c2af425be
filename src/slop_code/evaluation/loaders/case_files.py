"""The ready loader, `loader_script: builtin:files`: cases written as YAML or JSON, with no Python at all.

checkpoint_1/core/            a group's folder
  addition.yaml               one case, named after the file
  errors/division.yaml        folders may be nested
  many.yaml                   a list, several documents, or a `cases:` key hold several cases
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError

from slop_code.documents import Document, Location, read_documents
from slop_code.evaluation.adapters.api import APICase, APIResult
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.adapters.models import TEXT_KEYS, BaseCase, CaseResult, rank
from slop_code.evaluation.loaders.case_defaults import check_case_defaults
from slop_code.evaluation.loaders.case_file_models import CaseBody
from slop_code.evaluation.loaders.helpers import get_files_from_globs, get_group_path
from slop_code.evaluation.loaders.loader_protocol import BaseLoader, CaseStore, LoaderError, LoaderYieldType
from slop_code.execution.file_ops import InputFile
from slop_code.findings import Findings, FindingsError, closest, listed, shown_value
from slop_code.logging import get_logger
from slop_code.paths import shown_path
from slop_code.validation import first_reason, report_validation_error

if TYPE_CHECKING:
    from slop_code.evaluation.config import GroupConfig

PATTERNS = ("**/*.yaml", "**/*.yml", "**/*.json")
_NOT_CASE_FIELDS = frozenset({"argv", "expected", "id", "input_files"})


class CaseFileLoader(BaseLoader):
    """Loads the case files of a group's folder, in the order of `case_order`, then by path."""

    def __call__(self, group: GroupConfig, store: CaseStore) -> LoaderYieldType:
        folder = get_group_path(group, self.problem, self.checkpoint)
        files = get_files_from_globs(folder, PATTERNS, exclude=group.group_files)
        cases = (written for file in files for written in read_case_file(folder / file))
        ordered, missing = _in_order(cases, group.case_order) if group.case_order else (cases, [])
        seen: dict[str, Path] = {}
        files_with_defaults: set[Path] = set()
        for written in ordered:
            if written.defaults and written.document.path not in files_with_defaults:
                files_with_defaults.add(written.document.path)
                _check_defaults(written)
            earlier = seen.setdefault(written.name, written.document.path)
            if earlier is not written.document.path or written.repeated:
                raise LoaderError(
                    f'{shown_path(written.document.path)}: there is already a case named "{written.name}" '
                    f"in {shown_path(earlier)}; names are unique within a group"
                )
            case, expected = self._build(written, group)
            if _wanted(case, group.filters):
                yield case, expected
        if missing:
            raise LoaderError(
                f'case_order of group "{group.name}" names {listed(missing)}, '
                f"but {shown_path(folder)} has no such {'case' if len(missing) == 1 else 'cases'}"
            )

    def _build(self, written: WrittenCase, group: GroupConfig) -> tuple[BaseCase, CaseResult]:
        findings = Findings()
        values = _merged(group.case_defaults, written.values)
        body = _validated(CaseBody, values, written, (), findings)
        _warn_of_typos(written)
        cli = self.problem.adapter.type == "cli"
        case_values = {key: value for key, value in values.items() if key not in _NOT_CASE_FIELDS}
        case_values["name"] = written.name
        if body is None:
            raise LoaderError(str(FindingsError(findings.errors)))
        if body.argv is not None:
            case_values["arguments"] = [shlex.quote(item) for item in body.argv]
        case_values["input_files"] = self._input_files(body, written, findings)
        case = _validated(CLICase if cli else APICase, case_values, written, (), findings)
        expected_values = values.get("expected")
        expected = None
        if isinstance(expected_values, Mapping):
            expected = _validated(
                CLIResult if cli else APIResult, dict(expected_values), written, ("expected",), findings
            )
        if findings.errors or case is None or expected is None:
            raise LoaderError(str(FindingsError(findings.errors)))
        return case, expected

    def _input_files(self, body: CaseBody, written: WrittenCase, findings: Findings) -> list[InputFile]:
        files: list[InputFile] = []
        for index, spec in enumerate(body.input_file_specs()):
            at = (*written.at, "input_files", spec["path"] if isinstance(body.input_files, dict) else index)
            source = spec.pop("source", None)
            try:
                if source is None:
                    files.append(InputFile.model_validate(spec))
                else:
                    chosen = {key: spec[key] for key in ("file_type", "compression") if key in spec}
                    files.append(InputFile.from_absolute(written.document.path.parent / source, spec["path"], **chosen))
            except (ValueError, OSError) as error:
                reason = (
                    f"cannot be read: {error.strerror}"
                    if isinstance(error, OSError)
                    else f"is not valid: {first_reason(error)}"
                )
                findings.error(f'case "{written.name}": input file "{spec["path"]}" {reason}', written.document, at)
        return files


@dataclass(frozen=True, slots=True)
class WrittenCase:
    """A case as it stands in a file."""

    name: str
    document: Document
    at: Location
    values: Mapping[str, Any]
    defaults: Mapping[str, Any]
    """What of the values stands beside `cases`, for all cases of the file."""
    repeated: bool = False


def read_case_file(path: Path) -> Iterator[WrittenCase]:
    findings = Findings()
    documents = read_documents(path, findings)
    if documents is None:
        raise LoaderError(str(FindingsError(findings.errors)))
    if not documents:
        documents = [Document(path, "", None)]
    bodies: list[tuple[Document, Location, Any, dict[str, Any]]] = []
    for document in documents:
        data: Any = document.data
        if isinstance(data, Mapping) and "cases" in data:
            defaults = _own_values({key: value for key, value in data.items() if key != "cases"}, document, ())
            listed_cases = data["cases"]
            if not isinstance(listed_cases, list):
                found = shown_value(listed_cases)
                raise LoaderError(f'{shown_path(path)}: "cases" should be a list of cases, found {found}')
            bodies.extend((document, ("cases", index), item, defaults) for index, item in enumerate(listed_cases))
        elif isinstance(data, list):
            bodies.extend((document, (index,), item, {}) for index, item in enumerate(data))
        elif data is not None or len(documents) == 1:
            bodies.append((document, (), data, {}))
    names: set[str] = set()
    for number, (document, at, data, defaults) in enumerate(bodies, start=1):
        if not isinstance(data, Mapping):
            raise LoaderError(_not_a_case(document, at, data))
        values = _merged(defaults, _own_values(data, document, at))
        fallback = path.stem if len(bodies) == 1 else f"{path.stem}_{number}"
        name = str(values.get("id") or values.get("name") or fallback)
        yield WrittenCase(name, document, at, values, defaults, repeated=name in names)
        names.add(name)


def _own_values(data: Mapping[Any, Any], document: Document, at: Location) -> dict[str, Any]:
    return {str(key): document.as_text(value, (*at, key)) if key in TEXT_KEYS else value for key, value in data.items()}


def _not_a_case(document: Document, at: Location, data: Any) -> str:
    findings = Findings()
    what = "the file is empty" if data is None and not at else f"found {shown_value(data)}"
    findings.error(
        f"a case should be a mapping with an `expected` key; {what}. "
        "List a file that is no case in the group's group_files",
        document,
        at,
    )
    return str(findings.items[0])


def _merged(defaults: Mapping[str, Any], own: Mapping[str, Any]) -> dict[str, Any]:
    """`own` over `defaults`; mappings are merged key by key, everything else is replaced."""
    merged = dict(defaults)
    for key, value in own.items():
        below = merged.get(key)
        merged[key] = _merged(below, value) if isinstance(below, Mapping) and isinstance(value, Mapping) else value
    # `argv` and `arguments` are two ways to say one thing, so a case's own way replaces the default's other one.
    for own_key, other in (("argv", "arguments"), ("arguments", "argv")):
        if own_key in own and other not in own:
            merged.pop(other, None)
    return merged


def _in_order(cases: Iterator[WrittenCase], order: list[str]) -> tuple[Iterator[WrittenCase], list[str]]:
    found = list(cases)
    position = {name: index for index, name in enumerate(order)}
    missing = [name for name in order if name not in {written.name for written in found}]
    return iter(sorted(found, key=lambda written: position.get(written.name, len(position)))), missing


def _validated(
    model: type[BaseModel], values: Mapping[str, Any], written: WrittenCase, below: Location, findings: Findings
) -> Any:
    try:
        return model.model_validate(values)
    except ValidationError as error:
        subject = f'case "{written.name}"'
        report_validation_error(
            error,
            values,
            lambda rest: (subject, (*below, *rest)),
            written.document,
            (*written.at, *below),
            findings,
        )
        return None


def _check_defaults(written: WrittenCase) -> None:
    findings = Findings()
    check_case_defaults(written.defaults, 'what stands beside "cases"', written.document, (), findings)
    for finding in findings.warnings:
        get_logger(__name__).warning(str(finding))
    if findings.errors:
        raise LoaderError(str(FindingsError(findings.errors)))


def _warn_of_typos(written: WrittenCase) -> None:
    known = set(CaseBody.model_fields) | set(written.defaults)
    for key in written.values:
        match = closest(key, known) if key not in known else None
        if match:
            findings = Findings()
            findings.warning(
                f'case "{written.name}" has unknown key "{key}" (did you mean "{match}"?)',
                written.document,
                (*written.at, key),
            )
            get_logger(__name__).warning(str(findings.items[0]))


def _wanted(case: BaseCase, filters: Mapping[str, Any]) -> bool:
    tags = filters.get("tags")
    chosen = {tags} if isinstance(tags, str) else set(tags or ())
    if chosen and not chosen & set(case.tags):
        return False
    least = filters.get("priority")
    return least is None or rank(case.priority) >= rank(least)
