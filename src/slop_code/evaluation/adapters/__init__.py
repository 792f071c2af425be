"""Cases and how they are put to a submission: on a command line (`cli`) or over HTTP (`api`)."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.evaluation.adapters import api as api
    from slop_code.evaluation.adapters import base as base
    from slop_code.evaluation.adapters import cli as cli
    from slop_code.evaluation.adapters import models as models
    from slop_code.evaluation.adapters.api import APIAdapterConfig as APIAdapterConfig
    from slop_code.evaluation.adapters.api import APICase as APICase
    from slop_code.evaluation.adapters.api import APIResult as APIResult
    from slop_code.evaluation.adapters.base import AdapterError as AdapterError
    from slop_code.evaluation.adapters.cli import CLIAdapterConfig as CLIAdapterConfig
    from slop_code.evaluation.adapters.cli import CLICase as CLICase
    from slop_code.evaluation.adapters.cli import CLIResult as CLIResult
    from slop_code.evaluation.adapters.models import BaseCase as BaseCase
    from slop_code.evaluation.adapters.models import CaseResult as CaseResult
    from slop_code.evaluation.adapters.models import CaseResultError as CaseResultError
    from slop_code.evaluation.adapters.models import GroupType as GroupType

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        f"{__name__}.api": ["APIAdapterConfig", "APICase", "APIResult"],
        f"{__name__}.base": ["AdapterError"],
        f"{__name__}.cli": ["CLIAdapterConfig", "CLICase", "CLIResult"],
        f"{__name__}.models": ["BaseCase", "CaseResult", "CaseResultError", "GroupType"],
    },
    submodules=["api", "base", "cli", "models"],
)
