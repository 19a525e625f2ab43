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
from .accuracies import ASSUMES, MOST_CLASSES, class_posterior, intervals_of
from .answered import CHOSEN, Answered, shown
from .came_true import as_came_true, group_of, packaged
from .explaining import Explained
from .pool import AGAINST, labels_on_agreement, pool_evidence
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


def beliefs_of(answers: Array, truth: Array, **given: Any) -> tuple[Posterior, Witnesses, str]:
    """The posterior of an order, with P(best) as it came true on public suites; the witnesses, or why there are none.

    Parameters as `evidence_of` has them; every verb, format and page takes its probabilities from here.
    """
    result, witnesses, why = evidence_of(answers, truth, **given)
    if not len(result.by_labels):  # labels alone
        return result, witnesses, why
    referenced = given.get("reference") is not None
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
    random = np.arange(few) if chosen is None else np.flatnonzero(~chosen)
    classes = (
        answers.shape[2]
        if answers.ndim == 3
        else int(max(predicted.max(), truth.max(initial=0))) + 1
    )
    witnesses, why = Witnesses(), ""
    if (few and not len(random)) or all_rows == few:
        pass
    elif clusters is not None and few:
        why = "rows depend on each other, and it takes each label for one of its own"
    elif classes > MOST_CLASSES:
        why = f"more than {MOST_CLASSES:,} classes"
    else:
        at = np.concatenate([random, np.arange(few, all_rows)])
        given, alone = (
            (read[:, at], truth[random], np.arange(len(random))) for read in (answers, predicted)
        )
        if known is None or classes <= _ORDERED_CLASSES:
            witnesses.append(class_posterior(*(given if few else alone)))
        if known is not None:
            witnesses.append(class_posterior(*given, reference=known))
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


def gather(
    suite: Answered,
    explained: Explained | None,
    accuracy_with_pool: Sequence[Interval] | str,
    options: Any,
) -> tuple[list[Evidence], list[Skipped]]:
    """All evidence, and what could not answer with the reason; ``accuracy_with_pool`` of each model, or why not."""
    evidence: list[Evidence] = []
    skipped: list[Skipped] = []

    def add(
        name: str, group: str, about: str, numbers: Array | Sequence[float], **more: Any
    ) -> None:
        pairs = zip(suite.names, numbers, strict=True)
        values = {model: None if math.isnan(value) else float(value) for model, value in pairs}
        evidence.append(Evidence(name, group, about, more.pop("higher", True), values, **more))

    rows, p = suite.random, suite.probabilities
    if len(rows):
        exact = accuracies(suite, options.level)
        about = "share of the labelled rows that a model gets right, with its exact interval"
        numbers = [exact[name].value for name in suite.names]
        add("accuracy", "labels", about, numbers, intervals=exact, citation="clopper1934")
    else:
        why_none = (
            "no labelled row was drawn at random" if suite.labelled else "there is no labelled row"
        )
        skipped.append(Skipped("accuracy, conf, conf-gt", why_none))
    if p is None:
        skipped.append(
            Skipped("conf, conf-gt", "a model gives classes alone, without probabilities")
        )
    if p is not None and len(rows):
        own = p[:, rows]
        truth = np.take_along_axis(own, suite.labels[rows][None, :, None], axis=2)[:, :, 0]
        about = "mean probability of the true class on the labelled rows"
        add("conf-gt", "confidence", about, truth.mean(axis=1), citation="singhal2022")
        about = "mean probability of the predicted class on the labelled rows, right or wrong"
        add("conf", "confidence", about, own.max(axis=2).mean(axis=1), citation="singhal2022")
    if isinstance(accuracy_with_pool, str):
        skipped += [Skipped("recalibrated", accuracy_with_pool)] if accuracy_with_pool else []
    else:
        about = f"accuracy from the labels and what all models say of all rows, if {ASSUMES}"
        of_model = dict(zip(suite.names, accuracy_with_pool, strict=True))
        add(
            "recalibrated",
            "pool",
            about,
            [end.value for end in accuracy_with_pool],
            intervals=of_model,
        )
    # What the pool says without a label: estimates, accuracy proxies, agreement
    if suite.pool:
        pools = {
            name: r.slice(suite.labelled, len(r))
            for name, r in zip(suite.names, suite.records, strict=True)
        }
        references = (
            dict(zip(suite.names, suite.references, strict=True)) if suite.references else None
        )
        pool = pool_evidence(pools, references, level=options.level)
        few = len(suite.names) == 2  # both agree with each other equally often
        skipped += [
            Skipped(name, why) for name, why in pool.why_not.items() if name != "confidence"
        ]
        skipped += [
            Skipped(name, "needs three models or more")
            for name in _AGREEMENT
            if few and name in pool.scores
        ]
        for name, values in pool.scores.items():
            if name == "confidence" or (
                few and name in _AGREEMENT
            ):  # confidence is the estimator `ac`
                continue
            if name in _AGREEMENT:
                add(name, "agreement", _AGREEMENT[name], values)
            elif name in names("ranker"):
                about = "an accuracy proxy: it orders models, and is no accuracy"
                add(name, "proxy", about, values, citation=find("ranker", name).citation)
            else:
                cls, clustered = find("estimator", name), suite.clusters is not None
                ends = () if clustered else pool.intervals.get(name, ())
                more = {
                    "intervals": dict(zip(suite.names, ends, strict=False)),
                    "citation": cls.citation,
                }
                note = "no interval, as rows depend on each other" if clustered else ""
                add(
                    name,
                    "estimate",
                    f"accuracy without labels, if {cls.assumes}",
                    values,
                    note=note,
                    **more,
                )
    else:
        why = "they read rows without labels, and there are none"
        skipped.append(Skipped("estimates, proxies and agreement", why))
    # The mean of each factor over the examples that have its words; a higher one is ranked lower, always
    for number, name in enumerate(() if explained is None else explained.factors):
        assert explained is not None
        values = explained.values[:, number]
        there, examples = ~np.isnan(values), counted(values.shape[1], "example")
        if not there.any():
            skipped.append(Skipped(name, f"none of the {examples} has the words that it looks at"))
            continue
        means = np.where(there, values, 0).sum(axis=1) / np.maximum(there.sum(axis=1), 1)
        means = np.where(there.any(axis=1), means, np.nan)
        absent, cls = int((~there).all(axis=0).sum()), find("factor", name)
        note = f"{absent} of {examples} {'lacks' if absent == 1 else 'lack'} the words that it looks at"
        about = f"{cls.about}; a high value: {cls.heuristic}"
        add(
            name,
            "factor",
            about,
            means,
            higher=False,
            note=note if absent else "",
            citation=cls.citation,
        )
    return evidence, skipped


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
    first = suite.labelled
    answers = suite.predicted if suite.probabilities is None else suite.probabilities
    reference, known = (
        [float(np.mean(own.predicted == own.label)) for own in suite.references] or None,
        None,
    )
    theirs = [np.asarray(own.label) for own in suite.references]
    each = [
        np.asarray(own.predicted if answers.ndim == 2 else own.probabilities)
        for own in suite.references
    ]
    same = all(
        of_model.shape == each[0].shape and of_model.ndim == answers.ndim - 1 for of_model in each
    )
    if theirs and same and all(np.array_equal(labels, theirs[0]) for labels in theirs):
        known = (
            np.stack(each),
            theirs[0],
        )  # references of several files need not be of the same rows
    about: dict[str, Any] = {"chosen": suite.chosen, "clusters": suite.clusters, "known": known}
    about |= {"reference": reference, "level": options.level, "seed": options.seed}
    beliefs, witnesses, why_not = beliefs_of(answers, suite.labels, **about)
    beliefs = replace(beliefs, models=suite.names)
    if not suite.labelled and known is None:
        witnesses, why_not = (
            [],
            why_not or "needs a labelled row, or rows of known ground that all models answered",
        )
    with_pool = intervals_of(*witnesses[-1], options.level) if witnesses else why_not
    evidence, skipped = gather(suite, explained, with_pool, options)
    skipped += [Skipped("attributions", why)] if why else []
    order = beliefs.order
    (a, b), called = beliefs.leaders, suite.names
    better, apart, wins = beliefs.p_better, beliefs.disagreement, beliefs.wins
    settling = Settling(called[a], called[b], float(better[a, b]), options.level, 0)
    if suite.chosen is None and suite.clusters is None:
        settling = labels_to_settle(beliefs, options.level, seed=options.seed)
    elif better[a, b] < options.level:
        unknown = (
            "how many more labels would settle it is worked out for random, independent rows alone"
        )
        settling = replace(settling, labels=None, why=unknown)
    cost, at_most = beliefs.cost(order[0], _COST_LEVEL)
    stop: dict[str, Any] = {"safe": False, "why": "rows depend on each other"}
    if suite.clusters is None:  # labels that were chosen have no part in it
        hit = suite.correct[:, suite.random].astype(np.int64)
        others = [at for at in range(len(called)) if apart[order[0], at] > 0]
        wins_of = (hit @ (1 - hit).T)[np.ix_([order[0], *others], [order[0], *others])]
        stop = {"safe": False, "why": "it differs from no other model"}
        if others:
            safe, e_value, needed = safe_to_stop(wins_of, 0, options.level)
            stop = {"safe": safe, "e_value": e_value, "needed": needed, "level": options.level}
    suggested: list[int] = []  # rows of the pool on which likely best models disagree
    if options.suggest and not suite.pool:
        raise UsageError(
            "rows to label are suggested from a pool, and there is none; give one with --unlabelled FILE"
        )
    if options.suggest:
        rest = suite.predicted[:, first:]
        suggested = (
            rows_to_label(rest, beliefs.p_best, options.suggest, seed=options.seed) + first
        ).tolist()
    right = suite.correct[:, suite.random].sum(axis=1)
    on_agreement = (
        labels_on_agreement(-apart.mean(axis=1), suite.correct[:, suite.random])
        if suite.pool
        else None
    )
    accuracy = accuracies(suite, options.level)
    bare = 0 if explained is None else explained.method["without_words"]
    chances = [
        (index, float(beliefs.p_best[at]), int(right[at])) for index, at in enumerate(order, 1)
    ]
    ranked = [(called[at], suite.sources[at], *row) for at, row in zip(order, chances, strict=True)]
    of_suite = (
        "labelled",
        "pool",
        "modality",
        "classes",
        "columns",
        "id_column",
        "numbered",
        "left_out",
    )
    return FewShotRanking(
        version=__version__,
        ranking=tuple(
            RankedModel(*row, accuracy.get(row[0]), suite.truncated.get(row[0], 0))
            for row in ranked
        ),
        pairs=tuple(
            ModelPair(
                called[a],
                called[b],
                float(better[a, b]),
                float(apart[a, b]),
                int(wins[a, b]),
                int(wins[b, a]),
            )
            for index, a in enumerate(order)
            for b in order[index + 1 :]
        ),
        evidence=tuple(evidence),
        **{name: getattr(suite, name) for name in of_suite},
        label_column=suite.label_column,
        chosen=suite.labelled - len(suite.random),
        settling=settling,
        cost={
            "model": called[order[0]],
            "expected": cost,
            "at_most": at_most,
            "level": _COST_LEVEL,
        },
        not_excluded=tuple(called[at] for at in beliefs.not_excluded(options.level)),
        stop=stop,
        level=options.level,
        seed=options.seed,
        data=data,
        labels_on_agreement=on_agreement,
        labels_against_agreement=on_agreement is not None and on_agreement < AGAINST,
        p_best_as_it_came=beliefs.as_said,
        public=_public(suite, beliefs, bool(suggested)),
        suggested=tuple(
            (suite.ids[at], suite.inputs[at] if suite.inputs else None) for at in suggested
        ),
        examples=() if explained is None else explained.examples(suite),
        attribution=None if explained is None else explained.method,
        skipped=tuple(skipped),
        notes=((f"{counted(bare, 'example')} without a word: not explained",) if bare else ()),
        warnings=_warnings(suite, beliefs),
        argv=argv,
    )


def _public(suite: Answered, result: Posterior, suggested: bool) -> dict[str, Any]:
    """What came true on public suites of orders without a label, and of rows that were suggested."""
    kept, out = packaged(), dict[str, Any]()
    out["suites"], out["sources"] = kept.about["suites"], kept.about["sources"]
    if not suite.labelled:
        models = len(np.unique((result.disagreement == 0).argmax(axis=1)))
        right = kept.orders["reference" if suite.references else "no reference"].get(
            group_of(models)
        )
        out |= {"models": group_of(models), "pairs_right": right}
        out["pairs_right_counting_ten"] = kept.orders["counting ten labels"][group_of(models)]
    if suggested:
        mean, lower, upper = kept.orders["suggested less random"]
        out["suggested"] = {
            "suites": kept.orders["suggested suites"],
            "regret": mean,
            "lower": lower,
            "upper": upper,
        }
    return out


def _warnings(suite: Answered, result: Posterior) -> tuple[str, ...]:
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
    for first, other in itertools.combinations(range(len(suite.names)), 2):
        if result.disagreement[first, other] == 0:
            names = f"{suite.names[first]} and {suite.names[other]}"
            out.append(f"models that say the same on every row cannot be ordered here: {names}")
    absent = sorted(set(suite.labels.tolist()) - set(suite.predicted.ravel().tolist()))
    if absent:
        text = f"no model ever predicts {shown([suite.classes[at] for at in absent])}"
        out.append(
            f"{text}: on labelled rows of it all are wrong, and no two models differ on them"
        )
    out += [
        f"{name} reads less than some inputs hold: {many:,} of {len(suite.ids):,} {'was' if many == 1 else 'were'} cut"
        for name, many in suite.truncated.items()
    ]
    return tuple(out)
