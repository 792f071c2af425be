"""Problems, their cases, and the judging of submissions."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.evaluation import adapters as adapters
    from slop_code.evaluation import loaders as loaders
    from slop_code.evaluation import verifiers as verifiers
    from slop_code.evaluation.adapters.models import GroupType as GroupType
    from slop_code.evaluation.config import CheckpointConfig as CheckpointConfig
    from slop_code.evaluation.config import GroupConfig as GroupConfig
    from slop_code.evaluation.config import ProblemConfig as ProblemConfig
    from slop_code.evaluation.config import get_available_problems as get_available_problems
    from slop_code.evaluation.loaders.initialization import initialize_loader as initialize_loader
    from slop_code.evaluation.report import CorrectnessResults as CorrectnessResults
    from slop_code.evaluation.report import GroupReport as GroupReport
    from slop_code.evaluation.report import PassPolicy as PassPolicy
    from slop_code.evaluation.runner import run_checkpoint as run_checkpoint
    from slop_code.evaluation.verifiers.initialization import initialize_verifier as initialize_verifier

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        f"{__name__}.adapters.models": ["GroupType"],
        f"{__name__}.config": ["CheckpointConfig", "GroupConfig", "ProblemConfig", "get_available_problems"],
        f"{__name__}.loaders.initialization": ["initialize_loader"],
        f"{__name__}.report": ["CorrectnessResults", "GroupReport", "PassPolicy"],
        f"{__name__}.runner": ["run_checkpoint"],
        f"{__name__}.verifiers.initialization": ["initialize_verifier"],
    },
    submodules=["adapters", "config", "loaders", "report", "runner", "verifiers"],
)
