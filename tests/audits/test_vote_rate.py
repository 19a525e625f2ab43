"""Votes as the proxy of an audit: rates by votes, the choice against confidence, coverage in thousands of audits."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import Predictions, audit
from oodometer.audits.judge import confidence_pays, exact_interval
from oodometer.audits.proxy import Correctness, VoteRate, choose_proxy
from oodometer.errors import NotApplicable
from oodometer.inference import betting
from oodometer.inference.betting import betting_interval, sampled_game, sampled_mean

LEVEL = 0.9
AUDITS = 2000


def outputs(
    rows: int, accuracy: float, recall: float, specificity: float, seed: int, judges: int = 5
) -> Predictions:
    """Labelled outputs with judges that share half of their mistakes, and a confidence that says little."""
    rng = np.random.default_rng(seed)
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((judges, rows)) < 0.5, common, rng.random((judges, rows)))
    confidence = 1 / (1 + np.exp(-(2 + 0.5 * right + rng.standard_normal(rows))))
    votes = np.where(right, own < recall, own > specificity)
    return Predictions.from_arrays(votes=votes, correct=right, confidence=confidence)


def test_the_rate_is_that_of_the_reference() -> None:
    votes = np.repeat([[0, 1, 1], [0, 0, 1]], 1000, axis=1)  # 1,000 rows each with 0, 1 and 2 votes
    right = np.concatenate([np.arange(1000) < 100, np.arange(1000) < 300, np.arange(1000) < 950])
    learnt = VoteRate.fit(Predictions.from_arrays(votes=votes, correct=right))
    assert learnt.rate == pytest.approx([0.1, 0.3, 0.95], abs=0.001)
    assert learnt.slope > 0.98
    by_hand = np.repeat(learnt.rate, 1000)
    whole = float(np.var(right))
    assert learnt.explained == pytest.approx(1 - np.var(right - by_hand) / whole, abs=0.005)


def test_the_rate_rises_with_the_votes() -> None:
    """Judges that are wrong where they agree teach a flat rate and no slope."""
    learnt = VoteRate.fit(outputs(3000, 0.6, 0.2, 0.2, seed=1))
    assert (np.diff(learnt.rate) >= 0).all()
    assert learnt.slope < 0.2
    assert learnt.explained < 0.01


@settings(max_examples=50)
@given(table=st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=2, max_size=6))
def test_any_counts_make_a_rate(table: list[tuple[int, int]]) -> None:
    learnt = VoteRate.from_counts(np.array(table))
    assert ((learnt.rate >= 0) & (learnt.rate <= 1)).all()
    assert (np.diff(learnt.rate) >= 0).all()
    assert 0 <= learnt.slope <= 1
    assert math.isnan(learnt.explained) == (
        sum(w for w, _ in table) == 0 or sum(r for _, r in table) == 0
    )


def test_a_reference_that_cannot_tell_leaves_votes_at_their_word() -> None:
    flawless = VoteRate.fit(
        Predictions.from_arrays(votes=[[1] * 200, [1] * 200], correct=[1] * 200)
    )
    assert flawless.rate.tolist() == [0.0, 0.5, 1.0]
    assert flawless.slope == pytest.approx(1.0)
    assert math.isnan(flawless.explained)
    with pytest.raises(NotApplicable, match="votes"):
        VoteRate.fit(Predictions.from_confidence([0.9], correct=[1]))


def test_the_better_proxy_of_the_reference_is_taken() -> None:
    fields = ("votes", "confidence")
    good, bad = outputs(2000, 0.8, 0.95, 0.9, seed=2), outputs(2000, 0.8, 0.5, 0.5, seed=3)
    assert choose_proxy(good, fields).name == "votes"
    chosen = choose_proxy(bad, fields)
    assert chosen.name == "confidence"
    assert isinstance(chosen, Correctness)
    assert chosen.explained > VoteRate.fit(bad).explained


def test_what_the_files_hold_decides_first() -> None:
    good = outputs(500, 0.8, 0.95, 0.9, seed=2)
    bare = Predictions.from_confidence(good.confidence, correct=good.correct)
    alone = Predictions.from_arrays(votes=good.votes, correct=good.correct)
    truths = Predictions.from_arrays(correct=good.correct)
    assert choose_proxy(good, ("confidence",)).name == "confidence"  # the target has no votes
    assert (
        choose_proxy(bare, ("votes", "confidence"), 5).name == "confidence"
    )  # the reference has none
    assert choose_proxy(alone, ("votes",), 5).name == "votes"
    assert (
        choose_proxy(good, ("votes", "confidence"), 3).name == "confidence"
    )  # these are other judges
    unseen = choose_proxy(truths, ("votes",), 4)
    assert (unseen.name, unseen.slope) == ("votes", pytest.approx(1.0))


def draws(rows: int, labels: int, seed: int) -> np.ndarray:
    """Rows of 2,000 audits, drawn evenly and in random order."""
    keys = np.random.default_rng(seed).random((AUDITS, rows))
    row = np.argpartition(keys, labels, axis=1)[:, :labels]
    return np.take_along_axis(row, np.argsort(np.take_along_axis(keys, row, 1), axis=1), 1)


# Judges as good on the target as on the reference, judges that accept everything there, judges that turn around.
TARGETS = {"kept": (0.7, 0.95, 0.9), "blind": (0.5, 0.98, 0.05), "turned": (0.4, 0.1, 0.1)}


@pytest.mark.parametrize("labels", [25, 200])
@pytest.mark.parametrize("name", TARGETS)
def test_the_interval_with_votes_holds_its_level(name: str, labels: int) -> None:
    """Both gamblers against the truth: it is in the interval where neither has reached the goal."""
    learnt = choose_proxy(outputs(1500, 0.9, 0.95, 0.9, seed=4), ("votes",))
    target = outputs(1500, *TARGETS[name], seed=5)
    score, right = learnt(target), target.correct.astype(float)
    assert learnt.slope > 0.9
    row = draws(1500, labels, seed=labels)
    game = sampled_game(row, right[row], np.ones(labels), score, learnt.slope)
    truth = np.full((AUDITS, 1), right.mean())
    goal = 2 / (1 - LEVEL)
    held = np.ones(AUDITS, dtype=bool)
    for side in (1, -1):
        held &= betting._log_capital(game, truth, goal, side)[:, 0] < math.log(goal)
    assert held.mean() >= 0.89
    mean = sampled_mean(row, right[row], np.ones(labels), score, learnt.slope)
    error = mean - right.mean()
    assert abs(error.mean()) < 4 * error.std() / math.sqrt(
        AUDITS
    )  # unbiased, however wrong the judges


@pytest.mark.parametrize("labels", [25, 200])
def test_what_is_printed_holds_its_level_and_votes_pay(labels: int) -> None:
    """The printed interval of many audits; with 200 labels and good judges it is the one with votes, and shorter."""
    learnt = choose_proxy(outputs(1500, 0.9, 0.95, 0.9, seed=4), ("votes",))
    target = outputs(1500, *TARGETS["kept"], seed=5)
    score, right = learnt(target), target.correct.astype(float)
    row = draws(1500, labels, seed=labels + 1)[: AUDITS if labels < 100 else 500]
    hits = right[row].sum(axis=1).astype(int)
    alone = {k: exact_interval(k, labels, 1500, LEVEL) for k in np.unique(hits).tolist()}
    ends = np.array([alone[k] for k in hits.tolist()])
    pays = confidence_pays(score, learnt.slope, labels, LEVEL)
    if pays:
        game = sampled_game(row, right[row], np.ones(labels), score, learnt.slope)
        low, high = betting_interval(game, LEVEL, hits / 1500, (hits + 1500 - labels) / 1500)
    else:
        low, high = ends.T
    held = (low <= right.mean() + 1e-9) & (right.mean() - 1e-9 <= high)
    assert held.mean() >= 0.89
    if labels == 200:
        assert pays
        assert np.mean(high - low) < 0.75 * np.mean(ends[:, 1] - ends[:, 0])


def test_audit_says_what_it_leant_on() -> None:
    reference, target = outputs(1500, 0.9, 0.95, 0.9, seed=4), outputs(1500, 0.7, 0.95, 0.9, seed=5)
    row = np.random.default_rng(0).permutation(1500)[:150]
    labels = {"row": row, "correct": target.correct[row].astype(bool)}
    found = audit(reference, target.without_labels(), labels=labels, level=LEVEL, methods=["votes"])
    assert (found.proxy, found.to_dict()["proxy"]) == ("votes", "votes")
    assert found.estimate.method == "ppi-betting"
    assert found.estimate.lower <= target.accuracy <= found.estimate.upper
    assert found.effective_labels is not None
    assert found.effective_labels > 225
    bare = Predictions.from_confidence(target.confidence)
    assert audit(reference, bare, labels=labels, methods=["ac"]).proxy == "confidence"


def test_votes_alone_will_do_for_an_audit() -> None:
    """A reference without votes, a target without confidence: the share of judges stands for the label."""
    target = outputs(1000, 0.7, 0.95, 0.9, seed=6)
    row = np.random.default_rng(1).permutation(1000)[:200]
    found = audit(
        {"correct": [True, False, True, True] * 50},
        Predictions.from_arrays(votes=target.votes),
        labels={"row": row, "correct": target.correct[row].astype(bool)},
    )
    assert found.proxy == "votes"
    assert found.estimate.lower <= target.accuracy <= found.estimate.upper


def test_suggestions_follow_the_votes() -> None:
    """Rows that some judge rejects are drawn more often."""
    reference, target = outputs(1500, 0.9, 0.95, 0.9, seed=4), outputs(1500, 0.7, 0.95, 0.9, seed=5)
    found = audit(
        reference, target.without_labels(), suggest=200, suggest_by="confidence", methods=["votes"]
    )
    doubted = target.votes.min(axis=0) == 0
    assert found.suggestion.share < 1
    assert doubted[found.suggestion.row].mean() > 1.3 * doubted.mean()
