"""Command-line cases: a command line in, streams and an exit code out."""

from __future__ import annotations

from typing import ClassVar, Literal

from slop_code.evaluation.adapters.base import BaseAdapterConfig
from slop_code.evaluation.adapters.models import BaseCase, CaseResult, Text


class CLIAdapterConfig(BaseAdapterConfig):
    """`adapter: {type: cli}`."""

    type: Literal["cli"] = "cli"


class CLICase(BaseCase):
    """Arguments are shell fragments, joined by single spaces without quoting."""

    made_for: ClassVar[str] = "cli"

    stdin: Text | None = None


class CLIResult(CaseResult):
    """`command` is the exact command line that ran."""

    type: str = "cli"
    command: str | None = None
