"""Own history against a dense Gaussian computation of the same model, and what it must do when things change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import invgamma, multivariate_normal, norm

from oodometer.audits.judge import EVEN
from oodometer.headline import own_history
from oodometer.headline.own_history import (
    INPUTS,
    PUBLIC,
    REFERENCE,
    PastPeriod,
    Reading,
    before,
    given_past,
    quantiles_of,
    together,
    truth_by_labels,
)


def reading(
    value: float, rows: int = 1500, moved: float | None = 0.1, width: float = 0.2
) -> Reading:
    return Reading({PUBLIC: value - 0.02, INPUTS: value, REFERENCE: 0.9}, rows, width, 0.7, moved)


def log_odds(p: float) -> float:
    return float(np.log(p / (1 - p)))


def dense(past: list[PastPeriod], now: Reading, at: float) -> np.ndarray:
    """The distribution function of own history alone: level and residuals as one Gaussian vector per hypothesis."""
    inner, total, weights = EVEN[1:-1], {}, {}
    for name, value in now.values.items():
        logs, parts = [], []
        for scale in own_history._SCALES:
            for drift, chance in own_history._DRIFTS.items():
                times = np.array([one.at for one in past] + [at])
                elapsed = np.minimum.outer(times - times[0], times - times[0])
                level = scale**2 / own_history._LEVEL + (drift * scale) ** 2 * elapsed
                said = [one.reading.values[name] for one in past]
                z = np.array(
                    [
                        (log_odds(one.truth) - log_odds(s)) / 0.7
                        for one, s in zip(past, said, strict=True)
                    ]
                )
                rates = np.clip([*said, value], 0.02, 0.98)
                rows = np.array([one.reading.rows for one in past] + [now.rows])
                errors = np.array([one.error for one in past] + [0.0])
                slopes = 1 / (rates * (1 - rates))
                noise = (own_history._NOISE * slopes / rows + (errors * slopes) ** 2) / 0.49
                covariance = level + np.diag(scale**2 + noise)
                known = covariance[:-1, :-1]
                # of the logarithm of the scale, so that the even grid stands for the density
                prior = invgamma(own_history._SHAPE, scale=own_history._RATE).logpdf(
                    scale**2
                ) + 2 * np.log(scale)
                logs.append(
                    prior + np.log(chance) + multivariate_normal(np.zeros(len(z)), known).logpdf(z)
                )
                gain = np.linalg.solve(known, covariance[:-1, -1])
                spread = np.sqrt(covariance[-1, -1] - gain @ covariance[:-1, -1])
                parts.append(
                    norm(gain @ z, spread).cdf(
                        (np.log(inner / (1 - inner)) - log_odds(value)) / 0.7
                    )
                )
        each = np.exp(np.array(logs) - max(logs))
        total[name] = (each[:, None] * np.array(parts)).sum(axis=0) / each.sum()
        weights[name] = np.log(each.sum()) + max(logs)
    shares = np.exp(np.array([*weights.values()]) - max(weights.values()))
    inside = (shares[:, None] * np.array([*total.values()])).sum(axis=0) / shares.sum()
    return np.concatenate([[0.0], inside, [1.0]])


def test_filter_equals_the_dense_computation() -> None:
    rng = np.random.default_rng(0)
    past = [
        PastPeriod(
            str(at),
            float(at),
            reading(0.85 + 0.02 * rng.normal()),
            0.82 + 0.02 * rng.normal(),
            error,
        )
        for at, error in ((1, 0.0), (2, 0.02), (5, 0.0), (6, 0.0))
    ]
    found = given_past(past, reading(0.86), 8.0, EVEN)
    own = (found.cdf - found.guard * EVEN) / (1 - found.guard)
    assert (
        np.abs(own - dense(past, reading(0.86), 8.0)).max() < 2e-3
    )  # hypotheses below 1e-4 of the best are unheard


def test_interval_narrows_with_periods_and_follows_their_errors() -> None:
    widths = []
    for many in (1, 3, 10):
        past = [PastPeriod(str(t), float(t), reading(0.86), 0.80) for t in range(many)]
        nine = given_past(past, reading(0.86), float(many), EVEN).interval(0.9)
        widths.append(nine.upper - nine.lower)
        assert abs(nine.value - 0.80) < 0.03
    assert widths[0] > widths[1] > widths[2]


def test_bands_hold_where_the_model_is_right() -> None:
    rng = np.random.default_rng(1)
    inside = []
    for _ in range(300):
        level, truths = 0.15 * rng.normal(), []
        for _ in range(6):
            level += 0.05 * rng.normal()
            z = level + 0.15 * rng.normal()
            truth = 1 / (1 + np.exp(-(log_odds(0.86) + 0.7 * z)))
            truths.append(rng.binomial(1500, truth) / 1500)
        past = [
            PastPeriod(str(t), float(t), reading(0.86), truth)
            for t, truth in enumerate(truths[:-1])
        ]
        nine = given_past(past, reading(0.86), 5.0, EVEN).interval(0.9)
        inside.append(nine.lower <= truths[-1] <= nine.upper)
    assert 0.85 < np.mean(inside) < 0.97


@pytest.mark.parametrize(
    ("now", "far", "says"),
    [
        (reading(0.86, moved=0.9), 0.0, "outputs moved further"),
        (reading(0.86, width=0.9), 0.0, "less is certain"),
        (reading(0.86), 5.0, "further from the reference in time"),
    ],
)
def test_what_is_unlike_the_past_gives_the_say_to_public_shifts(
    now: Reading, far: float, says: str
) -> None:
    past = [PastPeriod(str(t), float(t), reading(0.86), 0.86) for t in range(5)]
    calm, changed = (
        given_past(past, reading(0.86), 5.0, EVEN),
        given_past(past, now, 5.0, EVEN, far),
    )
    assert calm.why is None
    assert changed.why is not None
    assert says in changed.why
    assert changed.guard > 10 * calm.guard
    assert changed.interval(0.9).lower < calm.interval(0.9).lower


def test_periods_left_out_of_the_reference_come_before_late_labels() -> None:
    said = reading(0.86)
    inside = [
        PastPeriod(f"{i} of 2", float(i - 3), said, 0.9, kind="inside the reference")
        for i in (1, 2)
    ]
    late = [
        PastPeriod("May", 604.0, said, 0.9, unit="month"),
        PastPeriod("June", 605.0, said, 0.9, unit="month"),
    ]
    past, at = before([*late, *inside], 605.0, "month")
    assert [(one.name, one.at) for one in past] == [
        ("1 of 2", 602.0),
        ("2 of 2", 603.0),
        ("May", 604.0),
    ]
    assert at == 605.0
    past, at = before([*late, *inside], None, "")
    assert [one.name for one in past] == ["1 of 2", "2 of 2", "May", "June"]
    assert at == 606.0


def test_labels_picked_by_confidence_are_not_taken_for_random_ones() -> None:
    rng = np.random.default_rng(2)
    for picked in (False, True):
        missed, errors = [], []
        for _ in range(400):
            confidence = rng.uniform(0.5, 1.0, 1000)
            odds = np.log(confidence / (1 - confidence)) - 0.4  # too sure everywhere
            correct = rng.random(1000) < 1 / (1 + np.exp(-odds))
            rows = np.argsort(confidence)[:100] if picked else rng.choice(1000, 100, replace=False)
            cells = np.minimum((confidence * 60).astype(int), 59)
            known, every = (np.bincount(some, minlength=60) for some in (cells[rows], cells))
            value, error = truth_by_labels(known, every, float(correct[rows].sum()))
            missed.append(value - correct.mean())
            errors.append(error)
        assert (
            abs(np.mean(missed)) < 0.01
        )  # of the unsure rows 20 points fewer are right than of all
        if picked:  # nothing says that unsure rows err as the others do
            assert np.mean(errors) > np.std(missed)
        else:
            assert np.std(missed) == pytest.approx(np.mean(errors), rel=0.3)


def test_whole_is_the_mean_of_its_periods() -> None:
    one = np.clip((EVEN - 0.80) / 0.1, 0, 1)
    known = (EVEN >= 0.9).astype(float)
    low, middle, high = quantiles_of(
        together([one, known], [100, 300]), np.array([0.05, 0.5, 0.95])
    )
    assert middle == pytest.approx(0.25 * 0.85 + 0.75 * 0.9, abs=0.002)
    assert high - low == pytest.approx(0.25 * 0.09, abs=0.003)
