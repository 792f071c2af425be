"""What goes from a desk to the evaluator: cases to run."""

from __future__ import annotations

import signal
from typing import NamedTuple

from slop_code.evaluation.adapters.models import BaseCase

# Has a desk tell where its code is.
SHOW_TRACE = signal.SIGUSR2


class HandedOut(NamedTuple):
    """A case to run. Its tracked files include those that are expected. `wanted` is false for one that only has to
    run for the state that it leaves."""

    position: int
    case: BaseCase
    wanted: bool
    trouble: str = ""
    """Why it cannot be put to a submission, if that is known already."""


class Handful(NamedTuple):
    """The next cases of a group; after the last one, why there are no more: an error, or None if all is well."""

    cases: tuple[HandedOut, ...]
    complete: bool
    error: str | None = None
