"""HTTP cases: a request to the submission's server in, its answer out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from slop_code.evaluation.adapters.base import AdapterError, BaseAdapterConfig
from slop_code.evaluation.adapters.models import BaseCase, CaseResult, Seconds, Text, refuse_bool

Count = Annotated[int, Field(ge=0), BeforeValidator(refuse_bool)]


class APIAdapterConfig(BaseAdapterConfig):
    """`adapter: {type: api, …}`: how the submission's server is started and found."""

    type: Literal["api"] = "api"
    address: Annotated[str, Field(min_length=1, description="The host that the server binds to, without a port.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int | None,
        Field(ge=1, le=65535, description="Default: a free port."),
        BeforeValidator(refuse_bool),
    ] = None
    health_path: str = Field(default="/", description="Any HTTP answer to this path means ready.")
    startup_timeout_s: Seconds = 10
    max_startup_attempts: Annotated[int, Field(ge=1), BeforeValidator(refuse_bool)] = 5
    delay_startup_attempts: Annotated[float, Field(ge=0, allow_inf_nan=False), BeforeValidator(refuse_bool)] = 5
    response_is_json: bool = Field(default=False, description="Parse answers as JSON where they are JSON.")
    arguments: list[Text] = Field(default=[], description="Appended to the server's command.")

    @field_validator("address")
    @classmethod
    def _bare_host(cls, value: str) -> str:
        if "://" in value or "/" in value or (value.count(":") == 1):
            raise ValueError('should be a bare host such as "127.0.0.1", without a scheme, port or path')
        return value

    @property
    def startup_budget_s(self) -> float:
        """How long the server has, in all, to become ready."""
        return self.max_startup_attempts * (self.startup_timeout_s + self.delay_startup_attempts)


class APICase(BaseCase):
    """One request. `query` and `arguments` exclude each other; arguments `k=v` stand for a query."""

    made_for: ClassVar[str] = "api"

    query: dict[str, Any] = {}
    method: str = "GET"
    path: str = ""
    headers: dict[str, Text] = {}
    body: Any = None
    retries: Count = 0

    @model_validator(mode="after")
    def _one_query(self) -> Self:
        if self.query and self.arguments:
            raise ValueError('"query" and "arguments" cannot both be given: put everything into "query"')
        return self

    def get_query_params(self) -> dict[str, Any]:
        """The query of the request: `query`, or what the arguments `k=v` say (a repeated key makes a list).

        Raises:
            AdapterError: an argument is not of the form `k=v`.
        """
        if self.query:
            return dict(self.query)
        params: dict[str, Any] = {}
        for argument in self.arguments:
            key, equals, value = argument.partition("=")
            if not equals:
                raise AdapterError(f'case "{self.id}": argument "{argument}" is not of the form key=value')
            if key in params:
                earlier = params[key]
                params[key] = [*earlier, value] if isinstance(earlier, list) else [earlier, value]
            else:
                params[key] = value
        return params


class APIResult(CaseResult):
    """`headers` have lower-case names; an archive answer also fills `binary_response_*`."""

    type: str = "api"
    method: str | None = None
    headers: dict[str, Text] = {}
    retries: Count = 0
    binary_response_base64: str | None = None
    binary_response_filename: str | None = None
    binary_response_size: int | None = None

    @field_validator("headers", mode="before")
    @classmethod
    def _lower_names(cls, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {str(name).lower(): content for name, content in value.items()}
        return value
