"""Evidence: everything that says something of the order, each piece with a number for each model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...rankings.posterior import Posterior
from ...registry import find
from ...results import Skipped
from ...results.ranking import Evidence
from .explaining import Explained
from .options import RankOptions
from .suite import Suite

__all__ = ["gather"]


def gather(
    suite: Suite, found: Posterior, explained: Explained | None, options: RankOptions
) -> tuple[list[Evidence], list[Skipped]]:
    """All evidence, and what could not answer with the reason."""
    evidence = [_accuracy(suite, found)]
    skipped: list[Skipped] = []
    evidence += _confidence(suite)
    if suite.probabilities is None:
        skipped.append(Skipped("confidence", "a model gives classes alone, without probabilities"))
    if explained is not None:
        made, absent = _factors(suite, explained)
        evidence += made
        skipped += absent
    return evidence, skipped


def _values(suite: Suite, numbers: Array | Sequence[float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in zip(suite.names, numbers, strict=True)}


def _accuracy(suite: Suite, found: Posterior) -> Evidence:
    return Evidence(
        "accuracy",
        "labels",
        "share of the labelled rows that a model gets right, with its exact interval",
        True,
        _values(suite, suite.correct.mean(axis=1)),
        dict(zip(suite.names, found.accuracy, strict=True)),
        citation="clopper1934",
    )


def _confidence(suite: Suite) -> list[Evidence]:
    if suite.probabilities is None:
        return []
    own = suite.probabilities[:, : suite.labelled]
    truth = np.take_along_axis(own, suite.labels[None, :, None], axis=2)[:, :, 0]
    return [
        Evidence(
            "conf-gt",
            "confidence",
            "mean probability of the true class on the labelled rows",
            True,
            _values(suite, truth.mean(axis=1)),
            citation="singhal2022",
        ),
        Evidence(
            "conf",
            "confidence",
            "mean probability of the predicted class on the labelled rows, right or wrong",
            True,
            _values(suite, own.max(axis=2).mean(axis=1)),
            citation="singhal2022",
        ),
    ]


def _factors(suite: Suite, explained: Explained) -> tuple[list[Evidence], list[Skipped]]:
    """The mean of each factor over the examples that have its words; a higher one is ranked lower, always."""
    out, skipped = [], []
    for number, name in enumerate(explained.factors):
        values = explained.values[:, number]
        absent = int(np.isnan(values).all(axis=0).sum())
        rows = values.shape[1]
        if np.isnan(values).all():
            skipped.append(Skipped(name, f"none of the {rows} examples has the words that it looks at"))
            continue
        kept = ~np.isnan(values)
        means = np.where(kept, values, 0).sum(axis=1) / np.maximum(kept.sum(axis=1), 1)
        means = np.where(kept.any(axis=1), means, np.nan)
        cls = find("factor", name)
        out.append(
            Evidence(
                name,
                "factor",
                f"{cls.about}; a high value: {cls.heuristic}",
                False,
                _values(suite, means),
                note=f"{absent} of {rows} examples lack the words that it looks at" if absent else "",
                citation=cls.citation,
            )
        )
    return out, skipped
