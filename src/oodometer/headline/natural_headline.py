"""The headline under natural shifts: the number corrected and its bands, as the prior of public shifts has them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from ..intervals import clopper_pearson, normal_quantile
from ..registry import known
from ..results import Estimate, Interval, percent
from ..results.estimation import ASSUMPTIONS, Headline
from ..results.values import counted
from .assumptions import under_label_shift
from .headline import Evidence, beyond_overlap, confidence_middle
from .natural_shifts import NaturalShifts, ShiftSigns, packaged_prior
from .trimmed_mean import trimmed_mean_share

HIGH_REACH = 0.08  # points from the value within which nine in ten must have ended, for high trust
HIGH_RATE = 0.9  # share of public cases that must have ended inside such a band, with their source left out
WIDEST = 0.5  # of all accuracies: a wider interval is no knowledge
_LABELS = "a few labels make it narrower (`oodometer audit`)"


def natural_headline(
    still: Headline, estimates: Sequence[Estimate], evidence: Evidence, prior: NaturalShifts | None = None
) -> Headline:
    """What natural shifts make of the number ``still``, which holds if P(y | x) stood still.

    The estimate is the mean of that number and of the plain middle of confidence (`confidence_middle`); where the
    diagnosis is label shift and no other model was asked, of that number and of the estimate under label shift, which
    counts the more the larger the reference is. The prior shrinks its rises, stretches its falls, and gives the
    interval and the bands. ``still`` is given back as it is where the accuracy of the reference is not known, and where
    judges alone spoke, of whom public shifts know nothing; with bands where judges spoke against a confidence.
    """
    if judges_alone(still):
        return still
    prior = packaged_prior() if prior is None else prior
    by_name = {e.method: e for e in estimates}
    signs = signs_of(still, by_name, evidence)
    if signs is None:
        return still
    level, value = evidence.level, prior.value(signs)
    ends = {
        name: spanning(value, prior.interval(signs, asked), evidence, asked)
        for name, asked in (("half", 0.5), ("nine_in_ten", 0.9))
    }
    bands = {"unchanged": still.interval, **ends}
    if still.method.startswith("votes"):
        return replace(still, bands=bands)
    interval = spanning(value, prior.interval(signs, level), evidence, level)
    trust, why = trust_of(prior, signs, doubt_of(signs, evidence), error=evidence.error_of_clusters(value, signs.rows))
    assumes = f"{ASSUMPTIONS['natural']} ({provenance(prior)})"
    return Headline(interval, still.method, assumes, trust, why, bands)


def judges_alone(headline: Headline) -> bool:
    """Whether nothing but votes of judges was there to go by: no public case says how these turn out.

    >>> judges_alone(Headline(Interval(0.5, 0.4, 0.6, 0.95, "conditional"), "votes-corrected", "", "low", ""))
    True
    """
    return headline.method in ("votes", "votes-corrected")


def signs_of(still: Headline, by_name: Mapping[str, Estimate], evidence: Evidence) -> ShiftSigns | None:
    """What the prior asks for; None where the accuracy of the reference is not known."""
    if evidence.source is None or not by_name:
        return None
    kind = None if evidence.diagnosis is None else evidence.diagnosis.kind
    unlike = kind == "support" and bool(beyond_overlap(by_name))
    middle = confidence_middle(by_name)
    others = any(known("estimator", m.partition(":")[0]).reads == "models" for m in by_name)
    # other models are not misled by class shares: where they were asked, the trials have heard them
    label = under_label_shift(by_name.values()) if kind == "label" and not others else None
    if label is not None:
        # the confidence is blind to class shares; a small reference knows too little of P(h | y) to be believed
        share = (1 - trimmed_mean_share(evidence.reference_rows)) ** 2
        estimate = (1 - share) * still.value + share * label.value
    else:
        estimate = still.value if middle is None or unlike else (still.value + middle) / 2
    rows = max(e.rows for e in by_name.values())
    seen = evidence.shift_statistics
    return ShiftSigns(
        estimate,
        evidence.source,
        evidence.reference_rows,
        rows,
        seen.get("moved"),
        seen.get("unexplained"),
        models=unlike or (others and middle is None),
        still=(still.lower, still.upper),
    )


def spanning(value: float, ends: tuple[float, float], evidence: Evidence, level: float) -> Interval:
    """The interval; a reference whose rows are all right, or all wrong, adds what more of them might show."""
    lower, upper = ends
    if evidence.source in (0.0, 1.0) and evidence.reference_rows:
        low, high = clopper_pearson(round(evidence.source * evidence.reference_rows), evidence.reference_rows, level)
        lower, upper = min(lower, low), max(upper, high)
    return Interval(value, min(lower, value), max(upper, value), level, "empirical")


def trust_of(
    prior: NaturalShifts,
    signs: ShiftSigns,
    doubt: str,
    band: tuple[float, float, float] | None = None,
    scale: float = 1.0,
    error: float = 0.0,
) -> tuple[str, str]:
    """Trust and its reason: what was measured of public shifts like this one, and what speaks against the number.

    ``band``: value and ends of the band of 90 %, where it is not that of the prior alone. ``scale``: the range of
    possible values, which is 2 of a metric that may be -1. ``error``: a standard error that clusters add.
    """
    value, low, high = band or (prior.value(signs), *prior.interval(signs, 0.9))
    below, above = (math.hypot(end, normal_quantile(0.9) * error) for end in (value - low, high - value))
    low, high, points = value - below, value + above, max(below, above)
    measured = next((row for row in prior.reach if points <= row[0]), None)
    within = counted(round(100 * scale * points), "point")
    promise = f"in 9 of 10 comparable public cases the truth is expected within {within}"
    if measured is not None:
        promise += f" (checked on {measured[1]}, their sources left out: {percent(measured[2], 0)})"
    if high - low > WIDEST:
        return (
            "none",
            f"{promise}; that is more than half of all accuracies: label some target rows (`oodometer audit`)",
        )
    if doubt:
        return "low", f"{promise}; {doubt}"
    held = measured is not None and measured[2] >= HIGH_RATE
    if points <= HIGH_REACH and held:
        missed, fell = (prior.about or {}).get("unseen_falls", (0, 0))
        seen = "`high` means that outputs show nothing against it"
        if fell:
            seen += f": of {fell} such public cases that fell by 3 points or more, the estimate was off by more than "
            seen += f"3 points in {missed}"
        return "high", f"{promise}; {seen}; a few labels tell (`oodometer audit`)"
    return "low", f"{promise}; {_LABELS}"


def doubt_of(signs: ShiftSigns, evidence: Evidence) -> str:
    """What the prior has not seen and speaks against the number; empty where nothing does."""
    diagnosis = evidence.diagnosis
    if signs.moved is None:
        return "here nothing shows how far the outputs moved, so a typical natural shift is assumed"
    if signs.source in (0.0, 1.0):
        kind = "errors" if signs.source else "correct answers"
        return f"the reference holds no {kind}, so nothing is known of them"
    if diagnosis is not None and diagnosis.kind == "support":
        return diagnosis.why
    if diagnosis is not None and any(
        f.name == "confidence alarm" and f.strength == "strong" and f.refutes for f in diagnosis.findings
    ):
        return "confidence does not see what other signs see"
    return ""


def provenance(prior: NaturalShifts) -> str:
    """What the prior was made from, in a few words."""
    about = prior.about or {}
    return f"{about.get('cases', 'some')} cases of {len(about.get('sources', ()))} sources"
