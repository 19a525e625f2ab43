"""Expected classes: how many samples of each class a target holds, as predicted and scored; metrics of them."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..arrays import Array, present
from ..calibrators.binned_map import BlockRates, bin_numbers, bins_for, count_bins, fit_block_rates
from ..classes import ClassNames, one_form
from ..errors import NotApplicable, UsageError
from ..inference import decision_metrics as of
from ..inference.decision_metrics import Margins, ratio
from ..inference.method import Sums
from ..inference.row_sample import RowSample, content_keys, content_sample, seeded_keys
from ..intervals import from_spread
from ..kernels import log_odds_bin, off_diagonal_counts, tally
from ..plain import Json, Strings
from ..predictions import Predictions
from ..registry import canonical
from ..results import Interval, Kind
from .expected_scores import SCORES, ScoreCells, expected_brier, expected_ece, expected_log_loss

_VALUES, _LEAST_ROWS = 100_000, 1000  # looked at


class ClassOrder(NamedTuple):
    """``moved``: each class's AUC less that by calibrated probabilities; ``together``: how far they vary as one."""

    moved: Array
    together: float


def class_order(reference: Predictions, seed: int = 0) -> ClassOrder:
    """`ClassOrder` of a seeded sample of probabilities, by DeLong's placements (DeLong et al. 1988)."""
    classes, now, label = reference.num_classes, reference.probabilities, reference.label
    moved, together = np.zeros(classes), 0.0
    if now is None or label is None:
        return ClassOrder(moved, 1.0)
    rows = content_sample(reference, max(_VALUES // classes, _LEAST_ROWS), seed)
    raw = now if reference.uncalibrated is None else reference.uncalibrated
    if classes == 2:
        if raw is now:
            return ClassOrder(moved, 1.0)
        hits = label[rows] == 1
        if (
            0 < hits.sum() < len(hits)
        ):  # AUC by the probabilities as they came, less that by the calibrated ones' bins
            binned = bin_numbers(now[rows, 1], 2).astype(np.float64)
            moved[:] = float(
                placements(raw[rows, 1], hits)[hits].mean() - placements(binned, hits)[hits].mean()
            )
        return ClassOrder(moved, 1.0)
    of_all, sum_of_squares = np.zeros(len(rows)), 0.0
    for k in range(classes):
        hits = label[rows] == k
        if not 0 < hits.sum() < len(rows):
            continue
        placement = placements(raw[rows, k], hits)
        auc = float(placement[hits].mean())
        if raw is not now:
            moved[k] = auc - float(placements(now[rows, k], hits)[hits].mean())
        influence = (placement - auc) / np.where(hits, hits.mean(), 1 - hits.mean())
        of_all += influence
        sum_of_squares += float(influence @ influence)
    together = float(of_all @ of_all) / sum_of_squares if sum_of_squares > 0 else 1.0
    return ClassOrder(moved, max(together, 1.0) ** 0.5)


def placements(scores: Array, hits: Array) -> Array:
    """Share of the other side that each sample is on the right side of, ties counted half; its mean is the AUC."""
    out = np.empty(len(scores))
    below, above = np.sort(scores[~hits]), np.sort(scores[hits])
    for mine, opposite in ((hits, below), (~hits, above)):
        at = np.searchsorted(opposite, scores[mine], "left") + np.searchsorted(
            opposite, scores[mine], "right"
        )
        out[mine] = at / (2 * len(opposite))
    out[~hits] = 1 - out[~hits]
    return out


_REPLICATES = 60
_VALUES_AT_A_TIME = 1 << 20  # cells of replicates drawn together
_REDRAWN_BINS = 120  # a divisor of every number of bins
_LARGEST_CONFUSION = 100  # classes up to which the matrix itself is printed
_LEAST_HITS = (
    2  # of a class among the errors of the reference, before it gets rates of its own there
)
_FITTING_STEPS = 50


class ConfusionCounts(NamedTuple):
    """Rows by (predicted class, bin), by (class, bin) where it was not predicted, and the ``mass`` of k where j was."""

    top: Array
    off_diagonal: Array
    mass: Array

    @classmethod
    def of(cls, top: Array, off_diagonal: Array, mass: Array) -> ConfusionCounts:
        """Of two classes, what is not the predicted one is the other: its counts are the mirror image."""
        return cls(top, mirrored(top) if len(top) == 2 else off_diagonal, mass)


def mirrored(top: Array) -> Array:
    """Counts of two classes seen from the other class, whose probability is 1 - p; axes (..., class, bin)."""
    return top[..., ::-1, ::-1]


class ClassRates(NamedTuple):
    """How often class k is true where it is predicted (``top``) and elsewhere; coarse ones for spread."""

    top: BlockRates
    off_diagonal: BlockRates
    coarse_top: BlockRates
    coarse_off_diagonal: BlockRates
    order: ClassOrder | None = None


def class_rates(counts: ConfusionCounts, hits: Array, misses: Array) -> ClassRates:
    """How often each class is true, by bin, where it was predicted and where it was not, from (weighted) counts."""
    coarse = [merge_bins(c) for c in (counts.top, hits, counts.off_diagonal, misses)]
    fine = (
        fit_block_rates(counts.top, hits),
        fit_block_rates(counts.off_diagonal, misses, _LEAST_HITS),
    )
    top, hit, elsewhere, missed = coarse
    return ClassRates(
        *fine, fit_block_rates(top, hit), fit_block_rates(elsewhere, missed, _LEAST_HITS)
    )


def count_misses(record: Predictions, predicted: Array, *, is_argmax: bool) -> Array:
    """Rows whose class was not the predicted one, by (class, bin of its probability)."""
    truth, classes = present(record.label), record.num_classes
    missed = np.flatnonzero((truth != predicted) & (truth >= 0))
    label = truth[missed]
    bins = bin_numbers(present(record.probabilities)[missed, label], classes)
    if is_argmax:  # as `count_off_diagonal` does: one half is the lower one
        np.minimum(bins, bins_for(classes) // 2 - 1, out=bins)
    return count_bins(label, bins, classes)


def fit_class_rates(
    reference: Predictions, predicted: Array, hits: Array, *, is_argmax: bool = True
) -> ClassRates:
    """Rates of each class from a labelled reference; ``hits`` are counts by (predicted class, bin, verdict)."""
    counted = count_off_diagonal(present(reference.probabilities), predicted, is_argmax=is_argmax)
    counts = ConfusionCounts.of(hits.sum(axis=2), counted["others"], counted["mass"])
    two = reference.num_classes == 2
    misses = (
        mirrored(hits[:, :, 0]) if two else count_misses(reference, predicted, is_argmax=is_argmax)
    )
    return class_rates(counts, hits[:, :, 1], misses)._replace(order=class_order(reference))


def count_off_diagonal(
    probabilities: Array, predicted: Array, *, is_argmax: bool = True
) -> dict[str, Array]:
    """``off_diagonal`` (as "others") and ``mass`` of `ConfusionCounts`; not ``is_argmax``: others may pass one half."""
    width = bins_for(probabilities.shape[1])
    counts = off_diagonal_counts(probabilities, predicted, width, is_argmax=is_argmax)
    return dict(zip(("others", "mass"), counts, strict=True))


def expected_confusion(
    predicted: Array, hits: Array, mass: Array, missed: Array | None = None
) -> Array:
    """C[j, k], expected samples predicted j whose truth is k: ``hits`` on the diagonal, errors spread by ``mass``."""
    errors = predicted - hits
    spread = mass
    if missed is not None:
        for _ in range(_FITTING_STEPS):
            spread = spread * ratio(errors, spread.sum(axis=1), 0.0)[:, None]
            spread = spread * ratio(missed, spread.sum(axis=0), 0.0)
    total = spread.sum(axis=1)
    out: Array = spread * ratio(errors, total, 0.0)[:, None]
    out[np.diag_indices(len(out))] = np.where(total > 0, hits, predicted)
    return out


def class_metrics(top: Array, right: Array, off_diagonal: Array, elsewhere: Array) -> Array:
    """Precision, recall, F1 and AUC of each class, (4, ..., class), from its samples in the cells of both tables."""
    predicted, hits = top.sum(axis=-1), right.sum(axis=-1)
    actual = hits + elsewhere.sum(axis=-1)
    precision, recall = ratio(hits, predicted, 0.0), ratio(hits, actual, 0.0)
    f1 = ratio(2 * hits, predicted + actual, 0.0)
    positive = right + elsewhere
    negative = np.maximum(top + off_diagonal - positive, 0)
    above = positive.sum(axis=-1, keepdims=True) - np.cumsum(positive, axis=-1)
    above += positive / 2
    wins = np.einsum("...b,...b->...", negative, above)
    pairs = positive.sum(axis=-1) * negative.sum(axis=-1)
    auc = ratio(wins, pairs)
    return np.asarray(np.clip(np.stack([precision, recall, f1, auc]), 0, 1))


def expected_positives(counts: ConfusionCounts, rates: ClassRates) -> tuple[Array, Array]:
    """Expected samples of each class in the cells where it was predicted and elsewhere, both (class, bin)."""
    top = counts.top
    hits = top * rates.top.rate
    if len(top) == 2:
        return hits, mirrored(top - hits)
    elsewhere = counts.off_diagonal * rates.off_diagonal.rate
    elsewhere *= (float(top.sum()) - float(hits.sum())) / max(float(elsewhere.sum()), 1e-300)
    return hits, elsewhere


def expected_metrics(
    counts: ConfusionCounts,
    rates: ClassRates,
    names: tuple[int | str, ...],
    *,
    level: float,
    kind: Kind,
    seed: int,
) -> Json:
    """Macro and per-class metrics, intervals by a seeded parametric bootstrap over cells, the expected confusion."""
    hits, elsewhere = expected_positives(counts, rates)
    point = class_metrics(counts.top, hits, counts.off_diagonal, elsewhere)
    order = rates.order or ClassOrder(np.zeros(len(names)), 1.0)
    point[3] = np.clip(point[3] + order.moved, 0, 1)
    occurs = (counts.top.sum(axis=1) > 0) | (counts.mass.sum(axis=0) >= 0.5)
    if not occurs.any():
        occurs[:] = True
    rng = np.random.default_rng([seed, 0xCB9E])
    step = max(_VALUES_AT_A_TIME // (len(counts.top) * _REDRAWN_BINS), 1)
    groups = [min(step, _REPLICATES - start) for start in range(0, _REPLICATES, step)]
    redrawn = (drawn_positives(counts, rates, size, rng) for size in groups)
    replicate_metrics = [
        class_metrics(target.top, right, target.off_diagonal, misses)
        for target, right, misses in redrawn
    ]
    draws = np.concatenate(
        [np.moveaxis(replicate, 1, 0) for replicate in replicate_metrics]
    )  # (replicate, metric, class)

    def interval(value: float, values: Array) -> Json:
        """The value with the spread of its replicates, as JSON has it."""
        return Interval(value, *from_spread(values, value, level), level, kind).to_dict()

    metrics = {}
    for i, metric in enumerate(("macro_precision", "macro_recall", "macro_f1", "macro_auc")):
        used = occurs & np.isfinite(point[i])
        if used.any():
            value = float(point[i][used].mean())
            values = draws[:, i][:, used]
            is_finite = np.isfinite(values)
            means = ratio(np.where(is_finite, values, 0.0).sum(axis=-1), is_finite.sum(axis=-1))
            if metric == "macro_auc":  # classes are drawn as independent ones
                means = means * order.together
            metrics[metric] = interval(value, means)
    per_class = []
    for k, name in enumerate(names):
        row: Json = {"class": name, "predicted_rows": int(counts.top[k].sum())}
        for i, metric in enumerate(("precision", "recall", "f1", "auc")):
            value = float(point[i, k])
            row[metric] = interval(value, draws[:, i, k]) if np.isfinite(value) else None
        per_class.append(row)
    out: Json = {"metrics": metrics, "per_class": per_class}
    if len(names) <= _LARGEST_CONFUSION:
        sides = counts.top.sum(axis=1), hits.sum(axis=1), counts.mass, elsewhere.sum(axis=1)
        out["confusion"] = expected_confusion(*sides)
    return out


def drawn_positives(
    counts: ConfusionCounts, rates: ClassRates, replicates: int, rng: np.random.Generator
) -> tuple[ConfusionCounts, Array, Array]:
    """Redrawn targets at redrawn rates, and the samples of each class in both tables; (replicate, class, bin)."""

    def draw(counts: Array, learnt: BlockRates) -> tuple[Array, Array]:
        """Samples of each bin, and those that are right at redrawn rates; axes (replicate, class, bin)."""
        coarse = merge_bins(counts)
        rate = learnt.redraw(replicates, rng)
        redrawn_rows = rng.poisson(coarse, (replicates, *coarse.shape))
        return redrawn_rows.astype(np.float64), rng.binomial(
            redrawn_rows, np.clip(rate, 0, 1)
        ).astype(np.float64)

    top, right = draw(counts.top, rates.coarse_top)
    if len(counts.top) == 2:
        off_diagonal, elsewhere = mirrored(top), mirrored(top - right)
    else:
        off_diagonal, elsewhere = draw(counts.off_diagonal, rates.coarse_off_diagonal)
        wrong = (top - right).sum(axis=(1, 2)) / np.maximum(elsewhere.sum(axis=(1, 2)), 1)
        elsewhere *= wrong[:, None, None]  # an error of one class is a miss of another
    return ConfusionCounts(top, off_diagonal, counts.mass), right, elsewhere


def merge_bins(values: Array) -> Array:
    """Sums over neighbouring bins (the last axis), so that at most 120 are left; axes (class, bin)."""
    classes, width = values.shape
    return np.asarray(values.reshape(classes, min(width, _REDRAWN_BINS), -1).sum(axis=2))


def score_bins(record: Predictions) -> int:
    """Bins of each class's probability; a single one without probabilities."""
    return bins_for(record.num_classes) if record.has("probabilities") else 1


def count_classes(batch: Predictions) -> Sums:
    """Counts of a batch by (predicted class, bin) and, of rows whose class is known, those by true class, too."""
    counts = Sums(rows=len(batch)) | _counted(batch, "top", "others", "mass")
    if batch.label is not None:
        labelled = batch if (batch.label >= 0).all() else batch.take(batch.label >= 0)
        classes = labelled.num_classes
        label = present(labelled.label)
        predicted = labelled.predicted
        out: dict[str, Array] = _counted(labelled, "known_top", "known_others", "known_mass")
        out.pop("known_mass", None)
        pairs = np.bincount(
            label.astype(np.int64) * classes + predicted, minlength=classes * classes
        )
        out |= {"known": np.array(len(labelled)), "pairs": pairs.reshape(classes, classes)}
        width = score_bins(labelled)
        top_bins = _own_bins(labelled) if width > 1 else np.zeros(len(labelled), dtype=np.intp)
        right = label == predicted
        table = tally(top_bins, width, kinds=predicted, of=classes, verdicts=right.view(np.int8))
        out["hits"] = table[:, :, 1]
        if width > 1 and classes > 2:
            out["misses"] = count_misses(labelled, predicted, is_argmax=labelled.is_argmax)
        counts |= out
    return Sums(counts)


def _counted(batch: Predictions, top: str, others: str, mass: str) -> dict[str, Array]:
    classes, predicted = batch.num_classes, batch.predicted
    if not batch.has("probabilities"):
        return {top: np.bincount(predicted, minlength=classes)[:, None]}
    counts = {top: count_bins(predicted, _own_bins(batch), classes)}
    if classes > 2:
        more = count_off_diagonal(
            present(batch.probabilities), predicted, is_argmax=batch.is_argmax
        )
        counts |= {others: more["others"], mass: more["mass"]}
    return counts


def _own_bins(batch: Predictions) -> Array:
    """Bin of the probability of the predicted class, shape (sample,); of two classes by the first one's, mirrored."""
    classes = batch.num_classes

    def make() -> Array:
        """The bins, which several estimators ask for."""
        if classes == 2:
            first = log_odds_bin(present(batch.probabilities)[:, 0])
            return np.where(batch.predicted == 0, first, bins_for(2) - 1 - first)
        return bin_numbers(batch.own_probability, classes)

    return batch.derived("class counts:own bins", make)


def confusion_of(counts: Sums, *, known: bool = False) -> ConfusionCounts:
    """The `ConfusionCounts` of all rows, or of those whose class is known (then without ``mass``)."""
    top = counts["known_top" if known else "top"]
    nothing = np.zeros((len(top), len(top)))
    off_diagonal = counts.get("known_others" if known else "others", np.zeros_like(top))
    return ConfusionCounts.of(top, off_diagonal, nothing if known else counts.get("mass", nothing))


def counts_of_truth(counts: Sums) -> tuple[Array, Array]:
    """Rows of each class by bin where it was predicted and where another one was, both (class, bin); of known rows."""
    hits, top = counts["hits"], counts["known_top"]
    if "misses" in counts:
        return hits, counts["misses"]
    if top.shape[1] > 1:  # two classes: what is not the predicted one is the other
        return hits, (top - hits)[::-1, ::-1]
    return hits, counts["pairs"].sum(axis=1)[:, None] - hits


MOST_CLASSES = 100  # of which each pair is counted
_COARSE = 120  # bins of a redrawn count
_MOST_ROWS, _MOST_VALUES = 20_000, 2_000_000


class ExpectedClasses(NamedTuple):
    """Expected numbers of samples; any leading axes, then (class,), (class, bin) and (true class, predicted class).

    ``own``: those that are predicted as the class, by the bin of its probability: hits, and all. ``cells``: what the
    rows of a bin said, where a score is asked for.
    """

    margins: Margins
    positives: Array | None
    negatives: Array | None
    confusion: Array | None = None
    own: tuple[Array, Array] | None = None
    cells: ScoreCells | None = None


class Expectation(NamedTuple):
    """What a method expects of a target, and replicates ``drawn`` of it (first axis); ``wider`` scales spreads."""

    expected: ExpectedClasses
    drawn: ExpectedClasses
    wider: Mapping[str, float] = {}
    warnings: Strings = ()
    details: Mapping[str, Any] = {}


def _expected(
    counts: ConfusionCounts, hits_by_bin: Array, elsewhere: Array, mass: Array | None = None
) -> ExpectedClasses:
    """From the expected samples of each class where it was predicted and elsewhere, axes (..., class, bin)."""
    top, off_diagonal = counts.top, counts.off_diagonal
    hits = hits_by_bin.sum(axis=-1)
    margins = Margins(hits, hits + elsewhere.sum(axis=-1), top.sum(axis=-1) + np.zeros_like(hits))
    positives = negatives = top_counts = None
    if top.shape[-1] > 1:
        top_counts = hits_by_bin, top
        positives = hits_by_bin + elsewhere
        negatives = np.maximum(top + off_diagonal - positives, 0.0)
    confusion = None
    if hits.shape[-1] == 2:  # which the margins tell
        confusion = np.empty((*hits.shape, 2))
        confusion[..., 0, 0], confusion[..., 1, 1] = hits[..., 0], hits[..., 1]
        confusion[..., 0, 1] = margins.predicted[..., 1] - hits[..., 1]
        confusion[..., 1, 0] = margins.predicted[..., 0] - hits[..., 0]
        np.maximum(confusion, 0.0, out=confusion)
    elif mass is not None:
        sides = (
            side.reshape(-1, hits.shape[-1])
            for side in (margins.predicted, hits, elsewhere.sum(axis=-1))
        )
        confusions = [
            expected_confusion(predicted, right, mass, missed).T
            for predicted, right, missed in zip(*sides, strict=True)
        ]
        confusion = np.stack(confusions).reshape(*hits.shape, hits.shape[-1])
    return ExpectedClasses(margins, positives, negatives, confusion, top_counts)


def expected_by_rates(counts: Sums, rates: ClassRates) -> ExpectedClasses:
    """What a target's counts are expected to hold at these rates."""
    target = confusion_of(counts)
    hits, elsewhere = expected_positives(target, rates)
    mass = target.mass if len(target.top) <= MOST_CLASSES else None
    return _expected(target, hits, elsewhere, mass)


def drawn_by_rates(
    counts: Sums, rates: ClassRates, replicates: int, rng: np.random.Generator
) -> ExpectedClasses:
    """``replicates`` redrawn targets at redrawn rates (replicates first), in coarse bins."""
    target = confusion_of(counts)
    mass = target.mass if len(target.top) <= MOST_CLASSES else None
    return _expected(*drawn_positives(target, rates, replicates, rng), mass)


def known_classes(counts: Sums) -> ExpectedClasses:
    """What the labelled rows of a data set do hold: a measurement."""
    sides = (side.astype(np.float64) for side in counts_of_truth(counts))
    return _expected(confusion_of(counts, known=True), *sides)._replace(
        confusion=counts["pairs"].astype(np.float64)
    )


def drawn_truth(counts: Sums, replicates: int, rng: np.random.Generator) -> ExpectedClasses:
    """``replicates`` redrawn data sets like the labelled rows, along the first axis, in coarse bins: Poisson counts."""
    hits, elsewhere = (merge_bins(table) for table in counts_of_truth(counts))
    target = confusion_of(counts, known=True)
    if len(hits) == 2 and target.top.shape[1] > 1:
        right = rng.poisson(hits, (replicates, *hits.shape)).astype(np.float64)
        wrong = rng.poisson(np.maximum(merge_bins(target.top) - hits, 0), right.shape).astype(
            np.float64
        )
        top = right + wrong
        return _expected(ConfusionCounts(top, mirrored(top), target.mass), right, mirrored(wrong))
    expected = expected_of_pairs(
        rng.poisson(counts["pairs"], (replicates, *counts["pairs"].shape)).astype(np.float64)
    )
    if target.top.shape[1] == 1:
        return expected
    totals = merge_bins(target.top) + merge_bins(target.off_diagonal)
    positives = rng.poisson(hits + elsewhere, (replicates, *hits.shape)).astype(np.float64)
    negatives = rng.poisson(np.maximum(totals - hits - elsewhere, 0), positives.shape).astype(
        np.float64
    )
    return expected._replace(positives=positives, negatives=negatives)


class LabelledRows(NamedTuple):
    """Rows of a reference: predicted and true class, bins of probabilities (sample, class), and each row's weight."""

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


def labelled_rows(record: Predictions, seed: int = 0) -> LabelledRows:
    """At most 20,000 labelled rows, sampled by pairs of true and predicted class; `NotApplicable` without classes."""
    limit = max(min(_MOST_ROWS, _MOST_VALUES // max(record.num_classes, 1)), 1_000)
    if (
        len(record) <= limit
        or record.label is None
        or not record.num_classes
        or (record.label < 0).any()
    ):
        return _rows_of(record, record.predicted, record.label, record.probabilities)
    pair, size = _pairs(record.label, record.predicted, record.num_classes)
    low, high = 0.0, float(limit)
    for _ in range(40):
        factor = (low + high) / 2
        shares = np.minimum(size, np.ceil(factor * np.sqrt(size)))
        low, high = (factor, high) if shares.sum() <= limit else (low, factor)
    shares = np.minimum(size, np.maximum(np.ceil(low * np.sqrt(size)), 1))
    order = np.lexsort((seeded_keys(content_keys(record), seed), pair))
    rank = np.arange(len(record)) - (np.cumsum(size) - size)[pair[order]]
    at = np.sort(order[rank < shares[pair[order]]])
    few = record.take(at)
    weight = (size / np.maximum(shares, 1))[pair[at]]
    return _rows_of(few, few.predicted, few.label, few.probabilities)._replace(weight=weight)


def _pairs(label: Array, predicted: Array, classes: int) -> tuple[Array, Array]:
    """The pair of true and predicted class of each row, and the rows of every pair."""
    pair = label.astype(np.int64) * classes + predicted
    return pair, np.bincount(pair, minlength=classes * classes)


def rows_like(sample: RowSample, record: Predictions) -> LabelledRows:
    """The labelled rows of a sample, in the order in which it hands them out, as they were before calibration."""
    names = ["predicted", "label", *(["probabilities"] if record.has("probabilities") else [])]
    if record.label is None:
        raise NotApplicable("needs the true class (`label`) of reference rows")
    if sample.places is None or sample.draw.seen != len(record):
        raise NotApplicable("needs the reference's rows as they were before calibration")
    rows_of_sample = sample.places[sample.draw.chosen][sample.content_order]
    fields = {name: getattr(record, name)[rows_of_sample] for name in names}
    rows = _rows_of(record, fields["predicted"], fields["label"], fields.get("probabilities"))
    if len(record) == len(rows.label) or record.label is None:
        return rows
    # the sample's pairs of true and predicted class get the shares that they have in all rows
    pair, few = _pairs(rows.label, rows.predicted, rows.classes)
    weight = (_pairs(record.label, record.predicted, rows.classes)[1] / np.maximum(few, 1))[pair]
    return rows._replace(weight=weight * (len(weight) / weight.sum()))


def _rows_of(
    record: Predictions, predicted: Array, label: Array | None, probabilities: Array | None
) -> LabelledRows:
    if label is None or not record.num_classes or not record.has_classes:
        raise NotApplicable(
            "needs the true class (`label`) of reference rows; `correct` alone is not enough"
        )
    if (label < 0).any():
        raise NotApplicable(
            "needs the true class of every reference row whose correctness is known"
        )
    if record.num_classes > MOST_CLASSES:
        raise NotApplicable(
            f"estimates accuracy alone where there are more than {MOST_CLASSES} classes"
        )
    bins: Array | None = None
    if probabilities is not None:
        bins = (
            bin_numbers(probabilities, record.num_classes)
            .reshape(probabilities.shape)
            .astype(np.int32)
        )
        if (
            record.num_classes == 2
        ):  # the second's are the mirror image of the first's, as `mirrored` counts have them
            bins[:, 0] = log_odds_bin(probabilities[:, 0])
            bins[:, 1] = bins_for(2) - 1 - bins[:, 0]
    codes, ones = (predicted.astype(np.int64), label.astype(np.int64)), np.ones(len(label))
    return LabelledRows(*codes, bins, record.num_classes, score_bins(record), ones)


def rates_of_rows(rows: LabelledRows, weights: Array) -> ClassRates:
    """`class_rates` of weighted rows, which count for as many as are effective: (sum w)^2 / sum w^2."""
    w = weights * rows.weight
    w = w * (w.sum() / np.square(w).sum())
    bins, classes, width = present(rows.bins), rows.classes, rows.width
    each, right = np.arange(len(w)), rows.predicted == rows.label

    def count(kind: Array, index: Array, weight: Array) -> Array:
        """Weights of the rows by class and bin."""
        return np.bincount(kind * width + index, weight, classes * width).reshape(classes, width)

    top_bin, true = bins[each, rows.predicted], bins[each, rows.label]
    top, hits = count(rows.predicted, top_bin, w), count(rows.predicted, top_bin, w * right)
    if classes == 2:
        return class_rates(
            ConfusionCounts.of(top, top, np.zeros((2, 2))), hits, mirrored(top - hits)
        )
    every = np.stack([np.bincount(bins[:, k], w, width) for k in range(classes)])
    counts = ConfusionCounts(top, np.maximum(every - top, 0.0), np.zeros((classes, classes)))
    return class_rates(counts, hits, count(rows.label, true, w * ~right))


def expected_of_pairs(pairs: Array) -> ExpectedClasses:
    """Expected numbers of pairs alone, axes (..., true class, predicted class)."""
    margins = Margins(np.einsum("...kk->...k", pairs), pairs.sum(axis=-1), pairs.sum(axis=-2))
    return ExpectedClasses(margins, None, None, pairs)


def expected_of_rows(rows: LabelledRows, weights: Array) -> ExpectedClasses:
    """The rows with weights of shape (sample,), or (replicate, sample) for several at once."""
    weight_table = np.atleast_2d(weights)
    classes = rows.classes
    code = rows.label.astype(np.int64) * classes + rows.predicted
    pairs = np.stack([np.bincount(code, w, classes * classes) for w in weight_table]).reshape(
        -1, classes, classes
    )
    positives = negatives = None
    if rows.bins is not None:
        classes, width = rows.classes, rows.width
        out = np.empty((2, len(weight_table), classes, width))
        for k in range(1 if classes == 2 else classes):
            code = rows.bins[:, k] + np.where(rows.label == k, width, 0)
            for r, w in enumerate(weight_table):
                out[:, r, k] = np.bincount(code, w, 2 * width).reshape(2, width)
        if classes == 2:  # the other class has 1 - p, and is whatever the first one is not
            out[:, :, 1] = out[::-1, :, 0, ::-1]
        positives, negatives = out[1], out[0]
    confusion, top_counts = pairs, _own_of_rows(rows, weight_table)
    if weights.ndim == 1:
        confusion = pairs[0]
        positives, negatives = (
            None if side is None else side[0] for side in (positives, negatives)
        )
        top_counts = None if top_counts is None else (top_counts[0][0], top_counts[1][0])
    return expected_of_pairs(confusion)._replace(
        positives=positives, negatives=negatives, own=top_counts
    )


def _own_of_rows(rows: LabelledRows, weight_table: Array) -> tuple[Array, Array] | None:
    """Hits, and all rows, by predicted class and the bin of its probability; (replicate, class, bin)."""
    if rows.bins is None:
        return None
    shape = (len(weight_table), rows.classes, rows.width)
    code = rows.predicted * rows.width + rows.bins[np.arange(len(rows.label)), rows.predicted]
    right = rows.predicted == rows.label
    hits, every = (
        np.stack(
            [np.bincount(code, w * factor, rows.classes * rows.width) for w in weight_table]
        ).reshape(shape)
        for factor in (right, 1.0)
    )
    return hits, every


def reweighted(
    rows: LabelledRows,
    weights: Array,
    target_rows: int,
    draws: int,
    seed: list[int],
    factors: Array | None = None,
) -> Expectation:
    """The reference's rows under weights (sample,) as so many target rows, and ``draws`` replicates of both."""
    weights = weights * rows.weight
    first = weights if factors is None else weights * factors[0][rows.label]
    expected = expected_of_rows(rows, first * (target_rows / max(float(first.sum()), 1e-300)))
    rng, coarse = np.random.default_rng(seed), rows.coarse
    # the first line of factors (replicate, class) is that of the expectation
    by_class = np.ones((draws, rows.classes)) if factors is None else factors[1:]
    if rows.classes == 2:
        return Expectation(expected, _redrawn_table(coarse, weights, by_class, target_rows, rng))
    redrawn_weights = weights * by_class[:, rows.label]
    redrawn_weights = redrawn_weights * rng.gamma(
        rows.weight, 1 / rows.weight, redrawn_weights.shape
    )
    return Expectation(
        expected,
        expected_of_rows(
            coarse, rng.poisson(_scaled(redrawn_weights, target_rows)).astype(np.float64)
        ),
    )


def _scaled(weights: Array, total: int) -> Array:
    return np.asarray(weights * (total / np.maximum(weights.sum(axis=1, keepdims=True), 1e-300)))


def _redrawn_table(
    rows: LabelledRows, weights: Array, by_class: Array, target_rows: int, rng: np.random.Generator
) -> ExpectedClasses:
    """Replicates of two classes, from sums over (true class, predicted class, bin), which are few (Rubin 1981)."""
    width = rows.width if rows.bins is not None else 1
    second = rows.bins[:, 1] if rows.bins is not None else 0
    code = (rows.label * 2 + rows.predicted) * width + second
    total, squares = (
        np.bincount(code, w, 4 * width) for w in (weights, np.square(weights) / rows.weight)
    )
    full = np.flatnonzero(total > 0)
    scale = squares[full] / total[full]
    table = np.zeros((len(by_class), 4 * width))
    redrawn = rng.gamma(total[full] / scale, scale, (len(by_class), len(full)))
    table[:, full] = redrawn * by_class[:, full // (2 * width)]
    cells = rng.poisson(_scaled(table, target_rows)).astype(np.float64).reshape(-1, 2, 2, width)
    expected = expected_of_pairs(cells.sum(axis=-1))
    if rows.bins is None:
        return expected
    by_label = cells.sum(axis=2)  # (replicate, true class, bin of the second class)
    mirror = by_label[:, ::-1, ::-1]
    positives = np.stack([mirror[:, 1], by_label[:, 1]], axis=1)
    # where the first class is predicted its own bins are the mirror image of the second one's
    hits = np.stack([cells[:, 0, 0, ::-1], cells[:, 1, 1]], axis=1)
    every = np.stack([cells[:, :, 0, ::-1].sum(axis=1), cells[:, :, 1].sum(axis=1)], axis=1)
    negatives = np.stack([mirror[:, 0], by_label[:, 0]], axis=1)
    return expected._replace(positives=positives, negatives=negatives, own=(hits, every))


@dataclass(frozen=True)
class ClassMetric:
    """A metric ``base`` of classes: of the class ``at`` a position, of the positive one, or averaged."""

    name: str
    base: str
    at: int | None = None
    payoff: Array | None = None
    classes: int = 2

    @property
    def bounds(self) -> tuple[float, float]:
        """Lowest and highest possible value."""
        if self.is_loss:
            return 0.0, {"brier": 1.0 if self.classes == 2 else 2.0, "nll": np.inf}.get(
                self.base, 1.0
            )
        if self.payoff is not None:
            return float(self.payoff.min()), float(self.payoff.max())
        return (-1.0, 1.0) if self.base in ("mcc", "cohen_kappa") else (0.0, 1.0)

    @property
    def needs_scores(self) -> bool:
        """Whether it asks for the probabilities of the classes."""
        return self.base in _BY_SCORE or self.is_loss

    @property
    def is_loss(self) -> bool:
        """Whether it is a score of the probabilities themselves, of which less is better."""
        return self.base in SCORES

    @property
    def zero_over_zero(self) -> bool:
        """Whether 0/0 counts as 0, with all possible values as its interval: so it is of all but areas and pay-offs."""
        return not self.needs_scores and self.payoff is None

    def __call__(self, expected: ExpectedClasses, positive: int = 1) -> Array:
        """The value, axes (...) as the leading ones of ``expected``; NaN where it is undefined (0/0)."""
        return np.asarray(
            np.clip(self._value(expected, positive), *self.bounds)
        )  # rounding may have left them

    def _value(self, expected: ExpectedClasses, positive: int) -> Array:
        if self.payoff is not None:
            if expected.confusion is None:
                raise NotApplicable(
                    "`expected_value` needs each pair of classes, which are too many here"
                )
            return of.expected_value(expected.confusion, self.payoff)
        margins = expected.margins
        if self.is_loss:
            return self._loss(expected)
        at = self.about(margins.support.shape[-1], positive)
        overall = _OF_ALL.get(
            self.base if at is not None else f"macro_{self.base}", _OF_ALL.get(self.base)
        )
        if overall is not None:
            return np.asarray(overall(margins))
        if not self.needs_scores:
            per_class = _BY_CLASS[self.base](margins, np.nan)
        elif expected.positives is None:
            raise NotApplicable(f"`{self.base}` needs `probabilities`")
        else:
            per_class = _BY_SCORE[self.base](expected.positives, expected.negatives)
        if at is not None:
            return np.asarray(per_class[..., at])
        # a class that is neither predicted nor there says nothing, nor does a curve without both sides
        used = np.isfinite(per_class) & (margins.support + margins.predicted >= 0.5)
        return of.ratio(np.where(used, per_class, 0.0).sum(axis=-1), used.sum(axis=-1))

    def _loss(self, expected: ExpectedClasses) -> Array:
        cells = expected.cells
        top_counts = expected.own
        positives = expected.positives
        negatives = expected.negatives
        if cells is None or top_counts is None or positives is None or negatives is None:
            raise NotApplicable(f"`{self.base}` needs `probabilities`")
        rows = np.asarray(expected.margins.support.sum(axis=-1))
        if self.base == "ece":
            return expected_ece(*top_counts, cells, drawn=top_counts[0].ndim > 2)
        if self.base == "brier":
            return expected_brier(positives, negatives, rows, cells)
        return expected_log_loss(positives, rows, cells)

    def about(self, classes: int, positive: int) -> int | None:
        """Position of the one class that it is about; None where it is of all of them."""
        return (
            self.at
            if self.base not in _OF_ONE_CLASS or self.at is not None or classes != 2
            else positive
        )


_NAMES_OF_ALL = (
    "balanced_accuracy",
    "mcc",
    "cohen_kappa",
    "macro_precision",
    "macro_recall",
    "macro_f1",
)
_OF_ALL: dict[str, Callable[[Any], Array]] = {name: getattr(of, name) for name in _NAMES_OF_ALL}
_BY_CLASS: dict[str, Callable[[Any, float], Array]] = {
    name: getattr(of, f"class_{name}") for name in ("f1", "precision", "recall", "specificity")
}
_BY_SCORE: dict[str, Callable[[Any, Any], Array]] = {
    "roc_auc": of.roc_auc,
    "average_precision": of.average_precision,
}
CLASS_METRICS: Strings = (*_BY_CLASS, *_BY_SCORE, *_OF_ALL, *SCORES, "expected_value")
_OF_ONE_CLASS = (*_BY_CLASS, *_BY_SCORE)


def metric_name(name: str) -> str:
    """The name that a metric is known by, whatever it was called."""
    return canonical("metric", name.strip(), [*CLASS_METRICS, "accuracy"])


def class_metric(name: str, classes: ClassNames = (), payoff: Array | None = None) -> ClassMetric:
    """The metric of a name such as ``f1``, ``auc`` or ``recall:CLASS``; `UsageError` for one that there is not."""
    base, _, of_class = metric_name(name).partition(":")
    if base not in CLASS_METRICS:
        near = difflib.get_close_matches(base.lower(), CLASS_METRICS, 1, 0.5)
        hint = f"did you mean {near[0]}? " if near else ""
        raise UsageError(
            f"there is no metric {name!r} to estimate without labels; {hint}there are accuracy, "
            f"{', '.join(CLASS_METRICS)}"
        )
    if base == "expected_value" and payoff is None:
        raise UsageError(
            "the metric expected_value needs a pay-off matrix: --payoff FILE, rows by true class"
        )
    if not of_class:
        return ClassMetric(
            base, base, None, payoff if base == "expected_value" else None, max(len(classes), 2)
        )
    if base not in _OF_ONE_CLASS:
        raise UsageError(
            f"{name!r}: {base} is of all classes together; of one there are {', '.join(_OF_ONE_CLASS)}"
        )
    texts, of_class = [str(label) for label in classes], one_form(of_class)
    if of_class not in texts:
        listing = ", ".join(texts[:10]) + (", ..." if len(texts) > 10 else "")
        raise UsageError(f"{name!r}: there is no class {of_class!r}; the classes are {listing}")
    return ClassMetric(f"{base}:{of_class}", base, texts.index(of_class))


def metrics_named(
    names: Sequence[str], classes: ClassNames, payoff: Array | None = None
) -> tuple[ClassMetric, ...]:
    """The metrics of these names, each once, accuracy left out: it is estimated whatever is asked."""
    metrics = [
        class_metric(name, classes, payoff) for name in names if metric_name(name) != "accuracy"
    ]
    return tuple({metric.name: metric for metric in metrics}.values())


def values_of(
    metrics: Sequence[ClassMetric], expected: ExpectedClasses, positive: int
) -> dict[str, Array]:
    """Name -> value of every metric that these counts can tell, axes as the leading ones of ``expected``."""
    out = {}
    for metric in metrics:
        try:
            out[metric.name] = metric(expected, positive)
        except NotApplicable:
            continue
    return out
