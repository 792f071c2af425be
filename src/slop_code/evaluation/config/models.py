"""What a problem package says about itself: problem, checkpoints, groups, regressions.

These are the objects that loaders and verifiers are given. They are made from YAML by `reading`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, ConfigDict, Field, field_validator, model_validator

from slop_code.evaluation.adapters.api import APIAdapterConfig
from slop_code.evaluation.adapters.cli import CLIAdapterConfig
from slop_code.evaluation.adapters.models import GroupType, Seconds, as_priority, refuse_bool
from slop_code.evaluation.config.errors import ConfigError
from slop_code.extras import ReadableExtras
from slop_code.findings import did_you_mean, listed
from slop_code.paths import shown_path

WholeNumber = Annotated[int, BeforeValidator(refuse_bool)]
AdapterConfig = Annotated[CLIAdapterConfig | APIAdapterConfig, Field(discriminator="type")]

# The loader guide's names for how a group's cases come about; they say nothing about what the group is for.
GROUP_KINDS = ("file_based", "generated")


def _any_case(value: Any, options: tuple[str, ...]) -> Any:
    if isinstance(value, str):
        return next((option for option in options if option.lower() == value.strip().lower()), value)
    return value


_DIFFICULTIES = ("Easy", "Medium", "Hard")
_STATES = ("Draft", "Core Tests", "Full Tests", "Verified")
Difficulty = Annotated[
    Literal["Easy", "Medium", "Hard"], BeforeValidator(lambda value: _any_case(value, _DIFFICULTIES))
]
State = Annotated[
    Literal["Draft", "Core Tests", "Full Tests", "Verified"],
    BeforeValidator(lambda value: _any_case(value, _STATES)),
]


class _Extensible(ReadableExtras):
    """Keys that we do not know are kept: read them as attributes or with `get`."""

    model_config = ConfigDict(extra="allow", coerce_numbers_to_str=True, defer_build=True)

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a key, known or extra, or `default`."""
        return getattr(self, name, default)


class GroupConfig(_Extensible):
    """A set of cases that are loaded, run and scored together."""

    name: str = Field(min_length=1)
    type: GroupType = Field(default=GroupType.CORE, description="What the cases are for.")
    kind: str | None = Field(default=None, description="How the cases come about: file_based or generated.")
    description: str = ""
    group_files: set[str] = Field(default=set(), description="Files of the group's folder that are not cases.")
    case_order: list[str] = Field(default=[], description="Case names in the order in which they run.")
    case_defaults: dict[str, Any] = Field(default={}, description="Values for what a case does not set.")
    timeout: Seconds | None = Field(
        default=None, description="Seconds a case may take; can lengthen what is inherited, never shorten it."
    )
    filters: dict[str, Any] = Field(
        default={}, description="Take only cases with one of `tags`, of at least `priority`."
    )
    isolated: bool = Field(default=True, description="Give every case a fresh workspace.")
    original_checkpoint: str | None = None
    original_group: str | None = None
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(refuse_bool)] = 1.0
    exclusive: bool = Field(default=False, description="Run nothing else on the machine at the same time.")

    @model_validator(mode="before")
    @classmethod
    def _read_kind(cls, data: Any) -> Any:
        kind = data.get("type") if isinstance(data, Mapping) else None
        if isinstance(kind, str) and kind.strip().lower() in GROUP_KINDS:
            return {**data, "type": GroupType.FUNCTIONALITY, "kind": kind.strip().lower()}
        return data

    @field_validator("group_files", "case_order", "case_defaults", "filters", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any, info: Any) -> Any:
        return ({} if info.field_name in {"case_defaults", "filters"} else []) if value is None else value

    @field_validator("filters")
    @classmethod
    def _ranked(cls, value: dict[str, Any]) -> dict[str, Any]:
        if value.get("priority") is not None:
            value["priority"] = as_priority(value["priority"])
        return value

    @model_validator(mode="after")
    def _both_originals(self) -> Self:
        if (self.original_checkpoint is None) != (self.original_group is None):
            raise ValueError('"original_checkpoint" and "original_group" belong together: set both or neither')
        if self.original_group is not None and self.type != GroupType.REGRESSION:
            raise ValueError(
                f'only a group of type Regression can have an "original_group", and this one is {self.type}'
            )
        return self

    def get_real_name(self) -> str:
        """The name of the folder that the cases come from: the original group's, for a regression."""
        return self.original_group or self.name


class RegressionSpec(_Extensible):
    """Groups of earlier checkpoints that must go on passing."""

    checkpoint: str | None = None
    checkpoints: list[str] | Literal["*"] | None = Field(
        default=None, description='Several sources, or "*" for every checkpoint of lower order.'
    )
    groups: list[str] = Field(default=[], description="Which groups to take; all of them when empty.")
    type_filter: GroupType | None = Field(default=None, description="Take only groups of this type.")
    exclude: list[str] = Field(default=[], description="Groups to leave out.")
    name_template: str = Field(
        default="{checkpoint}_{group}", description="Name of each imported group; also knows {idx}."
    )

    @field_validator("checkpoints", mode="before")
    @classmethod
    def _list_or_star(cls, value: Any) -> Any:
        if isinstance(value, str) and value != "*":
            raise ValueError(f'should be a list of checkpoints or "*"; for one checkpoint write "checkpoint: {value}"')
        return value

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        if (self.checkpoint is None) == (self.checkpoints is None):
            raise ValueError('needs exactly one of "checkpoint" and "checkpoints"')
        return self


class LegacyLoader(_Extensible):
    """The `loader:` block of older packages; the script may since have moved on to a class."""

    type: str = "script"
    path: str | None = None
    entrypoint: str | None = None


class CheckpointConfig(_Extensible):
    """A milestone of the specification, with the groups of cases that judge it."""

    name: str = Field(default="", description="The last component of `path`.")
    path: Path = Field(description="The checkpoint's folder, relative to the problem.")
    version: WholeNumber = 1
    order: WholeNumber = 1
    groups: dict[str, GroupConfig] = {}
    regressions: list[RegressionSpec] = []
    specification: str = "spec.md"
    state: State = "Draft"
    constant_files: set[str] = Field(default=set(), description="Files of the submission that may not change.")
    env: dict[str, str] = {}
    timeout: Seconds | None = Field(default=None, description="Seconds a case may take; null means no limit.")
    exclusive: bool = Field(default=False, description="Run nothing else on the machine at the same time.")
    loader: LegacyLoader | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_groups(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        values = dict(data)
        if isinstance(values.get("groups"), Mapping):
            values["groups"] = {
                str(name): {**body, "name": str(name)} if isinstance(body, Mapping) else body
                for name, body in values["groups"].items()
            }
        return values

    @field_validator("groups", "regressions", "constant_files", "env", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any, info: Any) -> Any:
        return ({} if info.field_name in {"groups", "env"} else []) if value is None else value

    @model_validator(mode="after")
    def _name_from_path(self) -> Self:
        if not self.name:
            self.name = self.path.name
        return self

    def get_spec_text(self) -> str:
        """The text of the specification.

        Raises:
            ConfigError: the file is missing or is not UTF-8 text.
        """
        path = self.path / self.specification
        try:
            return path.read_text(encoding="utf-8")
        except FileNotFoundError:
            raise ConfigError(f'{shown_path(path)}: the specification of checkpoint "{self.name}" is missing') from None
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{shown_path(path)}: the specification cannot be read: {error}") from error


class StaticAsset(_Extensible):
    """A file or folder of the problem that submissions may read."""

    path: str = Field(min_length=1, description="Relative to the problem.")
    save_path: str | None = Field(default=None, description="The path below the assets folder that submissions see.")


class ProblemConfig(_Extensible):
    """A problem package: what is asked, in which steps, and how submissions are reached."""

    name: str = Field(min_length=1)
    version: WholeNumber
    description: str
    entry_file: str = Field(
        min_length=1, description="The program, without its suffix; the environment's pattern adds that."
    )
    adapter: AdapterConfig
    path: Path = Path()
    checkpoints: dict[str, CheckpointConfig] = {}
    tags: list[str] = []
    author: str | None = None
    inspiration: str | None = None
    category: str = "NOT_SET"
    difficulty: Difficulty = "Easy"
    design_doc: str | None = None
    static_assets: dict[str, StaticAsset] = {}
    loader_script: str = Field(default="loader.py", description='A script of the problem, or "builtin:files".')
    loader_entrypoint: str | None = Field(default=None, description="The loader's class.")
    verifier_script: str | None = Field(default=None, description="Default: verifier.py, if there is one.")
    verifier_entrypoint: str | None = Field(default=None, description="The verifier's class.")
    env: dict[str, str] = Field(default={}, description="Environment variables of the submission.")
    timeout: Seconds | None = Field(default=None, description="Seconds a case may take; null means no limit.")
    exclusive: bool = Field(default=False, description="Run nothing else on the machine at the same time.")
    loader: LegacyLoader | None = None

    @field_validator("tags", "static_assets", "env", mode="before")
    @classmethod
    def _none_is_empty(cls, value: Any, info: Any) -> Any:
        return ([] if info.field_name == "tags" else {}) if value is None else value

    @classmethod
    def from_yaml(cls, path: str | Path) -> Self:
        """Read a problem from its folder or its `config.yaml`; oddities are logged as warnings.

        Raises:
            ConfigError: something is wrong; the text shows everything that is.
        """
        from slop_code.evaluation.config.reading import read_problem

        return read_problem(Path(path), cls)

    def load_checkpoint(self, name: str) -> CheckpointConfig:
        """The checkpoint of that name.

        Raises:
            ConfigError: there is none; the text names those that exist.
        """
        found = find_checkpoint(self.checkpoints, name)
        if found is None:
            raise ConfigError(
                f'problem "{self.name}" has no checkpoint "{name}"{did_you_mean(name, self.checkpoints)}: '
                f"it has {listed(name for name, _ in self.iterate_checkpoint_items())}"
            )
        return found

    def iterate_checkpoints(self) -> Iterator[CheckpointConfig]:
        """The checkpoints by order, then name."""
        for _, checkpoint in self.iterate_checkpoint_items():
            yield checkpoint

    def iterate_checkpoint_items(self) -> Iterator[tuple[str, CheckpointConfig]]:
        """The checkpoints with the names they are configured under, by order, then name."""
        yield from sorted(self.checkpoints.items(), key=lambda item: (item[1].order, item[0]))


def find_checkpoint(checkpoints: Mapping[str, CheckpointConfig], name: str) -> CheckpointConfig | None:
    """A checkpoint by the key it is configured under, or by its name (they differ when `path` is set)."""
    if name in checkpoints:
        return checkpoints[name]
    return next((checkpoint for checkpoint in checkpoints.values() if checkpoint.name == name), None)
