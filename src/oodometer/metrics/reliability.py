"""Reliability diagram: accuracy over confidence, bin by bin, with exact intervals."""

from __future__ import annotations

from typing import final

import numpy as np

from ..errors import NotApplicable
from ..registry import register
from ..results import Curve
from .calibration_bins import BinnedMetric, CalibrationBins
from .spread import clopper_pearson_many


@final
@register("metric")
class ReliabilityDiagram(BinnedMetric[Curve]):
    """A curve over the ``bins`` (15) bins of equal width that are not empty: x = mean confidence, y = accuracy.

    ``extra`` holds ``rows``, ``bin_lower`` and ``bin_upper`` of each bin. The band is Clopper-Pearson's, bin
    by bin. Source: Guo et al. (2017).

    >>> from oodometer import Predictions
    >>> c = ReliabilityDiagram(bins=2).compute(Predictions.from_confidence([0.9, 0.8, 0.1], correct=[1, 0, 0]))
    >>> c.x.round(2).tolist(), c.y.tolist(), c.extra["rows"].tolist()
    ([0.1, 0.85], [0.0, 0.5], [1, 2])
    """

    name = "reliability"
    bigger_is_better = None
    citation = "guo2017"
    gives = "curve"

    def finish(self, state: CalibrationBins, level: float = 0.95, seed: int = 0) -> Curve:
        """The curve."""
        if not state.rows:
            raise NotApplicable("needs at least one labelled row")
        bins = state.coarse(self.bins)
        counts = bins.counts.sum(axis=1)
        used = np.flatnonzero(counts)
        hits, trials = bins.counts[used, 1], counts[used]
        lower, upper = clopper_pearson_many(hits, trials, level)
        share = hits / trials
        return Curve(
            name=self.name,
            x=bins.sums[used].sum(axis=1) / trials,
            y=share,
            lower=np.minimum(lower, share),
            upper=np.maximum(upper, share),
            x_name="confidence",
            y_name="accuracy",
            level=level,
            kind="exact",
            assumes="each bin on its own",
            extra={"rows": trials, "bin_lower": used / self.bins, "bin_upper": (used + 1) / self.bins},
        )
