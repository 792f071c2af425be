"""Whether cases that were run several times gave the same each time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.report import CorrectnessResults

if TYPE_CHECKING:
    from slop_code.evaluation.verifiers.models import VerifierReport

Case = tuple[str, str, int]
# No two runs have it in common.
_NEVER_THE_SAME = frozenset({"elapsed"})


@dataclass(slots=True)
class Repeated:
    """One case, run several times. `shown` is the first report that did not pass, or else the first."""

    shown: VerifierReport
    number: int = 1
    """Which of the cases of that id it is, in the loader's order."""
    runs: list[dict[str, Any]] = field(default_factory=list)
    verdicts: set[tuple[Any, ...]] = field(default_factory=set)
    varies: list[str] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Group and id; equal ids are numbered."""
        return f"{self.shown.group}/{self.shown.id}{f' ({self.number})' if self.number > 1 else ''}"

    def agrees(self, times: int) -> bool:
        """Whether it ran every time, with the same outcome and the same verdict on every attribute."""
        return len(self.runs) == times and len(self.verdicts) == 1


class Agreement:
    """Takes in one run after another, and keeps no more than one report of each case."""

    def __init__(self) -> None:
        self.times = 0
        self.cases: dict[Case, Repeated] = {}

    def add(self, results: CorrectnessResults) -> None:
        """A run is over."""
        self.times += 1
        seen: Counter[tuple[str, str]] = Counter()
        for report in results.reports:
            seen[report.group, report.id] += 1
            self._add(report, seen[report.group, report.id])

    def disagreeing(self) -> list[Repeated]:
        """The cases that were not judged alike every time."""
        return [case for case in self.cases.values() if not case.agrees(self.times)]

    def varying(self) -> list[Repeated]:
        """The cases that were judged alike, though something that was verified had not always the same value."""
        return [case for case in self.cases.values() if case.agrees(self.times) and case.varies]

    def _add(self, report: VerifierReport, number: int) -> None:
        key = (report.group, report.id, number)
        case = self.cases.get(key)
        if case is None:
            case = self.cases[key] = Repeated(report, number)
        case.varies += _differing(case.shown, report, known=case.varies)
        if case.shown.outcome == "passed" and report.outcome != "passed":
            case.shown = report
        case.runs.append({"outcome": report.outcome, "score": report.calculate_score(), "run_s": report.run_s})
        case.verdicts.add((report.outcome, *sorted(report.format_result().items())))


def _differing(one: VerifierReport, other: VerifierReport, known: list[str]) -> list[str]:
    names = [result.attribute for result in other.get_verified_attributes()]
    return [
        name
        for name in names
        if name not in _NEVER_THE_SAME
        and name not in known
        and name in one.results
        and one.results[name].actual != other.results[name].actual
    ]


def with_reports(results: CorrectnessResults, reports: Iterable[VerifierReport]) -> CorrectnessResults:
    """A copy of `results` whose cases are `reports`; groups keep their time, type and weight."""
    fresh = results.model_copy(
        update={
            "reports": [],
            "group_outcomes": {},
            "pass_counts": {},
            "total_counts": {},
            "timeout_count": 0,
            "errors": [],
        }
    )
    by_group: dict[str, list[VerifierReport]] = {name: [] for name in results.group_outcomes}
    for report in reports:
        by_group.setdefault(report.group, []).append(report)
    for name, found in by_group.items():
        group = results.group_outcomes.get(name)
        if group is not None:
            fresh.add_group_report(name, group.type, group.duration, found, weight=group.weight)
        elif found:
            fresh.add_group_report(name, found[0].type, 0.0, found)
    return fresh
