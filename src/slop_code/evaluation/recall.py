"""Finding observations again: in a run's finished files, and in the journal of one that did not end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from slop_code.evaluation.journal_reading import journal_places
from slop_code.evaluation.observation_keys import is_in_order
from slop_code.evaluation.observations import Kept, Subject, from_row
from slop_code.evaluation.report_format import CONTENTS, JOURNAL, OBSERVATIONS, ReportError, check_version
from slop_code.evaluation.verifiers.json_text import spelled_out
from slop_code.logging import get_logger
from slop_code.paths import shown_path

_CACHED_GROUPS = 4
_CACHED_CONTENTS = 64
_VERSION_KEY = b"slop_code.format_version"
# What pyarrow raises is one of these, too.
_DAMAGED = (KeyError, IndexError, TypeError, ValueError, RuntimeError, OSError)


class Recall:
    """The observations in a result directory. Any thread may ask; only what is asked for is read."""

    def __init__(self, directory: Path, *, strict: bool = False) -> None:
        """Files that are damaged, or that a newer slop-code wrote, are passed over with a warning.

        Raises:
            ReportError: if `strict`, there are such files.
        """
        self._lock = threading.Lock()
        self._sources: list[_Source] = []
        self._warned = False
        kinds: tuple[tuple[str, type[_Journal | _Table]], ...] = ((JOURNAL, _Journal), (OBSERVATIONS, _Table))
        for name, kind in kinds:
            if (directory / name).is_file():
                try:
                    self._sources.append(kind(directory / name))
                except ReportError as error:
                    if strict:
                        raise
                    self._warn(error)

    def find(self, subject: Subject, row_run: str = "") -> Kept | None:
        """The observation of just this, if there is one that may be used again.

        Of a case in a row, it is that of one run of the row: what several runs gave must not be mixed.
        """
        with self._lock:
            for source in self._sources:
                try:
                    kept = source.find(subject, row_run)
                except ReportError as error:
                    self._warn(error)
                    continue
                if kept is not None:
                    return kept
        return None

    def row_runs(self, subject: Subject, group: str) -> list[str]:
        """The runs of rows that have this, the most promising one first: those of the group's own, then the longest."""
        name = spelled_out(group)
        promises: dict[str, tuple[bool, int]] = {}
        with self._lock:
            for source in self._sources:
                for run in source.row_runs(subject):
                    promises[run] = max(source.promise_of(run, name), promises.get(run, (False, 0)))
        return sorted(promises, key=lambda run: promises[run], reverse=True)

    def named(self, group: str, case_id: str, occurrence: int = 0) -> Kept | None:
        """The observation of the case of that name in the last run; of equal names, one by its number.

        Raises:
            ReportError: it is damaged.
        """
        name = (spelled_out(group), spelled_out(case_id))
        with self._lock:
            return self._sources[0].named(name, occurrence) if self._sources else None

    def asked(self, case_key: str, row: str = "") -> Kept | None:
        """An observation of just this question in the last run, whatever the case was called.

        Of a case in a row, it is that of one `row`, which is the name that the group had then.

        Raises:
            ReportError: it is damaged.
        """
        with self._lock:
            return self._sources[0].asked(case_key, row) if self._sources else None

    def rows_that_asked(self, case_keys: Iterable[str]) -> Counter[str]:
        """The rows of the last run that had cases with some of these keys, and how many."""
        with self._lock:
            return Counter(row for key in case_keys for source in self._sources[:1] for row in source.rows_of(key))

    def __bool__(self) -> bool:
        return bool(self._sources)

    def close(self) -> None:
        """Let go of the files."""
        for source in self._sources:
            source.close()

    def _warn(self, error: ReportError) -> None:
        if not self._warned:
            get_logger(__name__).warning(f"{error}; what it would have told is run again")
        self._warned = True


class _Source(ABC):
    """Observations in one file, by what they are of and by name."""

    def __init__(self, path: Path) -> None:
        self._path = path
        # Cases that are in no row have "" for the row and for its run.
        self._subjects: dict[tuple[Subject, str], Any] = {}
        self._names: dict[tuple[str, str], list[Any]] = {}
        self._keys: dict[tuple[str, str], Any] = {}
        self._rows: dict[str, list[str]] = {}
        self._row_runs: dict[Subject, list[str]] = {}
        self._lengths: Counter[str] = Counter()
        self._groups: dict[str, str] = {}

    def find(self, subject: Subject, row_run: str) -> Kept | None:
        if (subject, row_run) not in self._subjects:
            return None
        kept = self._kept(self._subjects[subject, row_run])
        if kept.subject != subject or kept.observation.row_run != row_run:
            raise self._is_damaged("an observation is not where it was")
        return kept

    def row_runs(self, subject: Subject) -> Iterable[str]:
        return self._row_runs.get(subject, ())

    def promise_of(self, row_run: str, group: str) -> tuple[bool, int]:
        """Whether it was a run of the group of that name, and how many of its cases may be used again."""
        return self._groups[row_run] == group, self._lengths[row_run]

    def named(self, name: tuple[str, str], occurrence: int) -> Kept | None:
        places = self._names.get(name, ())
        return self._kept(places[occurrence]) if occurrence < len(places) else None

    def asked(self, case_key: str, row: str) -> Kept | None:
        return self._kept(self._keys[case_key, row]) if (case_key, row) in self._keys else None

    def rows_of(self, case_key: str) -> Iterable[str]:
        return self._rows.get(case_key, ())

    def _note(self, row: Mapping[str, Any], place: Any, *, carried: bool = False) -> None:
        subject, name = Subject(row["place_key"], row["case_key"]), (row["group"], row["id"])
        in_order, run = is_in_order(subject.case), row.get("row_run") or ""
        # Files of the time before runs of rows had names do not tell what belongs together.
        if row["reusable"] and in_order == bool(run):
            if in_order and (subject, run) not in self._subjects:
                self._row_runs.setdefault(subject, []).append(run)
                self._lengths[run] += 1
                self._groups[run] = row["group"]
            self._subjects[subject, run] = place
        if not carried:
            self._names.setdefault(name, []).append(place)
            self._keys[subject.case, row["group"] if in_order else ""] = place
            if in_order:
                self._rows.setdefault(subject.case, []).append(row["group"])

    def _kept(self, place: Any) -> Kept:
        try:
            return self._read(place)
        except _DAMAGED as error:
            raise self._is_damaged(error) from error

    def _checked(self, key: str, text: str) -> str:
        """A content, which is what its name says."""
        if hashlib.sha256(text.encode()).hexdigest() != key:
            raise ValueError("a content is not what it was")
        return text

    def _is_damaged(self, why: object) -> ReportError:
        return ReportError(f"{shown_path(self._path)}: is damaged or cannot be read: {why}")

    @abstractmethod
    def _read(self, place: Any) -> Kept: ...

    @abstractmethod
    def close(self) -> None: ...


class _Journal(_Source):
    """Lines of a journal, by where they begin. The file may grow or be replaced: what is open stays as it was."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self._contents: dict[str, int] = {}
        try:
            self._file = path.open("rb")
        except OSError as error:
            raise self._is_damaged(error.strerror or error) from error
        for place, line in journal_places(self._file, path):
            # A line that is not as we write it is as good as none.
            with contextlib.suppress(KeyError, TypeError):
                if "content" in line:
                    self._contents[line["content"]] = place
                elif row := line.get("observation") or line.get("carried"):
                    self._note(row, place, carried="carried" in line)

    def close(self) -> None:
        self._file.close()

    def _read(self, place: int) -> Kept:
        line = self._line(place)
        return from_row(line.get("observation") or line["carried"], self._content)

    def _content(self, key: str) -> str:
        return self._checked(key, self._line(self._contents[key])["value"])

    def _line(self, place: int) -> Any:
        self._file.seek(place)
        return json.loads(self._file.readline())


class _Table(_Source):
    """The Parquet files of a finished run, a row group at a time."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet  # type: ignore[import-untyped]

        super().__init__(path)
        contents = path.with_name(CONTENTS)
        try:
            self._table = pyarrow.parquet.ParquetFile(path)
            version = (self._table.schema_arrow.metadata or {}).get(_VERSION_KEY, b"")
            check_version(int(version) if version.isdigit() else None, path)
            self._contents = pyarrow.parquet.ParquetFile(contents) if contents.is_file() else None
            columns = ["group", "id", "place_key", "case_key", "reusable"]
            columns += [name for name in ("row_run",) if name in self._table.schema_arrow.names]
            for group in range(self._table.num_row_groups):
                for number, row in enumerate(self._table.read_row_group(group, columns=columns).to_pylist()):
                    self._note(row, (group, number))
        except _DAMAGED as error:
            raise self._is_damaged(error) from error
        self._group = lru_cache(maxsize=_CACHED_GROUPS)(self._read_group)
        self._content = lru_cache(maxsize=_CACHED_CONTENTS)(self._read_content)
        self._content_places: dict[str, tuple[int, int]] | None = None

    def _read(self, place: tuple[int, int]) -> Kept:
        group, number = place
        return from_row(self._group(group)[number], self._content)

    def close(self) -> None:
        self._table.close()
        if self._contents is not None:
            self._contents.close()

    def _read_group(self, group: int) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self._table.read_row_group(group).to_pylist()
        return rows

    def _read_content(self, key: str) -> str:
        if self._contents is None:
            raise ValueError(f"it refers to contents, and {CONTENTS} is missing")
        if self._content_places is None:
            self._content_places = {
                name: (group, number)
                for group in range(self._contents.num_row_groups)
                for number, name in enumerate(
                    self._contents.read_row_group(group, columns=["content"]).column("content").to_pylist()
                )
            }
        group, number = self._content_places[key]
        text: str = self._contents.read_row_group(group, columns=["value"]).column("value")[number].as_py()
        return self._checked(key, text)
