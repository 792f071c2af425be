"""The mean that scores are made of."""

from __future__ import annotations

from collections.abc import Iterable


def weighted_mean(weighted: Iterable[tuple[float, float]]) -> float:
    """The mean of (weight, value) pairs; 0.0 if there is nothing to weigh."""
    pairs = list(weighted)
    heaviest = max((weight for weight, _ in pairs), default=0.0)
    if not heaviest:
        return 0.0
    if heaviest > 1e300:  # the sum of such weights may be infinite, and the mean nan
        pairs = [(weight / heaviest, value) for weight, value in pairs]
    total = sum(weight for weight, _ in pairs)
    return sum(weight * value for weight, value in pairs) / total
