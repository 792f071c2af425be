"""How long cases took in earlier runs, so that the long ones can go first."""

from __future__ import annotations

import contextlib
import hashlib
import heapq
import json
from collections.abc import Mapping
from pathlib import Path

from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.execution.cache import cache_folder

# Where cases are all short, their order does not matter.
_WORTH_KNOWING_S = 0.1
_AT_MOST = 2_000

Times = dict[tuple[str, str], float]


def recall_times(problem: ProblemConfig, checkpoint: CheckpointConfig) -> Times:
    """The seconds of the longest cases, by group and id, as far as they are known."""
    try:
        stored = json.loads(_file(problem, checkpoint).read_text(encoding="utf-8"))
        return {(group, case): float(seconds) for group, case, seconds in stored}
    except (OSError, ValueError, TypeError):
        return {}


def remember_times(
    problem: ProblemConfig, checkpoint: CheckpointConfig, times: Mapping[tuple[str, str], float]
) -> None:
    """Keep the longest cases' seconds, beside those of cases that did not run this time."""
    known = recall_times(problem, checkpoint)
    merged = {**known, **times}
    longest = heapq.nlargest(_AT_MOST, merged.items(), key=lambda item: item[1])
    kept = [[*case, round(seconds, 3)] for case, seconds in longest if seconds >= _WORTH_KNOWING_S]
    if not kept and not known:
        return
    file = _file(problem, checkpoint)
    # Knowing it is a convenience: a full disk or a cache that cannot be written to is no reason to fail.
    with contextlib.suppress(OSError):
        file.parent.mkdir(parents=True, exist_ok=True)
        partial = file.with_suffix(f".{hashlib.sha256(repr(kept).encode()).hexdigest()[:8]}.partial")
        partial.write_text(json.dumps(kept), encoding="utf-8")
        partial.replace(file)


def _file(problem: ProblemConfig, checkpoint: CheckpointConfig) -> Path:
    place = hashlib.sha256(f"{problem.path}\0{checkpoint.name}".encode()).hexdigest()[:16]
    return cache_folder() / "times" / f"{problem.name.replace('/', '_')[:40]}-{place}.json"
