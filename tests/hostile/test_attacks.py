"""Every attack on every driver: the rule holds, or what is left open is exactly what the table says."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.execution.drivers import DRIVERS
from tests.hostile.attack import Attack
from tests.hostile.contained import play_contained
from tests.hostile.host import Host
from tests.hostile.rules import ATTACKS
from tests.hostile.stage import SUBMISSIONS, Stage

CONTAINED = tuple(attack.path for attack in ATTACKS if attack.contained)
GUARDED = (
    "the_evaluator_cannot_be_harmed/kills_its_parent",
    "the_evaluator_cannot_be_harmed/stops_its_parent",
    "the_evaluator_cannot_be_harmed/kills_every_ancestor",
    "the_evaluator_cannot_be_harmed/slows_its_parent_down",
    "servers_may_die_and_hang/kills_its_parent",
    "servers_may_die_and_hang/stops_its_parent",
)


@pytest.mark.parametrize("kind", DRIVERS)
@pytest.mark.parametrize("attack", [pytest.param(attack, id=attack.path) for attack in ATTACKS])
def test_the_rule_holds(attack: Attack, kind: str, stage_of: Callable[[str], Stage], host: Host) -> None:
    left = attack.leaves(kind)
    if attack.contained and kind == "local":
        found = play_contained(CONTAINED)[attack.path]
        assert bool(found) == bool(left), found
        return
    stage = stage_of(kind)
    try:
        scene = stage.play(attack, host)
        breach = attack.breach(scene)
    finally:
        stage.mend(host)
    assert attack.breaches(scene) == []
    if left is None:
        assert breach is None
    else:
        assert breach is not None or left.may, f"the rule holds here, but the table says: {left.text}"


def test_where_the_kernel_does_not_protect_the_helper_its_guard_does() -> None:
    assert play_contained(GUARDED, scoped=False) == {path: [] for path in GUARDED}


def test_every_submission_is_an_attack_and_every_attack_has_one() -> None:
    there = {str(path.relative_to(SUBMISSIONS))[: -len(".attack")] for path in SUBMISSIONS.glob("*/*.attack")}
    known = {attack.path for attack in ATTACKS}
    assert known - there == {"broken_programs_only_fail/no_such_file"}
    assert there <= known
    assert len(known) >= 40
