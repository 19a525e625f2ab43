"""The verb `compare`: which of several models may answer, by every selective metric, and where the metrics disagree."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from ...audits.joining import Joined, labelled, wrong_where_unseen
from ...classes import NewLabelError
from ...diagnoses.column_drift import ColumnDrift
from ...errors import UsageError
from ...metrics import didma, nidma
from ...metrics.disca import check_pair_of_weights
from ...options import verb
from ...passes.reference import read_reference
from ...predictions import FIELDS
from ...results import Interval
from ...results.columns import ColumnChange
from ...results.comparison import Comparison, ModelRecord
from ...results.evaluation import Evaluation
from ...store import Source
from ..features import with_features
from ..opening import executing, in_name_order, opener_for, with_classes_of_all
from ..options import CompareOptions
from .findings import findings_of
from .model_comparison import Domain, difference_of, disagreements, domain_of, pairs_of, rankings_of
from .options import CompareJob
from .rows import Rows, in_one_order, read_rows, row_key

__all__ = ["Comparison", "compare"]

_TRUTH = "the target holds labels"  # a warning of `estimate`; the truth stands in its own column here


@verb(CompareOptions)
def compare(options: CompareOptions) -> Comparison:
    """Compare two models or more as selective answerers.

    Models whose files tell of the same rows, by their ids or by the same labels in the same order, are compared on the
    same rows: each bootstrap replicate draws the same ones for all. Where not, the result says why, and they are drawn
    apart. Raises `InputError` for input that cannot become a number or cannot be ordered, `UsageError` for a call that
    makes no sense. Source: Mishra, Arunkumar and Baral (2022).

    >>> y = [0, 1] * 100
    >>> falling = [1 - i / 400 for i in range(200)]
    >>> sure = {"label": y, "prediction": y[:190] + [1 - c for c in y[190:]], "confidence": falling}
    >>> lost = {"label": y, "prediction": [1 - c for c in y[:10]] + y[10:], "confidence": falling}
    >>> found = compare([sure, lost], names=["sure", "lost"])
    >>> found.paired["in_domain"]["paired"], [row["model"] for row in found.rankings["in_domain"]["disca"]]
    (True, ['sure', 'lost'])
    """
    job = CompareJob.of(options)
    models, out_of_domain, target = job.models, job.out_of_domain, job.target
    if len(models) < 2:
        raise UsageError(f"comparing needs at least two models, got {len(models)}; for one there is `evaluate`")
    for what in ("out_of_domain", "target", "names", "energy", "parameters"):
        some = getattr(job, what)
        if some and len(some) != len(models):
            raise UsageError(
                f"{what} is given {len(some)} times for {len(models)} models; give one for each, in their order"
            )
    places = {"models": models, "out_of_domain": out_of_domain, "target": target}
    with executing("compare", job, **{name: some for name, some in places.items() if some}) as execution:
        quiet = replace(job, execution=execution.heard_by(None))  # files are counted, not their parts
        given = [*models, *out_of_domain, *target]
        return with_classes_of_all(lambda c: _read(replace(quiet, classes=c)), given, opener_for(job), job.classes)


def _read(options: CompareJob, unseen: bool = False) -> Comparison:
    """The comparison of the files; with ``unseen`` labels may be of classes that a model does not know."""
    models = options.models
    opener = opener_for(options)
    extra = [] if options.cluster is None or options.cluster in FIELDS else [options.cluster]
    joined = []
    for i, data in enumerate((*models, *options.out_of_domain)):
        one = opener.with_ids(data, options.cluster, options.classes, extra, where=options.where)
        own = options.labels is None or i >= len(models)
        judged = Joined(one, ()) if own else labelled(options.labels, one, options.key, opener.open)
        joined.append(wrong_where_unseen(judged.source) if own and unseen else judged)
    sources = [in_name_order(one.source) for one in joined]
    homes, aways = sources[: len(models)], sources[len(models) :]
    targets = [
        opener.open(data, axes=replace(home.axes, others=True), where=options.where)
        for data, home in zip(options.target, homes, strict=False)
    ]
    opener.check()
    try:
        moved = moved_columns(homes, aways, targets, options)
        found = _compared(_titles(options.names, homes), homes, aways, targets, options)
    except NewLabelError:
        if unseen or options.classes is not None:
            raise
        return _read(options, unseen=True)
    records = tuple(replace(one, columns=columns) for one, columns in zip(found.models, moved, strict=True))
    said = dict.fromkeys((*opener.notes, *(line for one in joined for line in one.warnings), *found.warnings))
    return replace(found, models=records, warnings=tuple(said))


def _compared(
    titles: Sequence[str],
    homes: Sequence[Source],
    aways: Sequence[Source],
    targets: Sequence[Source],
    options: CompareJob,
) -> Comparison:
    """The comparison of models with these labelled files, those out of their domain, and those without labels."""
    done, total = count(1), len(homes) + len(aways) + len(targets)

    def tick() -> None:
        if options.progress is not None:
            options.progress(next(done), total)

    domains = [
        _domain(name, titles, sources, options, tick)
        for name, sources in (("in_domain", homes), ("out_of_domain", aways))
        if sources
    ]
    curves, more, more_said = [], [], []
    if targets:
        from .targets import findings_on_targets, label_free  # the whole of `estimate`, which no other part needs

        for source, unlabelled in zip(homes, targets, strict=True):
            curve, said = label_free(source, unlabelled, options)
            curves.append(curve)
            title = f"{titles[len(curves) - 1]} (target)"
            more_said += [f"{title}: {line.removeprefix('the target: ')}" for line in said if _TRUTH not in line]
            tick()
        more = findings_on_targets(titles, curves)
    records = _records(domains, curves, options)
    return Comparison(
        models=tuple(records),
        rankings=_rankings(domains, records, curves),
        disagreements=tuple(row for domain in domains for row in disagreements(domain)),
        pairs=tuple(row for domain in domains for row in pairs_of(domain, options.level)),
        difference=difference_of(domains[0], options.level),
        findings=(*(row for domain in domains for row in findings_of(domain)), *more),
        paired={domain.name: {"paired": domain.paired, "why": domain.why} for domain in domains},
        settings=options.settings,
        warnings=(*_warnings(domains), *more_said),
        level=options.level,
        seed=options.seed,
    )


def _domain(
    name: str, titles: Sequence[str], sources: Sequence[Source], options: CompareJob, tick: Callable[[], None]
) -> Domain:
    """The models on one domain, their files read one by one."""
    found: list[Evaluation] = []
    rows: list[Rows] = []
    key = row_key(options.key, sources)
    for source in sources:
        evaluation, kept = read_rows(source, options.metrics(), options, key)
        found.append(evaluation)
        rows.append(kept)
        tick()
    return domain_of(name, titles, found, in_one_order(rows), options.seed, options.curve)


def _rankings(
    domains: Sequence[Domain], records: Sequence[ModelRecord], curves: Sequence[Mapping[str, Any]]
) -> dict[str, Any]:
    """Domain -> metric -> rows, best first."""
    titles = [record.name for record in records]
    rankings = {domain.name: rankings_of(domain) for domain in domains}
    for name in ("didma", "nidma"):
        made = [getattr(record, name) for record in records]
        if all(one is not None for one in made):
            rankings["in_domain"][name] = _ranked(titles, made)
    if curves:
        rankings["target"] = {
            key: _ranked(titles, [curve[key] for curve in curves])
            for key in ("accuracy", "auc_coverage")
            if all(key in curve for curve in curves)
        }
    return rankings


def _warnings(domains: Sequence[Domain]) -> tuple[str, ...]:
    """Warnings of the domains, and those of each model's evaluation."""
    said = (
        f"{title} ({domain.name.replace('_', ' ')}): {warning}"
        for domain in domains
        for title, one in zip(domain.models, domain.evaluations, strict=True)
        for warning in one.warnings
    )
    return (*_unequal_rows(domains), *said)


def _unequal_rows(domains: Sequence[Domain]) -> tuple[str, ...]:
    """A warning for each domain in which the models were judged on different numbers of rows."""
    out = []
    for domain in domains:
        rows = [one.rows for one in domain.evaluations]
        if len(set(rows)) > 1:
            out.append(
                f"{domain.name.replace('_', ' ')}: the models are judged on {min(rows):,} to {max(rows):,} rows, and "
                "DiSCA (DiDMA and NiDMA too) of different numbers of rows do not compare, since a first mistake is met "
                "sooner among more rows; give each model equally many"
            )
    return tuple(out)


def _titles(names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Names of the models, each once: as given, or of the files, or by number."""
    if names:
        if len(set(names)) < len(names):
            raise UsageError(f"two models have one name among {', '.join(names)}; give each its own")
        return list(names)
    out: list[str] = []
    for i, source in enumerate(sources, 1):
        stem = Path(source.name).stem if source.name and os.sep not in source.name[-1:] else f"model {i}"
        out.append(stem if stem not in out else f"{stem} ({i})")
    return out


def _records(domains: Sequence[Domain], curves: Sequence[Mapping[str, Any]], options: CompareJob) -> list[ModelRecord]:
    home, away = domains[0], domains[1] if len(domains) > 1 else None
    scores = options.computation_scores()
    out = []
    for i, name in enumerate(home.models):
        disaster = spoken = None
        score = home.evaluations[i].metrics.get("disca")
        if scores is not None and score is not None:
            ends = [didma(x, scores[i], options.didma_weights) for x in (score.value, score.lower, score.upper)]
            disaster = Interval(ends[0], ends[1], ends[2], score.level, "empirical")
        other = None if away is None else away.evaluations[i].metrics.get("disca")
        if disaster is not None and other is not None:
            spoken = _nidma(disaster, other, options.nidma_weights)
        out.append(
            ModelRecord(
                name=name,
                in_domain=home.evaluations[i],
                out_of_domain=None if away is None else away.evaluations[i],
                target=curves[i] if curves else None,
                energy=float(options.energy[i]) if options.energy else None,
                parameters=float(options.parameters[i]) if options.parameters else None,
                computation=None if scores is None else scores[i],
                didma=disaster,
                nidma=spoken,
            )
        )
    return out


def _nidma(disaster: Interval, other: Interval, weights: Sequence[float]) -> Interval:
    """The two come from different rows, so their deviations add as squares."""
    u, v = check_pair_of_weights("u and v", weights)
    value = nidma(disaster.value, other.value, weights)
    down = math.hypot(u * (disaster.value - disaster.lower), v * (other.value - other.lower))
    up = math.hypot(u * (disaster.upper - disaster.value), v * (other.upper - other.value))
    return Interval(value, value - down, value + up, disaster.level, "empirical")


def _ranked(titles: Sequence[str], found: Sequence[Interval]) -> list[dict[str, Any]]:
    """Rows of a ranking without replicates, larger first."""
    values = np.array([one.value for one in found])
    ranks = (values[None] > values[:, None]).sum(axis=1) + 1
    unknown = {"p_best": None, "stable": None}
    return [
        {"model": titles[i], "rank": int(ranks[i]), **found[i].to_dict(), **unknown}
        for i in np.argsort(-values, kind="stable")
    ]


Moved = dict[str, tuple[ColumnChange, ...]]


def moved_columns(
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareJob
) -> list[Moved]:
    """For each model: domain (out_of_domain, target) -> its columns, those that explain most of a change first.

    Each model's columns are encoded as learnt on its rows in domain, and held against its accuracy there. Raises
    `UsageError` where there is nothing that they could have moved to, and as `with_features`.
    """
    if options.features is None:
        return [{} for _ in homes]
    if not aways and not targets:
        raise UsageError(
            "--features tell which columns moved from the models' files to others; give --target or --out-of-domain "
            "once for each model, or leave --features out"
        )
    key = row_key(options.key, homes)
    found: list[Moved] = [{} for _ in homes]
    for domain, others in (("out_of_domain", aways), ("target", targets)):
        for moved, home, other in zip(found, homes, others, strict=False):
            moved[domain] = _moved(home, other, options, key)
    return found


def _moved(home: Source, other: Source, options: CompareJob, key: str | None) -> tuple[ColumnChange, ...]:
    (near,), far = with_features([home], other, options.features, [key])
    assert far is not None
    read = read_reference(near, seed=options.seed).record
    drift = ColumnDrift(near.users, level=options.level, seed=options.seed).fit(read)
    state = drift.folded(far.batches(("features",)))
    return () if state is None else drift.finish(state)
