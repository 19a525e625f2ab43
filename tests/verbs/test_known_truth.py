"""Where labels are given, the sentence, the fall and the alarms are of the truth, with the estimate beside it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.headline.natural_shifts import chance_by_labels

ROWS = 3000
rng = np.random.default_rng(2)


def table(shift: float, seed: int) -> pd.DataFrame:
    """Two classes whose probabilities say nothing of the fall: labels are turned in a share of the rows."""
    own = np.random.default_rng(seed)
    p = own.beta(4, 1, ROWS)
    p = np.where(own.random(ROWS) < 0.5, p, 1 - p)
    true = (own.random(ROWS) < p).astype(int)
    turned = own.random(ROWS) < shift
    return pd.DataFrame({"prob_1": p, "label": np.where(turned, 1 - true, true), "day": np.arange(ROWS) // 1000})


REFERENCE, SAME, FALLEN = table(0, 1), table(0, 2), table(0.2, 3)
ASKED: dict[str, Any] = {"methods": ["ac", "doc", "source"], "fail_drop": 0.03}


def bare(data: pd.DataFrame) -> pd.DataFrame:
    return data.drop(columns="label")


def test_a_fall_that_outputs_do_not_show_is_seen_by_labels() -> None:
    blind = oodometer.estimate(REFERENCE, bare(FALLEN), **ASKED)
    assert (blind.fell.verdict, blind.alarms.raised, blind.by_labels, blind.truth) == ("holds", False, False, None)
    for found in (
        oodometer.estimate(REFERENCE, FALLEN, **ASKED),
        oodometer.estimate(REFERENCE, bare(FALLEN), labels=FALLEN[["label"]], **ASKED),
    ):
        right = ((FALLEN["prob_1"] > 0.5) == FALLEN["label"]).mean()
        assert found.truth.value == pytest.approx(right)
        assert found.headline.value == blind.headline.value
        assert (found.fell.verdict, found.fell.alarm, found.alarms.raised) == ("fell", True, True)
        assert found.fell.why == "by 3,000 labelled rows"
        assert found.fell_without_labels == blind.fell
        told = found.to_dict()
        assert told["truth"]["decides"] is True
        assert told["alarms"]["where"][0]["value"] == pytest.approx(right)
        view = found.view()
        assert (view.title, view.interval) == ("True accuracy", found.truth)
        assert view.sentences[0].startswith("Measured on 3,000 labelled rows: ")
        assert view.sentences[1].startswith("Fell by 1 point or more: yes")
        assert view.sentences[2].startswith("Estimated without labels: ")
        assert view.alarms == tuple(found.alarms.lines())
        assert "by labels" in found.alarms.lines()[0]


def test_no_fall_is_known_too() -> None:
    found = oodometer.estimate(REFERENCE, SAME, margin=0.05, **ASKED)
    assert (found.fell.verdict, found.alarms.raised) == ("holds", False)


def test_parts_are_judged_by_their_own_labels() -> None:
    mixed = pd.concat([SAME[SAME["day"] < 2], FALLEN[FALLEN["day"] == 2]])
    mixed.loc[mixed["day"] == 1, "label"] = None
    found = oodometer.estimate(REFERENCE, mixed, by="day", **ASKED)
    first, second, third = found.slices
    assert [part.by_labels for part in found.slices] == [True, False, True]
    assert third.fell.alarm
    assert not first.fell.alarm
    assert second.truth is None
    assert [one.place["slice"] for one in found.alarms.where] == [2]
    assert "fell_without_labels" in third.to_dict()


@pytest.mark.parametrize(("count", "decides"), [(12, False), (1500, True)])
def test_some_labels_decide_where_their_interval_is_the_narrower(count: int, decides: bool) -> None:
    labels = FALLEN["label"].where(np.random.default_rng(0).permutation(ROWS) < count)
    found = oodometer.estimate(REFERENCE, bare(FALLEN), labels={"label": labels.to_list()}, **ASKED)
    assert found.by_labels is decides
    assert found.to_dict()["truth"]["labelled"] == count
    assert found.target["accuracy"] is not None


def test_chances_by_labels_are_those_of_draws() -> None:
    draws = np.random.default_rng(0)
    few, many = draws.beta(45.5, 5.5, 200_000), draws.beta(950.5, 50.5, 200_000)
    assert chance_by_labels(45, 50, 0.9) == pytest.approx((few < 0.9).mean(), abs=0.06)
    assert chance_by_labels(45, 50, -0.01, (950, 1000)) == pytest.approx((few - many < -0.01).mean(), abs=0.06)


def test_a_series_in_which_nothing_changes_raises_few_alarms() -> None:
    """Labelled chunks without a change: any alarm in about 5 % of series at most."""
    from oodometer.headline.natural_shifts import judged, packaged_prior

    raised = 0
    for seed in range(300):
        own = np.random.default_rng(seed)
        reference, rows = (int(own.binomial(5000, 0.9)), 5000), [200] * 12
        hits = own.binomial(200, 0.9, 12).tolist()
        chances = [chance_by_labels(one, 200, -0.01, reference) for one in hits]
        below = [chance_by_labels(one, 200, 0.0, reference) for one in hits]
        changed = [2 * min(one, 1 - one) for one in below]
        raised += any(one.alarm for one in judged(packaged_prior(), 0.01, chances, changed, "natural", rows))
    assert raised <= 0.08 * 300
