"""The adapter block."""

from __future__ import annotations

import pytest
import structlog

from slop_code.evaluation import ProblemConfig
from slop_code.evaluation.adapters import APIAdapterConfig, CLIAdapterConfig
from tests.conftest import MakeProblem


def test_a_cli_adapter_has_tracked_files_and_nothing_more(make_problem: MakeProblem) -> None:
    adapter = ProblemConfig.from_yaml(make_problem({"adapter": {"type": "cli", "tracked_files": ["out/"]}})).adapter
    assert isinstance(adapter, CLIAdapterConfig)
    assert adapter.tracked_files == ["out/"]


def test_an_api_adapter_has_the_documented_defaults(make_problem: MakeProblem) -> None:
    adapter = ProblemConfig.from_yaml(make_problem({"adapter": {"type": "api"}})).adapter
    assert isinstance(adapter, APIAdapterConfig)
    assert (adapter.port, adapter.health_path) == (None, "/")
    assert (adapter.startup_timeout_s, adapter.max_startup_attempts, adapter.delay_startup_attempts) == (10, 5, 5)
    assert (adapter.response_is_json, adapter.arguments) == (False, [])
    assert adapter.startup_budget_s == 75


def test_api_keys_are_read(make_problem: MakeProblem) -> None:
    keys = {
        "address": "localhost",
        "port": "8123",
        "health_path": "/healthz",
        "startup_timeout_s": 2,
        "max_startup_attempts": 3,
        "delay_startup_attempts": 0.5,
        "response_is_json": True,
        "arguments": ["--seed", 7],
    }
    adapter = ProblemConfig.from_yaml(make_problem({"adapter": {"type": "api", **keys}})).adapter
    assert isinstance(adapter, APIAdapterConfig)
    assert (adapter.address, adapter.port, adapter.health_path) == ("localhost", 8123, "/healthz")
    assert adapter.startup_budget_s == 3 * (2 + 0.5)
    assert (adapter.response_is_json, adapter.arguments) == (True, ["--seed", "7"])


@pytest.mark.parametrize("key", ["setup_script", "teardown_script"])
def test_scripts_are_accepted_with_a_warning_that_they_are_not_executed(make_problem: MakeProblem, key: str) -> None:
    with structlog.testing.capture_logs() as logs:
        ProblemConfig.from_yaml(make_problem({"adapter": {"type": "cli", key: "x.sh"}}))
    assert len(logs) == 1
    assert f"{key} is not executed" in logs[0]["event"]


def test_an_unknown_adapter_key_is_kept_and_warned_about(make_problem: MakeProblem) -> None:
    with structlog.testing.capture_logs() as logs:
        problem = ProblemConfig.from_yaml(make_problem({"adapter": {"type": "api", "healthpath": "/x"}}))
    assert problem.adapter.healthpath == "/x"  # type: ignore[union-attr]
    assert 'the adapter has unknown key "healthpath" (did you mean "health_path"?)' in logs[0]["event"]
