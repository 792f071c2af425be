"""How to see that a rule was broken."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from slop_code.evaluation.verifiers import VerifierReport
from slop_code.execution.cgroup import ControlGroup
from tests.hostile.attack import Breach, Left
from tests.hostile.host import TOKEN
from tests.hostile.stage import LIMITS, Scene


def tells(scene: Scene) -> str | None:
    """It got what it should not have."""
    return "it has the secret" if TOKEN in scene.told() else None


def tells_again(scene: Scene) -> str | None:
    """The second part got what the first one left."""
    return tells(replace(scene, report=scene.again)) if scene.again is not None else "there was no second part"


def says(words: str) -> Breach:
    """It reports a success."""

    def breach(scene: Scene) -> str | None:
        return f"it says {words!r}" if words in scene.told() else None

    return breach


def too_much_memory(scene: Scene) -> str | None:
    """Each of many processes takes a good part of what all may have, so only a few can be left to say so."""
    count = scene.told().count("took it all")
    return f"{count} processes took it all" if count > 2 else None


def too_many_born(scene: Scene) -> str | None:
    count = scene.told().count("born")
    # Some helpers count, too.
    return f"{count} were born" if count > LIMITS["processes"] + 16 else None


def too_much_kept(scene: Scene) -> str | None:
    """Output is kept up to the limit, and the report can be written and read."""
    sizes = [len(str(scene.actual(name) or "")) for name in ("output", "stderr")]
    if max(sizes) > LIMITS["output_mb"] * (1 << 20):
        return f"{sizes} characters of output are kept"
    row = scene.report.to_parquet_row()
    return None if VerifierReport.from_parquet_row(row).to_parquet_row() == row else "the report does not survive"


def target_changed(scene: Scene) -> str | None:
    return None if scene.host.target.read_text() == TOKEN else "the file has changed"


def assets_changed(scene: Scene) -> str | None:
    return None if scene.asset.read_text() == "given" else "the asset has changed"


def dependencies_changed(scene: Scene) -> str | None:
    return None if (scene.image / "dependencies" / "7.py").read_text() == "shared\n" else "they have changed"


def escaped(_scene: Scene) -> str | None:
    return "a file was made by a name of the answer" if Path("/tmp/hostile-escaped.zip").exists() else None


def tracked_file(name: str) -> Breach:
    """A file is there that only our own processes could have made."""

    def breach(scene: Scene) -> str | None:
        return f"there is {name}" if f"files-{name}" in scene.report.results else None

    return breach


def status_is_not(status: int) -> Breach:
    def breach(scene: Scene) -> str | None:
        found = scene.actual("status_code")
        return None if found == status else f"the status is {found}"

    return breach


def is_root() -> bool:
    return os.getuid() == 0


def without_landlock() -> bool:
    """Whether the kernel cannot keep a program from sending signals to what it did not start."""
    import ctypes

    version = 1
    return int(ctypes.CDLL(None).syscall(444, None, 0, version)) < 6


def without_group(**limits: int) -> Callable[[], bool]:
    """Whether there is no control group for these limits here."""

    def missing() -> bool:
        return ControlGroup.plan(processes=limits.get("processes"), memory=limits.get("memory")) is None

    return missing


YOURS = Left("it can read what you can")
YOUR_FILES = Left("it can write what you can")
YOUR_NETWORK = Left("it has the network of this machine")
YOUR_KERNEL = Left("what it leaves in the kernel or outside its folders stays")
AS_ROOT = Left("run by root, it can", is_root)
WITHOUT_LANDLOCK = Left("before Linux 6.12 it can", without_landlock)
