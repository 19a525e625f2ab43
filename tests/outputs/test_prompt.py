"""At a prompt a result and every part of it is a line or a short table."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from oodometer.results import Interval
from oodometer.results.estimation import Headline, Part
from oodometer.results.values import NamedRecords, Records, line_of, plain

from ..snapshots import assert_snapshot
from .conftest import EVIL, KINDS


@pytest.mark.parametrize("name", KINDS)
def test_results_and_what_they_hold_are_short(made: dict[str, Any], name: str) -> None:
    found = made[name]
    assert len(repr(found)) < 2500
    for field in fields(found):
        value = getattr(found, field.name)
        if isinstance(value, Records | NamedRecords):
            lines = repr(value).splitlines()
            assert len(lines) <= 13
            assert max(map(len, lines)) < 160
        for item in value if isinstance(value, Records) else [value]:
            if hasattr(item, "_prompt"):
                assert len(line_of(item)) <= 120
                assert "array(" not in line_of(item)


def test_a_part_says_its_name_number_truth_and_verdict(made: dict[str, Any]) -> None:
    first = made["estimate"].chunks[0]
    text = repr(first)
    assert_snapshot(text)
    assert f"headline={first.headline.value:.4g} [" in text
    assert f"truth={first.truth.value:.4g} [" in text
    assert text.endswith(f"fell={first.fell.verdict!r})")


def test_a_long_sequence_is_cut_and_says_by_how_much(made: dict[str, Any]) -> None:
    found = made["estimate"]
    part: Part = found.chunks[0]
    many = replace(found, chunks=tuple([part] * 365))
    assert repr(many.chunks).splitlines()[-1] == " ... 353 more)"
    assert len(repr(many.chunks)) < 2000
    assert many.chunks == tuple([part] * 365)
    assert isinstance(many.chunks, tuple)


def test_what_is_short_loses_nothing() -> None:
    interval = Interval(1 / 3, 0.25, 0.5, 0.95, "exact")
    head = Headline(interval, "doc", "nothing changed", "low", f"{EVIL * 40}")
    assert_snapshot(repr(interval))
    assert_snapshot(repr(head))
    assert plain(head)["value"] == 1 / 3
    assert plain(head)["why"] == EVIL * 40
