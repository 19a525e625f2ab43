"""The headline of records with votes: judges alone, judges that contradict the others, judges that failed before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import Predictions, estimate
from oodometer.estimators import VotingBounds
from oodometer.headline.headline import Evidence, make_headline
from oodometer.results import Estimate

from ..snapshots import assert_snapshot


def outputs(
    rows: int, accuracy: float, seed: int, confident: bool = True, specificity: float = 0.85
) -> Predictions:
    rng = np.random.default_rng(seed)
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((5, rows)) < 0.5, common, rng.random((5, rows)))
    fields: dict[str, Any] = {
        "votes": np.where(right, own < 0.95, own > specificity),
        "correct": right,
    }
    if confident:
        fields["confidence"] = 1 / (1 + np.exp(-(2.5 + 1.2 * right + rng.standard_normal(rows))))
    return Predictions.from_arrays(**fields)


def doc(value: float, half: float = 0.05) -> Estimate:
    return Estimate(
        "doc", value, value - half, value + half, 0.95, "conditional", "", "guillory2021", rows=500
    )


def votes(target: Predictions, reference: Predictions) -> Estimate:
    return VotingBounds().fit(reference).estimate(target)


REFERENCE, TARGET = outputs(2000, 0.95, 0), outputs(2000, 0.6, 1)
ON_TARGET = votes(TARGET, REFERENCE)


def test_judges_alone_say_what_the_reference_says_of_them() -> None:
    """Corrected by their errors on the reference; the interval spans the judges' bounds, too."""
    target = outputs(500, 0.6, 3, confident=False)
    found = estimate(outputs(500, 0.95, 2, confident=False), target.without_labels())
    head = found.headline
    assert (head.method, head.trust, head.interval.kind) == ("votes-corrected", "low", "empirical")
    assert (
        head.interval.value
        == found["votes-corrected"].value
        == pytest.approx(target.accuracy, abs=0.1)
    )
    assert head.lower <= min(found["votes"].lower, found["votes-corrected"].lower)
    assert_snapshot(head.why)


def test_judges_that_failed_on_the_reference_are_not_trusted() -> None:
    lenient = outputs(500, 0.5, 2, confident=False, specificity=0.02)
    found = estimate(lenient, outputs(500, 0.6, 3, confident=False))
    assert (found.headline.method, found.headline.trust) == ("votes-corrected", "none")
    assert (found.headline.lower, found.headline.upper) == (0, 1)
    assert_snapshot(found.headline.why)
    assert any("fail alike" in text for text in found["votes"].warnings)


def test_judges_without_a_checked_reference_stay_as_they_were() -> None:
    bare = Predictions.from_arrays(votes=TARGET.votes)
    found = make_headline([votes(bare, bare)], Evidence(0.95))
    assert_snapshot(found.why)


def test_judges_that_agree_leave_the_headline_alone() -> None:
    within = doc(ON_TARGET.value)
    assert make_headline([within, ON_TARGET], Evidence(0.95)) == make_headline(
        [within], Evidence(0.95)
    )


def test_judges_that_contradict_are_heard_instead() -> None:
    over = doc(0.97, 0.01)
    found = make_headline([over, ON_TARGET], Evidence(0.95))
    assert found.interval.value == ON_TARGET.value
    assert (found.interval.lower, found.interval.upper) == (ON_TARGET.lower, over.upper)
    assert (found.interval.kind, found.trust) == ("empirical", "none")
    assert found.method == "votes, against doc"
    assert "97.0 %" in found.why


def test_a_small_contradiction_leaves_low_trust() -> None:
    """Judges that hardly differ, and an estimate a little above all of them."""
    sure = np.repeat([[True] * 80 + [False] * 20], 3, axis=0)
    record = Predictions.from_arrays(votes=np.tile(sure, 30), correct=np.tile(sure[0], 30))
    found = make_headline([doc(0.83, 0.01), votes(record, record)], Evidence(0.95))
    assert (found.trust, found.interval.value) == ("low", pytest.approx(0.8))


def test_judges_that_failed_before_are_not_heard() -> None:
    failed = votes(TARGET, outputs(2000, 0.5, 4, specificity=0.02))
    assert failed.details["reference"]["refuted"]
    over = doc(0.97, 0.01)
    assert make_headline([over, failed], Evidence(0.95)) == make_headline([over], Evidence(0.95))


def test_in_the_whole_verb() -> None:
    """Confidence moves too little under the shift; the judges' bounds hold the truth."""
    found = estimate(REFERENCE, TARGET.without_labels())
    assert_snapshot(found.headline.method)
    assert found.headline.interval.lower <= TARGET.accuracy <= found.headline.interval.upper
    assert abs(found.headline.interval.value - TARGET.accuracy) < 0.05
    assert found.headline.why in found.warnings
    bare = [
        Predictions.from_confidence(r.confidence, correct=r.correct) for r in (REFERENCE, TARGET)
    ]
    without = estimate(bare[0], bare[1].without_labels()).headline
    assert without.interval.value > TARGET.accuracy + 0.1


def test_a_judge_that_means_the_opposite_is_named() -> None:
    def judged(rows: int, accuracy: float, seed: int) -> Predictions:
        rng = np.random.default_rng(seed)
        right = rng.random(rows) < accuracy
        votes = [np.where(rng.random(rows) < kept, right, ~right) for kept in (0.9, 0.85, 0.1)]
        return Predictions.from_arrays(
            votes=votes, correct=right, names={"judge": ("anna", "boris", "chloe")}
        )

    found = estimate(judged(400, 0.7, 1), judged(400, 0.6, 2).without_labels(), backtest=None)
    said = " ".join(str(found).split())
    assert_snapshot(said)
    assert "anna" not in said
