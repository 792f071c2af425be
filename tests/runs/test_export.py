"""`slop-code report`: results as JSON, JUnit XML, Markdown and CSV, whatever is in them."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from slop_code.cli.case_json import full_entry
from slop_code.evaluation.report import CorrectnessResults, ReportWriter, iter_reports
from slop_code.evaluation.verifiers import AttributeResult, VerifierReport
from tests.runs.asking import ask, made, save
from tests.runs.world import World, copy_of

HALF = 'test -n "$1" && echo hello $1\n'
"""Passes the Core case and fails the Error case."""
ODD = 'a|\\|b`c```\n\r\n<b>&"\x1b[31m\x00\x85\u2028\ufffe]]>\ud83d 漢'
FORMATS = ["json", "junit", "markdown", "csv"]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def _half(_evaluated: World, tmp_path_factory: pytest.TempPathFactory) -> World:
    world = copy_of(_evaluated, tmp_path_factory.mktemp("half"))
    world.snapshot("run", "greet", "second", HALF)
    world.evaluate("run")
    return world


@pytest.fixture
def half(_half: World, tmp_path: Path) -> World:
    """A run whose last checkpoint has a case that fails."""
    return copy_of(_half, tmp_path)


def odd_reports() -> list[VerifierReport]:
    values = [
        ODD,
        b"\x00\xff",
        math.nan,
        -math.inf,
        10**5000,
        {"$bytes": 1, "x": [ODD]},
        {"$float": "nan"},
        None,
        5,
        "5",
    ]
    results = {
        f"{ODD}{number}": AttributeResult(
            attribute=f"{ODD}{number}", actual=value, expected=value, diff=value, is_correct=number > 0
        )
        for number, value in enumerate(values)
    }
    # A lone surrogate in a key is spelled out in a model, but not in a copy of one.
    results = {result.attribute: result for result in results.values()}
    failed = VerifierReport(
        id=ODD, group=ODD, type="Core", duration=0.1, results=results, case={"id": ODD, "stdin": ODD}, warnings=[ODD]
    )
    late = made("late", ODD, outcome="timed out", cpu_s=0.25, peak_memory=4096, attempts=3)
    return [failed, late, made("lost", ODD, outcome="error", error=f"first {ODD}", verdicts={}), made("fine", ODD)]


def test_json_has_the_summary_and_the_whole_report_of_each_case(half: World) -> None:
    answer = ask("report", "run", "--format", "json")
    assert answer.code == 0
    first, second = answer.json["checkpoints"]
    cases = second.pop("cases")
    assert second == half.summary("run/greet/second")
    assert cases == [full_entry(report) for report in iter_reports("run/greet/second")]
    assert [(case["id"], case["passed"], case["score"]) for case in cases] == [
        ("you", True, 1.0),
        ("nobody", False, 0.0),
    ]
    assert first["name"] == "first"
    # One case a line.
    assert [json.loads(line.rstrip(","))["id"] for line in answer.stdout.splitlines() if line.startswith('{"id"')] == [
        "you",
        "nobody",
        "you",
        "nobody",
    ]


def test_json_tells_odd_values_as_run_case_does() -> None:
    save(Path("results"), odd_reports(), problem=ODD)
    (checkpoint,) = ask("report", "results", "--format", "json").json["checkpoints"]
    assert checkpoint["cases"] == [json.loads(json.dumps(full_entry(report))) for report in iter_reports("results")]


def test_csv_has_one_line_a_case(half: World) -> None:
    answer = ask("report", "run", "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(answer.stdout)))
    names = "problem checkpoint group id type outcome score run_s cpu_s peak_memory attempts error"
    assert list(rows[0]) == names.split()
    assert [
        (row["checkpoint"], row["group"], row["id"], row["type"], row["outcome"], row["score"]) for row in rows
    ] == [
        ("first", "core", "you", "Core", "passed", "1.0"),
        ("first", "errors", "nobody", "Error", "passed", "1.0"),
        ("second", "core", "you", "Core", "passed", "1.0"),
        ("second", "errors", "nobody", "Error", "failed", "0.0"),
    ]
    assert all(float(row["run_s"]) > 0 and row["attempts"] == "1" for row in rows)


def test_csv_stays_one_line_a_case_whatever_is_in_it() -> None:
    save(Path("results"), odd_reports(), problem=ODD)
    text = ask("report", "results", "--format", "csv").stdout
    assert len(text.splitlines()) == 5
    rows = list(csv.reader(io.StringIO(text)))
    assert {len(row) for row in rows} == {12}
    failed, late, lost, fine = rows[1:]
    shown = ODD[:10] + r"\n\r\n" + r'<b>&"\x1b[31m\x00\x85' + "\\u2028" + "\ufffe]]>\\ud83d 漢"
    assert failed[:4] == [shown, "one", shown, shown]
    assert late[3:] == ["late", "Core", "timed out", "0.0", "0.5", "0.25", "4096", "3", ""]
    assert lost[11] == f"first {ODD[:10]}"
    assert (fine[6], fine[8], fine[9]) == ("1.0", "", "")


def test_junit_has_a_suite_for_each_group_of_each_checkpoint(half: World) -> None:
    one = ElementTree.fromstring(ask("report", "run/greet/second", "--format", "junit").stdout)
    assert [suite.get("name") for suite in one] == ["core", "errors"]
    whole = ElementTree.fromstring(ask("report", "run", "--format", "junit").stdout)
    assert (whole.get("tests"), whole.get("failures"), whole.get("errors")) == ("4", "1", "0")
    assert [suite.get("name") for suite in whole] == [
        "greet.first.core",
        "greet.first.errors",
        "greet.second.core",
        "greet.second.errors",
    ]
    (failed,) = whole.findall(".//testcase[failure]")
    assert (failed.get("classname"), failed.get("name")) == ("greet.second.errors", "nobody")


def test_junit_is_xml_whatever_is_in_it() -> None:
    for name in ("run/one", "run/two"):
        save(Path(name), odd_reports(), problem=ODD, checkpoint=name[-3:])
    for place, cases in (("run/one", 4), ("run", 8)):
        text = ask("report", place, "--format", "junit").stdout
        assert text.startswith("<?xml")
        root = ElementTree.fromstring(text)
        assert len(root.findall(".//testcase")) == cases == int(root.get("tests", ""))
        assert len(root.findall(".//error")) == cases // 4


def test_markdown_shows_groups_and_what_did_not_pass(half: World) -> None:
    page = ask("report", "run", "--format", "markdown").stdout
    assert page.startswith("# Results of 2 checkpoints\n")
    assert "| `greet/second` | 1/2 | 0.50 |" in page
    assert "## `greet/second`\n\n**1 of 2 passed**, 1 failed, score 0.50, " in page
    assert "| `errors` | Error | 0/1 | 0.00 |" in page
    assert re.search(
        r"^### failed: `errors/nobody` \(score 0\.00, \d\.\d\d s\)\n\n```text\noutput:\n", page, re.MULTILINE
    )
    assert "- 1 | hello⏎" in page
    assert "you" not in page, "what passed is not listed"
    alone = ask("report", "run/greet/second", "--format", "markdown").stdout
    assert alone.startswith("# `greet/second`\n")
    assert "\n## failed: `errors/nobody`" in alone


def test_markdown_is_markdown_whatever_is_in_it() -> None:
    save(Path("results"), odd_reports(), problem=ODD, environment=ODD, setup_failures=[f"$ x\n```\n{ODD}"])
    page = ask("report", "results", "--format", "markdown").stdout
    assert not set(page) & set("\x1b\x00\x85\u2028")
    outside = re.sub(r"^(`{3,})text\n.*?^\1$", "", page, flags=re.MULTILINE | re.DOTALL)
    assert outside.count("\n#") == 3
    rows = [line for line in outside.split("\n") if line.startswith("|")]
    assert {len(re.findall(r"(?:\\.|[^|\\])+", row)) for row in rows} == {5}
    assert len(rows) == 3
    assert "<b>" not in re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", outside)


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_the_same_as_what_is_printed(name: str, here: Path) -> None:
    save(Path("results"), odd_reports(), problem=ODD)
    printed = ask("report", "results", "--format", name).stdout
    answer = ask("report", "results", "--format", name, "-o", "new/folder/report")
    assert (answer.code, answer.stdout) == (0, "")
    assert Path("new/folder/report").read_bytes() == printed.encode("utf-8", "backslashreplace")


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_is_replaced_at_once_or_not_at_all(name: str, here: Path) -> None:
    save(Path("run/one"), [made("it")])
    save(Path("run/two"), [made("it")], checkpoint="two")
    Path("report").write_text("old")
    reports = Path("run/two/reports.parquet")
    data = bytearray(reports.read_bytes())
    # The footer with the summary stays as it is, and the rows are spoilt: the trouble comes when half is written.
    rows = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    data[4:rows] = b"\xff" * (rows - 4)
    reports.write_bytes(bytes(data))
    answer = ask("report", "run", "--format", name, "-o", "report")
    assert answer.code == 2
    assert "run/two/reports.parquet: is damaged or cannot be read" in answer.stderr
    assert Path("report").read_text() == "old"
    assert sorted(path.name for path in here.iterdir()) == ["report", "run"]


@pytest.mark.parametrize("name", FORMATS)
def test_results_that_are_not_complete_are_written_and_said_to_be_so(name: str) -> None:
    results = CorrectnessResults(problem_name="shop", problem_version=1, name="one", version=1)
    writer = ReportWriter("results", results)
    for report in (made("finished"), made("wrong", outcome="failed")):
        writer.add(report)
    writer.close()
    answer = ask("report", "results", "--format", name)
    assert answer.code == 0
    assert "wrong" in answer.stdout
    assert answer.stderr == "shop/one: the results are not complete\n"
    assert ("**not complete**" in answer.stdout) == (name == "markdown")


@pytest.mark.parametrize("name", FORMATS)
def test_a_checkpoint_without_cases_is_a_valid_report(name: str) -> None:
    save(Path("results"), [])
    text = ask("report", "results", "--format", name).stdout
    if name == "json":
        assert json.loads(text)["checkpoints"][0]["cases"] == []
    elif name == "junit":
        assert ElementTree.fromstring(text).get("tests") == "0"
    elif name == "csv":
        assert text.count("\n") == 1
    else:
        assert "**0 of 0 passed**" in text


def test_bad_usage_says_what_is_wrong_and_prints_nothing() -> None:
    save(Path("results"), [made("it")])
    Path("folder").mkdir()
    for arguments, said in (
        (["results"], "Missing option '--format'"),
        (["results", "--format", "html"], "'html' is not one of"),
        (["nowhere", "--format", "csv"], "nowhere: no such folder"),
        (["folder", "--format", "csv"], "folder: has no results (reports.parquet and evaluation.json); it is empty"),
        (["results", "--format", "csv", "-o", "folder"], "folder: cannot be written"),
    ):
        answer = ask("report", *arguments)
        assert (answer.code, answer.stdout) == (2, "")
        assert said in answer.stderr


def test_a_reader_that_goes_away_is_no_error(here: Path) -> None:
    save(Path("results"), [made(str(number)) for number in range(2_000)])
    command = [sys.executable, "-c", "from slop_code.cli import main; main()", "report", "results", "--format", "json"]
    with subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b'{"checkpoints": [\n'
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 0
