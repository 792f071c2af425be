"""What is wrong, or odd, in a file: collected while reading, shown all at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, NamedTuple

from slop_code.errors import SlopCodeError
from slop_code.paths import shown_path

if TYPE_CHECKING:
    from pathlib import Path

    from slop_code.documents import Document, Location

Severity = Literal["error", "warning"]


class Finding(NamedTuple):
    """One thing to tell the author of a file."""

    severity: Severity
    message: str
    path: str
    line: int | None = None
    excerpt: str = ""

    def __str__(self) -> str:
        place = f"{self.path}:{self.line}" if self.line else self.path
        head = f"{place}: {self.message}" if place else self.message
        return f"{head}\n{self.excerpt}" if self.excerpt else head


@dataclass
class Findings:
    """Collects findings. Readers report here and go on, so that one run shows everything."""

    items: list[Finding] = field(default_factory=list)

    def error(
        self, message: str, document: Document | None = None, at: Location = (), *, path: Path | None = None
    ) -> None:
        self._add("error", message, document, at, path)

    def warning(
        self, message: str, document: Document | None = None, at: Location = (), *, path: Path | None = None
    ) -> None:
        self._add("warning", message, document, at, path)

    def add(self, finding: Finding) -> None:
        if finding not in self.items:
            self.items.append(finding)

    @property
    def errors(self) -> list[Finding]:
        return [item for item in self.items if item.severity == "error"]

    @property
    def warnings(self) -> list[Finding]:
        return [item for item in self.items if item.severity == "warning"]

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.items)

    def _add(
        self, severity: Severity, message: str, document: Document | None, at: Location, path: Path | None
    ) -> None:
        if document is None:
            self.add(Finding(severity, message, shown_path(path) if path else ""))
            return
        place = document.place(at)
        file = shown_path(document.path)
        if place is None:
            self.add(Finding(severity, message, file))
        else:
            self.add(Finding(severity, message, file, place.line, document.excerpt(place)))


class FindingsError(SlopCodeError):
    """A file could not be understood. `findings` holds each thing that is wrong; the text shows them all."""

    def __init__(self, findings: str | Iterable[Finding]) -> None:
        self.findings = [Finding("error", findings, "")] if isinstance(findings, str) else list(findings)
        super().__init__("\n".join(map(str, self.findings)))


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """` (did you mean "x"?)` when one of `known` is close to `name`, else nothing."""
    match = closest(name, known)
    return f' (did you mean "{match}"?)' if match else ""


def closest(name: object, known: Iterable[str]) -> str | None:
    """The one of `known` that is within a typo of `name`, if any."""
    # Only where something is wrong.
    from difflib import get_close_matches

    by_lower = {option.lower(): option for option in known}
    matches = get_close_matches(str(name).lower(), by_lower, n=1, cutoff=0.65)
    return by_lower[matches[0]] if matches else None


def shown_value(value: object, limit: int = 60) -> str:
    """A value as an author would recognise it in a YAML file, on one line."""
    if value is None:
        return "nothing (null)"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return "a mapping" if value else "an empty mapping"
    if isinstance(value, (list, tuple, set)):
        return "a list" if value else "an empty list"
    text = f'"{value}"' if isinstance(value, str) else str(value)
    text = text.replace("\n", "\\n")
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def listed(names: Iterable[object], limit: int = 12) -> str:
    """`"a", "b" and "c"`, cut after `limit` names."""
    shown = [f'"{name}"' for name in names]
    if len(shown) > limit:
        shown = [*shown[:limit], f"{len(shown) - limit} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}" if shown else "none"
