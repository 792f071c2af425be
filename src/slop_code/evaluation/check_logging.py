"""What the ready loader and the ready verifier log while a package is checked, as findings of that check."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slop_code.evaluation.check_places import Spot
from slop_code.findings import Finding, Findings
from slop_code.logging import ensure_configured


@contextmanager
def logged_as_findings(findings: Findings, spot: Spot | None = None, *below: str | int) -> Iterator[None]:
    """Make a warning of each line that is logged in the block, which is not to run any author's code.

    With a `spot` the warnings are about what stands `below` it; without one they name their place themselves.
    """
    from structlog.testing import capture_logs

    ensure_configured()
    with capture_logs() as lines:
        yield
    for line in lines:
        if spot is None:
            findings.add(Finding("warning", str(line["event"]), ""))
        else:
            spot.report("warning", str(line["event"]), findings, *below)
