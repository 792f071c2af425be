"""Input files: what each type takes and gives, rule by rule."""

import bz2
import copy
import datetime
import gzip
import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import yaml
from pydantic import ValidationError

from slop_code.errors import SlopCodeError
from slop_code.execution.file_ops import (
    Compression,
    FileType,
    InputFile,
    InputFileError,
    check_relative,
    formats,
    read_content,
    resolve_suffix,
    write_input_files,
)


def written(workspace: Path, path: str, content: Any, file_type: str, compression: str = "none") -> bytes:
    file = InputFile(
        path=Path(path), content=content, file_type=FileType(file_type), compression=Compression(compression)
    )
    write_input_files(workspace, [file])
    return (workspace / path).read_bytes()


def encoded(file_type: str, content: Any) -> bytes:
    return InputFile(path=Path("x"), content=content, file_type=FileType(file_type)).to_bytes()


def from_file(tmp_path: Path, name: str, data: bytes) -> Any:
    (tmp_path / name).write_bytes(data)
    return InputFile.from_path(name, relative_to=tmp_path).content


class TestModel:
    def test_is_frozen(self) -> None:
        file = InputFile.model_validate({"path": "a.txt", "content": "x"})
        with pytest.raises(ValidationError, match="frozen"):
            file.content = "y"  # type: ignore[misc]

    def test_a_path_may_be_str_or_path_and_is_stored_as_a_path(self) -> None:
        by_text = InputFile.model_validate({"path": "in/a.txt", "content": "x", "file_type": "text"})
        by_path = InputFile.model_validate({"path": Path("in/a.txt"), "content": "x", "file_type": "text"})
        assert by_text == by_path
        assert by_text.path == Path("in/a.txt")

    def test_model_validate_takes_a_dict_and_strings_coerce_to_the_enums(self) -> None:
        file = InputFile.model_validate(
            {"path": "b.tsv.gz", "file_type": "tsv", "compression": "gzip", "content": [{"account": "y"}]}
        )
        assert (file.file_type, file.compression) == (FileType.TSV, Compression.GZIP)

    def test_compression_is_none_when_only_the_type_is_given(self) -> None:
        file = InputFile(path=Path("b.tsv.gz"), content=[], file_type=FileType.TSV)
        assert file.compression is Compression.NONE

    @pytest.mark.parametrize("left_out", [{}, {"file_type": None}, {"file_type": None, "compression": None}])
    def test_the_suffix_tells_a_type_and_compression_that_are_left_out(self, left_out: dict[str, None]) -> None:
        file = InputFile.model_validate({"path": "a.csv.bz2", "content": [], **left_out})
        assert (file.file_type, file.compression) == (FileType.CSV, Compression.BZIP2)

    def test_a_given_compression_stands_when_the_type_is_left_out(self) -> None:
        file = InputFile.model_validate({"path": "a.csv.gz", "content": [], "compression": "NONE"})
        assert (file.file_type, file.compression) == (FileType.CSV, Compression.NONE)

    def test_none_is_a_content(self) -> None:
        assert InputFile.model_validate({"path": "a.json", "content": None}).content is None

    def test_content_is_required(self) -> None:
        with pytest.raises(ValidationError, match="content"):
            InputFile.model_validate({"path": "a.json"})

    def test_unknown_keys_are_refused_by_name(self) -> None:
        with pytest.raises(ValidationError, match="contents"):
            InputFile.model_validate({"path": "a.txt", "content": "x", "contents": "x"})

    def test_an_unknown_type_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ValidationError, match="'csv', 'tsv'"):
            InputFile.model_validate({"path": "a.txt", "content": "x", "file_type": "cvs"})

    @pytest.mark.parametrize("file_type", ["sqlite", "parquet", "yaml"])
    def test_a_type_without_compression_refuses_one(self, file_type: str) -> None:
        with pytest.raises(ValidationError, match=f"{file_type} file is never compressed"):
            InputFile.model_validate({"path": "x", "content": [], "file_type": file_type, "compression": "gzip"})

    def test_deepcopy_makes_an_equal_file_with_a_content_of_its_own(self) -> None:
        file = InputFile.model_validate({"path": "a.json", "content": {"a": [1]}})
        twin = copy.deepcopy(file)
        assert twin == file
        twin.content["a"].append(2)
        assert file.content == {"a": [1]}

    @pytest.mark.parametrize("name", [member.name for member in FileType])
    def test_file_types_are_taken_by_value_and_by_name(self, name: str) -> None:
        assert FileType(name) is FileType(name.lower()) is FileType[name]

    def test_the_enums_hold_exactly_the_documented_words(self) -> None:
        assert " ".join(FileType) == "text binary json jsonl csv tsv sqlite parquet yaml"
        assert " ".join(Compression) == "none gzip bzip2"

    def test_an_unknown_word_is_no_file_type(self) -> None:
        with pytest.raises(ValueError, match="cvs"):
            FileType("cvs")

    def test_errors_are_ours_and_value_errors(self) -> None:
        assert issubclass(InputFileError, SlopCodeError)
        assert issubclass(InputFileError, ValueError)

    def test_importing_the_package_loads_no_heavy_format_library(self) -> None:
        code = (
            "import sys, slop_code.execution.file_ops as f; "
            "print([m for m in ('pyarrow', 'pandas', 'numpy', 'sqlite3') if m in sys.modules])"
        )
        run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
        assert run.stdout == "[]\n"


class TestFromPath:
    def test_type_and_compression_come_from_the_suffix_and_content_is_read(self, tmp_path: Path) -> None:
        (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n1,2\n"))
        file = InputFile.from_path(tmp_path / "rows.csv.gz", relative_to=tmp_path)
        assert file == InputFile(
            path=Path("rows.csv.gz"),
            content=[{"a": "1", "b": "2"}],
            file_type=FileType.CSV,
            compression=Compression.GZIP,
        )

    def test_a_given_type_is_what_the_file_is_read_as(self, tmp_path: Path) -> None:
        (tmp_path / "rows.csv").write_text("a,b\n1,2\n")
        file = InputFile.from_path("rows.csv", file_type=FileType.TEXT, relative_to=tmp_path)
        assert (file.content, file.file_type) == ("a,b\n1,2\n", FileType.TEXT)

    def test_a_given_type_leaves_the_compression_to_the_suffix(self, tmp_path: Path) -> None:
        (tmp_path / "rows.csv.gz").write_bytes(gzip.compress(b"a,b\n"))
        file = InputFile.from_path("rows.csv.gz", file_type="text", relative_to=tmp_path)
        assert (file.content, file.compression) == ("a,b\n", Compression.GZIP)

    def test_a_given_compression_is_what_the_file_is_read_with(self, tmp_path: Path) -> None:
        (tmp_path / "rows.json").write_bytes(bz2.compress(b"[1]"))
        file = InputFile.from_path("rows.json", compression="bzip2", relative_to=tmp_path)
        assert (file.content, file.compression) == ([1], Compression.BZIP2)

    def test_a_given_content_is_taken_and_no_file_is_read(self) -> None:
        assert InputFile.from_path("nowhere/a.json", content={"a": 1}).content == {"a": 1}

    def test_a_relative_path_is_read_under_relative_to_and_stored_as_it_is(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.txt").write_text("hello")
        file = InputFile.from_path("sub/a.txt", relative_to=str(tmp_path))
        assert (file.path, file.content) == (Path("sub/a.txt"), "hello")

    def test_a_relative_path_alone_is_read_from_the_current_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "a.txt").write_text("hello")
        monkeypatch.chdir(tmp_path)
        file = InputFile.from_path("a.txt")
        assert (file.path, file.content) == (Path("a.txt"), "hello")

    def test_an_absolute_path_is_stored_relative_to_relative_to(self, tmp_path: Path) -> None:
        (tmp_path / "sub").mkdir()
        (tmp_path / "sub" / "a.txt").write_text("hello")
        file = InputFile.from_path(path=tmp_path / "sub" / "a.txt", relative_to=tmp_path)
        assert (file.path, file.content) == (Path("sub/a.txt"), "hello")

    def test_relative_to_may_be_another_spelling_of_the_folder(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "real").mkdir()
        (tmp_path / "real" / "a.txt").write_text("hello")
        (tmp_path / "alias").symlink_to("real")
        monkeypatch.chdir(tmp_path)
        for spelling in (tmp_path / "alias", Path("real")):
            assert InputFile.from_path(tmp_path / "real" / "a.txt", relative_to=spelling).path == Path("a.txt")

    def test_an_absolute_path_outside_relative_to_is_an_error_that_names_both(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("")
        (tmp_path / "base").mkdir()
        with pytest.raises(InputFileError, match=r"a\.txt is not below .*base.*from_absolute"):
            InputFile.from_path(tmp_path / "a.txt", relative_to=tmp_path / "base")

    def test_an_absolute_path_alone_costs_its_case_when_it_is_written(self, tmp_path: Path) -> None:
        (tmp_path / "a.txt").write_text("x")
        file = InputFile.from_path(tmp_path / "a.txt")
        with pytest.raises(InputFileError, match=r"absolute path.*relative_to"):
            write_input_files(tmp_path, [file])

    def test_from_absolute_reads_one_path_and_stores_another(self, tmp_path: Path) -> None:
        (tmp_path / "base.csv").write_text("a\n1\n")
        file = InputFile.from_absolute(tmp_path / "base.csv", save_path=Path("inputs") / "base")
        assert file == InputFile(path=Path("inputs/base"), content=[{"a": "1"}], file_type=FileType.CSV)

    def test_from_absolute_takes_a_type(self, tmp_path: Path) -> None:
        (tmp_path / "base.csv").write_text("a\n1\n")
        file = InputFile.from_absolute(tmp_path / "base.csv", save_path="b.csv", file_type=FileType.TEXT)
        assert (file.path, file.content) == (Path("b.csv"), "a\n1\n")

    def test_a_missing_file_is_a_file_not_found_error(self, tmp_path: Path) -> None:
        with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
            InputFile.from_path("nowhere.json", relative_to=tmp_path)

    @pytest.mark.parametrize(
        ("name", "data", "place"),
        [
            ("bad.json", b'{"a": 1,\n "b": }', r"bad\.json:2: not a json file: .*column 7"),
            ("bad.jsonl", b'{"a": 1}\n\n{"a"\n', r"bad\.jsonl:3: "),
            ("bad.csv", b"a,b\n1,\xff\n", r"bad\.csv:2: .*byte 6 is not UTF-8"),
            ("bad.yaml", b"a: 1\nb: [\n", r"bad\.yaml:3: "),
            ("tag.yaml", b"a: !!python/name:os.system\n", r"tag\.yaml:1: "),
            ("bad.db", b"no database at all", r"bad\.db: not a sqlite file"),
            ("bad.parquet", b"PAR1", r"bad\.parquet: not a parquet file"),
            ("bad.txt.gz", b"plain", r"bad\.txt\.gz: .*not valid gzip"),
            ("bad.txt.bz2", b"plain", r"bad\.txt\.bz2: .*not valid bzip2"),
            ("short.txt.gz", gzip.compress(b"hello", mtime=0)[:-9], r"short\.txt\.gz: .*not valid gzip"),
            ("short.txt.bz2", bz2.compress(b"hello")[:-9], r"short\.txt\.bz2: .*not valid bzip2"),
        ],
    )
    def test_a_file_that_is_not_of_its_type_is_an_error_with_its_line_and_a_way_out(
        self, tmp_path: Path, name: str, data: bytes, place: str
    ) -> None:
        with pytest.raises(InputFileError, match=place + r".*FileType\.TEXT"):
            from_file(tmp_path, name, data)

    def test_read_content_refuses_to_decompress_what_is_never_compressed(self, tmp_path: Path) -> None:
        with pytest.raises(InputFileError, match="never compressed"):
            read_content(tmp_path / "x.yaml", compression="gzip")


class TestResolveSuffix:
    @pytest.mark.parametrize(
        ("suffixes", "file_type"),
        [
            (".json", "json"),
            (".jsonl .ndjson", "jsonl"),
            (".csv", "csv"),
            (".tsv", "tsv"),
            (".sqlite .sqlite3 .db", "sqlite"),
            (".parquet", "parquet"),
            (".yaml .yml", "yaml"),
            (".txt .md .py .js .html .css .xml .unknown", "text"),
            (".bin .tar .tar.gz .tgz .tar.bz2 .tbz2", "binary"),
        ],
    )
    def test_a_suffix_tells_the_type(self, suffixes: str, file_type: str) -> None:
        for suffix in suffixes.split():
            assert InputFile.resolve_suffix(f"in/x{suffix}") == (file_type, "none")
            assert InputFile.resolve_suffix(Path(f"in/X{suffix.upper()}")) == (file_type, "none")

    @pytest.mark.parametrize("suffix", [".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".md", ".bin"])
    def test_gz_and_bz2_tell_the_compression(self, suffix: str) -> None:
        plain, _ = InputFile.resolve_suffix(f"x{suffix}")
        assert InputFile.resolve_suffix(f"x{suffix}.gz") == (plain, "gzip")
        assert InputFile.resolve_suffix(f"x{suffix}.BZ2") == (plain, "bzip2")

    @pytest.mark.parametrize("name", ["x", ".json", "x.", "x.json.d", "json", ".gz"])
    def test_every_unknown_suffix_is_text(self, name: str) -> None:
        assert InputFile.resolve_suffix(name) == ("text", "none")

    @pytest.mark.parametrize("suffix", [".db", ".sqlite", ".sqlite3", ".parquet", ".yaml", ".yml", ".log", ""])
    def test_a_compressed_name_of_no_compressible_type_is_compressed_text(self, suffix: str) -> None:
        assert InputFile.resolve_suffix(f"x{suffix}.gz") == ("text", "gzip")

    def test_what_is_given_stands(self) -> None:
        assert InputFile.resolve_suffix("x.csv.gz", FileType.TEXT, None) == ("text", "gzip")
        assert InputFile.resolve_suffix("x.csv.gz", None, Compression.NONE) == ("csv", "none")
        assert InputFile.resolve_suffix("x.csv", "json", "BZIP2") == ("json", "bzip2")

    def test_a_given_type_that_is_never_compressed_has_no_compression(self) -> None:
        assert InputFile.resolve_suffix("x.db.gz", FileType.SQLITE) == ("sqlite", "none")


class TestJson:
    def test_reading_parses(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.json", '{"a": [1, null, "é"]}'.encode()) == {"a": [1, None, "é"]}

    def test_a_str_is_written_verbatim(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.json", '[{"a":\r\n1}', "json") == b'[{"a":\r\n1}'

    def test_anything_else_is_written_with_indent_2_and_non_ascii_kept(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.json", {"b": "é", "a": [1]}, "json").decode() == (
            '{\n  "b": "é",\n  "a": [\n    1\n  ]\n}'
        )

    def test_none_is_written_as_null(self) -> None:
        assert encoded("json", None) == b"null"

    def test_a_lone_surrogate_survives_as_an_escape(self) -> None:
        assert json.loads(encoded("json", ["\ud800"])) == ["\ud800"]

    def test_what_json_cannot_hold_is_named_with_its_place(self) -> None:
        with pytest.raises(InputFileError, match=r"input file x \(json\): .*\$\.rows\[1\]\.day is a date"):
            encoded("json", {"rows": [{}, {"day": datetime.date(2024, 1, 2)}]})
        with pytest.raises(InputFileError, match=r"\$\.a has the key \(1, 2\), a tuple"):
            encoded("json", {"a": {(1, 2): 3}})

    def test_a_content_that_holds_itself_is_an_error(self) -> None:
        loop: list[Any] = []
        loop.append(loop)
        with pytest.raises(InputFileError, match="Circular"):
            encoded("json", loop)


class TestJsonl:
    def test_reading_gives_a_list_and_skips_blank_lines(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.jsonl", b'{"a": 1}\r\n\n  \n[2]\n"x"') == [{"a": 1}, [2], "x"]

    def test_only_newlines_separate(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.ndjson", '"a\u2028b\x85"\n'.encode()) == ["a\u2028b\x85"]

    def test_a_list_is_written_one_json_a_line(self, tmp_path: Path) -> None:
        data = written(tmp_path, "a.jsonl", [{"a": "é"}, None, [1, 2]], "jsonl")
        assert data.decode() == '{"a": "é"}\nnull\n[1, 2]\n'

    @pytest.mark.parametrize(
        ("content", "line"), [({"a": 1}, b'{"a": 1}\n'), ("x\ny", b'"x\\ny"\n'), (None, b"null\n"), ([], b"")]
    )
    def test_any_other_value_is_written_as_one_line(self, content: Any, line: bytes) -> None:
        assert encoded("jsonl", content) == line

    def test_what_json_cannot_hold_is_named_with_its_line(self) -> None:
        with pytest.raises(InputFileError, match=r"line 2: .*\$ is a set"):
            encoded("jsonl", [1, {2}])


class TestCsvAndTsv:
    def test_reading_gives_dicts_of_str(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.csv", b'a,b\r\n1,"x,\ny"\n2,\n') == [
            {"a": "1", "b": "x,\ny"},
            {"a": "2", "b": ""},
        ]
        assert from_file(tmp_path, "a.tsv", b"a\tb\n1\tx,y\n") == [{"a": "1", "b": "x,y"}]

    def test_the_header_is_the_first_rows_keys_and_line_ends_are_crlf(self, tmp_path: Path) -> None:
        rows = [{"b": 1, "a": "x,y"}, {"a": True, "b": 2.5}]
        assert written(tmp_path, "a.csv", rows, "csv") == b'b,a\r\n1,"x,y"\r\n2.5,True\r\n'
        assert written(tmp_path, "a.tsv", rows, "tsv") == b"b\ta\r\n1\tx,y\r\n2.5\tTrue\r\n"

    def test_none_is_empty(self) -> None:
        assert encoded("csv", [{"a": 1, "b": None}]) == b"a,b\r\n1,\r\n"
        assert encoded("csv", [[None, 1]]) == b",1\r\n"

    def test_a_key_that_a_later_row_lacks_is_empty(self) -> None:
        assert encoded("csv", [{"a": 1, "b": 2}, {"b": 3}]) == b"a,b\r\n1,2\r\n,3\r\n"

    def test_a_later_row_with_an_unknown_key_is_an_error_that_names_row_and_key(self) -> None:
        with pytest.raises(InputFileError, match=r"input file x \(csv\): row 3 has the unknown key 'c'.* a, b"):
            encoded("csv", [{"a": 1, "b": 2}, {"a": 1}, {"a": 1, "c": 2}])

    def test_a_list_of_lists_has_no_header(self) -> None:
        assert encoded("csv", [["a", 1], ("b", "c", "d")]) == b"a,1\r\nb,c,d\r\n"

    def test_no_rows_make_an_empty_file(self) -> None:
        assert encoded("csv", []) == b""
        assert encoded("tsv", []) == b""

    def test_a_str_is_written_verbatim(self) -> None:
        assert encoded("csv", 'a,"b\n1') == b'a,"b\n1'
        assert encoded("tsv", "é") == "é".encode()

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ({"a": 1}, "its content is a dict"),
            (None, "its content is a NoneType"),
            ([{"a": 1}, ["b"]], "row 2 is a list"),
            ([["b"], {"a": 1}], "row 2 is a dict"),
            (["b"], "row 1 is a str"),
            ([{}], "row 1 has no keys"),
        ],
    )
    def test_anything_else_is_an_error_that_says_what_it_is(self, content: Any, reason: str) -> None:
        with pytest.raises(InputFileError, match=reason):
            encoded("csv", content)

    def test_a_row_with_surplus_cells_is_written_as_it_was_read(self, tmp_path: Path) -> None:
        data = b"a,b\r\n1,2,3,4\r\n5,6\r\n"
        assert encoded("csv", from_file(tmp_path, "a.csv", data)) == data

    def test_a_key_that_is_none_is_an_empty_name(self) -> None:
        assert encoded("csv", [{"a": 1, None: 2}]) == b"a,\r\n1,2\r\n"

    def test_missing_cells_read_as_empty(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.csv", b"a,b\n1\n") == [{"a": "1", "b": ""}]


class TestSqlite:
    def tables(self, path: Path) -> dict[str, list[tuple[Any, ...]]]:
        with closing(sqlite3.connect(path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master").fetchall()
            return {name: connection.execute(f'SELECT * FROM "{name}"').fetchall() for (name,) in names}

    def columns(self, path: Path, table: str) -> list[tuple[str, str]]:
        with closing(sqlite3.connect(path)) as connection:
            return [(row[1], row[2]) for row in connection.execute(f'PRAGMA table_info("{table}")')]

    def test_reading_gives_tables_of_rows(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
            connection.executescript(
                "CREATE TABLE t (id INTEGER PRIMARY KEY AUTOINCREMENT, x); INSERT INTO t (x) VALUES ('a'), (NULL);"
                "CREATE TABLE empty (y); CREATE VIEW v AS SELECT * FROM t;"
            )
        assert InputFile.from_path("a.db", relative_to=tmp_path).content == {
            "tables": {"t": [{"id": 1, "x": "a"}, {"id": 2, "x": None}], "empty": []}
        }

    def test_a_database_in_wal_mode_is_read_and_gets_no_neighbours(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
            connection.executescript("PRAGMA journal_mode=WAL; CREATE TABLE t (x); INSERT INTO t VALUES (1);")
        assert read_content(tmp_path / "a.db") == {"tables": {"t": [{"x": 1}]}}
        assert [path.name for path in tmp_path.iterdir()] == ["a.db"]

    def test_an_empty_file_is_a_database_without_tables(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.db", b"") == {"tables": {}}

    def test_text_that_is_not_utf8_reads_as_bytes(self, tmp_path: Path) -> None:
        with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
            connection.executescript("CREATE TABLE t (x TEXT); INSERT INTO t VALUES (CAST(x'ff' AS TEXT));")
        assert read_content(tmp_path / "a.db") == {"tables": {"t": [{"x": b"\xff"}]}}

    def test_bare_rows_go_into_a_table_named_table(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", [{"a": 1}, {"a": 2}], "sqlite")
        assert self.tables(tmp_path / "a.db") == {"table": [(1,), (2,)]}

    @pytest.mark.parametrize(
        "content",
        [
            {"tables": {"t": [{"a": 1, "b": "x"}], "u": [{"c": 2}]}},
            {"t": [{"a": 1, "b": "x"}], "u": [{"c": 2}]},
            {"t": {"columns": ["a", "b"], "rows": [[1, "x"]]}, "u": {"columns": ["c"], "rows": [{"c": 2}]}},
        ],
    )
    def test_tables_are_written_from_each_form(self, tmp_path: Path, content: Any) -> None:
        written(tmp_path, "a.db", content, "sqlite")
        assert self.tables(tmp_path / "a.db") == {"t": [(1, "x")], "u": [(2,)]}

    def test_a_table_may_be_named_tables(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", {"tables": [{"a": 1}]}, "sqlite")
        assert self.tables(tmp_path / "a.db") == {"tables": [(1,)]}

    def test_columns_and_rows_alone_are_a_bare_table(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", {"columns": ["a"], "rows": [[1]]}, "sqlite")
        assert self.tables(tmp_path / "a.db") == {"table": [(1,)]}

    def test_types_are_inferred(self, tmp_path: Path) -> None:
        row = {
            "flag": True,
            "n": 1,
            "f": 1.5,
            "s": "x",
            "raw": b"\0",
            "list": [1, "é"],
            "map": {"k": None},
            "nil": None,
        }
        written(tmp_path, "a.db", {"t": [row]}, "sqlite")
        assert self.columns(tmp_path / "a.db", "t") == [
            ("flag", "INTEGER"),
            ("n", "INTEGER"),
            ("f", "REAL"),
            ("s", "TEXT"),
            ("raw", "BLOB"),
            ("list", "TEXT"),
            ("map", "TEXT"),
            ("nil", ""),
        ]
        assert self.tables(tmp_path / "a.db") == {"t": [(1, 1, 1.5, "x", b"\0", '[1, "é"]', '{"k": null}', None)]}

    def test_a_mixed_column_keeps_each_value_as_it_is(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", {"t": [{"a": 1, "b": 1}, {"a": "1", "b": 2.5}]}, "sqlite")
        assert self.columns(tmp_path / "a.db", "t") == [("a", ""), ("b", "REAL")]
        assert self.tables(tmp_path / "a.db") == {"t": [(1, 1.0), ("1", 2.5)]}

    def test_columns_are_the_union_of_the_rows_keys(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", [{"b": 1}, {"a": 2, "b": 3}], "sqlite")
        assert self.columns(tmp_path / "a.db", "table") == [("b", "INTEGER"), ("a", "INTEGER")]
        assert self.tables(tmp_path / "a.db") == {"table": [(1, None), (3, 2)]}

    def test_dates_are_iso_text(self, tmp_path: Path) -> None:
        row = {"day": datetime.date(2024, 1, 2), "at": datetime.datetime(2024, 1, 2, 3, 4)}
        written(tmp_path, "a.db", [row], "sqlite")
        assert self.tables(tmp_path / "a.db") == {"table": [("2024-01-02", "2024-01-02 03:04:00")]}

    def test_names_are_quoted(self, tmp_path: Path) -> None:
        name = 'a"; DROP TABLE t; --'
        written(tmp_path, "a.db", {"select": [{name: 1, "group by": 2}]}, "sqlite")
        assert read_content(tmp_path / "a.db") == {"tables": {"select": [{name: 1, "group by": 2}]}}

    def test_an_empty_table_keeps_its_columns_and_one_without_any_is_left_out(self, tmp_path: Path) -> None:
        written(tmp_path, "a.db", {"t": {"columns": ["a"], "rows": []}, "u": {"columns": ["b"]}, "v": []}, "sqlite")
        assert self.tables(tmp_path / "a.db") == {"t": [], "u": []}

    def test_a_database_without_tables_is_one(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.db", {"tables": {}}, "sqlite").startswith(b"SQLite format 3")
        assert self.tables(tmp_path / "a.db") == {}

    def test_bytes_are_written_verbatim(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.db", b"anything", "sqlite") == b"anything"

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ("SELECT 1", "its content is a str"),
            ({"t": 5}, "table 't' is a int"),
            ([{"a": 1}, 5], "table 'table', row 2 is a int"),
            ({"t": [[1, 2]]}, "table 't' has rows without column names"),
            ({"t": {"columns": ["a"], "rows": [[1, 2]]}}, "table 't', row 1 has 2 cells for 1 columns"),
            ({"t": {"columns": ["a"], "rows": [{"b": 1}]}}, "table 't', row 1 has the unknown key 'b'"),
            ([{"a": 1}, {"a": 2**63}], "row 2, 'a' is beyond SQLite's 64-bit integers"),
            ([{"a": 10**400}], "row 1, 'a' is beyond SQLite's 64-bit integers"),
            ([{"a": object()}], "row 1, 'a' is a object"),
            ([{"a": [object()]}], "row 1, 'a' cannot be stored as JSON text"),
            ([{"a": 1, "A": 2}], "table 'table': duplicate column name: A"),
            ({"sqlite_x": [{"a": 1}]}, "table 'sqlite_x': .*reserved"),
            ({"t": [{"a\0": 1}]}, "table 't': "),
            ({"t": [{"a": "\ud800"}]}, "table 't': "),
        ],
    )
    def test_a_content_that_is_no_table_is_an_error_with_its_place(self, content: Any, reason: str) -> None:
        with pytest.raises(InputFileError, match=r"input file x \(sqlite\): .*" + reason):
            encoded("sqlite", content)


class TestParquet:
    def test_rows_are_written_and_read_back(self, tmp_path: Path) -> None:
        rows = [{"a": 1, "b": "é", "c": [1, 2], "d": {"x": None}}, {"a": None, "b": "", "c": [], "d": {"x": None}}]
        written(tmp_path, "a.parquet", rows, "parquet")
        assert InputFile.from_path("a.parquet", relative_to=tmp_path).content == rows

    def test_columns_are_the_union_of_the_rows_keys(self, tmp_path: Path) -> None:
        written(tmp_path, "a.parquet", [{"a": 1}, {"b": 2}], "parquet")
        assert read_content(tmp_path / "a.parquet") == [{"a": 1, "b": None}, {"a": None, "b": 2}]

    def test_no_rows_make_a_file_without_rows(self, tmp_path: Path) -> None:
        written(tmp_path, "a.parquet", [], "parquet")
        assert read_content(tmp_path / "a.parquet") == []

    def test_bytes_are_written_verbatim(self) -> None:
        assert encoded("parquet", b"PAR1") == b"PAR1"

    @pytest.mark.parametrize(
        ("content", "reason"),
        [
            ({"a": 1}, "its content is a dict"),
            ([{"a": 1}, [1]], "row 2 is a list"),
            ([{1: 1}], "row 1 has the key 1"),
            ([{}], "no keys"),
            ([{"a": 1}, {"a": "x"}], "the column 'a' does not have one type"),
            ([{"a": 2**70}], "the column 'a'"),
        ],
    )
    def test_anything_else_is_an_error_with_its_place(self, content: Any, reason: str) -> None:
        with pytest.raises(InputFileError, match=r"input file x \(parquet\): .*" + reason):
            encoded("parquet", content)


class TestYaml:
    def test_reading_is_a_safe_load(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.yml", b"a: [1, 2024-01-02]\n") == {"a": [1, datetime.date(2024, 1, 2)]}

    def test_it_is_dumped_with_sorted_keys_and_non_ascii_kept(self) -> None:
        assert encoded("yaml", {"b": ["é"], "a": {"d": 1, "c": 2}}).decode() == "a:\n  c: 2\n  d: 1\nb:\n- é\n"

    def test_a_str_becomes_a_scalar(self) -> None:
        assert yaml.safe_load(encoded("yaml", "a: 1")) == "a: 1"

    @pytest.mark.parametrize("text", ["\x85", "a\u2028b", " \u2029", "a\r\nb", "\ufeff", "\0", "\ud800", "😀"])
    def test_odd_characters_survive_as_keys_and_values(self, text: str) -> None:
        assert yaml.safe_load(encoded("yaml", {text: [text]})) == {text: [text]}

    def test_bytes_become_a_yaml_binary(self) -> None:
        assert yaml.safe_load(encoded("yaml", b"\xff")) == b"\xff"

    def test_what_is_no_plain_data_is_an_error(self) -> None:
        with pytest.raises(InputFileError, match=r"input file x \(yaml\): cannot be written as YAML"):
            encoded("yaml", {"a": object()})


class TestText:
    def test_reading_gives_universal_newlines(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.txt", b"a\r\nb\rc\n\r\n") == "a\nb\nc\n\n"

    def test_undecodable_reads_as_bytes(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.txt", b"\xff\r\n") == b"\xff\r\n"

    @pytest.mark.parametrize(("content", "data"), [("a\r\nb", b"a\r\nb"), (5, b"5"), ([1], b"[1]"), (None, b"None")])
    def test_its_str_is_written(self, tmp_path: Path, content: Any, data: bytes) -> None:
        assert written(tmp_path, "a.txt", content, "text") == data

    def test_bytes_are_written_verbatim(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.txt", b"\xff\r\n", "text") == b"\xff\r\n"

    def test_a_lone_surrogate_is_an_error_with_its_place(self) -> None:
        with pytest.raises(InputFileError, match=r"character 2 .*\\ud800"):
            encoded("text", "ab\ud800")


class TestBinary:
    def test_reading_gives_bytes(self, tmp_path: Path) -> None:
        assert from_file(tmp_path, "a.bin", b"a\r\n\0") == b"a\r\n\0"

    @pytest.mark.parametrize("name", ["a.tar.gz", "a.tgz", "a.tar.bz2", "a.tbz2"])
    def test_an_archive_is_read_and_written_without_unpacking(self, tmp_path: Path, name: str) -> None:
        data = gzip.compress(b"members")
        (tmp_path / name).write_bytes(data)
        file = InputFile.from_path(name, relative_to=tmp_path)
        assert file.content == file.to_bytes() == data

    @pytest.mark.parametrize("content", [b"\xff\r\n", bytearray(b"\xff\r\n"), memoryview(b"\xff\r\n")])
    def test_bytes_are_written_verbatim(self, tmp_path: Path, content: Any) -> None:
        assert written(tmp_path, "a.bin", content, "binary") == b"\xff\r\n"

    @pytest.mark.parametrize(("content", "data"), [("hello", b"aGVsbG8="), (12, b"MTI="), (None, b"Tm9uZQ==")])
    def test_anything_else_is_written_as_base64_of_its_str(self, content: Any, data: bytes) -> None:
        assert encoded("binary", content) == data


class TestCompression:
    def test_gzip_and_bzip2_compress_what_is_written(self, tmp_path: Path) -> None:
        assert gzip.decompress(written(tmp_path, "a.txt.gz", "x", "text", "gzip")) == b"x"
        assert bz2.decompress(written(tmp_path, "a.txt.bz2", "x", "text", "bzip2")) == b"x"

    def test_bytes_are_compressed_too(self, tmp_path: Path) -> None:
        assert gzip.decompress(written(tmp_path, "a.bin.gz", b"x", "binary", "gzip")) == b"x"

    def test_gzip_does_not_tell_the_time(self, tmp_path: Path) -> None:
        assert written(tmp_path, "a.gz", "x", "text", "gzip")[4:8] == b"\0\0\0\0"


class TestWriting:
    def text(self, path: str, content: str = "new") -> InputFile:
        return InputFile(path=Path(path), content=content, file_type=FileType.TEXT)

    @pytest.fixture
    def workspace(self, tmp_path: Path) -> Path:
        (tmp_path / "outside").mkdir()
        (tmp_path / "outside" / "secret").write_text("secret")
        workspace = tmp_path / "workspace"
        workspace.mkdir()
        return workspace

    def test_parent_folders_are_made(self, workspace: Path) -> None:
        write_input_files(workspace, [self.text("a/b/c.txt"), self.text("a/b/d.txt")])
        assert (workspace / "a/b/c.txt").read_text() == (workspace / "a/b/d.txt").read_text() == "new"

    def test_a_later_file_replaces_an_earlier_one(self, workspace: Path) -> None:
        write_input_files(workspace, [self.text("a", "long content"), self.text("a", "b")])
        assert (workspace / "a").read_text() == "b"

    def test_dots_that_stay_inside_are_worked_out(self, workspace: Path) -> None:
        write_input_files(workspace, [self.text("a/./x/../b.txt")])
        assert (workspace / "a/b.txt").read_text() == "new"

    @pytest.mark.parametrize(
        ("path", "rule"),
        [
            ("/etc/passwd", "absolute path: it must be a path relative to the workspace"),
            ("../x", r"leaves the workspace with '\.\.'"),
            ("a/../../x", r"leaves the workspace with '\.\.'"),
            ("a/..", "names the workspace itself"),
            (".", "names the workspace itself"),
            ("", "names the workspace itself"),
            ("a\0b", "null byte"),
            ("a\ud800b", "lone surrogate"),
        ],
    )
    def test_a_path_that_is_not_inside_the_workspace_is_an_error_with_the_rule(
        self, workspace: Path, path: str, rule: str
    ) -> None:
        with pytest.raises(InputFileError, match=rule):
            check_relative(path)
        with pytest.raises(InputFileError, match=rule):
            write_input_files(workspace, [self.text(path)])
        assert list(workspace.iterdir()) == []

    def test_the_error_names_the_path(self) -> None:
        with pytest.raises(InputFileError, match=r"input file a/\.\./\.\./x "):
            check_relative("a/../../x")

    @pytest.mark.parametrize("target", ["../outside", "{outside}", "inner/../../outside"])
    def test_a_linked_folder_that_leads_out_is_an_error_and_nothing_is_written_there(
        self, workspace: Path, target: str
    ) -> None:
        (workspace / "inner").mkdir()
        outside = workspace.parent / "outside"
        (workspace / "link").symlink_to(target.format(outside=outside))
        with pytest.raises(InputFileError, match="input file link/secret leaves the workspace through a link"):
            write_input_files(workspace, [self.text("link/secret")])
        assert (outside / "secret").read_text() == "secret"

    @pytest.mark.parametrize("target", ["inner", "./inner/../inner/", "{workspace}/inner"])
    def test_a_linked_folder_that_stays_inside_is_followed(self, workspace: Path, target: str) -> None:
        (workspace / "inner").mkdir()
        (workspace / "link").symlink_to(target.format(workspace=workspace))
        write_input_files(workspace, [self.text("link/a")])
        assert (workspace / "inner/a").read_text() == "new"

    def test_a_link_of_the_files_own_name_is_replaced_and_not_written_through(self, workspace: Path) -> None:
        (workspace / "a").symlink_to("../outside/secret")
        write_input_files(workspace, [self.text("a")])
        assert (workspace / "a").read_text() == "new"
        assert not (workspace / "a").is_symlink()
        assert (workspace.parent / "outside/secret").read_text() == "secret"

    def test_a_file_that_shares_its_data_with_another_is_replaced(self, workspace: Path) -> None:
        (workspace / "a").hardlink_to(workspace.parent / "outside/secret")
        write_input_files(workspace, [self.text("a")])
        assert (workspace.parent / "outside/secret").read_text() == "secret"

    def test_a_fifo_in_the_way_is_replaced(self, workspace: Path) -> None:
        os.mkfifo(workspace / "a")
        write_input_files(workspace, [self.text("a")])
        assert (workspace / "a").read_text() == "new"

    def test_links_in_a_circle_are_an_error(self, workspace: Path) -> None:
        (workspace / "a").symlink_to("b")
        (workspace / "b").symlink_to("a")
        with pytest.raises(InputFileError, match="input file a/x cannot be written: Too many levels"):
            write_input_files(workspace, [self.text("a/x")])

    def test_a_directory_in_the_way_is_an_error(self, workspace: Path) -> None:
        (workspace / "a").mkdir()
        with pytest.raises(InputFileError, match="input file a: a directory of that name"):
            write_input_files(workspace, [self.text("a")])

    def test_a_file_where_a_directory_is_needed_is_an_error(self, workspace: Path) -> None:
        with pytest.raises(InputFileError, match="input file a/b: a file stands where it needs a directory"):
            write_input_files(workspace, [self.text("a"), self.text("a/b")])

    def test_a_name_too_long_for_the_system_is_an_error(self, workspace: Path) -> None:
        with pytest.raises(InputFileError, match="cannot be written: File name too long"):
            write_input_files(workspace, [self.text("a" * 300)])

    def test_a_workspace_that_is_missing_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(InputFileError, match="nowhere cannot be opened"):
            write_input_files(tmp_path / "nowhere", [])

    def test_a_content_that_does_not_fit_names_its_file_and_writes_nothing(self, workspace: Path) -> None:
        file = InputFile(path=Path("in/rows.csv"), content=[{"a": 1}, {"b": 1}], file_type=FileType.CSV)
        with pytest.raises(InputFileError, match=r"input file in/rows\.csv \(csv\): row 2"):
            write_input_files(workspace, [file])
        assert list(workspace.iterdir()) == []

    def test_no_file_stays_open(self, workspace: Path) -> None:
        before = len(list(Path("/proc/self/fd").iterdir()))
        (workspace / "link").symlink_to("../outside")
        write_input_files(workspace, [self.text("a/b/c")])
        with pytest.raises(InputFileError):
            write_input_files(workspace, [self.text("link/x")])
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_a_csv_field_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    rows = [{"a": "x" * 300_000}]
    path = tmp_path / "long.csv"
    path.write_bytes(InputFile(path=Path("long.csv"), content=rows, file_type=FileType.CSV).to_bytes())
    assert InputFile.from_path(path, relative_to=tmp_path).content == rows


@pytest.mark.parametrize("name", ["table.db", "rows.json.gz", "rows.jsonl.bz2"])
def test_contents_that_are_equal_but_not_the_same_are_written_each_as_it_is(name: str) -> None:
    """What was written before is remembered, and Python takes 1, 1.0 and True for one."""
    contents: list[Any] = [1, 1.0, True, "1", 0.0, -0.0, [1, 2], (1, 2), {"a": 1, "b": 2}, {"b": 2, "a": 1}]
    rows = [{"t": [{"x": repr(value) if isinstance(value, (list, tuple, dict)) else value}]} for value in contents]
    asked = rows if name.endswith(".db") else contents
    first = [InputFile(path=name, content=content).to_bytes() for content in asked]
    again = [InputFile(path=name, content=copy.deepcopy(content)).to_bytes() for content in reversed(asked)]
    assert list(reversed(again)) == first
    alone = [formats._encoded(content, *resolve_suffix(name)) for content in asked]
    assert first == alone


def test_a_content_that_changes_in_place_is_written_as_it_is_then() -> None:
    content = {"t": [{"x": 1}]}
    file = InputFile(path="table.db", content=content)
    before = file.to_bytes()
    file.content["t"][0]["x"] = 2
    assert file.to_bytes() == InputFile(path="table.db", content={"t": [{"x": 2}]}).to_bytes() != before
