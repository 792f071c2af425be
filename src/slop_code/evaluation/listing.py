"""Which cases a selection would run, as far as that can be known without running any."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from slop_code.evaluation.listening import Selection
from slop_code.evaluation.loaders.enumeration import iterate_cases, make_store
from slop_code.evaluation.loaders.initialization import initialize_loader
from slop_code.evaluation.loaders.loader_protocol import GroupLoader, LoaderError, NoOpStore

if TYPE_CHECKING:
    from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig

# A loader that waits for results may go on forever when none come.
MOST_WITH_STORE = 10_000


@dataclass(slots=True)
class Listing:
    """The cases as (group, id), in the loader's order; groups whose later cases may depend on results; and errors."""

    cases: list[tuple[str, str]] = field(default_factory=list)
    store_fed: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


def list_cases(problem: ProblemConfig, checkpoint: CheckpointConfig, selection: Selection | None = None) -> Listing:
    """List the cases of a checkpoint that `selection` wants."""
    wanted = selection or Selection()
    listing = Listing()
    try:
        loader = initialize_loader(problem, checkpoint)
    except LoaderError as error:
        listing.errors.append(str(error))
        return listing
    for group in checkpoint.groups.values():
        if wanted.has_group(group.name):
            _list_group(loader, problem, checkpoint, group, wanted, listing)
    return listing


def _list_group(
    loader: GroupLoader,
    problem: ProblemConfig,
    checkpoint: CheckpointConfig,
    group: GroupConfig,
    wanted: Selection,
    listing: Listing,
) -> None:
    store_fed = False
    try:
        store = make_store(loader, problem, checkpoint)
        store_fed = type(store) is not NoOpStore
        for count, (case, _) in enumerate(iterate_cases(loader, problem, checkpoint, group, store), start=1):
            if wanted.has_case(group.name, case.id):
                listing.cases.append((group.name, case.id))
            if store_fed and count >= MOST_WITH_STORE:
                break
    except LoaderError as error:
        if not store_fed:
            listing.errors.append(f'group "{group.name}": {error}')
    if store_fed:
        listing.store_fed.append(group.name)
