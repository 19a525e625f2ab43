"""Thresholds of judges: as many accepted as are right, equal probabilities, slack of order statistics, bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from oodometer.errors import InputError
from oodometer_lab.discriminators import AcceptanceThresholds, fit_thresholds

from ..snapshots import raises_snapshot


def accepted(said: Any, thresholds: Any) -> Any:
    return (np.asarray(said) >= np.asarray(thresholds)[:, None]).sum(axis=1)


@given(seed=st.integers(0, 10_000), rows=st.integers(2, 60), judges=st.integers(1, 4))
def test_each_judge_accepts_as_many_as_are_right(seed: int, rows: int, judges: int) -> None:
    rng = np.random.default_rng(seed)
    said = rng.permuted(np.tile(np.linspace(0.01, 0.99, rows), (judges, 1)), axis=1)
    right = int(rng.integers(1, rows))
    correct = rng.permutation(np.arange(rows) < right)
    found = fit_thresholds(said, correct)
    assert accepted(said, found.values).tolist() == [right] * judges
    votes = said >= found.values[:, None]
    assert votes.all(axis=0).mean() <= right / rows <= votes.any(axis=0).mean()
    assert (found.lenient <= found.values).all()
    assert (found.values <= found.strict).all()


def test_equal_probabilities_leave_the_nearest_number() -> None:
    said = np.array([[0.9, 0.6, 0.6, 0.6, 0.1]])
    for right, number in ((1, 1), (2, 1), (3, 4), (4, 4)):
        found = fit_thresholds(said, np.arange(5) < right)
        assert accepted(said, found.values).tolist() == [number]
    assert accepted(
        [[0.5] * 4], fit_thresholds(np.full((1, 4), 0.5), [1, 0, 0, 0]).values
    ).tolist() == [0]


def test_a_rule_keeps_its_verdicts() -> None:
    found = fit_thresholds(np.array([[1.0, 1.0, 1.0, 0.0]]), [1, 0, 0, 0])
    assert (found.values.tolist(), found.strict.tolist(), found.lenient.tolist()) == (
        [0.5],
        [0.5],
        [0.5],
    )


def test_an_empty_output_is_never_accepted() -> None:
    found = fit_thresholds(np.array([[0.9, 0.0, 0.0]]), [1, 1, 0])
    for ends in (found.values, found.strict, found.lenient):
        assert ends[0] > 0


def test_the_slack_holds_as_often_as_it_says() -> None:
    """The share that strict thresholds accept of new outputs exceeds right / rows in at most 2.5 % of all dev sets."""
    rng = np.random.default_rng(3)
    above = below = 0
    draws = 2_000
    correct = np.arange(80) < 50
    for _ in range(draws):
        found = fit_thresholds(rng.random((1, 80)), correct)
        above += (
            1 - found.strict[0] > 50 / 80
        )  # of uniform probabilities, 1 - t are accepted from t on
        below += 1 - found.lenient[0] < 50 / 80
    assert above / draws <= 0.025 + 3 * np.sqrt(0.025 / draws)
    assert below / draws <= 0.025 + 3 * np.sqrt(0.025 / draws)
    assert min(above, below) / draws > 0.005  # not wider than needed


def test_few_rows_leave_everything_open() -> None:
    found = fit_thresholds(np.array([[0.9, 0.4, 0.2]]), [1, 0, 1])
    assert found.strict[0] > 1
    assert 0 < found.lenient[0] < 1e-30


def test_what_is_told_is_read_again() -> None:
    found = fit_thresholds(np.random.default_rng(0).random((3, 40)), np.arange(40) < 17)
    again = AcceptanceThresholds.from_dict(found.to_dict(["a", "b", "c"]))
    for name in ("values", "strict", "lenient"):
        assert np.array_equal(getattr(found, name), getattr(again, name))
    assert (again.rows, again.right, again.level) == (40, 17, 0.95)


@pytest.mark.parametrize(
    ("said", "correct"),
    [
        ([[0.5, 0.6]], [1, 1]),
        ([[0.5, 0.6]], [0, 0]),
        ([[0.5, 1.2]], [1, 0]),
        ([[np.nan, 0.2]], [1, 0]),
        ([[0.5, 0.6]], [1]),
    ],
)
def test_what_gives_no_thresholds(said: Any, correct: Any) -> None:
    with raises_snapshot(InputError):
        fit_thresholds(np.array(said), correct)
