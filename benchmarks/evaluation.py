"""A whole evaluation beside the bare processes that it cannot do without, one after another and many at once."""

from __future__ import annotations

import itertools
import os
import resource
import shlex
import shutil
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from tests.engines import bwrap_skip_reason, docker_skip_reason
from tests.execution.drivers import make_spec

from benchmarks import naive
from benchmarks.measure import table
from benchmarks.turns import Contestant, take_turns
from slop_code.evaluation import ProblemConfig, run_checkpoint
from slop_code.evaluation.adapters import CLIResult
from slop_code.evaluation.listening import RunOptions
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.verifiers.initialization import initialize_verifier
from slop_code.execution.cores import available_cores
from slop_code.execution.file_ops import write_input_files
from slop_code.execution.interpreter import choose_interpreter

ROOT = Path(__file__).parents[1]
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
TARGETS = {"local": 1.15, "sandbox": 1.35, "docker": 1.4}
OWN_CPU_MS = 4.0
FIXED_S = 0.3
_NAIVE_CASES = 20
# The one that the test image has, too: all drivers have to run the same program.
_SYSTEM_PYTHON = Path("/usr/bin/python3").resolve()
# What programs see in an evaluation is no more than this, and some variables cost them time.
_PLAIN = {"PATH": os.environ.get("PATH", os.defpath)}

# The cases of the example, again and again under other names, until there are enough of them.
_GROWN = """
from example_loader import {name} as Example


class Loader(Example):
    def __call__(self, group, store):
        cases = list(super().__call__(group, store))
        for number in range({rounds}):
            for case, expected in cases:
                yield case.model_copy(update={{"id": f"{{case.id}}-{{number}}"}}), expected
"""
_TRIVIAL = """
from slop_code.evaluation.adapters import CLICase, CLIResult
from slop_code.evaluation.loaders import BaseLoader


class Loader(BaseLoader):
    def __call__(self, group, store):
        for number in range({count}):
            yield CLICase(id=f"case-{{number}}", arguments=[str(number)]), CLIResult(status_code=0, output=f"{{number}}{filler}\\n")
"""
_TRIVIAL_CONFIG = """
name: trivial
version: 1
description: Prints its argument.
entry_file: main.sh
adapter: {type: cli}
timeout: 30
checkpoints:
  checkpoint_1: {groups: {core: {type: Core}}}
"""


@dataclass(frozen=True)
class Subject:
    """A problem, a submission that passes it, and how its program is started."""

    title: str
    problem: ProblemConfig
    submission: Path
    command: str
    entry: str

    def cases(self) -> list[tuple[Any, Any]]:
        checkpoint = list(self.problem.iterate_checkpoints())[-1]
        loader = initialize_loader(self.problem, checkpoint)
        groups = checkpoint.groups.values()
        pairs = (
            iterate_cases(loader, self.problem, checkpoint, group, make_store(loader, self.problem, checkpoint))
            for group in groups
        )
        return list(itertools.chain.from_iterable(pairs))


def main() -> None:
    jobs = available_cores()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        stack.enter_context(mock.patch.dict(os.environ, {"SLOP_CODE_CACHE": f"{folder}/cache"}))
        _compare(_grown_example(Path(folder)), jobs, TARGETS, with_naive=True)
        _compare(trivial_problem(Path(folder), 5_000), jobs, {}, with_naive=False)
        _fixed_cost(trivial_problem(Path(folder), 1))


def _compare(subject: Subject, jobs: int, targets: dict[str, float], *, with_naive: bool) -> None:
    cases = subject.cases()
    reasons = {"local": None, "sandbox": bwrap_skip_reason(), "docker": docker_skip_reason()}
    kinds = [kind for kind, reason in reasons.items() if reason is None]
    for kind, reason in reasons.items():
        if reason is not None:
            print(f"{kind} is left out: {reason}")
    with tempfile.TemporaryDirectory() as folder:
        floor = _bare_commands(subject, cases, Path(folder))
        times: dict[tuple[str, int], list[float]] = {}
        own: dict[tuple[str, int], list[float]] = {}
        # One after another is for scale: measuring it once is enough.
        for count in [1] * (jobs > 1) + [jobs] * ROUNDS:
            contestants = {"bare processes (floor)": Contestant(partial(floor, count))}
            for kind in kinds:
                action = partial(_evaluate, subject, kind, count, len(cases))
                contestants[kind] = Contestant(action, share=TARGETS[kind], in_containers=kind == "docker")
            take_turns(list(contestants.values()))
            for name, contestant in contestants.items():
                times.setdefault((name, count), []).append(contestant.seconds)
                if contestant.result is not None:
                    own.setdefault((name, count), []).append(contestant.result)
    rows: list[tuple[str, ...]] = [
        (subject.title, "at once", "s", "cases/s", "times the floor", "at most", "own CPU, ms a case")
    ]
    for (name, count), values in times.items():
        seconds = statistics.median(values)
        base = statistics.median(times["bare processes (floor)", count])
        target = f"{targets[name]:g}" if count == jobs and name in targets else ""
        spent = f"{statistics.median(own[name, count]):.2f}" if (name, count) in own else ""
        rate = f"{len(cases) / seconds:.1f}"
        rows.append((name, str(count), f"{seconds:.2f}", rate, f"{seconds / base:.2f}", target, spent))
    if with_naive:
        rows.append(_naive_row(subject, cases, statistics.median(times["bare processes (floor)", 1])))
    table(rows)
    authors = f"{_authors_cpu(subject):.2f}"
    note = f"own CPU at most {OWN_CPU_MS:g} ms a case. "
    print(
        f"{len(cases):,} cases; medians of {ROUNDS} interleaved rounds, one round where one runs after another.\n"
        f"{note if targets else ''}Of own CPU, the problem's own loader and verifier, called in a loop: {authors} ms.\n"
    )


def _bare_commands(subject: Subject, cases: list[tuple[Any, Any]], folder: Path) -> Callable[[int], None]:
    """The same command lines in folders that are ready, without anything around them."""
    prepared = []
    for number, (case, _) in enumerate(cases):
        place = folder / str(number)
        if case.input_files or number == 0:
            shutil.copytree(subject.submission, place)
            write_input_files(place, case.input_files)
        else:
            place = folder / "0"
        line = " ".join([subject.command, *case.arguments])
        argv = shlex.split(line) if not set(line) & set("|&;<>$`*?~#") else ["/bin/sh", "-c", line]
        prepared.append((argv, place, (case.stdin or "").encode()))

    def run(item: tuple[list[str], Path, bytes]) -> None:
        argv, place, stdin = item
        subprocess.run(argv, cwd=place, input=stdin, capture_output=True, check=False, env=_PLAIN)

    def run_all(count: int) -> None:
        with ThreadPoolExecutor(count) as threads:
            list(threads.map(run, prepared))

    return run_all


def _evaluate(subject: Subject, kind: str, jobs: int, expected: int) -> float | None:
    """Evaluate once; the evaluator's own CPU time, in ms a case, where it can be told from the programs'."""
    before = _cpu()
    checkpoint = list(subject.problem.iterate_checkpoints())[-1]
    entry = subject.entry.replace(subject.problem.entry_file, "{entry_file}")
    spec = make_spec(kind, commands={"command": subject.command.split()[0], "entry_file": entry})
    results = run_checkpoint(subject.submission, subject.problem, checkpoint, spec, options=RunOptions(jobs=jobs))
    assert sum(results.pass_counts.values()) == expected, (kind, results.pass_counts, results.errors[:3])
    if kind == "docker":
        return None
    programs = sum(report.cpu_s or 0.0 for report in results.reports)
    return (_cpu() - before - programs) / expected * 1000


def _authors_cpu(subject: Subject) -> float:
    """What the problem's own loader and verifier take, called in a loop and by nobody else, in ms a case."""
    checkpoint = list(subject.problem.iterate_checkpoints())[-1]
    loader: Any = initialize_loader(subject.problem, checkpoint)
    verifier: Any = initialize_verifier(subject.problem, checkpoint)
    seconds, count = 0.0, 0
    for group in checkpoint.groups.values():
        store = make_store(loader, subject.problem, checkpoint)
        started = time.process_time()
        cases = list(loader(group, store))
        seconds += time.process_time() - started
        actual = [
            CLIResult(
                status_code=expected.status_code,
                output=expected.output or "",
                stderr=expected.stderr or "",
                files=expected.files,
            )
            for _, expected in cases
        ]
        started = time.process_time()
        for (case, expected), result in zip(cases, actual, strict=True):
            verifier(group_name=group.name, case_name=case.id, actual=result, expected=expected)
        seconds += time.process_time() - started
        count += len(cases)
    return seconds / count * 1000


def _cpu() -> float:
    own, children = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    return own.ru_utime + own.ru_stime + children.ru_utime + children.ru_stime


def _naive_row(subject: Subject, cases: list[tuple[Any, Any]], base: float) -> tuple[str, ...]:
    python = subject.command.split()[0]
    started = time.perf_counter()
    naive.evaluate(subject.submission, python, subject.entry, cases[:_NAIVE_CASES])
    seconds = (time.perf_counter() - started) * len(cases) / _NAIVE_CASES
    name = f"naive evaluator (from {_NAIVE_CASES} cases)"
    return (name, "1", f"{seconds:.2f}", f"{len(cases) / seconds:.1f}", f"{seconds / base:.2f}", "", "")


def _fixed_cost(subject: Subject) -> None:
    _evaluate(subject, "local", 1, 1)
    rows = [("evaluating a checkpoint of one trivial case, prepared", "s", "at most")]
    reasons = {"local": None, "sandbox": bwrap_skip_reason()}
    for kind in (kind for kind, reason in reasons.items() if reason is None):
        _evaluate(subject, kind, 1, 1)
        seconds = []
        for _ in range(9):
            started = time.perf_counter()
            _evaluate(subject, kind, 1, 1)
            seconds.append(time.perf_counter() - started)
        rows.append((kind, f"{statistics.median(seconds):.3f}", f"{FIXED_S:g}"))
    table(rows)


def _grown_example(folder: Path) -> Subject:
    copy = folder / "fieldnotes"
    shutil.copytree(ROOT / "problems" / "fieldnotes", copy)
    (copy / "loader.py").rename(copy / "example_loader.py")
    (copy / "loader.py").write_text(_GROWN.format(name="Loader", rounds=1))
    problem = ProblemConfig.from_yaml(copy)
    python = _SYSTEM_PYTHON if _SYSTEM_PYTHON.exists() else choose_interpreter(None, copy).path
    checkpoint = list(problem.iterate_checkpoints())[-1]
    submission = problem.path / checkpoint.path / "solution"
    entry = next(file.name for file in submission.iterdir() if file.stem == problem.entry_file)
    subject = Subject("", problem, submission, f"{python} {entry}", entry)
    rounds = -(-500 // len(subject.cases()))
    (copy / "loader.py").write_text(_GROWN.format(name="Loader", rounds=rounds))
    return Subject(f"{problem.name}, grown", problem, submission, f"{python} {entry}", entry)


def trivial_problem(folder: Path, count: int, size: int = 0) -> Subject:
    """A problem of `count` cases whose program prints its argument, and `size` characters more."""
    place = folder / f"trivial-{count}"
    (place / "submission").mkdir(parents=True)
    (place / "checkpoint_1").mkdir()
    (place / "config.yaml").write_text(_TRIVIAL_CONFIG)
    (place / "loader.py").write_text(_TRIVIAL.format(count=count, filler="x" * size))
    (place / "submission" / "main.sh").write_text('echo "$1"\n')
    problem = ProblemConfig.from_yaml(place)
    return Subject(f"{count:,} trivial cases (sh, echo)", problem, place / "submission", "sh main.sh", "main.sh")
