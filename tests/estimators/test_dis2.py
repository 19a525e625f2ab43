"""Disagreement discrepancy: the critic's loss against loops, the bound against the truth."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import scipy.optimize
from hypothesis import given, settings
from hypothesis import strategies as st

import oodometer
from oodometer import Predictions
from oodometer.arrays import Array, softmax
from oodometer.errors import NotApplicable, UsageError
from oodometer.estimators import DisagreementDiscrepancy
from oodometer.estimators.dis2 import _losses, _Rows, fit_critics, slack

from ..snapshots import assert_snapshot, raises_snapshot


def critic_loss(
    weights: Array, x: Array, y: Array, on_target: Array, trade: float
) -> tuple[float, Array]:
    rows = _Rows.of(x, y, on_target)
    values, slope, _ = _losses((rows.x @ weights)[:, None, :], rows, trade)
    return float(values[0]), rows.x.T @ slope[:, 0]


def problem(
    rows: int = 12, columns: int = 3, classes: int = 4
) -> tuple[Array, Array, Array, Array]:
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((columns, classes))
    return (
        weights,
        rng.standard_normal((rows, columns)),
        rng.integers(0, classes, rows),
        np.arange(rows) % 3 == 0,
    )


def looped_loss(weights: Array, x: Array, y: Array, on_target: Array, trade: float) -> float:
    classes, here, there = weights.shape[1], [], []
    for row, said, target in zip(x, y, on_target, strict=True):
        z = [sum(a * b for a, b in zip(row, weights[:, k], strict=True)) for k in range(classes)]
        if target:
            others = [z[k] for k in range(classes) if k != said]
            there.append(math.log(1 + math.exp(z[said] - sum(others) / len(others))) / math.log(2))
        else:
            here.append(math.log(sum(math.exp(v - z[said]) for v in z)) / math.log(classes))
    return sum(here) / len(here) + trade * sum(there) / len(there)


@pytest.mark.parametrize("classes", [2, 4])
def test_the_loss_and_its_slope_are_those_of_loops(classes: int) -> None:
    weights, x, y, on_target = problem(classes=classes)
    value, slope = critic_loss(weights, x, y, on_target, 0.7)
    assert value == pytest.approx(looped_loss(weights, x, y, on_target, 0.7))
    numeric = scipy.optimize.approx_fprime(
        weights.ravel(),
        lambda w: critic_loss(w.reshape(weights.shape), x, y, on_target, 0.7)[0],
        1e-6,
    )
    assert slope.ravel() == pytest.approx(numeric, abs=1e-4)
    far, _ = critic_loss(weights * 1e4, x, y, on_target, 0.7)
    assert np.isfinite(far)


def test_the_loss_is_convex_so_that_starts_do_not_matter() -> None:
    weights, x, y, on_target = problem(rows=80)
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, b = rng.standard_normal((2, *weights.shape)) * 3
        ends = [critic_loss(w, x, y, on_target, 1.0)[0] for w in (a, b)]
        assert critic_loss((a + b) / 2, x, y, on_target, 1.0)[0] <= sum(ends) / 2 + 1e-12


def test_the_slack_is_that_of_the_paper() -> None:
    """n_S + 4 n_T, not 4 n_S + n_T: the reference appears in two of the three means."""
    assert slack(100, 400, 0.05) == pytest.approx(
        math.sqrt((100 + 1600) * math.log(20) / (2 * 100 * 400))
    )
    assert slack(400, 100, 0.05) < slack(100, 400, 0.05)
    assert slack(100, 100, 0.01) > slack(100, 100, 0.1)


def test_a_critic_finds_the_class_that_moved() -> None:
    """Nine of ten target rows are called 1 and have x2 = 3, where the reference has 0: a critic that calls them 0
    disagrees there at no cost here.
    """
    rng = np.random.default_rng(0)
    x = rng.standard_normal((800, 2))
    on_target = np.arange(800) >= 400
    x[:, 1] = 3.0 * on_target
    x[on_target, 0] += 1.3
    y = (x[:, 0] > 0).astype(np.intp)
    with_ones = np.hstack([x, np.ones((800, 1))])
    gains = []
    for weights in fit_critics(with_ones, y, on_target, 2):
        same = (with_ones @ weights).argmax(axis=1) == y
        gains.append(same[~on_target].mean() - same[on_target].mean())
    assert max(gains) > 0.8
    assert min(gains) > -0.05, "agreement belongs to the reference, disagreement to the target"


def line(seed: int, rows: int, shift: float = 0.0, turn: float = 0.3) -> Predictions:
    """h = [x1 > 0]; the truth is another line, [x1 + turn x2 > 0], so that it is itself a linear critic."""
    rng = np.random.default_rng([seed, 5])
    x = rng.standard_normal((rows, 2))
    x += np.array([-0.5, 1.0]) * shift
    return Predictions.from_arrays(
        features=x, prediction=(x[:, 0] > 0).astype(int), label=(x[:, 0] + turn * x[:, 1] > 0).astype(int),
        classes=[0, 1],
    )  # fmt: skip


def test_the_bound_holds_where_the_truth_is_a_critic() -> None:
    below, gaps = [], []
    for seed in range(20):
        reference, target = line(2 * seed, 800), line(2 * seed + 1, 800, shift=-2.0)
        found = DisagreementDiscrepancy().fit(reference).estimate(target)
        below.append(found.lower <= target.accuracy)
        gaps.append(found.value - reference.accuracy)
        assert found.lower == pytest.approx(max(found.value - found.details["eps"], 0), abs=1e-9)
        assert found.details["bound"] == pytest.approx(found.lower, abs=1e-9)
    assert all(below)
    assert max(gaps) < -0.1, "a critic that is free to disagree is found"


def test_a_better_critic_than_the_loss_finds_is_found() -> None:
    """Half of the target is called 1, half 0, and the paper's loss at its minimum leaves one half alone: the truth is
    1 everywhere and disagrees more.
    """
    rng = np.random.default_rng(3)
    x = rng.standard_normal((2000, 2))
    x[:, 1] = 0.01 * x[:, 1]
    said = (x[:, 0] > 0).astype(int)
    reference = Predictions.from_arrays(features=x, prediction=said, label=said, classes=[0, 1])
    moved = Predictions.from_arrays(
        features=x + np.array([0.0, 3.0]), prediction=said, label=[1] * 2000, classes=[0, 1]
    )
    found = DisagreementDiscrepancy().fit(reference).estimate(moved)
    assert found.lower <= moved.accuracy
    assert found.details["discrepancy"] > 1 - moved.accuracy - 0.03
    assert_snapshot(found.assumes)


def test_without_shift_the_value_is_the_source() -> None:
    reference, target = line(1, 3000), line(2, 3000)
    found = DisagreementDiscrepancy().fit(reference).estimate(target)
    assert found.value == pytest.approx(reference.accuracy, abs=0.05)
    assert found.details["eps"] == pytest.approx(slack(1500, 1500, 0.05))
    assert found.details["discrepancy"] >= 0


def test_a_truth_that_turns_against_the_model_breaks_the_assumption() -> None:
    """The inputs are the same, every label is flipped: nothing unlabelled can tell, and the bound is wrong."""
    reference, target = line(1, 2000, turn=0.0), line(2, 2000, turn=0.0)
    found = DisagreementDiscrepancy().fit(reference).estimate(target)
    assert found.lower > 0.8
    assert found.kind == "conditional"
    assert "no more" in found.assumes


def logits_record(
    seed: int, rows: int, classes: int, scale: float = 1.0, labelled: bool = True
) -> Predictions:
    rng = np.random.default_rng([seed, 6])
    label = rng.integers(0, classes, rows)
    z = scale * (rng.standard_normal((rows, classes)) + 3 * np.eye(classes)[label])
    return Predictions.from_logits(z, label=label if labelled else None)


@pytest.mark.parametrize("classes", [2, 10, 70, 1000])
def test_any_number_of_classes(classes: int) -> None:
    reference, target = (
        logits_record(1, 300, classes),
        logits_record(2, 300, classes, 0.5, labelled=False),
    )
    found = DisagreementDiscrepancy().fit(reference).estimate(target)
    assert 0 <= found.lower <= found.value <= found.upper <= 1
    assert found.value <= found.details["reference_accuracy"]
    assert found.details["input"] == "logits"


def test_inputs_of_every_kind() -> None:
    z = np.random.default_rng(0).standard_normal((200, 3))
    label = z.argmax(axis=1)
    given = {"probabilities": softmax(z), "label": label, "features": z[:, :2]}
    record = Predictions.from_arrays(**given)
    for critic, want in (("logits", "probabilities"), ("features", "features")):
        assert (
            DisagreementDiscrepancy(critic=critic).fit(record).estimate(record).details["input"]
            == want
        )
    with raises_snapshot(UsageError):
        DisagreementDiscrepancy(critic="trees")
    fitted = DisagreementDiscrepancy(critic="features").fit(record)
    other = Predictions.from_arrays(features=z, prediction=label)
    assert_snapshot(fitted.why_not(other))
    assert_snapshot(fitted.why_not(Predictions.from_probabilities(softmax(z))))
    certain = Predictions.from_arrays(probabilities=np.eye(3)[label], label=label)
    assert DisagreementDiscrepancy().fit(certain).estimate(certain).value > 0.9


def test_what_cannot_be_judged_is_refused() -> None:
    record = line(1, 200)
    with raises_snapshot(NotApplicable):
        DisagreementDiscrepancy().fit(record.slice(0, 39))
    with raises_snapshot(NotApplicable):
        DisagreementDiscrepancy().fit(record).estimate(record.slice(0, 1))
    one = Predictions.from_arrays(features=np.zeros((50, 1)), prediction=[0] * 50, label=[0] * 50)
    with raises_snapshot(NotApplicable):
        DisagreementDiscrepancy().fit(one)
    assert DisagreementDiscrepancy().why_not(Predictions.from_classes([0, 1])) is not None


def test_a_model_that_says_one_class_only() -> None:
    rng = np.random.default_rng(0)
    given: dict[str, Any] = {"prediction": [0] * 200, "classes": [0, 1]}
    reference = Predictions.from_arrays(
        features=rng.standard_normal((200, 1)), label=[0] * 200, **given
    )
    target = Predictions.from_arrays(features=rng.standard_normal((200, 1)) + 9, **given)
    found = DisagreementDiscrepancy().fit(reference).estimate(target)
    assert found.value < 0.1, "the target lies apart, and there is nothing to stop the critic"


ROWS = 1500
Sample = tuple[Array, Array, Array]  # inputs, what h says, the truth


def case(seed: int, classes: int, rows: int = ROWS) -> tuple[Sample, Sample]:
    """Reference and target: h is argmax u A, the truth argmax (u A + v B), linear in the inputs (u, v). v hardly
    varies on the reference, so that both agree; on the target it lies about one to three centres.
    """
    rng = np.random.default_rng([seed, classes, 77])
    columns, hidden = max(4, min(classes, 16)), int(rng.integers(1, 4))
    seen = rng.standard_normal((columns, classes))
    unseen = rng.standard_normal((hidden, classes)) * rng.uniform(0.3, 3)
    quiet = rng.choice([0.0, 0.1, 0.3])
    centres = rng.standard_normal((int(rng.integers(1, 4)), hidden)) * rng.uniform(0.5, 3)
    moved, share = rng.standard_normal(columns) * rng.uniform(0, 1), rng.uniform(0.3, 1)
    made = []
    for target in (0, 1):
        u = rng.standard_normal((rows, columns)) + target * moved
        away = target * (rng.random(rows) < share)[:, None]
        v = (
            quiet * rng.standard_normal((rows, hidden))
            + away * centres[rng.integers(len(centres), size=rows)]
        )
        made.append((np.hstack([u, v]), (u @ seen).argmax(1), (u @ seen + v @ unseen).argmax(1)))
    return made[0], made[1]


def with_ones(x: Array) -> Array:
    return np.hstack([x, np.ones((len(x), 1))])


def gap(weights: Array, here: Sample, there: Sample) -> float:
    """agr_S - agr_T of a critic."""
    agrees = [((with_ones(x) @ weights).argmax(1) == said).mean() for x, said, _ in (here, there)]
    return float(agrees[0] - agrees[1])


def plain_search(
    here: Sample, there: Sample, classes: int, restarts: int = 3, epochs: int = 40
) -> Array:
    """Random restarts of AdamW (3e-3, decay 5e-4, batches of 256) on cross-entropy on the reference + log(1 + e^margin)
    on the target, halved; margin = z_h - mean of the others; the critic with the largest gap at the end of an epoch.
    """
    rng = np.random.default_rng(0)
    best = (-1.0, np.zeros((here[0].shape[1] + 1, classes)))
    for _ in range(restarts):
        w = rng.uniform(-1, 1, best[1].shape) / np.sqrt(here[0].shape[1])
        first, second, step = np.zeros_like(w), np.zeros_like(w), 0
        for _ in range(epochs):
            orders = [rng.permutation(len(s[0])) for s in (here, there)]
            for start in range(0, min(map(len, orders)), 256):
                (a, said_a), (b, said_b) = (
                    (with_ones(s[0][o[start : start + 256]]), s[1][o[start : start + 256]])
                    for s, o in zip((here, there), orders, strict=True)
                )
                near = softmax(a @ w) - np.eye(classes)[said_a]
                z, own = b @ w, np.eye(classes)[said_b]
                margin = (z * own).sum(1) - (z * (1 - own)).sum(1) / (classes - 1)
                far = (own - (1 - own) / (classes - 1)) / (1 + np.exp(-margin))[:, None]
                slope = (a.T @ near / len(a) + b.T @ far / len(b)) / 2
                step += 1
                first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope**2
                move = first / (1 - 0.9**step) / (np.sqrt(second / (1 - 0.999**step)) + 1e-8)
                w = w * (1 - 3e-3 * 5e-4) - 3e-3 * move
            best = max(best, (gap(w, here, there), w), key=lambda found: found[0])
    return best[1]


def record(sample: Sample, classes: int) -> Predictions:
    x, said, truth = sample
    return Predictions.from_arrays(
        features=x, prediction=said, label=truth, classes=list(range(classes))
    )


@pytest.mark.parametrize("classes", [2, 3, 10, 50])
def test_at_least_the_discrepancy_of_a_plain_search(classes: int) -> None:
    """Tolerance 0.03: both are judged on 750 rows of either sample that neither has seen."""
    ours, plain, truth = [], [], []
    for seed in range(3):
        here, there = case(seed, classes)
        found = (
            DisagreementDiscrepancy().fit(record(here, classes)).estimate(record(there, classes))
        )
        ours.append(found.details["discrepancy"])
        halves = [tuple(part[half::2] for part in s) for half in (0, 1) for s in (here, there)]
        weights = plain_search(*halves[:2], classes)
        plain.append(gap(weights, *halves[2:]))
        truth.append((here[1] == here[2]).mean() - (there[1] == there[2]).mean())
    assert min(np.subtract(ours, plain)) > -0.03
    assert np.mean(ours) > np.mean(plain)
    if (
        classes <= 10
    ):  # with fewer than 15 rows for each class the judged half tells what was learnt by heart
        assert min(np.subtract(ours, truth)) > -0.03


@pytest.mark.parametrize("classes", [2, 3, 10])
def test_the_bound_holds_where_the_truth_is_a_linear_critic(classes: int) -> None:
    for seed in range(10, 16):
        here, there = case(seed, classes)
        found = (
            DisagreementDiscrepancy().fit(record(here, classes)).estimate(record(there, classes))
        )
        assert found.lower <= (there[1] == there[2]).mean(), f"case {seed}"


@settings(max_examples=8)
@given(
    data=st.data(),
    classes=st.integers(2, 6),
    kind=st.sampled_from(["logits", "probabilities", "features"]),
)
def test_classes_in_another_order_change_nothing(data: Any, classes: int, kind: str) -> None:
    order = np.array(data.draw(st.permutations(range(classes))))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    found, samples = [], []
    for rows, size in ((160, 1.0), (120, 0.5)):
        label = rng.integers(classes, size=rows)
        z = size * (rng.standard_normal((rows, classes)) + 2 * np.eye(classes)[label])
        samples.append((label, z, rng.standard_normal((rows, 3)) + z[:, :2].sum(1, keepdims=True)))
    for chosen in (np.arange(classes), order):
        place = np.argsort(chosen)
        made = []
        for label, z, x in samples:
            given = {
                "logits": {"logits": z[:, chosen]},
                "probabilities": {"probabilities": softmax(z)[:, chosen]},
                "features": {"features": x, "prediction": place[z.argmax(1)]},
            }[kind]
            made.append(
                Predictions.from_arrays(label=place[label], classes=list(range(classes)), **given)
            )
        answer = DisagreementDiscrepancy().fit(made[0]).estimate(made[1])
        found.append((answer.value, answer.lower, answer.upper))
    assert found[0] == pytest.approx(found[1], abs=1e-9)


def test_both_files_permuted() -> None:
    """Through `estimate`, with calibrated probabilities: sums in another order differ in the last digit."""
    rng = np.random.default_rng(3)
    given = []
    for rows, size in ((1500, 3.0), (1200, 1.5)):
        label = rng.integers(5, size=rows)
        given.append(
            (label, softmax(size * (rng.standard_normal((rows, 5)) + 2 * np.eye(5)[label])))
        )
    values = []
    for order in ([0, 1, 2, 3, 4], [3, 1, 4, 0, 2], [4, 3, 2, 1, 0]):
        (label, p), (_, q) = given
        reference = Predictions.from_probabilities(p[:, order], label=np.argsort(order)[label])
        target = Predictions.from_probabilities(q[:, order])
        answer = oodometer.estimate(
            reference, target, methods=["dis2"], backtest="none", calibrator="temperature"
        )
        values.append(answer["dis2"].value)
    assert np.ptp(values) < 1e-9
