"""The page of a ranking: chances, pairs, evidence, words shaded by their attributions and underlined by factor."""

from __future__ import annotations

import html
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("vl_convert")

from oodometer import rank
from oodometer.reports import render
from oodometer.reports.charts.by_category import best_chances, shots
from oodometer.reports.sections import drawn_examples, drawn_factors

SPACE = "\N{NO-BREAK SPACE}"
EVIL = '<script>window.hit=1</script>" onmouseover="x'


def model(weight: float) -> Any:
    def ask(texts: Any) -> Any:
        parts = [
            (one, "") if isinstance(one, str) else one for one in texts
        ]  # without its separator, a pair is a text
        p = np.array([0.5 + weight * (("good" in b) - ("bad" in a)) for a, b in parts])
        return np.stack([1 - p, p], axis=1)

    return ask


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    rows = [(f"a bad film {i} {EVIL}", f"a good film {i}", i % 2) for i in range(6)] + [
        ("plain", "a good day", 1)
    ] * 4
    data = {
        "a": [a for a, _, _ in rows],
        "b": [b for _, b, _ in rows],
        "label": [y for _, _, y in rows],
    }
    pool = {
        "a": ["bad " * (i % 3) + "x" for i in range(40)],
        "b": ["good " * (i % 2) + "y" for i in range(40)],
    }
    told = rank(
        {"mild": model(0.2), EVIL: model(-0.3), "bold": model(0.45)},
        examples=data,
        unlabelled=pool,
        inputs=["a", "b"],
        classes=[0, 1],
        attribution="lime",
        samples=60,
        suggest=3,
    )
    made: dict[str, Any] = json.loads(json.dumps(told.to_dict(), allow_nan=False))
    return made


def text_of(page: str) -> str:
    page = re.sub(r"<(script|style)\b.*?</\1>", " ", page, flags=re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", page)).replace(SPACE, " ").split())


def test_the_page_says_what_was_found(found: dict[str, Any]) -> None:
    page = render(found)
    told = text_of(page)
    first = found["ranking"][0]
    assert f"{first['model']} {first['p_best'] * 100:.0f} % sure" in told
    assert "from 10 labelled rows and 40 rows without labels" in told
    for one in found["pairs"]:
        assert f"{one['p_a_better'] * 100:.0f} %" in told
        assert f"{one['only_a']} to {one['only_b']}" in told
    for one in found["evidence"]:
        assert one["name"] in told
    assert "can order models the wrong way round" in told
    assert "no random sample" in told
    assert set(re.findall(r'id="chart-([\w-]+)"', page)) == {"best-chances", "shots", "style"}
    assert len(page.encode()) < 1_000_000


@pytest.mark.browser
@pytest.mark.parametrize("dark", [False, True])
def test_nothing_bars_anybody_from_the_page(
    browser: Any, found: dict[str, Any], axe: str, tmp_path: Path, dark: bool
) -> None:
    (tmp_path / "rank.html").write_text(render(found), encoding="utf-8")
    browser.open(tmp_path / "rank.html", width=1280, dark=dark)
    assert browser.violations(axe) == []


def test_what_to_do_next_follows_what_labels_would_tell(found: dict[str, Any]) -> None:
    assert f"Label the {len(found['suggested'])} rows below and rank again" in text_of(
        render(found)
    )
    found["suggested"] = []
    assert "More labels would not tell the first two apart: take mild" in text_of(render(found))
    for change, words in (
        (
            {"settling": {**(found.get("settling") or {}), "labels": 40, "why": ""}},
            "Label about 40 rows more",
        ),
        ({"settling": {**(found.get("settling") or {}), "labels": 0}}, "for now"),
        ({"stop": {"safe": True}}, "You may stop labelling"),
    ):
        assert words in text_of(render(found | change))


def test_the_page_of_labels_that_speak_for_none(found: dict[str, Any]) -> None:
    pairs = [{**one, "p_a_better": 0.5, "only_a": 0, "only_b": 0} for one in found["pairs"]]
    even = {one["model"]: 0.6 for one in found["ranking"]}
    evidence = [
        {**one, "values": even} if one["name"] == "accuracy" else one for one in found["evidence"]
    ]
    told = text_of(render({**found, "pairs": pairs, "open": True, "evidence": evidence}))
    assert "Most likely the best of 3 models open from 10 labelled rows" in told
    assert "10 labelled rows favour none of the models over the others" in told
    names = [one["model"] for one in found["ranking"]]
    assert " = ".join(sorted(names, key=names.index)) in told


def test_of_four_models_and_more_the_pairs_are_a_square(found: dict[str, Any]) -> None:
    assert "row beats column" not in text_of(render(found))
    pair = {"p_a_better": 0.83, "differ": 0.1, "only_a": 5, "only_b": 2}
    pairs = [{"a": a, "b": b, **pair} for a, b in itertools.combinations("abcd", 2)]
    page = render({**found, "pairs": pairs})
    square = page[page.index("row beats column") : page.index("All numbers")]
    assert text_of(square).count("83 %") == text_of(square).count("17 %") == 6
    assert (
        'title="d beats a with a chance of 17 %" style="background:rgba(var(--heat),0.077)"'
        in square
    )


def test_nothing_of_the_texts_becomes_markup(found: dict[str, Any]) -> None:
    page = render(found)
    assert "<script>window.hit" not in page
    assert 'onmouseover="x' not in page.replace("&#34;", "'")


def test_words_are_shaded_by_their_attributions(found: dict[str, Any]) -> None:
    one = drawn_examples(found)[0]
    told = found["examples"][0]
    assert [line["model"] for line in one["lines"]] == [row["model"] for row in found["ranking"]]
    numbers = [
        v for m in told["models"].values() for v in [*m["values"], m["separator"]] if v is not None
    ]
    assert one["largest"] == max(map(abs, numbers))
    for line in one["lines"]:
        words = [piece for part in line["parts"] for piece in part if "word" in piece]
        values = told["models"][line["model"]]["values"]
        assert [piece["word"] for piece in words] == told["words"]
        for piece, value in zip(words, values, strict=True):
            assert float(piece["shade"]) == pytest.approx(
                0.72 * abs(value) / one["largest"], abs=6e-4
            )
            assert piece["side"] == ("for" if value > 0 else "against")
            assert f"{abs(value):.3f}" in piece["title"]
        # The text is whole: nothing between the words is lost.
        whole = [
            "".join(piece.get("gap", "") + piece.get("word", "") for piece in part)
            for part in line["parts"]
        ]
        assert whole == told["parts"]
        assert line["separator"] is not None


def test_words_of_a_factor_are_underlined(found: dict[str, Any]) -> None:
    factors = [name for name, _ in drawn_factors(found)]
    assert "max-diff" in factors
    at = factors.index("max-diff")
    line = drawn_examples(found)[0]["lines"][0]
    marked = [
        piece
        for part in line["parts"]
        for piece in part
        if f"w{at}" in piece.get("marks", "").split()
    ]
    assert len(marked) == 2  # the largest of either part
    page = render(found)
    assert f"main:has(#factor-{at}:checked) .w{at}" in page
    assert len(re.findall(r'type="radio"', page)) == len(factors)


def test_charts_hold_the_numbers(found: dict[str, Any]) -> None:
    bars, dots = best_chances(found), shots(found)
    assert dots is not None
    told = json.dumps(bars.spec)
    for one in found["ranking"]:
        assert f'"value": {one["p_best"]}' in told
        assert f'"value": {one["evidence"]["accuracy"]["value"]}' in json.dumps(dots.spec)
    assert found["ranking"][0]["model"][:20] in bars.title


def test_a_page_without_attributions_and_pool(found: dict[str, Any]) -> None:
    bare = {**found, "examples": [], "attribution": None, "suggested": [], "pool": 0}
    told = text_of(render(bare))
    assert "What the models look at" not in told
    assert "Rows to label next" not in told
    assert "from 10 labelled rows alone" in told
