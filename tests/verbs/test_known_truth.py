"""Where every row has a label the fall and the alarms are of the truth; some labels correct the number."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import oodometer
from oodometer.headline.label_posterior import LabelEvidence, LabelPosterior, falls_by_labels

from ..snapshots import assert_snapshot

ROWS = 3000
rng = np.random.default_rng(2)


def table(shift: float, seed: int) -> pd.DataFrame:
    """Two classes whose probabilities say nothing of the fall: labels are turned in a share of the rows."""
    own = np.random.default_rng(seed)
    p = own.beta(4, 1, ROWS)
    p = np.where(own.random(ROWS) < 0.5, p, 1 - p)
    true = (own.random(ROWS) < p).astype(int)
    turned = own.random(ROWS) < shift
    return pd.DataFrame(
        {"prob_1": p, "label": np.where(turned, 1 - true, true), "day": np.arange(ROWS) // 1000}
    )


REFERENCE, SAME, FALLEN = table(0, 1), table(0, 2), table(0.2, 3)
ASKED: dict[str, Any] = {"methods": ["ac", "doc", "source"], "fail_drop": 0.03}


def bare(data: pd.DataFrame) -> pd.DataFrame:
    return data.drop(columns="label")


def test_a_fall_that_outputs_do_not_show_is_seen_by_labels() -> None:
    asked = ASKED | {
        "margin": 0.03
    }  # chance alone moves accuracies of 3,000 rows by more than one point
    blind = oodometer.estimate(REFERENCE, bare(FALLEN), **asked)
    assert (blind.fell.verdict, blind.alarms.raised, blind.by_labels, blind.truth) == (
        "holds",
        False,
        False,
        None,
    )
    for found in (
        oodometer.estimate(REFERENCE, FALLEN, **asked),
        oodometer.estimate(REFERENCE, bare(FALLEN), labels=FALLEN[["label"]], **asked),
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
        assert_snapshot(view.sentences[0])
        assert_snapshot(view.sentences[1])
        assert_snapshot(view.sentences[2])
        assert_snapshot(view.sentences[3])
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


def some_labels(data: pd.DataFrame, count: int, seed: int = 0) -> dict[str, list[int]]:
    rows = np.random.default_rng(seed).permutation(ROWS)[:count]
    return {"row": rows.tolist(), "label": data["label"].to_numpy()[rows].tolist()}


@pytest.mark.parametrize("count", [3, 12, 150, 1500])
def test_some_labels_correct_the_number_as_an_audit_does(count: int) -> None:
    """Nothing is chosen by width: number, interval, fall and alarms are those of the audit of the same labels."""
    labels = some_labels(FALLEN, count)
    found = oodometer.estimate(REFERENCE, bare(FALLEN), labels=labels, **ASKED)
    audit = oodometer.audit(REFERENCE, bare(FALLEN), labels=labels, **ASKED)
    assert (found.by_labels, found.is_known) == (True, False)
    assert found.headline.interval == audit.believed.interval
    assert found.headline_without_labels.interval == audit.headline.interval
    assert (
        found.headline_without_labels
        == oodometer.estimate(REFERENCE, bare(FALLEN), **ASKED).headline
    )
    assert found.fell == audit.fell == audit.believed.fell
    assert found.alarms == audit.alarms
    told = found.to_dict()
    assert (told["truth"]["labelled"], told["truth"]["decides"]) == (count, False)
    assert told["headline"]["value"] != told["headline_without_labels"]["value"]


def test_a_fall_that_labels_prove_raises_an_alarm_in_both_verbs() -> None:
    labels = some_labels(FALLEN, 600)
    found = oodometer.estimate(REFERENCE, bare(FALLEN), labels=labels, **ASKED)
    audit = oodometer.audit(REFERENCE, bare(FALLEN), labels=labels, **ASKED)
    for one in (found, audit):
        assert one.alarms.raised
        assert one.alarms.where[0].by_labels
        assert " with labels" in one.alarms.lines()[0]
        assert (one.fell.verdict, one.fell.alarm) == ("fell", True)
    assert (audit.decisions[0].says, audit.needed_labels) == ("below", None)
    assert_snapshot(repr(audit))


def test_three_labels_of_which_two_are_right_prove_nothing() -> None:
    said = (FALLEN["prob_1"] > 0.5).astype(int)
    three = {"row": [4, 40, 400], "label": [int(said[4]), int(said[40]), 1 - int(said[400])]}
    mixed = bare(SAME).assign(label=None)
    mixed.loc[[4, 40], "label"] = (SAME["prob_1"] > 0.5).astype(int)[[4, 40]]
    mixed.loc[400, "label"] = 1 - int(SAME["prob_1"][400] > 0.5)
    for found in (
        oodometer.estimate(REFERENCE, bare(FALLEN), labels=three, **ASKED),
        oodometer.estimate(REFERENCE, mixed, by="day", **ASKED).slices[0],
        oodometer.audit(REFERENCE, bare(FALLEN), labels=three, **ASKED),
    ):
        assert found.fell.verdict == "cannot say"
        assert not found.fell.alarm
    assert found.needed_labels > 10
    assert_snapshot(repr(found))


def test_where_the_estimate_missed_the_truth_the_screen_says_so() -> None:
    found = oodometer.estimate(REFERENCE, FALLEN, **ASKED)
    assert found.headline.trust == "none"
    assert_snapshot(found.headline.why)
    assert_snapshot(repr(found))
    held = oodometer.estimate(REFERENCE, SAME, **ASKED)
    assert_snapshot(repr(held))
    audit = oodometer.audit(REFERENCE, bare(FALLEN), labels=FALLEN[["label"]], **ASKED)
    assert audit.headline.trust == "none"
    assert audit.alarms.raised
    assert audit.alarms.where[0].interval.value == pytest.approx(found.truth.value)


def test_a_default_that_stands_in_every_row_is_no_truth() -> None:
    """Nothing was reported yet: all labels are 0, though the model says 1 of half of the rows; both verbs say it."""
    zeros = pd.DataFrame({"label": np.zeros(ROWS, dtype=int)})
    found = oodometer.estimate(REFERENCE, bare(SAME), labels=zeros, **ASKED)
    audit = oodometer.audit(REFERENCE, bare(SAME), labels=zeros, **ASKED)
    assert found.not_random == audit.not_random
    assert_snapshot(found.not_random)
    assert (found.by_labels, found.truth.kind) == (False, "conditional")
    assert (found.alarms.raised, audit.alarms.raised, audit.refuted) == (False, False, False)
    assert {one.kind for one in audit.intervals} == {"conditional"}
    assert audit.p_value is None
    (line,) = (one for one in found.warnings if "no random sample" in one)
    assert line in audit.warnings


def test_labels_of_some_parts_alone_are_no_random_sample_of_the_whole() -> None:
    mixed = FALLEN.assign(label=FALLEN["label"].where(FALLEN["day"] == 0))
    found = oodometer.estimate(REFERENCE, mixed, by="day", **ASKED)
    assert_snapshot(found.not_random)
    assert [part.by_labels for part in found.slices] == [True, False, False]
    assert found.fell_without_labels is None


def test_changes_of_labels_are_those_of_fisher() -> None:
    from scipy.stats import fisher_exact

    few = LabelEvidence(35, 50, 50, 5000)
    less = fisher_exact([[35, 15], [900, 100]], alternative="less").pvalue
    assert few.changed(900, 1000) == pytest.approx(2 * less)
    many = LabelEvidence(8_900, 10_000, 10_000, 1_000_000)
    exact = fisher_exact([[8_900, 1_100], [18_000, 2_000]], alternative="less").pvalue
    assert many.changed(18_000, 20_000) == pytest.approx(2 * exact, rel=0.1)


def test_a_series_in_which_nothing_changes_raises_few_alarms() -> None:
    """Labelled chunks without a change: any alarm in about 5 % of series at most."""
    raised = 0
    for seed in range(300):
        own = np.random.default_rng(seed)
        reference = (int(own.binomial(5000, 0.9)), 5000)
        hits = own.binomial(200, 0.9, 12).tolist()
        posteriors = [LabelPosterior(None, LabelEvidence(one, 200, 200, 200)) for one in hits]
        raised += any(
            one.alarm
            for one in falls_by_labels(posteriors, [None] * 12, 0.01, [reference] * 12, "natural")
        )
    assert raised <= 0.08 * 300
