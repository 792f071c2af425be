"""What an attack is: a submission, how it is put to the test, and how to see that a rule was broken."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from slop_code.evaluation.adapters import APICase, APIResult, CLICase, CLIResult
from slop_code.evaluation.adapters.models import BaseCase, CaseResult

if TYPE_CHECKING:
    from tests.hostile.host import Host
    from tests.hostile.stage import Scene, Stage

FAILED, TIMED_OUT, PASSED = "failed", "timed out", "passed"
# For what has to be waited for; `Attack.had_no_time` is for machines on which it is too short.
SHORT = 0.25
# How much longer than its timeout a case may take on a machine that is busy with other things.
_SLACK_S = 20.0
# What would mean that the attack itself is broken.
_BROKEN = (
    "SyntaxError",
    "ImportError",
    "ModuleNotFoundError",
    "NameError",
    "AttributeError",
    "TypeError",
    "IndexError",
)

Arguments = Callable[["Host", "Stage"], list[str]]
Breach = Callable[["Scene"], str | None]


def _nothing(_host: Host, _stage: Stage) -> list[str]:
    return []


def _no_breach(_scene: Scene) -> str | None:
    return None


@dataclass(frozen=True)
class Left:
    """What a driver leaves open; `when` says whether it does so on this machine, or `may` do so on some kernels."""

    text: str
    when: Callable[[], bool] = lambda: True
    may: bool = False


@dataclass(frozen=True)
class Attack:
    """A submission in `submissions/RULE/NAME.attack`; an honest one would print or answer "honest".

    Whatever it does, the outcome is one of `outcome`, nothing of it is alive afterwards, and the next case passes.
    """

    name: str
    outcome: str | tuple[str, ...] = FAILED
    arguments: Arguments = _nothing
    first: tuple[str, ...] = ()
    second: tuple[str, ...] = ()
    """Arguments of a second case with the same submission, after a fresh start."""
    stdin: str | None = None
    timeout: float = 10.0
    tracked: tuple[str, ...] = ()
    evidence: str = ""
    """Words that the report has to have, which show that the attack took place."""
    breach: Breach = _no_breach
    """What else of the rule was broken, in words; None if it holds."""
    left: Mapping[str, Left] = field(default_factory=dict)
    visited: bool = False
    """Whether somebody on the host tries to reach the port that is its first argument."""
    contained: bool = False
    """In `local` only within a process namespace: where the rule does not hold, it would harm the machine."""
    requests: int = 1
    startup_s: float = 20.0
    kind: str = "cli"
    rule: str = ""

    @property
    def path(self) -> str:
        return f"{_file_name(self.rule)}/{_file_name(self.name)}"

    def leaves(self, driver: str) -> Left | None:
        """What is left open here and now."""
        left = self.left.get(driver)
        return left if left is not None and left.when() else None

    def case(self, marker: str, arguments: list[str]) -> BaseCase:
        common: dict[str, Any] = {
            "id": self.name,
            "group": "core",
            "group_type": "Core",
            "timeout_s": self.timeout,
            "tracked_files": list(self.tracked),
        }
        if self.kind == "api":
            return APICase(**common, path="/")
        return CLICase(**common, arguments=[marker, *(f"'{argument}'" for argument in arguments)], stdin=self.stdin)

    def expected(self) -> CaseResult:
        if self.kind == "api":
            return APIResult(status_code=200, output="honest")
        return CLIResult(output="honest\n", status_code=0)

    def had_no_time(self, scene: Scene) -> bool:
        """Whether the timeout came before the attack did, as on a machine that is busy with other things."""
        return scene.report.outcome == TIMED_OUT and self.evidence not in scene.heard()

    def breaches(self, scene: Scene) -> list[str]:
        """Everything that is wrong after this attack and is never left open."""
        allowed = (self.outcome,) if isinstance(self.outcome, str) else self.outcome
        found = [
            f"the outcome is {report.outcome}: {report.error}"
            for report in (scene.report, *([scene.again] if scene.again else []))
            if report.outcome not in allowed
        ]
        if scene.alive:
            found.append(f"processes {scene.alive} are alive")
        if scene.seconds > self.timeout + _SLACK_S:
            found.append(f"it took {scene.seconds:.1f} s")
        if scene.witness.outcome != PASSED:
            why = scene.witness.error or {name: line.actual for name, line in scene.witness.results.items()}
            found.append(f"the honest case after it {scene.witness.outcome}: {why}")
        heard = scene.heard()
        if self.evidence not in heard:
            found.append(f"the report does not say {self.evidence!r}: {heard[-500:]}")
        if "Error: " in heard:  # some of them say megabytes, which are looked through once
            found += [
                f"the attack is broken: {heard[-500:]}"
                for word in _BROKEN
                if f"{word}: " in heard and word != self.evidence
            ]
        return found


@dataclass(frozen=True)
class Rule:
    """A promise, and the attacks on it."""

    text: str
    attacks: tuple[Attack, ...]


def _file_name(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", text.lower())
