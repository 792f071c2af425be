"""Archive answers are read in memory, with limits, and never unpacked."""

from __future__ import annotations

import base64
import gzip
import io
import struct
import tarfile
import time
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from slop_code.evaluation.adapters.archives import ArchiveLimits, gunzip, names_archive, read_archive

KINDS = ["zip", "tar", "tar.gz"]
FILES = {"a/readme.txt": b"hello\r\n", "b.bin": b"\xff\x00", "empty": b"", "a/ä €.txt": "grüße".encode()}
READ = {"a/readme.txt": "hello\r\n", "b.bin": "/wA=", "empty": "", "a/ä €.txt": "grüße"}


def packed(kind: str, members: list[tuple[str, bytes]], tar_format: int = tarfile.PAX_FORMAT) -> bytes:
    data = io.BytesIO()
    if kind == "zip":
        with warnings.catch_warnings(), zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
            warnings.simplefilter("ignore")
            for name, content in members:
                archive.writestr(name, content)
        return data.getvalue()
    with tarfile.open(fileobj=data, mode="w", format=tar_format) as tar:
        for name, content in members:
            tar.addfile(info(name, size=len(content)), io.BytesIO(content))
    return gzip.compress(data.getvalue(), 1) if kind == "tar.gz" else data.getvalue()


def info(name: str, kind: bytes = tarfile.REGTYPE, size: int = 0, target: str = "") -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.size, member.linkname = kind, size, target
    return member


def tar_of(*members: tarfile.TarInfo) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for member in members:
            tar.addfile(member)
    return data.getvalue()


@contextmanager
def within(seconds: float) -> Iterator[None]:
    # Of our own time, so that a busy machine does not fail the test.
    started = time.thread_time()
    yield
    assert time.thread_time() - started < seconds


@pytest.mark.parametrize("kind", KINDS)
def test_members_are_text_where_they_are_utf8_and_base64_where_not(kind: str) -> None:
    contents = read_archive(packed(kind, list(FILES.items())))
    assert (contents.files, contents.warnings, contents.cut) == (READ, [], False)


@pytest.mark.parametrize("tar_format", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_long_names_are_read_in_every_dialect_of_tar(tar_format: int) -> None:
    name = "/".join(["folder" * 8] * 3) + "/" + "x" * 90
    assert read_archive(packed("tar", [(name, b"1"), ("next", b"2")], tar_format)).files == {name: "1", "next": "2"}


def test_a_bare_gzip_is_one_file_named_after_the_answer() -> None:
    data = gzip.compress(b"log\n") + gzip.compress(b"more\n")
    assert read_archive(data, "app.log.gz").files == {"app.log": "log\nmore\n"}
    assert read_archive(data).files == {"content": "log\nmore\n"}


@pytest.mark.parametrize("kind", ["", *KINDS])
def test_an_empty_archive_is_no_reason_to_complain(kind: str) -> None:
    contents = read_archive(packed(kind, []) if kind else b"")
    assert (contents.files, contents.warnings) == ({}, [])


def test_folders_are_not_files() -> None:
    assert read_archive(packed("zip", [("a/", b""), ("a/b", b"1")])).files == {"a/b": "1"}
    contents = read_archive(tar_of(info("a", tarfile.DIRTYPE), info("old/", tarfile.AREGTYPE), info("b")))
    assert (contents.files, contents.warnings) == ({"b": ""}, [])


def test_a_zip_behind_something_else_is_still_a_zip() -> None:
    assert read_archive(b"#!/bin/sh\n" * 100 + packed("zip", [("a", b"1")])).files == {"a": "1"}


@pytest.mark.parametrize(("name", "normal"), [("./a", "a"), ("a//b/./c", "a/b/c"), ("win\\dir\\f", "win/dir/f")])
@pytest.mark.parametrize("kind", KINDS)
def test_names_are_normalised(kind: str, name: str, normal: str) -> None:
    assert read_archive(packed(kind, [(name, b"1")])).files == {normal: "1"}


@pytest.mark.parametrize(
    "name", ["../up", "a/../../up", "a/..", "/etc/passwd", "//x", "..\\up", "C:\\x", "c:/x", "\\x", ".", "n" * 5000]
)
@pytest.mark.parametrize("kind", KINDS)
def test_names_that_lead_elsewhere_are_left_out_with_a_warning(kind: str, name: str) -> None:
    contents = read_archive(packed(kind, [(name, b"1"), ("good", b"2")]))
    assert contents.files == {"good": "2"}
    assert [text for text in contents.warnings if "was left out: its name" in text] == contents.warnings != []


def test_links_and_devices_are_left_out_with_a_warning() -> None:
    contents = read_archive(
        tar_of(
            info("soft", tarfile.SYMTYPE, target="/etc/passwd"),
            info("hard", tarfile.LNKTYPE, target="good"),
            info("disk", tarfile.BLKTYPE),
            info("tty", tarfile.CHRTYPE),
            info("pipe", tarfile.FIFOTYPE),
            info("odd", b"Z"),
            info("good"),
        )
    )
    assert contents.files == {"good": ""}
    assert contents.warnings == [
        "archive member 'soft' was left out: it is a link",
        "archive member 'hard' was left out: it is a link",
        *(f"archive member '{name}' was left out: it is a device or a pipe" for name in ("disk", "tty", "pipe")),
        "archive member 'odd' was left out: it is stored in a way that is not read",
    ]


def test_links_and_devices_in_a_zip_are_left_out_too() -> None:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, mode in (("link", 0o120777), ("pipe", 0o010644), ("good", 0o100644)):
            member = zipfile.ZipInfo(name)
            member.external_attr = mode << 16
            archive.writestr(member, "/etc/passwd")
    contents = read_archive(data.getvalue())
    assert contents.files == {"good": "/etc/passwd"}
    assert [text.rpartition(" it is ")[2] for text in contents.warnings] == ["a link", "a device or a pipe"]


@pytest.mark.parametrize("kind", KINDS)
def test_of_two_members_with_one_name_the_last_counts(kind: str) -> None:
    contents = read_archive(packed(kind, [("a", b"1"), ("./a", b"2")]))
    assert contents.files == {"a": "2"}
    assert contents.warnings == ["archive member './a' is there more than once: the last one counts"]


def test_encrypted_and_oddly_packed_members_are_left_out_with_a_warning() -> None:
    data = packed("zip", [("secret", b"1")])
    entry = data.index(b"PK\x01\x02")
    locked = data[: entry + 8] + b"\x01" + data[entry + 9 :]
    assert read_archive(locked).warnings == ["archive member 'secret' was left out: it is encrypted"]
    bzipped = io.BytesIO()
    with zipfile.ZipFile(bzipped, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("b", b"1")
    assert "not read" in read_archive(bzipped.getvalue()).warnings[0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_truncated_archive_gives_a_warning_wherever_it_ends(kind: str) -> None:
    data = packed(kind, [("a", b"1" * 600), ("b", bytes(range(256)) * 5)])
    whole = read_archive(data)
    for end in (*range(1, len(data), 7), 512, 1024, 1536, 2048):
        contents = read_archive(data[:end])
        assert contents.warnings or contents == whole
        assert contents.files.items() <= whole.files.items()


def test_what_can_be_read_of_a_truncated_tar_is_read() -> None:
    data = packed("tar", [("a", b"1"), ("b", b"2" * 600)])
    contents = read_archive(data[:2000])
    assert contents.files == {"a": "1"}
    assert contents.warnings == ["the archive is damaged: it ends within the member at byte 1024"]


def test_a_member_that_does_not_match_its_checksum_is_left_out() -> None:
    data = packed("zip", [("a", b"hello"), ("b", b"good")])
    entry = data.index(b"PK\x01\x02")
    contents = read_archive(data[: entry + 16] + b"\0\0\0\0" + data[entry + 20 :])
    assert contents.files == {"b": "good"}
    assert contents.warnings == ["archive member 'a' was left out: Bad CRC-32 for file 'a'"]


@pytest.mark.parametrize("data", [b"nothing of the kind", b"PK and no more", b"\x1f\x8bnot gzip", b"\1" * 600])
def test_what_is_no_archive_gives_a_warning(data: bytes) -> None:
    contents = read_archive(data)
    assert contents.files == {}
    assert len(contents.warnings) == 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("limits", "files", "warning"),
    [
        (ArchiveLimits(member_bytes=10), {"a", "c"}, "'b' was left out: 20 bytes are more than may still be read (10)"),
        (ArchiveLimits(total_bytes=7000), {"a", "b"}, "'c' was left out"),
    ],
)
def test_members_beyond_a_limit_are_left_out_with_a_warning(
    kind: str, limits: ArchiveLimits, files: set[str], warning: str
) -> None:
    last = b"3" if "b" not in files else bytes(6990)
    contents = read_archive(packed(kind, [("a", b"1"), ("b", b"2" * 20), ("c", last)]), limits=limits)
    assert contents.cut
    if kind == "tar.gz" and "c" not in files:
        assert contents.warnings[0].startswith("the archive could not be expanded in full: it expands to more than")
    else:
        assert set(contents.files) == files
        assert len(contents.warnings) == 1
        assert warning in contents.warnings[0]


@pytest.mark.parametrize("kind", KINDS)
def test_bombs_do_not_go_off(kind: str) -> None:
    content = bytes(80 << 20) if kind == "tar.gz" else bytes(20 << 20)
    data = packed(kind, [("small", b"1"), ("bomb", content)])
    with within(2):
        contents = read_archive(data)
    assert contents.files.get("bomb") is None
    assert contents.cut
    assert contents.warnings


def test_a_bare_gzip_bomb_does_not_go_off() -> None:
    data = gzip.compress(bytes(80 << 20), 1)
    with within(2):
        contents = read_archive(data)
    assert (contents.files, contents.cut) == ({}, True)


def test_steep_expansion_is_refused_only_where_it_is_also_large() -> None:
    assert len(read_archive(packed("zip", [("zeros", bytes(1 << 20))])).files["zeros"]) == 1 << 20
    contents = read_archive(packed("zip", [("zeros", bytes(2 << 20))]))
    assert (contents.files, contents.cut) == ({}, True)


def overlapping(entries: int, content: bytes, size: int | None = None) -> bytes:
    """A zip whose many entries all point at the same packed bytes."""
    size = len(content) if size is None else size
    squeezer = zlib.compressobj(9, wbits=-15)
    squeezed = squeezer.compress(content) + squeezer.flush() if content else b"\0\0\0\xff\xff" * 400_000 + b"\3\0"
    facts = struct.pack("<HHHHHIIIHH", 20, 0, 8, 0, 0, zlib.crc32(content), len(squeezed), size, 1, 0)
    local = b"PK\x03\x04" + facts + b"x" + squeezed
    entry = b"PK\x01\x02" + struct.pack("<H", 20) + facts + struct.pack("<HHHII", 0, 0, 0, 0, 0) + b"x"
    end = struct.pack("<HHHHIIH", 0, 0, entries & 0xFFFF, entries & 0xFFFF, entries * len(entry), len(local), 0)
    return local + entry * entries + b"PK\x05\x06" + end


def test_members_that_share_their_bytes_count_each_time() -> None:
    with within(2):
        contents = read_archive(overlapping(5000, bytes(1 << 20)))
    assert set(contents.files) == {"x"}
    assert contents.cut
    assert len(contents.warnings) < 25


def test_packed_bytes_that_expand_to_nothing_count_too() -> None:
    with within(2):
        contents = read_archive(overlapping(5000, b""))
    assert contents.cut


def test_a_million_members_are_too_many() -> None:
    data = overlapping(1_000_000, b"1")
    with within(2):
        contents = read_archive(data)
    assert (contents.files, contents.cut) == ({}, True)
    assert contents.warnings == ["the archive has more than 10000 members: none was read"]


@pytest.mark.parametrize("compress", [False, True])
def test_of_too_many_members_in_a_tar_the_first_are_read(compress: bool) -> None:
    data = b"".join(info(f"{number}").tobuf() for number in range(12_000))
    with within(2):
        contents = read_archive(gzip.compress(data, 1) if compress else data)
    assert len(contents.files) == 10_000
    assert contents.cut
    assert contents.warnings == ["the archive has more than 10000 members: the rest was not read"]


def test_endless_tar_headers_cost_little() -> None:
    header = info("x", tarfile.XHDTYPE).tobuf(tarfile.USTAR_FORMAT)
    with within(2):
        contents = read_archive(header * 20_000)
    assert contents.files == {}
    assert contents.warnings == ["the archive is damaged: it has no end mark: there may have been more"]


@pytest.mark.parametrize(
    "extension",
    [
        b"9" * 500_000,
        b"10 path=",
        b"0 a=b\n",
        b"-5 a=b\n",
        b"99 path=short\n",
        b"x",
        b" ",
        b"12 size=-99\n",
        b"11 size=x9\n",
    ],
)
def test_a_crafted_pax_header_is_damage(extension: bytes) -> None:
    header = info("x", tarfile.XHDTYPE, size=len(extension)).tobuf(tarfile.USTAR_FORMAT)
    data = header + extension + bytes(-len(extension) % 512) + info("after").tobuf()
    with within(1):
        contents = read_archive(data)
    assert contents.warnings[0].startswith("the archive is damaged")


def test_sizes_that_lead_backwards_or_nowhere_are_damage() -> None:
    for field in (b"\xff" * 12, b"\x80" + b"\xff" * 11, b"77777777777\0", b"-0000000001\0", b"0x1\0"):
        header = bytearray(info("x").tobuf(tarfile.USTAR_FORMAT))
        header[124:136] = field.ljust(12, b"\0")
        header[148:156] = b" " * 8
        header[148:156] = f"{sum(header):06o}\0 ".encode()
        assert read_archive(bytes(header)).warnings[0].startswith("the archive is damaged")


def test_sparse_members_are_left_out_with_a_warning() -> None:
    records = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.name": "holes"}
    member = info("holes")
    member.pax_headers = records
    assert "is not read" in read_archive(tar_of(member, info("good"))).warnings[0]


def test_a_gzip_of_countless_parts_is_cut() -> None:
    with within(1):
        expanded = gunzip(gzip.compress(b"") * 1_000_000, 1000)
    assert expanded == (b"", "it has more than 1000 parts", True)


def test_many_warnings_are_counted_rather_than_told() -> None:
    contents = read_archive(tar_of(*(info(f"../{number}") for number in range(500))))
    assert len(contents.warnings) == 21
    assert contents.warnings[-1] == "480 more such warnings about the archive are not shown"


@given(
    st.sampled_from(KINDS),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(0, 255)), max_size=6),
    st.integers(0, 2500),
)
def test_no_damage_raises(kind: str, changes: list[tuple[int, int]], length: int) -> None:
    data = bytearray(packed(kind, [("a/b.txt", b"hello " * 20), ("long" * 40, b"\xff" * 30), ("c", b"")]))
    for position, value in changes:
        data[position % len(data)] = value
    contents = read_archive(bytes(data[: length or None]))
    assert all(isinstance(text, str) for text in contents.files.values())


@given(
    st.sampled_from(KINDS),
    st.dictionaries(
        st.text(
            st.characters(exclude_categories=["C", "Z"], exclude_characters="/\\:"), min_size=1, max_size=20
        ).filter(lambda name: name not in (".", "..")),
        st.binary(max_size=600),
        max_size=5,
    ),
)
def test_what_was_packed_is_read(kind: str, files: dict[str, bytes]) -> None:
    contents = read_archive(packed(kind, list(files.items())))
    assert contents.warnings == []
    assert set(contents.files) == set(files)
    for name, content in files.items():
        assert contents.files[name].encode() == content or base64.b64decode(contents.files[name]) == content


@pytest.mark.parametrize(
    "content_type",
    [
        "application/zip",
        "Application/X-Zip-Compressed; a=b",
        "application/x-tar",
        "application/gzip",
        "application/x-gzip;q",
    ],
)
def test_archives_are_known_by_their_content_type(content_type: str) -> None:
    assert names_archive(content_type)


@pytest.mark.parametrize("content_type", ["", "zip", "text/zip", "application/json", "application/zipper", "a/b/zip"])
def test_other_content_types_are_not_archives(content_type: str) -> None:
    assert not names_archive(content_type)
