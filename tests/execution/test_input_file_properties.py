"""What holds for every input file and every tree, not only for the examples."""

import csv
import io
import os
import string
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from slop_code.execution.file_ops import (
    Compression,
    FileType,
    InputFile,
    InputFileError,
    check_relative,
    collect_tracked_files,
    read_content,
    write_input_files,
)

often = settings(max_examples=60, deadline=None)

# Every character that UTF-8 can hold.
characters = st.characters(exclude_categories=["Cs"])
texts = st.text(characters)
integers = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False)
scalars = st.none() | st.booleans() | integers | floats | texts
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)
compressions = st.sampled_from(Compression)
names = st.text(string.ascii_letters + ' _-"é;.', min_size=1, max_size=8)


@contextmanager
def folder() -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as path:
        yield Path(path)


def there_and_back(content: Any, file_type: FileType, compression: Compression = Compression.NONE) -> Any:
    """Write a content into a workspace and read the file that is there then."""
    file = InputFile(path=Path("sub/file"), content=content, file_type=file_type, compression=compression)
    with folder() as workspace:
        write_input_files(workspace, [file])
        assert (workspace / "sub/file").read_bytes() == file.to_bytes()
        return read_content(workspace / "sub/file", file_type, compression)


def lf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n")


@often
@given(texts, compressions)
def test_text_reads_back_with_line_ends_lf(text: str, compression: Compression) -> None:
    assert there_and_back(text, FileType.TEXT, compression) == lf(text)


@often
@given(st.binary(), compressions)
def test_bytes_read_back_as_they_were(data: bytes, compression: Compression) -> None:
    assert there_and_back(data, FileType.BINARY, compression) == data


@often
@given(st.binary(), compressions)
def test_bytes_in_a_text_file_read_back_as_text_if_they_are_utf8(data: bytes, compression: Compression) -> None:
    try:
        expected: str | bytes = lf(data.decode())
    except UnicodeDecodeError:
        expected = data
    assert there_and_back(data, FileType.TEXT, compression) == expected


@often
@given(json_values.filter(lambda value: not isinstance(value, str)), compressions)
def test_json_reads_back(value: Any, compression: Compression) -> None:
    assert there_and_back(value, FileType.JSON, compression) == value


@often
@given(st.text(st.characters()))
def test_json_holds_every_python_string(text: str) -> None:
    assert there_and_back([text], FileType.JSON) == [text]


@often
@given(st.lists(json_values, max_size=5), compressions)
def test_jsonl_reads_back(values: list[Any], compression: Compression) -> None:
    assert there_and_back(values, FileType.JSONL, compression) == values


@often
@given(json_values.filter(lambda value: not isinstance(value, list)))
def test_a_single_value_of_jsonl_reads_back_as_a_list_of_one(value: Any) -> None:
    assert there_and_back(value, FileType.JSONL) == [value]


@st.composite
def tables(draw: st.DrawFn, keys: st.SearchStrategy[str], cells: st.SearchStrategy[Any]) -> list[dict[str, Any]]:
    """Rows with the same keys."""
    columns = draw(st.lists(keys, min_size=1, max_size=4, unique_by=str.lower))
    row = st.tuples(*(cells for _ in columns))
    return [dict(zip(columns, cells, strict=True)) for cells in draw(st.lists(row, max_size=5))]


@often
@given(tables(texts, scalars), st.sampled_from([FileType.CSV, FileType.TSV]), compressions)
def test_rows_of_csv_read_back_as_text(
    rows: list[dict[str, Any]], file_type: FileType, compression: Compression
) -> None:
    expected = [{key: "" if value is None else str(value) for key, value in row.items()} for row in rows]
    assert there_and_back(rows, file_type, compression) == expected


@often
@given(st.lists(st.lists(scalars, min_size=1, max_size=4), max_size=5))
def test_lists_of_csv_are_its_records(rows: list[list[Any]]) -> None:
    data = InputFile(path=Path("x.csv"), content=rows, file_type=FileType.CSV).to_bytes()
    expected = [["" if value is None else str(value) for value in row] for row in rows]
    assert list(csv.reader(io.StringIO(data.decode(), newline=""))) == expected


sqlite_cells = st.none() | st.booleans() | integers | floats | texts | st.binary()


@often
@given(st.dictionaries(names.map(str.lower), tables(names, sqlite_cells), max_size=3))
def test_tables_of_sqlite_read_back_unless_they_have_no_rows(content: dict[str, list[dict[str, Any]]]) -> None:
    assume(not any(name.startswith("sqlite_") for name in content))
    expected = {name: rows for name, rows in content.items() if rows}
    found = there_and_back({"tables": content}, FileType.SQLITE)["tables"]
    assert found.keys() == expected.keys()
    for name, rows in expected.items():
        for column in rows[0]:
            kinds = {type(row[column]) for row in rows} - {type(None)}
            # Integers in a column with fractions become REAL.
            to_float = kinds == {int, float} or kinds == {bool, float} or kinds == {int, bool, float}
            for row, back in zip(rows, found[name], strict=True):
                value = row[column]
                assert back[column] == (float(value) if to_float and value is not None else value)


parquet_cells = st.sampled_from(
    [st.booleans(), integers, floats, texts, st.binary(), st.lists(integers, max_size=3), st.lists(texts, max_size=3)]
)


@often
@given(st.data())
def test_rows_of_parquet_read_back(data: st.DataObject) -> None:
    columns = data.draw(st.dictionaries(names, parquet_cells, min_size=1, max_size=4))
    rows = data.draw(
        st.lists(st.fixed_dictionaries({name: cell | st.none() for name, cell in columns.items()}), max_size=5)
    )
    assert there_and_back(rows, FileType.PARQUET) == rows


@often
@given(json_values)
def test_yaml_reads_back(value: Any) -> None:
    assert there_and_back(value, FileType.YAML) == value


@often
@given(st.sampled_from(FileType), compressions, st.binary() | st.text().map(lambda text: text.encode(errors="replace")))
def test_reading_any_bytes_gives_a_content_or_an_input_file_error(
    file_type: FileType, compression: Compression, data: bytes
) -> None:
    with folder() as path:
        (path / "file").write_bytes(data)
        try:
            read_content(path / "file", file_type, compression)
        except InputFileError as error:
            assert str(path / "file") in str(error) or "never compressed" in str(error)


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.dates(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.integers() | st.none(), inner, max_size=3)
    ),
    max_leaves=10,
)


@often
@given(st.sampled_from(FileType), anything)
def test_writing_any_content_gives_bytes_or_an_input_file_error(file_type: FileType, content: Any) -> None:
    file = InputFile(path=Path("x"), content=content, file_type=file_type)
    try:
        assert file.to_bytes() == file.to_bytes()
    except InputFileError as error:
        assert "input file x" in str(error)


@often
@given(names, st.sampled_from(FileType), compressions)
def test_the_given_type_and_compression_win_over_every_suffix(
    name: str, file_type: FileType, compression: Compression
) -> None:
    assert InputFile.resolve_suffix(name, file_type, compression) == (file_type, compression)


@often
@given(st.text(), st.sampled_from([".json", ".csv.gz", ".TSV.bz2", ".tar.gz", ".db", ".db.gz", ".log", ".gz"]))
def test_only_the_end_of_a_name_counts(stem: str, suffix: str) -> None:
    assume("/" not in stem)
    assume(not stem.lower().endswith(".tar") or suffix != ".gz")
    assume(InputFile.resolve_suffix(stem + suffix) == InputFile.resolve_suffix(f"a{stem}{suffix}"))
    if suffix != ".gz":
        assert InputFile.resolve_suffix(f"a{stem}{suffix}") == InputFile.resolve_suffix(f"b{suffix}")


hostile_parts = st.sampled_from(["..", ".", "", "a", "link", "up", "root", "loop", "self", "deep", "..."]) | st.text(
    max_size=4
)
hostile_paths = st.lists(hostile_parts, max_size=6).map("/".join)


def build_hostile_workspace(root: Path) -> Path:
    (root / "outside").mkdir()
    (root / "outside" / "a").write_text("untouched")
    workspace = root / "workspace"
    (workspace / "a").mkdir(parents=True)
    (workspace / "link").symlink_to("../outside")
    (workspace / "up").symlink_to("..")
    (workspace / "root").symlink_to("/")
    (workspace / "loop").symlink_to("loop")
    (workspace / "self").symlink_to(".")
    (workspace / "deep").symlink_to("a/../self/../workspace/link")
    (workspace / "a" / "link").symlink_to("../../outside/a")
    return workspace


def files_below(root: Path) -> dict[str, str]:
    return {
        str(path.relative_to(root)): path.read_text(errors="replace")
        for base, _, found in os.walk(root)
        for path in (Path(base, name) for name in found)
        if not path.is_symlink()
    }


@often
@given(st.lists(hostile_paths, min_size=1, max_size=3))
def test_no_path_writes_outside_the_workspace(paths: list[str]) -> None:
    with folder() as root:
        workspace = build_hostile_workspace(root)
        for path in paths:
            try:
                write_input_files(workspace, [InputFile(path=Path(path), content="new", file_type=FileType.TEXT)])
            except InputFileError as error:
                assert str(error)
        outside = {name: text for name, text in files_below(root).items() if not name.startswith("workspace")}
        assert outside == {"outside/a": "untouched"}


@often
@given(hostile_paths)
def test_check_relative_gives_a_plain_path_or_an_input_file_error(path: str) -> None:
    try:
        checked = check_relative(path)
    except InputFileError:
        return
    assert checked.parts
    assert not checked.is_absolute()
    assert ".." not in checked.parts


globs = st.text("ab*?[]!-/.", max_size=8)


@often
@given(st.lists(hostile_paths | globs | st.text(), max_size=5))
def test_collecting_never_raises_and_never_reads_outside(entries: list[str]) -> None:
    with folder() as root:
        workspace = build_hostile_workspace(root)
        (workspace / "a" / "b").write_text("inside")
        (workspace / ".a").write_bytes(b"\xff")
        os.mkfifo(workspace / "b")
        tracked = collect_tracked_files(workspace, entries)
        assert set(tracked.files.values()) <= {"inside", b"\xff"}
        assert list(tracked.files) == sorted(tracked.files)


@often
@given(st.dictionaries(names.filter(lambda name: name.strip(".") != ""), st.binary(max_size=40), max_size=5))
def test_every_file_is_collected_as_text_if_it_is_utf8(contents: dict[str, bytes]) -> None:
    with folder() as workspace:
        expected: dict[str, str | bytes] = {}
        for name, data in contents.items():
            (workspace / name).write_bytes(data)
            try:
                expected[name] = lf(data.decode())
            except UnicodeDecodeError:
                expected[name] = data
        for entry in (".", "*", "**", "./"):
            assert collect_tracked_files(workspace, [entry]).files == expected


@often
@given(texts, st.integers(0, 40))
def test_a_cut_never_turns_text_into_bytes(text: str, limit: int) -> None:
    with folder() as workspace:
        (workspace / "a").write_bytes(text.encode())
        tracked = collect_tracked_files(workspace, ["a"], max_file_bytes=limit)
        found = tracked.files["a"]
        assert isinstance(found, str)
        assert lf(text).startswith(found.removesuffix("\n"))
        assert bool(tracked.cut) == (len(text.encode()) > limit)


@pytest.mark.parametrize("file_type", FileType)
def test_the_same_content_makes_the_same_bytes(file_type: FileType) -> None:
    rows = [{"b": 1, "a": "x"}, {"b": 2, "a": "y"}]
    first, second = (InputFile(path=Path("x"), content=rows, file_type=file_type).to_bytes() for _ in range(2))
    assert first == second
