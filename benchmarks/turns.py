"""Contestants that take turns on the machine, a fraction of a second each, so that its moods hit all of them alike."""

from __future__ import annotations

import os
import pickle
import secrets
import select
import signal
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_FREEZER = Path("/sys/fs/cgroup/freezer")
_CONTAINER = "[0-9a-f]" * 64
_TURN_S, _FREEZING_S, _GIVE_UP_S = 0.5, 0.02, 30.0


@dataclass
class Contestant:
    """`action` is run in a process of its own; afterwards there is its `result`, and the `seconds` of its turns.

    Turns are `share` times as long as others', so that one that takes longer ends with them. What works for it
    `in_containers` is stopped with it; there should be no others.
    """

    action: Callable[[], Any]
    share: float = 1.0
    in_containers: bool = False
    seconds: float = 0.0
    result: Any = None
    own_group: Path | None = None
    process: int = 0
    answer: int = -1
    has_ended: bool = False


def take_turns(contestants: Sequence[Contestant]) -> None:
    """Run all contestants to their end; where whole groups of processes cannot be stopped, one after another."""
    with ExitStack() as stack:
        in_turns = can_take_turns()
        if in_turns:
            for contestant in contestants:
                contestant.own_group = stack.enter_context(_group())
        stack.callback(_end, contestants)
        left = list(contestants)
        while left:
            left = [one for one in left if not _has_ended_after_turn(one, _TURN_S * one.share if in_turns else None)]


def can_take_turns() -> bool:
    """Whether this machine lets us stop whole groups of processes, whatever other groups they are in."""
    try:
        with _group():
            return True
    except OSError:
        return False


def _has_ended_after_turn(contestant: Contestant, seconds: float | None) -> bool:
    with _thawed(contestant):
        started = time.perf_counter()
        if not contestant.process:
            _start(contestant)
        handle = os.pidfd_open(contestant.process)
        ended = bool(select.select([handle], [], [], seconds)[0])
        contestant.seconds += time.perf_counter() - started
        os.close(handle)
    if ended:
        os.waitpid(contestant.process, 0)
        contestant.has_ended = True
        with open(contestant.answer, "rb") as answer:  # noqa: PTH123
            failure, contestant.result = pickle.load(answer)
        if failure:
            raise RuntimeError(failure)
    return ended


def _start(contestant: Contestant) -> None:
    contestant.answer, told = os.pipe()
    contestant.process = os.fork()
    if contestant.process:
        os.close(told)
        return
    # Nothing of this process's own may be cleaned up here.
    try:
        if contestant.own_group is not None:
            (contestant.own_group / "cgroup.procs").write_text(str(os.getpid()))
        answer: tuple[str | None, Any] = None, contestant.action()
    except BaseException:  # noqa: BLE001  # raised again where somebody can see it
        answer = traceback.format_exc(), None
    with open(told, "wb") as file:  # noqa: PTH123
        pickle.dump(answer, file)
    os._exit(0)


def _end(contestants: Sequence[Contestant]) -> None:
    """End those that another one's failure left; what they had started ends by itself."""
    for contestant in contestants:
        if contestant.process and not contestant.has_ended:
            os.kill(contestant.process, signal.SIGKILL)
            _set(contestant, "THAWED")
            os.waitpid(contestant.process, 0)
            os.close(contestant.answer)


@contextmanager
def _thawed(contestant: Contestant) -> Iterator[None]:
    _set(contestant, "THAWED")
    yield
    _set(contestant, "FROZEN")


def _set(contestant: Contestant, state: str) -> None:
    if contestant.own_group is None:
        return
    groups = [contestant.own_group, *(_FREEZER.glob(f"*/{_CONTAINER}") if contestant.in_containers else ())]
    # A container may have ended since.
    for group in groups:
        with suppress(OSError):
            (group / "freezer.state").write_text(state)
    # One that waits for a child which is to become another program, and is frozen before it has, cannot be.
    patience = time.monotonic() + _FREEZING_S
    for group in groups:
        with suppress(OSError):
            while (group / "freezer.state").read_text().strip() != state and time.monotonic() < patience:
                time.sleep(0.0002)


@contextmanager
def _group() -> Iterator[Path]:
    group = _FREEZER / f"slop-code-{secrets.token_hex(8)}"
    group.mkdir()
    try:
        yield group
    finally:
        (group / "freezer.state").write_text("THAWED")
        give_up = time.monotonic() + _GIVE_UP_S
        while (group / "cgroup.procs").read_text() and time.monotonic() < give_up:
            time.sleep(0.01)
        group.rmdir()
