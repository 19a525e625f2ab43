"""Corrected votes: by hand, coverage, judges that say nothing, rates that do not carry over, the verb."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from oodometer import Predictions, audit, estimate
from oodometer.errors import InputError, NotApplicable
from oodometer.estimators import CorrectedVotes
from oodometer.estimators.votes import profile


def judged(
    rows: int, accuracy: float, rng: np.random.Generator, rates: tuple[float, float] = (0.9, 0.47), judges: int = 1
) -> Predictions:
    right, common = rng.random(rows) < accuracy, rng.random(rows)
    own = np.where(rng.random((judges, rows)) < 0.5, common, rng.random((judges, rows)))
    return Predictions.from_arrays(votes=own < np.where(right, *rates), correct=right)


def counts(right: tuple[int, int], wrong: tuple[int, int]) -> Predictions:
    """A labelled reference of one judge: how many right and wrong rows are accepted and rejected."""
    votes = [1] * right[0] + [0] * right[1] + [1] * wrong[0] + [0] * wrong[1]
    return Predictions.from_arrays(votes=[votes], correct=[1] * sum(right) + [0] * sum(wrong))


def test_by_hand() -> None:
    """0.9 a + 0.3 (1 - a) = 0.6 for a = 1/2."""
    target = Predictions.from_arrays(votes=[[1] * 600 + [0] * 400])
    found = CorrectedVotes().fit(counts((900, 100), (300, 700))).estimate(target)
    assert found.details["rogan_gladen"] == pytest.approx(0.5)
    assert found.details["maximum_likelihood"] == pytest.approx(0.5, abs=1e-3)
    assert found.value == pytest.approx(0.5, abs=0.01)
    # delta method: Var(a) = (v(1-v)/N + a^2 s(1-s)/n1 + (1-a)^2 f(1-f)/n0) / (s-f)^2
    error = np.sqrt(0.24 / 1000 + 0.25 * 0.09 / 1000 + 0.25 * 0.21 / 1000) / 0.6
    assert found.upper - found.lower == pytest.approx(2 * 1.96 * error, rel=0.1)
    assert found.kind == "conditional"


def test_the_profile_is_that_of_a_search() -> None:
    """One judge, few rows: for each accuracy the best sensitivity and false alarms, found on a grid."""
    table, cells = np.array([[7, 3], [2, 8]]), np.array([20, 30])
    x = (np.arange(1000) + 0.5) / 1000
    alarms, sensitivity = np.meshgrid(x, x, indexing="ij")
    own = [n[1] * np.log(p) + n[0] * np.log(1 - p) for n, p in zip(table, (alarms, sensitivity), strict=True)]
    shares, logs, _ = profile(table, cells)
    for at in (40, 200, 300):
        said = shares[at] * sensitivity + (1 - shares[at]) * alarms
        searched = sum(own) + cells[1] * np.log(said) + cells[0] * np.log(1 - said)
        assert logs[at] == pytest.approx(searched.max(), abs=1e-3)


def test_the_fit_of_joint_votes() -> None:
    rng = np.random.default_rng(0)
    wrong, right = np.array([0.4, 0.3, 0.2, 0.1]), np.array([0.05, 0.15, 0.2, 0.6])
    table = np.stack([rng.multinomial(500, p) for p in (wrong, right)])
    shares, logs, best = profile(table, rng.multinomial(2000, 0.3 * right + 0.7 * wrong))
    assert shares[logs.argmax()] == pytest.approx(0.3, abs=0.06)
    assert 0 <= 2 * (best - logs.max()) < 10
    _, logs, best = profile(table, np.array([100, 100, 1700, 100]))
    assert 2 * (best - logs.max()) > 100


@pytest.mark.parametrize(("judges", "labelled"), [(1, 150), (1, 1000), (3, 300)])
def test_it_covers_where_the_rates_carry_over(judges: int, labelled: int) -> None:
    inside, errors = 0, []
    for seed in range(60):
        rng = np.random.default_rng([seed, judges, labelled])
        target = judged(2000, 0.4, rng, judges=judges)
        method = CorrectedVotes(level=0.9).fit(judged(labelled, 0.75, rng, judges=judges))
        found = method.estimate(target)
        inside += found.lower <= target.accuracy <= found.upper
        errors.append(found.value - target.accuracy)
    assert 49 <= inside <= 60
    assert abs(np.mean(errors)) < 0.06  # taken at their word they are 24 points too high


def test_judges_at_chance_say_nothing() -> None:
    target = Predictions.from_arrays(votes=[[1] * 60 + [0] * 40])
    found = CorrectedVotes().fit(counts((60, 40), (58, 42))).estimate(target)
    assert (found.lower, found.upper) == (0, 1)
    assert "no better than chance" in found.warnings[0]


def test_rates_that_cannot_have_carried_over_are_refused() -> None:
    """Fewer outputs are accepted than of wrong ones alone."""
    target = Predictions.from_arrays(votes=[[1] * 100 + [0] * 900])
    found = CorrectedVotes().fit(counts((450, 50), (235, 265))).estimate(target)
    assert (found.lower, found.upper) == (0, 1)
    assert "did not carry over" in found.warnings[0]
    rng = np.random.default_rng(3)
    drifted = judged(2000, 0.5, rng, (0.95, 0.9), judges=3).votes
    drifted[0] = rng.random(2000) < 0.2  # one judge rejects what the others accept
    three = CorrectedVotes().fit(judged(1000, 0.7, rng, judges=3)).estimate(Predictions.from_arrays(votes=drifted))
    assert three.details["refuted"]


def test_what_it_needs() -> None:
    one = Predictions.from_arrays(votes=[[1, 0, 1]], correct=[1, 1, 1])
    with pytest.raises(NotApplicable, match="none is wrong"):
        CorrectedVotes().fit(one)
    with pytest.raises(InputError, match="2 judges"):
        CorrectedVotes().fit(Predictions.from_arrays(votes=[[1, 0], [1, 0]], correct=[1, 0])).estimate(one)


def frames(seed: int = 1) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    rng = np.random.default_rng(seed)
    reference, target = judged(500, 0.75, rng), judged(2000, 0.3, rng)
    home = pd.DataFrame({"correct": reference.correct, "vote_judge": reference.votes[0]})
    return home, pd.DataFrame({"vote_judge": target.votes[0]}), target.accuracy


def test_the_verb_corrects_a_judge() -> None:
    reference, target, truth = frames()
    found = estimate(reference, target)
    head: Any = found.headline
    assert head.method == "votes-corrected"
    assert head.lower <= truth <= head.upper
    assert abs(head.value - truth) < 0.1
    assert found["votes"].lower > truth + 0.2  # as they are they stay beside it
    assert "err on the target as often" in head.assumes
    assert found.fell.verdict == "fell"
    assert "judges" in found.fell.why
    assert "public" not in f"{head.assumes} {head.why} {found.fell.why}"
    assert not head.bands


def test_votes_that_nobody_checked_deserve_no_trust() -> None:
    reference, target, _ = frames()
    head = estimate(reference[["correct"]], target, methods=["votes"]).headline
    assert head.trust == "none"
    assert "taken at their word" in head.why
    fell = estimate(reference[["correct"]], target, methods=["votes"]).fell
    assert fell.verdict == "cannot say"


def test_an_audit_does_not_quote_public_shifts() -> None:
    reference, target, truth = frames()
    labels = pd.DataFrame({"row": [0, 1, 2], "correct": [0, 0, 1]})
    found = audit(reference, target, labels=labels)
    assert found.headline.lower <= truth <= found.headline.upper
    assert found.believed.interval is None
    assert "no public shift" in str(found.believed.why)
