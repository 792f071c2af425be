"""Finding observations again: in a run's finished files, and in the journal of one that did not end."""

from __future__ import annotations

import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from slop_code.evaluation.observations import Kept, Subject, from_row
from slop_code.evaluation.report_format import CONTENTS, JOURNAL, OBSERVATIONS, ReportError
from slop_code.evaluation.report_journal import journal_places
from slop_code.paths import shown_path

_CACHED_GROUPS = 4
_CACHED_CONTENTS = 64


class Recall:
    """The observations in a result directory. Any thread may ask; only what is asked for is read."""

    def __init__(self, directory: Path) -> None:
        self._lock = threading.Lock()
        self._sources: list[_Source] = []
        if (directory / JOURNAL).is_file():
            self._sources.append(_Journal(directory / JOURNAL))
        if (directory / OBSERVATIONS).is_file():
            self._sources.append(_Table(directory))

    def find(self, subject: Subject) -> Kept | None:
        """The observation of just this, if there is one that may be used again."""
        with self._lock:
            for source in self._sources:
                kept = source.find(subject)
                if kept is not None:
                    return kept
        return None

    def named(self, group: str, case_id: str, occurrence: int = 0) -> Kept | None:
        """The observation of the case of that name in the last run; of equal names, one by its number."""
        with self._lock:
            return self._sources[0].named((group, case_id), occurrence) if self._sources else None

    def __bool__(self) -> bool:
        return bool(self._sources)

    def close(self) -> None:
        """Let go of the files."""
        for source in self._sources:
            source.close()


class _Source(ABC):
    """Observations in one place, by what they are of and by name."""

    def __init__(self) -> None:
        self._subjects: dict[Subject, Any] = {}
        self._names: dict[tuple[str, str], list[Any]] = {}

    def find(self, subject: Subject) -> Kept | None:
        place = self._subjects.get(subject)
        return None if place is None else self._read(place)

    def named(self, name: tuple[str, str], occurrence: int) -> Kept | None:
        places = self._names.get(name, ())
        return self._read(places[occurrence]) if occurrence < len(places) else None

    def _note(self, row: Mapping[str, Any], place: Any, *, carried: bool = False) -> None:
        if row["reusable"]:
            self._subjects[Subject(row["place_key"], row["case_key"])] = place
        if not carried:
            self._names.setdefault((row["group"], row["id"]), []).append(place)

    @abstractmethod
    def _read(self, place: Any) -> Kept: ...

    @abstractmethod
    def close(self) -> None: ...


class _Journal(_Source):
    """Lines of a journal, by where they begin. The file may grow or be replaced: what is open stays as it was."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._file = path.open("rb")
        self._contents: dict[str, int] = {}
        for place, line in journal_places(path):
            if "content" in line:
                self._contents[line["content"]] = place
            elif row := line.get("observation") or line.get("carried"):
                self._note(row, place, carried="carried" in line)

    def close(self) -> None:
        self._file.close()

    def _read(self, place: int) -> Kept:
        line = self._line(place)
        return from_row(
            line.get("observation") or line["carried"], lambda key: self._line(self._contents[key])["value"]
        )

    def _line(self, place: int) -> Any:
        self._file.seek(place)
        return json.loads(self._file.readline())


class _Table(_Source):
    """The Parquet files of a finished run, a row group at a time."""

    def __init__(self, directory: Path) -> None:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]

        super().__init__()
        self._path = directory / OBSERVATIONS
        try:
            self._table = pyarrow.parquet.ParquetFile(self._path)
            contents = directory / CONTENTS
            self._contents = pyarrow.parquet.ParquetFile(contents) if contents.is_file() else None
            for group in range(self._table.num_row_groups):
                columns = ["group", "id", "place_key", "case_key", "reusable"]
                for number, row in enumerate(self._table.read_row_group(group, columns=columns).to_pylist()):
                    self._note(row, (group, number))
        except (pyarrow.ArrowException, OSError, KeyError) as error:
            raise ReportError(f"{shown_path(self._path)}: is damaged or cannot be read: {error}") from error
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
            raise ReportError(f"{shown_path(self._path)}: refers to contents, and {CONTENTS} is missing")
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
        return text
