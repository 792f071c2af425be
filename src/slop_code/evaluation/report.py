"""The results of one checkpoint: every case's report, the scores made of them, and their files.

evaluation.json         the summary, for people and tools
reports.parquet         a row for each case; it carries the same summary, so the two cannot disagree
reports.partial.jsonl   only while a run is going on, or after one that did not end: what was finished
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, computed_field

from slop_code.evaluation.adapters.models import GroupType
from slop_code.evaluation.report_files import iter_reports as iter_reports
from slop_code.evaluation.report_files import load_results, save_results
from slop_code.evaluation.report_format import ReportError as ReportError
from slop_code.evaluation.report_journal import ReportWriter as ReportWriter
from slop_code.evaluation.scores import PassPolicy as PassPolicy
from slop_code.evaluation.verifiers.models import Text, VerifierReport
from slop_code.evaluation.verifiers.weighted import weighted_mean


class GroupReport(BaseModel):
    """How one group went: the score of each case by its id. Equal ids are numbered: `id`, `id (2)`."""

    model_config = ConfigDict(use_enum_values=True, defer_build=True)

    duration: float
    results: dict[Text, float]
    type: GroupType
    weight: Annotated[float, Field(gt=0, allow_inf_nan=False)] = 1.0

    @property
    def score(self) -> float:
        """The mean of the cases' scores; 0.0 if there are none."""
        return sum(self.results.values()) / len(self.results) if self.results else 0.0


class CorrectnessResults(BaseModel):
    """What judging a submission at one checkpoint gave. `name` and `version` are the checkpoint's."""

    model_config = ConfigDict(defer_build=True)

    problem_name: Text
    problem_version: int
    name: Text
    version: int
    timestamp: datetime = Field(default_factory=datetime.now)
    duration: float = 0.0
    reports: list[VerifierReport] = []
    group_outcomes: dict[Text, GroupReport] = {}
    pass_counts: dict[str, int] = Field(default={}, description="Passed cases by group type.")
    total_counts: dict[str, int] = Field(default={}, description="All cases by group type.")
    timeout_count: int = 0
    errors: list[Text] = Field(default=[], description="What could not be judged, and why: one line each.")
    environment: Text = Field(default="", description="The name of the environment.")
    python: Text = Field(default="", description="The interpreter that the submission was prepared with.")
    setup_failures: list[Text] = Field(default=[], description="Setup commands that failed, with their output.")
    complete: bool = Field(default=True, description="False if the run ended before all of its groups did.")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def error_count(self) -> int:
        """How many things could not be judged."""
        return len(self.errors)

    @computed_field  # type: ignore[prop-decorator]
    @property
    def score(self) -> float:
        """The mean of the groups' scores, each with its weight; 0.0 without groups."""
        return weighted_mean((group.weight, group.score) for group in self.group_outcomes.values())

    def add_group_report(
        self,
        group_name: str,
        group_type: str,
        duration: float,
        reports: Iterable[VerifierReport],
        weight: float = 1.0,
    ) -> None:
        """Take in a finished group, with its cases' reports in the loader's order. A case in error scores 0.

        Raises:
            ValueError: there is a group of that name already.
        """
        added = list(reports)
        self.add_group_digests(group_name, group_type, duration, map(digest_of, added), weight)
        self.reports += added

    def add_group_digests(
        self,
        group_name: str,
        group_type: str,
        duration: float,
        digests: Iterable[CaseDigest],
        weight: float = 1.0,
    ) -> None:
        """Take in a finished group whose reports are kept elsewhere.

        Raises:
            ValueError: there is a group of that name already.
        """
        if group_name in self.group_outcomes:
            raise ValueError(f'the results of group "{group_name}" were added before')
        group = GroupReport(duration=duration, results={}, type=GroupType(group_type), weight=weight)
        repeated: dict[str, int] = {}
        passed = 0
        for case in digests:
            group.results[_free_id(case.id, group.results, repeated)] = case.score
            if case.outcome == "passed":
                passed += 1
            elif case.outcome == "timed out":
                self.timeout_count += 1
            elif case.outcome == "error":
                self.errors.append(f"{group_name}/{case.id}: {case.error}")
        self.group_outcomes[group_name] = group
        kind = str(group.type)
        self.pass_counts[kind] = self.pass_counts.get(kind, 0) + passed
        self.total_counts[kind] = self.total_counts.get(kind, 0) + len(group.results)

    def save(self, directory: str | Path) -> None:
        """Write `evaluation.json` and `reports.parquet` into `directory`, each of them at once or not at all.

        Raises:
            ReportError: it cannot be written. Files that were there before are as they were.
        """
        save_results(self, Path(directory))

    @classmethod
    def from_dir(cls, directory: str | Path, *, with_reports: bool = True) -> Self:
        """Read what `save` wrote, or as much as an interrupted run finished (then `complete` is false).

        Without reports, only the summary is read, which takes no time; `iter_reports` reads them one by one.

        Raises:
            ReportError: there are no results, they are damaged, or a newer slop-code wrote them.
        """
        return load_results(cls, Path(directory), with_reports=with_reports)


class CaseDigest(NamedTuple):
    """What the summary needs to know of a case."""

    id: str
    outcome: str | None
    score: float
    error: str = ""


def digest_of(report: VerifierReport) -> CaseDigest:
    """The digest of a report; a case in error scores 0."""
    if report.outcome == "error":
        line = report.error.partition("\n")[0] if report.error else "it could not be judged"
        return CaseDigest(report.id, report.outcome, 0.0, line)
    return CaseDigest(report.id, report.outcome, report.calculate_score())


def _free_id(name: str, taken: dict[str, float], repeated: dict[str, int]) -> str:
    free = name
    while free in taken:
        repeated[name] = repeated.get(name, 1) + 1
        free = f"{name} ({repeated[name]})"
    return free
