"""Outcome: from what the models say and the labels to the result: order, probabilities, what would settle it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..inference.clusters import Clusters, clustered_share
from ..intervals import clopper_pearson
from ..passes.evaluating import clusters_said
from ..registry import find, names
from ..results import Interval, Skipped
from ..results.ranking import Evidence, FewShotRanking, ModelPair, RankedModel, Settling
from ..results.values import counted
from ..version import __version__
from .answered import CHOSEN, Answered, RankOptions, shown
from .by_pattern import posterior_by_pattern
from .combination import labels_first, mean_evidence, powered_accuracy
from .explaining import Explained
from .pool import pool_evidence
from .posterior import Posterior, posterior
from .settling import labels_to_settle, rows_to_label
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


_FEW = 5  # labels, below which the order says next to nothing


def outcome_of(
    suite: Answered,
    explained: Explained | None,
    why: str,
    options: RankOptions,
    data: Mapping[str, str | None],
    argv: str | None,
) -> FewShotRanking:
    """The result of a suite; ``why`` says why nothing was explained, where that was asked for."""
    first = suite.labelled
    rows = suite.predicted[:, :first], suite.labels, suite.predicted[:, first:] if suite.pool else None
    found = posterior(*rows, level=options.level, seed=options.seed, clusters=suite.clusters)
    found = replace(found, models=suite.names)
    known = suite.chosen is None and not suite.pool
    found = found if known else posterior_by_pattern(found, *rows, seed=options.seed)
    evidence, skipped = gather(suite, explained, options)
    skipped += [Skipped("attributions", why)] if why else []
    by, notes = _decided_by(suite, evidence, options)
    order = _order(suite, found, evidence) if by == "combined" else list(found.order)
    right = suite.correct[:, suite.random].sum(axis=1)
    accuracy = accuracies(suite, options.level)
    bare = 0 if explained is None else explained.method["without_words"]
    return FewShotRanking(
        version=__version__,
        ranking=tuple(
            RankedModel(
                model=suite.names[at],
                source=suite.sources[at],
                rank=place,
                p_best=float(found.p_best[at]),
                right=int(right[at]),
                accuracy=accuracy.get(suite.names[at]),
                truncated=suite.truncated.get(suite.names[at], 0),
            )
            for place, at in enumerate(order, 1)
        ),
        pairs=tuple(
            ModelPair(
                suite.names[a],
                suite.names[b],
                float(found.p_better[a, b]),
                float(found.disagreement[a, b]),
                int(found.wins[a, b]),
                int(found.wins[b, a]),
            )
            for place, a in enumerate(order)
            for b in order[place + 1 :]
        ),
        evidence=tuple(evidence),
        labelled=suite.labelled,
        chosen=suite.labelled - len(suite.random),
        pool=suite.pool,
        modality=suite.modality,
        classes=suite.classes,
        decided_by=by,
        settling=_settling(suite, found, options),
        level=options.level,
        seed=options.seed,
        data=data,
        columns=suite.columns,
        id_column=suite.id_column,
        numbered=suite.numbered,
        label_column=suite.label_column,
        suggested=_suggested(suite, found.p_best, options.suggest, options.seed),
        examples=() if explained is None else explained.examples(suite),
        attribution=None if explained is None else explained.method,
        left_out=suite.left_out,
        skipped=tuple(skipped),
        notes=(*notes, *([f"{counted(bare, 'example')} without a word: not explained"] if bare else [])),
        warnings=_warnings(suite, found),
        argv=argv,
    )


def _decided_by(suite: Answered, evidence: Sequence[Evidence], options: RankOptions) -> tuple[str, tuple[str, ...]]:
    """What decides the order, and a note where it is not what was asked for."""
    if options.order == "labels":
        return "labels", ()
    if suite.chosen is not None:
        why = "rows that were chosen to be labelled have no place in it"
    elif all(one.name != "combined" for one in evidence):
        why = "there is no evidence beside the labels"
    else:
        return "combined", ()
    return "labels", (f"the combined order was asked for and is not used, as {why}: labels and pool decide",)


def _order(suite: Answered, found: Posterior, evidence: Sequence[Evidence]) -> list[int]:
    """Positions of the models, the best first by the combined evidence; ties as the posterior has them."""
    combined = next(one for one in evidence if one.name == "combined")
    scores = [combined.values[name] for name in suite.names]
    place = {at: rank for rank, at in enumerate(found.order)}
    return sorted(place, key=lambda at: (-(scores[at] or 0.0), place[at]))


def _settling(suite: Answered, found: Posterior, options: RankOptions) -> Settling:
    if suite.chosen is not None or suite.clusters is not None:
        a, b = found.leaders
        p = float(found.p_better[a, b])
        why = (
            ""
            if p >= options.level
            else "how many more labels would settle it is worked out for random, independent rows alone"
        )
        names = suite.names[a], suite.names[b]
        return Settling(*names, p, options.level, 0 if p >= options.level else None, why=why)
    return labels_to_settle(found, options.level, seed=options.seed)


def _warnings(suite: Answered, found: Posterior) -> tuple[str, ...]:
    out = []
    if suite.labelled < _FEW:
        told = counted(suite.labelled, "labelled row")
        out.append(
            f"{told} {'says' if suite.labelled == 1 else 'say'} next to nothing; label ten or more, drawn at random"
        )
    if suite.clusters is not None:
        asked = suite.cluster_column != (suite.id_column or "id")
        sums = Clusters.of(suite.clusters, np.zeros(suite.labelled))
        out.append(f"{clusters_said(sums, suite.cluster_column, asked)}; probabilities, too")
    chosen = suite.labelled - len(suite.random)
    if chosen:
        told = f"{chosen:,} of {counted(suite.labelled, 'labelled row')} {_were(chosen)} chosen by disagreement"
        told += f" (column {CHOSEN})"
        out.append(f"{told}: they count in the probabilities for rows like them; no accuracy is computed from them")
    if not suite.pool:
        out.append("there is no pool: how often the models disagree is known from the labelled rows alone")
    for one, other in itertools.combinations(range(len(suite.names)), 2):
        if found.disagreement[one, other] == 0:
            names = f"{suite.names[one]} and {suite.names[other]}"
            out.append(f"models that say the same on every row cannot be ordered here: {names}")
    absent = sorted(set(suite.labels.tolist()) - set(suite.predicted.ravel().tolist()))
    if absent:
        names = shown([suite.classes[at] for at in absent])
        out.append(
            f"no model ever predicts {names}: on labelled rows of it all are wrong, and it tells none from another"
        )
    out += [
        f"{name} reads less than some inputs hold: {many:,} of {len(suite.ids):,} {_were(many)} cut"
        for name, many in suite.truncated.items()
    ]
    return tuple(out)


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _suggested(suite: Answered, p_best: Any, count: int, seed: int) -> tuple[tuple[str, Any], ...]:
    """Ids and texts of the pool's rows on which likely best models disagree, at most ``count``.

    Raises `UsageError` where there is no pool.
    """
    if not count:
        return ()
    if not suite.pool:
        raise UsageError("rows to label are suggested from a pool, and there is none; give one with --unlabelled FILE")
    places = rows_to_label(suite.predicted[:, suite.labelled :], p_best, count, seed=seed) + suite.labelled
    return tuple((suite.ids[at], suite.inputs[at] if suite.inputs else None) for at in places.tolist())
