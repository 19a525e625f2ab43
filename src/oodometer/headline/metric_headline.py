"""The headline of a metric besides the accuracy, such as F1 or ROC AUC: if something stood still, and in life."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..intervals import normal_quantile
from ..results import Estimate, Interval
from ..results.estimation import ASSUMPTIONS, Assumed, Headline
from .assumptions import headline_under, refuted_assumptions, under_covariate_shift
from .headline import Evidence
from .natural_headline import WIDEST, doubt_of, provenance, trust_of
from .natural_shifts import NaturalShifts, ShiftSigns

_LEAST_ERROR = 0.002  # no metric is known better
_ENOUGH_POWER = 0.5
START = ("cbpe", "pape", "importance", "gde-difference", "label-shift", "source")  # from which the prior starts


@dataclass(frozen=True)
class MetricEvidence:
    """What the headline of a metric rests on besides its estimates.

    Parameters
    ----------
    evidence : as for the accuracy. accuracy : signs of the accuracy's own headline, or None.
    reference : the metric measured on the reference. bounds : lowest and highest possible value.
    error : standard error of ``reference``, the same at every level.
    """

    evidence: Evidence
    accuracy: ShiftSigns | None
    reference: Interval | None
    bounds: tuple[float, float] = (0.0, 1.0)
    error: float | None = None

    @property
    def sees_no_shift(self) -> bool:
        """Whether no test sees a shift, and the test of the outputs would have seen most that matter."""
        diagnosis = self.evidence.diagnosis
        if diagnosis is None or diagnosis.kind != "none":
            return False
        return any((f.power or 0.0) >= _ENOUGH_POWER for f in diagnosis.findings if f.name == "label shift")


def metric_answers(
    base: str, estimates: Sequence[Estimate], evidence: MetricEvidence, prior: NaturalShifts, assume: str = "natural"
) -> tuple[Headline, dict[str, Assumed]] | None:
    """The headline under the assumption that was chosen, and the answers under all; None where nothing can answer.

    none : `source`. label : `label-shift`. covariate : `cbpe`, else `pape`, else `importance`. natural : the prior of
    natural shifts of the same metric (``prior.metrics[base]``) about the covariate answer. No output can refute that
    P(y | x) stood still, so the interval reaches as far as that answer's own; where P(x | y) may have stood still
    instead, it spans both answers, and where a shift is seen that the class shares explain, the value is the middle of
    both. Without a prior, such as for a pay-off, the interval is the span alone.
    """
    by_name = {e.method: e for e in estimates}
    start = next((by_name[name] for name in START if name in by_name), None)
    if start is None:
        return None
    refuted = refuted_assumptions(by_name, evidence.evidence.diagnosis)
    label = by_name.get("label-shift")
    if label is not None:
        # the whole target may be no label shift where a part of it is: each has its own test
        refuted.pop("label", None)
        if label.details.get("refuted"):
            refuted["label"] = label.warnings[0]
    named = {"none": by_name.get("source"), "label": label, "covariate": under_covariate_shift(estimates)}
    answers = {
        name: Assumed(None, "", refuted.get(name), f"no method that asks for it tells {base}")
        if one is None
        else Assumed(one.interval, one.method, refuted.get(name))
        for name, one in named.items()
    }
    also = label if label is not None and label is not start and "label" not in refuted else None
    natural = _natural(base, start, also, evidence, prior)
    answers = {"natural": Assumed(natural.interval, natural.method), **answers}
    if assume != "natural" and answers[assume].interval is None:
        return None
    return headline_under(assume, natural, answers), answers


def _natural(
    base: str, start: Estimate, also: Estimate | None, evidence: MetricEvidence, prior: NaturalShifts
) -> Headline:
    level, (low, high) = evidence.evidence.level, evidence.bounds
    scale = high - low
    diagnosis = evidence.evidence.diagnosis
    apart = also is not None and diagnosis is not None and diagnosis.kind == "label"
    start_unit, also_unit = (None if e is None else _unit(e, evidence.bounds) for e in (start, also))
    assert start_unit is not None
    ends = [one for one in (start_unit, also_unit) if one is not None]
    still = min(one[1] for one in ends), max(one[2] for one in ends)
    signs = metric_signs(start_unit[0], evidence)
    own = prior.metrics.get(base)

    def interval(three: tuple[float, float, float], asked: float) -> Interval:
        value, lower, upper = (low + scale * one for one in three)
        return Interval(value, lower, upper, asked, "empirical")

    method = start.method
    doubt = ""
    if also is not None:
        method = f"middle of {start.method}, {also.method}" if apart else f"{start.method}, spanning {also.method}"
        doubt = "other class shares explain what is seen as well as other inputs do, so the interval spans both answers"
    value = (start_unit[0] + also_unit[0]) / 2 if apart and also_unit else start_unit[0]
    span = interval((value, *still), level)
    if own is None or signs is None:
        why = doubt or "it rests on one method and its assumption; nothing here checks that assumption"
        assumes = "P(y | x) or P(x | y) is unchanged" if also is not None else start.assumes
        return Headline(span, method, assumes, "low", why)
    half, nine, whole = (spanned(own, signs, ends, asked, level, middle=apart) for asked in (0.5, 0.9, level))
    bands = {"unchanged": span, "half": interval(half, 0.5), "nine_in_ten": interval(nine, 0.9)}
    # whether the reference holds no error is a matter of the accuracy
    against = doubt_of(evidence.accuracy or signs, evidence.evidence)
    error = evidence.evidence.error_of_clusters(value, evidence.accuracy.rows) if evidence.accuracy else 0.0
    trust, why = trust_of(own, signs, against or (doubt if apart else ""), nine, scale, error)
    if nine[2] - nine[1] > WIDEST and apart:
        why += f"; {doubt}"
    assumes = f"{ASSUMPTIONS['natural']} ({provenance(own)})"
    return Headline(interval(whole, level), method, assumes, trust, why, bands)


def _unit(e: Estimate, bounds: tuple[float, float]) -> tuple[float, float, float]:
    low, high = bounds
    value, lower, upper = ((one - low) / (high - low) for one in (e.value, e.lower, e.upper))
    return value, lower, upper


def spanned(
    prior: NaturalShifts,
    signs: ShiftSigns,
    answers: Sequence[tuple[float, float, float]],
    asked: float,
    level: float,
    *,
    middle: bool = False,
) -> tuple[float, float, float]:
    """Value and ends of level ``asked``, in [0, 1]: those of natural shifts, as far as the ends of ``answers``.

    ``answers`` are values and ends of ``level`` under what may have stood still, the first of them that from which the
    prior starts; ``middle``: whether the value lies midway between both. The band of 50 % spans them only then.
    """
    value, (lower, upper) = prior.value(signs), prior.interval(signs, asked)
    part = normal_quantile(asked) / normal_quantile(level)
    for centre, low, high in answers if middle or asked > 0.5 else ():
        lower, upper = min(lower, centre - part * (centre - low)), max(upper, centre + part * (high - centre))
    if middle:
        value = (value + answers[-1][0]) / 2
    return value, max(min(lower, value), 0.0), min(max(upper, value), 1.0)


def metric_signs(value: float, evidence: MetricEvidence) -> ShiftSigns | None:
    """What the prior asks for, in [0, 1]; None where the reference's own value is not known.

    ``value`` is the estimate from which the prior starts, in [0, 1]. Of 12 metrics on natural shifts, with sources left
    out, the error from CBPE was 8.3 points, from methods that simulated shifts weigh 9.2
    (`benchmarks/natural/metrics.py`).
    """
    here, reference = evidence.accuracy, evidence.reference
    if here is None or reference is None:
        return None
    low, high = evidence.bounds
    own = reference.width / (2 * normal_quantile(reference.level)) if evidence.error is None else evidence.error
    error = max(own / (high - low), _LEAST_ERROR) * math.sqrt(1 + here.reference_rows / max(here.rows, 1))
    source = (reference.value - low) / (high - low)
    moved = 0.0 if evidence.sees_no_shift else here.moved  # what is left of it is chance, which `error` knows
    return replace(here, estimate=value, source=source, moved=moved, models=False, still=None, error=error)
