"""The command line: parse, call, print."""

from typing import TYPE_CHECKING

from slop_code._lazy import lazy_exports

if TYPE_CHECKING:
    from slop_code.cli.commands import Commands as Commands
    from slop_code.cli.commands import app as app
    from slop_code.cli.commands import main as main

__getattr__, __dir__, __all__ = lazy_exports(__name__, {f"{__name__}.commands": ["Commands", "app", "main"]})
