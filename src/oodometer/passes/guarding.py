"""Guarding: methods are asked so that one which fails leaves a reason in the place of its answer."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from .. import plugins
from ..results import Estimate, Interval, plain


@dataclass(frozen=True)
class Failed:
    """Stands for the state of a method that failed on a batch; whatever it is merged with has failed, too."""

    why: str

    def __add__(self, other: Any) -> Failed:
        return self

    def __radd__(self, other: Any) -> Failed:
        return self


def guarded(name: str, method: Any, work: Callable[[], Any], kind: type = object) -> Any:
    """What ``work`` gives, a `Failed` where it raises or gives something that is not of the kind.

    >>> guarded("odd", Failed("a method"), lambda: 1 / 0).why
    'odd failed: ZeroDivisionError: division by zero; report it'
    """
    try:
        found = work()
        if not isinstance(found, kind):
            raise TypeError(f"expected a {kind.__name__}, got {type(found).__name__}")
    except plugins.FAILURES as error:
        return Failed(plugins.why_failed(name, method, error))
    return found


def merged(name: str, method: Any, merge: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """Two states as one."""
    if isinstance(a, Failed) or isinstance(b, Failed):
        return a if isinstance(a, Failed) else b
    return guarded(name, method, lambda: merge(a, b))


def unless_failed(state: Any) -> Any:
    """The state; `PluginError` with the reason where the method has failed before."""
    if isinstance(state, Failed):
        raise plugins.PluginError(state.why)
    return state


def checked_estimate(method: Any, found: Any) -> Estimate:
    """An estimate that may be shown: numbers in [0, 1], in order, texts that are texts; `ValueError` otherwise."""
    if not isinstance(found, Estimate):
        raise TypeError(f"expected an Estimate, got {type(found).__name__}")
    _check_order(found, (0.0, 1.0))
    if plugins.is_foreign(method):
        texts: list[Any] = [found.assumes, found.citation, found.method]
        if not all(isinstance(text, str) for text in texts):
            raise TypeError("`method`, `assumes` or `citation` of its estimate is not what it should be")
        _check_json(found.to_dict())
    return found


def checked_metric(method: Any, found: Any) -> Any:
    """What a metric of someone else gives, once it is known to be a number in bounds, a curve or a table."""
    if not plugins.is_foreign(method):
        return found
    if method.gives == "number":
        if not isinstance(found, Interval):
            raise TypeError(f"expected an Interval, got {type(found).__name__}")
        _check_order(found, method.bounds)
    _check_json(plain(found))
    return found


def _check_order(found: Estimate | Interval, bounds: tuple[float, float]) -> None:
    numbers = [float(one) for one in (found.lower, found.value, found.upper)]
    if not all(map(math.isfinite, numbers)):
        raise ValueError(f"gave {found.value} in [{found.lower}, {found.upper}]")
    low, value, high = numbers
    if not bounds[0] <= low <= value <= high <= bounds[1]:
        raise ValueError(f"gave {value} in [{low}, {high}], outside [{bounds[0]:g}, {bounds[1]:g}] or out of order")


def _check_json(told: Mapping[str, Any] | Any) -> None:
    json.dumps(told, allow_nan=False)
