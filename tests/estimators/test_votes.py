"""Voting bounds for any k of n, MaxProb, and the oracle's bounds, against loops and by brute force."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from oodometer import Predictions, estimate
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import MaxProb, VotingBounds, max_prob_oracle
from oodometer.intervals import clopper_pearson, wilson
from oodometer.passes.plan import default_methods
from oodometer.registry import create, names

# Five outputs that 4, 3, 2, 1 and 0 of four judges accept.
LADDER = np.array([[1, 1, 1, 1, 0], [1, 1, 1, 0, 0], [1, 1, 0, 0, 0], [1, 0, 0, 0, 0]])
HAND = Predictions.from_arrays(votes=LADDER)


@pytest.mark.parametrize(("agree", "low", "high"), [(None, 0.2, 0.8), (4, 0.2, 0.8), (3, 0.4, 0.6)])
def test_by_hand(agree: int | None, low: float, high: float) -> None:
    found = VotingBounds(agree=agree).fit(HAND).estimate(HAND)
    assert (found.details["lower_bound"], found.details["upper_bound"]) == pytest.approx((low, high))
    assert found.value == pytest.approx((low + high) / 2)
    assert found.lower == pytest.approx(wilson(low, 5, 0.95)[0])
    assert found.upper == pytest.approx(wilson(high, 5, 0.95)[1])
    assert found.kind == "empirical"


@given(data=st.data())
def test_any_k_is_that_of_loops(data: st.DataObject) -> None:
    rows, judges = data.draw(st.integers(1, 10)), data.draw(st.integers(1, 5))
    votes = [data.draw(st.lists(st.booleans(), min_size=rows, max_size=rows)) for _ in range(judges)]
    agree = data.draw(st.integers(judges // 2 + 1, judges))
    record = Predictions.from_arrays(votes=votes)
    found = VotingBounds(agree=agree).fit(record).estimate(record)
    said = [sum(v[i] for v in votes) for i in range(rows)]
    low = sum(s >= agree for s in said) / rows
    high = sum(s >= judges - agree + 1 for s in said) / rows
    assert (found.details["lower_bound"], found.details["upper_bound"]) == pytest.approx((low, high))
    assert found.lower <= low <= found.value <= high <= found.upper
    for step in found.details["ladder"]:
        count = sum(s >= step["at_least"] for s in said)
        assert (step["value"], step["kind"]) == (count / rows, "exact")
        assert (step["lower"], step["upper"]) == pytest.approx(clopper_pearson(count, rows, 0.95))
    assert [j["value"] for j in found.details["by_judge"]] == pytest.approx([sum(v) / rows for v in votes])
    assert found.details["single"] == found.details["by_judge"][0]
    assert [b["agree"] for b in found.details["bounds"]] == list(range(judges, judges // 2, -1))


def test_k_by_name() -> None:
    found = estimate(HAND_LABELLED, HAND, methods=["votes", "votes:3"])
    assert [e.method for e in found.estimates] == ["votes", "votes:3"]
    assert found["votes:3"].value == 0.5
    assert found["votes:3"].upper - found["votes:3"].lower < found["votes"].upper - found["votes"].lower
    assert create("estimator", "votes:3").agree == 3


@pytest.mark.parametrize("name", ["votes:x", "votes:0", "votes:", "max-prob:much", "max-prob:1", "max-prob:-0.1"])
def test_arguments_that_make_no_sense(name: str) -> None:
    with pytest.raises(UsageError, match="expected"):
        create("estimator", name)


@pytest.mark.parametrize("agree", [1, 2, 5])
def test_no_majority_makes_no_bounds(agree: int) -> None:
    with pytest.raises(UsageError, match="a majority of the 4 judges, 3 to 4, got"):
        VotingBounds(agree=agree).fit(HAND)


def test_a_target_with_fewer_judges_than_must_agree() -> None:
    fitted = VotingBounds(agree=4).fit(HAND)
    with pytest.raises(UsageError, match="a majority of the 3 judges"):
        fitted.estimate(Predictions.from_arrays(votes=LADDER[:3]))


def test_parts_with_other_judges_do_not_merge() -> None:
    method = VotingBounds().fit(HAND)
    with pytest.raises(InputError, match="the same judges, got 4 and 1"):
        method.merge(method.summarize(HAND), method.summarize(Predictions.from_arrays(votes=LADDER[:1])))


def test_one_judge_makes_no_bounds() -> None:
    record = Predictions.from_arrays(votes=LADDER[:1])
    found = VotingBounds().fit(record).estimate(record)
    assert found.details["lower_bound"] == found.details["upper_bound"] == found.value == 0.8
    assert "one judge makes no bounds" in found.warnings[0]


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
    found = VotingBounds().fit(Predictions.from_arrays(votes=votes, correct=correct)).estimate(HAND_TWO)
    assert found.details["reference"]["inside"] is False
    assert found.details["reference"]["refuted"] is refuted
    assert ("by more than chance" in " ".join(found.warnings)) is refuted


HAND_TWO = Predictions.from_arrays(votes=LADDER[:2])


def test_labels_without_predictions_are_no_truth() -> None:
    record = Predictions.from_arrays(votes=[[1, 0]], label=[0, 1])
    assert "reference" not in VotingBounds().fit(record).estimate(record).details


@given(
    confidence=st.lists(st.sampled_from([0.0, 0.2, 0.5, 0.5000001, 0.9, 1.0]), min_size=1, max_size=20),
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
    assert [(e.method, e.value) for e in found.estimates] == [("max-prob", 0.5), ("max-prob:0.95", 0.0)]


def test_the_oracle_by_hand() -> None:
    """Three right answers at 0.9, 0.7 and 0.6, two wrong ones at 0.8 and 0.2."""
    given_: dict[str, Any] = {"confidence": [0.9, 0.8, 0.7, 0.6, 0.2], "correct": [1, 0, 1, 1, 0]}
    all_ = max_prob_oracle(**given_, correct_recall=1.0, incorrect_recall=1.0)
    assert (all_.upper.value, all_.upper_threshold) == (0.8, 0.6)  # everything but 0.2 is taken for right
    assert (all_.lower.value, all_.lower_threshold) == (0.2, 0.8)  # 0.9 alone is not taken for wrong
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
    lowers = [(confidence > g).mean() for g in cuts if (~correct & (confidence <= g)).sum() == misses]
    assert found.upper.value == pytest.approx(min(uppers))
    assert found.lower.value == pytest.approx(max(lowers))


def test_the_oracle_shares_out_ties() -> None:
    found = max_prob_oracle([0.5] * 10, [1] * 6 + [0] * 4, correct_recall=0.5, incorrect_recall=0.25)
    assert (found.upper.value, found.lower.value) == pytest.approx((0.5, 0.75))


def test_the_oracle_refuses_what_cannot_be() -> None:
    with pytest.raises(NotApplicable, match="all 2 answers are right"):
        max_prob_oracle([0.5, 0.6], [1, 1], 1.0, 1.0)
    with pytest.raises(UsageError, match="correct_recall from 0 to 1, got 97"):
        max_prob_oracle([0.5, 0.6], [1, 0], 97, 1.0)
    with pytest.raises(InputError, match="confidence"):
        max_prob_oracle([1.5, 0.6], [1, 0], 1.0, 1.0)


def test_judges_of_the_target_alone_will_do() -> None:
    """A reference without votes teaches nothing about the judges, and takes nothing from their bounds."""
    reference = Predictions.from_arrays(confidence=[0.9, 0.8, 0.3, 0.2], correct=[1, 1, 0, 0])
    target = Predictions.from_arrays(confidence=[0.9, 0.8, 0.3, 0.2], votes=[[1, 1, 0, 0], [1, 0, 0, 0]])
    found = VotingBounds().fit(reference).estimate(target)
    assert (found.details["lower_bound"], found.details["upper_bound"]) == (0.25, 0.5)
    assert found == VotingBounds().fit(target).estimate(target)
    with pytest.raises(NotApplicable, match="needs `votes`"):
        VotingBounds().fit(target).estimate(reference)
    with pytest.raises(UsageError, match="majority of the 2 judges"):
        VotingBounds(agree=3).fit(reference).estimate(target)
