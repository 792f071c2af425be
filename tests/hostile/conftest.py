"""One stage per driver and test process: a prepared driver, kept warm from attack to attack."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.hostile.host import Host
from tests.hostile.stage import Stage


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOP_CODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def host() -> Iterator[Host]:
    planted = Host()
    yield planted
    planted.close()


@pytest.fixture(scope="session")
def stage_of() -> Iterator[Callable[[str], Stage]]:
    stages: dict[str, Stage] = {}

    def get(kind: str) -> Stage:
        if kind not in stages:
            stages[kind] = Stage(kind)
        return stages[kind]

    yield get
    for stage in stages.values():
        stage.close()
