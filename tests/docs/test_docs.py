"""Every block of our guides is executed, and every command's output is real."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import warm
from tests.docs.pages import ROOT, Part, execute, parts


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A PATH with `slop-code`, and with the Python that it is installed for."""
    quick = warm.slop_code_on_path(tmp_path_factory.mktemp("bin"))
    return os.pathsep.join([str(quick), str(Path(sys.executable).parent), os.environ["PATH"]])


@pytest.mark.parametrize("part", [pytest.param(part, id=part.name) for part in parts()])
def test_every_block_works_and_prints_what_it_says(
    part: Part, tmp_path: Path, common_cache: Path, commands: str
) -> None:
    execute(part, tmp_path, {"PATH": commands, "SLOP_CODE_CACHE": str(common_cache)})


@pytest.mark.nightly
def test_the_quickstart_works_from_nothing_with_an_empty_home(tmp_path: Path) -> None:
    home, place = tmp_path / "home", tmp_path / "place"
    home.mkdir()
    place.mkdir()
    (home / "slop-code").symlink_to(ROOT)
    (part,) = (part for part in parts() if part.name == "quickstart.md")
    others = [folder for folder in os.environ["PATH"].split(os.pathsep) if Path(folder) != Path(sys.executable).parent]
    env = {"HOME": str(home), "PATH": os.pathsep.join([str(place / ".venv" / "bin"), *others])}
    execute(part, place, env, installs=True)
    assert (home / ".cache" / "slop-code").is_dir()
