"""Outcome: from what the models say and the labels to the result: order, probabilities, what would settle it."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import UsageError
from ..inference.clusters import Clusters, clustered_share
from ..intervals import clopper_pearson
from ..passes.evaluating import clusters_said
from ..plain import Json, Strings
from ..registry import find, names
from ..results import Interval, Skipped
from ..results.ranking import Evidence, FewShotRanking, ModelPair, RankedModel, Settling
from ..results.values import counted
from ..version import __version__
from .accuracies import ASSUMES, MOST_CLASSES, class_posterior, intervals_of
from .answered import CHOSEN, Answered, shown
from .came_true import as_came_true, group_of, packaged
from .explained import Explained
from .pool import AGAINST, PoolEvidence, labels_on_agreement, pool_evidence
from .posterior import (
    Posterior,
    labels_to_settle,
    posterior,
    posterior_by_pattern,
    rows_to_label,
    safe_to_stop,
)

_AGREEMENT = {
    "plurality": "share of the pool's rows on which a model says what most of the others say",
    "pairwise agreement": "mean share of the pool's rows on which a model says what another one says",
}
_ORDERED_CLASSES = (
    100  # up to which the class posterior is a witness of the order: it takes seconds of a thousand
)


Witnesses = list[tuple[Array, Array, Array]]
"""What `class_posterior` says without and with a reference, of many classes one of them."""


def beliefs_of(answers: Array, truth: Array, **options: Any) -> tuple[Posterior, Witnesses, str]:
    """The posterior of an order, with P(best) as it came true on public suites; the witnesses, or why there are none.

    Parameters as `evidence_of` has them; every verb, format and page takes its probabilities from here.
    """
    result, witnesses, why = evidence_of(answers, truth, **options)
    if not len(result.by_labels):  # labels alone
        return result, witnesses, why
    referenced = options.get("reference") is not None
    return as_came_true(result, packaged(), referenced=referenced), witnesses, why


def evidence_of(
    answers: Array,
    truth: Array,
    *,
    chosen: Array | None = None,
    clusters: Array | None = None,
    known: tuple[Array, Array] | None = None,
    reference: Sequence[float] | None = None,
    **how: Any,
) -> tuple[Posterior, Witnesses, str]:
    """The posterior of an order as labels, pool and reference have it; the witnesses, or why there are none.

    Without a label or known ground nothing tells how far a model's probabilities may be trusted: its classes alone are
    read then.

    answers : Probabilities, shape (model, row, class), or predicted classes, (model, row), the labelled rows first.
    truth, chosen, clusters : Of the labelled rows. known : Answers on known ground of the same form, and their labels.
    reference : Accuracy of each model there. how : Level, seed and draws of `posterior`.
    """
    few, all_rows = len(truth), answers.shape[1]
    predicted = answers if answers.ndim == 2 else answers.argmax(axis=2)
    rows = predicted[:, :few], truth, predicted[:, few:] if all_rows > few else None
    plain = posterior(*rows, clusters=clusters, **how)
    if all_rows == few and chosen is None:
        return plain, [], ""
    classes = int(max(predicted.max(), truth.max(initial=0))) + 1
    if answers.ndim == 3:
        classes = answers.shape[2]
    random = np.arange(few) if chosen is None else np.flatnonzero(~chosen)
    witnesses, why = Witnesses(), ""
    if all_rows > few and (len(random) or not few):
        why = _why_no_witness(classes, dependent=clusters is not None and few > 0)
        if not why:
            witnesses = _witnesses(answers, predicted, truth, random, known, classes)
    ordered = [witness[:2] for witness in witnesses if classes <= _ORDERED_CLASSES]
    if not few and reference is None and len(np.unique(predicted, axis=0)) < 3:
        return plain, [], "two models without a label: each agrees with the other as often"
    result = posterior_by_pattern(
        plain,
        *rows,
        reference=reference,
        classes=ordered,
        chosen=chosen,
        seed=int(how.get("seed", 0)),
    )
    return result, witnesses, why


def _why_no_witness(classes: int, *, dependent: bool) -> str:
    """Why the class posterior is not asked, "" where it is; ``dependent``: labelled rows depend on each other."""
    if dependent:
        return "rows depend on each other, and it takes each label for one of its own"
    return f"more than {MOST_CLASSES:,} classes" if classes > MOST_CLASSES else ""


def _witnesses(
    answers: Array,
    predicted: Array,
    truth: Array,
    random: Array,
    known_ground: tuple[Array, Array] | None,
    classes: int,
) -> Witnesses:
    """The class posterior without and with known ground, by the labels of random rows and all rows without a label."""
    at = np.concatenate([random, np.arange(len(truth), answers.shape[1])])
    full, alone = (
        (read[:, at], truth[random], np.arange(len(random))) for read in (answers, predicted)
    )
    witnesses = Witnesses()
    if known_ground is None or classes <= _ORDERED_CLASSES:
        witnesses.append(class_posterior(*(full if len(truth) else alone)))
    if known_ground is not None:
        witnesses.append(class_posterior(*full, reference=known_ground))
    return witnesses


def gather(
    suite: Answered,
    explained: Explained | None,
    accuracy_with_pool: Sequence[Interval] | str,
    options: Any,
) -> tuple[list[Evidence], list[Skipped]]:
    """All evidence, and what could not answer with the reason; ``accuracy_with_pool`` of each model, or why not."""
    answers = [
        *_label_evidence(suite, options.level),
        *_confidence_evidence(suite),
        *_recalibrated_evidence(suite, accuracy_with_pool),
        *_pool_evidence(suite, options.level),
        *(() if explained is None else _factor_evidence(suite, explained)),
    ]
    evidence = [answer for answer in answers if isinstance(answer, Evidence)]
    return evidence, [answer for answer in answers if isinstance(answer, Skipped)]


def _by_model(suite: Answered, numbers: Array | Sequence[float]) -> dict[str, float | None]:
    """Numbers by model, None for NaN."""
    pairs = zip(suite.names, numbers, strict=True)
    return {model: None if math.isnan(value) else float(value) for model, value in pairs}


def _label_evidence(suite: Answered, level: float) -> Iterator[Evidence | Skipped]:
    """Accuracy on the labelled rows that were drawn at random."""
    if not len(suite.random):
        why = (
            "no labelled row was drawn at random" if suite.labelled else "there is no labelled row"
        )
        yield Skipped("accuracy, conf, conf-gt", why)
        return
    exact = accuracies(suite, level)
    about = "share of the labelled rows that a model gets right, with its exact interval"
    values = _by_model(suite, [exact[name].value for name in suite.names])
    yield Evidence("accuracy", "labels", about, True, values, exact, citation="clopper1934")


def _confidence_evidence(suite: Answered) -> Iterator[Evidence | Skipped]:
    """Probabilities of the true and of the predicted class on the random labelled rows."""
    rows, p = suite.random, suite.probabilities
    if p is None:
        why = "a model gives classes alone, without probabilities"
        yield Skipped("conf, conf-gt", why)
    elif len(rows):
        labelled_probabilities = p[:, rows]
        truth = np.take_along_axis(
            labelled_probabilities, suite.labels[rows][None, :, None], axis=2
        )[:, :, 0]
        about = "mean probability of the true class on the labelled rows"
        values = _by_model(suite, truth.mean(axis=1))
        yield Evidence("conf-gt", "confidence", about, True, values, citation="singhal2022")
        about = "mean probability of the predicted class on the labelled rows, right or wrong"
        values = _by_model(suite, labelled_probabilities.max(axis=2).mean(axis=1))
        yield Evidence("conf", "confidence", about, True, values, citation="singhal2022")


def _recalibrated_evidence(
    suite: Answered, accuracy_with_pool: Sequence[Interval] | str
) -> Iterator[Evidence | Skipped]:
    """Accuracy from labels and pool together."""
    if not isinstance(accuracy_with_pool, str):
        about = f"accuracy from the labels and what all models say of all rows, if {ASSUMES}"
        values = _by_model(suite, [interval.value for interval in accuracy_with_pool])
        intervals = dict(zip(suite.names, accuracy_with_pool, strict=True))
        yield Evidence("recalibrated", "pool", about, True, values, intervals)
    elif accuracy_with_pool:
        yield Skipped("recalibrated", accuracy_with_pool)


def _pool_evidence(suite: Answered, level: float) -> Iterator[Evidence | Skipped]:
    """What the pool says without a label: estimates, accuracy proxies, agreement."""
    if not suite.pool:
        why = "they read rows without labels, and there are none"
        yield Skipped("estimates, proxies and agreement", why)
        return
    pools = {
        name: record.slice(suite.labelled, len(record))
        for name, record in zip(suite.names, suite.records, strict=True)
    }
    references = dict(zip(suite.names, suite.references, strict=True)) if suite.references else None
    pool = pool_evidence(pools, references, level=level)
    for name, why in pool.why_not.items():
        if name != "confidence":  # it is the estimator `ac`
            yield Skipped(name, why)
    unordered = _AGREEMENT.keys() & pool.scores if len(suite.names) == 2 else set()
    for name in _AGREEMENT:  # two models agree with each other equally often
        if name in unordered:
            yield Skipped(name, "needs three models or more")
    for name in pool.scores:
        if name != "confidence" and name not in unordered:
            yield _score_evidence(suite, pool, name)


def _score_evidence(suite: Answered, pool: PoolEvidence, name: str) -> Evidence:
    """One score of the pool as evidence."""
    values = _by_model(suite, pool.scores[name])
    if name in _AGREEMENT:
        return Evidence(name, "agreement", _AGREEMENT[name], True, values)
    if name in names("ranker"):
        about = "an accuracy proxy: it orders models, and is no accuracy"
        citation = find("ranker", name).citation
        return Evidence(name, "proxy", about, True, values, citation=citation)
    cls, clustered = find("estimator", name), suite.clusters is not None
    ends = () if clustered else pool.intervals.get(name, ())
    return Evidence(
        name,
        "estimate",
        f"accuracy without labels, if {cls.assumes}",
        True,
        values,
        intervals=dict(zip(suite.names, ends, strict=False)),
        note="no interval, as rows depend on each other" if clustered else "",
        citation=cls.citation,
    )


def _factor_evidence(suite: Answered, explained: Explained) -> Iterator[Evidence | Skipped]:
    """The mean of each factor over the examples that have its words; a higher one is ranked lower, always."""
    for number, name in enumerate(explained.factors):
        values = explained.values[:, number]
        has_words, examples = ~np.isnan(values), counted(values.shape[1], "example")
        if not has_words.any():
            yield Skipped(name, f"none of the {examples} has the words that it looks at")
            continue
        means = np.where(has_words, values, 0).sum(axis=1) / np.maximum(has_words.sum(axis=1), 1)
        means = np.where(has_words.any(axis=1), means, np.nan)
        absent, cls = int((~has_words).all(axis=0).sum()), find("factor", name)
        note = f"{absent} of {examples} {'lacks' if absent == 1 else 'lack'} the words that it looks at"
        yield Evidence(
            name,
            "factor",
            f"{cls.about}; a high value: {cls.heuristic}",
            False,
            _by_model(suite, means),
            note=note if absent else "",
            citation=cls.citation,
        )


def accuracies(suite: Answered, level: float) -> dict[str, Interval]:
    """Accuracy of each model on the random labelled rows, exact, in clusters as of so many rows as they are worth."""
    rows = len(suite.random)
    out = {}
    for name, hit in zip(suite.names, suite.correct[:, suite.random], strict=True):
        k = int(hit.sum())
        if rows and suite.clusters is not None:
            ends = clustered_share(
                Clusters.of(suite.clusters[suite.random], hit), rows, k / rows, level
            )
            out[name] = Interval(k / rows, *ends, level, "asymptotic")
        elif rows:
            out[name] = Interval(k / rows, *clopper_pearson(k, rows, level), level, "exact")
    return out


_COST_LEVEL = 0.9  # of the bound on what picking the first costs
_FEW = 5  # labels, below which the order says next to nothing


def outcome_of(
    suite: Answered,
    explained: Explained | None,
    why: str,
    options: Any,
    data: Mapping[str, str | None],
    argv: str | None,
) -> FewShotRanking:
    """The result of a suite; ``why`` says why nothing was explained, where that was asked for."""
    answers = suite.predicted if suite.probabilities is None else suite.probabilities
    known_ground = _known_ground(suite, answers.ndim)
    beliefs, witnesses, why_not = beliefs_of(
        answers,
        suite.labels,
        chosen=suite.chosen,
        clusters=suite.clusters,
        known=known_ground,
        reference=[float(np.mean(r.predicted == r.label)) for r in suite.references] or None,
        level=options.level,
        seed=options.seed,
    )
    beliefs = replace(beliefs, models=suite.names)
    if not suite.labelled and known_ground is None:
        needs = "needs a labelled row, or rows of known ground that all models answered"
        witnesses, why_not = [], why_not or needs
    with_pool = intervals_of(*witnesses[-1], options.level) if witnesses else why_not
    evidence, skipped = gather(suite, explained, with_pool, options)
    skipped += [Skipped("attributions", why)] if why else []
    settling, stop = _settling(suite, beliefs, options), _stop(suite, beliefs, options.level)
    suggested = _suggested(suite, beliefs, options)
    on_agreement = _labels_on_agreement(suite, beliefs)
    best = beliefs.order[0]
    cost, at_most = beliefs.cost(best, _COST_LEVEL)
    bare = 0 if explained is None else explained.method["without_words"]
    return FewShotRanking(
        version=__version__,
        ranking=_ranked(suite, beliefs, options.level),
        pairs=_pairs(suite, beliefs),
        evidence=tuple(evidence),
        labelled=suite.labelled,
        pool=suite.pool,
        modality=suite.modality,
        classes=suite.classes,
        columns=suite.columns,
        id_column=suite.id_column,
        numbered=suite.numbered,
        left_out=suite.left_out,
        label_column=suite.label_column,
        chosen=suite.labelled - len(suite.random),
        settling=settling,
        cost={
            "model": suite.names[best],
            "expected": cost,
            "at_most": at_most,
            "level": _COST_LEVEL,
        },
        not_excluded=tuple(suite.names[at] for at in beliefs.not_excluded(options.level)),
        stop=stop,
        level=options.level,
        seed=options.seed,
        data=data,
        labels_on_agreement=on_agreement,
        labels_against_agreement=on_agreement is not None and on_agreement < AGAINST,
        p_best_as_it_came=beliefs.as_said,
        public=_public(suite, beliefs, bool(suggested)),
        suggested=suggested,
        examples=() if explained is None else explained.examples,
        attribution=None if explained is None else explained.method,
        skipped=tuple(skipped),
        notes=((f"{counted(bare, 'example')} without a word: not explained",) if bare else ()),
        warnings=(*suite.notes, *_warnings(suite, beliefs)),
        argv=argv,
    )


def _known_ground(suite: Answered, axes: int) -> tuple[Array, Array] | None:
    """Answers on known ground, in the form of those with so many axes, and their labels; None without a reference, and
    where those of several files are not of the same rows.
    """
    labels = [np.asarray(reference.label) for reference in suite.references]
    answers = [
        np.asarray(reference.predicted if axes == 2 else reference.probabilities)
        for reference in suite.references
    ]
    if not answers or any(each.shape != answers[0].shape for each in answers):
        return None
    if answers[0].ndim != axes - 1 or any(not np.array_equal(codes, labels[0]) for codes in labels):
        return None
    return np.stack(answers), labels[0]


def _settling(suite: Answered, beliefs: Posterior, options: Any) -> Settling:
    """How many more labels would tell the first two models apart."""
    if suite.chosen is None and suite.clusters is None:
        return labels_to_settle(beliefs, options.level, seed=options.seed)
    a, b = beliefs.leaders
    better = float(beliefs.p_better[a, b])
    settling = Settling(suite.names[a], suite.names[b], better, options.level, 0)
    if better >= options.level:
        return settling
    why = "how many more labels would settle it is worked out for random, independent rows alone"
    return replace(settling, labels=None, why=why)


def _stop(suite: Answered, beliefs: Posterior, level: float) -> Json:
    """Whether random labels show the first model to be the best however often one looked; chosen ones have no part."""
    if suite.clusters is not None:
        return {"safe": False, "why": "rows depend on each other"}
    best = beliefs.order[0]
    rivals = [at for at in range(len(suite.names)) if beliefs.disagreement[best, at] > 0]
    if not rivals:
        return {"safe": False, "why": "it differs from no other model"}
    hit = suite.correct[:, suite.random].astype(np.int64)
    wins = (hit @ (1 - hit).T)[np.ix_([best, *rivals], [best, *rivals])]
    safe, e_value, needed = safe_to_stop(wins, 0, level)
    return {"safe": safe, "e_value": e_value, "needed": needed, "level": level}


def _labels_on_agreement(suite: Answered, beliefs: Posterior) -> float | None:
    """`labels_on_agreement` of the models; None without a pool, of which nothing is read by agreement."""
    if not suite.pool:
        return None
    agreement = -beliefs.disagreement.mean(axis=1)
    return labels_on_agreement(agreement, suite.correct[:, suite.random])


def _suggested(suite: Answered, beliefs: Posterior, options: Any) -> tuple[tuple[str, Any], ...]:
    """Ids and inputs of rows of the pool on which likely best models disagree, where some were asked for."""
    if not options.suggest:
        return ()
    if not suite.pool:
        raise UsageError(
            "rows to label are suggested from a pool, and there is none; give one with --unlabelled FILE"
        )
    rest = suite.predicted[:, suite.labelled :]
    rows = rows_to_label(rest, beliefs.p_best, options.suggest, seed=options.seed)
    return tuple(
        (suite.ids[at], suite.inputs[at] if suite.inputs else None)
        for at in (rows + suite.labelled).tolist()
    )


def _ranked(suite: Answered, beliefs: Posterior, level: float) -> tuple[RankedModel, ...]:
    """The models, the best first."""
    right = suite.correct[:, suite.random].sum(axis=1)
    accuracy = accuracies(suite, level)
    return tuple(
        RankedModel(
            suite.names[at],
            suite.sources[at],
            rank,
            float(beliefs.p_best[at]),
            int(right[at]),
            accuracy.get(suite.names[at]),
            suite.truncated.get(suite.names[at], 0),
        )
        for rank, at in enumerate(beliefs.order, 1)
    )


def _pairs(suite: Answered, beliefs: Posterior) -> tuple[ModelPair, ...]:
    """Each two models, the better one first."""
    return tuple(
        ModelPair(
            suite.names[a],
            suite.names[b],
            float(beliefs.p_better[a, b]),
            float(beliefs.disagreement[a, b]),
            int(beliefs.wins[a, b]),
            int(beliefs.wins[b, a]),
        )
        for a, b in itertools.combinations(beliefs.order, 2)
    )


def _public(suite: Answered, result: Posterior, suggested: bool) -> Json:
    """What came true on public suites of orders without a label, and of rows that were suggested."""
    measured, out = packaged(), dict[str, Any]()
    out["suites"], out["sources"] = measured.about["suites"], measured.about["sources"]
    if not suite.labelled:
        models = len(np.unique((result.disagreement == 0).argmax(axis=1)))
        right = measured.orders["reference" if suite.references else "no reference"].get(
            group_of(models)
        )
        out |= {"models": group_of(models), "pairs_right": right}
        out["pairs_right_counting_ten"] = measured.orders["counting ten labels"][group_of(models)]
    if suggested:
        mean, lower, upper = measured.orders["suggested less random"]
        out["suggested"] = {
            "suites": measured.orders["suggested suites"],
            "regret": mean,
            "lower": lower,
            "upper": upper,
        }
    return out


def _warnings(suite: Answered, result: Posterior) -> Strings:
    out = []
    if 0 < suite.labelled < _FEW:
        text = f"{counted(suite.labelled, 'labelled row')} {'says' if suite.labelled == 1 else 'say'} next to nothing"
        out.append(f"{text}; label ten or more, drawn at random")
    if suite.clusters is not None and suite.labelled:
        named = suite.cluster_column != (suite.id_column or "id")
        sums = Clusters.of(suite.clusters, np.zeros(suite.labelled))
        out.append(f"{clusters_said(sums, suite.cluster_column, named)}; probabilities, too")
    chosen = suite.labelled - len(suite.random)
    if chosen:
        text = f"{chosen:,} of {counted(suite.labelled, 'labelled row')} {'was' if chosen == 1 else 'were'} chosen"
        text += f" by disagreement (column {CHOSEN})"
        out.append(
            f"{text}: they count in the probabilities for rows like them; no accuracy is computed from them"
        )
    if not suite.pool:
        out.append(
            "there is no pool: how often the models disagree is known from the labelled rows alone"
        )
    for first, second in itertools.combinations(range(len(suite.names)), 2):
        if result.disagreement[first, second] == 0:
            names = f"{suite.names[first]} and {suite.names[second]}"
            out.append(f"models that say the same on every row cannot be ordered here: {names}")
    absent = sorted(set(suite.labels.tolist()) - set(suite.predicted.ravel().tolist()))
    if absent:
        text = f"no model ever predicts {shown([suite.classes[at] for at in absent])}"
        out.append(
            f"{text}: on labelled rows of it all are wrong, and no two models differ on them"
        )
    out += [
        f"{name} reads less than some inputs hold: {cut:,} of {len(suite.ids):,} {'was' if cut == 1 else 'were'} cut"
        for name, cut in suite.truncated.items()
    ]
    return tuple(out)
