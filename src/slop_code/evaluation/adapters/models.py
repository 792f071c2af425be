"""What a case is and what running one gives: the models every adapter builds on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from pathlib import PurePath
from typing import Annotated, Any, ClassVar, Self

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    field_validator,
    model_validator,
)

from slop_code.errors import SlopCodeError
from slop_code.execution.file_ops import InputFile
from slop_code.extras import ReadableExtras

# Fields that have a value in every case or result.
_NOT_NOTHING = frozenset(
    {
        *("adapter_error", "arguments", "checkpoint", "description", "elapsed", "files", "group", "headers", "id"),
        *("input_files", "metadata", "method", "name", "order", "path", "priority", "query", "reset", "retries"),
        *("status_code", "tags", "timed_out", "tracked_files", "type"),
    }
)
# Values of a case that are text, whatever YAML makes of them: `[add, 1.50, yes]` is what the author sees.
TEXT_KEYS = frozenset({"argv", "arguments", "id", "name", "stdin", "tags"})


class CaseResultError(SlopCodeError):
    """An attribute was asked of a case or a result that it does not have."""


class GroupType(StrEnum):
    """What a group of cases is for. Compares and hashes equal to its plain string."""

    CORE = "Core"
    FUNCTIONALITY = "Functionality"
    ERROR = "Error"
    REGRESSION = "Regression"

    @classmethod
    def _missing_(cls, value: object) -> GroupType | None:
        if isinstance(value, str):
            return next((member for member in cls if member.value.lower() == value.strip().lower()), None)
        return None


def refuse_bool(value: object) -> object:
    if isinstance(value, bool):
        raise ValueError("should be a number, not true or false")
    return value


def _text(value: object) -> object:
    plain = isinstance(value, (int, float)) and not isinstance(value, bool)
    return str(value) if plain or isinstance(value, PurePath) else value


def _real_name(value: object) -> object:
    # A Mock has every attribute; what a loader under test reads of one is not a value.
    return None if type(value).__module__ == "unittest.mock" else value


class Priority(str):
    """`low`, `normal` or `high`: text that is ordered by rank, also among numbers (0, 1 and 2)."""

    __slots__ = ()

    def __lt__(self, other: object) -> bool:
        return rank(self) < rank(other)

    def __le__(self, other: object) -> bool:
        return rank(self) <= rank(other)

    def __gt__(self, other: object) -> bool:
        return rank(self) > rank(other)

    def __ge__(self, other: object) -> bool:
        return rank(self) >= rank(other)


def rank(priority: object) -> float:
    """A priority as a number: low, normal and high are 0, 1 and 2."""
    text = str(priority).strip().lower()
    if text in _RANKS:
        return _RANKS[text]
    try:
        return float(text)
    except ValueError:
        raise ValueError(f'unknown priority "{priority}": use low, normal, high or a number') from None


def as_priority(value: Any) -> Any:
    """A priority as it is kept on a case or in a filter: a number, or a word that compares by its rank."""
    if value is None or isinstance(value, bool):
        raise ValueError("should be low, normal, high or a number")
    if isinstance(value, (int, float)):
        return value
    number = rank(value)
    return Priority(value) if str(value).strip().lower() in _RANKS else int(number) if number.is_integer() else number


_RANKS = {"low": 0.0, "normal": 1.0, "high": 2.0}
Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False), BeforeValidator(refuse_bool)]
Text = Annotated[str, BeforeValidator(_text)]
OriginalName = Annotated[str | None, BeforeValidator(_real_name)]


class _Attributes(ReadableExtras):
    def get_attr(self, name: str, key_path: str | Sequence[str | int] | None = None) -> Any:
        """The attribute `name`, or what lies below it at `key_path` (`"user.name"` or a list of keys).

        Raises:
            CaseResultError: there is no such attribute, or no such key on the way.
        """
        try:
            value = getattr(self, name)
        except AttributeError:
            raise CaseResultError(f"{type(self).__name__} has no attribute {name!r}") from None
        if key_path is None:
            return value
        keys: Sequence[str | int] = key_path.split(".") if isinstance(key_path, str) else key_path
        for key in keys:
            try:
                value = value[int(key)] if isinstance(value, Sequence) and not isinstance(value, str) else value[key]
            except (KeyError, IndexError, TypeError, ValueError):
                path = ".".join(map(str, keys))
                raise CaseResultError(f"{name!r} of this {type(self).__name__} has nothing at {path!r}") from None
        return value


class BaseCase(_Attributes):
    """One thing to ask of a submission. Extra fields are kept and readable as attributes.

    `group`, `group_type`, `checkpoint` and `original_*` may be left out: they are filled in from the
    group at hand when the case is run.
    """

    model_config = ConfigDict(extra="allow", defer_build=True)
    made_for: ClassVar[str] = ""

    id: Annotated[Text, Field(min_length=1)]
    name: str = Field(default="", description="The same as `id`, always.")
    group: str = ""
    group_type: GroupType | None = None
    checkpoint: str = ""
    original_group: OriginalName = None
    original_checkpoint: OriginalName = None
    order: int = -1
    arguments: list[Text] = []
    timeout_s: Seconds | None = Field(default=None, description="Set to None, it means no limit.")
    input_files: list[InputFile] = []
    tracked_files: list[str] = []
    reset: bool = False
    description: str = ""
    tags: list[str] = []
    priority: Annotated[Any, PlainValidator(as_priority)] = 0
    metadata: dict[str, Any] = {}

    @model_validator(mode="before")
    @classmethod
    def _read_aliases(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        # What may not be nothing and is nothing was not given.
        values = {key: value for key, value in data.items() if value is not None or key not in _NOT_NOTHING}
        for alias, field in (("name", "id"), ("timeout", "timeout_s")):
            if alias in values:
                values.setdefault(field, values.pop(alias))
                values.pop(alias, None)
        return values

    @field_validator("arguments", mode="before")
    @classmethod
    def _one_fragment(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @field_validator("tracked_files", mode="before")
    @classmethod
    def _plain_paths(cls, value: Any) -> Any:
        if isinstance(value, (list, tuple, set, frozenset)):
            items = sorted(value, key=str) if isinstance(value, (set, frozenset)) else value
            return [item.as_posix() if hasattr(item, "as_posix") else item for item in items]
        return [value] if isinstance(value, str) else value

    @field_validator("tags", mode="before")
    @classmethod
    def _one_tag(cls, value: Any) -> Any:
        return [value] if isinstance(value, str) else value

    @model_validator(mode="after")
    def _same_name(self) -> Self:
        # Written past the model so that it does not count as set by the author.
        self.__dict__["name"] = self.id
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        if name in {"id", "name"}:
            super().__setattr__("id", value)
            self.__dict__["name"] = value
        else:
            super().__setattr__("timeout_s" if name == "timeout" else name, value)

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        copy = super().model_copy(update=update, deep=deep)
        if update and "name" in update and "id" not in update:
            copy.id = update["name"]
        copy.__dict__["name"] = copy.id
        return copy


class CaseResult(_Attributes):
    """What running a case gave, or, from a loader, what it is expected to give.

    Frozen, but `files` and other mappings and lists may be changed in place. An expected result
    may carry extra fields for the verifier to read.
    """

    model_config = ConfigDict(extra="allow", frozen=True, defer_build=True)

    id: Text = ""
    group: str = ""
    group_type: GroupType | None = None
    type: str = "base"
    elapsed: float = 0.0
    status_code: Annotated[int, BeforeValidator(refuse_bool)] = 0
    resource_path: Annotated[str | None, BeforeValidator(_text)] = None
    adapter_error: bool = False
    output: Any = None
    stderr: Any = None
    timed_out: bool = False
    files: Any = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _read_aliases(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        values = {key: value for key, value in data.items() if value is not None or key not in _NOT_NOTHING}
        if "execution_time" in values:
            values.setdefault("elapsed", values.pop("execution_time"))
        return values

    @field_validator("files", mode="before")
    @classmethod
    def _files(cls, value: Any) -> Any:
        if value is None:
            return {}
        if isinstance(value, Mapping):
            return {str(name): content for name, content in value.items()}
        if isinstance(value, (list, tuple)):
            for spec in value:
                if not (isinstance(spec, Mapping) and isinstance(spec.get("path"), str)):
                    raise ValueError('a list of files needs a "path" in every entry')
            return list(value)
        raise ValueError("should be a mapping of names to contents, or a list of {path, content}")

    @property
    def execution_time(self) -> float:
        """The same as `elapsed`."""
        return self.elapsed

    def files_by_name(self) -> dict[str, Any]:
        """`files` as a mapping, whichever way it was written: a spec gives what it expects, or None."""
        if isinstance(self.files, dict):
            return self.files
        return {spec["path"]: _expected_of(spec) for spec in self.files}

    def filled_in(self, **values: Any) -> Self:
        """A copy that shares every mapping and list, with empty fields among `values` filled in."""
        missing = {name: value for name, value in values.items() if not getattr(self, name)}
        if not missing:
            return self
        fields_set = set(self.model_fields_set) | ({"files"} if self.files else set())
        copy = self.model_copy(update=missing)
        # What the author set is what gets verified, so filling in must not widen it.
        object.__setattr__(copy, "__pydantic_fields_set__", fields_set)
        return copy


def _expected_of(spec: Mapping[str, Any]) -> Any:
    return next((spec[key] for key in ("content", "contains", "matches") if key in spec), None)
