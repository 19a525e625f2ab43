"""Contract checks that every registered method and every model obeys, for plugins; accuracy as an assertion of tests.

    from oodometer.testing import check_estimator
    check_estimator(MyEstimator)

Each check raises `AssertionError` with the name of the rule that was broken. Those of models, attributions and shifts
are the lab's.
"""

from __future__ import annotations

from typing import Any

from .accuracy import TooLow, assert_accuracy
from .methods import (
    check_calibrator,
    check_estimator,
    check_metric,
    check_score,
    example_candidates,
    example_record,
    in_another_order,
)

_OF_LAB = ("check_attribution", "check_image_shift", "check_model", "check_text_shift")

__all__ = [
    "TooLow",
    "assert_accuracy",
    "check_calibrator",
    "check_estimator",
    "check_metric",
    "check_score",
    "example_candidates",
    "example_record",
    "in_another_order",
    *_OF_LAB,
]


def __getattr__(name: str) -> Any:
    if name not in _OF_LAB:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..plugins import load

    return getattr(load("parts", "testing", f"oodometer.testing.{name}"), name)
