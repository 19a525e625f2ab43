"""Few-shot evaluation: how often a few rows, drawn again and again, put each pair of models in its true order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, final

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..plain import Strings
from ..predictions import Predictions
from ..results.values import Record

Rule = Callable[[Array], Array]
"""From positions of drawn rows, int64, shape (draw, size), to scores, shape (draw, model); larger = better."""

ROUNDING = 1e-12  # relative differences below it are none: sums in another order are not the same to the last digit

Method = Array | Rule
"""Values, shape (model, row), whose mean over the drawn rows is the score; or a rule."""


def fixed(scores: Any) -> Rule:
    """The rule that gives the same scores, shape (model,), whatever is drawn: what an unlabelled pool says.

    >>> fixed([0.5, 0.75])(np.zeros((2, 10), dtype=np.int64)).tolist()
    [[0.5, 0.75], [0.5, 0.75]]
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise UsageError(f"expected one score a model, got an array of shape {values.shape}")
    return lambda rows: np.broadcast_to(values, (len(rows), len(values)))


def drawn_scores(method: Method, drawn: Array) -> Array:
    """Scores of the models in each draw, float64, shape (draw, model); nan where a model has no value at all.

    method : values v, shape (model, row), whose mean over the drawn rows, nan left out, is the score: where the words
        of a factor do not occur it says nothing; or a rule that gives the scores itself.
    drawn : positions of the drawn rows, as of `draw_rows`; a row that is drawn twice counts twice.

    Raises `UsageError` for values or a rule of the wrong shape.

    >>> drawn_scores(np.array([[0.0, 1.0, np.nan], [np.nan] * 3]), np.array([[0, 1, 2], [1, 1, 0]])).round(2).tolist()
    [[0.5, nan], [0.67, nan]]
    """
    if callable(method):
        out = np.asarray(method(drawn), dtype=np.float64)
        if out.ndim != 2 or len(out) != len(drawn):
            raise UsageError(
                f"expected scores of shape ({len(drawn)}, model) of a rule, got {out.shape}"
            )
        return out
    values = np.asarray(method, dtype=np.float64)
    if values.ndim != 2:
        raise UsageError(f"expected values of shape (model, row), got {values.shape}")
    is_known = ~np.isnan(values)
    # sums by gathering rows first: (row, model) is read in whole lines
    total = np.where(is_known, values, 0.0).T[drawn].sum(axis=1)
    if is_known.all():
        return np.asarray(total / drawn.shape[1])
    count = is_known.T[drawn].sum(axis=1)
    return np.where(count > 0, total / np.maximum(count, 1), np.nan)


def scored(methods: Mapping[str, Method], drawn: Array) -> Array:
    """Scores of several methods, float64, shape (method, draw, model).

    methods : name -> values or rule, as `drawn_scores` takes them.
    drawn : positions of the drawn rows, as of `draw_rows`.

    Raises `UsageError` without a method, and where they score different numbers of models.

    >>> scored({"a": np.eye(2), "b": fixed([1, 2])}, np.array([[0, 0]])).tolist()
    [[[1.0, 0.0]], [[1.0, 2.0]]]
    """
    if not methods:
        raise UsageError("expected at least one method, got none; give name -> values or rule")
    scores_of = {name: drawn_scores(method, drawn) for name, method in methods.items()}
    counts = {name: scores.shape[1] for name, scores in scores_of.items()}
    if len(set(counts.values())) > 1:
        raise UsageError(f"expected methods that score the same models, got {counts} models")
    return np.stack(list(scores_of.values()))


@final
@dataclass(frozen=True, eq=False)
class Suite:
    """Predictions of several models on the same rows.

    models : their names, in the order of the first axis.
    classes : names of the classes.
    predicted : positions of classes, int64, shape (model, row).
    truth : position of the true class, int64, shape (row,), -1 where unknown.
    probabilities : float64, shape (model, row, class); None where a model gives none.
    """

    models: Strings
    classes: Strings
    predicted: Array
    truth: Array
    probabilities: Array | None = None

    @property
    def correct(self) -> Array:
        """1 where a model is right, 0 where it is wrong, nan where the truth is unknown, shape (model, row)."""
        return np.where(self.truth < 0, np.nan, self.predicted == self.truth)

    @property
    def labelled(self) -> Array:
        """Positions of the rows whose truth is known."""
        return np.flatnonzero(self.truth >= 0)


def suite_of(records: Mapping[str, Predictions]) -> Suite:
    """Records of the same rows by several models, as one suite.

    Classes are put in the order of the first record with probabilities, which names them all; else of the first record.
    Raises `UsageError` for fewer than two models, and `InputError` for records that differ in their rows, classes or
    labels, that have fewer than two classes, or that predict no classes.

    >>> a = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=["cat", "cat"], classes=["cat", "dog"])
    >>> b = Predictions.from_probabilities([[0.3, 0.7], [0.6, 0.4]], label=["cat", "cat"], classes=["dog", "cat"])
    >>> found = suite_of({"a": a, "b": b})
    >>> found.predicted.tolist(), found.correct.tolist()
    ([[0, 1], [0, 1]], [[1.0, 0.0], [1.0, 0.0]])
    """
    if len(records) < 2:
        raise UsageError(
            f"expected at least two models to rank, got {len(records)}; give name -> predictions"
        )
    _check_same_rows(records)
    classes = _classes_of(records)
    truth: Array | None = None
    predicted, probabilities = [], []
    for name, record in records.items():
        order = np.array([classes.index(str(c)) for c in record.classes or ()], dtype=np.int64)
        predicted.append(order[record.predicted])
        if record.probabilities is not None:
            reordered = np.empty(record.probabilities.shape)
            reordered[:, order] = record.probabilities
            probabilities.append(reordered)
        if record.label is not None:
            label = np.where(record.label < 0, -1, order[record.label])
            if truth is not None and not np.array_equal(truth, label):
                row = int(np.flatnonzero(truth != label)[0]) + 1
                raise InputError(
                    "the same labels for all models",
                    got=f"another for {name}",
                    remedy="give the same rows",
                    row=row,
                )
            truth = label
    return Suite(
        models=tuple(records),
        classes=classes,
        predicted=np.stack(predicted).astype(np.int64),
        truth=np.full(len(predicted[0]), -1) if truth is None else truth.astype(np.int64),
        probabilities=np.stack(probabilities) if len(probabilities) == len(records) else None,
    )


def _check_same_rows(records: Mapping[str, Predictions]) -> None:
    """`InputError` for records without predicted classes, and for more or fewer rows than in the first."""
    first, rows = next((name, len(record)) for name, record in records.items())
    for name, record in records.items():
        if record.classes is None or not record.has_prediction:
            got = f"a record of {name} without them"
            raise InputError(
                "predicted classes", got=got, remedy="give probabilities or predictions"
            )
        if len(record) != rows or not rows:
            got = f"{len(record)} and {rows}"
            raise InputError(
                f"as many rows for {name} as for {first}",
                got=got,
                remedy="ask all models about the same rows, at least one",
            )


def _classes_of(records: Mapping[str, Predictions]) -> Strings:
    """The classes of several models, at least two.

    Predictions without probabilities name the classes that occur, which may be fewer than there are; those with name
    all, and must name the same. The order is that of the first record with probabilities, else of the first.
    """
    named = {name: tuple(map(str, record.classes or ())) for name, record in records.items()}
    full = {name: named[name] for name, r in records.items() if r.probabilities is not None}
    classes = tuple(dict.fromkeys(c for names in (*full.values(), *named.values()) for c in names))
    for name, names in full.items():
        lacking = [c for c in classes if c not in names]
        if lacking:
            raise InputError(
                "the same classes of all models",
                got=f"{name} without {', '.join(lacking[:5])}",
                remedy="rank models of the same classes",
            )
    if len(classes) < 2:
        raise InputError("at least two classes", got=", ".join(classes), remedy="name all classes")
    return classes


@final
@dataclass(frozen=True)
class PairedTest(Record):
    """Whether a first method ranks better than a second.

    difference : mean few-shot accuracy of the first minus that of the second.
    p_value : one-sided, of "the first is not better".
    over, test, units : what is drawn again, the name of the test, how many draws.
    p_two_sided : of "they are equally good".
    """

    difference: float
    p_value: float
    p_two_sided: float
    over: Literal["draws"]
    test: str
    units: int


def draws_test(
    first: Array, second: Array, *, resamples: int = 10_000, seed: int = 0
) -> PairedTest:
    """The paper's paired bootstrap test: the draws of rows are drawn again, both methods by the same draws.

    p = (1 + #{d* <= 0}) / (1 + resamples), d* the mean difference over pairs and resampled draws. It speaks of this one
    pool and of these models alone: draws overlap, more of them make p as small as one likes, and other models may
    differ.

    first, second : Outcomes, shape (pair, draw), as `FewShot.of` gives them.
    resamples, seed : Of the bootstrap.

    Raises `UsageError` for outcomes of different pairs or draws, and for some that are no numbers.
    Source: Singhal et al. (2022), Table 1.

    >>> good, fair = np.ones((1, 400)), np.tile([[1.0, 0.0]], 200)
    >>> draws_test(good, fair).p_value < 0.001, draws_test(fair, fair).p_value
    (True, 1.0)
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 2 or not a.size:
        raise UsageError(
            f"expected outcomes of the same pairs and draws, got shapes {a.shape} and {b.shape}"
        )
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        raise UsageError(
            "expected outcomes that are finite numbers, got nan or inf among them; leave such suites out"
        )
    gap = (a - b).mean(axis=0)
    # how often each distinct difference is drawn says all: a resample is a draw of counts
    values, counts = np.unique(gap, return_counts=True)
    rng = np.random.default_rng([seed, 0x9A])
    means = rng.multinomial(len(gap), counts / len(gap), size=resamples) @ values / len(gap)
    below = (1 + int((means <= ROUNDING).sum())) / (1 + len(means))
    above = (1 + int((means >= -ROUNDING).sum())) / (1 + len(means))
    two_sided = min(1.0, 2 * min(below, above))
    return PairedTest(float(gap.mean()), below, two_sided, "draws", "paired bootstrap", len(gap))


_DRAWS, _SIZE = 500, 10  # the paper's


@final
@dataclass(frozen=True, eq=False)
class FewShot:
    """How well methods rank pairs of models from a few rows.

    methods, models : their names.
    truth : accuracy of each model on the full set, shape (model,).
    pairs : positions (better, worse) of the pairs of models that differ in truth, best model first.
    outcomes : 1 where the better model has the larger score, 0 where it has the smaller, 0.5 where the scores are equal
        or there is none; shape (method, pair, draw).
    equal : how many pairs were left out because their truth is equal.
    rows, size, seed : of the population, of a draw, of the draws.
    """

    methods: Strings
    models: Strings
    truth: Array
    pairs: tuple[tuple[int, int], ...]
    outcomes: Array
    equal: int
    rows: int
    size: int
    seed: int

    @property
    def draws(self) -> int:
        """Number of draws."""
        return int(self.outcomes.shape[2])

    @property
    def pairwise(self) -> Array:
        """Pairwise accuracy: mean over the draws, shape (method, pair)."""
        return np.asarray(self.outcomes.mean(axis=2))

    @property
    def few_shot(self) -> Array:
        """Few-shot accuracy: mean of the pairwise accuracies, shape (method,)."""
        return np.asarray(self.pairwise.mean(axis=1))

    @property
    def ties(self) -> Array:
        """Share of pairs and draws that a method does not decide, shape (method,)."""
        return np.asarray((self.outcomes == 0.5).mean(axis=(1, 2)))

    def of(self, method: str) -> Array:
        """Outcomes of one method, shape (pair, draw). Raises `UsageError` for an unknown name."""
        if method not in self.methods:
            raise UsageError(
                f"expected one of the methods {', '.join(self.methods)}, got {method!r}"
            )
        return np.asarray(self.outcomes[self.methods.index(method)])

    def pair_name(self, pair: int) -> str:
        """Name of a pair, the better model first."""
        better, worse = self.pairs[pair]
        return f"{self.models[better]} > {self.models[worse]}"


def draw_rows(rows: int, *, draws: int = _DRAWS, size: int = _SIZE, seed: int = 0) -> Array:
    """Positions of rows drawn with replacement, int64, shape (draw, size): the same for all methods and models.

    rows : how many there are to draw from.
    draws, size : how often is drawn, and how many rows at a time.
    seed : of the draws.

    Raises `UsageError` for numbers below 1.

    >>> draw_rows(400).shape
    (500, 10)
    """
    for name, count in (("rows", rows), ("draws", draws), ("size", size)):
        if count < 1:
            raise UsageError(f"expected at least one of {name}, got {count}")
    return np.random.default_rng([seed, 0xF5]).integers(0, rows, (draws, size))


def _population(methods: Mapping[str, Method], rows: int | None) -> int:
    """Number of rows of the population, which the values of all methods share."""
    shapes = {name: np.shape(method) for name, method in methods.items() if not callable(method)}
    odd = next((name for name, shape in shapes.items() if len(shape) != 2), None)
    if odd is not None:
        raise UsageError(
            f"expected values of shape (model, row) of {odd}, got {shapes[odd]}; a constant is `fixed`"
        )
    counts = {name: shape[1] for name, shape in shapes.items()}
    if rows is not None:
        counts["rows"] = rows
    if not counts:
        raise UsageError("expected the number of rows, as every method is a rule; give rows=")
    if len(set(counts.values())) > 1:
        raise UsageError(f"expected values of the same rows, got {counts} rows")
    return int(next(iter(counts.values())))


def few_shot_evaluation(
    methods: Mapping[str, Method],
    truth: Sequence[float] | Array,
    *,
    models: Sequence[str] | None = None,
    rows: int | None = None,
    draws: int = _DRAWS,
    size: int = _SIZE,
    seed: int = 0,
) -> FewShot:
    """The paper's protocol: pairwise and few-shot accuracy of methods that rank models from a few rows.

    For each draw of ``size`` rows (with replacement, the same for all methods and models) and each pair of models that
    differ in ``truth``: 1 where the method's score of the better model is larger, 0 where it is smaller, 0.5 for a tie
    (up to rounding), or where a model has no score. Pairwise accuracy is the mean over draws, few-shot accuracy its
    mean over pairs.

    methods : Name -> values, shape (model, row), or a rule; larger = better. A factor enters as minus the factor.
    truth : Accuracy of each model on the full set, shape (model,).
    models : Their names; by default m1, m2, ...
    rows : Rows of the population; needed where all methods are rules.
    draws, size, seed : Of the draws; 500 draws of 10 are the paper's.

    Raises `UsageError` for fewer than two models and for methods of other models or rows, `InputError` where no pair of
    models differs, or for an accuracy that is none. Source: Singhal et al. (2022), section 4.3 and appendix B.

    >>> right = np.array([[1, 1, 1, 1], [1, 1, 0, 0]])
    >>> found = few_shot_evaluation({"ACC": right}, [1.0, 0.5], draws=2000, size=2)
    >>> bool(abs(found.few_shot[0] - (0.75 + 0.25 / 2)) < 0.02)  # a tie where both rows are among the first two
    True
    """
    accuracies = np.asarray(truth, dtype=np.float64)
    if accuracies.ndim != 1 or len(accuracies) < 2:
        raise UsageError(
            f"expected the accuracies of at least two models, got shape {accuracies.shape}"
        )
    if not np.isfinite(accuracies).all():
        raise InputError(
            "an accuracy of each model",
            got=str(accuracies.tolist()),
            remedy="measure it on labelled rows",
        )
    names = tuple(f"m{i + 1}" for i in range(len(accuracies))) if models is None else tuple(models)
    if len(names) != len(accuracies):
        raise UsageError(f"expected {len(accuracies)} names of models, got {len(names)}")
    population = _population(methods, rows)
    scores = scored(methods, draw_rows(population, draws=draws, size=size, seed=seed))
    if scores.shape[2] != len(accuracies):
        raise UsageError(f"expected scores of {len(accuracies)} models, got {scores.shape[2]}")
    order = np.argsort(-accuracies, kind="stable")
    every = [(int(a), int(b)) for i, a in enumerate(order) for b in order[i + 1 :]]
    pairs = tuple((a, b) for a, b in every if accuracies[a] > accuracies[b])
    if not pairs:
        raise InputError(
            "two models that differ in accuracy", got="equal ones", remedy="rank other models"
        )
    better, worse = (scores[:, :, list(side)] for side in zip(*pairs, strict=True))
    # the same values summed in another order are a tie, and so are infinite scores of one sign
    largest = np.maximum(np.abs(better), np.abs(worse))
    slack = ROUNDING * np.where(np.isfinite(largest), largest, 0.0)
    # a score that is not there compares as neither larger nor smaller: a tie
    outcomes = np.where(
        better > worse + slack, 1.0, np.where(better < worse - slack, 0.0, 0.5)
    ).transpose(0, 2, 1)
    return FewShot(
        tuple(methods),
        names,
        accuracies,
        pairs,
        outcomes,
        len(every) - len(pairs),
        population,
        size,
        seed,
    )


def random_order(models: int, *, seed: int = 0) -> Rule:
    """RANDOM: an order by chance in each draw, right about half of the time, of so many ``models``, by the ``seed``.

    >>> random_order(3)(np.zeros((2, 10), dtype=np.int64)).shape
    (2, 3)
    """
    return lambda rows: np.random.default_rng([seed, 0x5A4]).random((len(rows), models))


def guess(models: int, best: int) -> Rule:
    """GUESS: one model is named best and nothing is said of the others, so that their pairs are ties.

    models : how many there are.
    best : position of the one.

    Raises `UsageError` where there is no such model. Source: Singhal et al. (2022), Table 3.

    >>> guess(3, 1)(np.zeros((1, 10), dtype=np.int64)).tolist()
    [[0.0, 1.0, 0.0]]
    """
    if not 0 <= best < models:
        raise UsageError(f"expected the position of one of {models} models, got {best}")
    return fixed(np.arange(models) == best)


def guess_accuracy(truths: Sequence[Any]) -> Array:
    """Few-shot accuracy of GUESS for each model that could be named best in every set, float64, shape (model,).

    truths : accuracies of the same models, shape (model,), one entry for each set. A pair with the named model counts 1
    or 0, any other 0.5; pairs of equal accuracy are left out; then the mean over the pairs of a set, and over sets.
    Raises `UsageError` for sets of different models, and for fewer than two models.

    >>> sets = [[66.8, 63.5, 62.7], [57.8, 72.5, 65.7], [69.0, 80.5, 71.8]]  # RoBERTa, ELECTRA, DeBERTa
    >>> (100 * guess_accuracy(sets)).round(1).tolist()
    [38.9, 72.2, 38.9]
    """
    counts = {len(truth) for truth in truths}
    if len(counts) != 1:
        raise UsageError(
            f"expected sets of the same models, got {sorted(counts)} models; give each set's accuracies"
        )
    models = counts.pop()
    guesses: dict[str, Method] = {str(best): guess(models, best) for best in range(models)}
    accuracies = [
        few_shot_evaluation(guesses, truth, rows=1, draws=1, size=1).few_shot for truth in truths
    ]
    return np.asarray(np.mean(accuracies, axis=0))


def baseline_methods(suite: Suite, *, seed: int = 0) -> dict[str, Method]:
    """The paper's baselines by name; those that lack something are left out.

    ACC : 1 where a model is right, 0 where it is wrong, nan where the truth is unknown.
    CONF : max_k p_k, the probability of the predicted class, with the opposite direction; needs no label.
    CONF-GT : p_y, the probability of the true class, with the opposite direction. The paper's Table 1 has 90 to 93 %
    for it and its Table 2 20 to 39 %, as if the latter were turned round: print both.
    RANDOM : `random_order` by the ``seed``.

    ``suite`` holds the predictions. Source: Singhal et al. (2022), section 3.

    >>> from oodometer.predictions import Predictions
    >>> from .few_shot import suite_of
    >>> a = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=[0, 0])
    >>> b = Predictions.from_probabilities([[0.8, 0.2], [0.7, 0.3]], label=[0, 0])
    >>> list(baseline_methods(suite_of({"a": a, "b": b})))
    ['ACC', 'CONF', 'CONF reversed', 'CONF-GT', 'CONF-GT reversed', 'RANDOM']
    """
    out: dict[str, Method] = {"ACC": suite.correct} if len(suite.labelled) else {}
    if suite.probabilities is not None:
        sure = suite.probabilities.max(axis=2)
        out |= {"CONF": sure, "CONF reversed": -sure}
        if len(suite.labelled):
            p_true = np.take_along_axis(
                suite.probabilities, np.maximum(suite.truth, 0)[None, :, None], axis=2
            )[:, :, 0]
            p_true = np.where(suite.truth < 0, np.nan, p_true)
            out |= {"CONF-GT": p_true, "CONF-GT reversed": -p_true}
    return {**out, "RANDOM": random_order(len(suite.models), seed=seed)}
