"""Class counts: what a data set holds of each class, predicted, scored and, where it is labelled, true."""

from __future__ import annotations

import numpy as np

from ..arrays import Array
from ..calibrators.binned_map import bin_numbers, bins_for, count_bins
from ..kernels import log_odds_bin, tally
from ..predictions import Predictions
from .base import Sums
from .expected_confusion import ConfusionCounts, confusion_counts, count_off_diagonal

__all__ = ["class_bins", "confusion_of", "count_classes", "counts_of_truth", "score_bins"]


def score_bins(record: Predictions) -> int:
    """Bins of each class's probability; a single one without probabilities."""
    return bins_for(record.num_classes) if record.has("probabilities") else 1


def class_bins(probabilities: Array) -> Array:
    """Bin of the probability of each class, shape (sample, class), intp.

    Of two classes the second's are the mirror image of the first's, as `mirrored` counts have them.

    >>> int(class_bins(np.array([[0.9, 0.1]])).sum())
    959
    """
    classes = probabilities.shape[1]
    if classes == 2:
        first = log_odds_bin(probabilities[:, 0])
        return np.stack([first, bins_for(2) - 1 - first], axis=1)
    return bin_numbers(probabilities, classes).reshape(probabilities.shape)


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
        counts |= _truths(known)
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

    made: Array = batch.derived("class counts:own bins", make)
    return made


def _truths(known: Predictions) -> dict[str, Array]:
    """Counts of rows whose class is known."""
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
        wrong = np.flatnonzero(~right)
        assert known.probabilities is not None
        bins = bin_numbers(known.probabilities[wrong, label[wrong]], classes)
        if known.is_argmax:  # as `count_off_diagonal` does: one half is the lower one
            np.minimum(bins, width // 2 - 1, out=bins)
        out["misses"] = count_bins(label[wrong], bins, classes)
    return out


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
