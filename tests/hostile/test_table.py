"""The page about security is what the attacks say."""

from __future__ import annotations

from tests.hostile.rules import ATTACKS, RULES
from tests.hostile.table import PAGE, with_table


def test_the_table_on_the_page_is_the_one_that_is_tested() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert page == with_table(page), "python -m tests.hostile.table writes it anew"
    assert all(f"\n| {rule.text} | " in page for rule in RULES)
    assert all(attack.name in page for attack in ATTACKS)


def test_a_page_that_says_something_else_is_put_right() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert with_table(page.replace("| holds |", "| perhaps |")) == page


def test_the_tests_that_the_page_names_are_there() -> None:
    named = {word for word in PAGE.read_text(encoding="utf-8").split("`") if word.startswith("tests/")}
    assert len(named) > 6
    assert all((PAGE.parents[1] / name).exists() for name in named)
