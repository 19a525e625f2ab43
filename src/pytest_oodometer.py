"""The plugin of oodometer for pytest: a fixture `assert_accuracy`. It stands outside of the package, so that pytest
starts without importing oodometer or numpy: both are loaded in the first test that uses the fixture.

    def test_model_still_works(assert_accuracy):
        assert_accuracy("reference.parquet", "last_week.parquet", at_least=0.9, every="1d")
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

__all__ = ["assert_accuracy"]


@pytest.fixture
def assert_accuracy(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """Estimate accuracy on data without labels and fail where it is too low: `oodometer.testing.assert_accuracy`.

    The number, its interval and its trust are properties of the test, which JUnit XML and other reports show.
    """

    def check(reference: Any, target: Any = None, **options: Any) -> Any:
        __tracebackhide__ = True
        from oodometer.testing.accuracy import TooLow, assert_accuracy

        try:
            result = assert_accuracy(reference, target, **options)
        except TooLow as low:
            _remember(request, low.found)
            raise
        _remember(request, result)
        return result

    return check


def _remember(request: pytest.FixtureRequest, result: Any) -> None:
    head = result.headline
    for name in ("value", "lower", "upper", "trust"):
        request.node.user_properties.append((f"oodometer.accuracy.{name}", getattr(head, name)))
