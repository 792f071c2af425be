"""The format of a case file, as models: they check what authors write and make the JSON Schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, RootModel, model_validator

from slop_code.evaluation.adapters.models import Seconds, Text, refuse_bool
from slop_code.execution.file_ops import Compression, FileType

TextList = list[Text]


def _listed(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class InputFileBody(BaseModel):
    """A file that is put into the workspace before the case runs."""

    model_config = ConfigDict(extra="forbid", defer_build=True)

    path: str = Field(min_length=1, description="Where the file goes, relative to the workspace.")
    content: Any = Field(default=None, description="What it holds, in the shape of its type.")
    source: str | None = Field(default=None, description="Read the content from this file, relative to the case file.")
    file_type: FileType | None = Field(default=None, description="Default: by the suffix of `path`.")
    compression: Compression | None = Field(default=None, description="Default: by the suffix of `path`.")

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if "content" in self.model_fields_set and self.source is not None:
            raise ValueError('"content" and "source" exclude each other')
        return self


class FileExpectation(BaseModel):
    """What is expected of one file; with nothing but a path, that it exists."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    path: str = Field(min_length=1, description="The file, relative to the workspace.")
    content: Any = Field(default=None, description="All of its content.")
    absent: bool = Field(default=False, description="That there is no such file.")
    contains: str | None = Field(default=None, description="Text that it contains.")
    matches: str | None = Field(default=None, description="A regular expression that its content matches.")


class ExpectedBody(BaseModel):
    """What a case should give. Only what is set here is verified; a verifier may read keys of its own."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    output: Any = Field(
        default=None,
        description="Standard output or the response body; a mapping or list is compared as parsed.",
    )
    status_code: Annotated[int, BeforeValidator(refuse_bool)] = Field(
        default=0, description="Exit code or HTTP status."
    )
    stderr: Any = Field(default=None, description="Standard error.")
    timed_out: bool = Field(default=False, description="That the time runs out.")
    headers: dict[str, Text] = Field(default={}, description="HTTP headers that the answer has, among others (api).")
    weights: dict[str, Seconds] = Field(default={}, description="How much each attribute counts.")
    tolerance: Any = Field(default=None, description="How far numbers may be off.")
    files: dict[str, Any] | list[FileExpectation] = Field(default={}, description="Files after the run.")


class CaseBody(BaseModel):
    """One case. Keys that we do not know are kept on the case for loaders' and verifiers' own use."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    name: Text | None = Field(default=None, description="Unique within the group; default: the file's name.")
    id: Text | None = Field(default=None, description="The same as `name`.")
    description: str = ""
    tags: Annotated[TextList, BeforeValidator(_listed)] = []
    priority: int | str = Field(default=0, description="low, normal, high or a number; groups can filter by it.")
    metadata: dict[str, Any] = {}
    timeout: Seconds | None = Field(default=None, description="Seconds; null means no limit.")
    timeout_s: Seconds | None = Field(default=None, description="The same as `timeout`.")
    order: int = -1
    reset: bool = Field(default=False, description="Restore the workspace before this case.")
    arguments: TextList | str = Field(default=[], description="Shell fragments, joined by spaces without quoting.")
    argv: TextList | None = Field(default=None, description="Arguments that are quoted for you.")
    stdin: Text | None = None
    input_files: list[InputFileBody] | dict[str, Any] = Field(default=[], description="Files put into the workspace.")
    tracked_files: Annotated[TextList, BeforeValidator(_listed)] = Field(
        default=[], description="Files, folders and globs to collect."
    )
    method: str = Field(default="GET", description="HTTP method (api).")
    path: str = Field(default="", description="HTTP path (api).")
    query: dict[str, Any] | None = Field(default=None, description="HTTP query (api).")
    headers: dict[str, Text] | None = Field(default=None, description="HTTP headers (api).")
    body: Any = Field(default=None, description="HTTP body (api): a mapping or list is sent as JSON.")
    retries: int = Field(default=0, ge=0, description="Extra attempts on timeout or connection failure (api).")
    expected: ExpectedBody

    @model_validator(mode="after")
    def _one_command_line(self) -> Self:
        if self.argv is not None and "arguments" in self.model_fields_set:
            raise ValueError('"argv" and "arguments" exclude each other: argv is quoted for you, arguments are not')
        return self

    def input_file_specs(self) -> list[dict[str, Any]]:
        """`input_files` as keywords for `InputFile`, whichever way it was written."""
        if isinstance(self.input_files, Mapping):
            return [{"path": path, "content": content} for path, content in self.input_files.items()]
        return [spec.model_dump(exclude_unset=True) for spec in self.input_files]


class _CaseList(BaseModel):
    """Several cases; the other keys are defaults for each of them."""

    model_config = ConfigDict(extra="allow", defer_build=True)

    cases: list[CaseBody]


class CaseFile(RootModel[CaseBody | list[CaseBody] | _CaseList]):
    """A case file: one case, a list of cases, or cases with common defaults."""

    model_config = ConfigDict(defer_build=True)
