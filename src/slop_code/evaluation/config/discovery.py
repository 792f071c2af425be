"""The problems below a folder."""

from __future__ import annotations

from pathlib import Path

from slop_code.evaluation.config.errors import ConfigError
from slop_code.evaluation.config.models import ProblemConfig
from slop_code.logging import get_logger
from slop_code.paths import shown_path


def get_available_problems(directory: str | Path) -> dict[str, ProblemConfig]:
    """Every problem in the folders directly below `directory`, by name; a broken one is logged and left out.

    Raises:
        ConfigError: `directory` is not a folder.
    """
    root = Path(directory)
    if not root.is_dir():
        raise ConfigError(f"{shown_path(root)}: no such folder of problems")
    problems: dict[str, ProblemConfig] = {}
    for file in sorted(root.glob("*/config.yaml")):
        try:
            problem = ProblemConfig.from_yaml(file.parent)
        except ConfigError as error:
            get_logger(__name__).error(f"Left out a broken problem\n{error}")
            continue
        earlier = problems.setdefault(problem.name, problem)
        if earlier is not problem:
            get_logger(__name__).error(
                f'Left out {shown_path(problem.path)}: {shown_path(earlier.path)} has the same name, "{problem.name}"'
            )
    return problems
