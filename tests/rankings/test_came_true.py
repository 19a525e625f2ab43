"""Came true: curves, and a posterior that says no more than came true: leader, pairs and costs together."""

from __future__ import annotations

import numpy as np
import pytest

from oodometer.rankings import Posterior, posterior
from oodometer.rankings.came_true import CameTrue, as_came_true, curve_of, group_of, packaged
from oodometer.rankings.posterior import posterior_by_pattern


def six(labels: int = 10) -> Posterior:
    """Six models, of which the first is by far the best, and the second the next."""
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, 600)
    share = np.array([0.95, 0.85, 0.8, 0.75, 0.7, 0.65])[:, None]
    said = np.where(rng.random((6, 600)) < share, truth, 1 - truth)
    said[:, :labels][0] = truth[:labels]
    rows = said[:, :labels], truth[:labels], said[:, labels:]
    witness = share[:, 0], np.diag(np.full(6, 0.01**2))
    return posterior_by_pattern(posterior(*rows), *rows, classes=[witness])


def curves(true: float, labels: tuple[int, ...] = (10,)) -> CameTrue:
    """Leaders of 60 % and more were the best in this share."""
    knots = np.array([0.2, 0.6, 0.95]), np.array([0.2, true, true])
    return CameTrue(
        dict.fromkeys([(False, some, "five or more") for some in labels], knots), {}, {}
    )


def test_all_that_is_said_goes_with_the_leader() -> None:
    raw = six()
    first = int(raw.p_best.argmax())
    assert raw.p_best[first] > 0.6
    found = as_came_true(raw, curves(0.4), referenced=False)
    assert found.p_best[first] == pytest.approx(0.4)
    assert found.p_best.sum() == pytest.approx(1)
    assert found.as_said == raw.p_best[first]
    assert found.order == raw.order
    others = np.delete(np.arange(6), first)
    assert (found.p_best[others] / raw.p_best[others]).round(9).tolist() == [
        pytest.approx(0.6 / (1 - raw.p_best[first]))
    ] * 5
    assert found.p_better + found.p_better.T == pytest.approx(np.ones((6, 6)))
    assert (found.p_better[first, others] < raw.p_better[first, others]).all()
    for a in range(6):  # who is the best of all beats each other one
        for b in range(6):
            assert a == b or found.p_better[a, b] >= found.p_best[a] - 1e-12
    assert found.cost(first)[0] > raw.cost(first)[0]
    assert set(raw.not_excluded()) <= set(found.not_excluded())


def test_a_leader_stays_the_leader_and_nothing_is_raised() -> None:
    raw = six()
    first = int(raw.p_best.argmax())
    low = as_came_true(raw, curves(0.0), referenced=False)
    assert int(low.p_best.argmax()) == first
    assert low.p_best[first] == pytest.approx(np.sort(low.p_best)[-2], abs=1e-4)
    assert as_came_true(raw, curves(0.6), referenced=True) is raw
    kept = CameTrue({(False, 10, "five or more"): (np.array([1.0]), np.array([1.0]))}, {}, {})
    assert as_came_true(raw, kept, referenced=False) is raw


def test_labels_between_and_beyond_those_that_were_measured() -> None:
    kept = CameTrue(
        {
            (False, 10, "five or more"): (np.array([0.8]), np.array([0.4])),
            (False, 100, "five or more"): (np.array([0.8]), np.array([0.8])),
        },
        {},
        {},
    )
    about = {"models": 6, "referenced": False}
    said = [kept.of(0.8, labels=labels, **about) for labels in (5, 10, 30, 100, 5000)]
    assert said[0] == said[1] == pytest.approx(0.4)
    assert 0.4 < said[2] < 0.8
    assert said[3:] == pytest.approx([0.8, 0.8])
    assert kept.of(0.4, labels=10, **about) == pytest.approx(0.2)
    many = six(400)
    assert many.by_labels.max() > 0.9
    first = int(many.p_best.argmax())
    least = min(many.by_labels[first], many.p_best[first])
    assert as_came_true(many, curves(0.4), referenced=False).p_best[first] >= least - 1e-3


def test_a_curve_never_falls_and_says_no_more_than_was_said() -> None:
    rng = np.random.default_rng(0)
    said = rng.random(2000)
    true = rng.random(2000) < np.where(said > 0.5, 0.4, said * 1.3)
    knots, kept = curve_of(said, true, [str(number % 20) for number in range(2000)])
    assert (np.diff(knots) > 0).all()
    assert (np.diff(kept) >= -1e-12).all()
    assert (kept <= knots).all()
    assert kept[-1] == pytest.approx(0.4, abs=0.05)


def test_packaged_curves() -> None:
    kept = packaged()
    assert {(with_one, group) for with_one, _, group in kept.curves} == {(False, "five or more")}
    assert kept.measured(False, "five or more") == [0, 10, 30, 100]
    for labels in (0, 10, 30):
        values = [
            kept.of(p, labels=labels, models=7, referenced=False) for p in np.linspace(0.1, 1, 50)
        ]
        assert (np.diff(values) >= -1e-9).all(), labels
    assert [group_of(number) for number in (2, 3, 4, 5, 60)] == [
        "two",
        *["three or four"] * 2,
        *["five or more"] * 2,
    ]
