"""Accuracies of several models from few labels: an independent fit, coverage, limits, errors."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import optimize, stats

from oodometer.arrays import Array
from oodometer.errors import InputError, UsageError
from oodometer.rankings import model_accuracies

from ..snapshots import raises_snapshot


def models(
    rows: int, seed: int, skill: tuple[float, ...] = (1.5, 1.0, 0.5), classes: int = 2
) -> tuple[Array, Array]:
    """Probabilities of shape (model, row, class) of models that are calibrated and err independently; the truth."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(classes, size=rows)
    scores = np.stack(
        [c * (c * np.eye(classes)[truth] + rng.normal(size=(rows, classes))) for c in skill]
    )
    powers = np.exp(scores)
    return powers / powers.sum(axis=2, keepdims=True), truth


def centred(values: Array) -> Array:
    return values - values.mean(axis=-1, keepdims=True)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("referenced", [False, True])
def test_the_estimate_is_that_of_a_general_optimiser_with_numerical_derivatives(
    classes: int, referenced: bool
) -> None:
    p, truth = models(90, 5, classes=classes)
    known, answers = models(70, 6, classes=classes)
    few = 20

    def parts(p: Array) -> tuple[Array, Array]:
        floored = np.maximum(p, 1e-3)
        return centred(
            np.log((floored / floored.sum(axis=2, keepdims=True)).mean(axis=0))
        ), centred(np.log(floored))

    def scores(theta: Array, offset: Array, g: Array, logs: Array) -> Array:
        return offset + theta[0] * g + np.tensordot(theta[1:4], logs, 1) + theta[4:]

    def mode(
        offset: Array, g: Array, logs: Array, truth: Array, prior: Array
    ) -> tuple[Array, Array]:
        def loss(theta: Array) -> float:
            return float(
                -stats.norm.logpdf(theta, 0, prior).sum()
                - np.log(softmax(scores(theta, offset, g, logs)))[
                    np.arange(len(truth)), truth
                ].sum()
            )

        theta = optimize.minimize(loss, np.zeros(4 + classes), options={"gtol": 1e-8}).x
        step, size = 1e-4, len(theta)
        bend = np.empty((size, size))
        for i in range(size):
            for j in range(size):
                a, b = np.eye(size)[i] * step, np.eye(size)[j] * step
                corners = (
                    loss(theta + a + b)
                    - loss(theta + a - b)
                    - loss(theta - a + b)
                    + loss(theta - a - b)
                )
                bend[i, j] = corners / (4 * step**2)
        return theta, np.linalg.inv(bend)

    def softmax(values: Array) -> Array:
        powers = np.exp(values)
        return powers / powers.sum(axis=1, keepdims=True)

    g, logs = parts(p)
    offset, weight = g, 0.1
    if referenced:
        first, theirs = parts(known)
        theta, _ = mode(first, first, theirs, answers, np.r_[1.0, [0.5] * 3, [2.0] * classes])
        offset, weight = scores(theta, g, g, logs), 0.05
        g = centred(offset)
    found = model_accuracies(
        p, truth[:few], np.arange(few), reference=(known, answers) if referenced else None
    )
    fits = []
    for shift, chance in ((0.5, 0.8), (2.0, 0.2)):
        prior = np.r_[0.3, [weight] * 3, [shift] * classes]
        theta, covariance = mode(offset[:few], g[:few], logs[:, :few], truth[:few], prior)
        own = softmax(scores(theta, offset[:few], g[:few], logs[:, :few]))[
            np.arange(few), truth[:few]
        ]
        said = np.log(own).sum() + stats.norm.logpdf(theta, 0, prior).sum()
        fits.append((theta, covariance, chance * np.exp(said) * np.sqrt(np.linalg.det(covariance))))
    for m, interval in enumerate(found):
        own = p[m].argmax(axis=1)
        values, variances = [], []
        for theta, covariance, _ in fits:

            def chances(theta: Array, own: Array = own) -> Array:
                return softmax(scores(theta, offset, g, logs))[np.arange(90), own]

            expected = chances(theta)[:few].mean()
            share = 0.03**2 / (0.03**2 + expected * (1 - expected) / few)

            def moved(theta: Array, share: float = share, chances=chances) -> float:  # type: ignore[no-untyped-def]
                return float(chances(theta).mean() - share * chances(theta)[:few].mean())

            slope = optimize.approx_fprime(theta, moved, 1e-6)
            values.append(moved(theta) + share * (own[:few] == truth[:few]).mean())
            own_part = 0.04**2 * (1 - share) + chances(theta).var() / 90
            variances.append(slope @ covariance @ slope + own_part)
        parts_of = np.array([part for *_, part in fits]) / sum(part for *_, part in fits)
        value = parts_of @ values
        size = value * (1 - value) / (parts_of @ (variances + np.square(values - value))) - 1
        ends = stats.beta(value * size, (1 - value) * size).ppf([0.025, 0.975])
        assert interval.value == pytest.approx(value, abs=1e-5)
        assert [interval.lower, interval.upper] == pytest.approx(ends, abs=1e-4)


def test_intervals_cover_and_25_labels_are_worth_75() -> None:
    errors, counted, covered = [], [], []
    for seed in range(60):
        p, truth = models(1500, seed)
        known = p[:, 1000:], truth[1000:]
        p, truth = p[:, :1000], truth[:1000]
        right = p.argmax(axis=2) == truth
        accuracy = right.mean(axis=1)
        found = model_accuracies(p, truth[:25], np.arange(25), reference=known)
        errors.append([one.value for one in found] - accuracy)
        counted.append(right[:, :25].mean(axis=1) - accuracy)
        covered.append(
            [one.lower <= true <= one.upper for one, true in zip(found, accuracy, strict=True)]
        )
        assert all(one.kind == "conditional" and one.level == 0.95 for one in found)
    assert np.mean(np.abs(errors)) < np.mean(np.abs(counted)) / np.sqrt(3)
    assert np.mean(covered) > 0.93


def test_many_labels_decide_against_what_the_models_say() -> None:
    p, truth = models(3000, 1)
    wrong = np.where(
        np.random.default_rng(2).random(3000) < 0.3, 1 - truth, truth
    )  # a third of the labels turned
    right = (p.argmax(axis=2) == wrong).mean(axis=1)
    few, many = (model_accuracies(p, wrong[:n], np.arange(n)) for n in (10, 2500))
    away = [np.abs([one.value for one in found] - right).mean() for found in (few, many)]
    assert away[1] < 0.01 < away[0]


def test_neither_the_order_of_models_and_classes_nor_of_rows_matters() -> None:
    p, truth = models(400, 3, classes=3)
    rows = np.arange(30, 60)
    found = model_accuracies(p, truth[rows], rows)
    order, classes, shuffled = (
        [2, 0, 1],
        np.array([1, 2, 0]),
        np.random.default_rng(0).permutation(400),
    )
    there = np.argsort(shuffled)[rows]
    again = model_accuracies(
        p[order][:, shuffled][:, :, np.argsort(classes)], classes[truth[rows]], there
    )
    assert [again[order.index(m)].value for m in range(3)] == pytest.approx(
        [one.value for one in found], abs=1e-9
    )


def test_predicted_classes_are_enough() -> None:
    p, truth = models(2000, 4, classes=40, skill=(4.0, 3.0, 2.5))
    said = p.argmax(axis=2)
    accuracy = (said == truth).mean(axis=1)
    found = model_accuracies(
        said[:, :1000], truth[:25], np.arange(25), reference=(said[:, 1000:], truth[1000:])
    )
    for one, true in zip(found, accuracy, strict=True):
        assert one.lower <= true <= one.upper
        assert one.upper - one.lower < 0.3
    unanimous = model_accuracies(
        np.zeros((2, 50), dtype=int), np.zeros(20, dtype=int), np.arange(20)
    )
    assert all(0.8 < one.lower <= one.value <= one.upper <= 1 for one in unanimous)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"labels": [0] * 3}, UsageError),
        ({"labels": [2] + [0] * 9}, UsageError),
        ({"rows": range(45, 55)}, UsageError),
        ({"labels": [], "rows": []}, InputError),
        ({"probabilities": np.full((3, 50, 2), np.nan)}, InputError),
        ({"reference": (np.full((2, 9, 2), 0.5), np.zeros(9, dtype=int))}, UsageError),
        ({"level": 1.0}, UsageError),
    ],
)
def test_what_cannot_be_used_is_refused(change: dict[str, object], error: type[Exception]) -> None:
    p, truth = models(50, 0)
    given: dict[str, object] = {"probabilities": p, "labels": truth[:10], "rows": range(10)}
    given |= change
    probabilities, labels, rows = (given.pop(name) for name in ("probabilities", "labels", "rows"))
    with raises_snapshot(error):
        model_accuracies(probabilities, labels, rows, **given)  # type: ignore[arg-type]
