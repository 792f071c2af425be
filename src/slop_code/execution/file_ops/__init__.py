"""Input files into a workspace, tracked files out of it."""

from slop_code.execution.file_ops.collection import TrackedFiles
from slop_code.execution.file_ops.errors import InputFileError
from slop_code.execution.file_ops.input_file import InputFile, read_content
from slop_code.execution.file_ops.kinds import Compression, FileType, resolve_suffix
from slop_code.execution.file_ops.tracked import collect_tracked_files
from slop_code.execution.file_ops.writing import check_relative, write_input_files

__all__ = [
    "Compression",
    "FileType",
    "InputFile",
    "InputFileError",
    "TrackedFiles",
    "check_relative",
    "collect_tracked_files",
    "read_content",
    "resolve_suffix",
    "write_input_files",
]
