"""`tools run-case` in less time: a fork parses the command line while this process imports what running cases takes.

Both take a good part of what one trivial case takes from the shell and back, and neither needs the other. The fork is
`slop-code` as it always is, but for its last step: it hands over what is wanted instead of doing it. If it has nothing
to hand over, it has printed help or said what is wrong, and its exit code is that of the command.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
from typing import NoReturn

from slop_code.cli.asked import Wanted

# In the fork, where to write what is wanted.
_waiting: int | None = None


def main() -> None:
    """The `slop-code` command for command lines that begin with `tools run-case`."""
    from slop_code.cli.ending import run_to_the_end
    from slop_code.descriptors import occupy_missing

    # Before anything of ours gets one of their numbers.
    occupy_missing()
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        _parse(writing)
    os.close(writing)

    def work() -> NoReturn:
        from slop_code.cli.run_case import import_everything, perform

        import_everything()
        with open(reading, "rb") as pipe:  # noqa: PTH123
            message = pipe.read()
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if not message:
            sys.exit(code)
        wanted: Wanted = pickle.loads(message)  # noqa: S301  # it is our own fork's
        if wanted.verbose:
            from slop_code.logging import setup_logging

            setup_logging("debug")
        sys.exit(perform(wanted))

    run_to_the_end(work)


def answer(wanted: Wanted) -> int:
    """Hand over what is wanted if somebody waits for it, or else do it; the exit code."""
    if _waiting is not None:
        with open(_waiting, "wb") as pipe:  # noqa: PTH123
            pickle.dump(wanted, pipe)
        return 0
    from slop_code.cli.run_case import import_everything, perform

    import_everything()
    return perform(wanted)


def _parse(writing: int) -> NoReturn:
    global _waiting
    code = 1
    try:
        _waiting = writing
        # Ctrl-C is for the process that people see.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
        from slop_code.cli.commands import main

        main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    finally:
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        os._exit(code)
