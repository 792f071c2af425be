"""The `slop-code` command from its very beginning: Ctrl-C while it is still being imported is no traceback either."""

from __future__ import annotations

import sys


def main() -> None:
    try:
        from slop_code.cli import main as run

        run()
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        sys.exit(130)
