"""Tracked files: which are collected, under which names, and what is left out."""

import os
import socket
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from slop_code.execution.file_ops import TrackedFiles, collect_tracked_files


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A workspace with a file outside of it, which must never be read."""
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.txt").write_text("secret")
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return workspace


def fill(workspace: Path, *names: str) -> None:
    """Make files that contain their own names."""
    for name in names:
        (workspace / name).parent.mkdir(parents=True, exist_ok=True)
        (workspace / name).write_text(name)


def found(workspace: Path, *entries: str) -> list[str]:
    return list(collect_tracked_files(workspace, entries).files)


@contextmanager
def without_privileges() -> Iterator[None]:
    """Give up root for a while, which may read everything."""
    before = os.geteuid()
    if before == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(before)


class TestEntries:
    def test_a_literal_path_is_a_file_under_its_own_name(self, workspace: Path) -> None:
        fill(workspace, "a.txt", "out/b.txt")
        assert collect_tracked_files(workspace, ["out/b.txt"]) == TrackedFiles({"out/b.txt": "out/b.txt"})

    @pytest.mark.parametrize("entry", ["out", "out/", "./out", "out//"])
    def test_a_directory_means_everything_below_it(self, workspace: Path, entry: str) -> None:
        fill(workspace, "a", "out/b", "out/c/d", "out/c/.e", "out/.f/g")
        assert found(workspace, entry) == ["out/.f/g", "out/b", "out/c/.e", "out/c/d"]

    @pytest.mark.parametrize("entry", [".", "./", "**"])
    def test_the_workspace_itself_means_everything(self, workspace: Path, entry: str) -> None:
        fill(workspace, ".a", "b/c")
        assert found(workspace, entry) == [".a", "b/c"]

    @pytest.mark.parametrize(
        ("glob", "names"),
        [
            ("*", [".hidden.json", "a.json", "b.txt"]),
            ("*.json", [".hidden.json", "a.json"]),
            ("?.json", ["a.json"]),
            ("[a-b].*", ["a.json", "b.txt"]),
            ("[!a].*", ["b.txt"]),
            ("out/*", ["out/.e", "out/c.json"]),
            ("*/*.json", ["out/c.json"]),
            ("**/*.json", [".hidden.json", "a.json", "out/c.json", "out/sub/d.json"]),
            ("out/**", ["out/.e", "out/c.json", "out/sub/d.json"]),
            ("out/**/d.json", ["out/sub/d.json"]),
            ("**/sub/**/*.json", ["out/sub/d.json"]),
            ("**/out/**/c.json", ["out/c.json"]),
            ("o*/", ["out/.e", "out/c.json", "out/sub/d.json"]),
            ("./o*/s??/*", ["out/sub/d.json"]),
            ("a.json/**", []),
            ("a*/**", []),
            ("nothing*", []),
            ("out/sub/d.json/*", []),
        ],
    )
    def test_a_glob_means_the_files_that_match(self, workspace: Path, glob: str, names: list[str]) -> None:
        fill(workspace, "a.json", ".hidden.json", "b.txt", "out/c.json", "out/.e", "out/sub/d.json")
        assert found(workspace, glob) == names

    def test_a_directory_that_a_glob_matches_is_not_opened_up(self, workspace: Path) -> None:
        fill(workspace, "out1/a", "out2")
        assert found(workspace, "out*") == ["out2"]

    @pytest.mark.parametrize("entry", ["./out/a.txt", "././out/./a.txt", "out//a.txt"])
    def test_a_leading_dot_slash_is_dropped_from_the_key(self, workspace: Path, entry: str) -> None:
        fill(workspace, "out/a.txt")
        assert found(workspace, entry) == ["out/a.txt"]

    def test_dot_files_are_collected(self, workspace: Path) -> None:
        fill(workspace, ".env", ".cache/x")
        assert found(workspace, ".env", ".cache", "*") == [".cache/x", ".env"]

    def test_an_absolute_name_is_looked_up_below_its_mount_and_kept_as_the_key(self, workspace: Path) -> None:
        fill(workspace, "x", "out/y")
        assert collect_tracked_files(workspace, ["/app/x", "/app/out/y"]).files == {
            "/app/x": "x",
            "/app/out/y": "out/y",
        }

    def test_an_absolute_name_of_one_component_means_that_name(self, workspace: Path) -> None:
        fill(workspace, "x")
        assert collect_tracked_files(workspace, ["/x"]).files == {"/x": "x"}

    def test_absolute_directories_and_globs_keep_their_mount_too(self, workspace: Path) -> None:
        fill(workspace, "out/y")
        assert found(workspace, "/app/out") == found(workspace, "/app/out/*") == ["/app/out/y"]

    def test_an_absolute_name_never_means_the_machines_own_file(self, workspace: Path) -> None:
        assert found(workspace, "/etc/passwd", str(workspace.parent / "outside/secret.txt")) == []

    def test_a_name_that_exists_wins_over_the_glob_it_might_be(self, workspace: Path) -> None:
        fill(workspace, "a[1].txt", "a1.txt", "b*/c", "bb/c")
        assert found(workspace, "a[1].txt") == ["a[1].txt"]
        assert found(workspace, "b*/c") == ["b*/c"]

    def test_missing_ones_are_simply_absent(self, workspace: Path) -> None:
        fill(workspace, "a")
        entries = ["nothing", "a/b", "no/where", "*.none", "none*/x", "", "x" * 300, "nul\0", "sur\ud800rogate"]
        assert collect_tracked_files(workspace, entries) == TrackedFiles()

    @pytest.mark.parametrize(
        "entry",
        [
            "..",
            "../outside/secret.txt",
            "a/../../outside/secret.txt",
            "../outside/*",
            "../**",
            "/app/../../outside/*",
            "a/../a/b",
        ],
    )
    def test_dot_dot_leads_nowhere(self, workspace: Path, entry: str) -> None:
        fill(workspace, "a/b")
        assert collect_tracked_files(workspace, [entry]) == TrackedFiles()

    def test_keys_are_sorted_whatever_the_order_of_entries(self, workspace: Path) -> None:
        fill(workspace, "b/x", "a", "c")
        assert found(workspace, "c", "b", "a", "*") == ["a", "b/x", "c"]

    def test_overlapping_entries_read_a_file_once(self, workspace: Path) -> None:
        fill(workspace, "a")
        tracked = collect_tracked_files(workspace, ["a", "*", "./a", "."], max_total_bytes=1, max_files=1)
        assert tracked == TrackedFiles({"a": "a"})

    def test_a_workspace_that_is_gone_has_no_files_and_a_note(self, tmp_path: Path) -> None:
        tracked = collect_tracked_files(tmp_path / "gone", ["a"])
        assert tracked.files == {}
        assert "workspace" in tracked.cut[0]


class TestValues:
    def test_utf8_is_a_str(self, workspace: Path) -> None:
        (workspace / "a").write_bytes("é\0\ufeff".encode())
        assert collect_tracked_files(workspace, ["a"]).files == {"a": "é\0\ufeff"}

    def test_crlf_and_cr_read_as_lf(self, workspace: Path) -> None:
        (workspace / "a").write_bytes(b"a\r\nb\rc\n\r\n")
        assert collect_tracked_files(workspace, ["a"]).files == {"a": "a\nb\nc\n\n"}

    @pytest.mark.parametrize("data", [b"\xff\r\n", "é".encode()[:1], b"\xed\xa0\x80"])
    def test_anything_else_is_bytes_as_they_are(self, workspace: Path, data: bytes) -> None:
        (workspace / "a").write_bytes(data)
        assert collect_tracked_files(workspace, ["a"]).files == {"a": data}

    def test_values_are_never_parsed(self, workspace: Path) -> None:
        (workspace / "a.json").write_text('{"a": 1}')
        assert collect_tracked_files(workspace, ["a.json"]).files == {"a.json": '{"a": 1}'}

    def test_an_empty_file_is_an_empty_str(self, workspace: Path) -> None:
        (workspace / "a").touch()
        assert collect_tracked_files(workspace, ["a"]).files == {"a": ""}

    def test_a_name_that_is_not_utf8_becomes_a_readable_key(self, workspace: Path) -> None:
        Path(os.fsdecode(os.fsencode(workspace) + b"/a\xff")).write_text("x")
        tracked = collect_tracked_files(workspace, ["*"])
        assert tracked.files == {"a\ufffd": "x"}

    def test_two_names_that_read_the_same_are_not_mixed_up(self, workspace: Path) -> None:
        for name in (b"/a\xfe", b"/a\xff"):
            Path(os.fsdecode(os.fsencode(workspace) + name)).write_text(repr(name))
        tracked = collect_tracked_files(workspace, ["*"])
        assert tracked.files == {"a\ufffd": r"b'/a\xfe'"}
        assert tracked.cut == ("a\ufffd: left out, another file's name reads the same in UTF-8",)


class TestLinks:
    @pytest.mark.parametrize("entry", ["link", "*", ".", "/app/link"])
    @pytest.mark.parametrize(
        "target", ["../outside/secret.txt", "{outside}/secret.txt", "sub/../../outside/secret.txt"]
    )
    def test_a_link_out_of_the_workspace_is_absent(self, workspace: Path, entry: str, target: str) -> None:
        fill(workspace, "sub/x")
        (workspace / "link").symlink_to(target.format(outside=workspace.parent / "outside"))
        tracked = collect_tracked_files(workspace, [entry])
        assert "secret" not in tracked.files.values()
        assert tracked.cut == ()

    @pytest.mark.parametrize("entry", ["dir", "dir/", "dir/secret.txt", "dir/*", "**/secret.txt", "di?/*"])
    def test_a_linked_directory_out_of_the_workspace_is_absent(self, workspace: Path, entry: str) -> None:
        (workspace / "dir").symlink_to("../outside")
        assert collect_tracked_files(workspace, [entry]) == TrackedFiles()

    def test_a_link_out_and_back_in_is_absent(self, workspace: Path) -> None:
        fill(workspace, "a")
        (workspace / "link").symlink_to("../workspace/a")
        assert found(workspace, "link") == []

    @pytest.mark.parametrize("target", ["sub/a", "./sub/../sub/a", "{workspace}/sub/a"])
    @pytest.mark.parametrize("entry", ["link", "l*"])
    def test_a_link_inside_the_workspace_is_read(self, workspace: Path, target: str, entry: str) -> None:
        fill(workspace, "sub/a")
        (workspace / "link").symlink_to(target.format(workspace=workspace))
        assert collect_tracked_files(workspace, [entry]).files == {"link": "sub/a"}

    def test_an_entry_may_go_through_a_linked_directory(self, workspace: Path) -> None:
        fill(workspace, "out/1/a.txt")
        (workspace / "latest").symlink_to("out/1")
        for entry in ("latest", "latest/a.txt", "latest/*.txt"):
            assert found(workspace, entry) == ["latest/a.txt"]

    def test_a_walk_does_not_enter_linked_directories(self, workspace: Path) -> None:
        fill(workspace, "out/1/a.txt")
        (workspace / "out" / "latest").symlink_to("1")
        (workspace / "out" / "back").symlink_to("..")
        assert found(workspace, "out", "**/*.txt") == ["out/1/a.txt"]

    def test_links_that_lead_nowhere_or_in_a_circle_are_absent(self, workspace: Path) -> None:
        (workspace / "loop").symlink_to("loop")
        (workspace / "a").symlink_to("b/x")
        (workspace / "b").symlink_to("a/x")
        (workspace / "nowhere").symlink_to("missing")
        assert collect_tracked_files(workspace, ["loop", "a", "b", "nowhere", "loop/x", "**", "*"]) == TrackedFiles()


class TestSpecialFiles:
    @pytest.mark.parametrize("entry", ["special", "*", ".", "link"])
    def test_a_fifo_is_not_read(self, workspace: Path, entry: str) -> None:
        os.mkfifo(workspace / "special")
        (workspace / "link").symlink_to("special")
        assert collect_tracked_files(workspace, [entry]) == TrackedFiles()

    def test_a_fifo_is_not_even_opened(self, workspace: Path) -> None:
        os.mkfifo(workspace / "special")
        reader = os.open(workspace / "special", os.O_RDONLY | os.O_NONBLOCK)
        writer = os.open(workspace / "special", os.O_WRONLY | os.O_NONBLOCK)
        os.close(reader)
        collect_tracked_files(workspace, ["special", "*"])
        with pytest.raises(BrokenPipeError):
            os.write(writer, b"x")
        os.close(writer)

    def test_a_socket_is_not_read(self, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(workspace)
        with socket.socket(socket.AF_UNIX) as server:
            server.bind("special")
            assert collect_tracked_files(workspace, ["special", "*"]) == TrackedFiles()

    def test_a_linked_device_is_not_read(self, workspace: Path) -> None:
        (workspace / "zero").symlink_to("/dev/zero")
        assert collect_tracked_files(workspace, ["zero", "*"]) == TrackedFiles()

    def test_what_nobody_may_read_is_absent_with_a_note(self) -> None:
        with tempfile.TemporaryDirectory() as path:
            workspace = Path(path)
            workspace.chmod(0o755)
            fill(workspace, "closed", "open", "dir/x")
            (workspace / "closed").chmod(0)
            (workspace / "dir").chmod(0)
            with without_privileges():
                tracked = collect_tracked_files(workspace, ["closed", "open", "dir", "dir/x", "*"])
            (workspace / "dir").chmod(0o700)
        assert tracked.files == {"open": "open"}
        assert tracked.cut == tuple(
            f"{name}: left out, it cannot be read: Permission denied" for name in ("closed", "dir", "dir/x")
        )


class TestLimits:
    def test_a_file_over_the_limit_is_cut_without_a_mark(self, workspace: Path) -> None:
        (workspace / "a").write_text("x" * 100)
        tracked = collect_tracked_files(workspace, ["a"], max_file_bytes=10)
        assert tracked == TrackedFiles({"a": "x" * 10}, ("a: cut to its first 10 of 100 bytes",))

    def test_a_file_at_the_limit_is_whole(self, workspace: Path) -> None:
        (workspace / "a").write_text("x" * 10)
        assert collect_tracked_files(workspace, ["a"], max_file_bytes=10).cut == ()

    @pytest.mark.parametrize("limit", range(1, 9))
    def test_a_cut_inside_a_character_leaves_text(self, workspace: Path, limit: int) -> None:
        text = "aé€😀"
        (workspace / "a").write_text(text)
        value = collect_tracked_files(workspace, ["a"], max_file_bytes=limit).files["a"]
        assert isinstance(value, str)
        assert text.startswith(value)

    def test_a_huge_sparse_file_costs_no_more_than_the_limit(self, workspace: Path) -> None:
        with (workspace / "a").open("wb") as file:
            file.truncate(1 << 40)
        tracked = collect_tracked_files(workspace, ["a"], max_file_bytes=5)
        assert tracked.files == {"a": "\0" * 5}

    def test_the_total_cuts_one_file_and_leaves_out_the_next(self, workspace: Path) -> None:
        for name in "abcd":
            (workspace / name).write_text("x" * 10)
        (workspace / "e").touch()
        tracked = collect_tracked_files(workspace, ["*"], max_total_bytes=25)
        assert tracked.files == {"a": "x" * 10, "b": "x" * 10, "c": "x" * 5, "e": ""}
        assert tracked.cut == (
            "c: cut to its first 5 of 10 bytes",
            "d: left out, the tracked files have more than 25 bytes in all",
        )

    def test_earlier_entries_come_first_where_there_is_a_limit(self, workspace: Path) -> None:
        fill(workspace, "a", "b", "c")
        assert list(collect_tracked_files(workspace, ["c", "*"], max_files=2).files) == ["a", "c"]

    def test_the_number_of_files_is_limited_with_one_note(self, workspace: Path) -> None:
        fill(workspace, *(f"{number:02}" for number in range(20)))
        tracked = collect_tracked_files(workspace, ["*", "19"], max_files=3)
        assert list(tracked.files) == ["00", "01", "02"]
        assert tracked.cut == ("03: left out with all that follow, more than 3 files are tracked",)

    def test_an_entry_looks_at_a_limited_number_of_names(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slop_code.execution.file_ops.tracked.MAX_NAMES", 5)
        for number in range(8):
            (workspace / "empty" / str(number)).mkdir(parents=True)
        fill(workspace, "few/a", "few/b")
        tracked = collect_tracked_files(workspace, ["empty", "few"], max_files=5)
        assert tracked.files == {"few/a": "few/a", "few/b": "few/b"}
        assert tracked.cut == ("empty: left out in part with all that follow, 5 names were seen",)

    def test_an_entry_may_look_at_exactly_as_many_names_as_there_are(
        self, workspace: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr("slop_code.execution.file_ops.tracked.MAX_NAMES", 3)
        fill(workspace, "a", "b")
        (workspace / "empty").mkdir()
        assert collect_tracked_files(workspace, ["."], max_files=3) == TrackedFiles({"a": "a", "b": "b"})
        fill(workspace, "empty/c")
        assert collect_tracked_files(workspace, ["."], max_files=3).cut == (
            "empty: left out in part with all that follow, 3 names were seen",
        )

    def test_a_tree_of_any_depth_is_survived(self, workspace: Path) -> None:
        fill(workspace, "top")
        depth = 1500
        directory = os.open(workspace, os.O_RDONLY)
        try:
            for _ in range(depth):
                os.mkdir("d", dir_fd=directory)
                below = os.open("d", os.O_RDONLY, dir_fd=directory)
                os.close(directory)
                directory = below
            os.close(os.open("bottom", os.O_CREAT | os.O_WRONLY, dir_fd=directory))
        finally:
            os.close(directory)
        tracked = collect_tracked_files(workspace, ["."])
        assert tracked.files == {"top": "top"}
        assert tracked.cut == ("/".join("d" * 101) + ": left out, more than 100 directories deep",)
        bottom = "/".join([*"d" * depth, "bottom"])
        assert found(workspace, bottom) == [bottom]
        remove_chain(workspace, depth)

    def test_no_file_stays_open(self, workspace: Path) -> None:
        fill(workspace, "a/b/c", "d")
        (workspace / "link").symlink_to("../outside")
        before = len(list(Path("/proc/self/fd").iterdir()))
        collect_tracked_files(workspace, ["**", "d", "link", "link/x", "nothing", "a/*/c", "d/x"])
        assert len(list(Path("/proc/self/fd").iterdir())) == before


def remove_chain(workspace: Path, depth: int) -> None:
    """Remove a chain of directories that is too deep for those who clean up after the tests."""
    half = workspace / "half"
    while depth > 400:
        middle = workspace.joinpath(*"d" * 200)
        (middle / "d").rename(half)
        (workspace / "d").rename(workspace.parent / f"removed{depth}")
        half.rename(workspace / "d")
        depth -= 200
