"""The headline of a metric besides the accuracy: the best-supported value, and an interval over both hypotheses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..intervals import normal_quantile
from ..results import Estimate, Interval
from ..results.estimation import ASSUMPTIONS, Assumed, Headline
from .headline import Evidence
from .label_evidence import Evidential, evidence_for_label_shift
from .metric_shifts import PUBLIC, MetricPrior, MetricShifts, MetricSigns
from .natural_shifts import (
    ShiftSigns,
    assumed_answers,
    doubt_of,
    headline_under,
    refuted_assumptions,
    trust_in,
    under_covariate_shift,
)

# the first that is there counts
START = (
    "cbpe",
    "pape",
    "importance",
    "gde-difference",
    "source",
    "label-shift",
)
WIDE = 0.2  # of the whole scale: an interval that reaches so far is not trusted much, however near the value is
_ALONE = ("source", "label-shift")  # which do not ask that P(y | x) stood still
_LEAST_ERROR = 0.002  # no metric is known better
_ENOUGH_POWER = 0.5
MOST_NATS = 10.0  # of a log loss, beyond which no public shift says anything


@dataclass(frozen=True)
class Scale:
    """How a metric is brought to [0, 1], from its lowest and highest value; a log loss from 0 to 10 nats."""

    low: float = 0.0
    high: float = 1.0

    @classmethod
    def of(cls, low: float, high: float) -> Scale:
        """The scale of a metric with these bounds."""
        return cls(low, min(high, MOST_NATS) if low == 0 else high)

    @property
    def width(self) -> float:
        """What a difference of 1 is worth."""
        return self.high - self.low

    def unit(self, x: float) -> float:
        """The value in [0, 1]."""
        return (x - self.low) / self.width

    def back(self, u: float) -> float:
        """The value of which that is the one in [0, 1]."""
        return self.low + self.width * u


@dataclass(frozen=True)
class MetricEvidence:
    """What the headline of a metric rests on: signs of the accuracy's, and its own value and error there."""

    evidence: Evidence
    accuracy: ShiftSigns | None
    reference: Interval | None
    scale: Scale = Scale()
    error: float | None = None


@dataclass(frozen=True)
class Hypotheses:
    """What is heard of a metric, in [0, 1]: ``signs`` with ``prior``, value and errors of label shift, if it is heard,
    and the evidence for it; ``share`` of public shifts, 1 where both other hypotheses are refuted.
    """

    prior: MetricPrior
    signs: MetricSigns
    label: tuple[float, float, float] | None = None
    evidence: Evidential = "none"
    share: float = PUBLIC

    @property
    def value(self) -> float:
        """Of the best-supported hypothesis: unchanged P(y | x), unless it is refuted or class shares explain it."""
        if self.label is not None and self.evidence == "strong":
            return self.label[0]
        if self.share < 1:
            return self.signs.value
        return float(self.prior.public(self.signs, np.array([0.5]))[0])

    def band(self, level: float, share: float | None = None) -> tuple[float, float, float]:
        """Value and ends of a central interval, of both hypotheses, or of public shifts alone at ``share`` 1."""
        p = np.array([(1 - level) / 2, (1 + level) / 2])
        share = self.share if share is None else share
        still = (self.signs.value, self.signs.below, self.signs.above)
        hypotheses = (
            [still]
            if self.label is None
            else [self.label]
            if self.evidence == "strong"
            else [still, self.label]
        )
        low, high = map(float, self.prior.heard(self.signs, p, share=share, others=hypotheses))
        return self.value, min(low, self.value), max(high, self.value)


def start_of(estimates: Sequence[Estimate]) -> Estimate | None:
    """The estimate that the headline starts from."""
    by_name = {e.method: e for e in estimates}
    return next((by_name[name] for name in START if name in by_name), None)


def metric_answers(
    base: str,
    estimates: Sequence[Estimate],
    about: MetricEvidence,
    priors: MetricShifts,
    assume: str = "natural",
) -> tuple[Headline, dict[str, Assumed]] | None:
    """The headline of a metric under the chosen assumption, and the answers under all; None where none answers."""
    by_name, start = {e.method: e for e in estimates}, start_of(estimates)
    if start is None:
        return None
    refuted = refuted_assumptions(about.evidence.diagnosis)
    label = by_name.get("label-shift")
    if label is not None:
        # the whole target may be no label shift where a part of it is: each has its own test
        refuted.pop("label", None)
        if label.details.get("refuted"):
            refuted["label"] = label.warnings[0]
    named = {
        "none": by_name.get("source"),
        "label": label,
        "covariate": under_covariate_shift(estimates),
    }
    natural = _natural(base, start, label, about, priors)
    why = f"no method that asks for it tells {base}"
    answers = assumed_answers(
        natural, {name: (answer, why) for name, answer in named.items()}, refuted
    )
    if assume != "natural" and answers[assume].interval is None:
        return None
    return headline_under(assume, natural, answers), answers


def _natural(
    base: str, start: Estimate, label: Estimate | None, about: MetricEvidence, priors: MetricShifts
) -> Headline:
    level, scale = about.evidence.level, about.scale
    label_support = evidence_for_label_shift(label, about.evidence, start.rows)
    chosen = label if label_support == "strong" and label is not None else start
    heard = hypotheses(base, start, label, label_support, about, priors)
    if heard is None:
        why = "it comes from one method, and nothing here checks what that method assumes"
        return Headline(chosen.interval, chosen.method, chosen.assumes, "low", why)

    def interval(three: tuple[float, float, float], nominal: float) -> Interval:
        value, lower, upper = map(scale.back, three)
        return Interval(value, lower, upper, nominal, "empirical")

    nine, span = heard.band(0.9), interval(heard.band(level), level)
    bands = {
        "unchanged": start.interval,
        "half": interval(heard.band(0.5), 0.5),
        "nine_in_ten": interval(nine, 0.9),
    }
    public = heard.prior.public(heard.signs, np.array([0.5, (1 - level) / 2, (1 + level) / 2]))
    bands["public"] = interval((float(public[0]), float(public[1]), float(public[2])), level)
    method = chosen.method if heard.share < 1 else f"public shifts, from {start.method}"
    trust, why = _trust(heard, nine, about)
    if trust == "high" and span.upper - span.lower > WIDE * scale.width:
        trust, why = "low", f"the interval is wider than that of the public cases; {why}"
    if chosen is not start:
        why += "; one change of the class shares explains all that is seen, so the value is that of label shift"
    elif heard.evidence == "open":
        why += "; other class shares explain what is seen as well as other inputs do, so the interval hears both"
    return Headline(span, method, assumed_of_metrics(priors), trust, why, bands)


def _trust(
    heard: Hypotheses, nine: tuple[float, float, float], about: MetricEvidence
) -> tuple[str, str]:
    evidence, accuracy, scale = about.evidence, about.accuracy, about.scale
    assert accuracy is not None
    # whether the reference holds no error is a matter of the accuracy
    doubt = doubt_of(accuracy, evidence)
    if scale.high == MOST_NATS:  # it has no points
        why = "public shifts moved it as far as the interval says; a few labels make it narrower (`oodometer audit`)"
        return "low", f"{why}; {doubt}" if doubt else why
    error = evidence.error_of_clusters(scale.back(heard.value), accuracy.rows)
    return trust_in(heard.prior.reach, (0, 0), doubt, nine, scale.width, error)


def hypotheses(
    base: str,
    start: Estimate,
    label: Estimate | None,
    label_support: Evidential,
    about: MetricEvidence,
    priors: MetricShifts,
) -> Hypotheses | None:
    """What is heard, given the ``label_support`` of label shift; None without a prior, or a reference that has it."""
    alone = start.method in _ALONE
    prior, signs = (priors.alone if alone else priors.priors).get(base), metric_signs(start, about)
    if prior is None or signs is None or signs.value > 1:
        return None
    refuted = (
        alone
        or "covariate" in refuted_assumptions(about.evidence.diagnosis)
        or _is_beyond(about.evidence)
    )
    if label is None or label_support == "none" or (refuted and label_support == "open"):
        return Hypotheses(prior, signs, share=1.0 if refuted else PUBLIC)
    return Hypotheses(prior, signs, _three(label, about.scale), label_support)


def _is_beyond(evidence: Evidence) -> bool:
    return evidence.diagnosis is not None and evidence.diagnosis.kind == "support"


def _three(estimate: Estimate, scale: Scale) -> tuple[float, float, float]:
    """Value and standard errors below and above it, in [0, 1]."""
    z = normal_quantile(estimate.level)
    value, low, high = map(scale.unit, (estimate.value, estimate.lower, estimate.upper))
    return value, (value - low) / z, (high - value) / z


def metric_signs(start: Estimate, about: MetricEvidence) -> MetricSigns | None:
    """What the prior of a metric asks for, in [0, 1]; None where the reference's value is not known."""
    signs, reference, scale = about.accuracy, about.reference, about.scale
    if signs is None or reference is None:
        return None
    spread = (
        reference.width / (2 * normal_quantile(reference.level))
        if about.error is None
        else about.error
    )
    error = max(spread / scale.width, _LEAST_ERROR)
    error *= math.sqrt(1 + signs.reference_rows / max(signs.rows, 1))
    # where no test sees a shift, and that of the outputs would have seen most that matter, what moved is chance, which
    # `error` knows
    seen = about.evidence.diagnosis
    powers = (
        [] if seen is None else [f.power or 0.0 for f in seen.findings if f.name == "label shift"]
    )
    none = seen is not None and seen.kind == "none" and max(powers, default=0.0) >= _ENOUGH_POWER
    moved = 0.0 if none else signs.moved
    return MetricSigns(
        *_three(start, scale), scale.unit(reference.value), error, moved, signs.separation
    )


def assumed_of_metrics(priors: MetricShifts) -> str:
    """What such a headline assumes, and what the priors were made from."""
    about = priors.about
    return f"{ASSUMPTIONS['natural']} ({about.get('cases', 'some')} cases of {len(about.get('sources', ()))} sources)"
