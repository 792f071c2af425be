"""Results as a Markdown page: the groups, and each case that did not pass with what differed first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slop_code.cli.differences import explain
from slop_code.cli.markdown import code, fenced, markdown_table
from slop_code.cli.styling import OUTCOME_STYLES, seconds

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.runs.result_folders import ResultFolder

_WIDTH = 120


def page(folders: Sequence[ResultFolder]) -> Iterator[str]:
    """The lines of the page. Reports are read one by one, and read again rather than held.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    several = len(folders) > 1
    if several:
        yield from (f"# Results of {len(folders)} checkpoints", "")
        yield from markdown_table(("checkpoint", "passed", "score", "time"), map(_overview, folders))
        yield ""
    for number, folder in enumerate(folders):
        yield from ([""] if number else [])
        yield from _checkpoint(folder, "##" if several else "#")


@dataclass(slots=True)
class _Counts:
    """How many cases ended in which way, and what their programs took."""

    outcomes: dict[str, int] = field(default_factory=lambda: dict.fromkeys(OUTCOME_STYLES, 0))
    run_s: float = 0.0

    @property
    def passed(self) -> str:
        return f"{self.outcomes['passed']}/{sum(self.outcomes.values())}"


def _overview(folder: ResultFolder) -> tuple[str, ...]:
    results, counts = folder.summary(), _Counts()
    for group in _counted(folder).values():
        counts.outcomes["passed"] += group.outcomes["passed"]
        counts.outcomes["failed"] += sum(group.outcomes.values()) - group.outcomes["passed"]
        counts.run_s += group.run_s
    return code(folder.name), counts.passed, f"{results.score:.2f}", seconds(counts.run_s)


def _checkpoint(folder: ResultFolder, level: str) -> Iterator[str]:
    results = folder.summary()
    counts = _counted(folder)
    yield from (f"{level} {code(folder.name)}", "", _summary_line(results, counts), "")
    if not folder.complete:
        yield from ("The results are **not complete**.", "")
    rows = []
    for name, group in results.group_outcomes.items():
        own = counts.get(name, _Counts())
        rows.append((code(name), str(group.type), own.passed, f"{group.score:.2f}", seconds(own.run_s)))
    yield from markdown_table(("group", "type", "passed", "score", "time"), rows, left=2)
    for failure in results.setup_failures:
        yield from ("", "A setup command failed:", "", *fenced(failure.split("\n")))
    yield from _failures(folder, level)


def _failures(folder: ResultFolder, level: str) -> Iterator[str]:
    from slop_code.runs.case_records import iter_not_passed

    for report in iter_not_passed(folder.path):
        took = f", {seconds(report.run_s)}" if report.run_s is not None else ""
        score = f" (score {report.calculate_score():.2f}{took})" if report.outcome != "error" else ""
        yield from ("", f"{level}# {report.outcome}: {code(f'{report.group}/{report.id}')}{score}", "")
        yield from fenced(explain(report, _WIDTH))


def _counted(folder: ResultFolder) -> dict[str, _Counts]:
    from slop_code.evaluation.report import iter_reports

    groups: dict[str, _Counts] = {}
    for row in iter_reports(folder.path, columns=["group", "outcome", "run_s"]):
        counts = groups.setdefault(row["group"], _Counts())
        counts.outcomes[row["outcome"] or "error"] += 1
        counts.run_s += row["run_s"] or 0.0
    return groups


def _summary_line(results: CorrectnessResults, counts: dict[str, _Counts]) -> str:
    outcomes = {name: sum(group.outcomes[name] for group in counts.values()) for name in OUTCOME_STYLES}
    words = {"failed": "failed", "timed out": "timed out", "error": "could not be judged"}
    parts = [f"**{outcomes['passed']} of {sum(outcomes.values())} passed**"]
    parts += [f"{outcomes[name]} {word}" for name, word in words.items() if outcomes[name]]
    parts += [f"score {results.score:.2f}", seconds(results.duration)]
    where = ", ".join(code(text) for text in (results.environment, results.python) if text)
    return f"{', '.join(parts)}{f' ({where})' if where else ''}, {results.timestamp:%Y-%m-%d %H:%M}"
