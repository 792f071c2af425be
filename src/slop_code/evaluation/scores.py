"""What counts as a passed checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from slop_code.evaluation.adapters.models import GroupType


class PassPolicy(StrEnum):
    """Which cases must pass for a checkpoint to pass. "All" of nothing is not a pass."""

    ANY = "any"
    ANY_CASE = "any-case"
    ALL_CASES = "all-cases"
    ALL_NON_ERROR_CASES = "all-non-error-cases"
    CORE_CASES = "core-cases"
    ALL_CORE_CASES = "all-core-cases"
    ANY_CORE_CASES = "any-core-cases"

    def check(self, pass_counts: Mapping[Any, int], total_counts: Mapping[Any, int]) -> bool:
        """Judge the numbers of passed and of all cases, by group type."""
        types = [kind for kind in (*total_counts, *pass_counts) if self._counts(kind)]
        passed = sum(pass_counts.get(kind, 0) for kind in dict.fromkeys(types))
        if self in _ANY:
            return passed > 0
        total = sum(total_counts.get(kind, 0) for kind in dict.fromkeys(types))
        return 0 < total <= passed

    def _counts(self, kind: str) -> bool:
        if self in _CORE:
            return kind == GroupType.CORE
        return self is not PassPolicy.ALL_NON_ERROR_CASES or kind != GroupType.ERROR


_ANY = frozenset({PassPolicy.ANY, PassPolicy.ANY_CASE, PassPolicy.ANY_CORE_CASES})
_CORE = frozenset({PassPolicy.CORE_CASES, PassPolicy.ALL_CORE_CASES, PassPolicy.ANY_CORE_CASES})
