"""Printing: machine-readable output to stdout, everything for people to stderr."""

from __future__ import annotations

from collections.abc import Sequence

import typer


def note(text: str) -> None:
    """Tell a person something."""
    typer.echo(text, err=True)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns, left-aligned, with a header."""
    lines = [header, *rows]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines
    )
