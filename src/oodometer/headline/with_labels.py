"""With labels: what natural shifts lead one to expect of an estimated target, and few labels of it, in one interval."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from ..arrays import Array
from ..audits.believed import Believed, believe, below_with_labels, prior_cdf
from ..audits.sampling import SampledRows
from ..results.estimation import Estimation, Headline
from ..results.fall import Fall
from .falls import verdict_of
from .headline import Evidence
from .natural_headline import judges_alone, signs_of
from .natural_shifts import NaturalShifts, ShiftSigns, packaged_prior

_NAMED = 6  # sources that a sentence names


def signs_of_result(found: Estimation) -> ShiftSigns | None:
    """What the prior asks for, from a result of `estimate`; None where the accuracy of the reference is not known.

    A sign that is no number counts as one that was not seen.
    """
    still = found.headline.bands.get("unchanged")
    if still is None:
        return None
    evidence = Evidence(
        found.level,
        shift_statistics={} if found.diagnosis is None else found.diagnosis.signs,
        diagnosis=found.diagnosis,
        source=found.reference.get("accuracy"),
        reference_rows=int(found.reference.get("rows", 0)),
    )
    stands = Headline(still, found.headline.method, "", "low", "")
    signs = signs_of(stands, {e.method: e for e in found.estimates}, evidence)
    if signs is None:
        return None
    return replace(signs, moved=_seen(signs.moved), unexplained=_seen(signs.unexplained))


def with_labels(
    found: Estimation,
    sampled: SampledRows | None,
    score: Array,
    prior: NaturalShifts | None = None,
    margin: float = 0.01,
) -> Believed:
    """The believed interval: the prior of natural shifts, given what was seen without labels, times the labels.

    score is f on all target rows, shape (sample,); ``margin`` that of `Fall`. Without labels, or where the prior has
    nothing to go by, there is no interval, and `Believed.why` says so.
    """
    prior = packaged_prior() if prior is None else prior
    if sampled is None:
        return Believed(None, why="there is no label yet: until then the label-free estimate is what to believe")
    if judges_alone(found.headline):
        why = "of the target only judges' votes are known, and no public shift tells how these turn out"
        return Believed(None, why=f"{why}: go by the audited accuracy")
    signs = signs_of_result(found)
    if signs is None:
        return Believed(None, why="the accuracy on the reference is not known, from which natural shifts are told")
    quantiles = prior.quantile(signs, prior.levels)
    if not np.isfinite(quantiles).all():
        return Believed(None, why="what was seen of the shift without labels is no number")
    drawn = "with the chances that --suggest wrote down" if sampled.weighted else "at random"
    assumes = f"the shift is like {_provenance(prior)}, and the labelled rows were drawn {drawn}"
    known = prior_cdf(prior.levels, quantiles)
    chance = below_with_labels(known, sampled, score, signs.source - margin)
    verdict = verdict_of(chance)
    why = "label more rows to decide it" if verdict == "cannot say" else "by public shifts and your labels together"
    fell = Fall(margin, chance, verdict, None, verdict == "fell", why)
    return replace(believe(known, sampled, score, found.level, assumes), fell=fell)


def _seen(sign: float | None) -> float | None:
    return sign if sign is not None and math.isfinite(sign) else None


def _provenance(prior: NaturalShifts) -> str:
    """Which public shifts the prior rests on."""
    about = prior.about or {}
    sources = [str(one) for one in about.get("sources", ())]
    named = ", ".join(sources[:_NAMED]) + (", ..." if len(sources) > _NAMED else "")
    return f"those of {about.get('cases', 'some')} public cases of {len(sources)} sources ({named})"
