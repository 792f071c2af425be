"""The `slop-code` command from its very beginning: Ctrl-C while it is still being imported is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from slop_code.quick_imports import quick_imports

        with quick_imports():
            if sys.argv[1:3] == ["tools", "run-case"]:
                from slop_code.cli.parsing_beside import main as run
            else:
                from slop_code.cli import main as run
        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
