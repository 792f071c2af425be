"""Problem packages: `config.yaml` in, models out."""

from slop_code.evaluation.config.discovery import get_available_problems
from slop_code.evaluation.config.errors import ConfigError
from slop_code.evaluation.config.models import CheckpointConfig, GroupConfig, ProblemConfig, RegressionSpec

__all__ = [
    "CheckpointConfig",
    "ConfigError",
    "GroupConfig",
    "ProblemConfig",
    "RegressionSpec",
    "get_available_problems",
]
