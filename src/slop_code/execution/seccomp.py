"""A filter for system calls that leave something behind, or give a program powers inside a namespace of its own.

Denied are the kernel's keyrings, which belong to a user and outlive a case, and new user namespaces, in which a program
could mount file systems. Everything else is for the namespaces and the rights of the user to decide.
"""

from __future__ import annotations

import errno
import platform
import struct
from typing import NamedTuple

# Instructions of the kernel's packet filters.
_LOAD, _IF_EQUAL, _IF_AT_LEAST, _IF_ANY_BIT, _RETURN = 0x20, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
# Where `struct seccomp_data` has the number of the call, the architecture, and the first argument's lower half.
_NUMBER, _ARCHITECTURE, _FLAGS = 0, 4, 16
_CLONE_NEWUSER = 0x10000000
_X32_BIT = 0x40000000
_CLONE3 = 435


class _Architecture(NamedTuple):
    audit_number: int
    keyrings: tuple[int, int, int]
    clone: int
    unshare: int


_X86 = (
    _Architecture(0xC000003E, (248, 249, 250), 56, 272),
    _Architecture(0x40000003, (286, 287, 288), 120, 310),
)
_ARM = (
    _Architecture(0xC00000B7, (217, 218, 219), 220, 97),
    _Architecture(0x40000028, (309, 310, 311), 120, 337),
)
_MACHINES = {"x86_64": _X86, "aarch64": _ARM}


def system_call_filter() -> bytes | None:
    """The filter for this machine, as the kernel takes it; None if we do not know its system calls."""
    known = _MACHINES.get(platform.machine())
    if known is None:
        return None
    blocks = [_block(architecture) for architecture in known]
    program = [_instruction(_LOAD, _ARCHITECTURE)]
    for architecture, block in zip(known, blocks, strict=True):
        program += [_instruction(_IF_EQUAL, architecture.audit_number, 0, len(block)), *block]
    program.append(_refuse(errno.ENOSYS))
    return b"".join(program)


def _block(architecture: _Architecture) -> list[bytes]:
    """What to do with a call of one architecture; each way through it ends in a decision."""
    lines = [_instruction(_LOAD, _NUMBER)]
    for number in architecture.keyrings:
        lines += [_instruction(_IF_EQUAL, number, 0, 1), _refuse(errno.EPERM)]
    # Its flags are in memory, where no filter can look. Without it, programs use the older call.
    lines += [_instruction(_IF_EQUAL, _CLONE3, 0, 1), _refuse(errno.ENOSYS)]
    if architecture is _X86[0]:
        # The same calls under other numbers, which nobody uses any more.
        lines += [_instruction(_IF_AT_LEAST, _X32_BIT, 0, 1), _refuse(errno.ENOSYS)]
    return [
        *lines,
        _instruction(_IF_EQUAL, architecture.clone, 1, 0),
        _instruction(_IF_EQUAL, architecture.unshare, 0, 3),
        _instruction(_LOAD, _FLAGS),
        _instruction(_IF_ANY_BIT, _CLONE_NEWUSER, 0, 1),
        _refuse(errno.EPERM),
        _instruction(_RETURN, _ALLOW),
    ]


def _refuse(number: int) -> bytes:
    return _instruction(_RETURN, _ERROR | number)


def _instruction(code: int, value: int, if_so: int = 0, if_not: int = 0) -> bytes:
    return struct.pack("=HBBI", code, if_so, if_not, value)
