"""The three descriptors that every program expects to have."""

from __future__ import annotations

import os


def occupy_missing() -> None:
    """Give those to nobody that are closed: the next file or connection would get their numbers, and our output."""
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free, which is this one.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
