"""Models that keep keys they do not know, readable as attributes under any name."""

from __future__ import annotations

from typing import Self

from pydantic import BaseModel, ConfigDict, model_validator


class ReadableExtras(BaseModel):
    """Extra values can be read as attributes, also those named like a method that pydantic gives every model.

    `expected.schema` is what the author wrote there, not `BaseModel.schema`.
    """

    model_config = ConfigDict(defer_build=True)

    @model_validator(mode="after")
    def _extras_before_methods(self) -> Self:
        for name, value in (self.model_extra or {}).items():
            if hasattr(type(self), name):
                self.__dict__[name] = value
        return self
