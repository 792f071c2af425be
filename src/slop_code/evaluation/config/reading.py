"""From `config.yaml` to a `ProblemConfig`, or to a list of everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pydantic import ValidationError

from slop_code.documents import Document, Location, read_document
from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.adapters.cli import CLIAdapterConfig
from slop_code.evaluation.adapters.models import TEXT_KEYS
from slop_code.evaluation.config.errors import ConfigError
from slop_code.evaluation.config.models import (
    CheckpointConfig,
    GroupConfig,
    ProblemConfig,
    RegressionSpec,
    StaticAsset,
    find_checkpoint,
)
from slop_code.evaluation.config.regressions import expand_regressions, longer_timeout
from slop_code.findings import Findings, did_you_mean, listed, shown_value
from slop_code.logging import get_logger
from slop_code.validation import report_unknown_keys, report_validation_error

CONFIG_NAME = "config.yaml"
# No file system has longer names.
MAX_NAME = 255
ProblemT = TypeVar("ProblemT", bound=ProblemConfig)


def read_problem(path: Path, model: type[ProblemT]) -> ProblemT:
    """Read a problem; log its warnings; raise `ConfigError` with all that is wrong."""
    findings = Findings()
    problem = inspect_problem(path, findings, model)
    if findings.warnings:
        log = get_logger(__name__)
        for warning in findings.warnings:
            log.warning(str(warning))
    if problem is None or findings.errors:
        raise ConfigError(findings.errors)
    return problem


def inspect_problem(
    path: Path,
    findings: Findings,
    model: type[ProblemT] = ProblemConfig,  # type: ignore[assignment]
) -> ProblemT | None:
    """Read a problem as far as it can be read, with everything noteworthy in `findings`.

    Returns None if there is nothing usable; with errors in `findings` the result is incomplete.
    """
    folder, file = _locate(path, findings)
    document = read_document(file, findings) if file else None
    if document is None:
        return None
    raw = _mapping(document.data, "the configuration", document, (), findings)
    if raw is None:
        return None

    report_unknown_keys(raw, ProblemConfig, "the problem", document, (), findings, runtime={"path"})
    _report_block_keys(raw, document, findings)
    problem = _validate_problem(raw, folder, model, document, findings)
    bodies = _checkpoint_bodies(raw.get("checkpoints"), folder, document, findings)
    checkpoints: dict[str, CheckpointConfig] = {}
    for body in bodies:
        checkpoint = _read_checkpoint(body, folder, problem, findings)
        if checkpoint is not None:
            checkpoints[body.key] = checkpoint
    if len(checkpoints) == len(bodies):
        _relate(checkpoints, bodies, findings)
    if problem is not None:
        problem.checkpoints = checkpoints
    return problem


class _Body(NamedTuple):
    """A checkpoint as it stands in a file: which document, where in it, and the values."""

    key: str
    position: int
    document: Document
    at: Location
    values: Mapping[str, Any]
    listed: bool


def _locate(path: Path, findings: Findings) -> tuple[Path, Path | None]:
    if path.is_dir():
        file = path / CONFIG_NAME
        if not file.exists():
            findings.error(f"this folder has no {CONFIG_NAME}, so it is not a problem", path=path)
            return path, None
        return path, file
    if not path.exists():
        near = [entry.name for entry in path.parent.iterdir()] if path.parent.is_dir() else []
        findings.error(f"no such problem{did_you_mean(path.name, near)}", path=path)
        return path, None
    return path.parent, path


def _validate_problem(
    raw: Mapping[str, Any], folder: Path, model: type[ProblemT], document: Document, findings: Findings
) -> ProblemT | None:
    values = {str(key): value for key, value in raw.items() if key != "checkpoints"}
    values["path"] = folder.absolute()
    values["env"] = document.as_text(values.get("env"), ("env",))
    adapter = values.get("adapter")
    if "adapter" in values and not isinstance(adapter, Mapping):
        findings.error(
            f'the problem: "adapter" should be a mapping such as {{type: cli}}, found {shown_value(adapter)}',
            document,
            ("adapter",),
        )
        values["adapter"] = {"type": "cli"}
    elif isinstance(adapter, Mapping):
        for key in ("setup_script", "teardown_script"):
            if adapter.get(key):
                findings.warning(
                    f"the adapter's {key} is not executed: use an environment's setup commands",
                    document,
                    ("adapter", key),
                )
    try:
        return model.model_validate(values)
    except ValidationError as error:
        report_validation_error(error, raw, _describe, document, (), findings)
        return None


def _report_block_keys(raw: Mapping[str, Any], document: Document, findings: Findings) -> None:
    adapter = raw.get("adapter")
    if isinstance(adapter, Mapping):
        model = APIAdapterConfig if adapter.get("type") == "api" else CLIAdapterConfig
        report_unknown_keys(adapter, model, "the adapter", document, ("adapter",), findings)
    assets = raw.get("static_assets")
    for name, asset in assets.items() if isinstance(assets, Mapping) else ():
        if isinstance(asset, Mapping):
            report_unknown_keys(asset, StaticAsset, f'asset "{name}"', document, ("static_assets", name), findings)


def _checkpoint_bodies(raw: Any, folder: Path, document: Document, findings: Findings) -> list[_Body]:
    if raw is None:
        return []
    if isinstance(raw, Mapping):
        return [
            _Body(str(key), position, document, ("checkpoints", key), values, listed=False)
            for position, (key, body) in enumerate(raw.items(), start=1)
            if (values := _mapping(body, f'checkpoint "{key}"', document, ("checkpoints", key), findings)) is not None
        ]
    if not isinstance(raw, list):
        findings.error(
            f'the problem: "checkpoints" should be a mapping of names to bodies or a list of names, '
            f"found {shown_value(raw)}",
            document,
            ("checkpoints",),
        )
        return []
    bodies: list[_Body] = []
    for position, name in enumerate(document.as_text(raw, ("checkpoints",)), start=1):
        at = ("checkpoints", position - 1)
        if not isinstance(name, str):
            findings.error(f"a checkpoint in the list should be a name, found {shown_value(name)}", document, at)
            continue
        if any(body.key == str(name) for body in bodies):
            findings.error(f'checkpoint "{name}" is listed twice', document, at)
            continue
        file = folder / str(name) / CONFIG_NAME
        if len(str(name)) > MAX_NAME or not file.is_file():
            findings.error(
                f'checkpoint "{name}" is listed, so {name}/{CONFIG_NAME} should describe it, but there is no such file',
                document,
                at,
            )
            continue
        own = read_document(file, findings)
        values = None if own is None else _mapping(own.data, f'checkpoint "{name}"', own, (), findings)
        if own is not None and values is not None:
            bodies.append(_Body(str(name), position, own, (), values, listed=True))
    return bodies


def _read_checkpoint(
    body: _Body, folder: Path, problem: ProblemConfig | None, findings: Findings
) -> CheckpointConfig | None:
    document, at = body.document, body.at
    subject = f'checkpoint "{body.key}"'
    report_unknown_keys(body.values, CheckpointConfig, subject, document, at, findings, runtime={"name"})
    groups = body.values.get("groups")
    for name, group in groups.items() if isinstance(groups, Mapping) else ():
        if isinstance(group, Mapping):
            where = (*at, "groups", name)
            report_unknown_keys(
                group,
                GroupConfig,
                f'group "{name}" of {subject}',
                document,
                where,
                findings,
                runtime={"name"},
            )
    regressions = body.values.get("regressions")
    for index, entry in enumerate(regressions if isinstance(regressions, list) else ()):
        if isinstance(entry, Mapping):
            where = (*at, "regressions", index)
            report_unknown_keys(
                entry, RegressionSpec, f"regression {index + 1} of {subject}", document, where, findings
            )

    values = {str(key): value for key, value in body.values.items()}
    values.setdefault("path", body.key)
    path = values["path"]
    if isinstance(path, str):
        values["path"] = folder.absolute() / path
        values["name"] = Path(path).name
        if Path(path).is_absolute() or ".." in Path(path).parts or not Path(path).name:
            findings.error(
                f'{subject}: "path" should be a folder of the problem, found {shown_value(path)}',
                document,
                (*at, "path"),
            )
    values["order"] = body.position if body.listed else values.get("order", body.position)
    values["env"] = document.as_text(values.get("env"), (*at, "env"))
    values["groups"] = _groups_as_written(values.get("groups"), document, (*at, "groups"))
    try:
        checkpoint = CheckpointConfig.model_validate(values)
    except ValidationError as error:
        report_validation_error(
            error, body.values, lambda loc: _describe(("checkpoints", body.key, *loc)), document, at, findings
        )
        return None
    if problem is not None:
        _inherit(checkpoint, problem)
        if problem.loader_script == "builtin:files":
            _check_case_defaults(checkpoint, body, findings)
    return checkpoint


def _check_case_defaults(checkpoint: CheckpointConfig, body: _Body, findings: Findings) -> None:
    """Only the ready loader says what may stand in them."""
    for group in checkpoint.groups.values():
        if group.case_defaults:
            from slop_code.evaluation.loaders.case_defaults import check_case_defaults

            subject = f'group "{group.name}" of checkpoint "{body.key}": "case_defaults"'
            where = (*body.at, "groups", group.name, "case_defaults")
            check_case_defaults(group.case_defaults, subject, body.document, where, findings)


def _inherit(checkpoint: CheckpointConfig, problem: ProblemConfig) -> None:
    checkpoint.env = {**problem.env, **checkpoint.env}
    is_given = "timeout" in checkpoint.model_fields_set or "timeout" in problem.model_fields_set
    if "timeout" not in checkpoint.model_fields_set:
        checkpoint.timeout = problem.timeout
    for group in checkpoint.groups.values():
        if "timeout" not in group.model_fields_set:
            group.timeout = checkpoint.timeout
        elif is_given:
            group.timeout = longer_timeout(group.timeout, checkpoint.timeout)


def _relate(checkpoints: dict[str, CheckpointConfig], bodies: list[_Body], findings: Findings) -> None:
    """Check and resolve what checkpoints say about each other."""
    by_name: dict[str, str] = {}
    for body in bodies:
        other = by_name.setdefault(checkpoints[body.key].name, body.key)
        if other != body.key:
            findings.error(
                f'checkpoints "{other}" and "{body.key}" have paths that end in the same name, '
                f'"{checkpoints[body.key].name}"; a checkpoint is named by the last part of its path',
                body.document,
                (*body.at, "path"),
            )
    for body in sorted(bodies, key=lambda body: (checkpoints[body.key].order, body.key)):
        checkpoint = checkpoints[body.key]
        _resolve_originals(body, checkpoint, checkpoints, findings)
        expand_regressions(body.key, checkpoint, checkpoints, body.document, body.at, findings)


def _resolve_originals(
    body: _Body, checkpoint: CheckpointConfig, checkpoints: Mapping[str, CheckpointConfig], findings: Findings
) -> None:
    for group in checkpoint.groups.values():
        if group.original_checkpoint is None or group.original_group is None:
            continue
        where = (*body.at, "groups", group.name)
        source = find_checkpoint(checkpoints, group.original_checkpoint)
        if source is None:
            findings.warning(
                f'group "{group.name}" of checkpoint "{body.key}" comes from the unknown checkpoint '
                f'"{group.original_checkpoint}"{did_you_mean(group.original_checkpoint, checkpoints)}; '
                "it cannot be run",
                body.document,
                (*where, "original_checkpoint"),
            )
        elif group.original_group not in source.groups:
            findings.warning(
                f'group "{group.name}" of checkpoint "{body.key}" comes from the unknown group "{group.original_group}"'
                f'{did_you_mean(group.original_group, source.groups)}; checkpoint "{group.original_checkpoint}" has '
                f"{listed(source.groups)}; it cannot be run",
                body.document,
                (*where, "original_group"),
            )
        elif not group.case_order:
            group.case_order = list(source.groups[group.original_group].case_order)


def _mapping(
    value: Any, subject: str, document: Document, at: Location, findings: Findings
) -> Mapping[str, Any] | None:
    if isinstance(value, Mapping):
        return value
    empty = value is None and not at
    found = "the file is empty" if empty else f"found {shown_value(value)}"
    findings.error(f"{subject} should be a mapping of keys to values; {found}", document, at)
    return None


def _groups_as_written(groups: Any, document: Document, at: Location) -> Any:
    """Names of cases and files, and arguments among the defaults, as the author wrote them."""
    if not isinstance(groups, Mapping):
        return groups
    written: dict[str, Any] = {}
    for name, body in groups.items():
        written[name] = body
        if isinstance(body, Mapping):
            where = (*at, name)
            texts = {
                key: document.as_text(body[key], (*where, key)) for key in ("case_order", "group_files") if key in body
            }
            defaults = body.get("case_defaults")
            if isinstance(defaults, Mapping):
                texts["case_defaults"] = {
                    key: document.as_text(value, (*where, "case_defaults", key)) if key in TEXT_KEYS else value
                    for key, value in defaults.items()
                }
            written[name] = {**body, **texts}
    return written


def _describe(at: Location) -> tuple[str, Location]:
    """The thing that a location is about, in words, and the rest of the location."""
    match tuple(at):
        case ("checkpoints", key, "groups", group, *rest):
            return f'group "{group}" of checkpoint "{key}"', rest
        case ("checkpoints", key, "regressions", int(index), *rest):
            return f'regression {index + 1} of checkpoint "{key}"', rest
        case ("checkpoints", key, *rest):
            return f'checkpoint "{key}"', rest
        case ("adapter", first, *rest):
            return "the adapter", (first, *rest)
        case ("static_assets", name, *rest):
            return f'asset "{name}"', rest
        case rest:
            return "the problem", rest
