"""What goes wrong with an input file."""

from slop_code.errors import SlopCodeError


class InputFileError(SlopCodeError, ValueError):
    """An input file that cannot be read, turned into bytes, or put into the workspace.

    It is a ValueError too: that is what a loader which guards its own parsing of files expects.
    """


class ContentError(Exception):
    """A content that does not fit its format; who knows the file's name makes it an InputFileError."""

    def __init__(self, reason: str, line: int | None = None) -> None:
        super().__init__(reason)
        self.line = line
