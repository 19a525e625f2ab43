"""Models on targets without labels: headline, accuracy-coverage curve and the difference of pairs, for `compare`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..arrays import Array, present
from ..audits.joining import KEY
from ..errors import NotApplicable, UsageError
from ..headline.natural_differences import group_of, packaged_differences, pairs_on_target
from ..metrics.ranks import LIMIT
from ..notes import TARGET_LABELS, kind_of
from ..passes.evaluating import named_classes
from ..passes.folding import Execution
from ..plain import Json, Plain, Strings
from ..results import Interval
from ..store import Source
from .compare_differences import ranked
from .compare_job import CompareJob
from .compare_rows import Domain, ids_of


def rankings_on_target(titles: Sequence[str], curves: Sequence[Plain]) -> dict[str, list[Json]]:
    """Rankings by what is estimated on the targets of all models."""
    return {
        key: ranked(titles, [curve[key] for curve in curves])
        for key in ("accuracy", "auc_coverage")
        if all(key in curve for curve in curves)
    }


def paired_on_target(
    domain: Domain,
    targets: Sequence[Source],
    curves: Sequence[Plain],
    options: CompareJob,
) -> tuple[list[Json], Json]:
    """Each two models on the targets where no labels decide, and whether and why they were compared row by row."""
    pairs, why = list[Json](), "the labels of the targets decide"
    if any(curve["by_labels"] is None for curve in curves):
        pairs, why = _pairs_on_target(domain, targets, options)
    about: Json = {"paired": bool(pairs), "why": why}
    if pairs:
        prior = packaged_differences()
        kinds = {row["group"] for row in pairs if not row["undecided"]}
        decided = [prior.why(kind) for kind in sorted(kinds)]
        about |= {"assumes": prior.assumes, "decided": decided}
    return pairs, about


def label_free(
    reference: Source, target: Source, options: CompareJob, execution: Execution
) -> tuple[Json, Strings]:
    """The headline of `estimate` for a model on its target, its accuracy-coverage curve, and its warnings."""
    from .estimate import estimated  # which no other part needs
    from .estimate_job import EstimateJob

    job = EstimateJob(
        reference,
        target,
        target_accuracies=tuple(options.require),
        level=options.level,
        seed=options.seed,
    )
    try:
        estimation = estimated(job, execution)
    except NotApplicable as error:
        raise UsageError(
            f"{target.name or 'the target'}: nothing can be estimated: {error}"
        ) from None
    head, curve = estimation.headline, estimation.risk_coverage
    out: Json = {
        "name": target.name,
        "rows": estimation.target["rows"],
        "accuracy": head.interval,
        "trust": head.trust,
        "why": head.why,
        "assumes": head.assumes,
    }
    out["shift"] = None if estimation.diagnosis is None else estimation.diagnosis.kind
    out |= {"truth": estimation.target.get("accuracy"), "by_labels": None}
    if estimation.is_known:
        out["by_labels"] = estimation.truth
    if curve is not None:
        # the mean over coverages, between the means of the band's ends (wider than a band of the mean)
        value, lower, upper = (float(np.mean(line)) for line in (curve.y, curve.lower, curve.upper))
        mean = Interval(value, min(lower, value), max(upper, value), curve.level, curve.kind)
        out |= {"curve": curve, "answers": curve.extra["answers"], "auc_coverage": mean}
    # the truth stands in a column of its own here
    warnings = (line for line in estimation.warnings if kind_of(line) != TARGET_LABELS)
    return out, tuple(line.removeprefix("the target: ") for line in warnings)


def _pairs_on_target(
    domain: Domain, targets: Sequence[Source], options: CompareJob
) -> tuple[list[Json], str]:
    """Each two models on the target, as `pairs_of` tells them, by natural differences; or none, and why."""
    if domain.rows is None:
        return [], f"in domain the rows are not the same: {domain.why}"
    if any(named is None for named in domain.named):
        return [], "in domain the classes that the models predict are not known"
    predicted, how = _predicted_in_one_order(targets, options)
    if not predicted:
        return [], how
    numbers = np.unique(np.concatenate([*domain.named, *predicted]), return_inverse=True)[1]
    prior, out = packaged_differences(), []
    cut = len(predicted) * domain.rows.rows
    reference, away = (part.reshape(len(predicted), -1) for part in (numbers[:cut], numbers[cut:]))
    for i, j, signs in pairs_on_target(domain.rows.scores.astype(np.int8), reference, away):
        difference, chance = prior.difference(signs, options.level)
        group, names = group_of(signs), {"a": domain.models[i], "b": domain.models[j]}
        out.append(
            {
                "domain": "target",
                "metric": "accuracy",
                **names,
                "difference": difference.to_dict(),
                "p_a_better": chance,
                "undecided": max(chance, 1 - chance) < prior.sure[group],
                "parted": signs.share,
                "group": group,
            }
        )
    return out, how


def _predicted_in_one_order(
    targets: Sequence[Source], options: CompareJob
) -> tuple[list[Array], str]:
    """The classes that each model predicts, rows in one order, and what tells that order; or none, and why."""
    predicted, ids = [], []
    key = KEY if options.key is None else options.key.partition("=")[0]
    for target in targets:
        named, why = _named_on(target)
        if named is None:
            return [], f"{target.name}: {why}"
        predicted.append(named)
        ids.append(ids_of(target, key) if target.holds(key) else None)
    if len({len(named) for named in predicted}) > 1:
        return [], "the targets' files have different numbers of rows"
    if any(names is None for names in ids):
        return predicted, "the files are read row by row"
    orders = [np.argsort(present(names), kind="stable") for names in ids]
    sorted_ids = [present(names)[order] for names, order in zip(ids, orders, strict=True)]
    if any((names != sorted_ids[0]).any() for names in sorted_ids):
        return [], "the targets' files hold different ids"
    in_order = [named[order] for named, order in zip(predicted, orders, strict=True)]
    return in_order, "the ids are the same"


def _named_on(target: Source) -> tuple[Array | None, str]:
    """The classes that a model predicts on its target; None, and why, where they are not known or too many."""
    answers = ("prediction", "probabilities", "logits", "members")
    fields = [name for name in answers if name in target.fields]
    parts: list[Array] = []
    for batch in target.batches(fields) if fields else ():
        parts.append(named_classes(batch, batch.predicted))  # type: ignore[arg-type]
        if sum(map(len, parts)) > LIMIT:
            return None, "there are too many rows to keep them in order"
    if not parts:
        return None, "there are no predicted classes"
    return np.concatenate(parts), ""
