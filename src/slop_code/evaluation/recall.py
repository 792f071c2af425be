"""Finding observations again: in a run's finished files, and in the journal of one that did not end."""

from __future__ import annotations

import contextlib
import hashlib
import json
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from slop_code.evaluation.observation_keys import is_in_order
from slop_code.evaluation.observations import Kept, Subject, from_row
from slop_code.evaluation.report_format import CONTENTS, JOURNAL, OBSERVATIONS, ReportError, check_version
from slop_code.evaluation.report_journal import journal_places
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

    def find(self, subject: Subject) -> Kept | None:
        """The observation of just this, if there is one that may be used again.

        Of cases in a row, it is that of the longest row: one that broke off and one that did not must not be mixed.
        """
        with self._lock:
            for source in sorted(self._sources, key=lambda source: -source.row_of(subject)):
                try:
                    kept = source.find(subject)
                except ReportError as error:
                    self._warn(error)
                    continue
                if kept is not None:
                    return kept
        return None

    def named(self, group: str, case_id: str, occurrence: int = 0) -> Kept | None:
        """The observation of the case of that name in the last run; of equal names, one by its number.

        Raises:
            ReportError: it is damaged.
        """
        name = (spelled_out(group), spelled_out(case_id))
        with self._lock:
            return self._sources[0].named(name, occurrence) if self._sources else None

    def asked(self, case_key: str) -> Kept | None:
        """An observation of just this question in the last run, whatever the case was called.

        Raises:
            ReportError: it is damaged.
        """
        with self._lock:
            return self._sources[0].asked(case_key) if self._sources else None

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
        self._subjects: dict[Subject, tuple[Any, tuple[str, bool]]] = {}
        self._names: dict[tuple[str, str], list[Any]] = {}
        self._keys: dict[str, Any] = {}
        self._rows: Counter[tuple[str, bool]] = Counter()

    def find(self, subject: Subject) -> Kept | None:
        if subject not in self._subjects:
            return None
        kept = self._kept(self._subjects[subject][0])
        if kept.subject != subject:
            raise self._is_damaged("an observation is not where it was")
        return kept

    def row_of(self, subject: Subject) -> int:
        """How many cases are in the row of this one, if it is in a row of cases."""
        return self._rows[self._subjects[subject][1]] if subject in self._subjects else 0

    def named(self, name: tuple[str, str], occurrence: int) -> Kept | None:
        places = self._names.get(name, ())
        return self._kept(places[occurrence]) if occurrence < len(places) else None

    def asked(self, case_key: str) -> Kept | None:
        return self._kept(self._keys[case_key]) if case_key in self._keys else None

    def _note(self, row: Mapping[str, Any], place: Any, *, carried: bool = False) -> None:
        subject, name = Subject(row["place_key"], row["case_key"]), (row["group"], row["id"])
        if row["reusable"]:
            self._subjects[subject] = place, (row["group"], carried)
            self._rows[row["group"], carried] += is_in_order(subject.case)
        if not carried:
            self._names.setdefault(name, []).append(place)
            self._keys[subject.case] = place

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
            for group in range(self._table.num_row_groups):
                columns = ["group", "id", "place_key", "case_key", "reusable"]
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
