"""`slop-code cache`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.test_problems import slop_code
from tests.cli.test_run_case import run_case


def test_images_are_listed_and_cleared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOP_CODE_CACHE", str(tmp_path / "cache"))
    assert slop_code("cache", "ls").stderr == "0 images, 0.0 MB\n"
    run_case("-c", "1", "--case", "addition")
    listed = slop_code("cache", "ls")
    assert listed.stdout.startswith("image ")
    assert listed.stderr.startswith("1 image, ")
    assert slop_code("cache", "clear", "--keep-mb", "1000").stderr == "removed 0 images, 0.0 MB\n"
    assert slop_code("cache", "clear").stderr.startswith("removed 1 image, ")
    assert list((tmp_path / "cache" / "images").iterdir()) == []
