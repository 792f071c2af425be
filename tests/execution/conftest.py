"""One session per driver and test process, for tests that do not need one of their own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from slop_code.execution.process import Warden
from slop_code.execution.session import Session
from tests.execution.drivers import DRIVERS, opened


@pytest.fixture(scope="session")
def submission(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("submission")
    (folder / "main.py").write_text("print('hello')\n")
    (folder / "tool.sh").write_text("#!/bin/sh\necho tool\n")
    (folder / "tool.sh").chmod(0o755)
    (folder / "empty").mkdir()
    (folder / "link").symlink_to("main.py")
    return folder


@pytest.fixture(scope="session")
def assets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("assets")
    folder.chmod(0o755)
    (folder / "rates").mkdir()
    (folder / "rates" / "rates.json").write_text("{}")
    return folder


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOP_CODE_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session", params=DRIVERS)
def shared_session(request: pytest.FixtureRequest, submission: Path, assets: Path) -> Iterator[Session]:
    with opened(request.param, submission, assets) as session:
        yield session


@pytest.fixture
def session(shared_session: Session) -> Session:
    """A fresh place; the same container or helper process as the test before had."""
    shared_session.restore()
    return shared_session


@pytest.fixture
def helper() -> Iterator[Warden]:
    """A helper process without any driver."""
    launched = Warden.launch()
    yield launched
    launched.close()
