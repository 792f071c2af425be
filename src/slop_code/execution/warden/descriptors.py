"""Descriptors that programs get under numbers that we agree with them about."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Dict

# Descriptors of a program that we agree with it about; nothing else of ours ever gets these numbers.
ARGUMENTS_FD, FILTER_FD, STATUS_FD = 7, 8, 9
RESERVED_FDS = (ARGUMENTS_FD, FILTER_FD, STATUS_FD)


def hand_over(descriptor: int, number: int) -> None:
    """Make a descriptor the program's, as one of the numbers that are kept for that."""
    os.dup2(descriptor, number, inheritable=True)
    os.close(descriptor)


def open_files(files: Dict[str, str]) -> None:
    """Open the files that programs get under numbers which are kept for that, for this one and those after it."""
    for number in (ARGUMENTS_FD, FILTER_FD):
        reserve_fd(number)
    for wanted, path in files.items():
        hand_over(os.open(path, os.O_RDONLY), int(wanted))


def reserve_fd(number: int) -> None:
    """Keep the number taken, so that nothing else of ours ever gets it; programs do not see it."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    if nothing == number:
        return
    os.dup2(nothing, number, inheritable=False)
    os.close(nothing)
