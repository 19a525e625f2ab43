"""The tables of audits, backtests, comparisons, judged outputs, rankings and stress tests: a function for each."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from .base import INTERVAL, Maker, Table, ends

if TYPE_CHECKING:
    from ...audits.result import Audit
    from ...results.backtest import Backtest
    from ...results.comparison import Comparison


_ERRORS = ("error", "bias", "coverage", "width", "cases")
_TRIAL = ("family", "severity", "repeat", "rows", "method", "value", "lower", "upper", "level", "truth", "error")
_PAIR = ("domain", "metric", "a", "b", *INTERVAL, "p_a_better", "undecided")
_AUDIT = ("number", "method", *INTERVAL, "labels", "effective_labels", "assumes")
_STRATA = ("stratum", "rows", "lowest", "expected", "highest", "labels", "correct", "suggested")


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


def audit(found: Audit) -> dict[str, Maker]:
    """Intervals, strata where the target was divided, and rows to label next where they were asked for."""
    made: dict[str, Maker] = {"intervals": partial(_intervals, found)}
    if found.strata:
        made["strata"] = partial(_strata, found)
    if found.suggestion is not None:
        made["suggested"] = partial(_suggested, found)
    return made


def _intervals(found: Audit) -> Table:
    """The label-free estimate, the audited one, the believed one, and every other interval, named in ``number``."""
    free = found.headline
    rows: list[dict[str, Any]] = [
        {"number": "label-free", "method": free.method, **ends(free), "assumes": free.assumes}
    ]
    chosen = found.estimate
    for one in found.intervals:
        is_chosen = chosen is not None and one.method == chosen.method
        rows.append(
            {
                "number": "audited" if is_chosen else "another",
                "method": one.method,
                **ends(one),
                "labels": found.labels,
                "effective_labels": found.worth(one),
                "assumes": one.assumes,
            }
        )
    believed = found.believed
    if believed is not None and believed.interval is not None:
        rows.append(
            {
                "number": "believed",
                "method": "natural shifts and labels",
                **ends(believed.interval),
                "labels": found.labels,
                "effective_labels": believed.effective_labels,
                "assumes": believed.assumes,
            }
        )
    rows.sort(key=lambda row: ("audited", "believed", "label-free", "another").index(row["number"]))
    return Table(_AUDIT, rows)


def _strata(found: Audit) -> Table:
    return Table(_STRATA, [{name: getattr(one, name) for name in _STRATA} for one in found.strata])


def _suggested(found: Audit) -> Table:
    """Numbers of the target's rows, from 0, and how likely each was to be drawn."""
    assert found.suggestion is not None
    drawn = zip(found.suggestion.row.tolist(), found.suggestion.probability.tolist(), strict=True)
    return Table(("row", "p"), [{"row": row, "p": p} for row, p in drawn])
