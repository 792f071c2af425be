"""`slop-code report`: results in the forms that other tools, or people, read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from slop_code.cli.console import emit, note

if TYPE_CHECKING:
    from slop_code.runs.result_folders import ResultFolder

_BATCH = 1 << 16


class Format(StrEnum):
    """What results can be written as."""

    JSON = "json"
    JUNIT = "junit"
    MARKDOWN = "markdown"
    CSV = "csv"


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIR", help="Results: of one checkpoint, of a problem, or a run.")
    ],
    output_format: Annotated[Format, typer.Option("--format", help="What to write.")],
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="A file to write, instead of stdout.")
    ] = None,
) -> None:
    """Print results in a format of your choice.

    \b
    Examples:
      slop-code report results --format markdown
      slop-code report runs/monday --format junit -o junit.xml
      slop-code report runs/monday --format csv | column -s, -t

    json has the summary of each checkpoint and the whole report of each case; junit a test suite for each group;
    markdown what did not pass and why; csv one line a case. FILE is replaced at once, or not at all.

    Exits with 0 once it is written, however the cases ended, and 2 for bad usage.
    """
    from slop_code.runs.result_folders import result_folders

    folders = result_folders(directory)
    for folder in folders:
        if not folder.complete:
            note(f"{folder.name}: the results are not complete")
    lines = _lines(folders, output_format)
    if output is None:
        _print(lines)
    else:
        _write(lines, output)


def _lines(folders: Sequence[ResultFolder], output_format: Format) -> Iterable[str]:
    from slop_code.cli.report_junit import junit_lines
    from slop_code.cli.report_markdown import page
    from slop_code.runs.export import csv_lines, json_lines

    if output_format is Format.JSON:
        return json_lines(folders)
    if output_format is Format.CSV:
        return csv_lines(folders)
    return junit_lines(folders) if output_format is Format.JUNIT else page(folders)


def _print(lines: Iterable[str]) -> None:
    """Many lines at a time, since each call is flushed."""
    for batch in _batches(lines):
        emit("\n".join(batch))


def _batches(lines: Iterable[str]) -> Iterator[list[str]]:
    batch: list[str] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line)
        if size > _BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _write(lines: Iterable[str], path: Path) -> None:
    from slop_code.evaluation.atomic_files import replace_files

    def write(file: BinaryIO) -> None:
        for line in lines:
            file.write(line.encode("utf-8", "backslashreplace") + b"\n")

    replace_files({path: write})
