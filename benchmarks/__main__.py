"""`make bench`: run every measurement, or those named on the command line, and print tables of ratios."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Callable

from benchmarks import api, drivers, evaluation, imports, judging, loading, rejudging, resuming, scale, startup

BENCHMARKS: dict[str, Callable[[], None]] = {
    "imports": imports.main,
    "startup": startup.main,
    "loading": loading.main,
    "drivers": drivers.main,
    "api": api.main,
    "judging": judging.main,
    "evaluation": evaluation.main,
    "scale": scale.main,
    "rejudging": rejudging.main,
    "resuming": resuming.main,
}


def main(names: list[str]) -> int:
    unknown = [name for name in names if name not in BENCHMARKS]
    if unknown:
        print(f"unknown benchmark {unknown[0]!r}: one of {', '.join(BENCHMARKS)}", file=sys.stderr)
        return 2
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    for name in names or BENCHMARKS:
        print(f"\n== {name}")
        BENCHMARKS[name]()
    return 0


sys.exit(main(sys.argv[1:]))
