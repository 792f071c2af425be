"""How commands end: what a person can mend is one message and exit code 2, never a traceback."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable

from slop_code.cli.console import finish_stdout, note, protect_stdout
from slop_code.errors import SlopCodeError


def run_to_the_end(work: Callable[[], object]) -> None:
    """Do the work of a command; exits unless all is well. Being told to stop is the same as Ctrl-C."""
    protect_stdout()
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _interrupt)
        work()
    except KeyboardInterrupt:
        note("interrupted")
        sys.exit(130)
    except SlopCodeError as error:
        note(f"error: {error}")
        sys.exit(_exit_code(error))
    except BrokenPipeError:
        sys.exit(1)
    except OSError as error:
        note(f"error: {error.filename or 'a file'}: {error.strerror or error}")
        sys.exit(2)
    finally:
        finish_stdout()


def _interrupt(_number: int, _frame: object) -> None:
    # Once is enough: impatience must not get in the way of ending what runs and saving what is finished.
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    raise KeyboardInterrupt


def _exit_code(error: SlopCodeError) -> int:
    """What a person can mend is bad usage; that a submission cannot be prepared or run here is no verdict on it."""
    if "slop_code.execution.errors" not in sys.modules:
        return 2
    from slop_code.execution.errors import EnvironmentFileError, ExecutionError

    return 3 if isinstance(error, ExecutionError) and not isinstance(error, EnvironmentFileError) else 2
