"""Fixed sequences: by hand, against a plain reading of the procedure, and where every claim would be false."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from oodometer.metrics import OperatingPoints
from oodometer.metrics.operating_points import (
    binomial_tails,
    fewest_rows,
    parts_of,
    rejected,
    rows_set_aside,
    starts_of,
)
from oodometer.metrics.ranks import Ranks

ALPHA = 0.05


def resting(done: np.ndarray, starts: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """Where the level lies once ``done`` is rejected: every grain of it is followed by itself."""
    lies = np.zeros(done.shape)

    def lay(accuracy: int, start: int, mass: float) -> None:
        for t in range(start, done.shape[1]):
            if not done[accuracy, t]:
                lies[accuracy, t] += mass
                return
        if accuracy + 1 < len(parts):
            for other in np.flatnonzero(starts[accuracy + 1]):
                lay(accuracy + 1, int(other), mass * starts[accuracy + 1, other])

    for accuracy, part in enumerate(parts):
        for start in np.flatnonzero(starts[accuracy]):
            lay(accuracy, int(start), part * starts[accuracy, start])
    return lies


@st.composite
def trials(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Tails that ascend with the accuracy, starts that sum to 1, parts that sum to the level."""
    many, long = draw(st.integers(1, 3)), draw(st.integers(1, 6))
    tails = np.sort(np.array(draw(st.lists(st.floats(1e-4, 0.1), min_size=many * long, max_size=many * long))))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tails = np.sort(rng.permutation(tails).reshape(many, long), axis=0)
    starts = rng.multinomial(5, np.full(long, 1 / long), size=many) / 5
    return tails, starts, np.full(many, ALPHA / many)


@settings(max_examples=30, deadline=None)
@given(trials())
def test_it_is_the_procedure_that_is_proved(trial: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    """Steps of the plain reading end at the same set; then whatever is true, the tests of it cost the level at most."""
    tails, starts, parts = trial
    done = np.zeros(tails.shape, dtype=bool)
    while True:
        lies = resting(done, starts, parts)
        assert lies.sum() <= ALPHA + 1e-12
        level = np.cumsum(lies[::-1], axis=0)[::-1]
        more = done | ((tails <= level) & (level > 0))
        more = np.maximum.accumulate(more[::-1], axis=0)[::-1]
        if (more == done).all():
            break
        done = more
    assert (rejected(tails, starts, parts) == done).all()


@settings(max_examples=30, deadline=None)
@given(trials(), st.randoms(use_true_random=False))
def test_more_rejections_never_take_a_level_away_and_true_ones_share_it(
    trial: tuple[np.ndarray, np.ndarray, np.ndarray], random: object
) -> None:
    """The two conditions of Goeman and Solari (2010), for sets that hold with each hypothesis what follows from it."""
    _, starts, parts = trial
    rng = np.random.default_rng(random.randrange(2**32))
    few, many = np.sort(rng.integers(0, len(parts) + 1, (2, starts.shape[1])), axis=0)
    rows = np.arange(len(parts))[:, None]
    before, after = (np.cumsum(resting(rows < reached, starts, parts)[::-1], axis=0)[::-1] for reached in (few, many))
    assert (after >= before - 1e-12)[rows >= many].all()
    true = rows >= many
    assert np.where(true, after, 0).max(axis=0).sum() <= ALPHA + 1e-12


def test_the_parts_and_starts() -> None:
    assert parts_of((0.9, 0.95, 0.99), 5000, ALPHA).tolist() == pytest.approx([ALPHA / 3] * 3)
    assert parts_of((0.9, 0.95, 0.99), 30, ALPHA).sum() == pytest.approx(ALPHA)  # none can be reached
    for rows in (1, 30, 300, 10_000):
        starts = starts_of(0.95, rows_set_aside(rows) + 1, rows - rows_set_aside(rows), ALPHA)
        assert starts.sum() == pytest.approx(1)
        assert starts[-1] > 0, "that which answers all is a start"
    assert fewest_rows(0.95, ALPHA) == 64
    assert 0.95 ** (64 - rows_set_aside(64)) <= ALPHA < 0.95 ** (63 - rows_set_aside(63))


def test_tails_are_those_of_the_binomial() -> None:
    hits, answered = np.array([0.0, 3, 95, 100]), np.array([0.0, 3, 100, 100])
    found = binomial_tails(hits, answered, [0.9, 0.95])
    assert found == pytest.approx(np.array([binom.sf(hits - 1, answered, a) for a in (0.9, 0.95)]))


def test_where_every_claim_is_false_few_are_made() -> None:
    """Just below all three accuracies at three depths: at most 5 % of the draws may hold any claim (here of 200)."""
    rng, required = np.random.default_rng(5), (0.8, 0.9, 0.95)
    metric, claims = OperatingPoints(required), 0
    at, accuracy = np.array([0, 0.4, 0.7, 1]), np.array([0.949, 0.949, 0.899, 0.799])
    grid = np.linspace(0, 1, 2001)
    right = np.diff(np.interp(grid, at, accuracy) * grid) / np.diff(grid)  # its mean from 0 to u is that accuracy
    for _ in range(200):
        u = rng.random(300)
        verdict = rng.random(300) < right[(u * 2000).astype(int)]
        found = metric.finish(Ranks.of(1 - u, verdict.astype(np.int8)))
        claims += any(
            row["coverage"] is not None and np.interp(1 - row["threshold"], at, accuracy) < row["accuracy"]
            for row in found
        )
    assert claims <= 0.05 * 200 + 6  # two standard errors
