"""What was observed of a submission, for those who need not know how it was run."""

from __future__ import annotations

from typing import NamedTuple

from slop_code.evaluation.adapters.models import CaseResult


class Observation(NamedTuple):
    """What a submission did with one case, apart from any verdict."""

    result: CaseResult
    run_s: float = 0.0
    cpu_s: float | None = None
    peak_memory: int | None = None
    cut: bool = False
    warnings: tuple[str, ...] = ()
    attempts: int = 1
    fault: str = ""
    """Why there is nothing to judge, if that is the submission's own fault: it could not even be started."""
    met_limit: bool = False
    """Whether the program was ended before its time, because of a limit or because it could not be watched over."""
    row_run: str = ""
    """Where cases are in a row: the run of that row which it is from, by a name that no other has."""
