"""Regression entries become groups of their checkpoint."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import Formatter

from slop_code.documents import Document, Location
from slop_code.evaluation.adapters.models import GroupType
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, RegressionSpec, find_checkpoint
from slop_code.findings import Findings, did_you_mean, listed

PLACEHOLDERS = ("checkpoint", "group", "idx")


def expand_regressions(
    key: str,
    checkpoint: CheckpointConfig,
    checkpoints: Mapping[str, CheckpointConfig],
    document: Document,
    at: Location,
    findings: Findings,
) -> None:
    """Add the groups that `checkpoint.regressions` names, after the declared ones, in the order of the entries.

    Checkpoints of lower order must have been expanded before. `at` is where the checkpoint stands in `document`.
    """
    for index, spec in enumerate(checkpoint.regressions):
        where = (*at, "regressions", index)
        subject = f'regression {index + 1} of checkpoint "{key}"'
        if not _check_template(spec.name_template, subject, document, (*where, "name_template"), findings):
            continue
        sources = _sources(key, checkpoint, spec, checkpoints, subject, document, where, findings)
        _check_group_names(spec, sources, subject, document, where, findings)
        for source_key, source in sources.items():
            for group in _chosen(spec, source):
                if group.original_group is not None:
                    if group.name in spec.groups:
                        findings.warning(
                            f'{subject}: group "{group.name}" of "{source_key}" is itself imported from '
                            f'"{group.original_checkpoint}" and is not imported again; name that checkpoint instead',
                            document,
                            (*where, "groups"),
                        )
                    continue
                name = spec.name_template.format(checkpoint=source_key, group=group.name, idx=index)
                if name in checkpoint.groups:
                    findings.error(
                        f'{subject}: group "{group.name}" of "{source_key}" would be named "{name}", which is already '
                        f"{_origin(checkpoint.groups[name])}; change its name_template",
                        document,
                        where,
                    )
                    continue
                checkpoint.groups[name] = _imported(name, group, source_key, checkpoint)


def _imported(name: str, group: GroupConfig, source: str, checkpoint: CheckpointConfig) -> GroupConfig:
    return GroupConfig(
        name=name,
        type=GroupType.REGRESSION,
        kind=group.kind,
        description=group.description,
        group_files=set(group.group_files),
        case_order=list(group.case_order),
        case_defaults=dict(group.case_defaults),
        filters=dict(group.filters),
        timeout=longer_timeout(group.timeout, checkpoint.timeout),
        isolated=group.isolated,
        weight=group.weight,
        exclusive=group.exclusive,
        original_checkpoint=source,
        original_group=group.name,
        **(group.model_extra or {}),
    )


def longer_timeout(own: float | None, inherited: float | None) -> float | None:
    """The larger of two timeouts, where None means no limit."""
    return None if own is None or inherited is None else max(own, inherited)


def _check_template(template: str, subject: str, document: Document, at: Location, findings: Findings) -> bool:
    known = len(findings.items)
    start = f'{subject}: name_template "{template}"'
    try:
        fields = [(name, form or "") for _, name, form, _ in Formatter().parse(template) if name is not None]
        for name, form in fields:
            if not re.fullmatch(r"(0?[1-9])?d?" if name == "idx" else "", form):
                raise ValueError(f"{{{name}:{form}}} is not a form that names need")
            if name not in PLACEHOLDERS:
                findings.error(
                    f'{start} has the unknown placeholder "{{{name}}}"{did_you_mean(name, PLACEHOLDERS)}: '
                    "it can use {checkpoint}, {group} and {idx}",
                    document,
                    at,
                )
        if len(findings.items) == known and not template.format(checkpoint="c", group="g", idx=0).strip():
            raise ValueError("it gives an empty name")
    except (ValueError, KeyError, IndexError) as error:
        findings.error(f"{start} is not a valid template: {error}", document, at)
    return len(findings.items) == known


def _sources(
    key: str,
    checkpoint: CheckpointConfig,
    spec: RegressionSpec,
    checkpoints: Mapping[str, CheckpointConfig],
    subject: str,
    document: Document,
    where: Location,
    findings: Findings,
) -> dict[str, CheckpointConfig]:
    ordered = sorted(checkpoints.items(), key=lambda item: (item[1].order, item[0]))
    if spec.checkpoints == "*":
        return {name: source for name, source in ordered if source.order < checkpoint.order}
    named = [spec.checkpoint] if spec.checkpoint is not None else list(spec.checkpoints or [])
    field = "checkpoint" if spec.checkpoint is not None else "checkpoints"
    sources: dict[str, CheckpointConfig] = {}
    for name in named:
        source = find_checkpoint(checkpoints, name)
        if source is None:
            findings.error(
                f'{subject} names the unknown checkpoint "{name}"{did_you_mean(name, checkpoints)}: '
                f"this problem has {listed(name for name, _ in ordered)}",
                document,
                (*where, field),
            )
        elif source.order >= checkpoint.order:
            findings.error(
                f'{subject} names checkpoint "{name}" (order {source.order}), which does not come before '
                f'"{key}" (order {checkpoint.order}); a regression looks back',
                document,
                (*where, field),
            )
        else:
            sources[next(known for known, candidate in checkpoints.items() if candidate is source)] = source
    return sources


def _check_group_names(
    spec: RegressionSpec,
    sources: Mapping[str, CheckpointConfig],
    subject: str,
    document: Document,
    where: Location,
    findings: Findings,
) -> None:
    if not sources:
        return
    known = {name for source in sources.values() for name in source.groups}
    for field, names in (("groups", spec.groups), ("exclude", spec.exclude)):
        for position, name in enumerate(names):
            if name not in known:
                findings.error(
                    f'{subject} names the unknown group "{name}"{did_you_mean(name, known)}: '
                    f"{listed(sources)} {'has' if len(sources) == 1 else 'have'} {listed(sorted(known))}",
                    document,
                    (*where, field, position),
                )


def _chosen(spec: RegressionSpec, source: CheckpointConfig) -> list[GroupConfig]:
    names = [name for name in spec.groups if name in source.groups] if spec.groups else list(source.groups)
    groups = [source.groups[name] for name in dict.fromkeys(names) if name not in spec.exclude]
    return [group for group in groups if spec.type_filter is None or group.type == spec.type_filter]


def _origin(group: GroupConfig) -> str:
    if group.original_group is None:
        return "a group declared here"
    return f'the name of group "{group.original_group}" of "{group.original_checkpoint}"'
