"""Combinations: powered accuracy against the audit's, labels first, learnt weights of other sets."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.attributions.factors import FactorTable
from oodometer.audits.judge import ppi_plus_plus
from oodometer.errors import InputError, UsageError
from oodometer.rankings import (
    Method,
    draw_rows,
    drawn_scores,
    factor_methods,
    few_shot_evaluation,
    fit_weights,
    fixed,
    labels_first,
    leave_one_out,
    mean_evidence,
    powered_accuracy,
    scored,
)
from oodometer.rankings.combination import scaled

RNG = np.random.default_rng(0)
CORRECT = (RNG.random((4, 60)) < np.array([[0.9], [0.8], [0.7], [0.6]])).astype(float)
SCORE = np.clip(0.5 + 0.3 * CORRECT + 0.2 * RNG.random((4, 60)) - 0.1, 0, 1)
POOL = RNG.random((4, 500))
DRAWN = draw_rows(60, draws=40, size=10)


def test_powered_accuracy_is_that_of_the_audit() -> None:
    found = powered_accuracy(CORRECT, SCORE, POOL, lean="each")(DRAWN)
    for d, rows in enumerate(DRAWN):
        for m in range(4):
            value, _, _ = ppi_plus_plus(CORRECT[m, rows], SCORE[m, rows], float(POOL[m].mean()), 500, 0.95)
            assert min(max(found[d, m], 0), 1) == pytest.approx(value)


def test_a_fixed_lean_and_scores_that_do_not_vary() -> None:
    assert np.allclose(powered_accuracy(CORRECT, SCORE, POOL, lean=0.0)(DRAWN), drawn_scores(CORRECT, DRAWN))
    plain = powered_accuracy(CORRECT, SCORE, POOL, lean=1.0)(DRAWN)
    assert np.allclose(plain, drawn_scores(CORRECT - SCORE, DRAWN) + POOL.mean(axis=1))
    for lean in ("each", "shared"):
        flat = powered_accuracy(CORRECT, np.full((4, 60), 0.7), POOL, lean=lean)(DRAWN)
        assert np.array_equal(flat, drawn_scores(CORRECT, DRAWN))


def test_powered_accuracy_is_nearer_the_truth_where_confidence_follows_it() -> None:
    rng = np.random.default_rng(3)
    correct = (rng.random((3, 4000)) < 0.7).astype(float)
    score = np.clip(0.25 + 0.5 * correct + 0.1 * rng.standard_normal(correct.shape), 0, 1)
    drawn = draw_rows(400, draws=500, size=20)
    rule = powered_accuracy(correct[:, :400], score[:, :400], score[:, 400:])
    wide = drawn_scores(correct[:, :400], drawn).std(axis=0)
    assert (rule(drawn).std(axis=0) < 0.6 * wide).all()


def test_powered_accuracy_refuses_what_it_cannot_read() -> None:
    with pytest.raises(UsageError, match="shape"):
        powered_accuracy(CORRECT, SCORE[:, :5], POOL)
    with pytest.raises(UsageError, match="rows of known truth"):
        powered_accuracy(np.where(CORRECT > 0, CORRECT, np.nan), SCORE, POOL)
    for lean in ("all", None, np.nan):
        with pytest.raises(UsageError, match="lean"):
            powered_accuracy(CORRECT, SCORE, POOL, lean=lean)  # type: ignore[arg-type]


def test_evidence_never_turns_round_a_label() -> None:
    rng = np.random.default_rng(1)
    correct = rng.integers(0, 2, (5, 30)).astype(float)
    drawn = draw_rows(30, draws=300, size=7)
    accuracy = drawn_scores(correct, drawn)
    both = labels_first(correct, {"against": -correct, "pool": fixed(rng.random(5))})(drawn)
    ahead = accuracy[:, :, None] > accuracy[:, None] + 1e-9
    assert (both[:, :, None] > both[:, None])[ahead].all()
    strong = labels_first(correct, {"against": -correct}, worth=3)(drawn)
    assert not (strong[:, :, None] > strong[:, None])[ahead].all()
    assert np.array_equal(labels_first(correct, {"against": -correct}, worth=0)(drawn), accuracy)


def test_evidence_decides_ties_and_equal_evidence_leaves_them() -> None:
    right = np.array([[1, 0], [0, 1], [1, 1]], dtype=float)
    drawn = np.array([[0, 1]])
    found = labels_first(right, {"pool": fixed([0.7, 0.8, 0.1])})(drawn)[0]
    assert found[2] > found[1] > found[0]
    same = labels_first(right, {"pool": fixed([0.1 + 0.2, 0.3, 0.3])})(drawn)[0]  # they differ by rounding alone
    assert same[0] == same[1]


def test_scaling_by_hand() -> None:
    assert scaled(np.array([[1, 2, 5], [2, 2, 2], [np.nan, 1, 3], [np.nan] * 3])).tolist() == [
        [-0.5, -0.25, 0.5],
        [0, 0, 0],
        [0, -0.5, 0.5],
        [0, 0, 0],
    ]
    with pytest.raises(UsageError, match="at least one kind"):
        mean_evidence({})
    with pytest.raises(UsageError, match="worth"):
        labels_first(CORRECT, {"pool": fixed([1, 2, 3, 4])}, worth=-1)


def test_learnt_weights_follow_what_follows_the_truth() -> None:
    sets = {}
    for seed in range(3):
        rng = np.random.default_rng(seed)
        truth = rng.permutation(6) / 6
        good, bad = truth + 0.1 * rng.standard_normal((50, 6)), rng.standard_normal((50, 6))
        sets[str(seed)] = (np.stack([good, bad, -good]), truth)
    found = fit_weights(sets, ["good", "bad", "turned"])
    assert found.weights[0] == pytest.approx(-found.weights[2])
    assert found.weights[0] > 3 * abs(found.weights[1])
    # at the minimum the slope of the loss is 0: against differences in each direction
    best = _loss(sets, found.weights)
    for i in range(3):
        for step in (-1e-3, 1e-3):
            assert _loss(sets, found.weights + step * np.eye(3)[i]) >= best


def _loss(sets: dict[str, tuple[np.ndarray, np.ndarray]], weights: np.ndarray) -> float:
    total, pairs = 0.0, 0
    for evidence, truth in sets.values():
        x = (evidence - evidence.mean(axis=2, keepdims=True)) / evidence.std(axis=2, keepdims=True)
        score = np.tensordot(weights, x, 1)
        losses = [
            np.log1p(np.exp(score[:, b] - score[:, a])) for a in range(6) for b in range(6) if truth[a] > truth[b]
        ]
        total += float(np.mean(losses)) / len(sets)
        pairs += len(losses)
    return total + float(weights @ weights) / (2 * pairs)


def test_no_set_is_judged_by_what_it_taught() -> None:
    truth = [0.1, 0.2, 0.3]
    follows = np.array([[[1.0, 2.0, 3.0]]])
    sets = {"a": (follows, truth), "b": (follows, truth), "odd": (-follows, truth)}
    found = leave_one_out(sets, ["x"])
    assert found["odd"].weights[0] > 0
    assert abs(found["a"].weights[0]) < 1e-9
    assert found["a"].sets == ("b", "odd")
    with pytest.raises(UsageError, match="at least two sets"):
        leave_one_out({"a": sets["a"]}, ["x"])


def test_learnt_weights_are_a_method_of_the_protocol() -> None:
    accuracy = CORRECT.mean(axis=1)
    pieces: dict[str, Method] = {"ACC": CORRECT, "pool": fixed([0.4, 0.3, 0.2, 0.1])}
    weights = fit_weights({"other": (scored(pieces, DRAWN), accuracy)}, list(pieces))
    found = few_shot_evaluation({**pieces, "learnt": weights.rule(pieces)}, accuracy)
    assert found.few_shot[2] > found.few_shot[0]
    with pytest.raises(UsageError, match="got none for pool"):
        weights.rule({"ACC": CORRECT})
    with pytest.raises(UsageError, match="expected evidence of shape"):
        fit_weights({"other": (scored(pieces, DRAWN), accuracy)}, ["ACC"])
    with pytest.raises(InputError, match="differ in accuracy"):
        fit_weights({"other": (scored(pieces, DRAWN), [0.5] * 4)}, list(pieces))


def test_a_higher_factor_is_ranked_lower() -> None:
    a, b = (FactorTable(("adj", "verb"), np.array([[v, np.nan], [np.nan] * 2])) for v in (1.0, 0.5))
    methods = factor_methods({"a": a, "b": b})
    assert list(methods) == ["adj"]
    found = few_shot_evaluation(methods, [0.9, 0.1], draws=200, size=3)
    none = float((draw_rows(2, draws=200, size=3) == 1).all(axis=1).mean())
    assert found.few_shot[0] == pytest.approx(none / 2)  # wrong wherever its words occur, else a tie
    with pytest.raises(UsageError, match="at least two models"):
        factor_methods({"a": a})
    with pytest.raises(UsageError, match="others for b"):
        factor_methods({"a": a, "b": FactorTable(("adj",), np.ones((1, 2)))})
