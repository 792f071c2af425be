"""The table of rules and drivers in docs/security.md, made from what the tests declare.

python -m tests.hostile.table    writes it anew
"""

from __future__ import annotations

import re
from pathlib import Path

from tests.hostile.attack import Rule
from tests.hostile.rules import DRIVERS, RULES

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
_MADE = re.compile(r"(?<=<!-- made by tests/hostile/table.py -->\n).*?(?=<!-- end -->)", re.DOTALL)


def with_table(page: str) -> str:
    """The page with its table as it should be."""
    return _MADE.sub(lambda _: "\n".join(["", *_table(), "", *_attacks(), "", ""]), page)


def _table() -> list[str]:
    head = ["rule", *(f"`{driver}`" for driver in DRIVERS)]
    rows = [[rule.text, *(_cell(rule, driver) for driver in DRIVERS)] for rule in RULES]
    return ["| " + " | ".join(row) + " |" for row in (head, ["---"] * len(head), *rows)]


def _cell(rule: Rule, driver: str) -> str:
    """ "holds", or what is left, and by which attacks if not by all."""
    left: dict[str, list[str]] = {}
    for attack in rule.attacks:
        if driver in attack.left:
            left.setdefault(attack.left[driver].text, []).append(attack.name)
    if not left:
        return "holds"
    whole = sum(map(len, left.values())) == len(rule.attacks)
    parts = [text if whole and len(left) == 1 else f"{text} ({', '.join(names)})" for text, names in left.items()]
    return ("" if whole else "holds, but: ") + "; ".join(parts)


def _attacks() -> list[str]:
    return [f"- **{rule.text}**: {', '.join(attack.name for attack in rule.attacks)}" for rule in RULES]


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
