"""The verb `compare`: which of several models may answer, by every selective metric, and where the metrics disagree."""

from __future__ import annotations

import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, count
from pathlib import Path
from typing import Any

from ..audits.joining import Joined, labelled, wrong_where_unseen
from ..diagnoses.column_drift import ColumnDrift
from ..errors import UsageError
from ..metrics import didma, nidma
from ..metrics.disca import check_weights
from ..options import verb
from ..passes.folding import Execution
from ..passes.reference import read_reference
from ..plain import Json, Plain
from ..predictions import FIELDS
from ..results import Interval
from ..results.comparison import Comparison, ModelRecord
from ..results.diagnosis import ColumnChange
from ..store import Source
from ..vectors import index_key
from .compare_beside import beside_rows
from .compare_differences import (
    difference_of,
    disagreements,
    gate_of_drop,
    pairs_of,
    ranked,
    rankings_of,
    tasks_of,
    to_best,
)
from .compare_findings import findings_of, findings_on_targets
from .compare_job import CompareJob
from .compare_rows import Domain, read_domain, row_key
from .compare_targets import label_free, paired_on_target, rankings_on_target
from .opening import (
    Opener,
    executing,
    file_of_model,
    in_name_order,
    opener_for,
    with_classes_of_all,
    with_features,
    with_unseen_labels,
)

__all__ = ["Comparison", "compare"]


@verb(CompareJob)
def compare(options: CompareJob) -> Comparison:
    """Say which of two models or more is better on the same questions, by how much, and which of them may answer.

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
        raise UsageError(
            f"comparing needs at least two models, got {len(models)}; for one there is `evaluate`; where one file has "
            "the answers of both, name it twice with --map a:ONE=prediction --map b:OTHER=prediction"
        )
    for what in ("out_of_domain", "target", "names", "energy", "parameters"):
        values = getattr(options, what)
        if what == "target" and options.judge:
            continue  # a word, of what the difference is
        if values and len(values) != len(models):
            option = "--name" if what == "names" else f"--{what.replace('_', '-')}"
            times = "once" if len(values) == 1 else f"{len(values)} times"
            raise UsageError(
                f"{option} is given {times} for {len(models)} models; give one for each, in their order"
            )
    if options.fail_drop is not None and len(models) != 2:
        raise UsageError(
            f"--fail-drop holds one model against its base, two files (BASE NEW); got {len(models)}"
        )
    if options.judge:
        from .judged_difference import compare_judges
        from .judging import opened

        sources = [
            opened(data, options, file_of_model(position)) for position, data in enumerate(models)
        ]
        return compare_judges(sources, options, _titles(options.names, sources))  # type: ignore[return-value]  # an audit of the difference
    paths = {"models": models, "out_of_domain": out_of_domain, "target": target}
    with executing(
        "compare", options, **{name: values for name, values in paths.items() if values}
    ) as execution:
        quiet = execution.heard_by(None)  # files are counted, not their parts
        inputs = [*models, *out_of_domain, *target]

        def read(classes: Sequence[int | str] | None) -> Comparison:
            known = partial(_read, replace(options, classes=classes), quiet)
            return with_unseen_labels(known, classes)

        return with_classes_of_all(read, inputs, options)


def _read(options: CompareJob, execution: Execution, unseen: bool) -> Comparison:
    """The comparison of the files; with ``unseen`` labels may be of classes that a model does not know."""
    models = options.models
    opener = opener_for(options, offers_weight=options.weight is None and not options.unweighted)
    joined = [
        _joined(data, options, opener, options.labels, unseen, file_of_model(position))
        for position, data in enumerate(models)
    ]
    joined += [_joined(data, options, opener, None, unseen) for data in options.out_of_domain]
    sources = [in_name_order(source.source) for source in joined]
    homes, aways = sources[: len(models)], sources[len(models) :]
    targets = [
        opener.open(
            data, axes=replace(reference.axes, others=True), where=options.where, file="target"
        )
        for data, reference in zip(options.target, homes, strict=False)
    ]
    opener.check()
    moved = _moved_columns(homes, aways, targets, options)
    result = _compared(_titles(options.names, homes), homes, aways, targets, options, execution)
    records = tuple(
        replace(model, columns=columns) for model, columns in zip(result.models, moved, strict=True)
    )
    notes = dict.fromkeys(
        (*opener.notes, *(line for source in joined for line in source.warnings), *result.warnings)
    )
    return replace(result, models=records, warnings=tuple(notes))


def scores_of(options: CompareJob, execution: Execution) -> tuple[Domain, list[str]]:
    """The labelled files of one model or more, with their scores side by side where the rows are the same, and what is
    to be said of them; `InputError` for input that cannot become a number.
    """
    opener = opener_for(options)
    joined = [
        _joined(data, options, opener, options.labels, False, file_of_model(position))
        for position, data in enumerate(options.models)
    ]
    sources = [in_name_order(source.source) for source in joined]
    opener.check()
    titles = _titles(options.names, sources)
    domain, notes = read_domain("in_domain", titles, sources, options, execution)
    return domain, [*opener.notes, *(line for source in joined for line in source.warnings), *notes]


def _joined(
    data: Any,
    options: CompareJob,
    opener: Opener,
    labels: Any,
    unseen: bool,
    file: str = "predictions",
) -> Joined:
    """A labelled file, whose truth may stand in a file of ``labels``; ``unseen``: as `_read` has it."""
    named = (options.cluster, options.weight)
    extra = [name for name in named if name is not None and name not in FIELDS]
    source = opener.with_ids(
        data, options.cluster, options.classes, extra, where=options.where, file=file
    )
    key = index_key(options.labels, data, options.key)
    if labels is not None:
        return labelled(labels, source, key, opener.labels)
    return wrong_where_unseen(source) if unseen else Joined(source, ())


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
        domain, left_out = read_domain(name, titles, sources, options, execution, tick)
        domains.append(domain)
        warnings += left_out
        warnings += _said_of_sizes(domain)
    for domain in domains:
        warnings += _said_of(domain)
    curves: list[Json] = []
    for title, reference, target in zip(titles, homes, targets, strict=False):
        curve, lines = label_free(reference, target, options, execution)
        curves.append(curve)
        warnings += [f"{title} (target): {line}" for line in lines]
        tick()
    records = _records(domains, curves, options)
    rankings = {domain.name: rankings_of(domain) for domain in domains}
    rankings["in_domain"] |= _rankings_of_records(titles, records)
    paired: dict[str, Json] = {
        domain.name: {"paired": domain.paired, "why": domain.why} for domain in domains
    }
    on_target: list[Json] = []
    if curves:
        on_target, paired["target"] = paired_on_target(domains[0], targets, curves, options)
        rankings["target"] = rankings_on_target(titles, curves)
    level, gap = options.level, difference_of(domains[0], options.level)
    best, groups, every = to_best(domains[0], level)
    findings = chain.from_iterable(map(findings_of, domains))
    return Comparison(
        models=tuple(records),
        level=level,
        seed=options.seed,
        paired=paired,
        settings=options.settings,
        warnings=tuple(warnings),
        difference=gap,
        gate=gate_of_drop(domains[0], gap, options),
        to_best=tuple(best),
        groups=tuple(groups),
        every_pair=tuple(every),
        rankings=rankings,
        disagreements=tuple(chain.from_iterable(map(disagreements, domains))),
        pairs=(*(row for domain in domains for row in pairs_of(domain, level)), *on_target),
        tasks=tuple(tasks_of(domains[0], gap, level)),
        beside=tuple(beside_rows(domains[0].beside, domains[0].models, gap["a"], gap["b"], level)),
        findings=(*findings, *findings_on_targets(titles, curves, on_target)),
    )


def _rankings_of_records(
    titles: Sequence[str], records: Sequence[ModelRecord]
) -> dict[str, list[Json]]:
    """Rankings by DiDMA and NiDMA, where every model has them."""
    out = {}
    for name in ("didma", "nidma"):
        intervals = [getattr(record, name) for record in records]
        if all(interval is not None for interval in intervals):
            out[name] = ranked(titles, intervals)
    return out


def _said_of_sizes(domain: Domain) -> list[str]:
    """A warning where the models have different numbers of rows."""
    sizes = [evaluation.rows for evaluation in domain.evaluations]
    if len(set(sizes)) == 1 or not domain.has("disca"):
        return []
    return [
        f"{domain.name.replace('_', ' ')}: the models have {min(sizes):,} to {max(sizes):,} rows, and DiSCA (DiDMA "
        "and NiDMA too) of different numbers of rows do not compare, since a first mistake is met sooner among more "
        "rows; give each model equally many"
    ]


def _said_of(domain: Domain) -> list[str]:
    """The warnings of the evaluations of a domain: those of all models once, then those of each."""
    where = domain.name.replace("_", " ")
    every = [evaluation.warnings for evaluation in domain.evaluations]
    common = {line for line in every[0] if all(line in lines for lines in every)}
    of_each = [
        (title, line) for title, lines in zip(domain.models, every, strict=True) for line in lines
    ]
    return [f"{where}: {line}" for line in every[0] if line in common] + [
        f"{title} ({where}): {line}" for title, line in of_each if line not in common
    ]


def _titles(names: Sequence[str], sources: Sequence[Source]) -> list[str]:
    """Names of the models: as given, else of their files, with as many of their folders as tell them apart."""
    if names:
        if len(set(names)) < len(names):
            raise UsageError(
                f"two models have one name among {', '.join(names)}; give each its own"
            )
        return list(names)
    paths = [
        Path(source.name).with_suffix("").parts
        if source.name and os.sep not in source.name[-1:]
        else (f"model {i}",)
        for i, source in enumerate(sources, 1)
    ]
    out = [path[-1] for path in paths]
    for depth in range(2, max(map(len, paths)) + 1):
        times = Counter(out)
        out = [
            "/".join(path[-depth:]) if times[name] > 1 else name
            for name, path in zip(out, paths, strict=True)
        ]
    return [name if out.index(name) == i else f"{name} ({i + 1})" for i, name in enumerate(out)]


def _records(
    domains: Sequence[Domain], curves: Sequence[Plain], options: CompareJob
) -> list[ModelRecord]:
    in_domain, outside = domains[0], domains[1] if len(domains) > 1 else None
    scores, out = options.computation_scores(), []
    for i, name in enumerate(in_domain.models):
        disaster = spoken = None
        away = None if outside is None else outside.evaluations[i]
        score = in_domain.evaluations[i].metrics.get("disca")
        away_score = None if away is None else away.metrics.get("disca")
        if scores is not None and score is not None:
            ends = [
                didma(x, scores[i], options.didma_weights)
                for x in (score.value, score.lower, score.upper)
            ]
            disaster = Interval(ends[0], ends[1], ends[2], score.level, "empirical")
        # they come from different rows: deviations add as squares
        if disaster is not None and away_score is not None:
            u, v = check_weights("u and v", options.nidma_weights)
            value = nidma(disaster.value, away_score.value, options.nidma_weights)
            down = math.hypot(
                u * (disaster.value - disaster.lower), v * (away_score.value - away_score.lower)
            )
            up = math.hypot(
                u * (disaster.upper - disaster.value), v * (away_score.upper - away_score.value)
            )
            spoken = Interval(value, value - down, value + up, disaster.level, "empirical")
        energy = float(options.energy[i]) if options.energy else None
        parameters = float(options.parameters[i]) if options.parameters else None
        about = (
            curves[i] if curves else None,
            energy,
            parameters,
            None if scores is None else scores[i],
        )
        out.append(ModelRecord(name, in_domain.evaluations[i], away, *about, disaster, spoken))
    return out


def _moved_columns(
    homes: Sequence[Source], aways: Sequence[Source], targets: Sequence[Source], options: CompareJob
) -> list[dict[str, tuple[ColumnChange, ...]]]:
    """For each model: domain -> its columns, those that explain most of a change first."""
    out: list[dict[str, tuple[ColumnChange, ...]]] = [{} for _ in homes]
    if options.features is None:
        return out
    if not aways and not targets:
        remedy = "give --target or --out-of-domain once for each model, or leave --features out"
        raise UsageError(
            f"--features tell which columns moved from the models' files to others; {remedy}"
        )
    key = row_key(options.key, homes)
    for domain, files in (("out_of_domain", aways), ("target", targets)):
        for moved, reference, file in zip(out, homes, files, strict=False):
            (near,), far = with_features([reference], file, options.features, [key])
            assert far is not None
            read = read_reference(near, seed=options.seed).record
            drift = ColumnDrift(near.users, level=options.level, seed=options.seed).fit(read)
            state = drift.folded(far.batches(("features",)))
            moved[domain] = () if state is None else drift.finish(state)
    return out
