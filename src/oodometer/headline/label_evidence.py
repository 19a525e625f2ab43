"""Label evidence: whether class shares explain what is seen of a target, and not merely that nothing refutes them."""

from __future__ import annotations

from typing import Literal

import numpy as np

from ..results import Estimate
from .headline import Evidence

_FITS, _LEAST_RATIO, _ENOUGH_ROWS, _MANY_CLASSES = 0.05, 0.2, 500, 4

Evidential = Literal["strong", "open", "none"]


def evidence_for_label_shift(label: Estimate | None, evidence: Evidence, rows: int) -> Evidential:
    """Whether class shares explain what is seen, and it is not merely that nothing refutes them.

    One share must explain the move of all bins of the score, with so many rows on both sides that a misfit would have
    been seen, and of two or three classes leave none with less than a fifth of its share: a class that all but vanishes
    is what a change of the inputs looks like, too, where so few cells are to be explained. It is "open" where, of two
    classes, a simple change of the inputs (`tilt_test`) explains as much.
    """
    diagnosis = evidence.diagnosis
    if (
        label is None
        or label.details.get("refuted")
        or (diagnosis and diagnosis.kind in ("none", "support"))
    ):
        return "none"
    prior, before = (
        np.asarray(label.details.get(name, ()), dtype=float)
        for name in ("prior", "reference_prior")
    )
    occurs = before > 0
    if (
        not occurs.any()
        or prior.shape != before.shape
        or min(rows, evidence.reference_rows) < _ENOUGH_ROWS
    ):
        return "none"
    vanishes = (
        len(prior) < _MANY_CLASSES and float((prior[occurs] / before[occurs]).min()) < _LEAST_RATIO
    )
    if float(label.details["fit"]["p_value"]) < _FITS or vanishes:
        return "none"
    tilt = label.details.get("tilt")
    return "strong" if tilt is None or tilt < _FITS else "open"
