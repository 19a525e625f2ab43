"""The verb `compare`: which of several models may answer, by every selective metric, and where the metrics disagree."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ...arguments import checked, several
from ...errors import NotApplicable, UsageError
from ...estimators import RiskCoverage, Sums
from ...intervals import check_level
from ...metrics import Metric, computation_score, didma, nidma, ordered_by
from ...metrics.didma import check_pair_of_weights
from ...metrics.disca import WEIGHTS, check_options
from ...passes.plan import batch_rows
from ...registry import create
from ...results import Curve, Interval
from ...results.comparison import Comparison, ModelRecord
from ...results.evaluation import Evaluation
from ...store import Source
from ..opening import Opener, in_name_order
from ..reference import read_reference
from .findings import findings_of
from .rivals import Domain, disagreements, domain_of, pairs_of, rankings_of
from .rows import Rows, read_rows

__all__ = ["Comparison", "compare"]

_RISK, _COVERAGE = 0.05, 0.8


@checked(out_of_domain=several, target=several)
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
    mapping: Mapping[str, str] | None = None,
    classes: Sequence[int | str] | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Comparison:
    """Compare two models or more as selective answerers.

    Parameters
    ----------
    models :
        Labelled predictions of each model in its domain: files, frames, dicts of arrays or `Predictions`.
    out_of_domain, target :
        One more for each model, in the same order: labelled predictions out of its domain, and predictions without
        labels, whose accuracy-coverage curve is estimated from the first file.
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
    mapping, classes :
        As in `evaluate`.
    progress :
        Called with (files done, files in all).

    Models whose files have the same labels in the same order are compared on the same rows: each bootstrap replicate
    draws the same rows for all. Where not, the result says why, and they are drawn apart. Raises `InputError` for input
    that cannot become a number or cannot be ordered, `UsageError` for a call that makes no sense. Source: Mishra,
    Arunkumar and Baral (2022).

    >>> y = [0, 1] * 100
    >>> falling = [1 - i / 400 for i in range(200)]
    >>> sure = {"label": y, "prediction": y[:190] + [1 - c for c in y[190:]], "confidence": falling}
    >>> lost = {"label": y, "prediction": [1 - c for c in y[:10]] + y[10:], "confidence": falling}
    >>> found = compare([sure, lost], names=["sure", "lost"])
    >>> found.paired["in_domain"]["paired"], [row["model"] for row in found.rankings["in_domain"]["disca"]]
    (True, ['sure', 'lost'])
    """
    check_level(level)
    given = check_options((tolerance,), weights, grid, steps)
    models = list(models)
    if len(models) < 2:
        raise UsageError(
            f"comparing needs at least two models, got {len(models)}; for one there is `evaluate`"
        )
    for what, some in (("out_of_domain", out_of_domain), ("target", target), ("names", names), ("energy", energy),
                       ("parameters", parameters)):  # fmt: skip
        if some and len(some) != len(models):
            raise UsageError(
                f"{what} is given {len(some)} times for {len(models)} models; give one for each, in their order"
            )
    check_pair_of_weights("p and q", didma_weights)
    check_pair_of_weights("u and v", nidma_weights)
    costs = _costs(len(models), energy, parameters, optimal_parameters)
    opener = Opener(mapping)
    homes = [in_name_order(opener.open(data, classes)) for data in models]
    aways = [in_name_order(opener.open(data, classes)) for data in out_of_domain]
    goals = [opener.open(data, axes=home.axes) for data, home in zip(target, homes, strict=False)]
    opener.check()
    titles = _titles(names, homes)

    def chosen() -> list[Metric[Any, Any]]:
        return _metrics(tolerance, given, grid, steps, require, score)

    options = {"tolerance": tolerance, "weights": given, "grid": grid, "steps": steps, "risk": _RISK,
               "coverage": _COVERAGE}  # fmt: skip
    done, total = 0, len(homes) + len(aways) + len(goals)

    def tick() -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(done, total)

    def judged(name: str, sources: Sequence[Source]) -> Domain:
        found: list[tuple[Evaluation, Rows]] = []
        for source in sources:
            found.append(read_rows(source, chosen(), level, seed))
            tick()
        return domain_of(name, titles, [f for f, _ in found], [r for _, r in found], seed, options)

    home = judged("in_domain", homes)
    away = judged("out_of_domain", aways) if aways else None
    curves = []
    for source, goal in zip(homes, goals, strict=False):
        curves.append(_label_free(source, goal, require, level, seed))
        tick()
    domains = [home] if away is None else [home, away]
    records = _records(home, away, curves, costs, energy, parameters, didma_weights, nidma_weights)
    rankings = {domain.name: rankings_of(domain) for domain in domains}
    for name in ("didma", "nidma"):
        made = [getattr(record, name) for record in records]
        if all(one is not None for one in made):
            rankings["in_domain"][name] = _ranked(titles, made)
    if curves:
        rankings["target"] = {
            key: _ranked(titles, [curve[key] for curve in curves]) for key in ("accuracy", "auc_coverage")
        }
    return Comparison(
        models=tuple(records),
        rankings=rankings,
        disagreements=tuple(row for domain in domains for row in disagreements(domain)),
        pairs=tuple(row for domain in domains for row in pairs_of(domain, level)),
        findings=tuple(row for domain in domains for row in findings_of(domain)),
        paired={domain.name: {"paired": domain.paired, "why": domain.why} for domain in domains},
        settings={**options, "require": list(require), "score": score, "didma_weights": list(didma_weights),
                  "nidma_weights": list(nidma_weights), "energy_unit": energy_unit if energy else None,
                  "optimal_parameters": optimal_parameters},
        warnings=_unequal_rows(domains)
        + tuple(
            f"{title} ({domain.name.replace('_', ' ')}): {warning}"
            for domain in domains
            for title, one in zip(titles, domain.found, strict=True)
            for warning in one.warnings
        ),
        level=level,
        seed=seed,
    )  # fmt: skip


def _unequal_rows(domains: Sequence[Domain]) -> tuple[str, ...]:
    """A warning for each domain in which the models were judged on different numbers of rows."""
    out = []
    for domain in domains:
        rows = [one.rows for one in domain.found]
        if len(set(rows)) > 1:
            out.append(
                f"{domain.name.replace('_', ' ')}: the models are judged on {min(rows):,} to {max(rows):,} rows, and "
                "DiSCA (DiDMA and NiDMA too) of different numbers of rows do not compare, since a first mistake is met "
                "sooner among more rows; give each model equally many"
            )
    return tuple(out)


def _metrics(
    tolerance: float,
    weights: tuple[float, float, float],
    grid: str,
    steps: int,
    require: Sequence[float],
    score: str | None,
) -> list[Metric[Any, Any]]:
    plain = ("accuracy", "brier", "ece", "auc_coverage", "aurc", "e_aurc", "augrc")
    made = [create("metric", name) for name in plain]
    made += [
        create("metric", "disca", tolerance=tolerance, weights=weights, grid=grid, steps=steps),
        create("metric", "coverage_at_risk", risk=_RISK),
        create("metric", "risk_at_coverage", coverage=_COVERAGE),
        create("metric", "accuracy_coverage", steps=steps),
        create("metric", "risk_coverage", target_accuracies=tuple(require)),
        create("metric", "operating_points", required=tuple(require)),
        create("metric", "failure_cases"),
    ]
    return ordered_by(made, score)


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


def _costs(
    count: int, energy: Sequence[float], parameters: Sequence[float], optimal: float | None
) -> list[float] | None:
    if energy and parameters:
        raise UsageError("give the models' energy or their parameters, not both: DiDMA takes one")
    if energy:
        return [computation_score(energy=e) for e in energy]
    if parameters:
        return [computation_score(parameters=p, optimal_parameters=optimal) for p in parameters]
    if optimal is not None:
        raise UsageError("an optimal number of parameters needs the parameters of each model")
    return None


def _records(
    home: Domain,
    away: Domain | None,
    curves: Sequence[Mapping[str, Any]],
    costs: Sequence[float] | None,
    energy: Sequence[float],
    parameters: Sequence[float],
    didma_weights: Sequence[float],
    nidma_weights: Sequence[float],
) -> list[ModelRecord]:
    out = []
    for i, name in enumerate(home.models):
        disaster = spoken = None
        score = home.found[i].metrics.get("disca")
        if costs is not None and score is not None:
            ends = [didma(x, costs[i], didma_weights) for x in (score.value, score.lower, score.upper)]
            disaster = Interval(ends[0], ends[1], ends[2], score.level, "empirical")
        other = None if away is None else away.found[i].metrics.get("disca")
        if disaster is not None and other is not None:
            spoken = _nidma(disaster, other, nidma_weights)
        out.append(
            ModelRecord(
                name=name,
                in_domain=home.found[i],
                out_of_domain=None if away is None else away.found[i],
                target=curves[i] if curves else None,
                energy=float(energy[i]) if energy else None,
                parameters=float(parameters[i]) if parameters else None,
                computation=None if costs is None else costs[i],
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
    return [
        {"model": titles[i], "rank": int((values > values[i]).sum()) + 1, **found[i].to_dict(), "p_best": None,
         "stable": None}
        for i in np.argsort(-values, kind="stable")
    ]  # fmt: skip


def _label_free(
    source: Source, goal: Source, require: Sequence[float], level: float, seed: int
) -> dict[str, Any]:
    """The curve of a target without labels, from the rate of being correct at each confidence in the domain."""
    made = RiskCoverage(level=level, target_accuracies=tuple(require), seed=seed)
    try:
        fitted = made.fit(read_reference(source).record)
        states: Sums | None = None
        for batch in goal.batches(rows=batch_rows(len(goal.classes or ()))):
            state = fitted.summarize(batch)
            states = state if states is None else fitted.merge(states, state)
    except NotApplicable as error:
        raise UsageError(f"{goal.name or 'the target'}: its curve cannot be estimated: {error}") from None
    assert states is not None  # a source without rows has raised
    curve = fitted.finish(states)
    return {
        "name": goal.name,
        "rows": int(states["rows"]),
        "curve": curve,
        "answers": curve.extra["answers"],
        "accuracy": _mean(curve, slice(-1, None)),
        "auc_coverage": _mean(curve, slice(None)),
    }


def _mean(curve: Curve, part: slice) -> Interval:
    """The mean of the curve over coverages, between the means of its band's ends (wider than a band of the mean)."""
    value, lower, upper = (float(np.mean(line[part])) for line in (curve.y, curve.lower, curve.upper))
    return Interval(value, min(lower, value), max(upper, value), curve.level, curve.kind)
