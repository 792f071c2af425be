"""The journal of a run: what is finished is on the disk at once, whatever becomes of the rest.

`reports.partial.jsonl` is appended to, one JSON object a line:

    {"evaluation": {…}}                               first: the summary of the run when it began, with its version
    {"content": "9f86…", "value": "…"}                a large content that later lines refer to
    {"observation": {…}}                              what was observed of a case, which may not be judged yet
    {"case": 0, "report": {…}, "weight": 1.0}         a finished case: its row, and its group's weight
    {"cases": [1, 0], "group": "core", …}             a finished group: its cases in order, type, duration and weight
    {"carried": {…}}                                  an observation of the run before, which did not end

A line that a crash tore off is passed over. When the run ends, the two lasting files take the journal's place.
"""

from __future__ import annotations

import json
import os
import threading
from array import array
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, BinaryIO, Self, TypeVar

from pydantic_core import PydanticSerializationError, from_json, to_json

from slop_code.evaluation.atomic_files import cannot_write, replace_files
from slop_code.evaluation.journal_reading import journal_places
from slop_code.evaluation.report_format import JOURNAL, written_summary
from slop_code.evaluation.verifiers.models import VerifierReport

if TYPE_CHECKING:
    from slop_code.evaluation.report import CaseDigest, CorrectnessResults

    Results = TypeVar("Results", bound=CorrectnessResults)

Observed = tuple[dict[str, Any], dict[str, str]]
"""The row of an observation, and the contents that it refers to (see `observations.to_row`)."""
_NOT_OBSERVED = -1


class ReportWriter:
    """Keeps a run's finished cases in `directory` while it goes on; any thread may use it.

    Use it as a context: when the block ends well, `results` are saved; when it raises, what was finished
    stays readable with `from_dir`. A killed process loses the cases in flight and nothing else.
    """

    def __init__(self, directory: str | Path, results: CorrectnessResults, *, carries: bool = False) -> None:
        """With `carries`, the observations of a run that did not end here are kept until this one does."""
        self._directory = Path(directory)
        self._path = self._directory / JOURNAL
        self._results = results
        self._lock = threading.Lock()
        self._numbers: dict[int, tuple[int, VerifierReport]] = {}
        self._places = array("Q")
        self._order = array("Q")
        self._observed = array("q")
        self._contents: dict[str, int] = {}
        head = {"evaluation": {**written_summary(results), "complete": False}}
        carried = self._path if carries and self._path.is_file() else None
        replace_files({self._path: lambda file: _begin(head, carried, file)})
        self._handle = os.open(self._path, os.O_WRONLY | os.O_APPEND)
        self._size = os.fstat(self._handle).st_size

    def keep(self, observed: Observed) -> int:
        """Keep what was observed of a case as soon as it has run; gives the place of it, for `add`."""
        row, contents = observed
        with self._lock:
            for key, value in contents.items():
                if key not in self._contents:
                    self._contents[key] = self._append({"content": key, "value": value})
            return self._append({"observation": row})

    def add(self, report: VerifierReport, weight: float = 1.0, observed: int | None = None) -> None:
        """Keep the report of a case as soon as it is finished.

        `weight` is its group's, `observed` the place of what was observed of it.
        """
        with self._lock:
            self._add(report, weight, observed)

    def add_and_forget(self, report: VerifierReport, weight: float = 1.0, observed: int | None = None) -> int:
        """The same for a report that nobody holds in memory; gives its number, for `add_group_digests`."""
        with self._lock:
            return self._write_case(report, weight, observed)

    def add_group_digests(
        self,
        group_name: str,
        group_type: str,
        duration: float,
        cases: Sequence[tuple[int, CaseDigest]],
        weight: float = 1.0,
    ) -> None:
        """Add a finished group to the results, of whose cases only the numbers and digests are at hand."""
        with self._lock:
            digests = (digest for _, digest in cases)
            self._results.add_group_digests(group_name, group_type, duration, digests, weight)
            self._end_group(group_name, group_type, duration, [number for number, _ in cases], weight)

    def add_group_report(
        self,
        group_name: str,
        group_type: str,
        duration: float,
        reports: Iterable[VerifierReport],
        weight: float = 1.0,
    ) -> None:
        """Add a finished group to the results and keep it, with those of its cases that were not added before."""
        added = list(reports)
        with self._lock:
            self._results.add_group_report(group_name, group_type, duration, added, weight)
            cases = [self._add(report, weight) for report in added]
            for report in added:
                del self._numbers[id(report)]
            self._end_group(group_name, group_type, duration, cases, weight)

    def finish(self) -> None:
        """Save the results, which removes the journal."""
        from slop_code.evaluation.report_files import save_results

        self.close()
        save_results(self._results, self._directory, self)

    def close(self) -> None:
        """Stop writing; the journal stays."""
        with self._lock:
            if self._handle >= 0:
                os.close(self._handle)
                self._handle = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is None:
            self.finish()
        else:
            self.close()

    def _add(self, report: VerifierReport, weight: float, observed: int | None = None) -> int:
        if id(report) not in self._numbers:
            self._numbers[id(report)] = (self._write_case(report, weight, observed), report)
        return self._numbers[id(report)][0]

    def _write_case(self, report: VerifierReport, weight: float, observed: int | None) -> int:
        number = len(self._places)
        place = self._append({"case": number, "weight": weight, "report": report.to_parquet_row()})
        self._places.append(place)
        self._observed.append(_NOT_OBSERVED if observed is None else observed)
        return number

    def _end_group(self, name: str, kind: str, duration: float, cases: list[int], weight: float) -> None:
        self._append({"group": name, "type": kind, "duration": duration, "weight": weight, "cases": cases})
        self._order.extend(cases)
        # A power cut may cost a group that is not finished; syncing every case would cost more than most cases.
        os.fsync(self._handle)

    @property
    def has_observations(self) -> bool:
        return any(place != _NOT_OBSERVED for place in self._observed)

    @property
    def has_contents(self) -> bool:
        return bool(self._contents)

    def rows(self) -> Iterator[dict[str, Any]]:
        """The rows of the finished groups' cases, in order."""
        yield from (line["report"] for line in self._lines_of(self._places[number] for number in self._order))

    def observations(self) -> Iterator[dict[str, Any]]:
        """The rows of what was observed of them, in the same order."""
        observed = (self._observed[number] for number in self._order)
        places = (place for place in observed if place != _NOT_OBSERVED)
        yield from (line["observation"] for line in self._lines_of(places))

    def contents(self) -> Iterator[dict[str, Any]]:
        """The large contents that the observations refer to."""
        yield from self._lines_of(self._contents.values())

    def _lines_of(self, places: Iterable[int]) -> Iterator[dict[str, Any]]:
        with self._path.open("rb") as journal:
            for place in places:
                journal.seek(place)
                text = journal.readline()
                try:
                    line = from_json(text)
                except ValueError:
                    # It is quick, and knows no lone surrogates.
                    line = json.loads(text)
                yield line

    def _append(self, line: dict[str, Any]) -> int:
        """Write a line; gives its place."""
        data = memoryview(_encoded(line))
        written = 0
        try:
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError as error:
            os.ftruncate(self._handle, self._size)  # half a line would spoil the next one
            raise cannot_write(self._path, error) from error
        place = self._size
        self._size += written
        return place


def _encoded(line: dict[str, Any]) -> bytes:
    try:
        return to_json(line, inf_nan_mode="constants") + b"\n"
    except PydanticSerializationError:
        return json.dumps(line).encode() + b"\n"


def _begin(head: dict[str, Any], carried: Path | None, file: BinaryIO) -> None:
    """Write the first lines of a journal: its head, and what is carried over from another one."""
    file.write(_encoded(head))
    if carried is None:
        return
    with carried.open("rb") as earlier:
        for _, line in journal_places(earlier, carried):
            if "content" in line:
                file.write(_encoded(line))
            elif row := line.get("observation") or line.get("carried"):
                file.write(_encoded({"carried": row}))
