"""Cases in: the loader protocol, helpers for authors, and the ready loader of case files."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.evaluation.loaders import helpers as helpers
    from slop_code.evaluation.loaders import loader_protocol as loader_protocol
    from slop_code.evaluation.loaders.loader_protocol import BaseLoader as BaseLoader
    from slop_code.evaluation.loaders.loader_protocol import CaseStore as CaseStore
    from slop_code.evaluation.loaders.loader_protocol import GroupLoader as GroupLoader
    from slop_code.evaluation.loaders.loader_protocol import LoaderError as LoaderError
    from slop_code.evaluation.loaders.loader_protocol import LoaderYieldType as LoaderYieldType
    from slop_code.evaluation.loaders.loader_protocol import NoOpStore as NoOpStore

__getattr__, __dir__, __all__ = lazy_exports(
    __name__,
    {
        f"{__name__}.loader_protocol": [
            "BaseLoader",
            "CaseStore",
            "GroupLoader",
            "LoaderError",
            "LoaderYieldType",
            "NoOpStore",
        ],
    },
    submodules=["helpers", "loader_protocol"],
)
