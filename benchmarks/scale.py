"""Memory and time of the evaluator itself, by the number of cases; a stand-in takes the place of the program."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.measure import table

COUNTS = (1_000, 10_000, 100_000)
MEMORY_MB = 150
_TIME_SHARE = 1.10

_RUN = r"""
import json, os, resource, sys, time
from pathlib import Path

from benchmarks.evaluation import trivial_problem
from slop_code.evaluation import run_checkpoint
from slop_code.evaluation.adapters.cli import CLIResult
from slop_code.evaluation.adapters.observation import Observation
from slop_code.evaluation.lanes import Lanes
from slop_code.evaluation.listening import RunOptions
from slop_code.execution import EnvironmentSpec


class StandIn:
    def use(self): return self
    def make_fresh(self): pass
    def close(self): pass
    def run(self, case, expected):
        text = case.arguments[0] + "\n"
        result = CLIResult(id=case.id, group=case.group, group_type=case.group_type, status_code=0, output=text, stderr="")
        return Observation(result, run_s=0.001)


Lanes._make = lambda self: StandIn()
folder, count = Path(sys.argv[1]), int(sys.argv[2])
subject = trivial_problem(folder, count)
spec = EnvironmentSpec.model_validate({"type": "local", "commands": {"command": "sh"}})
checkpoint = next(subject.problem.iterate_checkpoints())
started = time.perf_counter()
results = run_checkpoint(
    subject.submission, subject.problem, checkpoint, spec,
    options=RunOptions(jobs=2), output_dir=folder / f"out-{count}", keep_reports=False,
)
seconds = time.perf_counter() - started
assert sum(results.pass_counts.values()) == count, results.errors[:3]
own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
cpu = own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime
# Not `own.ru_maxrss`: that begins with what the process had that started this one.
memory = int(Path("/proc/self/status").read_text().split("VmHWM:")[1].split()[0])
print(json.dumps({"seconds": seconds, "cpu": cpu, "memory": memory, "authors": children.ru_maxrss}))
"""


def main() -> None:
    rows = [("cases", "s", "ms a case", "CPU, ms a case", "evaluator, MB", "author process, MB")]
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for count in COUNTS:
            environment = {**os.environ, "SLOP_CODE_CACHE": f"{folder}/cache"}
            done = subprocess.run(
                [sys.executable, "-c", _RUN, folder, str(count)],
                env=environment,
                stdout=subprocess.PIPE,
                cwd=Path(__file__).parents[1],
                check=True,
            )
            values = found[count] = json.loads(done.stdout)
            rows.append(
                (
                    f"{count:,}",
                    f"{values['seconds']:.2f}",
                    f"{values['seconds'] / count * 1000:.3f}",
                    f"{values['cpu'] / count * 1000:.3f}",
                    f"{values['memory'] / 1024:.0f}",
                    f"{values['authors'] / 1024:.0f}",
                )
            )
    table(rows)
    few, many = found[COUNTS[0]], found[COUNTS[-1]]
    growth = (many["memory"] - few["memory"]) / 1024
    share = (many["seconds"] / COUNTS[-1]) / (few["seconds"] / COUNTS[0])
    print(f"From {COUNTS[0]:,} to {COUNTS[-1]:,}: {growth:+.0f} MB (at most {MEMORY_MB})", end="; ")
    print(f"time a case {share:.2f} times as long (at most {_TIME_SHARE:g}). Reports are written to disk.")
