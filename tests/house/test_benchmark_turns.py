"""The benchmarks' way to compare on a machine whose speed changes: contestants take turns."""

from __future__ import annotations

import itertools
import os
import time
from functools import partial
from pathlib import Path

import pytest
from benchmarks import turns
from benchmarks.turns import Contestant, can_take_turns, take_turns

needs_freezer = pytest.mark.skipif(not can_take_turns(), reason="groups of processes cannot be frozen here")


def note_times(place: Path, seconds: float) -> int:
    """Write down when it was, again and again, for so many seconds of this process's own."""
    began, times = time.process_time(), []
    while time.process_time() - began < seconds:
        times.append(str(time.monotonic()))
        time.sleep(0)
    place.write_text("\n".join(times))
    return len(times)


def raise_interrupt() -> None:
    raise KeyboardInterrupt("enough")


@needs_freezer
def test_only_one_is_awake_at_a_time_and_each_gets_its_own_seconds(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turns, "_TURN_S", 0.02)
    contestants = {name: Contestant(partial(note_times, tmp_path / name, 0.1)) for name in ("a", "b")}
    began = time.monotonic()
    take_turns(list(contestants.values()))
    took = time.monotonic() - began
    noted = []
    for name, contestant in contestants.items():
        times = [float(word) for word in (tmp_path / name).read_text().split()]
        assert contestant.result == len(times)
        noted += [(moment, name) for moment in times]
    assert sum(one.seconds for one in contestants.values()) <= took
    changes = [first for first, second in itertools.pairwise(name for _, name in sorted(noted)) if first != second]
    # Several turns each, and nobody in another one's turn: that would be hundreds of changes in less time.
    assert 4 <= len(changes) <= took / 0.02 + 1


@pytest.mark.parametrize("in_turns", [pytest.param(True, marks=needs_freezer), False])
def test_what_one_raises_is_told_and_the_others_are_ended(monkeypatch: pytest.MonkeyPatch, in_turns: bool) -> None:
    monkeypatch.setattr(turns, "can_take_turns", lambda: in_turns)
    sleeper = Contestant(partial(time.sleep, 600))
    contestants = [sleeper, Contestant(raise_interrupt)]
    with pytest.raises(RuntimeError, match="enough"):
        take_turns(contestants if in_turns else contestants[::-1])
    if in_turns:
        with pytest.raises(ProcessLookupError):
            os.kill(sleeper.process, 0)
    else:
        assert not sleeper.process


def test_where_nobody_can_be_frozen_they_run_one_after_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(turns, "_FREEZER", tmp_path / "nowhere")
    contestants = [Contestant(partial(pow, 2, number)) for number in (1, 2)]
    take_turns(contestants)
    assert [one.result for one in contestants] == [2, 4]
    assert all(one.seconds > 0 for one in contestants)
