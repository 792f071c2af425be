"""The environment for what is not about environments: this machine's Python, without packages, started at once."""

from __future__ import annotations

from slop_code.execution import EnvironmentSpec


def plain_python() -> EnvironmentSpec:
    """Plain processes; nothing is set up for them."""
    commands = {"command": "python3 -S -E", "entry_file": "{entry_file}.py"}
    return EnvironmentSpec.model_validate({"type": "local", "name": "plain", "commands": commands})
