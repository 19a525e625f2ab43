"""Small parts that methods share, each by an example."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer import Predictions
from oodometer.diagnoses.column_drift import _number, homogeneity
from oodometer.diagnoses.diagnostician import asking_for
from oodometer.estimators.votes import said_of_rates
from oodometer.inference.clusters import (
    cells_effect,
    clustered_error,
    named_repeats,
    student_quantile,
)
from oodometer.metrics.calibration import CalibrationBins, population_error
from oodometer.metrics.failure_cases import tail_difference
from oodometer.metrics.resampling import RankBins, from_bootstrap, from_effective_rows
from oodometer.metrics.votes import MEASURES, discrimination
from oodometer.scores import NegativeEntropy

CONFIDENCE = np.array([0.9, 0.8])
BINS = RankBins(
    np.array([[2.0, 4.0]]), np.array([[0.0, 1.0]]), CONFIDENCE, np.array([0.9, 0.7]), True
)
CELLS = CalibrationBins.of(np.array([0.9, 0.8, 0.1]), np.array([1, 0, 0]), 2)
NULL = np.array([0.05, 0.11])
EVEN = Predictions.from_candidates([[1.0, 1.0], [2.0, 2.0, 2.0]], label=[0, 0])

RATES = {
    "accepted": 0.7,
    "judges": [{"judge": "a", "sensitivity": 0.9, "false_alarms": 0.47}],
    "reference_rows": {"right": 500, "wrong": 500},
}


def tail(wrong: list[float]) -> RankBins:
    return RankBins(np.array([[1.0, 2.0]]), np.array([wrong]), CONFIDENCE, CONFIDENCE, False)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ([_number(x) for x in (39291.4, 4.60004, 0.000123)], ["39,291", "4.6", "0.000123"]),
        (asking_for("P(x | y)"), ("label-shift", "bbse", "sld", "leap", "s-leap")),
        (student_quantile(0.95, 9), pytest.approx(2.262, abs=1e-3)),
        (cells_effect(np.repeat(np.arange(50), 10), np.repeat(np.arange(50) % 2, 10)) > 10, True),
        (clustered_error((1.0, 5.0), (0.9, 1000), (0.5, 100)), pytest.approx(0.1)),
        (clustered_error((1.0, 1.0), (0.9, 1000), (0.5, 100)), 0.0),
        (named_repeats(["a", "b", "a"]), ["a_epoch_1", "b", "a_epoch_2"]),
        (named_repeats(["a", "b", "a"], [2, 1, 1]), ["a_epoch_2", "b", "a_epoch_1"]),
        (
            said_of_rates(RATES),
            "uncorrected, the votes say 70.0 %; on the reference they accept 90.0 % of the right and 47.0 % of the "
            "wrong outputs",
        ),
        (population_error(0.1, np.array([0.08, 0.12]), 0.1, NULL, (100, 40), 0.95).lower, 0.0),
        (
            (CELLS.counts.tolist(), CELLS.sums.round(3).tolist()),
            ([[1, 0], [1, 1]], [[0.1, 0.0], [0.8, 0.9]]),
        ),
        (tail_difference(tail([1.0, 1.0]), tail([0.0, 1.0])).tolist(), [1.0]),
        (BINS.at_ranks(np.array([[1, 3]])).accuracy.round(3).tolist(), [[1.0, 0.833]]),
        (BINS.at_coverages(np.array([0.75])).confidence.tolist(), [[0.75]]),
        (from_bootstrap(0.1, np.full(9, 0.1), rows=1, rarer=0, level=0.95), (0.0, 1.0)),
        (
            from_effective_rows(0.8, 0.0016, few=50, level=0.95),
            pytest.approx((0.711, 0.867), abs=1e-3),
        ),
        (from_effective_rows(1.0, 0.0, few=50, level=0.95), pytest.approx((0.929, 1.0), abs=1e-3)),
        (
            [
                discrimination(np.array([[1, 6]]), np.array([4, 8]), 0.95)[0][m].value
                for m in ("accepted", *MEASURES)
            ],
            pytest.approx([0.583, 0.75, 0.857, 0.75, 0.6], abs=1e-3),
        ),
        (NegativeEntropy()(EVEN).tolist(), pytest.approx([-0.6931, -1.0986], abs=1e-4)),
    ],
)
def test_examples(value: Any, expected: Any) -> None:
    assert value == expected


def test_homogeneity() -> None:
    here = np.array([500.0, 300, 200])
    assert homogeneity(here, np.array([251.0, 148, 101])) == pytest.approx(0.97, abs=5e-3)
    assert homogeneity(here, here[::-1]) < 1e-9
