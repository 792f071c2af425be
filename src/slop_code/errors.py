"""The root of every exception that this package raises on purpose."""


class SlopCodeError(Exception):
    """Something a person can mend; its text says what, where and how, and needs no traceback."""
