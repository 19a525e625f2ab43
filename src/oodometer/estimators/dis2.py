"""Disagreement discrepancy (Dis^2): how far the best critic that agrees on the reference can disagree on the target."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..inference.domain_classifier import narrow, standardised, why_no_domains
from ..inference.row_sample import RowSample, content_order, sample_limit
from ..intervals import wilson_from_variance
from ..kernels import mix, one_thread, row_hash
from ..predictions import Predictions
from ..registry import register
from ..results import Estimate
from .base import Estimator, Sums, Traits, mean_and_variance

_TRADES = (0.03, 0.3, 1.0, 3.0)  # beside the paper's own, log 2 / log K
_DECAY, _STEPS, _STARTS = 5e-4, 60, 8
_START_STEPS = 40
_START_ROWS = 1_000  # of either sample
_START_LOGITS = (
    200_000  # rows x starts x classes of either sample: bounds the time with many classes
)
_RATE = 0.05
_SHARPENED = 2  # of the trades' critics, and of the random starts', that are improved further
_SHARP_ROWS = 2_000  # of either sample, before the best critic sees them all
_SHARP_STEPS, _SHARP_DECAY = 40, 1e-4


def fit_critics(
    x: Array, y: Array, on_target: Array, classes: int, seed: int = 0
) -> Iterator[Array]:
    """Weights (column, class) of critics with a large discrepancy on these rows, the best of each path to a minimum."""
    rows = _Rows.of(x, y, on_target)
    paper = float(np.log(2) / np.log(classes))
    critics = list(_by_trades(rows, classes, sorted({*_TRADES, paper})))
    few = rows.first(min(_START_ROWS, _START_LOGITS // (_STARTS * classes)))
    # the best critic on the way from each random start: full-batch Adam on the paper's loss, all starts at once
    rng = np.random.default_rng([seed, 47])
    shape = (few.x.shape[1], _STARTS, classes)
    weights = rng.uniform(-1, 1, shape) / np.sqrt(shape[0])
    first, second = np.zeros(shape), np.zeros(shape)
    started = [_Critic(weights[:, start]) for start in range(_STARTS)]
    for step in range(1, _START_STEPS + 1):
        z = (few.x @ weights.reshape(len(weights), -1)).reshape(-1, *shape[1:])
        _, slope, gains = _losses(z, few, paper)
        for start, critic in enumerate(started):
            critic.see(weights[:, start], float(gains[start]))
        pull = (few.x.T @ slope.reshape(len(slope), -1)).reshape(shape)
        first += 0.1 * (pull - first)
        second += 0.01 * (np.square(pull) - second)
        size = np.sqrt(second / (1 - 0.99**step)) + 1e-8
        weights = weights - _RATE * first / (1 - 0.9**step) / size
    yield from (critic.weights for critic in critics)
    subset = rows.first(_SHARP_ROWS)
    best = [
        sorted(path, key=lambda critic: -critic.gain)[:_SHARPENED]
        for path in (critics[1:], started)
    ]
    better = [_sharpened(critic.weights, subset) for critic in (critics[0], *best[0], *best[1])]
    yield from (critic.weights for critic in better)
    if len(subset.x) < len(x):
        yield _sharpened(max(better, key=lambda critic: critic.gain).weights, rows).weights


@dataclass
class _Critic:
    """The critic with the largest discrepancy seen on a path so far."""

    weights: Array
    gain: float = -1.0

    def see(self, weights: Array, gain: float) -> None:
        """Remember a copy of the weights where their gain is the largest so far."""
        if gain > self.gain:
            self.gain, self.weights = gain, weights.copy()


@dataclass(frozen=True)
class _Rows:
    """Inputs and what h says of them, reference rows before target rows; ``here`` and ``there`` count them."""

    x: Array
    y: Array
    here: int
    there: int

    @classmethod
    def of(cls, x: Array, y: Array, on_target: Array) -> _Rows:
        """The rows with those of the target last; copied only where they stand in another order."""
        target_rows = int(on_target.sum())
        if on_target[:-1].any() and not on_target[len(x) - target_rows :].all():
            order = np.argsort(on_target, kind="stable")
            x, y = x[order], y[order]
        return cls(x, y, len(x) - target_rows, target_rows)

    def first(self, rows: int) -> _Rows:
        """The first so many of either sample."""
        rows_of_both = np.r_[: min(rows, self.here), self.here : self.here + min(rows, self.there)]
        return _Rows(
            self.x[rows_of_both], self.y[rows_of_both], min(rows, self.here), min(rows, self.there)
        )

    @property
    def share(self) -> Array:
        """Weights of the rows in agr_T - agr_S, shape (sample,)."""
        return np.repeat([-1 / max(self.here, 1), 1 / max(self.there, 1)], [self.here, self.there])


def _losses(z: Array, rows: _Rows, trade: float) -> tuple[Array, Array, Array]:
    """mean_S -log softmax_h(z) / log K + trade * mean_T log2(1 + exp(z_h - mean_{k != h} z_k)) of logits z (sample,
    critic, class), its slope at them, and the critics' discrepancies.
    """
    from scipy.special import expit

    cut, classes = rows.here, z.shape[2]
    at = rows.y[:, None, None]
    label_logits = np.take_along_axis(z, at, axis=2)
    gap = label_logits - z.max(axis=2, keepdims=True)
    near, far = z[:cut], z[cut:]
    near += gap[:cut] - label_logits[:cut]  # less the largest
    np.exp(near, out=near)
    norm = near.sum(axis=2, keepdims=True)
    agree = np.log(norm) - gap[:cut]
    unit = np.log(classes) * max(cut, 1)
    near /= norm * unit
    np.put_along_axis(near, at[:cut], np.exp(-agree) / unit - 1 / unit, axis=2)
    margin = label_logits[cut:] - (far.sum(axis=2, keepdims=True) - label_logits[cut:]) / (
        classes - 1
    )
    disagree = np.logaddexp(0.0, margin)
    pull = trade * expit(margin) / (np.log(2) * max(rows.there, 1))
    far[:] = -pull / (classes - 1)
    np.put_along_axis(far, at[cut:], pull, axis=2)
    value = agree.sum(axis=(0, 2)) / unit + trade * disagree.sum(axis=(0, 2)) / (
        np.log(2) * max(rows.there, 1)
    )
    return value, z, -rows.share @ (gap[..., 0] >= 0)


def _descend(loss: Callable[[Array], tuple[float, Array]], start: Array, steps: int) -> Array:
    """Weights at the end of L-BFGS from ``start``."""
    from scipy.optimize import minimize

    def flat(weights: Array) -> tuple[float, Array]:
        value, slope = loss(weights.reshape(start.shape))
        return value, slope.ravel()

    end: Array = minimize(
        flat, start.ravel(), jac=True, method="L-BFGS-B", options={"maxiter": steps}
    ).x
    return end.reshape(start.shape)


def _by_trades(rows: _Rows, classes: int, trades: list[float]) -> Iterator[_Critic]:
    """The best critic on the way to each trade's minimum; each starts where the one before ended."""
    weights = np.zeros((rows.x.shape[1], classes))
    for trade in trades:
        best = _Critic(weights)

        def loss(w: Array, trade: float = trade, best: _Critic = best) -> tuple[float, Array]:
            values, slope, gains = _losses((rows.x @ w)[:, None, :], rows, trade)
            best.see(w, float(gains[0]))
            value = float(values[0]) + _DECAY / 2 * float(np.square(w).sum())
            return value, rows.x.T @ slope[:, 0] + _DECAY * w

        weights = _descend(loss, weights, _STEPS)
        yield best


def _sharpened(weights: Array, rows: _Rows) -> _Critic:
    """The best critic on the way down mean_T s(m) - mean_S s(m), m = z_h - max_{k != h} z_k and s the sigmoid."""
    from scipy.special import expit

    at, share = np.arange(len(rows.x)), rows.share
    best = _Critic(weights)

    def margins(w: Array) -> tuple[Array, Array, Array]:
        z = rows.x @ w
        label_logits = z[at, rows.y]
        z[at, rows.y] = -np.inf
        rival = z.argmax(axis=1)
        return label_logits - z[at, rival], rival, z

    def loss(w: Array) -> tuple[float, Array]:
        margin, rival, slope = margins(w)
        best.see(w, -float(share @ (margin >= 0)))
        soft = expit(margin)
        pull = share * soft * (1 - soft)
        slope[:] = 0.0
        slope[at, rows.y] = pull
        slope[at, rival] = -pull
        value = float(share @ soft) + _SHARP_DECAY / 2 * float(np.square(w).sum())
        return value, rows.x.T @ slope + _SHARP_DECAY * w

    middle = float(
        np.median(np.abs(margins(weights)[0]))
    )  # half of the rows on the steep part of the sigmoid
    _descend(loss, weights / middle if middle > 0 else weights, _SHARP_STEPS)
    return best


_LEAST_ROWS = 40  # of either sample: half of them train the critic
_MOST_ROWS, _MOST_CLASSES = 10_000, 50
_MOST_PRODUCTS = 5_000_000  # rows x classes x columns of a fit: bounds its time


@register("estimator")
class DisagreementDiscrepancy(Estimator):
    """``dis2``: acc_S - (agr_S - agr_T), agr = how often a critic h' says what the model h says.

    h' is linear in `logits` (else log-probabilities, else `features`; 50 principal components of more), trained on one
    half of both samples to agree with h on the reference and to disagree on the target; the critic with the largest
    discrepancy on that half, or h itself, is evaluated on the other half. ``details``: the discrepancy; eps = sqrt((n_S
    + 4 n_T) ln(1/delta) / (2 n_S n_T)), delta = 1 - level; bound = value - eps, which is also ``lower``: acc_T lies
    above it with probability ``level`` if the assumption holds. ``upper`` is the sampling error of the value alone. Of
    many classes the 49 most predicted are kept and the others joined.

    critic : "logits", or "features": a stronger critic, that is, a lower value whose assumption holds more often.

    `NotApplicable` below 40 rows on either side or without two classes. Source: Rosenfeld and Garg (2023).

    >>> x = np.linspace(-1, 1, 400)
    >>> reference = Predictions.from_arrays(features=x[:, None], prediction=x > 0, label=x > 0)
    >>> found = DisagreementDiscrepancy().fit(reference).estimate(reference.without_labels())
    >>> found.value > 0.95, found.lower == found.value - found.details["eps"]
    (True, True)
    """

    name = "dis2"
    traits = Traits("worst critic", 270, cost="slow", beyond_overlap=True, heavy=True)
    needs = ("class", "features|logits|probabilities", "prediction|probabilities|members")
    assumes = (
        "the truth disagrees no more with the model than the best linear critic that was found"
    )
    citation = "rosenfeld2023"

    def __init__(self, *, critic: str = "logits", level: float = 0.95, seed: int = 0) -> None:
        super().__init__(level=level, seed=seed)
        if critic not in ("logits", "features"):
            raise UsageError(f"expected the critic 'logits' or 'features', got {critic!r}")
        self._critic = critic

    def why_not(self, record: Predictions) -> str | None:
        """The reason why a record lacks what the method needs, or None."""
        sample: RowSample | None = getattr(self, "_sample", None)
        why = super().why_not(record)
        return why if why or sample is None else why_no_domains(sample, record, (self._input,))

    def _fit(self, reference: Predictions) -> None:
        inputs = sorted(
            ("logits", "probabilities", "features"), key=lambda name: name != self._critic
        )
        self._input = next(name for name in inputs if reference.has(name))
        self._sample = self._rows_of(reference, "verdicts")
        if reference.num_classes < 2:
            raise NotApplicable("needs at least two classes to disagree about")
        if len(reference) < _LEAST_ROWS:
            raise NotApplicable(
                f"needs {_LEAST_ROWS} reference rows to train and judge a critic, got {len(reference)}"
            )

    def _rows_of(self, record: Predictions, *fields: str) -> RowSample:
        width = getattr(record, self._input).shape[1]
        return RowSample.of(
            record, [self._input, "predicted", *fields], sample_limit(width, _MOST_ROWS), self.seed
        )

    def summarize(self, batch: Predictions) -> Sums:
        """A bounded sample of the rows."""
        return Sums(rows=len(batch), sample=self._rows_of(batch))

    def finish(self, state: Sums) -> Estimate:
        """Accuracy of the reference minus the discrepancy of the best critic."""
        target: RowSample = state["sample"]
        if len(target) < _LEAST_ROWS:
            raise NotApplicable(
                f"needs {_LEAST_ROWS} target rows to train and judge a critic, got {len(target)}"
            )
        parts = [self._sample.arrays, target.arrays]
        inputs = [np.asarray(p[self._input], dtype=np.float64) for p in parts]
        predicted = [p["predicted"] for p in parts]
        marks = [
            x.astype(np.float32) for x in inputs
        ]  # sums over the classes differ in the last digit
        of_classes = self._input != "features"
        classes = inputs[0].shape[1] if of_classes else int(max(map(np.max, predicted))) + 1
        order = class_order(marks, predicted, classes, of_classes)
        if of_classes:
            inputs, marks = [x[:, order] for x in inputs], [m[:, order] for m in marks]
        position = np.argsort(order)
        predicted = [position[s] for s in predicted]
        verdicts = parts[0]["verdicts"]
        sides = (marks[0], predicted[0], verdicts), (marks[1], predicted[1])
        first, second = (content_order(*side, seed=self.seed) for side in sides)
        x = np.concatenate([inputs[0][first], inputs[1][second]])
        y = np.minimum(
            np.concatenate([predicted[0][first], predicted[1][second]]), _MOST_CLASSES - 1
        )
        if self._input == "probabilities":
            x = np.log(np.maximum(x, 1e-6))
        x = standardised(narrow(x))
        x, y, verdicts, cut = np.hstack([x, np.ones((len(x), 1))]), y, verdicts[first], len(first)
        classes = max(int(y.max()) + 1, 2)
        position = np.concatenate(
            [np.arange(cut), np.arange(len(x) - cut)]
        )  # in an order without meaning
        on_target = np.arange(len(x)) >= cut
        learns = position % 2 == 0
        judges = ~learns
        enough = learns & (position < _MOST_PRODUCTS // (classes * x.shape[1]))
        agrees, best = np.ones(len(x), dtype=bool), 0.0  # h itself is a critic, too
        with one_thread():
            for weights in fit_critics(x[enough], y[enough], on_target[enough], classes, self.seed):
                same = (x @ weights).argmax(axis=1) == y
                gain = float(same[learns & ~on_target].mean() - same[learns & on_target].mean())
                if gain > best:
                    agrees, best = same, gain
        verdicts = verdicts[judges[:cut]]
        reference_agrees, target_agrees = agrees[judges & ~on_target], agrees[judges & on_target]
        discrepancy = max(
            float(reference_agrees.mean() - target_agrees.mean()), 0.0
        )  # h itself would do as well
        value = float(verdicts.mean()) - discrepancy
        eps = slack(len(reference_agrees), len(target_agrees), 1 - self.level)
        variance = mean_and_variance(np.subtract(verdicts, reference_agrees, dtype=np.float64))[1]
        variance += float(target_agrees.var()) / len(target_agrees)
        clipped = min(max(value, 0.0), 1.0)
        upper = wilson_from_variance(
            clipped, variance, min(len(reference_agrees), len(target_agrees)), self.level
        )[1]
        details: dict[str, Any] = {
            "discrepancy": discrepancy,
            "eps": eps,
            "bound": max(value - eps, 0.0),
            "reference_agreement": float(reference_agrees.mean()),
            "target_agreement": float(target_agrees.mean()),
            "reference_accuracy": float(verdicts.mean()),
            "input": self._input,
        }
        return self._estimate(state, value, value - eps, upper, details=details)


def class_order(
    inputs: Sequence[Array], predicted: Sequence[Array], classes: int, of_classes: bool
) -> Array:
    """The classes by how often h says them, most first; what ties is put in order by what the rows hold."""
    counts = np.array([np.bincount(s, minlength=classes) for s in predicted])
    marks = np.zeros(
        (len(inputs), classes), dtype=np.uint64
    )  # sums that wrap: no order of rows or classes in them
    for x, s, mark in zip(inputs, predicted, marks, strict=True):
        if of_classes:
            bits = mix(np.ascontiguousarray(x, dtype=np.float64).view(np.uint64))
            mark[:] = mix(bits ^ mix(bits.sum(axis=1))[:, None]).sum(axis=0)
        else:
            np.add.at(mark, s, row_hash(x))
    return np.lexsort((*marks, counts[0], -counts.sum(axis=0)))


def slack(reference_rows: int, target_rows: int, delta: float) -> float:
    """eps = sqrt((n_S + 4 n_T) ln(1/delta) / (2 n_S n_T)), Hoeffding's inequality for the three means of the bound."""
    both = (reference_rows + 4 * target_rows) / (2 * reference_rows * target_rows)
    return float(np.sqrt(both * np.log(1 / delta)))
