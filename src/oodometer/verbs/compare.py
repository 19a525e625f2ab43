"""The verb `compare`: which of several models may answer, by every selective metric, and where the metrics disagree."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..audits.joining import KEY, Joined, labelled, wrong_where_unseen
from ..classes import NewLabelError
from ..diagnoses.column_drift import ColumnDrift
from ..errors import InputError, NotApplicable, UsageError
from ..inference.clusters import named_repeats
from ..metrics import Metric, computation_score, didma, nidma, ordered_by
from ..metrics.disca import check_options, check_pair_of_weights
from ..metrics.ranks import RankMetric
from ..options import verb
from ..passes.evaluating import KeptRows, finish_evaluation, plan_evaluation, read_evaluation
from ..passes.folding import Execution
from ..passes.reference import read_reference
from ..passes.slicing import WHOLE
from ..predictions import FIELDS
from ..registry import create
from ..results import Interval, percent
from ..results.comparison import Comparison, ModelRecord
from ..results.diagnosis import ColumnChange
from ..results.evaluation import Evaluation
from ..store import Source
from .model_comparison import (
    Domain,
    Rows,
    difference_of,
    disagreements,
    domain_of,
    findings_of,
    pairs_of,
    ranked,
    rankings_of,
)
from .opening import executing, in_name_order, listed, opener_for, renamings, with_classes_of_all, with_features
from .options import CompareOptions

__all__ = ["Comparison", "compare"]

_TRUTH = "the target holds labels"  # a warning of `estimate`; the truth stands in its own column here
_RISK, _COVERAGE = 0.05, 0.8
_PLAIN = ("accuracy", "brier", "ece", "auc_coverage", "aurc", "e_aurc", "augrc")


class CompareJob(CompareOptions):
    """What `compare` was asked; `UsageError` for options that make no sense together."""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "mapping", renamings(self.mapping, self.positive))
        self.shares()
        check_pair_of_weights("p and q", self.didma_weights)
        check_pair_of_weights("u and v", self.nidma_weights)
        self.computation_scores()

    def computation_scores(self) -> list[float] | None:
        """The computation score of each model, of its energy or its number of parameters; None where none is given."""
        if self.energy and self.parameters:
            raise UsageError("give the models' energy or their parameters, not both: DiDMA takes one")
        if self.energy:
            return [computation_score(energy=e) for e in self.energy]
        if self.parameters:
            optimal = self.optimal_parameters
            return [computation_score(parameters=p, optimal_parameters=optimal) for p in self.parameters]
        if self.optimal_parameters is not None:
            raise UsageError("an optimal number of parameters needs the parameters of each model")
        return None

    def shares(self) -> tuple[float, float, float]:
        """The weights of DiSCA as they are used."""
        return check_options((self.tolerance,), self.weights, self.grid, self.steps)

    @property
    def disca(self) -> dict[str, Any]:
        """Options of DiSCA."""
        weights = self.shares()
        return {"tolerance": self.tolerance, "weights": weights, "grid": self.grid, "steps": self.steps}

    @property
    def curve(self) -> dict[str, Any]:
        """Options of the metrics that are read off a curve, of the sample or of a replicate."""
        return {**self.disca, "risk": _RISK, "coverage": _COVERAGE}

    def metrics(self) -> list[Metric[Any, Any]]:
        """The metrics of every model, in the order asked for."""
        required = tuple(self.require)
        made = [create("metric", name) for name in _PLAIN]
        made += [
            create("metric", "disca", **self.disca),
            create("metric", "coverage_at_risk", risk=_RISK),
            create("metric", "risk_at_coverage", coverage=_COVERAGE),
            create("metric", "accuracy_coverage", steps=self.steps),
            create("metric", "risk_coverage", target_accuracies=required),
            create("metric", "operating_points", required=required),
            create("metric", "failure_cases"),
        ]
        return ordered_by(made, self.score)

    @property
    def settings(self) -> dict[str, Any]:
        """What the result tells of them."""
        return {
            **self.curve,
            "require": list(self.require),
            "threshold": self.threshold,
            "features": self.features if self.features in (None, "auto") else listed(self.features),
            "score": self.score,
            "cluster": self.cluster,
            "didma_weights": list(self.didma_weights),
            "nidma_weights": list(self.nidma_weights),
            "energy_unit": self.energy_unit if self.energy else None,
            "optimal_parameters": self.optimal_parameters,
        }


@verb(CompareJob)
def compare(options: CompareJob) -> Comparison:
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
    models, out_of_domain, target = options.models, options.out_of_domain, options.target
    if len(models) < 2:
        raise UsageError(f"comparing needs at least two models, got {len(models)}; for one there is `evaluate`")
    for what in ("out_of_domain", "target", "names", "energy", "parameters"):
        some = getattr(options, what)
        if some and len(some) != len(models):
            raise UsageError(
                f"{what} is given {len(some)} times for {len(models)} models; give one for each, in their order"
            )
    paths = {"models": models, "out_of_domain": out_of_domain, "target": target}
    with executing("compare", options, **{name: some for name, some in paths.items() if some}) as execution:
        quiet = execution.heard_by(None)  # files are counted, not their parts
        given = [*models, *out_of_domain, *target]
        read = lambda classes: _read(replace(options, classes=classes), quiet)  # noqa: E731
        return with_classes_of_all(read, given, opener_for(options), options.classes)


def _read(options: CompareJob, execution: Execution, unseen: bool = False) -> Comparison:
    """The comparison of the files; with ``unseen`` labels may be of classes that a model does not know."""
    models = options.models
    opener = opener_for(options)
    extra = [] if options.cluster is None or options.cluster in FIELDS else [options.cluster]
    joined = []
    for i, data in enumerate((*models, *options.out_of_domain)):
        source = opener.with_ids(data, options.cluster, options.classes, extra, where=options.where)
        own = options.labels is None or i >= len(models)
        judged = Joined(source, ()) if own else labelled(options.labels, source, options.key, opener.open)
        joined.append(wrong_where_unseen(judged.source) if own and unseen else judged)
    sources = [in_name_order(source.source) for source in joined]
    homes, aways = sources[: len(models)], sources[len(models) :]
    targets = [
        opener.open(data, axes=replace(home.axes, others=True), where=options.where)
        for data, home in zip(options.target, homes, strict=False)
    ]
    opener.check()
    try:
        moved = _moved_columns(homes, aways, targets, options)
        result = _compared(_titles(options.names, homes), homes, aways, targets, options, execution)
    except NewLabelError:
        if unseen or options.classes is not None:
            raise
        return _read(options, execution, unseen=True)
    records = tuple(replace(model, columns=columns) for model, columns in zip(result.models, moved, strict=True))
    notes = dict.fromkeys((*opener.notes, *(line for source in joined for line in source.warnings), *result.warnings))
    return replace(result, models=records, warnings=tuple(notes))


def _compared(
    titles: Sequence[str],
    homes: Sequence[Source],
    aways: Sequence[Source],
    targets: Sequence[Source],
    options: CompareJob,
    execution: Execution,
) -> Comparison:
    """The comparison of models with these labelled files, those out of their domain, and those without labels."""
    done, total = count(1), len(homes) + len(aways) + len(targets)

    def tick() -> None:
        if options.progress is not None:
            options.progress(next(done), total)

    domains, warnings = [], []
    for name, sources in (("in_domain", homes), ("out_of_domain", aways)):
        if not sources:
            continue
        key, read = _row_key(options.key, sources), []
        for source in sources:
            read.append(_read_rows(source, options, key, execution))
            tick()
        evaluations, rows = [one for one, _ in read], [one for _, one in read]
        domains.append(domain_of(name, titles, evaluations, rows, options.seed, options.curve))
        shown, sizes = name.replace("_", " "), [evaluation.rows for evaluation in evaluations]
        if len(set(sizes)) > 1:
            warnings.append(
                f"{shown}: the models are judged on {min(sizes):,} to {max(sizes):,} rows, and DiSCA (DiDMA and NiDMA "
                "too) of different numbers of rows do not compare, since a first mistake is met sooner among more "
                "rows; give each model equally many"
            )
    for domain in domains:
        where = domain.name.replace("_", " ")
        pairs = zip(titles, domain.evaluations, strict=True)
        warnings += [f"{title} ({where}): {line}" for title, one in pairs for line in one.warnings]
    curves: list[dict[str, Any]] = []
    for title, home, target in zip(titles, homes, targets, strict=False):
        curve, lines = _label_free(home, target, options, execution)
        curves.append(curve)
        warnings += [f"{title} (target): {one.removeprefix('the target: ')}" for one in lines if _TRUTH not in one]
        tick()
    records = _records(domains, curves, options)
    rankings = {domain.name: rankings_of(domain) for domain in domains}
    for name in ("didma", "nidma"):
        made = [getattr(record, name) for record in records]
        if all(one is not None for one in made):
            rankings["in_domain"][name] = ranked(titles, made)
    if curves:
        named = [key for key in ("accuracy", "auc_coverage") if all(key in curve for curve in curves)]
        rankings["target"] = {key: ranked(titles, [curve[key] for curve in curves]) for key in named}
    findings = [row for domain in domains for row in findings_of(domain)]
    return Comparison(
        models=tuple(records),
        rankings=rankings,
        disagreements=tuple(row for domain in domains for row in disagreements(domain)),
        pairs=tuple(row for domain in domains for row in pairs_of(domain, options.level)),
        difference=difference_of(domains[0], options.level),
        findings=(*findings, *_findings_on_targets(titles, curves)),
        paired={domain.name: {"paired": domain.paired, "why": domain.why} for domain in domains},
        settings=options.settings,
        warnings=tuple(warnings),
        level=options.level,
        seed=options.seed,
    )


def _read_rows(source: Source, options: CompareJob, key: str | None, execution: Execution) -> tuple[Evaluation, Rows]:
    """One pass over a file: its evaluation and its rows. Raises `InputError` where the rows cannot be put in order."""
    how: dict[str, Any] = {name: getattr(options, name) for name in ("cluster", "level", "seed")}
    plan, skipped = plan_evaluation(source, options.metrics(), **how)
    order = next((m for m in plan.metrics if isinstance(m, RankMetric)), None)
    if order is None:
        why = next(s.why for s in skipped if s.method == "auc_coverage")
        expected = "something to order the rows by: `confidence` or `probabilities`"
        got = f"none ({why})"
        raise InputError(expected, got=got, file=source.name, remedy="add it, or name another order with --score")
    plan = replace(plan, order=order, fields=tuple(dict.fromkeys((*plan.fields, "label"))))
    plan, state = read_evaluation(source, plan, execution)
    evaluation, whole = finish_evaluation(source, plan, state, skipped), state[WHOLE]
    rows: KeptRows = whole["kept"]

    def column(at: int) -> Array | None:
        pieces = [batch[at] for batch in rows.batches]
        return np.concatenate(pieces) if pieces and all(piece is not None for piece in pieces) else None

    values, verdicts, truth, places, keys = map(column, range(5))
    ids = None
    if key is not None and places is not None:
        ids = _ids(source, key, places)
    return evaluation, Rows(whole[order.state_key], values, verdicts, truth, ids, keys if plan.grouped else None)


def _row_key(key: str | None, sources: Sequence[Source]) -> str | None:
    """The column that tells rows apart in all files; `UsageError` where one lacks the one that was named."""
    if key is None:
        return KEY if all(source.holds(KEY) for source in sources) else None
    ours = key.partition("=")[0] if not any(source.holds(key) for source in sources) else key
    for source in sources:
        if not source.holds(ours):
            raise UsageError(
                f"{source.name}: there is no column {ours} to tell rows apart by; its columns are "
                f"{', '.join(source.columns[:12])}"
            )
    return ours


def _ids(source: Source, key: str, rows: Array) -> Array | None:
    """What tells these rows apart, with their number where ids repeat; None where a cell is empty."""
    try:
        ids = source.keys(key).take(rows)
    except InputError:
        return None
    return None if ids.null_count else np.array(named_repeats(ids.to_pylist()), dtype=object)


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
    inside, outside = domains[0], domains[1] if len(domains) > 1 else None
    scores, out = options.computation_scores(), []
    for i, name in enumerate(inside.models):
        disaster = spoken = None
        away = None if outside is None else outside.evaluations[i]
        score, other = inside.evaluations[i].metrics.get("disca"), None if away is None else away.metrics.get("disca")
        if scores is not None and score is not None:
            ends = [didma(x, scores[i], options.didma_weights) for x in (score.value, score.lower, score.upper)]
            disaster = Interval(ends[0], ends[1], ends[2], score.level, "empirical")
        if disaster is not None and other is not None:  # they come from different rows: deviations add as squares
            u, v = check_pair_of_weights("u and v", options.nidma_weights)
            value = nidma(disaster.value, other.value, options.nidma_weights)
            down = math.hypot(u * (disaster.value - disaster.lower), v * (other.value - other.lower))
            up = math.hypot(u * (disaster.upper - disaster.value), v * (other.upper - other.value))
            spoken = Interval(value, value - down, value + up, disaster.level, "empirical")
        energy = float(options.energy[i]) if options.energy else None
        parameters = float(options.parameters[i]) if options.parameters else None
        about = (curves[i] if curves else None, energy, parameters, None if scores is None else scores[i])
        out.append(ModelRecord(name, inside.evaluations[i], away, *about, disaster, spoken))
    return out


def _moved_columns(
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareJob
) -> list[dict[str, tuple[ColumnChange, ...]]]:
    """For each model: domain -> its columns, those that explain most of a change first."""
    out: list[dict[str, tuple[ColumnChange, ...]]] = [{} for _ in homes]
    if options.features is None:
        return out
    if not aways and not targets:
        raise UsageError(
            "--features tell which columns moved from the models' files to others; give --target or --out-of-domain "
            "once for each model, or leave --features out"
        )
    key = _row_key(options.key, homes)
    for domain, others in (("out_of_domain", aways), ("target", targets)):
        for moved, home, other in zip(out, homes, others, strict=False):
            (near,), far = with_features([home], other, options.features, [key])
            assert far is not None
            read = read_reference(near, seed=options.seed).record
            drift = ColumnDrift(near.users, level=options.level, seed=options.seed).fit(read)
            state = drift.folded(far.batches(("features",)))
            moved[domain] = () if state is None else drift.finish(state)
    return out


def _label_free(
    home: Source, target: Source, options: CompareJob, execution: Execution
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The headline of `estimate` for a model on its target, its accuracy-coverage curve, and its warnings."""
    from .estimate import EstimateJob, estimated  # which no other part needs

    how: dict[str, Any] = {"level": options.level, "seed": options.seed}
    job = EstimateJob(home, target, target_accuracies=tuple(options.require), **how)
    try:
        estimation = estimated(job, execution)
    except NotApplicable as error:
        raise UsageError(f"{target.name or 'the target'}: nothing can be estimated: {error}") from None
    head, curve = estimation.headline, estimation.risk_coverage
    out: dict[str, Any] = {"name": target.name, "rows": estimation.target["rows"], "accuracy": head.interval}
    out |= {"trust": head.trust, "why": head.why, "assumes": head.assumes}
    out["shift"] = None if estimation.diagnosis is None else estimation.diagnosis.kind
    out |= {"truth": estimation.target.get("accuracy"), "by_labels": None}
    if estimation.by_labels:
        out["by_labels"] = estimation.truth
    if curve is not None:
        # the mean over coverages, between the means of the band's ends (wider than a band of the mean)
        value, lower, upper = (float(np.mean(line)) for line in (curve.y, curve.lower, curve.upper))
        mean = Interval(value, min(lower, value), max(upper, value), curve.level, curve.kind)
        out |= {"curve": curve, "answers": curve.extra["answers"], "auc_coverage": mean}
    return out, estimation.warnings


def _findings_on_targets(titles: Sequence[str], curves: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """A sentence for each two neighbours in the order; whether intervals overlap is a rough test."""
    out = []
    all_labelled = all(model["by_labels"] is not None for model in curves)
    of = "by_labels" if all_labelled else "accuracy"
    order = sorted(range(len(curves)), key=lambda model: -curves[model][of].value)
    for a, b in pairwise(order):
        first, second = curves[a][of], curves[b][of]
        apart = first.lower > second.upper
        say = f"on the target {titles[a]} is {'by its labels' if all_labelled else 'estimated'} ahead of {titles[b]}, "
        say += f"{percent(first.value)} against {percent(second.value)}"
        if not apart:
            remedy = "compare these files themselves, row by row"
            remedy = remedy if all_labelled else "a few labels decide it (`oodometer rank`)"
            say += f", but their intervals overlap: undecided; {remedy}"
        for model in (a, b):
            if curves[model]["trust"] == "none" and not all_labelled:
                say += f"; the estimate of {titles[model]} deserves no trust"
        about = {"name": "target_order", "domain": "target", "models": [titles[a], titles[b]]}
        verdict = {"contested": False, "undecided": not apart, "share": None, "sentence": say}
        out.append({**about, "accuracy": [first.value, second.value], **verdict})
    return out
