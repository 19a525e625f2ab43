"""Slices that the reference lacks: the groups that it has, each left out of it once, tell of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import oodometer

from ..snapshots import assert_snapshot

KIND = "groups of the reference"


def site(name: str, many: int = 200, slope: float = 0.8) -> dict[str, Any]:
    """Rows of a site, where the model is surer than it may be (``slope`` below 1)."""
    rng = np.random.default_rng([ord(letter) for letter in name])
    z = 2 * rng.normal(size=many)
    probability = 1 / (1 + np.exp(-z))
    label = rng.random(many) < 1 / (1 + np.exp(-slope * z))
    return {
        "prob_0": (1 - probability).tolist(),
        "prob_1": probability.tolist(),
        "label": label.astype(int).tolist(),
        "site": [name] * many,
    }


def joined(tables: Sequence[dict[str, Any]]) -> dict[str, Any]:
    return {name: [cell for table in tables for cell in table[name]] for name in tables[0]}


def unlabelled(*tables: dict[str, Any]) -> dict[str, Any]:
    table = joined(tables)
    del table["label"]
    return table


SLOPES = np.linspace(0.4, 1.1, 6)
METHODS = ("cbpe", "doc")


@pytest.fixture(scope="module")
def odometer() -> oodometer.Oodometer:
    sites = [site(f"site {i}", slope=slope) for i, slope in enumerate(SLOPES)]
    return oodometer.Oodometer(methods=METHODS).fit(joined(sites), by="site")


@pytest.fixture(scope="module")
def all_new(odometer: Any) -> oodometer.results.Estimation:
    return odometer.estimate(unlabelled(site("north"), site("south", 300)), by="site")


def test_new_sites_are_told_by_those_of_the_reference(all_new: Any) -> None:
    for one in all_new.slices:
        history = one.headline.history
        assert history.kind == KIND
        assert history.periods == len(history.errors) == len(SLOPES)
        assert {*history.names} == {f"site {i}" for i in range(len(SLOPES))}
        assert one.headline.lower <= one.headline.value <= one.headline.upper
        assert_snapshot(one.headline.why)
        assert_snapshot(one.headline.assumes)


def test_whole_of_new_sites_alone_is_composed_of_them(all_new: Any) -> None:
    assert all_new.headline.history.kind == KIND
    north, south = (one.headline.value for one in all_new.slices)
    assert all_new.headline.value == pytest.approx((200 * north + 300 * south) / 500, abs=0.01)
    assert "its groups" in all_new.headline.assumes


def test_a_known_site_and_the_whole_with_it_stay_as_they_are(odometer: Any) -> None:
    target = unlabelled(site("site 1", 250), site("north"))
    found = odometer.estimate(target, by="site")
    kinds = {one.name: one.headline.history for one in found.slices}
    assert kinds["site 1"] is None
    assert kinds["north"].kind == KIND
    assert found.headline.history is None
    assert found.headline.interval == odometer.estimate(target).headline.interval


def test_two_groups_and_small_ones_tell_nothing() -> None:
    sites = [site("site 0"), site("site 1"), site("site 2", 49), site("site 3", 49)]
    found = oodometer.estimate(joined(sites), unlabelled(site("north")), by="site", methods=METHODS)
    assert found.slices[0].headline.history is None
    assert "history" not in json.dumps(found.to_dict()["slices"])
    assert found.headline.history is None


def test_nothing_is_told_under_an_assumption(odometer: Any) -> None:
    found = odometer.estimate(unlabelled(site("north")), by="site", assume="covariate")
    assert found.slices[0].headline.history is None
