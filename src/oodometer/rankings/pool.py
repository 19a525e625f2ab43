"""Pool: what rows without labels say about each model: estimates, accuracy proxies, agreement with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, final

import numpy as np

from ..accuracy_proxies import Ranker
from ..arrays import Array
from ..errors import NotApplicable, UsageError
from ..estimators.base import Estimator
from ..predictions import Predictions
from ..registry import answer, create, names
from ..results import Interval
from .few_shot import suite_of
from .posterior import checked_classes

ESTIMATORS = ("ac", "doc", "atc", "cbpe", "agreement", "gde-difference")
"""Estimators that are asked by default: quick ones of different kinds."""


@final
@dataclass(frozen=True, eq=False)
class PoolEvidence:
    """What a pool without labels says about models.

    models : their names.
    scores : kind of evidence -> a score of each model, float64, shape (model,); larger = better.
    why_not : kind of evidence -> why it does not apply.
    rows : of the pool.
    intervals : estimator -> the interval of each model; other kinds of evidence are no estimates and have none.
    """

    models: tuple[str, ...]
    scores: Mapping[str, Array]
    why_not: Mapping[str, str]
    rows: int
    intervals: Mapping[str, tuple[Interval, ...]] = field(default_factory=dict)


def agreement_values(predicted: Any) -> tuple[Array, Array]:
    """How much a model says what the others say: with the plurality, and with each other model on average.

    predicted : Positions of predicted classes, shape (model, row).

    Returns two arrays of shape (model, row). The plurality is that of the other models: 1 where a model says what most
    of them say, 1/k where k classes share the most votes and its own is one of them. The second is
    mean_j [h_i = h_j], j the other models. The more models share a mistake, the more it is rewarded.

    >>> plurality, pairwise = agreement_values([[0, 0], [0, 1], [1, 2]])
    >>> plurality.tolist(), pairwise.tolist()
    ([[0.5, 0.0], [0.5, 0.0], [0.0, 0.0]], [[0.5, 0.0], [0.5, 0.0], [0.0, 0.0]])
    """
    classes = checked_classes(predicted, "predictions")
    # models are compared with each other, not with every class: there may be a thousand of these
    # for what a model says, with its own
    votes = np.stack([(classes == codes).sum(axis=0) for codes in classes])
    plurality = np.empty(classes.shape)
    for i, codes in enumerate(classes):
        other_votes = np.delete(votes - (classes == codes), i, axis=0)
        top_votes = other_votes.max(axis=0)
        # classes of most votes: each is named by as many models
        leading = (other_votes == top_votes).sum(axis=0) / top_votes
        plurality[i] = (votes[i] - 1 == top_votes) / leading
    return plurality, (votes - 1) / (len(classes) - 1)


def labels_on_agreement(agreement: Any, right: Any) -> float | None:
    """How far labels speak for the order of agreement, as a z: below 0 they speak against it; None where nothing tells.

    A label says s = sum_m (a_m - mean a) [m is right], a_m the agreement of model m with the others; z is the sum of s
    over labels, divided by the root of the sum of their squares.

    agreement : Of each model, shape (model,). right : Whether a model is right on a random labelled row, (model, row).

    >>> labels_on_agreement([0.9, 0.8, 0.5], [[0, 0, 1, 0], [1, 0, 0, 1], [1, 1, 1, 0]]) < 0
    True
    """
    scores, hit = np.asarray(agreement, dtype=np.float64), np.asarray(right, dtype=np.float64)
    says = (scores - scores.mean()) @ hit
    size = float(np.sqrt(np.square(says).sum()))
    return float(says.sum()) / size if len(scores) > 2 and size > 1e-12 else None


AGAINST = -1.28
"""The z of `labels_on_agreement` below which labels speak against agreement; chance alone is there once in ten."""


def pool_evidence(
    pools: Mapping[str, Predictions],
    references: Mapping[str, Predictions] | None = None,
    *,
    estimators: Sequence[str] = ESTIMATORS,
    proxies: Sequence[str] | None = None,
    level: float = 0.95,
) -> PoolEvidence:
    """All that an unlabelled pool says about models, each kind of evidence as one score a model.

    "confidence" (mean max probability), "plurality" and "pairwise agreement" (`agreement_values`), each accuracy proxy,
    and, where there are references, each estimator. Labels in the pool are not looked at. Where a record has no
    members, the other models are its members, which estimators by agreement need. A kind of evidence that one model
    lacks is left out with its reason; so are proxies whose scale is that of one model.

    pools : Model -> its predictions on the pool; the same rows for all.
    references : Model -> its predictions on labelled rows, such as test rows of the training data; the same rows for
        all.
    estimators, proxies : Registered names; the quick estimators of `ESTIMATORS` and all proxies by default.
    level : Of the estimators' intervals.

    Raises `UsageError` for fewer than two models, unknown names, or a reference that is missing, and `InputError` for
    records that are not of the same rows and classes.

    >>> sure = Predictions.from_probabilities([[0.9, 0.1], [0.1, 0.9]] * 20)
    >>> unsure = Predictions.from_probabilities([[0.6, 0.4], [0.4, 0.6]] * 20)
    >>> found = pool_evidence({"sure": sure, "unsure": unsure}, proxies=["nuclear-norm", "mde"])
    >>> found.scores["confidence"].round(2).tolist(), sorted(found.why_not)
    ([0.9, 0.6], ['ac', 'agreement', 'atc', 'cbpe', 'doc', 'gde-difference', 'mde'])
    """
    suite = suite_of({name: record.without_labels() for name, record in pools.items()})
    if references is not None and set(references) != set(pools):
        odd = ", ".join(sorted(set(references) ^ set(pools)))
        raise UsageError(
            f"expected a reference of each model, got pools and references that differ in {odd}"
        )
    plurality, pairwise = agreement_values(suite.predicted)
    scores: dict[str, Array] = {
        "plurality": plurality.mean(axis=1),
        "pairwise agreement": pairwise.mean(axis=1),
    }
    why_not: dict[str, str] = {}
    if suite.probabilities is None:
        why_not["confidence"] = "needs `probabilities` of every model"
    else:
        scores["confidence"] = suite.probabilities.max(axis=2).mean(axis=1)
    for name in names("ranker") if proxies is None else proxies:
        proxy: Ranker = create("ranker", name)
        try:
            scores[name] = _proxy_scores(proxy, pools, references or {})
        except NotApplicable as error:
            why_not[name] = str(error)
    beside = _with_members(pools)
    labelled = None if references is None else _with_members(references)
    intervals: dict[str, tuple[Interval, ...]] = {}
    for name in estimators:
        estimator = create("estimator", name, level=level)
        if labelled is None and estimator.traits.needs_labels:
            why_not[name] = "needs labelled references, such as test rows of the training data"
            continue
        try:
            intervals[name] = _estimates(estimator, beside, labelled)
        except NotApplicable as error:
            why_not[name] = str(error)
            continue
        scores[name] = np.array([interval.value for interval in intervals[name]])
    return PoolEvidence(suite.models, scores, why_not, suite.predicted.shape[1], intervals)


def _proxy_scores(
    proxy: Ranker, pools: Mapping[str, Predictions], references: Mapping[str, Predictions]
) -> Array:
    """The score of each model by an accuracy proxy; `NotApplicable` for one that does not compare models."""
    if not proxy.across_models:
        raise NotApplicable(
            "has the scale of one model: it orders data sets of one model, not models"
        )
    fitted = {model: answer(proxy, partial(proxy.fit, references.get(model))) for model in pools}
    states = {}
    for model, record in pools.items():
        try:
            states[model] = answer(proxy, partial(fitted[model].state_of, record))
        except NotApplicable as error:
            raise NotApplicable(f"{model}: {error}") from None
    settled = {model: answer(proxy, partial(fitted[model].settled, states))[0] for model in pools}
    return np.array(
        [answer(proxy, partial(settled[model].finish, states[model])) for model in pools]
    )


def _estimates(
    estimator: Estimator,
    pools: Mapping[str, Predictions],
    references: Mapping[str, Predictions] | None,
) -> tuple[Interval, ...]:
    """The estimate of each model, fitted on its reference where there are any."""
    out = []
    for model, pool in pools.items():
        labelled = pool if references is None else references[model]
        try:
            fitted = answer(estimator, partial(estimator.fit, labelled))
            estimate = answer(estimator, partial(fitted.estimate, pool.without_labels()))
        except NotApplicable as error:
            raise NotApplicable(f"{model}: {error}") from None
        out.append(estimate.interval)
    return tuple(out)


def _with_members(records: Mapping[str, Predictions]) -> dict[str, Predictions]:
    """The records, each with the other models as members where it has none; labels stay."""
    suite = suite_of(records)
    named: dict[str, int | str] = {}  # a class as its record has it, a number or a text
    for record in records.values():
        named.update({str(cls): cls for cls in record.classes or () if str(cls) not in named})
    out = {}
    for i, (name, record) in enumerate(records.items()):
        if record.members is None:
            other_predictions = np.delete(suite.predicted, i, axis=0)
            theirs = [suite.classes[at] for at in np.unique(other_predictions)]
            class_names = list(map(str, record.classes or ()))
            # which a record of classes alone may lack
            class_names += [cls for cls in theirs if cls not in class_names]
            classes = (
                *(record.classes or ()),
                *(named[cls] for cls in class_names[len(record.classes or ()) :]),
            )
            code = np.zeros(len(suite.classes), dtype=np.int32)
            code[[suite.classes.index(cls) for cls in class_names]] = np.arange(len(class_names))
            record = replace(
                record,
                classes=classes,
                prediction=record.predicted,
                members=code[other_predictions],
                _cache={},
            )
        out[name] = record
    return out
