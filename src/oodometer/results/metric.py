"""A metric besides the accuracy, estimated: its headline, every method's estimate, the reference's own value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import UsageError
from .estimation import Assumed, Headline
from .values import Estimate, Interval, WithInterval

__all__ = ["MetricEstimation", "number"]


def number(value: float | None) -> str:
    """A metric in a table: three decimals; empty where there is none.

    >>> number(0.81234), number(-0.0001), number(None)
    ('0.812', '0.000', '')
    """
    return "" if value is None else f"{round(value, 3) + 0.0:.3f}"


@dataclass(frozen=True)
class MetricEstimation(WithInterval):
    """A metric besides the accuracy: its headline, what every method says, the reference's own, and the truth if known;
    ``assumptions``: the answers under each idea of the shift, as of the accuracy.

    >>> i = Interval(0.8, 0.7, 0.9, 0.95, "backtest")
    >>> MetricEstimation(Headline(i, "cbpe", "nothing changed", "low", "a guess"), ()).value
    0.8
    """

    headline: Headline
    estimates: tuple[Estimate, ...]
    reference: Interval | None = None
    truth: Interval | None = None
    assumptions: Mapping[str, Assumed] = field(default_factory=dict)

    @property
    def interval(self) -> Interval:
        """Number and interval of the headline."""
        return self.headline.interval

    @property
    def method(self) -> str:
        """What the headline was made of."""
        return self.headline.method

    @property
    def assumes(self) -> str:
        """What the number rests on."""
        return self.headline.assumes

    @property
    def trust(self) -> str:
        """How far it may be trusted: "high", "low" or "none"."""
        return self.headline.trust

    def __getitem__(self, method: str) -> Estimate:
        for estimate in self.estimates:
            if estimate.method == method:
                return estimate
        raise UsageError(f"there is no estimate of this metric by {method!r}")

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            **self.headline.to_dict(),
            "reference": None if self.reference is None else self.reference.to_dict(),
            "truth": None if self.truth is None else self.truth.to_dict(),
            "assumptions": {name: one.to_dict() for name, one in self.assumptions.items()},
            "estimates": [e.to_dict() for e in self.estimates],
        }
