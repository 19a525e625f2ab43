"""DiSCA: hand-made curves, an independent loop, ties, never-wrong models, grids, and the honesty of its interval."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oodometer import Predictions
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.metrics import DiscaScore, computation_score, didma, disca, disca_by_tolerance, nidma
from oodometer.metrics.disca import TOLERANCES
from oodometer.registry import create

from ..snapshots import raises_snapshot

# Sorted: 0.9 right, 0.8 wrong, 0.7 right, 0.6 right, 0.5 wrong; accuracy 1, 1/2, 2/3, 3/4, 3/5.
CONFIDENCE, CORRECT = [0.7, 0.9, 0.5, 0.8, 0.6], [1, 1, 0, 0, 1]


def test_by_hand() -> None:
    found = disca(CONFIDENCE, CORRECT, tolerance=0.7, grid="samples", weights=(0.5, 0.3, 0.2))
    assert (found.a, found.b, found.fluctuations) == (0.8, 0.8, 2)
    # the first rise, 1/2 to 2/3, weighs 2; the second, 2/3 to 3/4, weighs 1; confidence falls by 0.1 at both
    penalty = (2 * (2 / 3 - 1 / 2) + (3 / 4 - 2 / 3)) / 0.1 / 3
    assert found.penalty == pytest.approx(penalty)
    assert found.value == pytest.approx(0.5 / 0.8 + 0.3 / 0.8 - 0.2 * penalty)
    assert (found.a_coverage, found.b_coverage, found.b_accuracy) == (0.4, 0.4, 0.5)
    assert not found.never_wrong
    assert not found.never_below


def test_the_step_of_confidence_has_a_floor() -> None:
    """Confidences that differ by less than 0.001 count as 0.001 apart."""
    found = disca([0.9, 0.8, 0.79999], [1, 0, 1], grid="samples")
    assert found.penalty == pytest.approx((2 / 3 - 1 / 2) / 0.001)


def test_b_is_the_lowest_confidence_where_accuracy_never_drops_so_far() -> None:
    """The constant rows of the paper's table: below the overall accuracy, the tolerance changes nothing."""
    table = disca_by_tolerance(
        CONFIDENCE, CORRECT, grid="samples", tolerances=(1.0, 0.95, 0.55, 0.5)
    )
    assert [table[t].b for t in table] == [0.8, 0.8, 0.8, 0.5]
    assert [table[t].never_below for t in table] == [False, False, False, True]
    right_first = disca_by_tolerance([0.9, 0.8, 0.7, 0.6], [1, 1, 1, 0], grid="samples")
    assert [right_first[t].b for t in TOLERANCES] == [0.6] * 9
    assert [right_first[t].never_below for t in TOLERANCES] == [False] * 4 + [True] * 5
    assert len({right_first[t].value for t in TOLERANCES}) == 1


def test_a_model_that_is_never_wrong() -> None:
    found = disca([0.9, 0.8, 0.6], [1, 1, 1])
    assert (found.a, found.b, found.penalty, found.fluctuations) == (0.6, 0.6, 0, 0)
    assert found.never_wrong
    assert found.value == pytest.approx(2 / 3 / 0.6)


def test_ties_count_in_expectation() -> None:
    """Four of equal confidence, one of them wrong: wherever it stands, the first of them is 3/4 right on average."""
    tied = disca([0.8] * 4 + [0.5], [1, 0, 1, 1, 1], steps=5)
    assert tied.a == 0.8
    assert tied.a_coverage == pytest.approx(0.2)
    assert tied.fluctuations == 1  # 3/4, 3/4, 3/4, 3/4, 4/5
    assert tied.penalty == pytest.approx((4 / 5 - 3 / 4) / 0.3)
    assert disca([0.8] * 4 + [0.5], [1, 1, 1, 0, 1], steps=5) == tied


def test_confidence_zero_is_no_divisor() -> None:
    with raises_snapshot(NotApplicable):
        disca([0.0, 0.0], [1, 0])
    assert (
        disca([0.9, 0.8, 0.0], [1, 0, 1], grid="samples").a == 0.8
    )  # a zero that is not read does no harm


def test_grids_by_hand() -> None:
    confidence, correct = [0.95, 0.85, 0.75, 0.65], [0, 1, 1, 1]
    # thresholds 0.9, 0.8, 0.7, 0.6, ...: accuracy 0, 1/2, 2/3, 3/4
    by_threshold = disca(confidence, correct, grid="thresholds", steps=10)
    assert by_threshold.fluctuations == 3
    assert by_threshold.penalty == pytest.approx((3 * 1 / 2 + 2 * 1 / 6 + 1 / 12) / 0.1 / 6)
    # two halves: accuracy 1/2 and 3/4
    halves = disca(confidence, correct, steps=2)
    assert (halves.a, halves.fluctuations) == (0.85, 1)
    assert halves.penalty == pytest.approx(1 / 4 / 0.2)


def loop(
    confidence: list[float], correct: list[int], tolerance: float, grid: str, steps: int
) -> tuple[float, float, float, int]:
    """DiSCA by walking down the rows, for confidences that all differ."""
    order = sorted(range(len(confidence)), key=lambda i: -confidence[i])
    n = len(order)
    points = []
    for k in range(1, n + 1):
        right = sum(correct[i] for i in order[:k])
        points.append((k, right / k, confidence[order[k - 1]]))
    if grid == "coverage":
        points = [points[math.ceil(j * n / steps - 1e-9) - 1] for j in range(1, steps + 1)]
    if grid == "thresholds":
        kept = []
        for j in range(steps - 1, -1, -1):
            above = [p for p in points if p[2] >= j / steps]
            if above:
                kept.append(above[-1])
        points = kept
    a = next((c for k, acc, c in points if acc < 1), confidence[order[-1]])
    b = next((c for k, acc, c in points if acc < tolerance - 1e-12), confidence[order[-1]])
    rises = [
        (y[1] - x[1]) / max(x[2] - y[2], 0.001) for x, y in pairwise(points) if y[1] - x[1] > 1e-12
    ]
    m = len(rises)
    weights = [m - i for i in range(m)]
    penalty = sum(w * r for w, r in zip(weights, rises, strict=True)) / sum(weights) if m else 0.0
    return a, b, penalty, m


@settings(max_examples=60)
@given(
    rows=st.lists(
        st.tuples(st.integers(1, 10_000), st.booleans()),
        min_size=1,
        max_size=60,
        unique_by=lambda r: r[0],
    ),
    tolerance=st.sampled_from([1.0, 0.95, 0.8, 0.5]),
    grid=st.sampled_from(["coverage", "samples", "thresholds"]),
    steps=st.sampled_from([2, 7, 100]),
)
def test_equals_a_loop(
    rows: list[tuple[int, bool]], tolerance: float, grid: str, steps: int
) -> None:
    confidence, correct = [c / 10_000 for c, _ in rows], [int(y) for _, y in rows]
    found = disca(confidence, correct, tolerance=tolerance, grid=grid, steps=steps)
    a, b, penalty, rises = loop(confidence, correct, tolerance, grid, steps)
    assert found.b == pytest.approx(b)
    assert found.fluctuations == rises
    assert found.penalty == pytest.approx(penalty)
    if grid != "thresholds":  # a point between two confidences has the threshold for its confidence
        assert found.a == pytest.approx(a)
        assert found.value == pytest.approx((1 / a + 1 / b - penalty) / 3)


@pytest.fixture(scope="module")
def record() -> Predictions:
    rng = np.random.default_rng(0)
    confidence = rng.uniform(0.5, 1, 3000)
    return Predictions.from_confidence(confidence, correct=rng.random(3000) < confidence)


def test_metric_equals_the_function_and_shows_its_parts(record: Predictions) -> None:
    found = DiscaScore().compute(record)
    alone = disca(record.confidence, record.correct)
    assert found.value == pytest.approx(alone.value)
    extras = found.to_dict()
    assert extras["kind"] == "empirical"
    assert extras["a"] == alone.a
    assert extras["weights"] == pytest.approx([1 / 3] * 3)
    assert sum(extras["terms"].values()) == pytest.approx(alone.value)
    table = disca_by_tolerance(record.confidence, record.correct)
    rows = {row["tolerance"]: row for row in extras["by_tolerance"]}
    assert list(rows) == [1.0, *TOLERANCES, 0.5]
    for tolerance in TOLERANCES:
        assert rows[tolerance]["value"] == pytest.approx(table[tolerance].value)
        assert rows[tolerance]["lower"] <= rows[tolerance]["value"] <= rows[tolerance]["upper"]
    assert rows[1.0]["b"] == alone.a
    for grid in ("coverage", "samples", "thresholds"):
        expected = disca(record.confidence, record.correct, grid=grid).value
        assert extras["by_grid"][grid] == pytest.approx(expected), grid
    assert len({round(v, 3) for v in extras["by_grid"].values()}) == 3, (
        "the score depends on the grid"
    )


@pytest.mark.parametrize("grid", ["coverage", "samples", "thresholds"])
def test_all_grids_have_an_interval(record: Predictions, grid: str) -> None:
    found = DiscaScore(grid=grid).compute(record)
    assert found.lower < found.value < found.upper
    assert found.extras["grid"] == grid


def test_samples_of_many_rows_cost_few_replicates() -> None:
    rng = np.random.default_rng(3)
    confidence = rng.uniform(0.5, 1, 40_000)
    many = Predictions.from_confidence(confidence, correct=rng.random(40_000) < confidence)
    found = DiscaScore(grid="samples").compute(many)
    assert found.lower < found.value < found.upper


def test_few_rows_leave_much_open() -> None:
    for correct in (0, 1):
        one = DiscaScore().compute(Predictions.from_confidence([0.7], correct=[correct]))
        assert one.value == pytest.approx(2 / 3 / 0.7)
        assert one.width > 0.5


@pytest.mark.parametrize("rows", [300, 3000])
def test_interval_holds_what_samples_of_that_size_give_on_average(rows: int) -> None:
    """Nominal 90 %; the score jumps, so that the bound asked for here is loose (see the docs for more cases)."""
    rng = np.random.default_rng(4)

    def draw() -> Predictions:
        confidence = 0.5 + 0.5 * rng.beta(3, 1, rows)
        return Predictions.from_confidence(confidence, correct=rng.random(rows) < confidence)

    usual = np.mean([disca(r.confidence, r.correct).value for r in (draw() for _ in range(400))])
    found = [DiscaScore().compute(draw(), level=0.9) for _ in range(100)]
    held = [one.lower <= usual <= one.upper for one in found]
    assert np.mean(held) >= 0.72
    assert np.mean([one.width for one in found]) < 1.5


def test_wrong_options_and_values() -> None:
    with raises_snapshot(UsageError):
        disca(CONFIDENCE, CORRECT, tolerance=0.4)
    with raises_snapshot(UsageError):
        disca(CONFIDENCE, CORRECT, weights=(0.5, 0.5, 0.5))
    with raises_snapshot(UsageError):
        DiscaScore(weights=(1, 0))
    with raises_snapshot(UsageError):
        disca(CONFIDENCE, CORRECT, grid="rows")
    with raises_snapshot(UsageError):
        DiscaScore(steps=1)
    with pytest.raises(InputError):
        disca([1.2], [1])
    assert (
        disca(CONFIDENCE, CORRECT, weights=(0.33, 0.33, 0.33)).value
        < disca(CONFIDENCE, CORRECT).value
    )


def test_orders_outside_the_unit_interval_are_refused() -> None:
    record = Predictions.from_logits(
        [[3.0, 0.0], [1.0, 0.0], [0.0, 2.0]] * 20, label=[0, 1, 1] * 20
    )
    for score in ("energy", "negative_entropy"):
        metric = create("metric", "disca")
        metric.score = score
        with raises_snapshot(NotApplicable):
            metric.compute(record)
    metric = create("metric", "disca")
    metric.score = "max_probability"
    assert metric.compute(record).value == pytest.approx(DiscaScore().compute(record).value)


@pytest.mark.parametrize(
    "confidence", [[4e-162, 0.5, 0.9], [4e-162] * 5, [4e-162, 1e-200, 0.3, 0.4], [5e-324, 1.0]]
)
@pytest.mark.parametrize("right", [(1, 1), (0, 1), (1, 0), (0, 0)])
def test_confidences_whose_inverse_overflows_are_refused(
    confidence: list[float], right: tuple[int, int]
) -> None:
    record = Predictions.from_confidence(
        confidence, correct=[right[i % 2] for i in range(len(confidence))]
    )
    try:
        found = DiscaScore().compute(record)
    except NotApplicable:
        return  # "needs to be above 1e-150"
    assert np.isfinite([found.value, found.lower, found.upper]).all()


def test_by_hand_too() -> None:
    assert computation_score(energy=0.5) == 2
    assert computation_score(parameters=2e6, optimal_parameters=1e6) == 0.5  # the paper's example
    assert computation_score(parameters=5e5, optimal_parameters=1e6) == 2
    assert didma(0.6, 0.5, (0.8, 0.2)) == pytest.approx(0.58)
    assert nidma(0.58, 0.3, (0.25, 0.75)) == pytest.approx(0.37)
    assert nidma(didma(0.7, 1.0), 0.4) == pytest.approx((0.85 + 0.4) / 2)


def test_wrong_calls() -> None:
    for call in (
        {},
        {"energy": 1.0, "parameters": 2.0},
        {"energy": 0.0},
        {"energy": float("inf")},
        {"parameters": 2.0},
        {"parameters": -1.0, "optimal_parameters": 1.0},
    ):
        with pytest.raises(UsageError):
            computation_score(**call)
    with raises_snapshot(UsageError):
        didma(0.5, 0.5, (0.5, 0.6))
    with raises_snapshot(UsageError):
        nidma(0.5, 0.5, (1.0, 0.5, -0.5))
