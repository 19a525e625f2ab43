"""What small functions of the headline give, each on its smallest case."""

from __future__ import annotations

import numpy as np

from oodometer import Estimate
from oodometer.headline.headline import (
    Weighed,
    _weighted_quantile,
    averaged_methods,
    beyond_overlap,
    spelled,
    trimmed_mean,
    trimmed_mean_share,
)
from oodometer.headline.natural_shifts import (
    ShiftSigns,
    packaged_prior,
    under_label_shift,
    verdict_of,
)


def made(*methods: str) -> dict[str, Estimate]:
    return {m: Estimate(m, 0.5, 0.4, 0.6, 0.95, "conditional", "", "") for m in methods}


def test_trimmed_mean_and_weights() -> None:
    assert averaged_methods() == ("doc", "atc-entropy", "threshold-classwise", "im", "cbpe", "cott")
    assert (
        trimmed_mean({"doc": 0.5, "im": 0.6, "cbpe": 0.8, "cott": 0.9, "leap": 0.1, "source": 1.0})
        == 0.7
    )
    assert (trimmed_mean_share(1000), round(trimmed_mean_share(50_000), 2)) == (0.5, 0.02)
    assert _weighted_quantile(np.array([3.0, 1.0, 2.0]), np.full(3, 1 / 3), 0.6) == 2.0
    assert spelled(Weighed(0.8, 0.1, {"doc": 1.0}, 0.25, {}, True)) == "doc 75 %, trimmed mean 25 %"
    four = Weighed(0.8, 0.1, {"doc": 0.4, "atc": 0.3, "im": 0.2, "cbpe": 0.1}, 0.0, {}, True)
    assert spelled(four) == "doc 40 %, atc 30 %, im 20 %, others 10 %"


def test_which_estimate_is_believed() -> None:
    two = made("dis2", "agreement")
    assert [e.method for e in beyond_overlap(two)] == ["dis2", "agreement"]
    assert beyond_overlap(made("dis2")) == []
    label = under_label_shift(made("bbse", "leap", "doc").values())
    assert label.method == "leap"


def test_chances() -> None:
    prior, signs = packaged_prior(), ShiftSigns(0.9, 0.9, 500, 500, moved=0.3)
    assert round(prior.share_below(signs, prior.quantile(signs, np.array([0.25]))[0]), 6) == 0.25
    assert [*map(verdict_of, (0.9, 0.5, 0.02, None))] == [
        "fell",
        "cannot say",
        "holds",
        "cannot say",
    ]
