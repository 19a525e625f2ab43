"""The page that explains the words of all results: every page and -v name it, and it explains every one of them."""

from __future__ import annotations

from pathlib import Path

import pytest

import oodometer
from oodometer.cli import output
from oodometer.outputs.notebook import page_of
from oodometer.reports.charts.base import WORDS
from oodometer.results.diagnosis import Diagnosis
from oodometer.results.view import WORDS_PAGE

ROOT = Path(__file__).parents[2]
TEMPLATES = Path(oodometer.__file__).parent / "reports" / "templates"


def test_every_page_names_it() -> None:
    assert "{{ words_page }}" in (TEMPLATES / "page.html.j2").read_text(encoding="utf-8")
    whole = [
        path
        for path in TEMPLATES.glob("*.j2")
        if "{% block content %}" in path.read_text(encoding="utf-8")
    ]
    assert len(whole) > 8
    for path in whole:
        assert path.name == "page.html.j2" or '{% extends "page.html.j2" %}' in path.read_text(
            encoding="utf-8"
        )
    assert WORDS_PAGE in page_of(Diagnosis("none", (), "nothing moved"))


def test_a_page_carries_its_name() -> None:
    pytest.importorskip("vl_convert")
    from oodometer.reports import render

    assert (
        WORDS_PAGE
        in render({"command": "history", "store": "runs.sqlite", "jobs": []}).partition("<footer>")[
            2
        ]
    )


def test_it_is_the_last_line_of_v_and_of_nothing_else(capsys: pytest.CaptureFixture[str]) -> None:
    output.show(Diagnosis("none", (), "nothing moved"))
    assert WORDS_PAGE not in capsys.readouterr().out
    with output.settings(1, ""):
        output.show(Diagnosis("none", (), "nothing moved"))
    assert capsys.readouterr().out.splitlines()[-1] == f"What the words mean: {WORDS_PAGE}"


def test_it_explains_every_kind_trust_shift_and_verdict() -> None:
    page = (ROOT / WORDS_PAGE).read_text(encoding="utf-8")
    for name in (*WORDS["kinds"], *WORDS["trust"], *WORDS["shifts"]):
        assert f"`{name}`" in page
    words = (
        "Assumes",
        "Under each assumption",
        "Fell",
        "holds",
        "undecided",
        "Alarm",
        "refuted",
        "Proven",
        "P(best)",
    )
    for word in words:
        assert f"**{word}**" in page
    assert "\noutputs\n" in (ROOT / "docs/guides/index.md").read_text(encoding="utf-8")
