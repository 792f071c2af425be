"""Reports are read by something that is not ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.reports.make import line, report, results


def answer(query: str) -> list[Any]:
    import duckdb

    with duckdb.connect() as connection:
        return connection.execute(query).fetchall()


def test_which_attribute_fails_most_often_by_group_is_one_query(tmp_path: Path) -> None:
    made = results()
    core = [
        report("a", line("output", False), line("status_code", False)),
        report("b", line("output", False), line("status_code", True), line("stderr", None)),
        report("c", line("output", True)),
    ]
    files = [
        report("d", line("files-log", False), line("output", True), group="files"),
        report("e", line("files-log", False), line("output", False), group="files"),
    ]
    made.add_group_report("core", "Core", 1, core)
    made.add_group_report("files", "Functionality", 1, files)
    made.save(tmp_path)
    query = f"""
        SELECT "group", result.attribute AS attribute, count(*) AS failures
        FROM (SELECT "group", unnest(results) AS result FROM '{tmp_path}/reports.parquet')
        WHERE NOT result.is_correct
        GROUP BY "group", attribute
        QUALIFY row_number() OVER (PARTITION BY "group" ORDER BY failures DESC, attribute) = 1
        ORDER BY "group"
    """
    assert answer(query) == [("core", "output", 2), ("files", "files-log", 2)]


def test_the_version_and_the_summary_can_be_read_by_others(tmp_path: Path) -> None:
    made = results()
    made.add_group_report("core", "Core", 1, [report()])
    made.save(tmp_path)
    path = f"{tmp_path}/reports.parquet"
    metadata = dict(answer(f"SELECT key, value FROM parquet_kv_metadata('{path}')"))
    assert metadata[b"slop_code.format_version"] == b"1"
    (kinds,) = answer(f"SELECT typeof(peak_memory), typeof(warnings), typeof(error) FROM '{path}'")
    assert kinds == ("BIGINT", "VARCHAR[]", "VARCHAR")
    assert answer(f"SELECT score FROM read_json('{tmp_path}/evaluation.json')") == [(1.0,)]
