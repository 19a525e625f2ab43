"""Baselines: accuracy on the labelled rows, confidence, confidence in the truth, chance, and one guess for all sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..arrays import Array
from ..attributions.factors import FactorTable
from ..errors import NotApplicable, UsageError
from .suite import Method, Rule, Suite, fixed


def factor_methods(tables: Mapping[str, FactorTable]) -> dict[str, Array]:
    """Factor -> minus its values, shape (model, row), nan where its words do not occur; larger = better.

    Factors that no example of any model has are left out. Raises `UsageError` for fewer than two models, and for tables
    of different factors or examples.

    Parameters
    ----------
    tables :
        Model -> its `FactorTable`; the same factors and examples for all.

    >>> a, b = FactorTable(("adj",), np.array([[1.0, np.nan]])), FactorTable(("adj",), np.array([[0.5, np.nan]]))
    >>> factor_methods({"a": a, "b": b})["adj"].tolist()
    [[-1.0, nan], [-0.5, nan]]
    """
    if len(tables) < 2:
        raise UsageError(f"expected factors of at least two models, got {len(tables)}")
    first = next(iter(tables.values()))
    for model, table in tables.items():
        if table.names != first.names or table.values.shape != first.values.shape:
            raise UsageError(f"expected the same factors and examples of all models, got others for {model}")
    values = -np.stack([table.values for table in tables.values()], axis=1)
    return {name: of for name, of in zip(first.names, values, strict=True) if not np.isnan(of).all()}


def accuracy_values(suite: Suite) -> Array:
    """ACC: 1 where a model is right, 0 where it is wrong, nan where the truth is unknown; shape (model, row).

    Source: Singhal et al. (2022), section 3.
    """
    return suite.correct


def confidence_values(suite: Suite) -> Array:
    """CONF: max_k p_k, the probability of the predicted class; shape (model, row). Needs no label.

    Raises `NotApplicable` where a model gives no probabilities. Source: Singhal et al. (2022), section 3.
    """
    return np.asarray(_probabilities(suite).max(axis=2))


def true_class_values(suite: Suite) -> Array:
    """CONF-GT: p_y, the probability of the true class; shape (model, row), nan where the truth is unknown.

    Raises `NotApplicable` where a model gives no probabilities. Source: Singhal et al. (2022), section 3; its Table 1
    has 90 to 93 % for it and its Table 2 20 to 39 %, as if the latter were turned round: print both directions.
    """
    truth = suite.truth
    found = np.take_along_axis(_probabilities(suite), np.maximum(truth, 0)[None, :, None], axis=2)[:, :, 0]
    return np.where(truth < 0, np.nan, found)


def random_order(models: int, *, seed: int = 0) -> Rule:
    """RANDOM: an order by chance in each draw, right about half of the time.

    >>> random_order(3)(np.zeros((2, 10), dtype=np.int64)).shape
    (2, 3)
    """
    return lambda drawn: np.random.default_rng([seed, 0x5A4]).random((len(drawn), models))


def guess(models: int, best: int) -> Rule:
    """GUESS: one model is named best and nothing is said of the others, so that their pairs are ties.

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
    from .few_shot import few_shot_evaluation

    counts = {len(truth) for truth in truths}
    if len(counts) != 1:
        raise UsageError(f"expected sets of the same models, got {sorted(counts)} models; give each set's accuracies")
    models = counts.pop()
    guesses: dict[str, Method] = {str(best): guess(models, best) for best in range(models)}
    found = [few_shot_evaluation(guesses, truth, rows=1, draws=1, size=1).few_shot for truth in truths]
    return np.asarray(np.mean(found, axis=0))


def baseline_methods(suite: Suite, *, seed: int = 0) -> dict[str, Method]:
    """The paper's baselines by name, with both directions of CONF and CONF-GT; those that lack something are left out.

    >>> from oodometer.predictions import Predictions
    >>> from .suite import suite_of
    >>> a = Predictions.from_probabilities([[0.9, 0.1], [0.4, 0.6]], label=[0, 0])
    >>> b = Predictions.from_probabilities([[0.8, 0.2], [0.7, 0.3]], label=[0, 0])
    >>> list(baseline_methods(suite_of({"a": a, "b": b})))
    ['ACC', 'CONF', 'CONF reversed', 'CONF-GT', 'CONF-GT reversed', 'RANDOM']
    """
    out: dict[str, Method] = {}
    labelled = len(suite.labelled) > 0
    if labelled:
        out["ACC"] = accuracy_values(suite)
    if suite.probabilities is not None:
        out["CONF"] = confidence_values(suite)
        out["CONF reversed"] = -confidence_values(suite)
        if labelled:
            out["CONF-GT"] = true_class_values(suite)
            out["CONF-GT reversed"] = -true_class_values(suite)
    return {**out, "RANDOM": random_order(len(suite.models), seed=seed)}


def _probabilities(suite: Suite) -> Array:
    if suite.probabilities is None:
        raise NotApplicable("needs `probabilities` of every model")
    return suite.probabilities
