"""Voting bounds for any k of n, MaxProb, and the oracle's bounds, against loops and by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oodometer import Predictions, audit, estimate
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import CorrectedVotes, MaxProb, VotingBounds, max_prob_oracle
from oodometer.estimators.votes import profile
from oodometer.intervals import clopper_pearson, wilson
from oodometer.passes.plan import default_methods
from oodometer.registry import create, names

from ..snapshots import assert_snapshot, raises_snapshot

# Five outputs that 4, 3, 2, 1 and 0 of four judges accept.
LADDER = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
HAND = Predictions.from_arrays(votes=LADDER)


@pytest.mark.parametrize(("agree", "low", "high"), [(None, 0.2, 0.8), (4, 0.2, 0.8), (3, 0.4, 0.6)])
def test_by_hand(agree: int | None, low: float, high: float) -> None:
    found = VotingBounds(agree=agree).fit(HAND).estimate(HAND)
    assert (found.details["lower_bound"], found.details["upper_bound"]) == pytest.approx(
        (low, high)
    )
    assert found.value == pytest.approx((low + high) / 2)
    assert found.lower == pytest.approx(wilson(low, 5, 0.95)[0])
    assert found.upper == pytest.approx(wilson(high, 5, 0.95)[1])
    assert found.kind == "empirical"


@given(data=st.data())
def test_any_k_is_that_of_loops(data: st.DataObject) -> None:
    rows, judges = data.draw(st.integers(1, 10)), data.draw(st.integers(1, 5))
    votes = [
        data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)) for _ in range(judges)
    ]
    agree = data.draw(st.integers(judges // 2 + 1, judges))
    record = Predictions.from_arrays(votes=votes)
    found = VotingBounds(agree=agree).fit(record).estimate(record)
    said = [sum(v[i] for v in votes) for i in range(rows)]
    low = sum(s >= agree for s in said) / rows
    high = sum(s >= judges - agree + 1 for s in said) / rows
    assert (found.details["lower_bound"], found.details["upper_bound"]) == pytest.approx(
        (low, high)
    )
    assert found.lower <= low <= found.value <= high <= found.upper
    for step in found.details["ladder"]:
        count = sum(s >= step["at_least"] for s in said)
        assert (step["value"], step["kind"]) == (count / rows, "exact")
        assert (step["lower"], step["upper"]) == pytest.approx(clopper_pearson(count, rows, 0.95))
    assert [j["value"] for j in found.details["by_judge"]] == pytest.approx(
        [sum(v) / rows for v in votes]
    )
    assert found.details["single"] == found.details["by_judge"][0]
    assert [b["agree"] for b in found.details["bounds"]] == list(range(judges, judges // 2, -1))


def test_k_by_name() -> None:
    found = estimate(HAND_LABELLED, HAND, methods=["votes", "votes:3"])
    assert [e.method for e in found.estimates] == ["votes", "votes:3"]
    assert found["votes:3"].value == 0.5
    assert (
        found["votes:3"].upper - found["votes:3"].lower
        < found["votes"].upper - found["votes"].lower
    )
    assert create("estimator", "votes:3").agree == 3


@pytest.mark.parametrize(
    "name", ["votes:x", "votes:0", "votes:", "max-prob:much", "max-prob:1", "max-prob:-0.1"]
)
def test_arguments_that_make_no_sense(name: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        create("estimator", name)


@pytest.mark.parametrize("agree", [1, 2, 5])
def test_no_majority_makes_no_bounds(agree: int) -> None:
    with raises_snapshot(UsageError):
        VotingBounds(agree=agree).fit(HAND)


def test_a_target_with_fewer_judges_than_must_agree() -> None:
    fitted = VotingBounds(agree=4).fit(HAND)
    with raises_snapshot(UsageError):
        fitted.estimate(Predictions.from_arrays(votes=LADDER[:3]))


def test_parts_with_other_judges_do_not_merge() -> None:
    method = VotingBounds().fit(HAND)
    with raises_snapshot(InputError):
        method.merge(
            method.summarize(HAND), method.summarize(Predictions.from_arrays(votes=LADDER[:1]))
        )


def test_one_judge_makes_no_bounds() -> None:
    record = Predictions.from_arrays(votes=LADDER[:1])
    found = VotingBounds().fit(record).estimate(record)
    assert found.details["lower_bound"] == found.details["upper_bound"] == found.value == 0.8
    assert_snapshot(found.warnings[0])


HAND_LABELLED = Predictions.from_arrays(votes=LADDER, correct=[1, 1, 0, 0, 0])


def test_the_reference_is_looked_at_and_not_fitted() -> None:
    with_truth = VotingBounds().fit(HAND_LABELLED).estimate(HAND)
    without = VotingBounds().fit(HAND).estimate(HAND)
    assert with_truth.interval == without.interval
    assert "reference" not in without.details
    seen = with_truth.details["reference"]
    assert (seen["accuracy"], seen["lower_bound"], seen["upper_bound"]) == (0.4, 0.2, 0.8)
    assert (seen["inside"], seen["refuted"], with_truth.warnings) == (True, False, ())


@pytest.mark.parametrize(("right", "refuted"), [(0.95, True), (0.72, False), (0.05, True)])
def test_judges_that_fail_on_the_reference_are_told_of(right: float, refuted: bool) -> None:
    """Bounds 50 to 70 %; a truth a little outside may be chance, one far outside is not."""
    votes = np.array([[1] * 70 + [0] * 30, [1] * 50 + [0] * 50])
    correct = np.arange(100) < round(100 * right)
    found = (
        VotingBounds().fit(Predictions.from_arrays(votes=votes, correct=correct)).estimate(HAND_TWO)
    )
    assert found.details["reference"]["inside"] is False
    assert found.details["reference"]["refuted"] is refuted
    assert ("by more than chance" in " ".join(found.warnings)) is refuted


HAND_TWO = Predictions.from_arrays(votes=LADDER[:2])


def test_labels_without_predictions_are_no_truth() -> None:
    record = Predictions.from_arrays(votes=[[1, 0]], label=[0, 1])
    assert "reference" not in VotingBounds().fit(record).estimate(record).details


@given(
    confidence=st.lists(
        st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 0.9, 1.0]), min_size=1, max_size=20
    ),
    gamma=st.sampled_from([0.0, 0.2, 0.5, 0.9]),
)
def test_max_prob_counts_what_is_above(confidence: list[float], gamma: float) -> None:
    record = Predictions.from_confidence(confidence)
    found = MaxProb(gamma=gamma).fit(record).estimate(record)
    value = sum(c > gamma for c in confidence) / len(confidence)
    assert found.value == pytest.approx(value)
    assert (found.lower, found.upper) == pytest.approx(wilson(value, len(confidence), 0.95))
    assert found.details["threshold"] == gamma


def test_max_prob_reads_the_probability_of_a_sequence() -> None:
    record = Predictions.from_arrays(token_logprobs=[[-0.1, -0.1], [-0.5, -0.5], [-3.0]])
    found = MaxProb().fit(record).estimate(record)
    assert (found.value, found.score) == (pytest.approx(1 / 3), "sequence_probability")


def test_max_prob_is_run_only_where_it_is_asked_for() -> None:
    assert "max-prob" in names("estimator")
    assert "max-prob" not in default_methods()
    record = Predictions.from_confidence([0.9, 0.4], correct=[1, 0])
    found = estimate(record, record.without_labels(), methods=["max-prob", "max-prob:0.95"])
    assert [(e.method, e.value) for e in found.estimates] == [
        ("max-prob", 0.5),
        ("max-prob:0.95", 0.0),
    ]


def test_the_oracle_by_hand() -> None:
    """Three right answers at 0.9, 0.7 and 0.6, two wrong ones at 0.8 and 0.2."""
    given_: dict[str, Any] = {"confidence": [0.9, 0.8, 0.7, 0.6, 0.2], "correct": [1, 0, 1, 1, 0]}
    all_ = max_prob_oracle(**given_, correct_recall=1.0, incorrect_recall=1.0)
    assert (all_.upper.value, all_.upper_threshold) == (
        0.8,
        0.6,
    )  # everything but 0.2 is taken for right
    assert (all_.lower.value, all_.lower_threshold) == (
        0.2,
        0.8,
    )  # 0.9 alone is not taken for wrong
    assert all_.mean.value == pytest.approx(0.5)
    assert all_.error.value == pytest.approx(0.1)
    none = max_prob_oracle(**given_, correct_recall=0.0, incorrect_recall=0.0)
    assert (none.upper.value, none.lower.value) == (0.0, 1.0)
    assert all_.upper.kind == "conditional"
    assert all_.to_dict()["lower_threshold"] == 0.8


@given(data=st.data())
def test_the_oracle_matches_both_recalls(data: st.DataObject) -> None:
    """Brute force over all thresholds without ties: the tightest that recall as much."""
    rows = data.draw(st.integers(2, 12))
    confidence = np.array(data.draw(st.permutations(range(1, rows + 1)))) / (rows + 1)
    correct = np.array(data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)))
    assume(correct.any() and not correct.all())
    right, wrong = int(correct.sum()), int((~correct).sum())
    hits, misses = data.draw(st.integers(1, right)), data.draw(st.integers(1, wrong))
    found = max_prob_oracle(confidence, correct, hits / right, misses / wrong)
    cuts = [*confidence, 2.0]
    uppers = [(confidence >= g).mean() for g in cuts if (correct & (confidence >= g)).sum() == hits]
    lowers = [
        (confidence > g).mean() for g in cuts if (~correct & (confidence <= g)).sum() == misses
    ]
    assert found.upper.value == pytest.approx(min(uppers))
    assert found.lower.value == pytest.approx(max(lowers))


def test_the_oracle_shares_out_ties() -> None:
    found = max_prob_oracle(
        [0.5] * 10, [1] * 6 + [0] * 4, correct_recall=0.5, incorrect_recall=0.25
    )
    assert (found.upper.value, found.lower.value) == pytest.approx((0.5, 0.75))


def test_the_oracle_refuses_what_cannot_be() -> None:
    with raises_snapshot(NotApplicable):
        max_prob_oracle([0.5, 0.6], [1, 1], 1.0, 1.0)
    with raises_snapshot(UsageError):
        max_prob_oracle([0.5, 0.6], [1, 0], 97, 1.0)
    with pytest.raises(InputError, match="confidence"):
        max_prob_oracle([1.5, 0.6], [1, 0], 1.0, 1.0)


def test_judges_of_the_target_alone_will_do() -> None:
    """A reference without votes teaches nothing about the judges, and takes nothing from their bounds."""
    reference = Predictions.from_arrays(confidence=[0.9, 0.8, 0.3, 0.2], correct=[1, 1, 0, 0])
    target = Predictions.from_arrays(
        confidence=[0.9, 0.8, 0.3, 0.2], votes=[[1, 1, 0, 0], [1, 0, 0, 0]]
    )
    found = VotingBounds().fit(reference).estimate(target)
    assert (found.details["lower_bound"], found.details["upper_bound"]) == (0.25, 0.5)
    assert found == VotingBounds().fit(target).estimate(target)
    with raises_snapshot(NotApplicable):
        VotingBounds().fit(target).estimate(reference)
    with raises_snapshot(UsageError):
        VotingBounds(agree=3).fit(reference).estimate(target)


def judged(
    rows: int,
    accuracy: float,
    rng: np.random.Generator,
    rates: tuple[float, float] = (0.9, 0.47),
    judges: int = 1,
) -> Predictions:
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((judges, rows)) < 0.5, common, rng.random((judges, rows)))
    return Predictions.from_arrays(votes=own < np.where(right, *rates), correct=right)


def counts(right: tuple[int, int], wrong: tuple[int, int]) -> Predictions:
    """A labelled reference of one judge: how many right and wrong rows are accepted and rejected."""
    votes = [1] * right[0] + [0] * right[1] + [1] * wrong[0] + [0] * wrong[1]
    return Predictions.from_arrays(votes=[votes], correct=[1] * sum(right) + [0] * sum(wrong))


def test_by_hand_too() -> None:
    """0.9 a + 0.3 (1 - a) = 0.6 for a = 1/2."""
    target = Predictions.from_arrays(votes=[[1] * 600 + [0] * 400])
    found = CorrectedVotes().fit(counts((900, 100), (300, 700))).estimate(target)
    assert found.details["rogan_gladen"] == pytest.approx(0.5)
    assert found.details["maximum_likelihood"] == pytest.approx(0.5, abs=1e-3)
    assert found.value == pytest.approx(0.5, abs=0.01)
    # delta method: Var(a) = (v(1-v)/N + a^2 s(1-s)/n1 + (1-a)^2 f(1-f)/n0) / (s-f)^2
    error = np.sqrt(0.24 / 1000 + 0.25 * 0.09 / 1000 + 0.25 * 0.21 / 1000) / 0.6
    assert found.upper - found.lower == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert found.kind == "conditional"


def test_the_profile_is_that_of_a_search() -> None:
    """One judge, few rows: for each accuracy the best sensitivity and false alarms, found on a grid."""
    table, cells = np.array([[7, 3], [2, 8]]), np.array([20, 30])
    x = (np.arange(1000) + 0.5) / 1000
    alarms, sensitivity = np.meshgrid(x, x, indexing="ij")
    own = [
        n[1] * np.log(p) + n[0] * np.log(1 - p)
        for n, p in zip(table, (alarms, sensitivity), strict=True)
    ]
    shares, logs, _ = profile(table, cells)
    for at in (40, 200, 300):
        said = shares[at] * sensitivity + (1 - shares[at]) * alarms
        searched = sum(own) + cells[1] * np.log(said) + cells[0] * np.log(1 - said)
        assert logs[at] == pytest.approx(searched.max(), abs=1e-3)


def test_the_fit_of_joint_votes() -> None:
    rng = np.random.default_rng(0)
    wrong, right = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.05, 0.15, 0.2, 0.6])
    table = np.stack([rng.multinomial(500, p) for p in (wrong, right)])
    shares, logs, best = profile(table, rng.multinomial(2000, 0.3 * right + 0.7 * wrong))
    assert shares[logs.argmax()] == pytest.approx(0.3, abs=0.06)
    assert 0 <= 2 * (best - logs.max()) < 10
    _, logs, best = profile(table, np.array([100, 100, 1700, 100]))
    assert 2 * (best - logs.max()) > 100


@pytest.mark.parametrize(("judges", "labelled"), [(1, 150), (1, 1000), (3, 300)])
def test_it_covers_where_the_rates_carry_over(judges: int, labelled: int) -> None:
    inside, errors = 0, []
    for seed in range(60):
        rng = np.random.default_rng([seed, judges, labelled])
        target = judged(2000, 0.4, rng, judges=judges)
        method = CorrectedVotes(level=0.9).fit(judged(labelled, 0.75, rng, judges=judges))
        found = method.estimate(target)
        inside += found.lower <= target.accuracy <= found.upper
        errors.append(found.value - target.accuracy)
    assert 49 <= inside <= 60
    assert abs(np.mean(errors)) < 0.06  # taken at their word they are 24 points too high


def test_judges_at_chance_say_nothing() -> None:
    target = Predictions.from_arrays(votes=[[1] * 60 + [0] * 40])
    found = CorrectedVotes().fit(counts((60, 40), (58, 42))).estimate(target)
    assert (found.lower, found.upper) == (0, 1)
    assert_snapshot(found.warnings[0])


def test_rates_that_cannot_have_carried_over_are_refused() -> None:
    """Fewer outputs are accepted than of wrong ones alone."""
    target = Predictions.from_arrays(votes=[[1] * 100 + [0] * 900])
    found = CorrectedVotes().fit(counts((450, 50), (235, 265))).estimate(target)
    assert (found.lower, found.upper) == (0, 1)
    assert_snapshot(found.warnings[0])
    rng = np.random.default_rng(3)
    drifted = judged(2000, 0.5, rng, (0.95, 0.9), judges=3).votes
    drifted[0] = rng.random(2000) < 0.2  # one judge rejects what the others accept
    three = (
        CorrectedVotes()
        .fit(judged(1000, 0.7, rng, judges=3))
        .estimate(Predictions.from_arrays(votes=drifted))
    )
    assert three.details["refuted"]


def test_what_it_needs() -> None:
    one = Predictions.from_arrays(votes=[[1, 0, 1]], correct=[1, 1, 1])
    with raises_snapshot(NotApplicable):
        CorrectedVotes().fit(one)
    with raises_snapshot(InputError):
        CorrectedVotes().fit(
            Predictions.from_arrays(votes=[[1, 0], [1, 0]], correct=[1, 0])
        ).estimate(one)


def frames(seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    rng = np.random.default_rng(seed)
    reference, target = judged(500, 0.75, rng), judged(2000, 0.3, rng)
    home = pd.DataFrame({"correct": reference.correct, "vote_judge": reference.votes[0]})
    return home, pd.DataFrame({"vote_judge": target.votes[0]}), target.accuracy


def test_the_verb_corrects_a_judge() -> None:
    reference, target, truth = frames()
    found = estimate(reference, target)
    head: Any = found.headline
    assert head.method == "votes-corrected"
    assert head.lower <= truth <= head.upper
    assert abs(head.value - truth) < 0.1
    assert found["votes"].lower > truth + 0.2  # as they are they stay beside it
    assert_snapshot(head.assumes)
    assert found.fell.verdict == "fell"
    assert "judges" in found.fell.why
    assert "public" not in f"{head.assumes} {head.why} {found.fell.why}"
    assert not head.bands


def test_votes_that_nobody_checked_deserve_no_trust() -> None:
    reference, target, _ = frames()
    head = estimate(reference[["correct"]], target, methods=["votes"]).headline
    assert head.trust == "none"
    assert_snapshot(head.why)
    fell = estimate(reference[["correct"]], target, methods=["votes"]).fell
    assert fell.verdict == "cannot say"


def test_an_audit_does_not_quote_public_shifts() -> None:
    reference, target, truth = frames()
    labels = pd.DataFrame({"row": [0, 1, 2], "correct": [0, 0, 1]})
    found = audit(reference, target, labels=labels)
    assert found.headline.lower <= truth <= found.headline.upper
    assert found.believed.interval is None
    assert_snapshot(str(found.believed.why))
