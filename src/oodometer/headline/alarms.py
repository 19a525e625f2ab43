"""Alarms: rules of what must not be undercut, read from what a user wrote, and decided by headlines."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import NormalDist
from typing import Any, Literal, cast

from ..errors import UsageError
from ..results import Interval
from ..results.alarms import WHEN, AlarmRule, Alarms, Failing, FailWhen, RuleKind
from .natural_shifts import CHANGED, FELL

METRICS = ("accuracy",)
_LIMITS = {"mcc": (-1.0, 1.0), "cohen_kappa": (-1.0, 1.0), "expected_value": (-math.inf, math.inf)}

Verdict = Literal["fails", "by chance", "holds"]


def alarm_rules(
    fail_below: float | Mapping[str, float] | None,
    fail_drop: float | Mapping[str, float] | None,
    metrics: Collection[str] = METRICS,
) -> tuple[AlarmRule, ...]:
    """The rules that were asked for; a number alone is of the accuracy. ``metrics`` are those that can be watched.

    Raises `UsageError` for a bound outside of [0, 1], a negative drop, or a metric that is not watched.

    >>> [rule.sentence() for rule in alarm_rules(0.93, {"accuracy": 0.02})]
    ['accuracy below 93 %', "accuracy more than 2 points below the reference's"]
    """
    bounds: tuple[tuple[RuleKind, Any], ...] = (("below", fail_below), ("drop", fail_drop))
    out = []
    for kind, given in bounds:
        some = given if isinstance(given, Mapping) else {} if given is None else {"accuracy": given}
        for metric, amount in some.items():
            if metric not in metrics:
                raise UsageError(
                    f"--fail-{kind} {metric}={amount:g}: {metric} is not estimated here; known: {', '.join(metrics)}"
                )
            low, high = _LIMITS.get(metric.partition(":")[0], (0.0, 1.0))  # no value lies below or above
            low, high = (0.0, high - low) if kind == "drop" else (low, high)
            if not low <= amount <= high:
                what, example = (metric, "0.93") if kind == "below" else (f"a drop of {metric}", "0.02")
                limits = f"between {low:g} and {high:g}" if high < math.inf else "of 0 or more"
                remedy = "; divide percents by 100" if amount > 1 and high <= 2 else ""
                raise UsageError(f"--fail-{kind}: expected {what} {limits} such as {example}, got {amount:g}{remedy}")
            out.append(AlarmRule(metric, kind, float(amount)))
    return tuple(out)


def check_when(when: str) -> FailWhen:
    """A name of `WHEN`; `UsageError` for another."""
    if when in WHEN:
        return cast(FailWhen, when)
    raise UsageError(f"--fail-when: expected one of {', '.join(WHEN)}, got {when!r}")


def chance_below(interval: Interval, bound: float) -> float:
    """How likely the number lies below a bound, of an interval alone: half a normal distribution on each side of it.

    >>> chance_below(Interval(0.9, 0.8, 0.95, 0.95, "empirical"), 0.9)
    0.5
    >>> round(chance_below(Interval(0.9, 0.8, 0.95, 0.95, "empirical"), 0.95), 3)
    0.975
    """
    z = NormalDist().inv_cdf((1 + interval.level) / 2)
    side = interval.upper - interval.value if bound > interval.value else interval.value - interval.lower
    if side <= 0:
        return float(bound > interval.value)
    return NormalDist().cdf(z * (bound - interval.value) / side)


def decide(
    rule: AlarmRule,
    interval: Interval,
    reference: float,
    *,
    chance: float | None = None,
    changed: float | None = None,
    when: FailWhen = "value",
) -> Verdict:
    """Whether a rule fails: a pure function of the metric's headline and of its number on the reference.

    ``interval`` is the headline of the rule's metric, ``reference`` the metric on the reference, ``chance`` how likely
    the metric lies below the bound (by default `chance_below` of the interval), ``changed`` the p-value of the test
    that nothing changed, corrected for all parts (None without one), ``when`` a name of `WHEN`.

    Where the reference itself keeps to the bound, only a change can break it, so what lies below while the outputs
    changed by no more than chance is "by chance". Which rule is right how often was measured on public natural shifts:
    `benchmarks/results/alarms_rules.md`.

    >>> low = Interval(0.91, 0.85, 0.94, 0.95, "empirical")
    >>> rule = AlarmRule("accuracy", "below", 0.93)
    >>> decide(rule, low, 0.95), decide(rule, low, 0.95, changed=0.4), decide(rule, low, 0.95, when="upper")
    ('fails', 'by chance', 'holds')
    """
    bound = rule.bound(reference)
    if when == "value":
        below = interval.value < bound
    elif when == "upper":
        below = interval.upper < bound
    else:
        below = (chance_below(interval, bound) if chance is None else chance) >= FELL
    if not below:
        return "holds"
    return "by chance" if bound <= reference and changed is not None and changed > CHANGED else "fails"


@dataclass(frozen=True)
class Watched:
    """The target or a part of it, as alarms see it.

    place, rows : as in `Failing`. numbers : metric -> headline. chances : metric -> how likely it lies below a bound,
    where more is known of that than the interval. changed : as in `Failing`. truths : metric -> what labels tell.
    """

    place: Mapping[str, Any]
    rows: int
    numbers: Mapping[str, Interval]
    chances: Mapping[str, Callable[[float], float | None]]
    changed: float | None = None
    truths: Mapping[str, Interval] = field(default_factory=dict)


def judge_alarms(
    rules: Sequence[AlarmRule],
    watched: Sequence[Watched],
    references: Mapping[str, float],
    *,
    kind: str = "target",
    when: FailWhen = "value",
) -> Alarms:
    """Every rule of every part; ``references`` are the metrics on the reference.

    >>> part = Watched({"name": "target"}, 500, {"accuracy": Interval(0.91, 0.85, 0.94, 0.95, "empirical")}, {})
    >>> found = judge_alarms(alarm_rules(0.93, None), [part], {"accuracy": 0.95})
    >>> print(*found.lines(), sep="\\n")
    ALARM target: accuracy 91.0 % [85.0 %, 94.0 %], below 93 % (90 % likely)
    Alarm raised: accuracy below 93 %
    """
    failing: list[Failing] = []
    by_chance: list[Failing] = []
    unjudged: list[str] = []
    for part in watched:
        for rule in rules:
            interval, reference = part.numbers.get(rule.metric), references.get(rule.metric)
            if interval is None or reference is None:
                unjudged.append(f"{rule.metric} of {part.place['name']}")
                continue
            bound = rule.bound(reference)
            likely = part.chances[rule.metric](bound) if rule.metric in part.chances else None
            chance = chance_below(interval, bound) if likely is None else likely
            verdict = decide(rule, interval, reference, chance=chance, changed=part.changed, when=when)
            if verdict != "holds":
                failing_rule = Failing(
                    rule,
                    bound,
                    reference,
                    part.place,
                    part.rows,
                    interval,
                    chance,
                    part.changed,
                    part.truths.get(rule.metric),
                )
                (failing if verdict == "fails" else by_chance).append(failing_rule)
    return Alarms(
        tuple(rules), when, len(watched), kind, tuple(failing), tuple(by_chance), tuple(dict.fromkeys(unjudged))
    )
