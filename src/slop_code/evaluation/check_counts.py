"""How many cases the groups of a checkpoint have."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from slop_code.evaluation.config.models import CheckpointConfig, ProblemConfig
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.loaders.loader_protocol import LoaderError


@dataclass(frozen=True, slots=True)
class CaseCount:
    """How many cases a group has; `complete` is false where later cases need the results of earlier ones."""

    checkpoint: str
    group: str
    type: str
    cases: int
    complete: bool = True

    @property
    def shown(self) -> str:
        return str(self.cases) if self.complete else f"{self.cases}+ (the rest needs results)"


def quick_counts(problem: ProblemConfig, checkpoint: CheckpointConfig, most: int = 1000) -> dict[str, str]:
    """Group → how many cases it has, in words, without a look at them.

    "?" stands for a loader that does not work, and a plus for more than were waited for.
    """
    counts: dict[str, str] = {}
    try:
        loader = initialize_loader(problem, checkpoint)
    except LoaderError:
        return dict.fromkeys(checkpoint.groups, "?")
    for group in checkpoint.groups.values():
        found = 0
        try:
            store = make_store(loader, problem, checkpoint)
            for _ in islice(iterate_cases(loader, problem, checkpoint, group, store), most + 1):
                found += 1
            counts[group.name] = f"{most}+" if found > most else str(found)
        except LoaderError:
            counts[group.name] = f"{found}+" if found else "?"
    return counts
