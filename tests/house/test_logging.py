"""Logging."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from slop_code.logging import get_logger, setup_logging


def run(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)


def test_loggers_take_keyword_context_and_write_to_stderr() -> None:
    done = run("from slop_code.logging import get_logger; get_logger('mine').warning('careful', cases=3)")
    assert done.stdout == ""
    assert "careful" in done.stderr
    assert "cases=3" in done.stderr
    assert "mine" in done.stderr


def test_a_logger_needs_no_name() -> None:
    assert "hello" in run("from slop_code.logging import get_logger; get_logger().error('hello')").stderr


def test_the_level_is_a_threshold() -> None:
    code = "from slop_code.logging import *; setup_logging({level!r}); get_logger('x').debug('detail'); get_logger('x').error('bad')"
    assert "detail" in run(code.format(level="debug")).stderr
    quiet = run(code.format(level="error")).stderr
    assert "detail" not in quiet
    assert "bad" in quiet


def test_lines_can_be_json() -> None:
    done = run(
        "from slop_code.logging import *; setup_logging(json=True); get_logger('x').warning('odd', value={1, 2})"
    )
    line = json.loads(done.stderr)
    assert (line["event"], line["level"], line["logger"]) == ("odd", "warning", "x")


def test_an_application_that_configured_structlog_is_left_alone() -> None:
    code = (
        "import structlog; structlog.configure(processors=[structlog.processors.KeyValueRenderer()]);"
        "from slop_code.logging import get_logger; get_logger('x').warning('mine')"
    )
    assert run(code).stdout == "logger='x' event='mine'\n"


def test_an_unknown_level_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="unknown log level 'loud': one of debug, info"):
        setup_logging("loud")


def test_a_redirected_stderr_is_honoured(capsys: pytest.CaptureFixture[str]) -> None:
    get_logger("x").warning("captured")
    assert "captured" in capsys.readouterr().err
