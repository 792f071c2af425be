"""The errors of running things."""

from slop_code.errors import SlopCodeError
from slop_code.findings import FindingsError


class ExecutionError(SlopCodeError):
    """A command could not be run, through no fault of the submission."""


class EnvironmentFileError(ExecutionError, FindingsError):
    """An environment file is wrong. The text names every line and rule; `findings` holds them apart."""
