"""Where the reports of a run come together: from any group's thread, in any order; groups are added in theirs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from slop_code.evaluation.config.models import GroupConfig
from slop_code.evaluation.report import CaseDigest, CorrectnessResults, ReportWriter, digest_of
from slop_code.evaluation.report_journal import Observed
from slop_code.evaluation.timings import Times
from slop_code.evaluation.verifiers.models import VerifierReport


@dataclass
class _Page:
    """What has come in of a group."""

    began: float = 0.0
    duration: float | None = None
    reports: list[VerifierReport] = field(default_factory=list)
    digests: list[tuple[int, CaseDigest]] = field(default_factory=list)


class Ledger:
    """Adds reports to the results and, if there is a writer, to its files.

    With a writer and without `keep_reports`, no report stays in memory.
    """

    def __init__(
        self,
        results: CorrectnessResults,
        groups: Sequence[GroupConfig],
        writer: ReportWriter | None,
        *,
        keep_reports: bool,
        leaves_out_empty: bool = False,
    ) -> None:
        """With `leaves_out_empty`, a group without a case is not in the results: nothing of it was asked for."""
        self._leaves_out_empty = leaves_out_empty
        self._results = results
        self._writer = writer
        self._keeps = keep_reports or writer is None
        self._groups = list(groups)
        self._pages = {group.name: _Page() for group in groups}
        self._added = 0
        self._lock = threading.Lock()
        self.times: Times = {}

    def begin_group(self, group: GroupConfig) -> None:
        """The group's first case is about to run."""
        self._pages[group.name].began = time.monotonic()

    @property
    def keeps_observations(self) -> bool:
        return self._writer is not None

    def keep(self, observed: Observed) -> int | None:
        """Keep what was observed of a case, which may have to wait to be judged; gives the place of it, for `add`."""
        return self._writer.keep(observed) if self._writer is not None else None

    def add(self, group: GroupConfig, report: VerifierReport, observed: int | None = None) -> None:
        """Take in a report, and the place of what it was made of; a group's come in the loader's order."""
        page = self._pages[group.name]
        if self._keeps:
            if self._writer is not None:
                self._writer.add(report, group.weight, observed)
            page.reports.append(report)
        elif self._writer is not None:
            page.digests.append((self._writer.add_and_forget(report, group.weight, observed), digest_of(report)))
        if report.run_s is not None:
            self.times[group.name, report.id] = report.run_s

    def end_group(self, group: GroupConfig) -> None:
        """The group is through; it is added to the results when those before it are."""
        with self._lock:
            page = self._pages[group.name]
            page.duration = time.monotonic() - page.began
            while self._added < len(self._groups):
                following = self._groups[self._added]
                if self._pages[following.name].duration is None:
                    break
                self._add(following)

    def break_off(self) -> None:
        """The run ends here: add what there is of the groups that are not through."""
        with self._lock:
            self._results.complete = False
            while self._added < len(self._groups):
                page = self._pages[self._groups[self._added].name]
                if page.reports or page.digests:
                    page.duration = page.duration or time.monotonic() - page.began
                    self._add(self._groups[self._added])
                else:
                    self._added += 1

    def _add(self, group: GroupConfig) -> None:
        self._added += 1
        page = self._pages.pop(group.name)
        if self._leaves_out_empty and not page.reports and not page.digests:
            return
        duration = page.duration or 0.0
        if self._keeps:
            target = self._writer or self._results
            target.add_group_report(group.name, group.type, duration, page.reports, weight=group.weight)
        elif self._writer is not None:
            self._writer.add_group_digests(group.name, group.type, duration, page.digests, group.weight)
