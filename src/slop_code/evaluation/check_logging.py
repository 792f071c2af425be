"""What the ready loader and the ready verifier log while a package is checked, as findings of that check."""

from __future__ import annotations

import re
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

from slop_code.evaluation.check_places import Spot
from slop_code.findings import Finding, Findings
from slop_code.logging import ensure_configured

_SOURCES = frozenset({"slop_code.evaluation.loaders.case_files", "slop_code.evaluation.verifiers.ready"})
# The verifier names the case that it speaks of; a spot does so, too.
_CASE = re.compile(r"^case [^:]*: ")


@contextmanager
def logged_as_findings(findings: Findings, spot: Spot | None = None, *below: str | int) -> Iterator[None]:
    """Make a warning of each line that is logged in the block, which is not to run any author's code.

    With a `spot` the warnings are about what stands `below` it; without one they name their place themselves.
    """
    from structlog.testing import capture_logs

    ensure_configured()
    lines: list[Any] = []
    try:
        with capture_logs() as lines:
            yield
    finally:
        for line in lines:
            if spot is None:
                findings.add(Finding("warning", str(line["event"]), ""))
            else:
                spot.report("warning", _CASE.sub("", str(line["event"])), findings, *below)


@contextmanager
def found_before() -> Iterator[None]:
    """Do not log in the block, nor in processes that begin in it, what a check made findings of."""
    import structlog

    ensure_configured()
    processors = structlog.get_config()["processors"]
    structlog.configure(processors=[_drop_found, *processors])
    try:
        yield
    finally:
        structlog.configure(processors=processors)


def _drop_found(_logger: Any, _method: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    if event.get("logger") in _SOURCES:
        from structlog import DropEvent

        raise DropEvent
    return event
