"""Targets: how accurate each model is on rows without labels, as `estimate` says it, and which of them is ahead."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ...errors import NotApplicable, UsageError
from ...results import Curve, Interval, percent
from ...store import Source
from ..estimate import estimated
from ..estimate.options import EstimateJob
from .options import CompareJob


def label_free(home: Source, target: Source, options: CompareJob) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The headline of `estimate` for a model on its target, with what it rests on, its curve there, and its warnings.

    accuracy : the headline as an interval. trust, why, assumes : of it. shift : the kind that the diagnosis names, None
    without. truth : where the target's rows are labelled after all. by_labels : the truth as an interval where labels
    decide in the place of the estimate, else None. curve, answers, auc_coverage : of the
    accuracy-coverage curve from the rate of being right at each confidence in the domain; absent where there is none.
    """
    how: dict[str, Any] = {"level": options.level, "seed": options.seed, "execution": options.execution}
    asked = EstimateJob(home, target, target_accuracies=tuple(options.require), **how)
    try:
        found = estimated(asked)
    except NotApplicable as error:
        raise UsageError(f"{target.name or 'the target'}: nothing can be estimated: {error}") from None
    head, curve = found.headline, found.risk_coverage
    out: dict[str, Any] = {
        "name": target.name,
        "rows": found.target["rows"],
        "accuracy": head.interval,
        "trust": head.trust,
        "why": head.why,
        "assumes": head.assumes,
        "shift": None if found.diagnosis is None else found.diagnosis.kind,
        "truth": found.target.get("accuracy"),
        "by_labels": found.truth if found.by_labels else None,
    }
    if curve is not None:
        out |= {"curve": curve, "answers": curve.extra["answers"], "auc_coverage": _mean(curve)}
    return out, found.warnings


def findings_on_targets(titles: Sequence[str], found: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A sentence for each two neighbours in the order: which is ahead, and whether overlapping intervals leave it open.

    Whether two intervals overlap is a rough test: it knows nothing of errors that the two estimates share.
    """
    out = []
    known = all(one["by_labels"] is not None for one in found)
    of = "by_labels" if known else "accuracy"
    order = sorted(range(len(found)), key=lambda one: -found[one][of].value)
    for a, b in pairwise(order):
        first, second = found[a][of], found[b][of]
        apart = first.lower > second.upper
        say = f"on the target {titles[a]} is {'by its labels' if known else 'estimated'} ahead of {titles[b]}, "
        say += f"{percent(first.value)} against {percent(second.value)}"
        if not apart:
            say += ", but their intervals overlap: undecided"
            say += (
                "; compare these files themselves, row by row"
                if known
                else "; a few labels decide it (`oodometer rank`)"
            )
        for one in (a, b):
            if found[one]["trust"] == "none" and not known:
                say += f"; the estimate of {titles[one]} deserves no trust"
        out.append(
            {
                "name": "target_order",
                "domain": "target",
                "models": [titles[a], titles[b]],
                "accuracy": [first.value, second.value],
                "contested": False,
                "undecided": not apart,
                "share": None,
                "sentence": say,
            }
        )
    return out


def _mean(curve: Curve) -> Interval:
    """The mean of the curve over coverages, between the means of its band's ends (wider than a band of the mean)."""
    value, lower, upper = (float(np.mean(line)) for line in (curve.y, curve.lower, curve.upper))
    return Interval(value, min(lower, value), max(upper, value), curve.level, curve.kind)
