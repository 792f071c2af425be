"""What the tests share: hypothesis profiles, and a way to write a problem package in one line."""

from __future__ import annotations

import gc
import os
import signal
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import _pytest.pathlib
import pytest
import yaml
from hypothesis import HealthCheck, settings

from slop_code.logging import setup_logging
from tests.warm.ahead import import_everything, keep_what_is_there

settings.register_profile(
    "normal", max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.register_profile(
    "nightly", max_examples=10_000, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "normal"))
# Author processes are forks: what they need is imported here once, and not in each of them.
import_everything()
# `capture_logs` counts as an application's own configuration, which ours would then leave alone.
setup_logging()

# Where Python is told not to write bytecode, each process would rewrite and compile all tests again, which takes seconds.
_WRITES_NO_BYTECODE = sys.dont_write_bytecode
sys.dont_write_bytecode = False

# Of the folders of each name, it leaves a link to the newest: thousands that nobody follows, in one folder, each slower to
# make than the one before.
_pytest.pathlib._force_symlink = lambda *_: None

# Of what is started in the background, some shells have Ctrl-C ignored; then nobody could interrupt anything.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

MakeProblem = Callable[..., Path]

MINIMAL: dict[str, Any] = {
    "name": "demo",
    "version": 1,
    "description": "A problem for a test.",
    "entry_file": "demo",
    "adapter": {"type": "cli"},
}


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Collect without looking for garbage in between: almost everything that is made stays."""
    gc.disable()
    try:
        return (yield)
    finally:
        keep_what_is_there()
        gc.enable()
        sys.dont_write_bytecode = _WRITES_NO_BYTECODE


@pytest.fixture(scope="session")
def common_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A cache of prepared submissions that all processes of this run of the tests share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "common-cache"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture
def make_problem(tmp_path: Path) -> MakeProblem:
    """Write a problem: a mapping over a minimal valid configuration, or YAML text as it is, and its other files."""

    def make(
        config: Mapping[str, Any] | str | None = None, files: Mapping[str, str] | None = None, name: str = "demo"
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(parents=True, exist_ok=True)
        text = (
            textwrap.dedent(config)
            if isinstance(config, str)
            else yaml.safe_dump({**MINIMAL, **(config or {})}, sort_keys=False)
        )
        (folder / "config.yaml").write_text(text)
        for path, content in (files or {}).items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).write_text(textwrap.dedent(content))
        return folder

    return make
