"""Text as it stands in files: UTF-8, and line ends that all read as LF."""

from slop_code.execution.file_ops.errors import ContentError


def encode_utf8(text: str) -> bytes:
    """Encode a text, or raise ContentError with the character that no file can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError as error:
        raise ContentError(
            f"character {error.start} of the text is the lone surrogate {error.object[error.start]!a}, "
            "which UTF-8 cannot hold (give bytes to write anything)"
        ) from error


def decode_utf8(data: bytes) -> str:
    """Decode a file's bytes, or raise ContentError with the line of the first bad byte."""
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ContentError(f"byte {error.start} is not UTF-8", line) from error


def universal_newlines(text: str) -> str:
    """Read CRLF and CR as LF, as Python's text mode does."""
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text
