"""Outcome: from what the models say and the labels to the result: order, probabilities, what would settle it."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import UsageError
from ..inference.clusters import Clusters
from ..passes.evaluating import clusters_said
from ..results import Skipped
from ..results.ranking import Evidence, FewShotRanking, ModelPair, RankedModel, Settling
from ..results.values import counted
from ..version import __version__
from .answered import CHOSEN, Answered, shown
from .by_pattern import posterior_by_pattern
from .evidence import accuracies, gather
from .explaining import Explained
from .options import RankOptions
from .posterior import Posterior, posterior
from .settling import labels_to_settle, rows_to_label

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
