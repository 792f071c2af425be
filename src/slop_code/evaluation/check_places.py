"""Where the things that a check speaks of stand: in `config.yaml`, or in the file of a case."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from slop_code.documents import Document, Location, read_document
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig
from slop_code.evaluation.config.reading import CONFIG_NAME
from slop_code.evaluation.loaders.case_files import PATTERNS
from slop_code.evaluation.loaders.case_files import read_case_file as read_case_file
from slop_code.evaluation.loaders.helpers import get_files_from_globs, get_group_path
from slop_code.evaluation.loaders.loader_protocol import LoaderError
from slop_code.findings import Findings, Severity


@dataclass(frozen=True, slots=True)
class Spot:
    """A value in a file; where no file is known, `subject` has to tell the reader where to look."""

    subject: str
    document: Document | None = None
    at: Location = ()

    def report(self, severity: Severity, message: str, findings: Findings, *below: str | int) -> None:
        """Add a finding about what stands `below` here."""
        text = f"{self.subject}: {message}" if self.subject else message
        add = findings.error if severity == "error" else findings.warning
        add(text, self.document, (*self.at, *below))


class ConfigSpots:
    """The places of a problem's configuration. The files were read before, so they can be read again."""

    def __init__(self, problem: ProblemConfig) -> None:
        self._problem = problem
        self._document = read_document(problem.path / CONFIG_NAME, Findings())

    def of_problem(self) -> Spot:
        """The problem's own keys."""
        return Spot("", self._document)

    def of_checkpoint(self, checkpoint: CheckpointConfig) -> Spot:
        """A checkpoint's body, in `config.yaml` or in a file of its own."""
        subject = f'checkpoint "{checkpoint.name}"'
        key = next((key for key, item in self._problem.checkpoints.items() if item is checkpoint), checkpoint.name)
        data = self._document.data if self._document is not None else None
        if isinstance(data, Mapping) and isinstance(data.get("checkpoints"), Mapping):
            return Spot(subject, self._document, ("checkpoints", key))
        return Spot(subject, read_document(self._problem.path / key / CONFIG_NAME, Findings()))

    def of_group(self, checkpoint: CheckpointConfig, group: GroupConfig) -> Spot:
        """A group's body; for one that `regressions` made, that of its checkpoint."""
        body = self.of_checkpoint(checkpoint)
        return Spot(f'{body.subject}, group "{group.name}"', body.document, (*body.at, "groups", group.name))


class CaseSpots:
    """The places of a group's cases. Only those of case files are known; scripts make theirs up."""

    def __init__(
        self, problem: ProblemConfig, checkpoint: CheckpointConfig, group: GroupConfig, *, in_files: bool
    ) -> None:
        source = group.original_checkpoint or checkpoint.name
        self._group = f'checkpoint "{source}", group "{group.get_real_name()}"'
        self.complete = in_files
        """Whether the name of every case is known."""
        self.names: list[str] = []
        self._spots: dict[str, Spot] = {}
        if in_files:
            self._read(problem, checkpoint, group)

    def of_case(self, name: str) -> Spot:
        """A case by its id."""
        known = self._spots.get(name)
        # Regression groups give the same cases again: named by their origin, they are reported once.
        return known or Spot(f'{self._group}, case "{name}"')

    def _read(self, problem: ProblemConfig, checkpoint: CheckpointConfig, group: GroupConfig) -> None:
        for file in self._files(problem, checkpoint, group):
            try:
                for written in read_case_file(file):
                    self.names.append(written.name)
                    self._spots.setdefault(written.name, Spot(f'case "{written.name}"', written.document, written.at))
            except LoaderError:
                # The loader tells it.
                self.complete = False

    def _files(self, problem: ProblemConfig, checkpoint: CheckpointConfig, group: GroupConfig) -> Iterator[Path]:
        try:
            folder = get_group_path(group, problem, checkpoint)
            for file in get_files_from_globs(folder, PATTERNS, exclude=group.group_files):
                yield folder / file
        except LoaderError:
            self.complete = False
