"""Evidence: everything that says something of the order, each piece with a number for each model."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from ..arrays import Array
from ..inference.clusters import Clusters, clustered_share
from ..intervals import clopper_pearson
from ..registry import find, names
from ..results import Interval, Skipped
from ..results.ranking import Evidence
from ..results.values import counted
from .answered import Answered
from .combination import labels_first, mean_evidence, powered_accuracy
from .explaining import Explained
from .options import RankOptions
from .pool import pool_evidence
from .suite import Method, fixed

_AGREEMENT = {
    "plurality": "share of the pool's rows on which a model says what most of the others say",
    "pairwise agreement": "mean share of the pool's rows on which a model says what another one says",
}

_ORDERS = "it gives an order without an interval; for an interval that holds with few labels there is `audit`"


def gather(suite: Answered, explained: Explained | None, options: RankOptions) -> tuple[list[Evidence], list[Skipped]]:
    """All evidence, and what could not answer with the reason."""
    evidence, skipped = [], []
    if len(suite.random):
        evidence.append(_accuracy(suite, options.level))
    else:
        skipped.append(Skipped("accuracy, ppi++, conf, conf-gt", "no labelled row was drawn at random"))
    if suite.probabilities is None:
        skipped.append(Skipped("conf, conf-gt, ppi++", "a model gives classes alone, without probabilities"))
    evidence += [*_powered(suite), *_confidence(suite)]
    for made, absent in (_pool(suite, options.level), _factors(suite, explained)):
        evidence += made
        skipped += absent
    return [*evidence, *_combined(suite, evidence)], skipped


def _values(suite: Answered, numbers: Array | Sequence[float]) -> dict[str, float | None]:
    return {name: None if math.isnan(value) else float(value) for name, value in zip(suite.names, numbers, strict=True)}


def accuracies(suite: Answered, level: float) -> dict[str, Interval]:
    """Accuracy of each model on the random labelled rows, exact, in clusters as of so many rows as they are worth."""
    rows = len(suite.random)
    out = {}
    for name, hit in zip(suite.names, suite.correct[:, suite.random], strict=True):
        k = int(hit.sum())
        if rows and suite.clusters is not None:
            ends = clustered_share(Clusters.of(suite.clusters[suite.random], hit), rows, k / rows, level)
            out[name] = Interval(k / rows, *ends, level, "asymptotic")
        elif rows:
            out[name] = Interval(k / rows, *clopper_pearson(k, rows, level), level, "exact")
    return out


def _accuracy(suite: Answered, level: float) -> Evidence:
    found = accuracies(suite, level)
    return Evidence(
        "accuracy",
        "labels",
        "share of the labelled rows that a model gets right, with its exact interval",
        True,
        _values(suite, [found[name].value for name in suite.names]),
        found,
        citation="clopper1934",
    )


def _confidence(suite: Answered) -> list[Evidence]:
    if suite.probabilities is None or not len(suite.random):
        return []
    own = suite.probabilities[:, suite.random]
    truth = np.take_along_axis(own, suite.labels[suite.random][None, :, None], axis=2)[:, :, 0]
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


def _powered(suite: Answered) -> list[Evidence]:
    """Accuracy from labels and pool, with confidence standing for the labels that are missing."""
    rows = suite.random
    if suite.probabilities is None or not suite.pool or not len(rows):
        return []
    sure = suite.probabilities.max(axis=2)
    rule = powered_accuracy(suite.correct[:, rows], sure[:, rows], sure[:, suite.labelled :])
    values = np.clip(rule(np.arange(len(rows))[None])[0], 0, 1)
    about = "prediction-powered accuracy: the labelled rows, moved by how confident the model is on the pool"
    return [Evidence("ppi++", "pool", about, True, _values(suite, values), note=_ORDERS, citation="angelopoulos2023")]


def _pool(suite: Answered, level: float) -> tuple[list[Evidence], list[Skipped]]:
    """What the pool says without a label: estimates, accuracy proxies, agreement."""
    if not suite.pool:
        return [], [Skipped("estimates, proxies and agreement", "they read rows without labels, and there are none")]
    pools = {name: one.slice(suite.labelled, len(one)) for name, one in zip(suite.names, suite.records, strict=True)}
    references = dict(zip(suite.names, suite.references, strict=True)) if suite.references else None
    found = pool_evidence(pools, references, level=level)
    ends = {name: dict(zip(suite.names, some, strict=True)) for name, some in found.intervals.items()}
    ends = ends if suite.clusters is None else {}
    kept = {name: values for name, values in found.scores.items() if name != "confidence"}  # it is the estimator `ac`
    skipped = [Skipped(name, why) for name, why in found.why_not.items() if name != "confidence"]
    if len(suite.names) == 2:  # both agree with each other equally often
        skipped += [Skipped(name, "needs three models or more") for name in _AGREEMENT if name in kept]
        kept = {name: values for name, values in kept.items() if name not in _AGREEMENT}
    return [_of_pool(suite, name, values, ends.get(name, {})) for name, values in kept.items()], skipped


def _of_pool(suite: Answered, name: str, values: Array, intervals: dict[str, Interval]) -> Evidence:
    if name in _AGREEMENT:
        return Evidence(name, "agreement", _AGREEMENT[name], True, _values(suite, values))
    if name in names("ranker"):
        about = "an accuracy proxy: it orders models, and is no accuracy"
        return Evidence(name, "proxy", about, True, _values(suite, values), citation=find("ranker", name).citation)
    cls = find("estimator", name)
    about = f"accuracy without labels, if {cls.assumes}"
    note = "" if suite.clusters is None else "no interval, as rows depend on each other"
    return Evidence(name, "estimate", about, True, _values(suite, values), intervals, note=note, citation=cls.citation)


def _combined(suite: Answered, evidence: Sequence[Evidence]) -> list[Evidence]:
    """Labels first; what they leave open is decided by the other evidence, each group of it with one voice."""
    groups: dict[str, dict[str, Method]] = {}
    for one in evidence:
        if one.group == "labels":
            continue
        sign = 1 if one.higher_is_better else -1
        numbers = [one.values[name] for name in suite.names]
        scores = [math.nan if value is None else sign * value for value in numbers]
        groups.setdefault(one.group, {})[one.name] = fixed(scores)
    rows = suite.random
    if not groups or not len(rows):
        return []
    rule = labels_first(suite.correct[:, rows], {name: mean_evidence(pieces) for name, pieces in groups.items()})
    about = "accuracy on the labelled rows, and all other evidence together for less than one label's worth"
    values = rule(np.arange(len(rows))[None])[0]
    return [Evidence("combined", "combined", about, True, _values(suite, values))]


def _factors(suite: Answered, explained: Explained | None) -> tuple[list[Evidence], list[Skipped]]:
    """The mean of each factor over the examples that have its words; a higher one is ranked lower, always."""
    out: list[Evidence] = []
    skipped: list[Skipped] = []
    if explained is None:
        return out, skipped
    for number, name in enumerate(explained.factors):
        values = explained.values[:, number]
        absent = int(np.isnan(values).all(axis=0).sum())
        rows = values.shape[1]
        if np.isnan(values).all():
            skipped.append(Skipped(name, f"none of the {counted(rows, 'example')} has the words that it looks at"))
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
                note=_lacking(absent, rows),
                citation=cls.citation,
            )
        )
    return out, skipped


def _lacking(absent: int, rows: int) -> str:
    if not absent:
        return ""
    return f"{absent} of {counted(rows, 'example')} {'lacks' if absent == 1 else 'lack'} the words that it looks at"
