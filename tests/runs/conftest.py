"""Worlds to evaluate in, with a cache of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runs.world import World, copy_of, make_world


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOP_CODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture
def world(tmp_path: Path) -> World:
    return make_world(tmp_path)


@pytest.fixture(scope="session")
def _evaluated(tmp_path_factory: pytest.TempPathFactory, own_cache: None) -> World:
    world = make_world(tmp_path_factory.mktemp("evaluated"))
    assert {outcome.status for outcome in world.evaluate().values()} == {"evaluated"}
    return world


@pytest.fixture
def done(_evaluated: World, tmp_path: Path) -> World:
    """A world whose run is evaluated."""
    return copy_of(_evaluated, tmp_path)
