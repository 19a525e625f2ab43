"""The threshold on a grid, as in the published code: the first best step, never the upper end."""

from __future__ import annotations

import numpy as np
import pytest

import oodometer
from oodometer.errors import UsageError
from oodometer.estimators.threshold import find_threshold_on_grid


def test_the_first_best_step_is_taken_and_one_is_never_tried():
    scores = np.sort(np.random.default_rng(0).random(500))
    for count in (0, 137, 500):
        tried = [(abs(float(np.mean(scores >= k / 20)) - count / 500), k) for k in range(20)]
        assert find_threshold_on_grid(scores, count, (0.0, 1.0), 20).threshold == pytest.approx(min(tried)[1] / 20)


def test_an_estimate_by_the_grid_is_the_share_at_or_above_its_threshold():
    rng = np.random.default_rng(1)
    p = rng.dirichlet([0.5] * 3, 400)
    reference = oodometer.Predictions.from_probabilities(p, label=[int(rng.choice(3, p=row)) for row in p])
    found = oodometer.estimate(reference, reference, methods=["threshold:max_probability:10"]).estimates[0]
    threshold = found.details["threshold"]
    assert round(threshold * 10) == pytest.approx(threshold * 10)
    assert found.value == pytest.approx(np.mean(p.max(1) >= threshold))
    assert found.lower <= found.value <= found.upper


@pytest.mark.parametrize("name", ["threshold:margin:x", "threshold:margin:0", "threshold:margin:"])
def test_a_grid_that_is_no_number_of_steps_is_refused(name):
    rng = np.random.default_rng(1)
    record = oodometer.Predictions.from_probabilities(rng.dirichlet([1, 1], 60), label=rng.integers(0, 2, 60).tolist())
    if name.endswith(":"):
        assert oodometer.estimate(record, record, methods=[name]).estimates[0].method == "threshold:margin"
        return
    with pytest.raises(UsageError, match="step"):
        oodometer.estimate(record, record, methods=[name])
