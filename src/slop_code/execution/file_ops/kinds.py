"""The kinds of input files, and how a file's name tells its kind."""

from enum import StrEnum
from os import PathLike
from pathlib import PurePath
from typing import Self


class _Word(StrEnum):
    """A word of the file format; upper case and lower case mean the same."""

    @classmethod
    def _missing_(cls, value: object) -> Self | None:
        wanted = value.lower() if isinstance(value, str) else None
        return next((member for member in cls if member.value == wanted), None)


class FileType(_Word):
    """How a content is written to a file and read from it; taken by value or by name, `csv` or `CSV`."""

    TEXT = "text"
    BINARY = "binary"
    JSON = "json"
    JSONL = "jsonl"
    CSV = "csv"
    TSV = "tsv"
    SQLITE = "sqlite"
    PARQUET = "parquet"
    YAML = "yaml"


class Compression(_Word):
    """What is done to a file's bytes after they were made from the content."""

    NONE = "none"
    GZIP = "gzip"
    BZIP2 = "bzip2"


NEVER_COMPRESSED = frozenset({FileType.SQLITE, FileType.PARQUET, FileType.YAML})

_TYPES = {
    ".json": FileType.JSON,
    ".jsonl": FileType.JSONL,
    ".ndjson": FileType.JSONL,
    ".csv": FileType.CSV,
    ".tsv": FileType.TSV,
    ".sqlite": FileType.SQLITE,
    ".sqlite3": FileType.SQLITE,
    ".db": FileType.SQLITE,
    ".parquet": FileType.PARQUET,
    ".yaml": FileType.YAML,
    ".yml": FileType.YAML,
    ".bin": FileType.BINARY,
    ".tar": FileType.BINARY,
    ".tgz": FileType.BINARY,
    ".tbz2": FileType.BINARY,
}
_COMPRESSIONS = {".gz": Compression.GZIP, ".bz2": Compression.BZIP2}
_COMPRESSED_ARCHIVES = (".tar.gz", ".tar.bz2")


def resolve_suffix(
    path: str | PathLike[str],
    file_type: FileType | str | None = None,
    compression: Compression | str | None = None,
) -> tuple[FileType, Compression]:
    """Tell a file's type and compression by its suffix, whatever its case; what is given stands.

    Every unknown suffix is text. Compressed archives (`.tar.gz`, `.tgz`) are bytes to be left alone.
    SQLite, Parquet and YAML know no compression: `x.db.gz` is compressed text, as every unknown suffix is (and
    reads as bytes when it is no text); one of the three types given for a `.gz` name means no compression.
    """
    suffix_type, suffix_compression = _by_suffix(PurePath(path))
    chosen_type = suffix_type if file_type is None else FileType(file_type)
    if compression is not None:
        return chosen_type, Compression(compression)
    if chosen_type in NEVER_COMPRESSED:
        return chosen_type, Compression.NONE
    return chosen_type, suffix_compression


def _by_suffix(path: PurePath) -> tuple[FileType, Compression]:
    suffix = path.suffix.lower()
    compression = _COMPRESSIONS.get(suffix, Compression.NONE)
    if compression is Compression.NONE:
        return _TYPES.get(suffix, FileType.TEXT), compression
    if path.name.lower().endswith(_COMPRESSED_ARCHIVES):
        return FileType.BINARY, Compression.NONE
    inner = _TYPES.get(PurePath(path.stem).suffix.lower(), FileType.TEXT)
    return (FileType.TEXT if inner in NEVER_COMPRESSED else inner), compression
