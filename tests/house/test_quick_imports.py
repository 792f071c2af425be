"""Commands import what they need in less time, and nobody can tell otherwise."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAD = """
import sys
from slop_code.quick_imports import quick_imports
with quick_imports():
    from pydantic import BaseModel
class Model(BaseModel):
    x: int = 1
assert "email" not in sys.modules, "the real one was imported for pydantic's sake"
"""


@pytest.mark.parametrize(
    "code",
    [
        "import importlib.metadata\nassert importlib.metadata.version('pydantic')",
        "from importlib.metadata import PackageNotFoundError, entry_points, version\nassert version('pydantic')",
        "from importlib.metadata import entry_points\nassert 'slop-code' in entry_points(group='console_scripts').names",
        "import importlib.metadata._meta as meta\nassert meta.PackageMetadata",
        "from importlib import metadata\nassert metadata.distribution('pydantic').files",
        "from importlib.metadata import *\nassert distribution('pydantic')",
        """
import threading, importlib.metadata as metadata
found = []
threads = [threading.Thread(target=lambda: found.append(metadata.version("pydantic"))) for _ in range(20)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert len(found) == 20
""",
    ],
)
def test_the_module_that_pydantic_need_not_wait_for_is_there_for_everybody_else(code: str) -> None:
    done = subprocess.run([sys.executable, "-c", HEAD + code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_one_that_was_imported_before_stays_as_it_is() -> None:
    code = "import importlib.metadata as before\n" + HEAD.rpartition("assert")[0]
    code += "import importlib.metadata as after\nassert after is before\nassert after.version('pydantic')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
