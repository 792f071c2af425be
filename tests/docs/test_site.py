"""The guides as a whole: links lead somewhere, the site has every page and can be built."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.pages import ROOT

# Pages of the root that the site shows, under these names.
FROM_ROOT = {"index.md": "README.md", "changelog.md": "CHANGELOG.md", "contributing.md": "CONTRIBUTING.md"}
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)")


def sources() -> list[Path]:
    return sorted([*ROOT.glob("docs/*.md"), *ROOT.glob("*.md")])


def without_blocks(page: Path) -> str:
    return re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", without_blocks(page), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in headings}


def nav_pages(nav: Any) -> list[str]:
    if isinstance(nav, str):
        return [nav]
    values = nav.values() if isinstance(nav, dict) else nav
    return [page for value in values for page in nav_pages(value)]


@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in sources()])
def test_links_lead_to_files_and_headings_that_are_there(page: Path) -> None:
    for target, anchor in LINK.findall(without_blocks(page)):
        place = (page.parent / target).resolve() if target else page
        assert place.exists(), f"{page.name} links to {target}"
        if anchor:
            assert anchor in anchors(place), f"{page.name} links to a heading #{anchor} of {place.name}"


def test_the_site_has_every_page_once() -> None:
    nav = nav_pages(yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))["nav"])
    assert sorted(nav) == sorted([*FROM_ROOT, *(page.name for page in ROOT.glob("docs/*.md"))])
    assert all((ROOT / source).is_file() for source in FROM_ROOT.values())


@pytest.mark.skipif(find_spec("mkdocs") is None, reason="MkDocs is not installed: `make docs` installs it")
def test_the_site_can_be_built_and_shows_blocks_as_blocks(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for page in tmp_path.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "```" not in text, page.name
        assert "](" not in re.sub(r"<(pre|code)\b.*?</\1>", "", text, flags=re.DOTALL), page.name
    assert "<em>problems/change/config.yaml</em>" in (tmp_path / "authors.html").read_text(encoding="utf-8")


def test_the_map_of_the_code_names_what_is_there() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8").partition("## The rooms")[2]
    tree = re.findall(r"```text\n(.*?)```", text, re.DOTALL)[0]
    folder = ROOT / "src" / "slop_code"
    seen = 0
    for line in tree.splitlines()[1:]:
        depth, names = len(line) - len(line.lstrip()), re.split(r"\s{2,}", line.strip())[0]
        if depth == 2 and re.fullmatch(r"(cli|runs|evaluation|execution)/", names):
            folder = ROOT / "src" / "slop_code" / names
        elif depth <= 4:
            place = folder if depth == 4 else ROOT / "src" / "slop_code"
            for name in names.split(", "):
                assert list(place.glob(name)), f"the map names {name}, which is not in {place.name}"
                seen += 1
    assert seen > 60
