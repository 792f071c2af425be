"""What is finished is kept, whatever becomes of the run."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from slop_code.evaluation.report import CorrectnessResults, ReportError, ReportWriter, iter_reports
from tests.reports.make import line, report, results, two_groups

JOURNAL = "reports.partial.jsonl"


def test_when_the_run_ends_the_two_files_take_the_journals_place(tmp_path: Path) -> None:
    made = results()
    with ReportWriter(tmp_path, made) as writer:
        first = report("a")
        writer.add(first)
        writer.add_group_report("core", "Core", 1.0, [first, report("b")], weight=2.0)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evaluation.json", "reports.parquet"]
    read = CorrectnessResults.from_dir(tmp_path)
    assert read == made
    assert read.complete
    assert [item.id for item in read.reports] == ["a", "b"]
    assert read.group_outcomes["core"].weight == 2.0


def test_a_finished_group_is_on_the_disk_before_the_last_one_ends(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    writer.add_group_report("core", "Core", 1.0, [report("a")])
    read = CorrectnessResults.from_dir(tmp_path)
    assert list(read.group_outcomes) == ["core"]
    assert not read.complete
    writer.close()


def test_a_finished_case_is_on_the_disk_before_its_group_ends(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    odd = report("a", line(actual=b"\xff", expected="5", diff=float("inf")), group="odd", type="Error")
    writer.add(odd, weight=0.5)
    read = CorrectnessResults.from_dir(tmp_path)
    assert read.reports == [odd]
    assert read.group_outcomes["odd"].weight == 0.5
    assert read.total_counts == {"Error": 1}
    assert list(iter_reports(tmp_path)) == [odd]
    assert list(iter_reports(tmp_path, ["problem", "id"])) == [{"problem": "ledger", "id": "a"}]
    writer.close()


def test_cases_that_ended_in_another_order_come_back_in_the_groups(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    reports = [report(name) for name in "abc"]
    for item in reversed(reports):
        writer.add(item)
    writer.add_group_report("core", "Core", 1.0, reports)
    assert CorrectnessResults.from_dir(tmp_path).reports == reports
    assert len((tmp_path / JOURNAL).read_text().splitlines()) == 1 + 3 + 1
    writer.close()


def test_an_exception_leaves_what_was_finished(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), ReportWriter(tmp_path, results()) as writer:
        writer.add_group_report("core", "Core", 1.0, [report("a")])
        writer.add(report("b", group="more"))
        raise KeyboardInterrupt
    read = CorrectnessResults.from_dir(tmp_path)
    assert {name: list(group.results) for name, group in read.group_outcomes.items()} == {"core": ["a"], "more": ["b"]}
    assert not read.complete


KILLED = """
import os, signal, sys
from slop_code.evaluation.report import ReportWriter
from tests.reports.make import report, results
writer = ReportWriter(sys.argv[1], results())
for number in range(50):
    writer.add(report(f"case {number}"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_process_loses_no_finished_case(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", KILLED, tmp_path], check=False)
    assert done.returncode == -signal.SIGKILL
    assert [item.id for item in CorrectnessResults.from_dir(tmp_path).reports] == [f"case {n}" for n in range(50)]


@pytest.mark.parametrize("torn", [b'{"case": 2, "rep', b'{"case": 2}', b"\x00\x00\x00", b'{"case": 7, "report": {}}'])
def test_a_torn_last_line_is_passed_over(tmp_path: Path, torn: bytes) -> None:
    writer = ReportWriter(tmp_path, results())
    writer.add(report("a"))
    writer.add(report("b"))
    writer.close()
    with (tmp_path / JOURNAL).open("ab") as file:
        file.write(torn)
    assert [item.id for item in CorrectnessResults.from_dir(tmp_path).reports] == ["a", "b"]
    assert [item.id for item in iter_reports(tmp_path)] == ["a", "b"]


def test_every_cut_of_a_journal_gives_the_cases_before_it(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    writer.add_group_report("core", "Core", 1.0, [report("a"), report("b")])
    writer.close()
    data = (tmp_path / JOURNAL).read_bytes()
    head = data.index(b"\n") + 1
    for end in range(head, len(data), 97):
        (tmp_path / JOURNAL).write_bytes(data[:end])
        read = CorrectnessResults.from_dir(tmp_path)
        assert [item.id for item in read.reports] == ["a", "b"][: data[head:end].count(b"\n")]


def test_a_damaged_line_costs_its_case_and_is_told(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    writer.add_group_report("core", "Core", 1.0, [report("a"), report("b")])
    writer.close()
    lines = (tmp_path / JOURNAL).read_bytes().splitlines(keepends=True)
    lines[1] = b"garbage\n"
    (tmp_path / JOURNAL).write_bytes(b"".join(lines))
    with capture_logs() as logs:
        assert [item.id for item in CorrectnessResults.from_dir(tmp_path).reports] == ["b"]
    assert f"{JOURNAL}:2: a damaged line is passed over" in logs[0]["event"]


def test_a_journal_of_a_newer_slop_code_is_refused(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_text(json.dumps({"evaluation": {"format_version": 2}}) + "\n")
    with pytest.raises(ReportError, match=r"partial.jsonl: .* version 2"):
        CorrectnessResults.from_dir(tmp_path)
    (tmp_path / JOURNAL).write_text("")
    with pytest.raises(ReportError, match=r"partial.jsonl: .*empty"):
        CorrectnessResults.from_dir(tmp_path)
    (tmp_path / JOURNAL).write_text("{}\n")
    with pytest.raises(ReportError, match="no format version"):
        list(iter_reports(tmp_path))
    ReportWriter(tmp_path, results()).close()
    with (tmp_path / JOURNAL).open("a") as file:
        file.write('{"case": 0, "report": {}}\n')
    with pytest.raises(ReportError, match=r"partial.jsonl: is not a journal that slop-code wrote"):
        CorrectnessResults.from_dir(tmp_path)


def test_a_new_run_over_older_results_counts_as_soon_as_it_begins(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    writer = ReportWriter(tmp_path, results(name="again"))
    writer.add(report("a"))
    writer.close()
    read = CorrectnessResults.from_dir(tmp_path)
    assert (read.name, read.complete, len(read.reports)) == ("again", False, 1)
    assert (tmp_path / "reports.parquet").exists()


def test_saving_results_removes_the_journal_that_they_replace(tmp_path: Path) -> None:
    writer = ReportWriter(tmp_path, results())
    writer.add(report("a"))
    writer.close()
    CorrectnessResults.from_dir(tmp_path).save(tmp_path)
    assert not (tmp_path / JOURNAL).exists()
    read = CorrectnessResults.from_dir(tmp_path)
    assert [item.id for item in read.reports] == ["a"]
    assert not read.complete


def test_any_thread_may_add(tmp_path: Path) -> None:
    made = results()

    def run(group: str) -> None:
        reports = [report(str(number), group=group) for number in range(50)]
        for item in reports:
            writer.add(item)
        writer.add_group_report(group, "Core", 1.0, reports)

    with ReportWriter(tmp_path, made) as writer:
        threads = [threading.Thread(target=run, args=(f"group {number}",)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        interim = CorrectnessResults.from_dir(tmp_path)
    assert interim.group_outcomes == made.group_outcomes
    assert CorrectnessResults.from_dir(tmp_path) == made
    assert made.total_counts == {"Core": 200}


FULL_DISK = """
import resource, sys
from slop_code.evaluation.report import ReportError, ReportWriter
from tests.reports.make import line, report, results
writer = ReportWriter(sys.argv[1], results())
writer.add(report("a"))
size = writer._size
resource.setrlimit(resource.RLIMIT_FSIZE, (size + 500, resource.RLIM_INFINITY))
try:
    writer.add(report("b", line(actual="x" * 1000)))
except ReportError as error:
    print(error)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
writer.add(report("c"))
"""


def test_a_full_disk_costs_the_case_and_not_the_journal(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert "partial.jsonl: cannot be written: " in done.stdout
    assert [item.id for item in CorrectnessResults.from_dir(tmp_path).reports] == ["a", "c"]
