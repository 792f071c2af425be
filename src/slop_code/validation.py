"""What pydantic minds about a file, in words that its author understands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from slop_code.documents import Document, Location
from slop_code.findings import Findings, closest, did_you_mean, shown_value

Describe = Callable[[Location], tuple[str, Location]]

_WANTED = {
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "int_parsing_size": "a smaller number",
    "float_parsing": "a number",
    "float_type": "a number",
    "finite_number": "a finite number",
    "string_type": "text",
    "bool_parsing": "true or false",
    "bool_type": "true or false",
    "list_type": "a list",
    "set_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "path_type": "a path",
}


def report_validation_error(
    error: ValidationError,
    raw: Any,
    describe: Describe,
    document: Document,
    base: Location,
    findings: Findings,
    *,
    model: type[BaseModel] | None = None,
) -> None:
    """Report every complaint of `error` about `raw`, which stands at `base` in `document`.

    `describe` turns a location into the thing it is about and the keys below that thing; `model`, where keys are
    forbidden, is what the known ones are looked up in.
    """
    told: set[Location] = set()
    for item in error.errors(include_url=False):
        location = _written_location(item["loc"], raw, missing=item["type"] == "missing")
        if location in told:
            # Another branch of a union complains about the same value.
            continue
        told.add(location)
        subject, rest = describe(location)
        message = _message({**item, "loc": location}, subject, rest, raw, model)
        findings.error(message, document, (*base, *location))


def report_unknown_keys(
    raw: Mapping[Any, Any],
    model: type[BaseModel],
    subject: str,
    document: Document,
    at: Location,
    findings: Findings,
    *,
    runtime: frozenset[str] | set[str] = frozenset(),
) -> None:
    """Report each key of `raw` that `model` does not know, with the known key it may be a typo of.

    `runtime` are fields of the model that no file sets.
    """
    known = set(model.model_fields) - runtime
    for key in raw:
        if key in known:
            continue
        if key in runtime:
            findings.warning(
                f'{subject} has the key "{key}", which is not read: it follows from where it stands',
                document,
                (*at, key),
            )
        else:
            hint = did_you_mean(key, known) or "; it is kept as an extra"
            findings.warning(f'{subject} has unknown key "{key}"{hint}', document, (*at, key))


def first_reason(error: ValueError) -> str:
    """The first complaint of a validation error on one line: `timeout_s: should be …`."""
    errors = getattr(error, "errors", None)
    if errors is None:
        return str(error)
    first: Mapping[str, Any] = errors(include_url=False)[0]
    place = ".".join(map(str, first["loc"]))
    return f"{place}: {first['msg']}" if place else str(first["msg"])


def _message(item: Any, subject: str, rest: Location, raw: Any, model: type[BaseModel] | None) -> str:
    kind, context = item["type"], item.get("ctx", {})
    key = ".".join(str(part) for part in rest)
    found = shown_value(item["input"])
    if kind == "missing":
        typo = closest(rest[-1], _siblings(raw, item["loc"])) if rest else None
        return f'{subject} lacks the key "{key}"' + (f' ("{typo}" looks like a misspelling of it)' if typo else "")
    if kind == "extra_forbidden":
        return f'{subject} has unknown key "{key}"{did_you_mean(rest[-1], _known_keys(model, item["loc"][:-1]))}'
    if kind == "union_tag_not_found":
        return f'{subject}: "{key}" lacks the key "type", which is one of {context.get("expected_tags") or "cli, api"}'
    if kind == "union_tag_invalid":
        tag = context["tag"]
        options = [option.strip("' ") for option in context["expected_tags"].split(",")]
        return (
            f'{subject}: "{key}.type" should be one of {", ".join(options)}, found "{tag}"{did_you_mean(tag, options)}'
        )
    if kind in {"enum", "literal_error"}:
        options = [option.strip("' ") for option in context["expected"].replace(" or ", ", ").split(",")]
        hint = did_you_mean(item["input"], options)
        return f'{subject}: "{key}" should be one of {", ".join(options)}, found {found}{hint}'
    if kind == "value_error":
        reason = str(context["error"])
        return f'{subject}: "{key}" {reason}, found {found}' if key else f"{subject}: {reason}"
    if kind == "string_too_short":
        return f'{subject}: "{key}" must not be empty'
    if kind == "greater_than":
        return f'{subject}: "{key}" should be more than {context["gt"]:g}, found {found}'
    wanted = _WANTED.get(kind)
    if wanted:
        return (
            f'{subject}: "{key}" should be {wanted}, found {found}'
            if key
            else f"{subject} should be {wanted}, found {found}"
        )
    message = item["msg"].removeprefix("Input ")
    return (
        f'{subject}: "{key}" {message[:1].lower()}{message[1:]}, found {found}' if key else f"{subject}: {item['msg']}"
    )


def _written_location(location: Location, raw: Any, *, missing: bool) -> tuple[str | int, ...]:
    """The parts of a location that stand in the file, without the names that pydantic gives to branches of a union."""
    written: list[str | int] = []
    for position, part in enumerate(location):
        in_list = isinstance(raw, (list, tuple)) and isinstance(part, int) and part < len(raw)
        # A key that is no text, as bytes are, goes by what it looks like.
        named = {str(key): key for key in raw} if isinstance(raw, Mapping) else {}
        if in_list or (isinstance(raw, Mapping) and part in raw):
            raw = raw[part]
        elif part in named:
            raw = raw[named[str(part)]]
        elif not (missing and position == len(location) - 1):
            continue
        written.append(part)
    return tuple(written)


def _siblings(raw: Any, location: Location) -> list[str]:
    """The keys that stand beside the place at `location`."""
    for part in location[:-1]:
        if isinstance(raw, Mapping) and part in raw:
            raw = raw[part]
    return [str(key) for key in raw] if isinstance(raw, Mapping) else []


def _known_keys(model: type[BaseModel] | None, location: Location) -> list[str]:
    for part in location:
        field = model.model_fields.get(str(part)) if model is not None else None
        below = field.annotation if field is not None else None
        model = below if isinstance(below, type) and issubclass(below, BaseModel) else None
    return list(model.model_fields) if model is not None else []
