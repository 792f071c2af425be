"""`slop-code schema`: JSON Schemas for editors, made from the models that read the files."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Annotated, Any

import typer

Json = dict[str, Any]


def schema(
    name: Annotated[str | None, typer.Argument(help="config, case or environment; all of them when left out.")] = None,
    write: Annotated[Path | None, typer.Option(help="Write NAME.schema.json files into this folder instead.")] = None,
) -> None:
    """Print the JSON Schema of a file format, or write them all for an editor to use.

    \b
    Examples:
      slop-code schema config > config.schema.json
      slop-code schema --write schemas/
    """
    schemas = generate_schemas()
    if name is not None and name not in schemas:
        raise typer.BadParameter(f'unknown format "{name}": one of {", ".join(schemas)}')
    chosen = schemas if name is None else {name: schemas[name]}
    if write is None:
        for item in chosen.values():
            typer.echo(rendered(item), nl=False)
        return
    write.mkdir(parents=True, exist_ok=True)
    for key, item in chosen.items():
        (write / f"{key}.schema.json").write_text(rendered(item), encoding="utf-8")


def rendered(item: Json) -> str:
    """A schema as the text that is shipped."""
    return json.dumps(item, indent=2, ensure_ascii=False, sort_keys=True) + "\n"


def shipped_folder() -> Path:
    """Where the schemas that come with the package are."""
    return Path(str(resources.files("slop_code") / "schemas"))


def generate_schemas() -> dict[str, Json]:
    """The schema of each file format, by its name."""
    from pydantic import TypeAdapter

    from slop_code.evaluation.config import ProblemConfig
    from slop_code.evaluation.loaders.case_file_models import CaseFile
    from slop_code.execution.environment import (
        DockerEnvironmentSpec,
        LocalEnvironmentSpec,
        SandboxEnvironmentSpec,
    )

    environments: Any = TypeAdapter(LocalEnvironmentSpec | SandboxEnvironmentSpec | DockerEnvironmentSpec)
    schemas = {
        "config": _config_schema(ProblemConfig.model_json_schema()),
        "case": CaseFile.model_json_schema(),
        "environment": _without_union_noise(environments.json_schema()),
    }
    titles = {
        "config": "A problem of slop-code (config.yaml)",
        "case": "A case file of slop-code",
        "environment": "An environment of slop-code",
    }
    return {
        name: {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            **_lenient(item),
            "title": titles[name],
        }
        for name, item in schemas.items()
    }


def _config_schema(item: Json) -> Json:
    """What a file may hold, which is less than what the objects made from it hold."""
    definitions = item["$defs"]
    for owner, names in (
        (item, ["path"]),
        (definitions["CheckpointConfig"], ["name"]),
        (definitions["GroupConfig"], ["name"]),
    ):
        for name in names:
            owner["properties"].pop(name)
            if name in owner.get("required", []):
                owner["required"].remove(name)
    definitions["CheckpointConfig"]["required"].remove("path")
    item["properties"]["checkpoints"] = {
        "description": "Names with their bodies, or a list of names whose bodies are in <name>/config.yaml.",
        "anyOf": [item["properties"]["checkpoints"], {"type": "array", "items": {"type": ["string", "integer"]}}],
    }
    kinds = ["file_based", "generated"]
    definitions["GroupType"] = {"type": "string", "anyOf": _any_case([*definitions["GroupType"]["enum"], *kinds])}
    for owner, name in ((item, "difficulty"), (definitions["CheckpointConfig"], "state")):
        field = owner["properties"][name]
        field["anyOf"] = _any_case(field.pop("enum"))
    return item


def _any_case(options: list[str]) -> list[Json]:
    """Offer the options as written, and accept them in any case."""
    patterns = "|".join("".join(f"[{c.upper()}{c.lower()}]" if c.isalpha() else c for c in o) for o in options)
    return [{"enum": options}, {"pattern": f"^({patterns})$"}]


def _without_union_noise(item: Json) -> Json:
    for definition in item["$defs"].values():
        if "type" in definition.get("properties", {}):
            definition["required"] = sorted({*definition.get("required", []), "type"})
    return item


def _lenient(node: Any) -> Any:
    """Accept what the models accept: numbers written as text, text written as a number, null for an empty list."""
    if isinstance(node, list):
        return [_lenient(item) for item in node]
    if not isinstance(node, dict):
        return node
    result = {key: _lenient(value) for key, value in node.items()}
    kind = result.get("type")
    if kind == "integer":
        result |= {"type": ["integer", "string"], "pattern": r"^\s*[-+]?[0-9]+\s*$"}
    elif kind == "number":
        result |= {"type": ["number", "string"], "pattern": r"^\s*[-+]?[0-9]*\.?[0-9]+([eE][-+]?[0-9]+)?\s*$"}
    elif kind == "string" and not {"enum", "const", "pattern", "anyOf", "format"} & result.keys():
        result["type"] = ["string", "number"]
    if isinstance(result.get("additionalProperties"), dict) and "env" in str(result.get("title", "")).lower():
        result["additionalProperties"] = {"type": ["string", "number", "boolean"]}
    return result
