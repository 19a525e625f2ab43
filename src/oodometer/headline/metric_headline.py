"""The headline of a metric besides the accuracy, such as F1 or ROC AUC: weighed by trials, corrected by the prior."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from ..intervals import normal_quantile
from ..results import Estimate, Interval
from ..results.estimation import ASSUMPTIONS, Headline
from .headline import Evidence
from .natural_headline import doubt_of, provenance, trust_of
from .natural_shifts import NaturalShifts, ShiftSigns
from .weighing import spelled

__all__ = ["MetricEvidence", "expected_value", "metric_headline", "metric_signs"]

_LEAST_ERROR = 0.002  # no metric is known better
_ORDER = ("cbpe", "pape", "importance", "label-shift", "gde-difference", "source")


@dataclass(frozen=True)
class MetricEvidence:
    """What the headline of a metric rests on besides its estimates.

    Parameters
    ----------
    evidence : as for the accuracy, with ``weighting`` that of this metric. accuracies : method -> its accuracy.
    accuracy : signs of the accuracy's own headline, or None. reference : the metric measured on the reference.
    bounds : lowest and highest possible value. error : standard error of ``reference``, the same at every level.
    """

    evidence: Evidence
    accuracies: Mapping[str, float]
    accuracy: ShiftSigns | None
    reference: Interval | None
    bounds: tuple[float, float] = (0.0, 1.0)
    error: float | None = None


def metric_headline(
    base: str, estimates: Sequence[Estimate], told: MetricEvidence, prior: NaturalShifts, assume: str = "natural"
) -> Headline | None:
    """The number for a metric, with its interval and what it rests on; None without any estimate.

    If P(y | x) stood still, methods are weighed by what they said of this metric on simulated targets like this one
    (`TrialWeighting`); without trials the middle of CBPE, PAPE, importance weighting, label shift and agreement
    answers, with the span of them all. Natural shifts were kinder to CBPE alone (`expected_value`); the prior of
    natural shifts of the same metric (``prior.metrics[base]``) corrects it and gives the interval and the bands. Where
    there is none, such as for a pay-off, the number and its interval are those of simulated shifts.
    """
    if not estimates:
        return None
    chosen = _assumed(estimates, assume)
    if assume in ("none", "label"):
        if chosen is None:
            return None
        return Headline(chosen.interval, chosen.method, ASSUMPTIONS[assume], "low", _AS_YOU_SAID + ASSUMPTIONS[assume])
    still = _weighed(estimates, told) or _spanned(estimates, told)
    if assume == "covariate":
        return replace(still, assumes=ASSUMPTIONS[assume], why=_AS_YOU_SAID + ASSUMPTIONS[assume])
    own = prior.metrics.get(base)
    values = {e.method: e.value for e in estimates}
    signs = metric_signs(still, values, told)
    if own is None or signs is None:
        return still
    named = still.method if expected_value(still.value, values, _kind(told)) == still.value else "cbpe"
    return _natural(replace(still, method=named), signs, own, told)


_AS_YOU_SAID = "it holds only, as you said, if "


def _assumed(estimates: Sequence[Estimate], assume: str) -> Estimate | None:
    wanted = {"none": "source", "label": "label-shift"}.get(assume)
    return next((e for e in estimates if e.method == wanted), None)


def _weighed(estimates: Sequence[Estimate], told: MetricEvidence) -> Headline | None:
    """The number that the trials favour."""
    evidence = told.evidence
    if evidence.weighting is None or evidence.source is None:
        return None
    kind = None if evidence.diagnosis is None else evidence.diagnosis.kind
    values = {e.method: e.value for e in estimates}
    rows = max(e.rows for e in estimates)
    found = evidence.weighting.weigh(
        values, evidence.shift_statistics, evidence.source, rows, evidence.level, kind, told.accuracies
    )
    if found is None:
        return None
    low, high = told.bounds
    value = min(max(found.value, low), high)
    ends = max(value - found.half, low), min(value + found.half, high)
    why = "the trials simulate shifts under which P(y | x) or P(x | y) stands still; life need not keep to that"
    if not found.covered:
        why = "the target moved further than any shift that was simulated from the reference"
    return Headline(
        Interval(value, min(ends[0], value), max(ends[1], value), evidence.level, "backtest"),
        "backtest: " + spelled(found),
        "any shift is like those simulated from the reference, which leave P(y | x) or P(x | y) unchanged",
        "low",
        why,
    )


def _spanned(estimates: Sequence[Estimate], told: MetricEvidence) -> Headline:
    """Without trials: the middle of the methods that look at the target, with the span of all of them."""
    heard = [e for name in _ORDER[:-1] for e in estimates if e.method == name] or list(estimates)
    value = float(median(e.value for e in heard))
    lower, upper = min(e.lower for e in heard), max(e.upper for e in heard)
    interval = Interval(value, min(lower, value), max(upper, value), told.evidence.level, "empirical")
    if len(heard) == 1:
        why = "it rests on one method and its assumption; nothing here checks that assumption"
        return Headline(interval, heard[0].method, heard[0].assumes, "low", why)
    names = ", ".join(e.method for e in heard)
    why = f"{len(heard)} methods with different assumptions; all can fail alike"
    assumes = "the truth lies within the span of methods whose assumptions differ; nothing proves it"
    return Headline(interval, f"median of {names}", assumes, "low", why)


def _kind(told: MetricEvidence) -> str:
    return "none" if told.evidence.diagnosis is None else told.evidence.diagnosis.kind


def expected_value(still: float, values: Mapping[str, float], kind: str) -> float:
    """The value from which the prior of natural shifts starts: CBPE's, or that of the trials under label shift.

    Of 12 metrics on natural shifts, with sources left out, the error from CBPE was 8.3 points, from the trials 9.2
    (`benchmarks/natural/metrics.py`); CBPE is blind to class shares.

    >>> expected_value(0.8, {"cbpe": 0.7}, "covariate"), expected_value(0.8, {"cbpe": 0.7}, "label")
    (0.7, 0.8)
    """
    return still if kind == "label" else values.get("cbpe", still)


def metric_signs(still: Headline, values: Mapping[str, float], told: MetricEvidence) -> ShiftSigns | None:
    """What the prior asks for, in [0, 1]; None where the reference's own value is not known.

    ``values`` are what the methods say of the metric.
    """
    here, reference = told.accuracy, told.reference
    if here is None or reference is None:
        return None
    low, high = told.bounds
    scale = high - low
    own = reference.width / (2 * normal_quantile(reference.level)) if told.error is None else told.error
    error = max(own / scale, _LEAST_ERROR) * math.sqrt(1 + here.reference_rows / max(here.rows, 1))
    ends = ((still.lower - low) / scale, (still.upper - low) / scale)
    estimate = (expected_value(still.value, values, _kind(told)) - low) / scale
    source = (reference.value - low) / scale
    return replace(here, estimate=estimate, source=source, models=False, still=ends, error=error)


def _natural(still: Headline, signs: ShiftSigns, prior: NaturalShifts, told: MetricEvidence) -> Headline:
    level, (low, high) = told.evidence.level, told.bounds

    def scaled(ends: tuple[float, float], asked: float) -> Interval:
        ends = (min(ends[0], value), max(ends[1], value))
        lower, upper = (low + (high - low) * end for end in ends)
        return Interval(low + (high - low) * value, lower, upper, asked, "empirical")

    value = prior.value(signs)
    bands = {"unchanged": still.interval}
    bands |= {
        name: scaled(prior.interval(signs, asked), asked) for name, asked in (("half", 0.5), ("nine_in_ten", 0.9))
    }
    # whether the reference holds no error is a matter of the accuracy
    doubt = doubt_of(told.accuracy or signs, told.evidence)
    trust, why = trust_of(prior, signs, doubt)
    assumes = f"{ASSUMPTIONS['natural']} ({provenance(prior)})"
    return Headline(scaled(prior.interval(signs, level), level), still.method, assumes, trust, why, bands)
