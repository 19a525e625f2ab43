"""Accuracy as a test: fail where the estimate on data without labels lies below what was promised."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, Literal

from ..errors import UsageError
from ..registry import canonical
from ..results import percent
from ..results.estimation import Estimation, Headline, Part, alarm_text, metrics_of, number

End = Literal["value", "lower", "upper"]
_TRUST = ("none", "low", "high")
_MOST = 5  # parts that a message tells of


class TooLow(AssertionError):
    """The assertion failed; ``found`` is the whole `Estimation`."""

    __module__ = "oodometer.testing"  # where people import it from, and what pytest prints

    def __init__(self, message: str, result: Estimation) -> None:
        self.found = result
        super().__init__(message)


def assert_accuracy(
    reference: Any,
    target: Any = None,
    *,
    at_least: float | None = None,
    drop_at_most: float | None = None,
    metric: str = "accuracy",
    end: End = "value",
    trust: str | None = None,
    **options: Any,
) -> Estimation:
    """Estimate a model's accuracy on a target without labels, and fail where it is too low; returns the `Estimation`.

    With ``every`` or ``by`` each chunk or slice has to hold as well.

    reference, target, options : as in `oodometer.estimate`. A finished `Estimation` may stand for the reference alone.
    at_least : the smallest value that passes, a fraction. drop_at_most : how far below the reference's it may lie, a
    fraction. One of them is needed; with both the higher limit holds.
    metric : "accuracy", or another one that ``metrics`` of `oodometer.estimate` takes, such as "f1".
    end : what is held against the limit: the "value"; the "lower" end of its interval, to be sure that it holds; the
    "upper" one, to fail only where it is sure that it does not.
    trust : "low" or "high": less trust than that fails, too.

    Raises `TooLow`, an `AssertionError` whose message tells the number, its interval, its trust and the worst parts,
    `UsageError` for wrong arguments and `InputError` for wrong input.

    >>> from oodometer.testing import example_record
    >>> found = assert_accuracy(example_record(seed=1), example_record(seed=2), at_least=0.5, backtest=None)
    >>> found.headline.value > 0.5
    True
    """
    __tracebackhide__ = True
    if end not in ("value", "lower", "upper"):
        raise UsageError(f"expected end to be value, lower or upper, got {end!r}")
    if trust is not None and trust not in _TRUST:
        raise UsageError(f"expected trust to be none, low or high, got {trust!r}")
    _check_share("at_least", at_least, metric)
    _check_share("drop_at_most", drop_at_most, metric)
    if at_least is None and drop_at_most is None:
        raise UsageError("expected at_least=0.9 or drop_at_most=0.02: say what passes")
    if metric != "accuracy" and not isinstance(reference, Estimation):
        options.setdefault("metrics", (metric,))
    if isinstance(reference, Estimation):
        if target is not None or options:
            raise UsageError(
                "an estimation that is finished takes no target and no options of estimate"
            )
        result = reference
    elif target is None:
        raise UsageError("expected a reference and a target, or an estimation that is finished")
    else:
        from ..verbs.estimate import estimate

        result = estimate(reference, target, **options)
    metric = canonical("metric", metric, metrics_of(result))
    if message := _message(
        result, metric, end, _limit(result, metric, at_least, drop_at_most), trust
    ):
        raise TooLow(message, result)
    return result


def _check_share(name: str, share: float | None, metric: str) -> None:
    """`UsageError` for what is no number, or of an accuracy no fraction."""
    __tracebackhide__ = True
    if share is None:
        return
    value: Any = share
    if not (isinstance(value, (int, float)) and isfinite(share)):
        raise UsageError(f"expected {name} to be a number such as 0.9, got {share!r}")
    if metric == "accuracy" and not 0 <= share <= 1:
        raise UsageError(f"expected {name} to be a fraction from 0 to 1 such as 0.9, got {share!r}")


def _limit(
    result: Estimation, metric: str, at_least: float | None, drop_at_most: float | None
) -> float:
    """The smallest value that passes: the higher of both limits."""
    __tracebackhide__ = True
    limits = [] if at_least is None else [float(at_least)]
    if drop_at_most is not None:
        truth = metrics_of(result)[metric].reference if metric in metrics_of(result) else 0.0
        if truth is None:
            raise UsageError(f"the {metric} of the reference is not known; give at_least")
        limits.append(truth - float(drop_at_most))
    return max(limits)


def _headline(item: Estimation | Part, metric: str) -> Headline:
    by_name = metrics_of(item)
    if metric not in by_name:
        raise UsageError(f"there is no estimate of {metric!r}; there is {', '.join(by_name)}")
    return by_name[metric].headline


def _message(result: Estimation, metric: str, end: End, limit: float, trust: str | None) -> str:
    """What is wrong, in a line each, the whole first, and the number with its worst parts; "" where it holds."""
    text: Callable[[float], str] = percent if metric == "accuracy" else number
    head = _headline(result, metric)
    every = [("chunk", part) for part in result.chunks] + [
        ("slice", part) for part in result.slices
    ]
    parts = [(title, part, _headline(part, metric)) for title, part in every]
    lines = []
    if getattr(head, end) < limit:
        short = "" if end == "value" else f" with its {end} end at {text(getattr(head, end))},"
        lines.append(f"{metric} is estimated at {text(head.value)},{short} below {text(limit)}")
    if trust is not None and _TRUST.index(head.trust) < _TRUST.index(trust):
        lines.append(f"trust in the estimate is {head.trust}, and {trust} is asked for")
    low = [title for title, _, item in parts if getattr(item, end) < limit]
    if low:
        which = f"{len(low)} of {len(parts)} {low[0] if len(set(low)) == 1 else 'part'}s"
        lines.append(f"{metric} is estimated too low, below {text(limit)}, in {which}")
    if not lines:
        return ""
    lines += [*_about_number(result, metric, text), *_worst_parts(parts, text)]
    return "\n".join([*lines, *(f"  warning: {warning}" for warning in result.warnings)])


def _about_number(result: Estimation, metric: str, text: Callable[[float], str]) -> list[str]:
    """The number with its interval, its trust and the reference's, a line each."""
    head, reference = _headline(result, metric), metrics_of(result)[metric].reference
    ends = f"{text(head.lower)} to {text(head.upper)}, {percent(head.level, None)} {head.kind} interval"
    lines = [f"  {metric}: {text(head.value)}, {ends}"]
    lines.append(f"  trust {head.trust}: {head.why}" if head.why else f"  trust {head.trust}")
    if reference is not None:
        lines.append(f"  reference: {text(reference)} on {result.reference['rows']:,} rows")
    return lines


def _worst_parts(
    parts: Sequence[tuple[str, Part, Headline]], text: Callable[[float], str]
) -> list[str]:
    """The lowest parts, a line each."""
    if not parts:
        return []
    lines = [f"  the lowest {min(len(parts), _MOST)} of {len(parts)} parts:"]
    for title, part, item in sorted(parts, key=lambda item: item[2].value)[:_MOST]:
        ends = f"[{text(item.lower)}, {text(item.upper)}]"
        alarm = ", ALARM" if alarm_text(part.fell) == "ALARM" else ""
        row = f"    {title} {part.name}: {text(item.value)} {ends} on {part.rows:,} rows{alarm}"
        lines.append(row)
    return lines
