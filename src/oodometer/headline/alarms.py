"""Alarms: rules of what must not be undercut, read from what a user wrote, and decided by headlines."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from statistics import NormalDist
from typing import Any, Literal

from ..errors import UsageError
from ..estimators.expected_scores import SCORES
from ..results import Interval
from ..results.alarms import AlarmRule, Alarms, Failing, FailWhen, RuleKind
from .natural_shifts import ALARM, CHANGED

METRICS = ("accuracy",)
LIKELY = 0.8  # the chance of `--fail-when likely`
_LIMITS = {"mcc": (-1.0, 1.0), "cohen_kappa": (-1.0, 1.0), "expected_value": (-math.inf, math.inf)}

Verdict = Literal["fails", "by chance", "holds"]


def alarm_rules(
    fail_below: float | Mapping[str, float] | None,
    fail_drop: float | Mapping[str, float] | None,
    metrics: Collection[str] = METRICS,
) -> tuple[AlarmRule, ...]:
    """The rules that were asked for, of metrics that can be watched; `UsageError` for a bound out of reach."""
    bounds: tuple[tuple[RuleKind, Any], ...] = (("below", fail_below), ("drop", fail_drop))
    out = []
    for kind, bound in bounds:
        by_metric = (
            bound if isinstance(bound, Mapping) else {} if bound is None else {"accuracy": bound}
        )
        for metric, amount in by_metric.items():
            if metric not in metrics:
                names = ", ".join(metrics)
                raise UsageError(
                    f"--fail-{kind} {metric}={amount:g}: {metric} is not estimated here; known: {names}"
                )
            if metric in SCORES:
                option = f"--fail-{kind}"
                remedy = f"less {metric} is better, so no bound below it is an alarm; take `{option} {amount:g}`"
                raise UsageError(
                    f"{option} {metric}={amount:g}: {remedy} of the accuracy, or a metric such as f1"
                )
            # no value lies below or above
            low, high = _LIMITS.get(metric.partition(":")[0], (0.0, 1.0))
            low, high = (0.0, high - low) if kind == "drop" else (low, high)
            if not low <= amount <= high:
                what, example = (
                    (metric, "0.93") if kind == "below" else (f"a drop of {metric}", "0.02")
                )
                limits = f"between {low:g} and {high:g}" if high < math.inf else "of 0 or more"
                remedy = "; divide percents by 100" if amount > 1 and high <= 2 else ""
                raise UsageError(
                    f"--fail-{kind}: expected {what} {limits} such as {example}, got {amount:g}{remedy}"
                )
            out.append(AlarmRule(metric, kind, float(amount)))
    return tuple(out)


def chance_below(interval: Interval, bound: float) -> float:
    """How likely the number lies below a bound, of an interval alone: half a normal distribution on each side of it."""
    z = NormalDist().inv_cdf((1 + interval.level) / 2)
    side = (
        interval.upper - interval.value
        if bound > interval.value
        else interval.value - interval.lower
    )
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
    when: FailWhen = "default",
    proof: float | None = None,
) -> Verdict:
    """Whether a rule fails: where the reference keeps to the bound, only a change can break it (else "by chance").
    ``proof``: p-value, after correction, of "the number keeps to the bound" by labels alone; what they prove fails.
    """
    bound = rule.bound(reference)
    if proof is not None and proof <= CHANGED:
        return "fails"
    if when == "value":
        below = interval.value < bound
    elif when == "upper":
        below = interval.upper < bound
    else:
        threshold = LIKELY if when == "likely" else ALARM
        below = (chance_below(interval, bound) if chance is None else chance) >= threshold
    if not below:
        return "holds"
    return (
        "by chance" if bound <= reference and changed is not None and changed > CHANGED else "fails"
    )


@dataclass(frozen=True)
class Watched:
    """The target or a part of it, as alarms see it: metric -> headline, chance below a bound, truth, p-value of "it
    keeps to the bound" by labels alone, and the number on the reference where a part has its own.
    """

    place: Mapping[str, Any]
    rows: int
    numbers: Mapping[str, Interval]
    chances: Mapping[str, Callable[[float], float | None]]
    changed: float | None = None
    truths: Mapping[str, Interval] = field(default_factory=dict)
    proofs: Mapping[str, Callable[[float], float | None]] = field(default_factory=dict)
    references: Mapping[str, float] = field(default_factory=dict)


def judge_alarms(
    rules: Sequence[AlarmRule],
    watched: Sequence[Watched],
    references: Mapping[str, float],
    *,
    kind: str = "target",
    when: FailWhen = "default",
) -> Alarms:
    """Every rule of every part; ``references`` are the metrics on the reference."""
    failing: dict[Verdict, list[Failing]] = {"fails": [], "by chance": [], "holds": []}
    unjudged: list[str] = []
    for part, rule in product(watched, rules):
        interval = part.numbers.get(rule.metric)
        reference = part.references.get(rule.metric, references.get(rule.metric))
        if interval is None or reference is None:
            unjudged.append(f"{rule.metric} of {part.place['name']}")
            continue
        bound, truth = rule.bound(reference), part.truths.get(rule.metric)
        likely = part.chances[rule.metric](bound) if rule.metric in part.chances else None
        chance = chance_below(interval, bound) if likely is None else likely
        proof = part.proofs[rule.metric](bound) if rule.metric in part.proofs else None
        proof = None if proof is None else proof * len(watched)
        verdict = decide(
            rule, interval, reference, chance=chance, changed=part.changed, when=when, proof=proof
        )
        about = (
            rule,
            bound,
            reference,
            part.place,
            part.rows,
            interval,
            chance,
            part.changed,
            truth,
        )
        by_labels = rule.metric in part.proofs or truth == interval
        failing[verdict].append(Failing(*about, by_labels=by_labels))
    fails = tuple(failing["fails"])
    by_chance = tuple(failing["by chance"])
    missing = tuple(dict.fromkeys(unjudged))
    return Alarms(tuple(rules), when, len(watched), kind, fails, by_chance, missing)
