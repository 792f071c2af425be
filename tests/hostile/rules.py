"""Every rule with the attacks on it, and what each driver leaves open. `docs/security.md` is made from this."""

from __future__ import annotations

from dataclasses import replace

from tests.hostile.rules_of_data import FRESH, OUTPUT, TRACKED, VERDICTS
from tests.hostile.rules_of_processes import BROKEN, CLOCKS, HARMLESS, LIMITS_HOLD, NOTHING_OUTLIVES, TIMEOUTS
from tests.hostile.rules_of_servers import SERVER_RULES
from tests.hostile.rules_of_the_host import HOST, NETWORK, OTHERS, PROBLEM, WRITTEN

DRIVERS = ("local", "sandbox", "docker")
RULES = (
    NOTHING_OUTLIVES,
    TIMEOUTS,
    LIMITS_HOLD,
    OUTPUT,
    TRACKED,
    VERDICTS,
    FRESH,
    BROKEN,
    *SERVER_RULES,
    HARMLESS,
    CLOCKS,
    WRITTEN,
    NETWORK,
    HOST,
    OTHERS,
    PROBLEM,
)
ATTACKS = tuple(replace(attack, rule=rule.text) for rule in RULES for attack in rule.attacks)
