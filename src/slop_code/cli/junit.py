"""JUnit XML, as continuous integration systems read it: a test suite for each group, a test case for each case."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO
from xml.etree import ElementTree

from slop_code.cli.console import harmless
from slop_code.cli.differences import explain, first_difference
from slop_code.evaluation.atomic_files import replace_files

if TYPE_CHECKING:
    from slop_code.evaluation.report import CorrectnessResults
    from slop_code.evaluation.verifiers.models import VerifierReport

# XML has no way at all to hold these, not even escaped. `harmless` takes the control characters.
_FORBIDDEN = re.compile("[\ufffe\uffff]")
_WIDTH = 200


def write_junit(path: Path, results: CorrectnessResults, reports: Iterable[VerifierReport] | None = None) -> None:
    """Write the results of a checkpoint to `path`, at once or not at all.

    Raises:
        ReportError: it cannot be written; a file that was there before is as it was.
    """
    tree = ElementTree.ElementTree(_suites(results, results.reports if reports is None else reports))
    ElementTree.indent(tree)

    def write(file: BinaryIO) -> None:
        tree.write(file, encoding="utf-8", xml_declaration=True)

    replace_files({path: write})


def _suites(results: CorrectnessResults, reports: Iterable[VerifierReport]) -> ElementTree.Element:
    name = f"{results.problem_name}.{results.name}"
    root = ElementTree.Element("testsuites", name=_text(name))
    suites: dict[str, ElementTree.Element] = {}
    for report in reports:
        suite = suites.get(report.group)
        if suite is None:
            suite = suites[report.group] = ElementTree.SubElement(root, "testsuite", name=_text(report.group))
            suite.set("timestamp", results.timestamp.isoformat(timespec="seconds"))
        suite.append(_case(f"{name}.{report.group}", report))
    for group, suite in suites.items():
        outcome = results.group_outcomes.get(group)
        _count(suite, outcome.duration if outcome else 0.0, suite)
    _count(root, results.duration, *suites.values())
    return root


def _case(class_name: str, report: VerifierReport) -> ElementTree.Element:
    seconds = (report.run_s or 0.0) + report.duration
    case = ElementTree.Element("testcase", name=_text(report.id), classname=_text(class_name), time=f"{seconds:.3f}")
    if report.outcome != "passed":
        kind = "error" if report.outcome == "error" else "failure"
        lines = explain(report, _WIDTH)
        trouble = ElementTree.SubElement(case, kind, message=_text(first_difference(report)))
        trouble.set("type", report.outcome or "error")
        trouble.text = _text("\n".join(lines))
    return case


def _count(element: ElementTree.Element, duration: float, *suites: ElementTree.Element) -> None:
    cases = [case for suite in suites for case in suite.findall("testcase")]
    element.set("tests", str(len(cases)))
    element.set("failures", str(sum(case.find("failure") is not None for case in cases)))
    element.set("errors", str(sum(case.find("error") is not None for case in cases)))
    element.set("skipped", "0")
    element.set("time", f"{duration:.3f}")


def _text(text: str) -> str:
    return _FORBIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", harmless(text))
