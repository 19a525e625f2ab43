"""Expected classes: how many samples of each class a target holds, as predicted and scored; metrics of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import bin_numbers, bins_for, count_bins
from ..classes import ClassNames
from ..errors import NotApplicable, UsageError
from ..inference import decision_metrics as of
from ..inference.decision_metrics import Margins
from ..inference.method import Sums
from ..inference.row_sample import RowSample
from ..kernels import log_odds_bin, tally
from ..predictions import Predictions
from ..registry import canonical
from .expected_confusion import (
    ClassRates,
    ConfusionCounts,
    class_rates,
    confusion_counts,
    count_misses,
    count_off_diagonal,
    drawn_positives,
    expected_confusion,
    expected_positives,
    merge_bins,
    mirrored,
)


def score_bins(record: Predictions) -> int:
    """Bins of each class's probability; a single one without probabilities."""
    return bins_for(record.num_classes) if record.has("probabilities") else 1


def count_classes(batch: Predictions) -> Sums:
    """Counts of a batch: "top" by (predicted class, bin of its probability), and of more than two classes "others" and
    "mass" (`ConfusionCounts`). Of rows whose class is known also "known", "hits" (class, bin) among the rows that were
    predicted as it, "misses" (class, bin) among the others, "pairs" (true class, predicted class), and their own
    "known_top" and "known_others".

    The bins are those of the model's own scale: a calibrator that squeezes probabilities would tie them.

    >>> p = Predictions.from_probabilities([[0.9, 0.1], [0.2, 0.8]], label=[0, 0])
    >>> counts = count_classes(p)
    >>> counts["top"].sum(axis=1).tolist(), counts["pairs"].tolist()
    ([1, 1], [[1, 1], [0, 0]])
    """
    counts = Sums(rows=len(batch)) | _counted(batch, "top", "others", "mass")
    if batch.label is not None:
        known = batch if (batch.label >= 0).all() else batch.take(batch.label >= 0)
        assert known.label is not None
        classes, label, predicted = known.num_classes, known.label, known.predicted
        out: dict[str, Array] = _counted(known, "known_top", "known_others", "known_mass")
        out.pop("known_mass", None)
        pairs = np.bincount(label.astype(np.int64) * classes + predicted, minlength=classes * classes)
        out |= {"known": np.array(len(known)), "pairs": pairs.reshape(classes, classes)}
        width = score_bins(known)
        own = _own_bins(known) if width > 1 else np.zeros(len(known), dtype=np.intp)
        right = label == predicted
        table = tally(own, width, kinds=predicted, of=classes, verdicts=right.view(np.int8))
        out["hits"] = table[:, :, 1]
        if width > 1 and classes > 2:
            out["misses"] = count_misses(known, predicted, is_argmax=known.is_argmax)
        counts |= out
    return Sums(counts)


def _counted(batch: Predictions, top: str, others: str, mass: str) -> dict[str, Array]:
    classes, predicted = batch.num_classes, batch.predicted
    if not batch.has("probabilities"):
        return {top: np.bincount(predicted, minlength=classes)[:, None]}
    found = {top: count_bins(predicted, _own_bins(batch), classes)}
    if classes > 2:
        assert batch.probabilities is not None
        more = count_off_diagonal(batch.probabilities, predicted, is_argmax=batch.is_argmax)
        found |= {others: more["others"], mass: more["mass"]}
    return found


def _own_bins(batch: Predictions) -> Array:
    """Bin of the probability of the predicted class, shape (sample,); of two classes by the first one's, mirrored."""
    probabilities = batch.probabilities
    assert probabilities is not None
    classes = batch.num_classes

    def make() -> Array:
        if classes == 2:
            first = log_odds_bin(probabilities[:, 0])
            return np.where(batch.predicted == 0, first, bins_for(2) - 1 - first)
        return bin_numbers(batch.own_probability, classes)

    return batch.derived("class counts:own bins", make)


def confusion_of(counts: Sums, *, known: bool = False) -> ConfusionCounts:
    """The `ConfusionCounts` of all rows, or of those whose class is known (then without ``mass``)."""
    top = counts["known_top" if known else "top"]
    nothing = np.zeros((len(top), len(top)))
    others = counts.get("known_others" if known else "others", np.zeros_like(top))
    return confusion_counts(top, others, nothing if known else counts.get("mass", nothing))


def counts_of_truth(counts: Sums) -> tuple[Array, Array]:
    """Rows of each class by bin where it was predicted and where another one was, both (class, bin); of known rows."""
    hits, top = counts["hits"], counts["known_top"]
    if "misses" in counts:
        return hits, counts["misses"]
    if top.shape[1] > 1:  # two classes: what is not the predicted one is the other
        return hits, (top - hits)[::-1, ::-1]
    support = counts["pairs"].sum(axis=1)[:, None]
    return hits, support - hits


MOST_CLASSES = 100  # of which each pair is counted
_COARSE = 120  # bins of a redrawn count
_MOST_ROWS = 20_000
_MOST_VALUES = 2_000_000


class ExpectedClasses(NamedTuple):
    """Expected numbers of samples, not whole ones; any leading axes (replicates) before those that are named.

    Parameters
    ----------
    margins : hits, samples of each class, samples predicted as it; axes (..., class).
    positives, negatives : samples that are of the class and those that are not, by bin of its probability, axes
        (..., class, bin), bins in rising order; None without probabilities.
    confusion : axes (..., true class, predicted class), or None where only the margins are known.
    """

    margins: Margins
    positives: Array | None
    negatives: Array | None
    confusion: Array | None = None


class Expectation(NamedTuple):
    """What a method expects of a target, and replicates of it, whose spread is its sampling error.

    ``drawn`` has the replicates as its first axis. ``wider`` says by how much the spread of a mean over classes is
    larger than that of the replicates, by metric. ``warnings`` and ``details`` are the method's own.
    """

    expected: ExpectedClasses
    drawn: ExpectedClasses
    wider: Mapping[str, float] = {}
    warnings: tuple[str, ...] = ()
    details: Mapping[str, Any] = {}


def _two_by_two(margins: Margins) -> Array:
    """The confusion of two classes, which its margins tell; axes (..., true class, predicted class)."""
    hits, _, predicted = margins
    out = np.empty((*hits.shape, 2))
    out[..., 0, 0], out[..., 1, 1] = hits[..., 0], hits[..., 1]
    out[..., 0, 1], out[..., 1, 0] = predicted[..., 1] - hits[..., 1], predicted[..., 0] - hits[..., 0]
    np.maximum(out, 0.0, out=out)
    return out


def _expected(counts: ConfusionCounts, found: Array, elsewhere: Array, mass: Array | None = None) -> ExpectedClasses:
    """From the expected samples of each class where it was predicted and elsewhere, axes (..., class, bin)."""
    top, off_diagonal = counts.top, counts.off_diagonal
    hits = found.sum(axis=-1)
    margins = Margins(hits, hits + elsewhere.sum(axis=-1), top.sum(axis=-1) + np.zeros_like(hits))
    positives = negatives = None
    if top.shape[-1] > 1:
        positives = found + elsewhere
        negatives = np.maximum(top + off_diagonal - positives, 0.0)
    confusion = None
    if hits.shape[-1] == 2:
        confusion = _two_by_two(margins)
    elif mass is not None:
        own = (one.reshape(-1, hits.shape[-1]) for one in (margins.predicted, hits, elsewhere.sum(axis=-1)))
        drawn = [
            expected_confusion(predicted, right, mass, missed).T for predicted, right, missed in zip(*own, strict=True)
        ]
        confusion = np.stack(drawn).reshape(*hits.shape, hits.shape[-1])
    return ExpectedClasses(margins, positives, negatives, confusion)


def expected_by_rates(counts: Sums, rates: ClassRates) -> ExpectedClasses:
    """What a target's counts are expected to hold at these rates."""
    target = confusion_of(counts)
    found, elsewhere = expected_positives(target, rates)
    mass = target.mass if len(target.top) <= MOST_CLASSES else None
    return _expected(target, found, elsewhere, mass)


def drawn_by_rates(counts: Sums, rates: ClassRates, many: int, rng: np.random.Generator) -> ExpectedClasses:
    """``many`` redrawn targets at redrawn rates (replicates first), in coarse bins."""
    target = confusion_of(counts)
    mass = target.mass if len(target.top) <= MOST_CLASSES else None
    return _expected(*drawn_positives(target, rates, many, rng), mass)


def known_classes(counts: Sums) -> ExpectedClasses:
    """What the labelled rows of a data set do hold: a measurement."""
    target = confusion_of(counts, known=True)
    hits, elsewhere = counts_of_truth(counts)
    return _expected(target, hits.astype(np.float64), elsewhere.astype(np.float64))._replace(
        confusion=counts["pairs"].astype(np.float64)
    )


def drawn_truth(counts: Sums, many: int, rng: np.random.Generator) -> ExpectedClasses:
    """``many`` redrawn data sets like the labelled rows (replicates first), in coarse bins: Poisson counts."""
    hits, elsewhere = (merge_bins(one) for one in counts_of_truth(counts))
    target = confusion_of(counts, known=True)
    if len(hits) == 2 and target.top.shape[1] > 1:
        right = rng.poisson(hits, (many, *hits.shape)).astype(np.float64)
        wrong = rng.poisson(np.maximum(merge_bins(target.top) - hits, 0), right.shape).astype(np.float64)
        top = right + wrong
        return _expected(ConfusionCounts(top, mirrored(top), target.mass), right, mirrored(wrong))
    made = expected_of_pairs(rng.poisson(counts["pairs"], (many, *counts["pairs"].shape)).astype(np.float64))
    if target.top.shape[1] == 1:
        return made
    whole = merge_bins(target.top) + merge_bins(target.off_diagonal)
    positives = rng.poisson(hits + elsewhere, (many, *hits.shape)).astype(np.float64)
    negatives = rng.poisson(np.maximum(whole - hits - elsewhere, 0), positives.shape).astype(np.float64)
    return made._replace(positives=positives, negatives=negatives)


class LabelledRows(NamedTuple):
    """Rows of a reference: predicted and true class, shape (sample,), and the bin of each class's probability.

    ``bins`` has axes (sample, class), or is None without probabilities; ``width`` is the number of bins. ``weight`` is
    how many rows of the reference each stands for, shape (sample,).
    """

    predicted: Array
    label: Array
    bins: Array | None
    classes: int
    width: int
    weight: Array

    @property
    def shares(self) -> Array:
        """Share of each true class in the reference, shape (class,)."""
        return np.asarray(np.bincount(self.label, self.weight, self.classes) / self.weight.sum())

    @property
    def coarse(self) -> LabelledRows:
        """The same in few bins, which are enough for a spread."""
        if self.bins is None or self.width <= _COARSE:
            return self
        return self._replace(bins=self.bins // (self.width // _COARSE), width=_COARSE)


def labelled_rows(own: Predictions, seed: int = 0) -> LabelledRows:
    """At most 20,000 rows of a labelled record, a seeded sample; `NotApplicable` where true classes are unknown.

    Of each pair of true and predicted class as many as the root of its rows asks for, with the weight that gives the
    pair all of its rows: a class of one row in a thousand is there whole, and pairs count as in the reference itself.
    """
    most = max(min(_MOST_ROWS, _MOST_VALUES // max(own.num_classes, 1)), 1_000)
    if len(own) <= most or own.label is None or not own.num_classes or (own.label < 0).any():
        return _rows_of(own, own.predicted, own.label, own.probabilities)
    pair, size = _pairs(own.label, own.predicted, own.num_classes)
    low, high = 0.0, float(most)
    for _ in range(40):
        factor = (low + high) / 2
        kept = np.minimum(size, np.ceil(factor * np.sqrt(size)))
        low, high = (factor, high) if kept.sum() <= most else (low, factor)
    kept = np.minimum(size, np.maximum(np.ceil(low * np.sqrt(size)), 1))
    order = np.random.default_rng([len(own), most, *([seed] if seed else [])]).permutation(len(own))
    order = order[np.argsort(pair[order], kind="stable")]
    rank = np.arange(len(own)) - (np.cumsum(size) - size)[pair[order]]
    at = np.sort(order[rank < kept[pair[order]]])
    few = own.take(at)
    weight = (size / np.maximum(kept, 1))[pair[at]]
    return _rows_of(few, few.predicted, few.label, few.probabilities)._replace(weight=weight)


def _pairs(label: Array, predicted: Array, classes: int) -> tuple[Array, Array]:
    """The pair of true and predicted class of each row, and the rows of every pair."""
    pair = label.astype(np.int64) * classes + predicted
    return pair, np.bincount(pair, minlength=classes * classes)


def rows_like(sample: RowSample, own: Predictions) -> LabelledRows:
    """The labelled rows of a sample, in the order in which it hands them out, as they were before calibration."""
    names = ["predicted", "label", *(["probabilities"] if own.has("probabilities") else [])]
    if own.label is None:
        raise NotApplicable("needs the true class (`label`) of reference rows")
    same = RowSample.of(own, names, sample.limit, sample.seed)
    if not np.array_equal(same.keys, sample.keys):
        raise NotApplicable("needs the reference's rows as they were before calibration")
    fields = {name: same.arrays[name][sample.content_order] for name in names}
    rows = _rows_of(own, fields["predicted"], fields["label"], fields.get("probabilities"))
    if len(own) == len(rows.label) or own.label is None:
        return rows
    # the sample's pairs of true and predicted class get the shares that they have in all rows
    pair, few = _pairs(rows.label, rows.predicted, rows.classes)
    weight = (_pairs(own.label, own.predicted, rows.classes)[1] / np.maximum(few, 1))[pair]
    return rows._replace(weight=weight * (len(weight) / weight.sum()))


def _rows_of(record: Predictions, predicted: Array, label: Array | None, probabilities: Array | None) -> LabelledRows:
    if label is None or not record.num_classes or not record.has_classes:
        raise NotApplicable("needs the true class (`label`) of reference rows; `correct` alone does not tell it")
    if (label < 0).any():
        raise NotApplicable("needs the true class of every reference row whose correctness is known")
    if record.num_classes > MOST_CLASSES:
        raise NotApplicable(f"tells the accuracy alone where there are more than {MOST_CLASSES} classes")
    bins: Array | None = None
    if probabilities is not None:
        bins = bin_numbers(probabilities, record.num_classes).reshape(probabilities.shape).astype(np.int32)
        if record.num_classes == 2:  # the second's are the mirror image of the first's, as `mirrored` counts have them
            bins[:, 0] = log_odds_bin(probabilities[:, 0])
            bins[:, 1] = bins_for(2) - 1 - bins[:, 0]
    return LabelledRows(
        predicted.astype(np.int64), label.astype(np.int64), bins, record.num_classes, score_bins(record),
        np.ones(len(label)),
    )  # fmt: skip


def rates_of_rows(rows: LabelledRows, weights: Array) -> ClassRates:
    """`class_rates` of weighted rows, which count for as many as are effective: (sum w)^2 / sum w^2."""
    assert rows.bins is not None
    w = weights * rows.weight
    w = w * (w.sum() / np.square(w).sum())
    classes, width = rows.classes, rows.width
    each, right = np.arange(len(w)), rows.predicted == rows.label

    def count(kind: Array, index: Array, weight: Array) -> Array:
        return np.bincount(kind * width + index, weight, classes * width).reshape(classes, width)

    own, true = rows.bins[each, rows.predicted], rows.bins[each, rows.label]
    top, hits = count(rows.predicted, own, w), count(rows.predicted, own, w * right)
    if classes == 2:
        return class_rates(confusion_counts(top, top, np.zeros((2, 2))), hits, mirrored(top - hits))
    every = np.stack([np.bincount(rows.bins[:, k], w, width) for k in range(classes)])
    return class_rates(
        ConfusionCounts(top, np.maximum(every - top, 0.0), np.zeros((classes, classes))),
        hits,
        count(rows.label, true, w * ~right),
    )


def expected_of_pairs(pairs: Array) -> ExpectedClasses:
    """Expected numbers of pairs alone, axes (..., true class, predicted class)."""
    margins = Margins(np.einsum("...kk->...k", pairs), pairs.sum(axis=-1), pairs.sum(axis=-2))
    return ExpectedClasses(margins, None, None, pairs)


def expected_of_rows(rows: LabelledRows, weights: Array) -> ExpectedClasses:
    """The rows with weights of shape (sample,), or (replicate, sample) for several at once."""
    many = np.atleast_2d(weights)
    classes = rows.classes
    code = rows.label.astype(np.int64) * classes + rows.predicted
    pairs = np.stack([np.bincount(code, w, classes * classes) for w in many]).reshape(-1, classes, classes)
    positives = negatives = None
    if rows.bins is not None:
        classes, width = rows.classes, rows.width
        out = np.empty((2, len(many), classes, width))
        for k in range(1 if classes == 2 else classes):
            code = rows.bins[:, k] + np.where(rows.label == k, width, 0)
            for r, w in enumerate(many):
                out[:, r, k] = np.bincount(code, w, 2 * width).reshape(2, width)
        if classes == 2:  # the other class has 1 - p, and is whatever the first one is not
            out[:, :, 1] = out[::-1, :, 0, ::-1]
        positives, negatives = out[1], out[0]
    confusion: Array = pairs
    if weights.ndim == 1:
        confusion = pairs[0]
        positives, negatives = (None if one is None else one[0] for one in (positives, negatives))
    return expected_of_pairs(confusion)._replace(positives=positives, negatives=negatives)


def reweighted(
    rows: LabelledRows, weights: Array, target_rows: int, draws: int, seed: list[int], factors: Array | None = None
) -> Expectation:
    """The reference's rows under weights, shape (sample,), as so many target rows, and ``draws`` replicates of both.

    Each row has its own weight besides, and varies as the rows that it stands for. ``factors``, shape (replicate,
    class), are what the weights are multiplied by in each replicate, by true class; the expectation itself takes the
    first line, the replicates take the others.
    """
    weights = weights * rows.weight
    first = weights if factors is None else weights * factors[0][rows.label]
    expected = expected_of_rows(rows, first * (target_rows / max(float(first.sum()), 1e-300)))
    rng, coarse = np.random.default_rng(seed), rows.coarse
    by_class = np.ones((draws, rows.classes)) if factors is None else factors[1:]
    if rows.classes == 2:
        return Expectation(expected, _redrawn_table(coarse, weights, by_class, target_rows, rng))
    drawn = weights * by_class[:, rows.label]
    drawn = drawn * rng.gamma(rows.weight, 1 / rows.weight, drawn.shape)
    return Expectation(expected, expected_of_rows(coarse, rng.poisson(_scaled(drawn, target_rows)).astype(np.float64)))


def _scaled(drawn: Array, total: int) -> Array:
    return np.asarray(drawn * (total / np.maximum(drawn.sum(axis=1, keepdims=True), 1e-300)))


def _redrawn_table(
    rows: LabelledRows, weights: Array, by_class: Array, target_rows: int, rng: np.random.Generator
) -> ExpectedClasses:
    """Replicates of two classes, from sums over (true class, predicted class, bin), which are few.
    The sum of weighted exponential numbers, which the Bayesian bootstrap (Rubin 1981) gives the rows, is close to a
    gamma number of the same mean and variance; the target's rows are Poisson about it.
    """
    width = rows.width if rows.bins is not None else 1
    second = rows.bins[:, 1] if rows.bins is not None else 0
    code = (rows.label * 2 + rows.predicted) * width + second
    total, squares = (np.bincount(code, w, 4 * width) for w in (weights, np.square(weights) / rows.weight))
    full = np.flatnonzero(total > 0)
    scale = squares[full] / total[full]
    table = np.zeros((len(by_class), 4 * width))
    table[:, full] = (
        rng.gamma(total[full] / scale, scale, (len(by_class), len(full))) * by_class[:, full // (2 * width)]
    )
    cells = rng.poisson(_scaled(table, target_rows)).astype(np.float64).reshape(-1, 2, 2, width)
    made = expected_of_pairs(cells.sum(axis=-1))
    if rows.bins is None:
        return made
    by_label = cells.sum(axis=2)  # (replicate, true class, bin of the second class)
    mirror = by_label[:, ::-1, ::-1]
    positives = np.stack([mirror[:, 1], by_label[:, 1]], axis=1)
    return made._replace(positives=positives, negatives=np.stack([mirror[:, 0], by_label[:, 0]], axis=1))


@dataclass(frozen=True)
class ClassMetric:
    """A metric of classes: ``name`` as it was asked for, ``base`` the metric itself, for one class or averaged.

    Parameters
    ----------
    at : position of the class it is about; None for the positive one of two classes, else for the mean over classes.
    payoff : for ``expected_value``: what a sample brings, axes (true class, predicted class).
    """

    name: str
    base: str
    at: int | None = None
    payoff: Array | None = None

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest possible value."""
        if self.payoff is not None:
            return float(self.payoff.min()), float(self.payoff.max())
        return (-1.0, 1.0) if self.base in ("mcc", "cohen_kappa") else (0.0, 1.0)

    @property
    def needs_scores(self) -> bool:
        """Whether it asks for the probabilities of the classes."""
        return self.base in _BY_SCORE

    @property
    def zero_over_zero(self) -> bool:
        """Whether 0/0 counts as 0, with all possible values as its interval: so it is of all but areas and pay-offs."""
        return not self.needs_scores and self.payoff is None

    def __call__(self, expected: ExpectedClasses, positive: int = 1) -> Array:
        """The value, axes (...) as the leading ones of ``expected``; NaN where it is undefined (0/0)."""
        return np.asarray(np.clip(self._value(expected, positive), *self.bounds))  # rounding may have left them

    def _value(self, expected: ExpectedClasses, positive: int) -> Array:
        if self.payoff is not None:
            if expected.confusion is None:
                raise NotApplicable("`expected_value` needs each pair of classes, which are too many here")
            return of.expected_value(expected.confusion, self.payoff)
        margins = expected.margins
        at = self.about(margins.support.shape[-1], positive)
        whole = _OF_ALL.get(self.base if at is not None else f"macro_{self.base}", _OF_ALL.get(self.base))
        if whole is not None:
            return np.asarray(whole(margins))
        if self.base in _BY_SCORE and expected.positives is None:
            raise NotApplicable(f"`{self.base}` needs `probabilities`")
        by_score = self.base in _BY_SCORE
        per_class: Array = (
            _BY_SCORE[self.base](expected.positives, expected.negatives)
            if by_score
            else _BY_CLASS[self.base](margins, np.nan)
        )
        if at is not None:
            return np.asarray(per_class[..., at])
        # a class that is neither predicted nor there says nothing, nor does a curve without both sides
        used = np.isfinite(per_class) & (margins.support + margins.predicted >= 0.5)
        return of.ratio(np.where(used, per_class, 0.0).sum(axis=-1), used.sum(axis=-1))

    def about(self, classes: int, positive: int) -> int | None:
        """Position of the one class that it is about; None where it is of all of them."""
        if self.base not in _OF_ONE_CLASS or self.at is not None or classes != 2:
            return self.at
        return positive


_OF_ALL: dict[str, Callable[[Any], Array]] = {
    "balanced_accuracy": of.balanced_accuracy,
    "mcc": of.mcc,
    "cohen_kappa": of.cohen_kappa,
    "macro_precision": of.macro_precision,
    "macro_recall": of.macro_recall,
    "macro_f1": of.macro_f1,
}
_BY_CLASS: dict[str, Callable[[Any, float], Array]] = {
    "f1": of.class_f1,
    "precision": of.class_precision,
    "recall": of.class_recall,
    "specificity": of.class_specificity,
}
_BY_SCORE: dict[str, Callable[[Any, Any], Array]] = {"roc_auc": of.roc_auc, "average_precision": of.average_precision}
CLASS_METRICS: tuple[str, ...] = (*_BY_CLASS, *_BY_SCORE, *_OF_ALL, "expected_value")
_OF_ONE_CLASS = (*_BY_CLASS, *_BY_SCORE)


def metric_name(name: str) -> str:
    """The name that a metric is known by, whatever it was called.

    >>> metric_name("AUC"), metric_name("tpr:cat")
    ('roc_auc', 'recall:cat')
    """
    return canonical("metric", name.strip(), [*CLASS_METRICS, "accuracy"])


def class_metric(name: str, classes: ClassNames = (), payoff: Array | None = None) -> ClassMetric:
    """The metric of a name such as ``f1``, ``auc`` or ``recall:CLASS``; `UsageError` for one that there is not.

    >>> class_metric("auc").base, class_metric("recall:cat", ("cat", "dog")).at
    ('roc_auc', 0)
    """
    base, _, of_class = metric_name(name).partition(":")
    if base not in CLASS_METRICS:
        near = difflib.get_close_matches(base.lower(), CLASS_METRICS, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(f"there is no metric {name!r} to estimate without labels; {hint}there are accuracy, "
                         f"{', '.join(CLASS_METRICS)}")  # fmt: skip
    if base == "expected_value" and payoff is None:
        raise UsageError("the metric expected_value needs a pay-off matrix: --payoff FILE, rows by true class")
    at = _position(name, base, of_class, classes) if of_class else None
    return ClassMetric(
        f"{base}:{of_class}" if of_class else base, base, at, payoff if base == "expected_value" else None
    )


def _position(name: str, base: str, of_class: str, classes: ClassNames) -> int:
    if base not in _OF_ONE_CLASS:
        raise UsageError(f"{name!r}: {base} is of all classes together; of one there are {', '.join(_OF_ONE_CLASS)}")
    known = [str(one) for one in classes]
    if of_class not in known:
        shown = ", ".join(known[:10]) + (", ..." if len(known) > 10 else "")
        raise UsageError(f"{name!r}: there is no class {of_class!r}; the classes are {shown}")
    return known.index(of_class)


def class_metrics_asked(
    names: Sequence[str], classes: ClassNames, payoff: Array | None = None
) -> tuple[ClassMetric, ...]:
    """The metrics of these names, each once, accuracy left out: it is estimated whatever is asked."""
    found = [class_metric(name, classes, payoff) for name in names if metric_name(name) != "accuracy"]
    return tuple({one.name: one for one in found}.values())


def values_of(metrics: Sequence[ClassMetric], expected: ExpectedClasses, positive: int) -> dict[str, Array]:
    """Name -> value of every metric that these counts can tell, axes as the leading ones of ``expected``."""
    out = {}
    for one in metrics:
        try:
            out[one.name] = one(expected, positive)
        except NotApplicable:
            continue
    return out
