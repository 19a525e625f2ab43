"""Coverage at risk, risk at coverage, the accuracy-coverage curve: by hand, against loops, and their intervals."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.errors import UsageError
from oodometer.metrics import (
    AccuracyCoverageCurve,
    CoverageAtRisk,
    RiskAtCoverage,
    coverage_at_risk,
    risk_at_coverage,
)
from oodometer.metrics.ranks import Ranks
from oodometer.metrics.resampling import rank_bins, resampled
from oodometer.metrics.risk_coverage import REPLICATED, jointly_resampled, replicated
from oodometer.registry import create

from ..snapshots import raises_snapshot

# errors among the first k: 0 0 1 1 1 1 2 3
CONFIDENCE, CORRECT = [0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2], [1, 1, 0, 1, 1, 1, 0, 0]
ROWS = st.lists(st.tuples(st.integers(0, 40), st.booleans()), min_size=1, max_size=60)


def test_coverage_at_risk_by_hand() -> None:
    # at a fifth: 0/2 is kept, 1/3 and 1/4 are not, 1/5 and 1/6 are, 2/7 is not
    assert coverage_at_risk(CONFIDENCE, CORRECT, 0.2) == 6 / 8
    assert coverage_at_risk(CONFIDENCE, CORRECT, 0.2, first=True) == 2 / 8
    assert coverage_at_risk(CONFIDENCE, CORRECT, 0.0) == 2 / 8
    assert coverage_at_risk([0.9, 0.8], [0, 1], 0.1) == 0
    found = CoverageAtRisk(risk=0.2).compute(
        Predictions.from_confidence(CONFIDENCE, correct=CORRECT)
    )
    rows = {row["risk"]: row for row in found.extras["by_risk"]}
    assert list(rows) == [0.01, 0.02, 0.05, 0.1, 0.2]
    assert (found.value, found.extras["first"], found.extras["threshold"]) == (6 / 8, 2 / 8, 0.4)
    assert (found.lower, found.upper) == (0, 1)  # eight rows
    assert rows[0.05]["value"] == 2 / 8


def test_ties_are_answered_together() -> None:
    """One of four is wrong: no threshold answers the three that are right."""
    assert coverage_at_risk([0.9, 0.5, 0.5, 0.5, 0.5], [1, 1, 1, 1, 0], 0.1) == 0.2


@given(rows=ROWS, risk=st.sampled_from([0.0, 0.01, 0.05, 0.1, 0.2, 0.5]))
def test_coverage_at_risk_equals_a_loop(rows: list[tuple[int, bool]], risk: float) -> None:
    confidence, correct = [c / 40 for c, _ in rows], [int(y) for _, y in rows]
    largest, first, crossed = 0.0, 0.0, False
    for threshold in sorted(set(confidence), reverse=True):
        answered = [y for c, y in zip(confidence, correct, strict=True) if c >= threshold]
        if answered.count(0) <= risk * len(answered) + 1e-9:
            largest = len(answered) / len(rows)
            first = first if crossed else largest
        else:
            crossed = True
    assert coverage_at_risk(confidence, correct, risk) == pytest.approx(largest)
    assert coverage_at_risk(confidence, correct, risk, first=True) == pytest.approx(first)


def test_crossings_of_many_rows_are_found_block_by_block() -> None:
    rng = np.random.default_rng(0)
    for rate in (0.02, 0.05, 0.3):
        confidence, correct = rng.random(20_000), rng.random(20_000) > rate
        order = np.argsort(-confidence)
        risk = np.cumsum(~correct[order]) / np.arange(1, 20_001)
        for bound in (0.01, 0.05, 0.2):
            within = np.flatnonzero(risk <= bound + 1e-12)
            over = np.flatnonzero(risk > bound + 1e-12)
            assert (
                coverage_at_risk(confidence, correct, bound)
                == (within[-1] + 1 if len(within) else 0) / 20_000
            )
            assert (
                coverage_at_risk(confidence, correct, bound, first=True)
                == (over[0] if len(over) else 20_000) / 20_000
            )


def test_risk_at_coverage_by_hand() -> None:
    assert risk_at_coverage(CONFIDENCE, CORRECT, 0.5) == pytest.approx(1 / 4)
    assert risk_at_coverage(CONFIDENCE, CORRECT, 1.0) == pytest.approx(3 / 8)
    assert risk_at_coverage(CONFIDENCE, CORRECT, 0.51) == pytest.approx(
        1 / 5
    )  # rounded up to whole rows
    assert risk_at_coverage([0.5, 0.5], [1, 0], 0.5) == pytest.approx(0.5)  # a tie, in expectation
    found = RiskAtCoverage().compute(Predictions.from_confidence(CONFIDENCE, correct=CORRECT))
    assert [row["coverage"] for row in found.extras["by_coverage"]] == [
        0.5,
        0.6,
        0.7,
        0.8,
        0.9,
        1.0,
    ]
    assert (found.value, found.extras["threshold"]) == (pytest.approx(2 / 7), 0.3)


@given(rows=ROWS, coverage=st.sampled_from([0.1, 0.5, 0.8, 1.0]), seed=st.integers(0, 9))
def test_risk_at_coverage_is_the_mean_over_orders_of_ties(
    rows: list[tuple[int, bool]], coverage: float, seed: int
) -> None:
    confidence, correct = np.array([c / 40 for c, _ in rows]), np.array([y for _, y in rows])
    k = int(np.ceil(coverage * len(rows) - 1e-9))
    cut = np.sort(confidence)[::-1][k - 1]
    above, tied = confidence > cut, confidence == cut
    expected = (~correct[above]).sum() + (~correct[tied]).mean() * (k - above.sum())
    assert risk_at_coverage(confidence, correct, coverage) == pytest.approx(expected / k)


def test_wrong_options() -> None:
    for bad in (-0.1, 1.0):
        with raises_snapshot(UsageError):
            coverage_at_risk(CONFIDENCE, CORRECT, bad)
    for bad in (0.0, 1.1):
        with raises_snapshot(UsageError):
            RiskAtCoverage(coverage=bad)
    with raises_snapshot(UsageError):
        AccuracyCoverageCurve(steps=1)


def draw(rng: np.random.Generator, rows: int) -> Predictions:
    confidence = 0.5 + 0.5 * rng.beta(3, 1, rows)
    return Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence)


@pytest.mark.parametrize(("name", "least"), [("risk_at_coverage", 0.84), ("coverage_at_risk", 0.8)])
def test_intervals_hold_the_truth(name: str, least: float) -> None:
    """Nominal 90 %, 1,000 rows; the second is empirical, and asked for less."""
    metric = create("metric", name)
    truth = metric.compute(draw(np.random.default_rng(5), 500_000)).value
    rng = np.random.default_rng(6)
    found = [metric.compute(draw(rng, 1000), level=0.9) for _ in range(150)]
    assert np.mean([one.lower <= truth <= one.upper for one in found]) >= least
    assert np.mean([one.width for one in found]) < 0.3


def test_band_of_the_curve_holds_the_truth_at_each_coverage() -> None:
    metric = AccuracyCoverageCurve(steps=20)
    truth = np.asarray(metric.compute(draw(np.random.default_rng(7), 500_000)).y)
    rng = np.random.default_rng(8)
    curves = [metric.compute(draw(rng, 1000), level=0.9) for _ in range(150)]
    held = np.mean([(c.lower <= truth) & (truth <= c.upper) for c in curves], axis=0)
    assert held.mean() >= 0.85
    assert held.min() >= 0.8


def test_the_curve_is_that_of_the_rows() -> None:
    curve = AccuracyCoverageCurve(steps=8).compute(
        Predictions.from_confidence(CONFIDENCE, correct=CORRECT)
    )
    np.testing.assert_allclose(curve.y, [1, 1, 2 / 3, 3 / 4, 4 / 5, 5 / 6, 5 / 7, 5 / 8])
    assert curve.extra["thresholds"].tolist() == CONFIDENCE


OPTIONS = {
    "tolerance": 0.8,
    "weights": (0.4, 0.3, 0.3),
    "grid": "coverage",
    "steps": 50,
    "risk": 0.1,
    "coverage": 0.7,
}


@pytest.mark.parametrize("name", REPLICATED)
def test_replicated_metrics_equal_the_metrics(name: str) -> None:
    """A replicate that is the sample itself has the sample's value."""
    rng = np.random.default_rng(9)
    record = Predictions.from_confidence(
        rng.random(400).round(2) * 0.99 + 0.005, correct=rng.random(400) < 0.8
    )
    made = {"disca": {"tolerance": 0.8, "weights": (0.4, 0.3, 0.3), "steps": 50}, "coverage_at_risk": {"risk": 0.1},
            "risk_at_coverage": {"coverage": 0.7}}.get(name, {})  # fmt: skip
    metric = create("metric", name, **made)
    ranks = Ranks.of(record.confidence, record.verdicts)
    own = replicated(rank_bins(ranks.groups), name, **OPTIONS)
    assert own[0] == pytest.approx(metric.compute(record).value, abs=1e-9)


def test_replicates_spread_as_samples_do() -> None:
    """Cells of ranks, and blocks of rows, give the spread that fresh samples have, to a fifth."""
    rng = np.random.default_rng(10)
    fresh = [draw(rng, 4000) for _ in range(200)]
    for name in ("auc_coverage", "augrc", "risk_at_coverage", "accuracy"):
        spread = np.std([replicated(rank_bins(Ranks.of(r.confidence, r.verdicts).groups), name, **OPTIONS)[0]
                         for r in fresh])  # fmt: skip
        one = fresh[0]
        groups = Ranks.of(one.confidence, one.verdicts).groups
        alone = replicated(resampled(groups, 0), name, **OPTIONS).std()
        joint = jointly_resampled([groups], [one.confidence], [one.verdicts], 0)[0]
        together = replicated(joint, name, **OPTIONS).std()
        assert alone == pytest.approx(spread, rel=0.25), name
        assert together == pytest.approx(spread, rel=0.25), name


def test_the_same_rows_are_drawn_for_all_models() -> None:
    """A model and the same with a shift of confidence, which changes no order, never part."""
    one = draw(np.random.default_rng(11), 5000)
    other = one.confidence**2
    a, b = (Ranks.of(c, one.verdicts).groups for c in (one.confidence, other))
    first, second = jointly_resampled([a, b], [one.confidence, other], [one.verdicts] * 2, 3)
    np.testing.assert_allclose(
        replicated(first, "aurc", **OPTIONS), replicated(second, "aurc", **OPTIONS)
    )


def test_cells_do_not_depend_on_ties_or_batches() -> None:
    """Every row in one tie: coverage is all or nothing, and nothing breaks."""
    record = Predictions.from_confidence(np.full(100, 0.7), correct=np.arange(100) % 10 > 0)
    assert CoverageAtRisk(risk=0.1).compute(record).value == 1.0
    assert CoverageAtRisk(risk=0.05).compute(record).value == 0.0
    assert RiskAtCoverage(coverage=0.3).compute(record).value == pytest.approx(0.1)
