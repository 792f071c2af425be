"""A file that a case puts into the workspace: where, what, and in which format."""

import os
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, model_validator

from slop_code.execution.file_ops.errors import ContentError, InputFileError
from slop_code.execution.file_ops.formats import decode, encode
from slop_code.execution.file_ops.kinds import NEVER_COMPRESSED, Compression, FileType, resolve_suffix

AnyPath = str | os.PathLike[str]


class InputFile(BaseModel):
    """A content, and the place below the workspace where it is written before the program runs.

    `path` is a `pathlib.Path`, whether it was given as one or as a str. Without `file_type`, the suffix tells
    the type, and the compression too unless that is given; with it, the compression is none unless given.
    A bad path is found when the file is written, so that it costs its own case and not the whole loader.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)

    path: Path
    content: Any
    # This default tells type checkers that the argument is optional; the suffix always decides before it.
    file_type: FileType = FileType.TEXT
    compression: Compression = Compression.NONE

    @classmethod
    def from_path(
        cls,
        path: AnyPath,
        content: Any = None,
        file_type: FileType | str | None = None,
        compression: Compression | str | None = None,
        relative_to: AnyPath | None = None,
    ) -> Self:
        """Take a file of the problem into the workspace under the same relative path.

        `content` is read from the file unless it is given. A relative path is read under `relative_to` (else
        under the current folder) and stored as it is; an absolute path is stored relative to `relative_to`.
        """
        stored = source = Path(path)
        if relative_to is not None:
            source = Path(relative_to) / source
            if stored.is_absolute():
                stored = _relative(stored, Path(relative_to))
        return cls._made(source, stored, content, file_type, compression)

    @classmethod
    def from_absolute(
        cls,
        path: AnyPath,
        save_path: AnyPath,
        content: Any = None,
        file_type: FileType | str | None = None,
        compression: Compression | str | None = None,
    ) -> Self:
        """Read the file `path` and store it as `save_path`; `path`'s suffix tells type and compression."""
        return cls._made(Path(path), Path(save_path), content, file_type, compression)

    @staticmethod
    def resolve_suffix(
        path: AnyPath, file_type: FileType | str | None = None, compression: Compression | str | None = None
    ) -> tuple[FileType, Compression]:
        """Tell a file's type and compression by its suffix; what is given stands."""
        return resolve_suffix(path, file_type, compression)

    def to_bytes(self) -> bytes:
        """Return the exact bytes of the file on disk, compression included; they depend on the content alone."""
        try:
            return encode(self.content, self.file_type, self.compression)
        except ContentError as error:
            raise InputFileError(f"input file {self.path} ({self.file_type}): {error}") from error

    @classmethod
    def _made(
        cls,
        source: Path,
        stored: Path,
        content: Any,
        file_type: FileType | str | None,
        compression: Compression | str | None,
    ) -> Self:
        file_type, compression = resolve_suffix(source, file_type, compression)
        if content is None:
            content = read_content(source, file_type, compression)
        return cls(path=stored, content=content, file_type=file_type, compression=compression)

    @model_validator(mode="before")
    @classmethod
    def _fill_in_from_suffix(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        given = {key: value for key, value in data.items() if value is not None or key == "content"}
        if "file_type" not in given and isinstance(given.get("path"), str | os.PathLike):
            file_type, compression = resolve_suffix(given["path"])
            given = {"compression": compression, **given, "file_type": file_type}
        return given

    @model_validator(mode="after")
    def _check_compression(self) -> Self:
        _refuse_compression(self.file_type, self.compression)
        return self


def read_content(
    path: AnyPath, file_type: FileType | str | None = None, compression: Compression | str | None = None
) -> Any:
    """Read a file as its type says (the table of types); type and compression as in `resolve_suffix`.

    Raises OSError if the file cannot be opened, InputFileError if it does not hold what its type promises.
    """
    file_type, compression = resolve_suffix(path, file_type, compression)
    _refuse_compression(file_type, compression)
    try:
        return decode(Path(path).read_bytes(), file_type, compression)
    except ContentError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise InputFileError(
            f"{place}: not a {file_type} file: {error} (file_type=FileType.TEXT takes any file as it is)"
        ) from error


def _relative(path: Path, base: Path) -> Path:
    for child, parent in ((path, base.absolute()), (path.resolve(), base.resolve())):
        if child.is_relative_to(parent):
            return child.relative_to(parent)
    raise InputFileError(
        f"{path} is not below {base}: from_path stores an absolute path relative to relative_to "
        "(from_absolute stores a file from anywhere as its save_path)"
    )


def _refuse_compression(file_type: FileType, compression: Compression) -> None:
    if file_type in NEVER_COMPRESSED and compression is not Compression.NONE:
        raise InputFileError(
            f"a {file_type} file is never compressed, but compression is {compression}: leave it out, "
            "or give the compressed bytes with file_type=binary and compression=none"
        )
