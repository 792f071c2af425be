"""The two files of a result, `evaluation.json` and `reports.parquet`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow  # type: ignore[import-untyped]
import pyarrow.parquet  # type: ignore[import-untyped]
import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.report import CorrectnessResults, ReportError, iter_reports
from slop_code.evaluation.report_files import ROW_GROUP_ROWS
from slop_code.evaluation.verifiers import VerifierReport
from tests.reports.make import line, report, results, two_groups
from tests.verifiers.strategies import JSON, RECORDABLE

TEXT, NUMBER, WHOLE, BOOL = pyarrow.string(), pyarrow.float64(), pyarrow.int64(), pyarrow.bool_()
SCHEMA = {
    "problem": TEXT,
    "checkpoint": TEXT,
    "version": WHOLE,
    "problem_version": WHOLE,
    "id": TEXT,
    "group": TEXT,
    "type": TEXT,
    "timestamp": TEXT,
    "duration": NUMBER,
    "results": pyarrow.list_(
        pyarrow.struct(
            {"attribute": TEXT, "actual": TEXT, "expected": TEXT, "diff": TEXT, "is_correct": BOOL, "weight": NUMBER}
        )
    ),
    "case": pyarrow.list_(pyarrow.struct({"attribute": TEXT, "value": TEXT})),
    "original_checkpoint": TEXT,
    "original_group": TEXT,
    "outcome": TEXT,
    "error": TEXT,
    "warnings": pyarrow.list_(TEXT),
    "run_s": NUMBER,
    "cpu_s": NUMBER,
    "peak_memory": WHOLE,
    "output_cut": BOOL,
    "attempts": WHOLE,
}


@pytest.fixture
def unsynced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder where nothing waits for the disk, for tests that write hundreds of files."""
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return tmp_path


def read_back(made: CorrectnessResults, folder: Path) -> CorrectnessResults:
    made.save(folder)
    return CorrectnessResults.from_dir(folder)


def test_the_round_trip_is_lossless(tmp_path: Path) -> None:
    made = two_groups()
    read = read_back(made, tmp_path / "new" / "folder")
    assert read == made
    assert list(read.group_outcomes) == ["core", "errors"]
    assert (read.score, read.error_count) == (made.score, made.error_count)


def test_results_without_a_case_survive_too(tmp_path: Path) -> None:
    made = results()
    assert read_back(made, tmp_path) == made


@given(RECORDABLE, RECORDABLE, JSON, st.floats(0, 10), st.datetimes())
def test_every_value_survives_with_its_type(
    unsynced: Path, actual: Any, expected: Any, other: Any, weight: float, timestamp: datetime
) -> None:
    timestamp = timestamp.replace(fold=0)  # ISO text cannot tell which of two equal hours it was
    made = results(timestamp=timestamp)
    item = report(
        "x",
        line("output", False, weight, actual=actual, expected=expected, diff=other),
        line("files-a", None, actual=expected),
        timestamp=timestamp,
        case={"id": "x", "extra": other},
        warnings=["one", "two"],
        original_checkpoint="checkpoint_0",
        original_group="g",
        cpu_s=weight,
        peak_memory=1 << 40,
        output_cut=True,
        attempts=3,
    )
    made.add_group_report("core", "Core", 1.5, [item, report("plain")])
    assert repr(read_back(made, unsynced)) == repr(made)


@pytest.mark.parametrize(
    "value", ["5", 5, 5.0, "null", None, "true", True, '{"a": 1}', {"a": 1}, b"5", "", b"", [], {}, 10**400]
)
def test_text_that_looks_like_json_comes_back_as_text(tmp_path: Path, value: Any) -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report("x", line(actual=value, expected=value, diff=None))])
    (read,) = read_back(made, tmp_path).reports
    assert read.results["output"].actual == value
    assert type(read.results["output"].actual) is type(value)


def test_a_value_of_10_mb_survives(tmp_path: Path) -> None:
    made = results()
    large = "".join(f"line {number} é\n" for number in range(700_000))
    made.add_group_report("core", "Core", 1, [report("x", line(actual=large, expected=large.encode()))])
    assert len(large) > 9_000_000
    assert read_back(made, tmp_path) == made


def test_a_timestamp_keeps_its_zone(tmp_path: Path) -> None:
    zone = timezone(timedelta(hours=5, minutes=30))
    made = results(timestamp=datetime(2025, 1, 1, tzinfo=zone))
    assert read_back(made, tmp_path).timestamp.utcoffset() == timedelta(hours=5, minutes=30)


def test_names_that_no_file_could_hold_are_spelled_out(tmp_path: Path) -> None:
    made = results(problem_name="odd \udcff")
    copied = report("x").model_copy(update={"error": "bad \udcff", "outcome": "error", "warnings": ["\ud800"]})
    made.add_group_report("g", "Core", 1, [copied])
    read = read_back(made, tmp_path)
    assert read.problem_name == "odd \\udcff"
    assert read.errors == ["g/x: bad \\udcff"]
    assert read.reports[0].error == "bad \\udcff"


def test_evaluation_json_is_the_summary_without_the_reports_sorted_and_indented(tmp_path: Path) -> None:
    made = two_groups()
    made.save(tmp_path)
    text = (tmp_path / "evaluation.json").read_text()
    data = json.loads(text)
    assert text == json.dumps(data, indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    assert data == {
        "complete": True,
        "duration": 4.25,
        "environment": "",
        "error_count": 1,
        "errors": ["errors/lost: verifier.py:3: KeyError: 'x'"],
        "format_version": 1,
        "group_outcomes": {
            "core": {"duration": 1.5, "results": {"right": 1.0, "wrong": 0.5}, "type": "Core", "weight": 1.0},
            "errors": {"duration": 2.5, "results": {"late": 0.0, "lost": 0.0}, "type": "Error", "weight": 0.5},
        },
        "name": "checkpoint_1",
        "pass_counts": {"Core": 1, "Error": 0},
        "problem_name": "ledger",
        "problem_version": 3,
        "python": "",
        "score": pytest.approx((0.75 * 1.0 + 0.0 * 0.5) / 1.5),
        "setup_failures": [],
        "timeout_count": 1,
        "timestamp": "2025-01-02T03:04:05.000678",
        "total_counts": {"Core": 2, "Error": 2},
        "version": 2,
    }


@pytest.mark.parametrize("made", [results(), two_groups()], ids=["empty", "full"])
def test_the_schema_is_fixed_and_has_no_column_of_nulls(tmp_path: Path, made: CorrectnessResults) -> None:
    made.save(tmp_path)
    stored = pyarrow.parquet.read_schema(tmp_path / "reports.parquet")
    assert dict(zip(stored.names, stored.types, strict=True)) == SCHEMA


def test_there_is_one_row_a_case_with_the_names_of_its_run(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    rows = pyarrow.parquet.read_table(tmp_path / "reports.parquet").to_pylist()
    assert [row["id"] for row in rows] == ["right", "wrong", "late", "lost"]
    assert [row["outcome"] for row in rows] == ["passed", "failed", "timed out", "error"]
    names = {"problem": "ledger", "checkpoint": "checkpoint_1", "version": 2, "problem_version": 3}
    assert all(names.items() <= row.items() for row in rows)


def test_values_are_always_json_text(tmp_path: Path) -> None:
    made = results()
    items = [report("a", line(actual="5", expected=5, diff=None), case={"id": "a", "stdin": None})]
    made.add_group_report("core", "Core", 1, items)
    made.save(tmp_path)
    (row,) = pyarrow.parquet.read_table(tmp_path / "reports.parquet").to_pylist()
    assert {name: row["results"][0][name] for name in ("actual", "expected", "diff")} == {
        "actual": '"5"',
        "expected": "5",
        "diff": "null",
    }
    assert row["case"] == [{"attribute": "id", "value": '"a"'}, {"attribute": "stdin", "value": "null"}]


def test_the_file_is_compressed_with_zstd_and_carries_a_format_version(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    file = pyarrow.parquet.ParquetFile(tmp_path / "reports.parquet")
    columns = file.metadata.row_group(0)
    assert {columns.column(index).compression for index in range(columns.num_columns)} == {"ZSTD"}
    assert file.schema_arrow.metadata[b"slop_code.format_version"] == b"1"


def changed(folder: Path, metadata: dict[bytes, bytes] | None, drop: tuple[str, ...] = ()) -> None:
    path = folder / "reports.parquet"
    table = pyarrow.parquet.read_table(path).drop_columns(list(drop))
    kept = table.schema.metadata if metadata is None else metadata
    pyarrow.parquet.write_table(table.replace_schema_metadata(kept), path)


def test_a_newer_format_is_refused_with_the_way_out(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    changed(tmp_path, {b"slop_code.format_version": b"2", b"slop_code.evaluation": b"{}"})
    with pytest.raises(ReportError, match=r"reports.parquet: .* version 2 .* up to version 1; use a newer slop-code"):
        CorrectnessResults.from_dir(tmp_path)
    with pytest.raises(ReportError, match="version 2"):
        list(iter_reports(tmp_path))


def test_a_file_of_somebody_else_is_refused(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"]}), tmp_path / "reports.parquet")
    with pytest.raises(ReportError, match="no format version, so slop-code did not write it"):
        CorrectnessResults.from_dir(tmp_path)
    changed(tmp_path, {b"slop_code.format_version": b"1"})
    with pytest.raises(ReportError, match="no format version"):
        CorrectnessResults.from_dir(tmp_path)
    changed(tmp_path, {b"slop_code.format_version": b"1", b"slop_code.evaluation": b'{"format_version": 1}'})
    with pytest.raises(ReportError, match="the summary is damaged: problem_name"):
        CorrectnessResults.from_dir(tmp_path)


def test_columns_and_keys_that_are_not_there_get_their_defaults(tmp_path: Path) -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report("x")])
    made.save(tmp_path)
    stored = pyarrow.parquet.read_schema(tmp_path / "reports.parquet").metadata
    summary = json.loads(stored[b"slop_code.evaluation"])
    del summary["timeout_count"], summary["errors"]
    summary["from_the_future"] = 1
    metadata = {**stored, b"slop_code.evaluation": json.dumps(summary).encode()}
    changed(tmp_path, metadata, drop=("attempts", "output_cut", "warnings", "cpu_s"))
    assert CorrectnessResults.from_dir(tmp_path) == made
    assert list(iter_reports(tmp_path, ["id", "attempts"])) == [{"id": "x", "attempts": None}]


def test_both_files_agree_even_if_one_of_them_could_not_be_replaced(tmp_path: Path) -> None:
    made = two_groups()
    made.save(tmp_path)
    (tmp_path / "evaluation.json").write_text(json.dumps({"format_version": 1, "name": "older"}))
    assert CorrectnessResults.from_dir(tmp_path) == made


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "reports.parquet: no such file, so there are no results to read"),
        ({"evaluation.json": "{}"}, "no such file beside evaluation.json"),
        ({"reports.parquet": "PAR1 and then nothing"}, "damaged or cannot be read"),
        ({"reports.parquet": ""}, "damaged or cannot be read"),
    ],
)
def test_a_folder_without_results_or_with_damaged_ones_is_a_clear_error(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    for name, content in files.items():
        (tmp_path / name).write_text(content)
    with pytest.raises(ReportError, match=said):
        CorrectnessResults.from_dir(tmp_path)


def test_a_damaged_report_is_named(tmp_path: Path) -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report("x")])
    made.reports[0].outcome = "perhaps"  # type: ignore[assignment]
    made.save(tmp_path)
    with pytest.raises(ReportError, match='the report of "x" is damaged: outcome'):
        CorrectnessResults.from_dir(tmp_path)


def test_the_summary_can_be_read_without_the_reports(tmp_path: Path) -> None:
    made = two_groups()
    made.save(tmp_path)
    read = CorrectnessResults.from_dir(tmp_path, with_reports=False)
    assert read.reports == []
    assert (read.score, read.group_outcomes, read.timeout_count) == (made.score, made.group_outcomes, 1)


def test_reports_can_be_read_one_by_one(tmp_path: Path) -> None:
    made = two_groups()
    made.save(tmp_path)
    reports = iter_reports(tmp_path, batch_size=1)
    first = next(reports)
    assert isinstance(first, VerifierReport)
    assert [first, *reports] == made.reports


def test_reports_can_be_read_column_wise(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    rows = iter_reports(tmp_path, ["id", "outcome"])
    assert list(rows)[:2] == [{"id": "right", "outcome": "passed"}, {"id": "wrong", "outcome": "failed"}]
    (stored, *_) = iter_reports(tmp_path, columns=["results"])
    assert stored["results"][0]["actual"] == '"a"'
    with pytest.raises(ReportError, match=r'no column "outcom" \(did you mean "outcome"\?\)'):
        list(iter_reports(tmp_path, ["outcom"]))


def test_no_more_than_a_part_of_the_reports_is_held_at_a_time(tmp_path: Path) -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report(str(number)) for number in range(2 * ROW_GROUP_ROWS + 1)])
    made.save(tmp_path)
    groups = pyarrow.parquet.ParquetFile(tmp_path / "reports.parquet").metadata
    assert [groups.row_group(index).num_rows for index in range(groups.num_row_groups)] == [1000, 1000, 1]
    large = results()
    huge = "x" * 20_000_000
    large.add_group_report("core", "Core", 1, [report(str(number), line(actual=huge)) for number in range(4)])
    large.save(tmp_path)
    assert pyarrow.parquet.ParquetFile(tmp_path / "reports.parquet").metadata.num_row_groups == 2


def test_saving_again_replaces_the_files_and_leaves_nothing_beside_them(tmp_path: Path) -> None:
    two_groups().save(tmp_path)
    made = results(name="other")
    assert read_back(made, tmp_path) == made
    assert sorted(path.name for path in tmp_path.iterdir()) == ["evaluation.json", "reports.parquet"]


FULL_DISK = """
import resource, sys
from slop_code.evaluation.report import ReportError
from tests.reports.make import line, report, results
made = results(name="too large")
made.add_group_report("core", "Core", 1, [report(str(n), line(actual=f"{n * 7919 % 104729}" * 50)) for n in range(500)])
for limit in (10_000, 100, 0):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        made.save(sys.argv[1])
    except ReportError as error:
        print(error)
"""


def test_a_full_disk_leaves_the_old_files_intact_and_a_clear_error(tmp_path: Path) -> None:
    made = two_groups()
    made.save(tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    done = subprocess.run([sys.executable, "-c", FULL_DISK, tmp_path], capture_output=True, text=True, check=True)
    assert done.stdout.count("reports.parquet: cannot be written: ") == 3
    assert done.stdout.count("what was there before is untouched") == 3
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before
    assert CorrectnessResults.from_dir(tmp_path) == made


def test_a_folder_that_cannot_be_made_is_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ReportError, match=r"file/reports\.parquet: cannot be written: "):
        two_groups().save(tmp_path / "file")


def test_nothing_is_renamed_before_it_is_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    sync, replace = os.fsync, Path.replace

    def noted_sync(file: int) -> None:
        steps.append("fsync")
        sync(file)

    def noted_replace(old: Path, new: Path) -> Path:
        steps.append(new.name)
        return replace(old, new)

    monkeypatch.setattr(os, "fsync", noted_sync)
    monkeypatch.setattr(Path, "replace", noted_replace)
    two_groups().save(tmp_path)
    assert steps == ["fsync", "fsync", "reports.parquet", "evaluation.json", "fsync"]


def test_importing_the_report_module_loads_no_arrow() -> None:
    code = "import sys, slop_code.evaluation.report\nassert not {'pyarrow', 'pandas', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
