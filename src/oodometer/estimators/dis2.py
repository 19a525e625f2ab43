"""Disagreement discrepancy (Dis^2): how far the best critic that agrees on the reference can disagree on the target."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..inference.critic_search import fit_critics
from ..inference.domain_classifier import narrow, standardised
from ..inference.folds import content_order
from ..inference.row_sample import RowSample, sample_limit
from ..intervals import wilson_from_variance
from ..kernels import mix, one_thread, row_hash
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums, mean_and_variance

_LEAST_ROWS = 40  # of either sample: half of them train the critic
_MOST_ROWS = 10_000
_MOST_CLASSES = 50
_MOST_PRODUCTS = 5_000_000  # rows x classes x columns of a fit: bounds its time


@final
@register("estimator")
class DisagreementDiscrepancy(Estimator):
    """``dis2``: acc_S - (agr_S - agr_T), agr = how often a critic h' says what the model h says.

    h' is linear in `logits` (else log-probabilities, else `features`; 50 principal components of more), trained on one
    half of both samples to agree with h on the reference and to disagree on the target (`fit_critics`: the paper's
    loss for several trades and from random starts, the best of each path, then the discrepancy itself, smoothed). The
    critic with the largest discrepancy on that half, or h itself (discrepancy 0), is evaluated on the other half.
    ``details``: the discrepancy; eps = sqrt((n_S + 4 n_T) ln(1/delta) / (2 n_S n_T)) of the halves, delta = 1 -
    level; bound = value - eps, which is also ``lower``: acc_T lies above it with probability ``level`` if the
    assumption holds. ``upper`` is the sampling error of the value alone: acc_T may be higher. Of many classes the
    49 most predicted are kept and the others joined: a critic of those is a critic of all. The search may miss a better
    critic, the more so the fewer rows there are for each class. The order of rows and of classes changes nothing.

    Parameters
    ----------
    critic : "logits", or "features": a stronger critic, that is, a lower value whose assumption holds more often.

    `NotApplicable` below 40 rows on either side or without two classes. Source: Rosenfeld and Garg (2023).

    >>> x = np.linspace(-1, 1, 400)
    >>> reference = Predictions.from_arrays(features=x[:, None], prediction=x > 0, label=x > 0)
    >>> found = DisagreementDiscrepancy().fit(reference).estimate(reference.without_labels())
    >>> found.value > 0.95, found.lower == found.value - found.details["eps"]
    (True, True)
    """

    name = "dis2"
    family = "worst critic"
    beyond_overlap = True
    order = 270
    cost = "slow"
    needs = ("class", "features|logits|probabilities", "prediction|probabilities|members")
    assumes = "the truth disagrees no more with the model than the best linear critic that was found"
    citation = "rosenfeld2023"
    heavy = True

    def __init__(self, *, critic: str = "logits", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if critic not in ("logits", "features"):
            raise UsageError(f"expected the critic 'logits' or 'features', got {critic!r}")
        self._critic = critic

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        why = super().why_not(record)
        sample: RowSample | None = getattr(self, "_sample", None)
        if why is not None or sample is None:
            return why
        name = self._input
        if not record.has(name):
            return f"needs `{name}` as in the reference"
        here, there = sample.arrays[name].shape[1], getattr(record, name).shape[1]
        if here != there:
            return f"needs {name} of {here} numbers as in the reference, got {there}"
        return None

    def _fit(self, reference: Predictions) -> None:
        order = ("logits", "probabilities", "features")
        first = sorted(order, key=lambda name: name != self._critic)
        self._input = next(name for name in first if reference.has(name))
        self._sample = self._rows_of(reference, "verdicts")
        if reference.num_classes < 2:
            raise NotApplicable("needs at least two classes to disagree about")
        if len(reference) < _LEAST_ROWS:
            raise NotApplicable(f"needs {_LEAST_ROWS} reference rows to train and judge a critic, got {len(reference)}")

    def _rows_of(self, record: Predictions, *others: str) -> RowSample:
        width = getattr(record, self._input).shape[1]
        return RowSample.of(record, [self._input, "predicted", *others], sample_limit(width, _MOST_ROWS), self.seed)

    def summarize(self, batch: Predictions) -> Sums:
        """A bounded sample of the rows."""
        return Sums(rows=len(batch), sample=self._rows_of(batch))

    def finish(self, state: Sums) -> Estimate:
        """Accuracy of the reference minus the discrepancy of the best critic."""
        target: RowSample = state["sample"]
        if len(target) < _LEAST_ROWS:
            raise NotApplicable(f"needs {_LEAST_ROWS} target rows to train and judge a critic, got {len(target)}")
        x, y, verdicts, cut = self._prepared(target)
        classes = max(int(y.max()) + 1, 2)
        place = np.concatenate([np.arange(cut), np.arange(len(x) - cut)])  # in an order without meaning
        on_target = np.arange(len(x)) >= cut
        learns = place % 2 == 0
        judges = ~learns
        enough = learns & (place < _MOST_PRODUCTS // (classes * x.shape[1]))
        agrees, best = np.ones(len(x), dtype=bool), 0.0  # h itself is a critic, too
        with one_thread():
            for weights in fit_critics(x[enough], y[enough], on_target[enough], classes, self.seed):
                same = (x @ weights).argmax(axis=1) == y
                gain = float(same[learns & ~on_target].mean() - same[learns & on_target].mean())
                if gain > best:
                    agrees, best = same, gain
        verdicts = verdicts[judges[:cut]]
        here, there = agrees[judges & ~on_target], agrees[judges & on_target]
        discrepancy = max(float(here.mean() - there.mean()), 0.0)  # h itself would do as well
        value = float(verdicts.mean()) - discrepancy
        eps = slack(len(here), len(there), 1 - self.level)
        variance = mean_and_variance(np.subtract(verdicts, here, dtype=np.float64))[1]
        variance += float(there.var()) / len(there)
        inside = min(max(value, 0.0), 1.0)
        upper = wilson_from_variance(inside, variance, min(len(here), len(there)), self.level)[1]
        details = {
            "discrepancy": discrepancy,
            "eps": eps,
            "bound": max(value - eps, 0.0),
            "reference_agreement": float(here.mean()),
            "target_agreement": float(there.mean()),
            "reference_accuracy": float(verdicts.mean()),
            "input": self._input,
        }
        return self._estimate(state, value, value - eps, upper, details=details)

    def _prepared(self, target: RowSample) -> tuple[Array, Array, Array, int]:
        """Inputs with a column of ones, shape (sample, column), what h says of each row, verdicts on the reference rows
        and their number. Neither the order of rows nor that of classes matters, to the last bit.
        """
        parts = [self._sample.arrays, target.arrays]
        inputs = [np.asarray(p[self._input], dtype=np.float64) for p in parts]
        said = [p["predicted"] for p in parts]
        marks = [x.astype(np.float32) for x in inputs]  # sums over the classes differ in the last digit
        of_classes = self._input != "features"
        classes = inputs[0].shape[1] if of_classes else int(max(map(np.max, said))) + 1
        order = class_order(marks, said, classes, of_classes)
        if of_classes:
            inputs, marks = [x[:, order] for x in inputs], [m[:, order] for m in marks]
        place = np.argsort(order)
        said = [place[s] for s in said]
        verdicts = parts[0]["verdicts"]
        sides = (marks[0], said[0], verdicts), (marks[1], said[1])
        first, second = (content_order(*side, seed=self.seed) for side in sides)
        x = np.concatenate([inputs[0][first], inputs[1][second]])
        y = np.minimum(np.concatenate([said[0][first], said[1][second]]), _MOST_CLASSES - 1)
        if self._input == "probabilities":
            x = np.log(np.maximum(x, 1e-6))
        x = standardised(narrow(x))
        return np.hstack([x, np.ones((len(x), 1))]), y, verdicts[first], len(first)


def class_order(inputs: Sequence[Array], said: Sequence[Array], classes: int, of_classes: bool) -> Array:
    """The classes by how often h says them, most first; what ties is put in order by what the rows hold, so that
    classes given in another order come out in the same one.

    ``inputs`` (sample, column) and ``said`` (sample,) of reference and target; ``of_classes``: a column is a class's.

    >>> class_order([np.array([[0.2, 0.8]]), np.array([[0.4, 0.6]])], [np.array([1]), np.array([1])], 2, True).tolist()
    [1, 0]
    """
    counts = np.array([np.bincount(s, minlength=classes) for s in said])
    marks = np.zeros((len(inputs), classes), dtype=np.uint64)  # sums that wrap: no order of rows or classes in them
    for x, s, mark in zip(inputs, said, marks, strict=True):
        if of_classes:
            bits = mix(np.ascontiguousarray(x, dtype=np.float64).view(np.uint64))
            mark[:] = mix(bits ^ mix(bits.sum(axis=1))[:, None]).sum(axis=0)
        else:
            np.add.at(mark, s, row_hash(x))
    return np.lexsort((*marks, counts[0], -counts.sum(axis=0)))


def slack(reference_rows: int, target_rows: int, delta: float) -> float:
    """eps = sqrt((n_S + 4 n_T) ln(1/delta) / (2 n_S n_T)), Hoeffding's inequality for the three means of the bound.

    >>> round(slack(100, 100, np.exp(-2)), 3)
    0.224
    """
    both = (reference_rows + 4 * target_rows) / (2 * reference_rows * target_rows)
    return float(np.sqrt(both * np.log(1 / delta)))
