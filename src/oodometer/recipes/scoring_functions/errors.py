"""Errors: how far the thresholded score of each model lies from its accuracy, on every set of images."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...estimators.threshold import find_threshold, find_threshold_on_grid, total_credit
from .work import Answers

SCORES = ("conf", "lms", "ma")


def scores_of(answers: Answers, base: int, models: Sequence[int] | None = None) -> dict[str, Array]:
    """Confidence, smoothness and agreement of one model, each of shape (sample,), those that its answers have.

    ``models`` are the others that it is compared with, by default all others.
    """
    predicted = answers["probabilities"].argmax(-1)
    out = {"conf": answers["probabilities"][base].max(-1)}
    if "views" in answers and base < len(answers["views"]):
        out["lms"] = (answers["views"][base] == predicted[base]).mean(0)
    others = [i for i in range(len(predicted)) if i != base] if models is None else list(models)
    if others:
        out["ma"] = (predicted[others] == predicted[base]).mean(0)
    return out


@final
@dataclass(frozen=True)
class MechanismErrors:
    """Estimate minus accuracy of one model on one set: by the exact threshold, and by that of the grid."""

    exact: float
    grid: float


class _Mechanism:
    """The threshold of one score, fitted on the images for it."""

    def __init__(self, scores: Array, correct: Array, grid: int) -> None:
        ordered, count = np.sort(scores), float(correct.sum())
        self.exact = find_threshold(ordered, count)
        self.grid = find_threshold_on_grid(ordered, count, (0.0, 1.0), grid)

    def apart(self, scores: Array, accuracy: float) -> MechanismErrors:
        """Estimate minus accuracy."""
        exact, grid = (total_credit(scores, one) / len(scores) - accuracy for one in (self.exact, self.grid))
        return MechanismErrors(float(exact), float(grid))


@final
class Errors:
    """Thresholds of every score of every model, and what they err by on a set.

    ``validation`` are the answers for the images of the thresholds.
    """

    def __init__(self, validation: Answers, grid: int) -> None:
        self.models = len(validation["probabilities"])
        self._fitted = []
        for base in range(self.models):
            right = validation["probabilities"][base].argmax(-1) == validation["label"]
            found = scores_of(validation, base)
            self._fitted.append({name: _Mechanism(scores, right, grid) for name, scores in found.items()})
        self._mean = self._of_ensemble(validation, grid)

    def of(self, answers: Answers) -> Iterator[dict[str, Any]]:
        """For each model its accuracy and the error of every score."""
        for base, fitted in enumerate(self._fitted):
            accuracy = float((answers["probabilities"][base].argmax(-1) == answers["label"]).mean())
            found = scores_of(answers, base)
            yield {"accuracy": accuracy, **{name: fitted[name].apart(found[name], accuracy) for name in fitted}}

    def ensemble(self, answers: Answers) -> dict[str, float]:
        """Accuracy of the mean of all models, and the error of the agreement of the models with it."""
        predicted, agree = _with_mean(answers)
        accuracy = float((predicted == answers["label"]).mean())
        return {"accuracy": accuracy, "ma": self._mean.apart(agree, accuracy).exact}

    @staticmethod
    def _of_ensemble(validation: Answers, grid: int) -> _Mechanism:
        predicted, agree = _with_mean(validation)
        return _Mechanism(agree, predicted == validation["label"], grid)


def _with_mean(answers: Answers) -> tuple[Array, Array]:
    """The classes of the mean of all models, and the share of the models that give them, each of shape (sample,)."""
    predicted = answers["probabilities"].mean(0).argmax(-1)
    return predicted, (answers["probabilities"].argmax(-1) == predicted).mean(0)


def agreement_of_subsets(
    validation: Answers, targets: Sequence[Answers], sizes: Sequence[int], draws: int, seed: int
) -> dict[int, Array]:
    """Mean absolute error of agreement over the targets, for ensembles of each size: shape (model, draw).

    An ensemble of r models is the judged one and r - 1 others, drawn ``draws`` times; all of them make one ensemble.
    """
    rng = np.random.default_rng(seed)
    sets = [validation, *targets]
    classes = [one["probabilities"].argmax(-1) for one in sets]
    models = len(classes[0])
    out = {size: np.zeros((models, draws if size < models else 1)) for size in sizes}
    for base in range(models):
        others = np.array([i for i in range(models) if i != base])
        same = [(one[others] == one[base]).astype(np.float32) for one in classes]
        right = [one[base] == held["label"] for one, held in zip(classes, sets, strict=True)]
        for size, errors in out.items():
            for draw in range(errors.shape[1]):
                chosen = rng.choice(len(others), size - 1, replace=False)
                fitted = find_threshold(np.sort(same[0][chosen].mean(0)), float(right[0].sum()))
                apart = [
                    total_credit(one[chosen].mean(0), fitted) / len(truth) - truth.mean()
                    for one, truth in zip(same[1:], right[1:], strict=True)
                ]
                errors[base, draw] = np.abs(apart).mean()
    return out


def mean_and_spread(values: Sequence[float] | Array) -> Mapping[str, Any]:
    """Mean and standard deviation over models, and the models' own values."""
    found = np.asarray(values, dtype=float)
    spread = float(found.std(ddof=1)) if len(found) > 1 else 0.0
    return {"mean": float(found.mean()), "sd": spread, "by_model": found.tolist()}
