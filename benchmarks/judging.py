"""Judging equal results, and writing and reading their reports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from benchmarks.measure import interleaved, table
from slop_code.evaluation.adapters.cli import CLICase, CLIResult
from slop_code.evaluation.report import CorrectnessResults, ReportWriter, iter_reports
from slop_code.evaluation.scripts import ScriptFolder
from slop_code.evaluation.verifiers import AttributeResult, VerificationResult, VerifierReport
from slop_code.evaluation.verifiers.calling import call_verifier
from slop_code.evaluation.verifiers.ready import ReadyVerifier
from slop_code.evaluation.verifiers.verifiers import deepdiff_verify, matches_status_code

CASES, MANY = 10_000, 100_000

READ_ALL = """
import sys
from slop_code.evaluation.report import iter_reports
for count, _ in enumerate(iter_reports(sys.argv[1]), start=1):
    if count == int(sys.argv[2]):
        break
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024)
"""


class Verifier:
    """A verifier as authors write it."""

    def __call__(self, group_name: str, case_name: str, actual: Any, expected: Any) -> dict[str, VerificationResult]:
        return {
            "output": deepdiff_verify(actual.output, expected.output),
            "status_code": matches_status_code(actual.status_code, expected.status_code, 0.5),
        }


def main() -> None:
    _judging()
    with tempfile.TemporaryDirectory() as folder:
        _files(Path(folder))
        _lazily(Path(folder))


def _output(number: int) -> dict[str, Any]:
    rows = [{"id": row, "name": f"account {row}", "amount": row * 1.25 + number, "open": True} for row in range(28)]
    return {"number": number, "rows": rows, "note": "x" * 100}


def _judging() -> None:
    case = CLICase(id="case", group="core", group_type="Core", checkpoint="one", arguments=["show", "7"])
    pairs = [
        (
            CLIResult(output=_output(n), status_code=0, command="ledger show 7"),
            CLIResult(output=_output(n), status_code=0),
        )
        for n in range(CASES)
    ]
    folder = ScriptFolder(Path(__file__).parent)

    def floor() -> None:
        for actual, expected in pairs:
            same = {
                "output": (actual.output == expected.output, 1.0),
                "status_code": (actual.status_code == expected.status_code, 0.5),
            }
            _plain_report(case, actual, expected, same)

    def judged(verifier: Any) -> Callable[[], None]:
        def action() -> None:
            for actual, expected in pairs:
                raw = call_verifier(
                    verifier, folder, group_name="core", case_name="case", actual=actual, expected=expected
                )
                assert VerifierReport.from_verifier_result(case, 0.1, actual, expected, raw).did_pass()

        return action

    times = interleaved(
        {
            "== and the same pydantic reports (floor)": floor,
            "a verifier with deepdiff_verify": judged(Verifier()),
            "the ready verifier": judged(ReadyVerifier(SimpleNamespace())),  # type: ignore[arg-type]
        },
        rounds=5,
    )
    base = next(iter(times.values()))
    rows = [(f"{CASES:,} equal results of 2 kB", "us a case", "ratio")]
    rows += [(name, f"{seconds / CASES * 1e6:.1f}", f"{seconds / base:.2f}") for name, seconds in times.items()]
    table(rows)
    print("Judging should cost at most 3 times the floor.")
    print(f"Calling a verifier that does nothing takes {_seconds_of_a_call(folder) * 1e6:.1f} us.")


def _seconds_of_a_call(folder: ScriptFolder) -> float:
    right = {"output": VerificationResult.create("", True)}
    result = CLIResult()

    def verifier(**_: Any) -> Any:
        return right

    best = 1.0
    for _ in range(20):
        start = time.perf_counter()
        for _ in range(1_000):
            call_verifier(verifier, folder, group_name="g", case_name="c", actual=result, expected=result)  # type: ignore[arg-type]
        best = min(best, (time.perf_counter() - start) / 1_000)
    return best


def _plain_report(
    case: CLICase, actual: CLIResult, expected: CLIResult, same: dict[str, tuple[bool, float]]
) -> VerifierReport:
    """The report that judging gives, made by hand."""
    results = {}
    for name in CLIResult.model_fields:
        if name != "files":
            is_correct, weight = same.get(name, (None, 1.0))
            results[name] = AttributeResult(
                attribute=name,
                actual=getattr(actual, name),
                expected=getattr(expected, name),
                diff="" if name in same else None,
                is_correct=is_correct,
                weight=weight,
            )
    fields = {name: getattr(case, name) for name in CLICase.model_fields}
    return VerifierReport(id=case.id, group=case.group, type="Core", duration=0.1, results=results, case=fields)


def _reports(count: int) -> list[VerifierReport]:
    made = []
    for number in range(count):
        case = CLICase(id=f"case_{number}", group="core", group_type="Core", checkpoint="one", arguments=[str(number)])
        actual, expected = CLIResult(output=_output(number)), CLIResult(output=_output(number))
        raw = Verifier()("core", case.id, actual, expected)
        made.append(VerifierReport.from_verifier_result(case, 0.1, actual, expected, raw))
    return made


def _files(folder: Path) -> None:
    reports = _reports(CASES)
    results = CorrectnessResults(problem_name="bench", problem_version=1, name="one", version=1)
    results.add_group_report("core", "Core", 1.0, reports)

    def journal() -> None:
        writer = ReportWriter(folder / "journal", results)
        for report in reports:
            writer.add(report)
        writer.close()

    actions: dict[str, Callable[[], object]] = {
        "save: reports.parquet and evaluation.json": lambda: results.save(folder),
        "from_dir: everything": lambda: CorrectnessResults.from_dir(folder),
        "from_dir: the summary alone": lambda: CorrectnessResults.from_dir(folder, with_reports=False),
        "iter_reports: id and outcome": lambda: list(iter_reports(folder, ["id", "outcome"])),
        "ReportWriter.add: the journal, case by case": journal,
    }
    times = interleaved(actions, rounds=3)
    print()
    rows = [(f"{CASES:,} reports of 2 kB results", "s", "us a report")]
    rows += [(name, f"{seconds:.2f}", f"{seconds / CASES * 1e6:.1f}") for name, seconds in times.items()]
    table(rows)
    print(f"reports.parquet takes {(folder / 'reports.parquet').stat().st_size / CASES:.0f} bytes a report.")


def _lazily(folder: Path) -> None:
    _repeat(folder / "reports.parquet", MANY // CASES)
    rows = [("reading one by one, each in a process of its own", "s", "peak MB")]
    for count in (1, CASES, MANY):
        start = time.perf_counter()
        done = subprocess.run(
            [sys.executable, "-c", READ_ALL, folder, str(count)], check=True, capture_output=True, text=True
        )
        rows.append((f"{count:,} reports", f"{time.perf_counter() - start:.1f}", done.stdout.strip()))
    print()
    table(rows)


def _repeat(path: Path, times: int) -> None:
    import pyarrow.parquet  # type: ignore[import-untyped]

    with pyarrow.parquet.ParquetFile(path) as file:
        batches = list(file.iter_batches(batch_size=1_000))
        schema = file.schema_arrow
    with pyarrow.parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for _ in range(times):
            for batch in batches:
                writer.write_batch(batch)
