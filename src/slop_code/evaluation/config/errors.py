"""The error of a configuration that cannot be used."""

from slop_code.findings import FindingsError


class ConfigError(FindingsError):
    """A problem's configuration is wrong. The text names every file, line and rule; `findings` holds them apart."""
