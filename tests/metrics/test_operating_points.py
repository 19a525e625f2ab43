"""Operating points: by hand, against scipy, and in simulations where the chosen threshold must hold."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest

from oodometer import Predictions
from oodometer.errors import UsageError
from oodometer.metrics import OperatingPoints, operating_point
from oodometer.metrics.operating_points import (
    binomial_tails,
    fewest_rows,
    parts_of,
    rejected,
    rows_set_aside,
    starts_of,
)
from oodometer.metrics.ranks import Ranks
from oodometer.registry import create

from ..snapshots import raises_snapshot


def test_by_hand() -> None:
    """1,000 rows, 40 of them give thresholds; the surest 400 are right, then every other."""
    confidence = np.linspace(1, 0.91, 1000)
    correct = np.concatenate([np.ones(400), np.arange(600) % 2])
    found = operating_point(confidence, correct, accuracy=0.95)
    assert (found["tests"], found["set_aside"]) == (40 + 39 + 1, 40)
    answers = confidence >= found["threshold"]
    assert answers.sum() == found["answered"] == 1000 * found["coverage"]["value"]
    assert 370 <= found["answered"] <= 430  # with 444 answered accuracy is 0.95, and 0.9 with 500
    assert found["selective_accuracy"]["value"] == correct[answers].mean()
    assert found["selective_accuracy"]["lower"] == 0.95
    # at the whole level the test rejects, at a fifth of it no threshold more lenient does
    assert (
        binomtest(
            int(correct[answers].sum()), found["answered"], 0.95, alternative="greater"
        ).pvalue
        <= 0.05
    )
    # what was merely observed goes further: 444 rows, 22 of them wrong, or a few more
    assert 0.44 <= found["observed"]["coverage"] <= 0.45


def test_everything_may_be_answered() -> None:
    found = operating_point(np.linspace(1, 0.5, 500), np.arange(500) > 2, accuracy=0.9)
    assert (found["coverage"]["value"], found["threshold"]) == (1.0, 0.0)


def test_nothing_can_be_proved() -> None:
    few = operating_point([0.9] * 20, [1] * 20, accuracy=0.95)
    assert few["coverage"] is None
    assert "needs at least 64 rows" in few["why"]
    assert (
        operating_point(np.linspace(1, 0.9, 64), [1] * 64, accuracy=0.95)["coverage"]["value"] == 1
    )
    assert few["observed"]["coverage"] == 1.0
    bad = operating_point(np.linspace(0.9, 0.5, 300), np.arange(300) % 2 == 1, accuracy=0.95)
    assert "no part of the rows" in bad["why"]
    close = operating_point(np.linspace(0.9, 0.5, 300), np.arange(300) % 25 > 0, accuracy=0.95)
    assert "not" not in close["why"]
    assert close["threshold"] is None


def test_a_stricter_level_or_accuracy_answers_less() -> None:
    rng = np.random.default_rng(0)
    confidence = rng.random(3000)
    correct = rng.random(3000) < confidence**0.2
    share = [
        operating_point(confidence, correct, a)["coverage"]["value"] for a in (0.85, 0.9, 0.95)
    ]
    assert share == sorted(share, reverse=True)
    assert operating_point(confidence, correct, 0.9, level=0.999)["coverage"]["value"] <= share[1]


@pytest.mark.parametrize("rows", [300, 2000])
def test_the_promise_holds_although_the_threshold_was_chosen(rows: int) -> None:
    """Accuracy above a threshold t is known here; at most 10 % of the chosen thresholds may miss it at level 0.9."""
    rng = np.random.default_rng(1)
    grid = np.linspace(0, 1, 20_001)
    rate = np.clip(0.8 + 0.25 * (grid - 0.3), 0, 1)
    above = np.cumsum(rate[::-1])[::-1] / np.arange(
        len(grid), 0, -1
    )  # accuracy of those above, uniform confidence
    missed, naive, chosen = 0, 0, 0
    for _ in range(300):
        confidence = rng.random(rows)
        correct = rng.random(rows) < np.interp(confidence, grid, rate)
        found = operating_point(confidence, correct, accuracy=0.9, level=0.9)
        if found["coverage"] is not None:
            chosen += 1
            missed += np.interp(found["threshold"], grid, above) < 0.9
        at = found["observed"]["threshold"]
        naive += at is not None and np.interp(at, grid, above) < 0.9
    assert missed / 300 <= 0.1
    assert naive / 300 > 0.2, "what was merely observed is no promise"
    if rows == 2000:
        assert chosen > 200, "a promise that is never made is worth nothing"


def test_the_table() -> None:
    record = Predictions.from_confidence(np.linspace(1, 0.5, 400), correct=np.arange(400) < 390)
    found = OperatingPoints(required=(0.9, 0.999)).compute(record)
    assert [row["accuracy"] for row in found] == [0.9, 0.999]
    assert found[0]["why"] is None
    assert found[1]["coverage"] is None
    with raises_snapshot(UsageError):
        OperatingPoints(required=(95,))


def test_few_levels_of_confidence() -> None:
    """Nine in ten rows share the highest level, whatever rows give their confidence as a threshold."""
    found = operating_point(
        [1.0] * 450 + [0.75] * 50, [1] * 445 + [0] * 5 + [0, 1] * 25, accuracy=0.95
    )
    assert found["answered"] == 450
    assert 0.75 < found["threshold"] <= 1


def test_accuracies_asked_together_share_the_level() -> None:
    """Together they answer no more than each alone, but what is proved everywhere gives its part to the next."""
    rng = np.random.default_rng(3)
    confidence = rng.random(3000)
    correct = rng.random(3000) < 0.97 + 0.03 * confidence
    record = Predictions.from_confidence(confidence, correct=correct)
    required = (0.99, 0.9, 0.95, 0.95)
    found = OperatingPoints(required=required).compute(record)
    share = {
        row["accuracy"]: 0 if row["coverage"] is None else row["coverage"]["value"] for row in found
    }
    assert [row["accuracy"] for row in found] == list(required)
    assert share[0.9] == share[0.95] == 1
    assert 0 < share[0.99] <= operating_point(confidence, correct, 0.99)["coverage"]["value"]


def test_the_order_of_the_rows_changes_nothing() -> None:
    rng = np.random.default_rng(4)
    confidence = rng.integers(0, 30, 900) / 30  # many ties
    correct = rng.random(900) < 0.8 + 0.2 * confidence
    mixed = rng.permutation(900)
    assert operating_point(confidence, correct, 0.9) == operating_point(
        confidence[mixed], correct[mixed], 0.9
    )


def test_probabilities_of_tokens_are_a_confidence() -> None:
    """A file with log-probabilities of tokens alone: exp of their sum, as `estimate` takes it."""
    rng = np.random.default_rng(6)
    steps = [(-rng.exponential(0.1, size=rng.integers(1, 5))).tolist() for _ in range(200)]
    correct = rng.random(200) < 0.7
    tokens = Predictions.from_arrays(token_logprobs=steps, correct=correct)
    plain = Predictions.from_confidence([math.exp(sum(one)) for one in steps], correct=correct)
    for name in ("auc_coverage", "ece", "brier"):
        metric = create("metric", name)
        assert metric.compute(tokens).value == pytest.approx(metric.compute(plain).value)
    assert create("metric", "brier").missing(Predictions.from_arrays(correct=[1])) is not None


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
    tails = np.sort(
        np.array(draw(st.lists(st.floats(1e-4, 0.1), min_size=many * long, max_size=many * long)))
    )
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tails = np.sort(rng.permutation(tails).reshape(many, long), axis=0)
    starts = rng.multinomial(5, np.full(long, 1 / long), size=many) / 5
    return tails, starts, np.full(many, ALPHA / many)


@settings(max_examples=30, deadline=None)
@given(trials())
def test_it_is_the_procedure_that_is_proved(
    trial: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
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
    before, after = (
        np.cumsum(resting(rows < reached, starts, parts)[::-1], axis=0)[::-1]
        for reached in (few, many)
    )
    assert (after >= before - 1e-12)[rows >= many].all()
    true = rows >= many
    assert np.where(true, after, 0).max(axis=0).sum() <= ALPHA + 1e-12


def test_the_parts_and_starts() -> None:
    assert parts_of((0.9, 0.95, 0.99), 5000, ALPHA).tolist() == pytest.approx([ALPHA / 3] * 3)
    assert parts_of((0.9, 0.95, 0.99), 30, ALPHA).sum() == pytest.approx(
        ALPHA
    )  # none can be reached
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
    right = np.diff(np.interp(grid, at, accuracy) * grid) / np.diff(
        grid
    )  # its mean from 0 to u is that accuracy
    for _ in range(200):
        u = rng.random(300)
        verdict = rng.random(300) < right[(u * 2000).astype(int)]
        found = metric.finish(Ranks.of(1 - u, verdict.astype(np.int8)))
        claims += any(
            row["coverage"] is not None
            and np.interp(1 - row["threshold"], at, accuracy) < row["accuracy"]
            for row in found
        )
    assert claims <= 0.05 * 200 + 6  # two standard errors
