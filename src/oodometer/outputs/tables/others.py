"""The tables of backtests, comparisons, judged outputs and stress tests: a function for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...results.backtest import Backtest
    from ...results.comparison import Comparison
    from ...results.stressing import StressTest
    from ...verbs.discriminate.judged import JudgedOutputs

__all__ = ["backtest", "comparison", "judged_outputs", "stress_test"]

_ERRORS = ("error", "bias", "coverage", "width", "cases")
_TRIAL = ("family", "severity", "repeat", "rows", "method", "value", "lower", "upper", "level", "truth", "error")
_PAIR = ("domain", "metric", "a", "b", *INTERVAL, "p_a_better", "undecided")
_POINT = ("model", "shift", "step", "rows", "metric", *INTERVAL, "trust", "error")


def backtest(found: Backtest) -> dict[str, Maker]:
    """``rows`` by method, family and severity; ``methods`` over all trials, best first; ``trials``, each of them."""
    return {
        "rows": lambda: Table(("method", "family", "severity", *_ERRORS), [row.to_dict() for row in found.rows]),
        "methods": lambda: Table(("method", *_ERRORS), [row.to_dict() for row in found.overall()]),
        "trials": partial(_trials, found),
    }


def _trials(found: Backtest) -> Table:
    rows = [
        {
            "family": trial.family,
            "severity": trial.severity,
            "repeat": trial.repeat,
            "rows": trial.rows,
            "method": method,
            "value": value,
            "lower": lower,
            "upper": upper,
            "level": found.level,
            "truth": trial.truth,
            "error": value - trial.truth,
        }
        for trial in found.trials
        for method, (value, lower, upper) in trial.estimates.items()
    ]
    return Table(_TRIAL, rows)


def comparison(found: Comparison) -> dict[str, Maker]:
    """``models``: a row for each model, domain and metric; ``pairs``: a row for each two models, a minus b."""
    return {"models": partial(_models, found), "pairs": partial(_pairs, found)}


def _models(found: Comparison) -> Table:
    rows: list[dict[str, Any]] = []
    for model in found.models:
        numbers: dict[str, dict[str, Any]] = {"in_domain": dict(model.in_domain.metrics)}
        if model.out_of_domain is not None:
            numbers["out_of_domain"] = dict(model.out_of_domain.metrics)
        if model.target:
            numbers["target"] = {n: v for n, v in model.target.items() if ends(v)["value"] is not None}
        costs = {n: one for n, one in (("didma", model.didma), ("nidma", model.nidma)) if one is not None}
        numbers["in_domain"] |= costs
        for domain, some in numbers.items():
            for metric, one in some.items():
                rank = _ranks(found, domain, metric).get(model.name)
                rows.append({"model": model.name, "domain": domain, "metric": metric, **ends(one), "rank": rank})
    return Table(("model", "domain", "metric", *INTERVAL, "rank"), rows)


def _ranks(found: Comparison, domain: str, metric: str) -> dict[str, int]:
    ranked = found.rankings.get(domain, {}).get(metric, [])
    return {row["model"]: row["rank"] for row in ranked}


def _pairs(found: Comparison) -> Table:
    return Table(_PAIR, [{**pair, **ends(pair["difference"])} for pair in found.pairs])


def judged_outputs(found: JudgedOutputs) -> dict[str, Maker]:
    """``numbers``: what all judges say together, then each of them."""
    return {"numbers": partial(_numbers, found)}


def _numbers(found: JudgedOutputs) -> Table:
    about: dict[str, Any] = {"metric": found.metric, "rows": found.rows}
    named = [(name, getattr(found, name)) for name in ("estimate", "lower", "upper", "mean")]
    named += [(f"judge {name}", one) for name, one in zip(found.judges, found.by_judge, strict=True)]
    rows = [{"number": name, **about, **ends(one)} for name, one in named]
    return Table(("number", "metric", *INTERVAL, "rows"), rows)


def stress_test(found: StressTest) -> dict[str, Maker]:
    """``points``; ``step`` is the severity, empty for the data as they are."""
    return {"points": partial(_points, found)}


def _points(found: StressTest) -> Table:
    rows: list[dict[str, Any]] = []
    for model, curve, point in found.points():
        about = {"model": model.name, "shift": curve.kind, "step": point.severity, "rows": point.rows}
        if point.estimate is not None:
            estimate = {"metric": "estimated accuracy", **ends(point.estimate), "trust": point.estimate.trust}
            rows.append({**about, **estimate, "error": point.error})
        rows += [{**about, "metric": name, **ends(one)} for name, one in point.metrics.items()]
    return Table(_POINT, rows)
