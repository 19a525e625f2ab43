"""What looks at a shift share: the methods that a finding speaks for or against, and Holm's correction."""

from __future__ import annotations

from collections.abc import Mapping

from ..registry import those
from ..results.diagnosis import Diagnosis, Finding, ShiftKind

__all__ = ["Diagnosis", "Finding", "ShiftKind", "asking_for", "holm", "reading_confidence"]


def reading_confidence() -> tuple[str, ...]:
    """Methods that read the confidence, which an alarm about it speaks against."""
    return those("estimator", lambda cls: cls.traits.reads == "confidence")


def asking_for(stable: str) -> tuple[str, ...]:
    """Methods that ask this to be unchanged under the shift: "P(x | y)", as label shift has it, or "P(y | x)".

    >>> asking_for("P(x | y)")
    ('label-shift', 'bbse', 'sld', 'leap', 's-leap')
    """
    return those("estimator", lambda cls: cls.traits.stable == stable)


def holm(p_values: Mapping[str, float]) -> dict[str, float]:
    """Holm's adjusted p-values: the chance of any false alarm among all tests stays below the level.

    Source: Holm (1979).

    >>> holm({"a": 0.01, "b": 0.04})
    {'a': 0.02, 'b': 0.04}
    """
    out: dict[str, float] = {}
    highest = 0.0
    for i, name in enumerate(sorted(p_values, key=lambda n: p_values[n])):
        highest = max(highest, min(1.0, (len(p_values) - i) * p_values[name]))
        out[name] = highest
    return {name: out[name] for name in p_values}
