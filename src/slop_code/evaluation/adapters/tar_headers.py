"""The members of an uncompressed tar in memory: ustar, GNU and pax headers, nothing else of tar.

Not `tarfile`: in Pythons that we support, a crafted header keeps it busy for ever (CVE-2024-6232, CVE-2025-8194).
Here every step moves forward by a block, and no header is larger than a stated size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from slop_code.errors import SlopCodeError

_BLOCK = 512
_LONGEST_HEADER = 1 << 20
_NO_DATA: dict[bytes, Literal["folder", "link", "device"]] = {
    b"1": "link",
    b"2": "link",
    b"3": "device",
    b"4": "device",
    b"5": "folder",
    b"6": "device",
}


class DamagedTarError(SlopCodeError):
    """The rest of the tar cannot be read."""


class TarMember(NamedTuple):
    """A member, and where in the tar its content is."""

    name: str
    kind: Literal["file", "folder", "link", "device", "unknown"]
    start: int = 0
    size: int = 0


def is_tar(data: bytes) -> bool:
    """Whether `data` begins like a tar, an empty one included."""
    block = data[:_BLOCK]
    return len(block) == _BLOCK and (not any(block) or _is_header(block))


def tar_members(data: bytes) -> Iterator[TarMember]:
    """The members in order. What was yielded before a `DamagedTarError` is sound."""
    position = 0
    shared: dict[str, str] = {}
    own: dict[str, str] = {}
    while block := data[position : position + _BLOCK]:
        if not any(block):
            return
        if not _is_header(block):
            raise DamagedTarError(f"there is no valid header at byte {position}")
        start, kind = position + _BLOCK, block[156:157]
        attributes = {**shared, **own}
        size = 0 if kind in _NO_DATA else _size(block, attributes if kind not in b"gxLK" else {})
        if start + size > len(data):
            raise DamagedTarError(f"it ends within the member at byte {position}")
        position = start + -(-size // _BLOCK) * _BLOCK
        if kind in b"gxLK":
            if size > _LONGEST_HEADER:
                raise DamagedTarError(f"the header at byte {start} is too large")
            extension = data[start : start + size]
            if kind == b"g":
                shared |= _pax(extension)
            elif kind == b"x":
                own |= _pax(extension)
            elif kind == b"L":
                own["path"] = _name(extension)
            continue
        name = attributes.get("path") or _header_name(block)
        yield _member(name, kind, "GNU.sparse" in attributes, start, size)
        own = {}
    raise DamagedTarError("it has no end mark: there may have been more")


def _member(name: str, kind: bytes, sparse: bool, start: int, size: int) -> TarMember:
    if kind in _NO_DATA:
        return TarMember(name, _NO_DATA[kind])
    if kind not in b"07\0" or sparse:
        return TarMember(name, "unknown")
    return TarMember(name, "folder") if name.endswith("/") else TarMember(name, "file", start, size)


def _is_header(block: bytes) -> bool:
    if len(block) < _BLOCK:
        return False
    try:
        stated = _number(block[148:156])
    except DamagedTarError:
        return False
    return stated == sum(block) - sum(block[148:156]) + 8 * ord(" ")


def _header_name(block: bytes) -> str:
    name = _name(block[:100])
    prefix = _name(block[345:500]) if block[257:263] == b"ustar\0" else ""
    return f"{prefix}/{name}" if prefix else name


def _name(field: bytes) -> str:
    return field.partition(b"\0")[0].decode("utf-8", "replace")


def _size(block: bytes, attributes: dict[str, str]) -> int:
    if "size" not in attributes:
        return _number(block[124:136])
    text = attributes["size"]
    if not (text.isascii() and text.isdigit() and len(text) < 20):
        raise DamagedTarError("the size of a member is not a number")
    return int(text)


def _number(field: bytes) -> int:
    if field[0] == 0x80:
        return int.from_bytes(field[1:], "big")
    text = field.partition(b"\0")[0].strip(b" ")
    if text.strip(b"01234567"):
        raise DamagedTarError("a number in a header is not a number")
    return int(text or b"0", 8)


def _pax(extension: bytes) -> dict[str, str]:
    """The records of a pax header that matter here; "GNU.sparse" stands for any of its kind."""
    records = {}
    position = 0
    while position < len(extension):
        space = extension.find(b" ", position, position + 10)
        length = extension[position:space]
        end = position + int(length) if space > 0 and length.isdigit() else 0
        if not position < space < end <= len(extension):
            raise DamagedTarError("a pax header is not valid")
        key, _, value = extension[space + 1 : end].rstrip(b"\n").partition(b"=")
        if key in (b"path", b"size"):
            records[key.decode()] = _name(value)
        elif key.startswith(b"GNU.sparse"):
            records["GNU.sparse"] = "yes"
        position = end
    return records
