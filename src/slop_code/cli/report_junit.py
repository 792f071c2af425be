"""The results of one checkpoint or of several as one JUnit XML file."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from slop_code.cli.junit import write_junit

if TYPE_CHECKING:
    from slop_code.runs.result_folders import ResultFolder

_COUNTS = ("tests", "failures", "errors", "skipped")


def junit_lines(folders: Sequence[ResultFolder]) -> Iterator[str]:
    """The lines of the file. Of several checkpoints, each suite is named `problem.checkpoint.group`.

    Raises:
        ReportError: some results are damaged, or a newer slop-code wrote them.
    """
    with tempfile.TemporaryDirectory(prefix="slop-code-junit-") as place:
        path = Path(place) / "junit.xml"
        if len(folders) == 1:
            _write_one(folders[0], path)
            yield from path.read_text(encoding="utf-8").split("\n")
            return
        whole = ElementTree.Element("testsuites", name="slop-code")
        for folder in folders:
            _write_one(folder, path)
            _take_over(ElementTree.parse(path).getroot(), whole)  # noqa: S314  # we have just written it
        ElementTree.indent(whole)
    yield '<?xml version="1.0" encoding="utf-8"?>'
    yield from ElementTree.tostring(whole, encoding="unicode").split("\n")


def _write_one(folder: ResultFolder, path: Path) -> None:
    from slop_code.evaluation.report import iter_reports

    write_junit(path, folder.summary(), iter_reports(folder.path))


def _take_over(one: ElementTree.Element, whole: ElementTree.Element) -> None:
    for suite in one:
        suite.set("name", f"{one.get('name')}.{suite.get('name')}")
        whole.append(suite)
    for count in _COUNTS:
        whole.set(count, str(int(whole.get(count, "0")) + int(one.get(count, "0"))))
    whole.set("time", f"{float(whole.get('time', '0')) + float(one.get('time', '0')):.3f}")
