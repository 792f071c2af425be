"""Sessions of every driver on a small submission, for the tests that all of them have to pass."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from slop_code.execution import EnvironmentSpec
from slop_code.execution.driver import open_driver
from slop_code.execution.session import Session
from tests.engines import bwrap_skip_reason, docker_skip_reason

DRIVERS = [
    "local",
    pytest.param("sandbox", marks=pytest.mark.skipif(bwrap_skip_reason() is not None, reason=str(bwrap_skip_reason()))),
    pytest.param(
        "docker", marks=pytest.mark.skipif(docker_skip_reason() is not None, reason=str(docker_skip_reason()))
    ),
]


def make_spec(kind: str, **blocks: Any) -> EnvironmentSpec:
    """An environment of a type, with this machine's or the test image's python3.

    It starts without its site packages: on some machines they take longer than everything else that a program does.
    """
    values: dict[str, Any] = {
        "type": kind,
        "name": kind,
        "commands": {"command": "python3 -S", "entry_file": "{entry_file}.py"},
    }
    if kind == "docker":
        values["docker"] = {"image": os.environ.get("SLOP_CODE_TEST_IMAGE", "slop-code-test:python")}
    for name, block in blocks.items():
        values[name] = {**values.get(name, {}), **block} if isinstance(block, Mapping) else block
    return EnvironmentSpec.model_validate(values)


@contextmanager
def opened(kind: str, submission: Path, assets: Path | None = None, **blocks: Any) -> Iterator[Session]:
    """A restored session on a submission."""
    with ExitStack() as stack:
        driver = open_driver(make_spec(kind, **blocks))
        stack.callback(driver.close)
        image = driver.prepare(submission)
        stack.callback(image.close)
        session = driver.session(image, assets)
        stack.callback(session.close)
        session.restore()
        yield session
