"""Traps of published code, one test each; every one of them has cost somebody a table of results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.neighbors import NearestNeighbors

from oodometer import Predictions, estimate
from oodometer.arrays import softmax
from oodometer.errors import InputError, NotApplicable
from oodometer.estimators.threshold import ScoreThreshold, find_threshold, total_credit
from oodometer.passes.plan import default_methods
from oodometer.registry import create
from oodometer.scores import NeighborDistance
from oodometer.testing import example_record

from ..snapshots import raises_snapshot


def overconfident(rows: int, seed: int, sharpness: float = 3.0) -> Predictions:
    """Labels drawn from softmax(z), the model says softmax(3 z)."""
    rng = np.random.default_rng([seed, rows])
    z = rng.standard_normal((rows, 4))
    label = (softmax(z).cumsum(axis=1) > rng.random((rows, 1)) * (1 - 1e-9)).argmax(axis=1)
    return Predictions.from_probabilities(softmax(sharpness * z), label=label)


def test_trap_temperature_fitted_and_never_applied() -> None:
    """The mean confidence of the target must be the calibrated one, in the estimate and in the picture of it."""
    reference, target = overconfident(3000, 1), overconfident(3000, 2)
    found = estimate(reference, target, methods=["ac"])
    assert found.calibration["temperature"] == pytest.approx(3.0, rel=0.2)
    assert found["ac"].value == pytest.approx(target.accuracy, abs=0.03)
    assert target.top.first.mean() > target.accuracy + 0.2, (
        "what it would be if it were not applied"
    )
    middle = (np.arange(20) + 0.5) / 20
    assert found.confidence["target"] @ middle == pytest.approx(found["ac"].value, abs=0.02)
    assert found.confidence["reference"] @ middle == pytest.approx(reference.accuracy, abs=0.03)


def test_trap_threshold_search_that_starts_at_zero() -> None:
    """All scores are below 0: such a search leaves the threshold at 0 and answers that nothing is right."""
    reference = Predictions.from_probabilities(
        [[0.9, 0.1]] * 8 + [[0.6, 0.4]] * 2, label=[0] * 8 + [1] * 2
    )
    for name in (
        "atc-entropy",
        "threshold:negative_entropy",
        "threshold-classwise:negative_entropy",
    ):
        assert create("estimator", name).fit(reference).estimate(reference).value == pytest.approx(
            0.8
        ), name


def test_trap_off_by_one_in_the_threshold_rank() -> None:
    """Distinct scores, any number of correct ones: the reference is matched to the last sample."""
    confidence = (np.arange(50) + 0.5) / 50
    for right in range(51):
        reference = Predictions.from_confidence(confidence, correct=np.arange(50) < right)
        found = create("estimator", "atc").fit(reference).estimate(reference)
        assert round(found.value * 50, 9) == right


def refusal(method: Any, reference: Predictions, target: Predictions) -> str | None:
    """Why a method does not answer, or None where it does."""
    try:
        method.fit(reference).estimate(target)
    except NotApplicable as error:
        return str(error)
    return None


MAY_REFUSE = (
    "importance",
    "pape",
    "mandoline",
    "dis2",
    "aline-s",
    "aline-d",
    "bbse",
    "sld",
    "cot",
    "cott",
    "votes-corrected",
)


@pytest.mark.parametrize(
    "name", [*default_methods(), "threshold", "ac:vote_share", "threshold:neighbor_distance"]
)
def test_trap_crash_at_zero_correct_or_zero_errors(name: str) -> None:
    """One class of verdicts, in a small and in a usual reference, and with a single row."""
    target = example_record(60, seed=2, labelled=False)
    for rows in (1, 3, 150):
        record = example_record(rows, seed=1)
        bare = {f: getattr(record, f) for f in record.fields if f != "label"}
        for label in (record.predicted, (record.predicted + 1) % 4):
            made, record_now = (
                create("estimator", name),
                Predictions.from_arrays(**bare, label=label),
            )
            if name in MAY_REFUSE and (why := refusal(made, record_now, target)) is not None:
                assert why, "what cannot be learnt from so little may be refused, with a reason"
                continue
            found = made.fit(record_now).estimate(target)
            assert 0 <= found.lower <= found.value <= found.upper <= 1
            assert found.upper > found.lower, "no error seen does not mean that none can happen"


def test_trap_weights_compared_with_equality() -> None:
    """A share of ties, or a distance, that is off by one bit must change nothing that can be seen."""
    scores = np.sort(np.repeat([0.2, 0.5, 0.9], 7))
    for cut in (
        find_threshold(scores, 14),
        find_threshold(scores, 14 - 1e-13),
        ScoreThreshold(0.5, 1 - 2**-53),
    ):
        assert total_credit(scores, cut) == pytest.approx(14)
    rng = np.random.default_rng(0)
    features = rng.standard_normal((200, 128)).astype(np.float32) + 3
    record = Predictions.from_arrays(features=features)
    score = NeighborDistance().fit(record)
    own, new = score.leave_one_out(record), score(Predictions.from_arrays(features=features + 0))
    index = NearestNeighbors(n_neighbors=1, algorithm="brute").fit(features)
    distances, _ = index.kneighbors(features)
    assert (distances[:, 0] != 0).any(), "a distance of a row to itself that is not exactly 0"
    assert (own < new).all(), "each row without itself is farther from the rest"


@pytest.mark.parametrize("ending", ["parquet", "csv", "jsonl", "npz"])
def test_trap_values_outside_0_and_1_taken_for_logits_batch_by_batch(
    ending: str, tmp_path: Path
) -> None:
    """Logits that lie in [0, 1] for the first 60 000 rows: no batch may be read in another way than the others."""
    import pandas as pd

    rows = 61_000
    p = np.full((rows, 2), 0.5)
    p[60_500] = [2.5, -1.5]
    path = tmp_path / f"target.{ending}"
    frame = pd.DataFrame({"prob_0": p[:, 0], "prob_1": p[:, 1]})
    if ending == "npz":
        np.savez(path, probabilities=p)
    elif ending == "jsonl":
        frame.to_json(path, orient="records", lines=True)
    else:
        getattr(frame, f"to_{ending}")(path, index=False)
    reference = Predictions.from_probabilities([[0.9, 0.1], [0.2, 0.8]] * 30, label=[0, 0] * 30)
    with raises_snapshot(InputError):
        estimate(reference, path, methods=["source", "ac"])


@pytest.mark.parametrize("times", [2, 7])
def test_trap_measures_that_grow_with_the_number_of_rows(times: int) -> None:
    """Sums of logarithms, norms that are not divided: the target repeated must be given the same accuracy."""
    reference, target = (
        example_record(300, seed=1),
        example_record(120, seed=2, difficulty=1.5, labelled=False),
    )
    one = estimate(reference, target)
    more = estimate(reference, Predictions.concat([target] * times))
    assert len(one.estimates) > 12
    learn_from_the_target = {"importance", "pape", "dis2"}  # the same rows again are other folds
    for a in one.estimates:
        if a.method not in learn_from_the_target:
            assert more[a.method].value == pytest.approx(a.value, abs=1e-4), a.method
            assert more[a.method].interval.width <= a.interval.width + 1e-4, a.method
    np.testing.assert_allclose(one.risk_coverage.y, more.risk_coverage.y)
