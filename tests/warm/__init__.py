"""`slop-code` as a command that starts at once: a process that has imported everything forks for each call.

What a test gets is a process of its own, with its own descriptors, folder, environment, signals and exit code. Only what
the interpreter itself reads when it starts (its locale, PYTHON* variables) is not what the test says, nor are imports
made that were forgotten; tests of those start a real one.
"""

from __future__ import annotations

import atexit
import functools
import os
import subprocess
import sys
import tempfile
from pathlib import Path

_HERE = Path(__file__).parent


def slop_code() -> list[str]:
    """The words that start `slop-code`."""
    return [*_client(), "slop-code"]


def python() -> list[str]:
    """The words that run the code in the argument that follows, as `python -c` does."""
    return [*_client(), "python"]


@functools.cache
def _client() -> list[str]:
    """What asks for something to be run. The process that does it ends with this one."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    # Nobody else may hold the writing end: that it closes is how the other side hears that we are gone.
    reading, writing = os.pipe()
    server = subprocess.Popen(
        [sys.executable, "-c", "from tests.warm.server import main; main()", str(folder / "socket"), str(reading)],
        cwd=_HERE.parents[1],
        pass_fds=[reading],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    os.close(reading)
    assert server.stdout is not None
    assert server.stdout.readline() == b"ready\n"
    server.stdout.close()

    def end() -> None:
        os.close(writing)
        server.wait()

    atexit.register(end)
    return [sys.executable, "-I", "-S", str(_HERE / "client.py"), str(folder / "socket")]


def slop_code_on_path(folder: Path) -> Path:
    """A folder, to be put on a PATH, whose `slop-code` is that command."""
    folder.mkdir(parents=True, exist_ok=True)
    script = folder / "slop-code"
    words = slop_code()
    script.write_text(f'#!/bin/sh\nexec {" ".join(words)} "$@"\n')
    script.chmod(0o755)
    return folder
