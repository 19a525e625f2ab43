"""Shares: in how many bootstrap replicates a pair of models is ordered so, of enough replicates to be corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ...arrays import Array
from ...metrics.failure_cases import COVERAGES, TAIL
from ...metrics.ranks import Ranks
from ...metrics.replicated import jointly_resampled, replicated
from ...metrics.resampling import REPLICATES, rank_bins
from ...store import read_predictions
from ..base import Progress, Workspace

RANKED = ("accuracy", "auc_coverage", "disca")
SIDE = "coverage_at_risk"
"""The third measure, which says with whom it sides where two rankings part."""
_ROUNDS = 50  # of 200 replicates each: 10,000, so that one among ninety looks can be beyond chance
_LEAST_TAIL = 0.005  # of accuracy, from which on `compare` speaks of a tail
_OPTIONS = ("tolerance", "weights", "grid", "steps", "risk", "coverage")


@dataclass(frozen=True)
class Shares:
    """Shares of replicates on one set; all arrays of shape (model, model), the first model against the second.

    better : metric -> the first has more of it, ties by half. parted : two metrics -> by the one the first model is
    ahead, by the other the second. tail : the first has the higher AUC, the second the higher accuracy over the first
    fifth of coverage. tail_seen : whether that is so in the sample, by half a point.
    """

    models: tuple[str, ...]
    replicates: int
    better: Mapping[str, Array]
    parted: Mapping[tuple[str, str], Array]
    tail: Array
    tail_seen: Array

    def of_pair(self, preferred: Mapping[str, str]) -> dict[str, Any]:
        """The share in which two metrics part so, and in which the third measure sides with the first of them."""
        (one, a), (other, b) = preferred.items()
        i, j = self.models.index(a), self.models.index(b)
        return {"share": float(self.parted[one, other][i, j]), "with_first": float(self.better[SIDE][i, j])}

    def p_better(self, a: str, b: str) -> float:
        """The share in which a has the higher DiSCA than b."""
        return float(self.better["disca"][self.models.index(a), self.models.index(b)])

    def tails(self) -> list[dict[str, Any]]:
        """Each pair that shows a tail in the sample."""
        return [
            {"models": [self.models[i], self.models[j]], "share": float(self.tail[i, j])}
            for i, j in np.argwhere(self.tail_seen)
        ]


def shares_of(
    workspace: Workspace, models: Sequence[str], name: str, settings: Mapping[str, Any], progress: Progress
) -> Shares:
    """All shares of the models on a set, from their predictions files; every replicate draws the same rows for all.

    ``settings`` are those of the comparison: the options of the metrics, and the seed.
    """
    records = [read_predictions(workspace.folder / f"predictions/{model}.{name}.parquet") for model in models]
    confidences = [np.asarray(record.probabilities).max(axis=1) for record in records]
    verdicts = [record.verdicts for record in records]
    groups = [Ranks.of(one, other).groups for one, other in zip(confidences, verdicts, strict=True)]
    options = {key: settings[key] for key in _OPTIONS} | {"weights": tuple(settings["weights"])}
    early = COVERAGES[COVERAGES <= TAIL + 1e-9]
    many = len(models)
    metrics = (*RANKED, SIDE)
    better = {metric: np.zeros((many, many)) for metric in metrics}
    parted = {(one, other): np.zeros((many, many)) for one in RANKED for other in RANKED if one != other}
    tail = np.zeros((many, many))
    for number in range(_ROUNDS):
        curves = jointly_resampled(groups, confidences, verdicts, int(settings["seed"]) * 1000 + number)
        ahead = {}
        for metric in metrics:
            drawn = np.stack([replicated(one, metric, **options) for one in curves], axis=1)
            ahead[metric] = drawn[:, :, None] > drawn[:, None, :]
            better[metric] += (ahead[metric] + 0.5 * (drawn[:, :, None] == drawn[:, None, :])).sum(axis=0)
        for one, other in parted:
            parted[one, other] += (ahead[one] & ahead[other].transpose(0, 2, 1)).sum(axis=0)
        first = np.stack([one.at_coverages(early).accuracy.mean(axis=1) for one in curves], axis=1)
        tail += (ahead["auc_coverage"] & (first[:, None, :] > first[:, :, None])).sum(axis=0)
        progress(number + 1, _ROUNDS)
    replicates = _ROUNDS * REPLICATES
    seen = np.array([rank_bins(one).at_coverages(early).accuracy.mean() for one in groups])
    area = np.array([one.accuracy_sum / one.rows for one in groups])
    tail_seen = (area[:, None] > area[None]) & (seen[None] - seen[:, None] >= _LEAST_TAIL)
    return Shares(
        tuple(models),
        replicates,
        {metric: found / replicates for metric, found in better.items()},
        {pair: found / replicates for pair, found in parted.items()},
        tail / replicates,
        tail_seen,
    )
