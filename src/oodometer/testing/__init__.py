"""Contract checks that every registered method and every model obeys, for plugins; accuracy as an assertion of tests.

    from oodometer.testing import check_estimator
    check_estimator(MyEstimator)

Each check raises `AssertionError` with the name of the rule that was broken.
"""

from __future__ import annotations

from .accuracy import TooLow, assert_accuracy
from .attributions import check_attribution, check_image_shift, check_text_shift
from .methods import (
    check_calibrator,
    check_estimator,
    check_metric,
    check_score,
    example_candidates,
    example_record,
    in_another_order,
)
from .models import check_model

__all__ = [
    "TooLow",
    "assert_accuracy",
    "check_attribution",
    "check_calibrator",
    "check_estimator",
    "check_image_shift",
    "check_metric",
    "check_model",
    "check_score",
    "check_text_shift",
    "example_candidates",
    "example_record",
    "in_another_order",
]
