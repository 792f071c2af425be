"""Loading a large problem, and enumerating many generated cases."""

from __future__ import annotations

import tempfile
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import yaml

from benchmarks.measure import interleaved, table
from slop_code.evaluation import ProblemConfig, initialize_loader
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store

CHECKPOINTS, GROUPS, CASES = 84, 6, 10_000

LOADER = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader

class Loader(BaseLoader):
    def __call__(self, group, store):
        for n in range(group.num_cases):
            yield CLICase(id=f"case_{n}", arguments=["add", str(n), "2"]), CLIResult(output=f"{n + 2}\\n", status_code=0)
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        _configuration(Path(folder))
        _enumeration(Path(folder))


def _configuration(folder: Path) -> None:
    checkpoints = {
        f"checkpoint_{n}": {
            "groups": {f"group_{g}": {"type": "Core", "timeout": 5, "case_order": ["a", "b"]} for g in range(GROUPS)},
            "regressions": [{"checkpoint": f"checkpoint_{n - 1}"}] if n > 1 else [],
        }
        for n in range(1, CHECKPOINTS + 1)
    }
    _write(folder, {"checkpoints": checkpoints})
    text = (folder / "config.yaml").read_text()
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    times = interleaved(
        {
            "yaml.load with libyaml (floor)": lambda: yaml.load(text, Loader=loader),
            "ProblemConfig.from_yaml": lambda: ProblemConfig.from_yaml(folder),
        },
        rounds=9,
    )
    floor = next(iter(times.values()))
    print(f"{CHECKPOINTS} checkpoints x {GROUPS} groups, each importing the one before:")
    table(
        [
            ("", "ms", "ratio"),
            *((name, f"{seconds * 1000:.1f}", f"{seconds / floor:.2f}") for name, seconds in times.items()),
        ]
    )


def _enumeration(folder: Path) -> None:
    rows = [("cases through a loader", "us a case", "ratio", "peak MB")]
    for count in (CASES // 10, CASES):
        _write(folder, {"checkpoints": {"one": {"groups": {"core": {"type": "Core", "description": f"{count}"}}}}})
        (folder / "loader.py").write_text(LOADER)
        problem = ProblemConfig.from_yaml(folder)
        checkpoint = problem.checkpoints["one"]
        group = checkpoint.groups["core"].model_copy(update={"num_cases": count})
        loader = initialize_loader(problem, checkpoint)

        def ours() -> None:
            store = make_store(loader, problem, checkpoint)  # noqa: B023
            assert sum(1 for _ in iterate_cases(loader, problem, checkpoint, group, store)) == count  # noqa: B023

        def floor() -> None:
            assert sum(1 for _ in loader(group, loader.initialize_store())) == count  # noqa: B023

        times = interleaved({"the loader alone (floor)": floor, "iterate_cases": ours}, rounds=5)
        for name, action in (("the loader alone (floor)", floor), ("iterate_cases", ours)):
            seconds = times[name]
            rows.append(
                (
                    f"{count:,}: {name}",
                    f"{seconds / count * 1e6:.1f}",
                    f"{seconds / times['the loader alone (floor)']:.2f}",
                    f"{_peak(action):.2f}",
                )
            )
    table(rows)


def _peak(action: Callable[[], None]) -> float:
    tracemalloc.start()
    action()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak / 1e6


def _write(folder: Path, config: dict[str, object]) -> None:
    base: dict[str, object] = {
        "name": "bench",
        "version": 1,
        "description": "A problem to measure with.",
        "entry_file": "main",
        "adapter": {"type": "cli"},
    }
    (folder / "config.yaml").write_text(yaml.safe_dump({**base, **config}, sort_keys=False))
