"""Bradley and Terry against statsmodels' logistic regression, by hand, and where strengths run away."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from oodometer.inference.bradley_terry import Strengths, bradley_terry, connected

NAMES = np.array(["a", "b", "c", "d"])


def battles(rows: int, seed: int) -> dict[str, Any]:
    """Battles of four models on 40 prompts, judged by 12; the first place helps."""
    rng = np.random.default_rng(seed)
    i = rng.integers(0, 4, rows)
    j = (i + rng.integers(1, 4, rows)) % 4
    strength, prompt = np.array([0.6, 0.2, -0.1, -0.7]), rng.integers(0, 40, rows)
    place = rng.choice([-1.0, 1.0], rows)
    easy = rng.normal(0, 0.6, (40, 4))
    odds = (strength + easy[prompt])[np.arange(rows), i] - (strength + easy[prompt])[
        np.arange(rows), j
    ]
    won = (rng.random(rows) < 1 / (1 + np.exp(-odds - 0.4 * place))).astype(float)
    won[rng.random(rows) < 0.1] = 0.5
    return {
        "first": i,
        "second": j,
        "won": won,
        "place": place,
        "prompt": prompt,
        "judge": rng.integers(0, 12, rows),
    }


def by_statsmodels(drawn: dict[str, Any], groups: Any) -> Any:
    """A logistic regression of the same battles, the first model at 0."""
    import statsmodels.api as sm

    rows = len(drawn["won"])
    design = np.zeros((rows, 5))
    design[np.arange(rows), drawn["first"]] += 1
    design[np.arange(rows), drawn["second"]] -= 1
    design[:, 4] = drawn["place"]
    model = sm.GLM(drawn["won"], design[:, 1:], family=sm.families.Binomial())
    return model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})


def fitted(drawn: dict[str, Any], *clusters: np.ndarray) -> Strengths:
    return bradley_terry(
        NAMES[drawn["first"]],
        NAMES[drawn["second"]],
        drawn["won"],
        clusters=clusters,
        covariates=drawn["place"][:, None],
        names=["place"],
    )


def test_strengths_and_errors_are_those_of_a_logistic_regression() -> None:
    drawn = battles(600, 1)
    found, other = fitted(drawn, drawn["prompt"]), by_statsmodels(drawn, drawn["prompt"])
    assert found.models == tuple("abcd")
    assert found.value[:4].sum() == pytest.approx(0, abs=1e-9)
    for k in (1, 2, 3):
        value, low, high = found.contrast(found.gap(k, 0))
        assert value == pytest.approx(other.params[k - 1], abs=1e-6)
        from scipy.stats import t

        half = t.ppf(0.975, 39) * other.bse[k - 1] * np.sqrt(40 / 39)
        assert (high - low) / 2 == pytest.approx(half, rel=1e-6)
    assert found.value[4] == pytest.approx(other.params[3], abs=1e-6)


def test_two_kinds_of_clusters_add_less_what_they_share() -> None:
    drawn = battles(600, 2)
    within = drawn["prompt"] // 4  # each judge has four prompts: what both share is the prompt
    found = fitted(drawn, drawn["prompt"], within)
    assert found.covariance == pytest.approx(fitted(drawn, within).covariance, abs=1e-10)
    assert found.degrees == 9
    crossed = fitted(drawn, drawn["prompt"], drawn["judge"]).covariance
    assert np.linalg.eigvalsh(crossed).min() > -1e-12
    sides = [fitted(drawn, drawn[name]).covariance[4, 4] for name in ("prompt", "judge")]
    assert 0.5 * max(sides) < crossed[4, 4] < sum(sides)


def test_the_chance_of_two_is_the_win_rate_and_p_best_that_of_their_order() -> None:
    first, second = np.array(["x"] * 50), np.array(["y"] * 50)
    won = np.repeat([1.0, 0.5, 0.0], [30, 4, 16])
    found = bradley_terry(first, second, won)
    value, low, high = found.beats(0, 1)
    assert value == pytest.approx(0.64)
    assert low < 0.5 + 0.05 < high
    assert found.wins(0) == pytest.approx((value, low, high))
    assert found.p_best[0] == pytest.approx(1 - found.p_value(0, 1) / 2, abs=0.01)


def test_a_model_that_wins_always_is_drawn_back() -> None:
    first, second = np.array(["a", "a", "b", "c"] * 5), np.array(["b", "c", "c", "b"] * 5)
    found = bradley_terry(first, second, np.array([1.0, 1.0, 1.0, 1.0] * 5))
    assert found.shrunk
    assert found.value[0] > found.value[1] == pytest.approx(found.value[2])
    assert found.contrast(found.gap(0, 1))[1] > -5
    assert not fitted(battles(200, 3)).shrunk


def test_models_that_never_met_are_groups() -> None:
    assert connected(np.array(["a", "c", "x"]), np.array(["b", "b", "y"])) == [
        ["a", "b", "c"],
        ["x", "y"],
    ]
