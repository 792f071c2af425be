"""From a content to the bytes of a file, and back: one pair of functions a type."""

import base64
import contextlib
import marshal
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

from slop_code.execution.file_ops.errors import ContentError
from slop_code.execution.file_ops.kinds import Compression, FileType
from slop_code.execution.file_ops.sqlite_format import decode_sqlite, encode_sqlite
from slop_code.execution.file_ops.structured_formats import (
    decode_json,
    decode_jsonl,
    decode_yaml,
    encode_json,
    encode_jsonl,
    encode_yaml,
)
from slop_code.execution.file_ops.table_formats import (
    decode_csv,
    decode_parquet,
    decode_tsv,
    encode_csv,
    encode_parquet,
    encode_tsv,
)
from slop_code.execution.file_ops.utf8 import encode_utf8, universal_newlines

# What takes long to write, compared with a look at the content.
_DEAR = frozenset({FileType.SQLITE, FileType.PARQUET})
_REMEMBERED_BYTES = 1 << 18
# This version of marshal writes equal content as equal bytes, and takes nothing but plain data.
_BY_VALUE = 2


def encode(content: Any, file_type: FileType, compression: Compression) -> bytes:
    """Return the file's bytes, or raise ContentError with the place in the content and the rule.

    Bytes are a file already and go out as they are in every type but YAML, which has a notation for them.
    """
    if file_type in _DEAR or compression is not Compression.NONE:
        # Many cases of a problem often have such a file in common.
        with contextlib.suppress(ValueError):
            plain = marshal.dumps(content, _BY_VALUE)
            if len(plain) <= _REMEMBERED_BYTES:
                return _encoded_plain(plain, file_type, compression)
    return _encoded(content, file_type, compression)


@lru_cache(maxsize=64)
def _encoded_plain(plain: bytes, file_type: FileType, compression: Compression) -> bytes:
    return _encoded(marshal.loads(plain), file_type, compression)  # noqa: S302  # our own, of a moment ago


def _encoded(content: Any, file_type: FileType, compression: Compression) -> bytes:
    if isinstance(content, bytes | bytearray | memoryview) and file_type is not FileType.YAML:
        return _compress(bytes(content), compression)
    return _compress(_FORMATS[file_type].encode(content), compression)


def decode(data: bytes, file_type: FileType, compression: Compression) -> Any:
    """Return the file's content, or raise ContentError with the line where there is one."""
    return _FORMATS[file_type].decode(_decompress(data, compression))


def _encode_text(content: Any) -> bytes:
    return encode_utf8(str(content))


def _decode_text(data: bytes) -> str | bytes:
    try:
        return universal_newlines(data.decode())
    except UnicodeDecodeError:
        return data


def _encode_binary(content: Any) -> bytes:
    return base64.b64encode(encode_utf8(str(content)))


def _decode_binary(data: bytes) -> bytes:
    return data


def _compress(data: bytes, compression: Compression) -> bytes:
    if compression is Compression.GZIP:
        import gzip

        return gzip.compress(data, mtime=0)
    if compression is Compression.BZIP2:
        import bz2

        return bz2.compress(data)
    return data


def _decompress(data: bytes, compression: Compression) -> bytes:
    if compression is Compression.NONE:
        return data
    import bz2
    import gzip
    import zlib

    try:
        return gzip.decompress(data) if compression is Compression.GZIP else bz2.decompress(data)
    except (OSError, EOFError, ValueError, zlib.error) as error:
        raise ContentError(f"its bytes are not valid {compression}: {error}") from error


class _Format(NamedTuple):
    encode: Callable[[Any], bytes]
    decode: Callable[[bytes], Any]


_FORMATS = {
    FileType.TEXT: _Format(_encode_text, _decode_text),
    FileType.BINARY: _Format(_encode_binary, _decode_binary),
    FileType.JSON: _Format(encode_json, decode_json),
    FileType.JSONL: _Format(encode_jsonl, decode_jsonl),
    FileType.CSV: _Format(encode_csv, decode_csv),
    FileType.TSV: _Format(encode_tsv, decode_tsv),
    FileType.SQLITE: _Format(encode_sqlite, decode_sqlite),
    FileType.PARQUET: _Format(encode_parquet, decode_parquet),
    FileType.YAML: _Format(encode_yaml, decode_yaml),
}
