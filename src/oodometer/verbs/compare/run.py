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

from ...arguments import checked, several
from ...audits.joining import Joined, labelled, wrong_where_unseen
from ...classes import NewLabelError
from ...diagnoses.column_drift import ColumnDrift
from ...engines import Engine
from ...errors import UsageError
from ...kernels import limited_to
from ...metrics import didma, nidma
from ...metrics.disca import WEIGHTS, check_pair_of_weights
from ...passes.folding import Execution
from ...passes.reference import read_reference
from ...passes.run_folder import run_folder as in_run_folder
from ...predictions import FIELDS
from ...results import Interval
from ...results.columns import ColumnChange
from ...results.comparison import Comparison, ModelRecord
from ...results.evaluation import Evaluation
from ...runs import places_of_run
from ...store import Source
from ..features import check_features, with_features
from ..opening import Opener, in_name_order, renamings, with_classes_of_all
from .findings import findings_of
from .model_comparison import Domain, difference_of, disagreements, domain_of, pairs_of, rankings_of
from .options import CompareOptions, Costs
from .rows import Rows, in_one_order, read_rows, row_key

__all__ = ["Comparison", "compare"]

_TRUTH = "the target holds labels"  # a warning of `estimate`; the truth stands in its own column here


@checked(out_of_domain=several, target=several, features=check_features)
def compare(
    models: Sequence[Any],
    *,
    out_of_domain: Sequence[Any] = (),
    target: Sequence[Any] = (),
    names: Sequence[str] = (),
    tolerance: float = 0.95,
    weights: Sequence[float] = WEIGHTS,
    grid: str = "coverage",
    steps: int = 100,
    require: Sequence[float] = (0.9, 0.95, 0.99),
    score: str | None = None,
    energy: Sequence[float] = (),
    energy_unit: str = "J",
    parameters: Sequence[float] = (),
    optimal_parameters: float | None = None,
    didma_weights: Sequence[float] = (0.5, 0.5),
    nidma_weights: Sequence[float] = (0.5, 0.5),
    level: float = 0.95,
    cluster: str | None = None,
    where: str | Sequence[str] | None = None,
    labels: Any = None,
    key: str | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    features: str | Sequence[str] | None = None,
    classes: Sequence[int | str] | None = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    seed: int = 0,
    run_folder: str | os.PathLike[str] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare two models or more as selective answerers.

    Parameters
    ----------
    models :
        Labelled predictions of each model in its domain: files, frames, dicts of arrays or `Predictions`.
    out_of_domain, target :
        One more for each model, in the same order: labelled predictions out of its domain, and predictions without
        labels, whose accuracy is estimated as `estimate` does it, with its interval, assumption and trust, beside the
        accuracy-coverage curve that the first file would lead one to expect.
    names :
        Names of the models, by default those of the files.
    tolerance, weights, grid, steps :
        Of DiSCA, as in `oodometer.metrics.disca`.
    require :
        Accuracies for which an operating threshold is looked for.
    score :
        Name of the registered score that orders the rows; by default the confidence.
    energy, energy_unit, parameters, optimal_parameters :
        What each model costs, for DiDMA: an energy, or a number of parameters beside the number that is optimal.
    didma_weights, nidma_weights :
        p, q and u, v.
    level, seed :
        Nominal coverage of every interval; seed of the bootstrap.
    cluster :
        Column whose equal cells mark rows that depend on each other, as in `evaluate`; replicates draw clusters.
    where :
        Conditions on rows, as in `estimate`; they hold for every file.
    labels, key :
        Truth of the rows of ``models`` in a file of its own, as in `evaluate`; and the column by which rows are told
        apart, by default `id`: files in another order are compared row by row all the same.
    mapping, positive, threshold, classes :
        As in `evaluate`; one threshold for all models, out of domain and on targets, too.
    features :
        Columns of your own that are the models' inputs, or "auto", as in `estimate`: the result says which of them
        moved from each model's file to that out of its domain and to its target, and what that explains.
    engine, workers, run_folder :
        Where the passes over the files run, and the folder that keeps the states of finished parts, as in `estimate`.
    progress :
        Called with (files done, files in all).

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
    options = CompareOptions(
        tolerance=tolerance,
        weights=weights,
        grid=grid,
        steps=steps,
        require=require,
        score=score,
        costs=Costs(energy, energy_unit, parameters, optimal_parameters),
        didma_weights=didma_weights,
        nidma_weights=nidma_weights,
        level=level,
        cluster=cluster,
        where=where,
        key=key,
        mapping=renamings(mapping, positive),
        positive=positive,
        threshold=threshold,
        features=features,
        classes=classes,
        seed=seed,
        progress=progress,
    )
    given = {"out_of_domain": out_of_domain, "target": target, "names": names, "energy": energy}
    _check_numbers(len(models), {**given, "parameters": parameters})
    places = {"models": models, "out_of_domain": out_of_domain, "target": target}
    about = {} if run_folder is None else places_of_run(**{name: some for name, some in places.items() if some})
    with limited_to(workers), in_run_folder(run_folder, {"verb": "compare", **about}) as folder:
        options = replace(options, execution=Execution(engine, workers, folder=folder))
        again = Opener(options.mapping, threshold, positive)

        def run(classes: Sequence[int | str] | None) -> Comparison:
            return _read(models, labels, out_of_domain, target, names, replace(options, classes=classes))

        return with_classes_of_all(run, [*models, *out_of_domain, *target], again, classes)


def _read(
    models: Sequence[Any],
    labels: Any,
    out_of_domain: Sequence[Any],
    target: Sequence[Any],
    names: Sequence[str],
    options: CompareOptions,
    unseen: bool = False,
) -> Comparison:
    """The comparison of these files; with ``unseen`` labels may be of classes that a model does not know."""
    opener = Opener(options.mapping, options.threshold, options.positive)
    extra = [] if options.cluster is None or options.cluster in FIELDS else [options.cluster]
    joined = []
    for i, data in enumerate((*models, *out_of_domain)):
        one = opener.with_ids(data, options.cluster, options.classes, extra, where=options.where)
        own = labels is None or i >= len(models)
        judged = Joined(one, ()) if own else labelled(labels, one, options.key, opener.open)
        joined.append(wrong_where_unseen(judged.source) if own and unseen else judged)
    sources = [in_name_order(one.source) for one in joined]
    homes, aways = sources[: len(models)], sources[len(models) :]
    targets = [
        opener.open(data, axes=replace(home.axes, others=True), where=options.where)
        for data, home in zip(target, homes, strict=False)
    ]
    opener.check()
    try:
        moved = moved_columns(homes, aways, targets, options)
        found = _compared(_titles(names, homes), homes, aways, targets, options)
    except NewLabelError:
        if unseen or options.classes is not None:
            raise
        return _read(models, labels, out_of_domain, target, names, options, unseen=True)
    records = tuple(replace(one, columns=columns) for one, columns in zip(found.models, moved, strict=True))
    said = dict.fromkeys((*opener.notes, *(line for one in joined for line in one.warnings), *found.warnings))
    return replace(found, models=records, warnings=tuple(said))


def _check_numbers(models: int, given: Mapping[str, Sequence[Any]]) -> None:
    if models < 2:
        raise UsageError(f"comparing needs at least two models, got {models}; for one there is `evaluate`")
    for what, some in given.items():
        if some and len(some) != models:
            raise UsageError(
                f"{what} is given {len(some)} times for {models} models; give one for each, in their order"
            )


def _compared(
    titles: Sequence[str],
    homes: Sequence[Source],
    aways: Sequence[Source],
    targets: Sequence[Source],
    options: CompareOptions,
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
    name: str,
    titles: Sequence[str],
    sources: Sequence[Source],
    options: CompareOptions,
    tick: Callable[[], None],
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


def _records(
    domains: Sequence[Domain], curves: Sequence[Mapping[str, Any]], options: CompareOptions
) -> list[ModelRecord]:
    home, away = domains[0], domains[1] if len(domains) > 1 else None
    costs, scores = options.costs, options.costs.scores()
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
                energy=float(costs.energy[i]) if costs.energy else None,
                parameters=float(costs.parameters[i]) if costs.parameters else None,
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
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareOptions
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


def _moved(home: Source, other: Source, options: CompareOptions, key: str | None) -> tuple[ColumnChange, ...]:
    (near,), far = with_features([home], other, options.features, [key])
    assert far is not None
    read = read_reference(near, seed=options.seed).record
    drift = ColumnDrift(near.users, level=options.level, seed=options.seed).fit(read)
    state = drift.folded(far.batches(("features",)))
    return () if state is None else drift.finish(state)
