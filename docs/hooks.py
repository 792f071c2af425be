"""What the site needs besides the pages of docs/: those of the repository's root, and Markdown as MkDocs reads it.

In the sources, blocks may say which file they are (see tests/docs/pages.py), and links lead to whatever is in the
repository. The site shows the names of such files, and drops links to what is no page.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
ROOT_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security-policy.md",
}
_LINK = re.compile(r"\[([^\]]*)\]\((?!https?://|#)([^)#\s]+)(#[^)\s]*)?\)")
_FENCE = re.compile(r"^```(\w+)(?: file=(\S+))?(?: install)?$", re.MULTILINE)
_COMMENT = re.compile(r"\A<!--.*?-->\n")


def on_files(files: Any, config: Any) -> Any:
    """Add the pages of the root."""
    from mkdocs.structure.files import File

    for source, uri in ROOT_PAGES.items():
        if (ROOT / source).is_file():
            files.append(File.generated(config, uri, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page as MkDocs reads it."""
    sources = {uri: source for source, uri in ROOT_PAGES.items()}
    folder = ROOT if page.file.src_uri in sources else ROOT / "docs"
    return site_markdown(markdown, folder)


def site_markdown(text: str, folder: Path) -> str:
    """The text of a page that lies in `folder`, with links and blocks as the site has them."""
    text = _COMMENT.sub("", text)
    text = _LINK.sub(lambda link: _site_link(link, folder), text)
    return _FENCE.sub(lambda fence: f"*{fence[2]}*\n\n```{fence[1]}" if fence[2] else f"```{fence[1]}", text)


def _site_link(link: re.Match[str], folder: Path) -> str:
    target = (folder / link[2]).resolve()
    if target.parent == ROOT / "docs" and target.suffix == ".md":
        return f"[{link[1]}]({target.name}{link[3] or ''})"
    if target.parent == ROOT and target.name in ROOT_PAGES:
        return f"[{link[1]}]({ROOT_PAGES[target.name]}{link[3] or ''})"
    return link[1]
