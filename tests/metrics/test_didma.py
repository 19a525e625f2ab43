"""DiDMA and NiDMA: by hand, with the paper's own example of parameters."""

from __future__ import annotations

import pytest

from oodometer.errors import UsageError
from oodometer.metrics import computation_score, didma, nidma


def test_by_hand() -> None:
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
    with pytest.raises(UsageError, match="p and q that sum to 1"):
        didma(0.5, 0.5, (0.5, 0.6))
    with pytest.raises(UsageError, match="u and v"):
        nidma(0.5, 0.5, (1.0, 0.5, -0.5))
