"""Tables of Markdown by hand, and the papers' own numbers."""

from __future__ import annotations

from oodometer.recipes.kit.tables import bare, number, percent, section, tables_page


def test_sections_stand_one_after_the_other() -> None:
    page = tables_page([section("Words", ["a"], [["1"]]), "", section("More", ["b"], [], "After.")])
    assert page == "Words\n\n| a |\n|---|\n| 1 |\n\nMore\n\n| b |\n|---|\n\nAfter.\n"


def test_what_is_missing_is_a_dash() -> None:
    assert (percent(None), bare(None), number(None)) == ("-", "-", "-")
