"""What is held in memory of an evaluated checkpoint: counts and errors. Scores of cases and reports are on the disk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from slop_code.evaluation.report import CorrectnessResults, PassPolicy


@dataclass(frozen=True, slots=True)
class Summary:
    """The results of one checkpoint in a few numbers; see `CorrectnessResults` for what they mean."""

    problem_version: int
    version: int
    timestamp: str
    duration: float
    score: float
    pass_counts: dict[str, int]
    total_counts: dict[str, int]
    timeout_count: int
    errors: list[str]
    complete: bool
    environment: str
    python: str

    @classmethod
    def of(cls, results: CorrectnessResults) -> Self:
        """The summary of results, which it does not keep alive."""
        return cls(
            problem_version=results.problem_version,
            version=results.version,
            timestamp=results.timestamp.isoformat(),
            duration=results.duration,
            score=results.score,
            pass_counts=dict(results.pass_counts),
            total_counts=dict(results.total_counts),
            timeout_count=results.timeout_count,
            errors=list(results.errors),
            complete=results.complete,
            environment=results.environment,
            python=results.python,
        )

    @property
    def passed_cases(self) -> int:
        return sum(self.pass_counts.values())

    @property
    def total_cases(self) -> int:
        return sum(self.total_counts.values())

    def passes(self, policy: PassPolicy) -> bool:
        """Whether the checkpoint passes by a policy."""
        return policy.check(self.pass_counts, self.total_counts)
