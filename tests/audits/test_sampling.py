"""Draws and suggestions: unbiased over thousands of seeds and by enumeration, weights in bounds, gaps, repetitions."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import oodometer
from oodometer.audits.labels import LEVEL, unlike
from oodometer.audits.proxy import Correctness
from oodometer.audits.suggestion import choose_share, suggest
from oodometer.errors import NotApplicable, UsageError
from oodometer.inference.betting import (
    SampledRows,
    betting_interval,
    sampled_game,
    sampled_mean,
    sizes,
)
from oodometer.predictions import Predictions

from ..snapshots import assert_snapshot, raises_snapshot


def target(rows: int, seed: int = 0, error: float = 0.1) -> tuple[np.ndarray, np.ndarray]:
    """f and the truth of a target whose f is calibrated."""
    rng = np.random.default_rng(seed)
    score = rng.beta(1.5 * (1 - error), 1.5 * error, size=rows)
    return score, (rng.random(rows) < score).astype(float)


def test_even_draws_give_the_difference_estimator() -> None:
    score, right = target(50)
    row = np.arange(0, 50, 7)
    found = sampled_mean(row, right[row], np.ones(len(row)), score, 0.7)
    assert found == pytest.approx(0.7 * score.mean() + np.mean(right[row] - 0.7 * score[row]))


@pytest.mark.parametrize("share", [1.0, 0.5, 0.3])
def test_unbiased_over_every_possible_draw(share: float) -> None:
    """All ordered draws of 3 rows out of 5, weighed by their chance worked out by hand."""
    score, right = np.array([0.3, 0.95, 0.6, 1.0, 0.8]), np.array([1, 1, 0, 0, 1.0])
    size = sizes(score, share)
    total = 0.0
    for draw in itertools.permutations(range(5), 3):
        chance, left = 1.0, size.sum()
        for i in draw:
            chance *= size[i] / left
            left -= size[i]
        row = np.array(draw)
        total += chance * float(sampled_mean(row, right[row], np.full(3, share), score, 0.8))
    assert total == pytest.approx(right.mean(), abs=1e-12)


@pytest.mark.parametrize("side", [1, -1])
def test_the_game_is_fair_over_every_possible_draw(side: int) -> None:
    """The expected capital against the truth is 1, with weights and predictions, whatever was bet."""
    from oodometer.inference import betting

    score, right = np.array([0.3, 0.95, 0.6, 1.0, 0.8]), np.array([1, 1, 0, 0, 1.0])
    size = sizes(score, 0.4)
    rows = np.array(list(itertools.permutations(range(5), 3)))
    drawn = size[rows]
    chance = (drawn / (size.sum() - np.cumsum(drawn, axis=1) + drawn)).prod(axis=1)
    game = sampled_game(rows, right[rows], np.full(3, 0.4), score, 0.8)
    capital = np.exp(betting._log_capital(game, np.full((len(rows), 1), right.mean()), 20.0, side))[
        :, 0
    ]
    assert chance.sum() == pytest.approx(1.0)
    assert float(chance @ capital) == pytest.approx(1.0, abs=1e-9)
    assert (game.value >= game.low - 1e-12).all()
    assert (game.value <= game.high + 1e-12).all()


def test_suggestions_are_unbiased_over_2000_seeds_and_keep_their_level() -> None:
    score, right = target(1000, seed=3)
    count, share = 160, choose_share(score, 1.0, 160, 0.9)
    assert share < 0.7
    found = [suggest(score, 1.0, count, 0.9, share=share, seed=seed).row for seed in range(2000)]
    row = np.stack(found)
    mean = sampled_mean(row, right[row], np.full(count, share), score, 1.0)
    error = mean - right.mean()
    assert abs(error.mean()) < 3.5 * error.std() / math.sqrt(len(error))
    low, high = betting_interval(
        sampled_game(row[:400], right[row[:400]], np.full(count, share), score, 1.0), 0.9
    )
    assert np.mean((low <= right.mean()) & (right.mean() <= high)) >= 0.88
    # the naive mean of the suggested rows is far off: they are the hard ones
    assert right[row].mean() < right.mean() - 0.05


def test_label_audit_label_again_is_unbiased() -> None:
    """Twenty random labels, then 160 suggested ones, joined."""
    score, right = target(500, seed=4)
    share_of_more = choose_share(score, 1.0, 180, 0.9)
    assert share_of_more < 1
    errors = []
    for seed in range(1000):
        first = np.random.default_rng([seed, 1]).permutation(500)[:20]
        more = suggest(score, 1.0, 160, 0.9, labelled=first, share=share_of_more, seed=seed)
        row = np.concatenate([first, more.row])
        share = np.concatenate([np.ones(20), np.full(160, more.share)])
        assert len(set(row.tolist())) == 180
        errors.append(float(sampled_mean(row, right[row], share, score, 1.0)) - right.mean())
    assert abs(np.mean(errors)) < 3.5 * np.std(errors) / math.sqrt(len(errors))


def test_suggested_labels_err_less_than_random_ones() -> None:
    score, right = target(2000, seed=5, error=0.05)
    rng = np.random.default_rng(6)
    even = np.stack([rng.permutation(2000)[:200] for _ in range(300)])
    share = choose_share(score, 1.0, 200, 0.9)
    bold = np.stack([suggest(score, 1.0, 200, 0.9, share=share, seed=s).row for s in range(300)])
    assert share < 0.8
    random = sampled_mean(even, right[even], np.ones(200), score, 0.0) - right.mean()
    chosen = sampled_mean(bold, right[bold], np.full(200, share), score, 1.0) - right.mean()
    assert np.mean(chosen**2) < 0.5 * np.mean(random**2)


@given(st.integers(5, 200), st.integers(0, 10_000), st.sampled_from([1.0, 0.6, 0.3]))
def test_sizes_have_mean_one_and_bounded_weights(rows: int, seed: int, share: float) -> None:
    score = np.random.default_rng(seed).random(rows)
    size = sizes(score, share)
    assert size.mean() == pytest.approx(1.0)
    assert size.min() >= share - 1e-12


def test_a_suggestion_tells_its_chances() -> None:
    score, _ = target(500, seed=7)
    found = suggest(score, 1.0, 200, 0.9, seed=1)
    size = sizes(score, found.share)
    left = size.sum() - np.concatenate([[0], np.cumsum(size[found.row])[:-1]])
    assert found.probability == pytest.approx(size[found.row] / left)
    assert found.weight == pytest.approx(1 / (found.probability * (500 - np.arange(200))))
    assert found.weight.max() <= 1.3 / found.share
    assert set(found.stratum.tolist()) <= set(range(10))
    again = suggest(score, 1.0, 200, 0.9, seed=1)
    assert (again.row == found.row).all()
    assert (suggest(score, 1.0, 200, 0.9, seed=2).row != found.row).any()


def test_hard_rows_come_first() -> None:
    score = np.concatenate([np.full(900, 0.99), np.full(100, 0.6)])
    found = suggest(score, 1.0, 300, 0.9)
    assert np.mean(found.row >= 900) > 0.15  # ten in a hundred of the target


def test_few_labels_are_drawn_evenly() -> None:
    score, _ = target(1000, seed=8, error=0.02)
    assert choose_share(score, 1.0, 10, 0.9) == 1.0
    assert choose_share(score, 1.0, 400, 0.9) < 0.7


def test_labelled_rows_are_left_out_to_the_last() -> None:
    score, _ = target(30, seed=9)
    found = suggest(score, 1.0, 20, 0.9, labelled=np.arange(10))
    assert sorted(found.row.tolist()) == list(range(10, 30))
    for count in (0, 21):
        with raises_snapshot(UsageError):
            suggest(score, 1.0, count, 0.9, labelled=np.arange(10))


def test_constant_predictions_mean_even_chances() -> None:
    assert sizes(np.full(10, 1.0), 0.3).tolist() == [1.0] * 10
    assert sizes(np.full(10, 0.7), 0.3) == pytest.approx(np.ones(10))


def test_the_order_of_a_file_changes_nothing() -> None:
    row, correct = np.array([7, 3, 9, 1]), np.array([1, 0, 1, 1])
    turned = SampledRows.evenly(row[::-1], correct[::-1])
    assert (turned.row == SampledRows.evenly(row, correct).row).all()
    assert (turned.correct == SampledRows.evenly(row, correct).correct).all()


def test_all_rows_labelled_is_the_truth() -> None:
    score, right = target(12, seed=1)
    everything = SampledRows.evenly(np.arange(12), right)
    drawn = everything.row, everything.correct, everything.share
    assert sampled_mean(*drawn, score, 1.0, everything.gaps) == right.mean()


def test_correctness_is_the_rate_at_each_confidence() -> None:
    confidence = np.tile([0.55, 0.9], 500)
    correct = np.tile([1, 1, 0, 1], 250)  # half of the unsure ones, all of the sure ones
    learnt = Correctness.fit(Predictions.from_confidence(confidence, correct=correct))
    found = learnt(Predictions.from_confidence([0.55, 0.9]))
    assert found == pytest.approx([0.5, 1.0], abs=0.02)
    assert learnt.slope > 0.95


def test_noise_is_not_leant_on() -> None:
    """Learnt and judged on the same rows an isotonic map always seems to know something."""
    rng = np.random.default_rng(2)
    record = Predictions.from_confidence(rng.uniform(0.5, 1, 100), correct=rng.random(100) < 0.8)
    assert Correctness.fit(record).slope < 0.6


def test_without_confidence_f_is_the_reference_accuracy() -> None:
    learnt = Correctness.fit(Predictions.from_classes([0, 1, 1, 0], label=[0, 1, 1, 1]))
    assert learnt(Predictions.from_classes([0, 1])).tolist() == [0.75, 0.75]
    assert learnt.slope == 0


def test_edges_of_the_reference() -> None:
    alone = Correctness.fit(Predictions.from_confidence([0.9], correct=[1]))
    assert alone.slope == 0
    assert 0 <= alone(Predictions.from_confidence([0.2]))[0] <= 1
    with pytest.raises(NotApplicable, match="labelled"):
        Correctness.fit(Predictions.from_confidence([0.9, 0.8]))
    flawless = Correctness.fit(Predictions.from_confidence([0.9, 0.8] * 50, correct=[1] * 100))
    assert flawless.slope == 0


ROWS = 1000
rng = np.random.default_rng(11)
P = 1 / (1 + np.exp(0.5 - 2 * rng.standard_normal(2 * ROWS)))
TRUE = (rng.random(2 * ROWS) < P).astype(int)
REFERENCE = pd.DataFrame({"prob_1": P[ROWS:], "label": TRUE[ROWS:]})
TARGET = pd.DataFrame({"id": np.arange(ROWS), "prob_1": P[:ROWS]})
LABELS = TARGET[["id"]].assign(label=TRUE[:ROWS])
RIGHT = ((P > 0.5) == TRUE)[:ROWS].mean()


def test_random_rows_are_seldom_said_to_be_none() -> None:
    alarms = 0
    cell = np.minimum((P[:ROWS] * 60).astype(int), 59)
    for draw in range(2000):
        chosen = np.random.default_rng(draw).permutation(ROWS) < 120
        counts = np.stack([np.bincount(cell[one], minlength=60) for one in (chosen, ~chosen)])
        said = np.stack(
            [np.bincount(P[:ROWS][one] > 0.5, minlength=2) for one in (chosen, ~chosen)]
        )
        alarms += unlike(counts, said, np.bincount(TRUE[:ROWS][chosen], minlength=2)) is not None
    assert alarms <= 2000 * LEVEL * 3.5


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        (LABELS["label"] == 1, "all of them are of one class"),
        (TARGET["prob_1"] > 0.4, "other classes are predicted for them than for the other rows"),
        (
            np.abs(TARGET["prob_1"] - 0.5) > 0.25,
            "their confidence is higher than that of the other rows",
        ),
    ],
)
def test_chosen_rows_are_named_and_no_interval_is_exact(rows: Any, why: str) -> None:
    chosen = LABELS[rows].sample(200, random_state=0)
    found = oodometer.audit(REFERENCE, TARGET, labels=chosen, methods=["ac"])
    assert {found.estimate.kind, found.label_only.kind, *(one.kind for one in found.intervals)} == {
        "conditional"
    }
    assert found.not_random is not None
    assert found.to_dict()["not_random"].startswith(why)
    assert found.believed.interval is None
    assert any(
        one.startswith("the labelled rows are no random sample") and why in one
        for one in found.warnings
    )
    estimated = oodometer.estimate(
        REFERENCE, TARGET, labels=chosen, methods=["ac", "doc"], key="id"
    )
    assert not estimated.by_labels
    assert_snapshot(estimated.warnings)


def test_random_and_suggested_rows_stay_exact(tmp_path: Any) -> None:
    found = oodometer.audit(
        REFERENCE, TARGET, labels=LABELS.sample(200, random_state=0), methods=["ac"]
    )
    assert (found.estimate.kind, found.not_random) == ("exact", None)
    for way in ("random", "confidence"):
        sheet = tmp_path / f"{way}.csv"
        oodometer.audit(REFERENCE, TARGET, suggest=150, suggest_by=way, out=sheet, methods=["ac"])
        asked = pd.read_csv(sheet)
        asked["label"] = LABELS.set_index("id")["label"].loc[asked["id"]].to_numpy()
        asked.to_csv(sheet, index=False)
        made = oodometer.audit(REFERENCE, TARGET, labels=sheet, methods=["ac"])
        assert (made.estimate.kind, made.not_random) == ("exact", None)


def test_all_rows_labelled_need_no_test() -> None:
    target, one = (
        REFERENCE[REFERENCE["label"] == 1][["prob_1"]],
        REFERENCE[REFERENCE["label"] == 1][["label"]],
    )
    found = oodometer.audit(REFERENCE, target, labels=one, methods=["ac"])
    assert (found.estimate.kind, found.not_random) == ("exact", None)
