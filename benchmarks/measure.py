"""Timing in one way for all benchmarks: interleaved rounds, medians, ratios to a floor."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence


def interleaved(actions: Mapping[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """The median seconds of each action; every round runs all of them, so that drift hits them alike."""
    times: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            start = time.perf_counter()
            action()
            times[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in times.items()}


def python(code: str) -> Callable[[], object]:
    """An action that runs `code` in a new interpreter."""
    return lambda: subprocess.run([sys.executable, "-c", code], check=True)


def table(rows: Sequence[tuple[str, ...]]) -> None:
    """Print rows in columns, the first one left-aligned."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        cells = [row[0].ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True))]
        print("  ".join(cells))
