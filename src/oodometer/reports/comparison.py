"""Comparison: what the page of several models says in words: who may answer, who is best by what, and how surely."""

from __future__ import annotations

from typing import Any

from ..errors import UsageError
from ..registry import find
from ..results.comparison import elsewhere, leader
from ..results.values import listed
from .charts.base import Result
from .charts.models import DOMAINS, METRICS, names, part, rankings, score
from .evaluation import meaning
from .numbers import best, finite, given, percent, percent_range, reference, rows_text

COLUMNS = {**METRICS, "brier": "Brier", "ece": "ECE"}
KINDS = {
    "auc_against_coverage_at_risk": ("answers more", "high"),
    "tail": ("first rows", "high"),
    "auc_against_disca": ("DiSCA", "low"),
    "contested": ("DiSCA alone", "quiet"),
}
"""Findings about two models: words and style of the badge, the weightiest first."""
NOTED = {
    "operating_points": "the threshold of each required accuracy: exact tests in an order that is fixed before any "
    "verdict is read, from strict to lenient, from several starts that share the level (Learn then Test)",
    "failure_cases": "where a curve rises by more than chance explains, and plateaus of sure mistakes",
    "accuracy_coverage": "the curves: accuracy of the surest part, ties in expectation over their order",
}
OURS = {"didma": "mishra2022", "nidma": "mishra2022"}


def pairs(result: Result, domain: str) -> list[dict[str, Any]]:
    """Findings about two models, each with its badge; those that DiSCA alone supports come last."""
    out = []
    by_name = {str(model.get("name")): model for model in result.get("models") or []}
    for finding in result.get("findings") or []:
        kind = str(finding.get("name"))
        if finding.get("domain") != domain or kind not in KINDS:
            continue
        pair = [score(by_name.get(str(name)) or {}, domain, "coverage_at_risk") for name in finding.get("models") or []]
        # contested: the model that AUC prefers also answers more at the accepted risk
        if kind == "auc_against_disca" and len(pair) == 2 and all(pair) and pair[0]["value"] > pair[1]["value"]:
            kind = "contested"
        badge, style = KINDS[kind]
        out.append({**finding, "kind": kind, "badge": badge, "style": style})
    return sorted(out, key=lambda item: (list(KINDS).index(item["kind"]), -(finite(item.get("share")) or 0.0)))


def disca_table(result: Result, domain: str) -> dict[str, Any] | None:
    """DiSCA of each model at each tolerance, the best on top, in the form of the paper's Table 2."""
    called, heads = names(result), list[Any]()
    rows: list[dict[str, Any]] = []
    chosen = finite((result.get("settings") or {}).get("tolerance"))
    for model in result.get("models") or []:
        disca = score(model, domain, "disca")
        cells = [entry for each in disca.get("by_tolerance") or [] if (entry := best(each))]
        if not cells:
            continue
        heads = heads or [cell.get("tolerance") for cell in cells]
        for entry, later in zip(cells, [*cells[1:], {}], strict=True):
            spared = later.get("never_below", True)
            entry["style"] = "" if entry.get("never_below") else "edge" if spared else "below"
        rows.append({"name": called[str(model.get("name"))], "cells": cells, "disca": disca})
    if not rows:
        return None
    rows.sort(key=lambda row: -row["disca"]["value"])
    for at in range(len(heads)):
        column = [row["cells"][at] for row in rows if len(row["cells"]) > at]
        top = max(item["value"] for item in column)
        for entry in column:
            entry["top"] = entry["value"] == top
    grids = list(rows[0]["disca"].get("by_grid") or {})
    return {"heads": heads, "rows": rows, "chosen": chosen, "grids": grids, "where": DOMAINS[domain]}


def notes(result: Result) -> list[dict[str, Any]]:
    """What each metric says and where it comes from; only metrics that this result has."""
    settings = result.get("settings") or {}
    ranked = [name for name in COLUMNS if any(name in rankings(result, domain) for domain in DOMAINS)]
    out = [{"name": COLUMNS[name], "key": name, "text": meaning(name, settings)} for name in ranked]
    for name, text in NOTED.items():
        if any(part(model, domain).get(name) for model in result.get("models") or [] for domain in DOMAINS):
            out.append({"name": name.replace("_", " "), "key": name, "text": text})
    return [{**item, "reference": _reference(item["key"])} for item in out]


def _reference(metric: str) -> Any:
    """The entry of a metric; None for one that this installation does not know."""
    if metric in OURS:
        return reference(OURS[metric])
    try:
        return reference(str(find("metric", metric).citation))
    except UsageError:
        return None


JUDGES = {"auc_coverage": "AUC", "disca": "DiSCA", "coverage_at_risk": "coverage at risk"}
"""Metrics whose choice stands beside that of the thresholds."""


def choices(result: Result) -> str:
    """Which model AUC, DiSCA and coverage at risk would choose, beside the one that may answer most."""
    led, by_metric, called = leader(result), rankings(result), names(result)
    chosen: dict[str, list[str]] = {}
    for metric, name in JUDGES.items():
        tops = [str(row.get("model")) for row in by_metric.get(metric) or [] if row.get("rank") == 1]
        if not tops:
            continue
        mine = led is not None and str(led[0].get("name")) in tops
        who = str(led[0].get("name")) if mine and led is not None else tops[0]
        chosen.setdefault(who, []).append(name)
    if not chosen:
        return ""
    if len(chosen) == 1 and (led is None or str(led[0].get("name")) not in chosen):
        ((who, each),) = chosen.items()
        text = f"{listed(each)} agree{'s' if len(each) == 1 else ''} on {called.get(who, who)}"
        return f"{text}." if led is None else f"{text}, which may answer less at the accuracy that is required."
    own = chosen.pop(str(led[0].get("name")), []) if led else []
    if not chosen:
        return f"{listed(own)} choose{'s' if len(own) == 1 else ''} the same model."
    others = [f"{listed(each)} would choose {called.get(who, who)}" for who, each in chosen.items()]
    text = f"{listed(own)} agree{'s' if len(own) == 1 else ''}; " if own else ""
    return f"{text}{'; '.join(others)}."


def badges(result: Result) -> list[dict[str, str]]:
    """Badges of the headline: what the bound promises, what the threshold did elsewhere, who would choose another."""
    led, out = leader(result), []
    many = len(result.get("models") or [])
    if led is not None:
        at = led[1]
        kind = str(at.get("kind") or at["selective_accuracy"].get("kind") or "")
        text = "The bound holds for rows drawn like these, however few, although the threshold was looked for on them."
        level = finite(result.get("level"))
        if many > 1 and level is not None:
            text += f" It does not pay for having picked the best of {many} models: for that ask for the level "
            text += f"{round(1 - (1 - level) / many, 6):g}."
        out.append({"badge": kind, "style": "", "text": text})
        away = elsewhere(led[0], at.get("threshold"))
        if finite(away.get("value")) is not None:
            holds = away["value"] >= at["accuracy"]
            text = f"Out of its domain the same threshold answers {percent(away['coverage'])}, and "
            text += f"{percent(away['value'])} of that is right ({percent_range(away['lower'], away['upper'])}): "
            text += "as required there too, but seen, not promised." if holds else "the promise does not carry over."
            out.append({"badge": "elsewhere", "style": "quiet" if holds else "none-badge", "text": text})
    sentence = choices(result)
    if sentence:
        same = "would" not in sentence
        out.append({"badge": "agreed" if same else "disputed", "style": "high" if same else "low", "text": sentence})
    return out


def cards(result: Result) -> list[dict[str, Any]]:
    """The best model by each of four metrics: its value, and how often it is the best in replicates."""
    titles = {"accuracy": "Most accurate on all rows", "auc_coverage": "Best by AUC", "disca": "Best by DiSCA"}
    titles |= {"coverage_at_risk": "Answers most"}
    risk = finite((result.get("settings") or {}).get("risk"))
    if risk is not None:
        titles["coverage_at_risk"] = f"Answers most with {given(risk)} wrong"
    by_metric, called, out = rankings(result), names(result), []
    for metric, title in titles.items():
        rows = by_metric.get(metric) or []
        if not rows:
            continue
        ties = sum(row.get("rank") == 1 for row in rows)
        out.append(
            {
                "title": title,
                "model": called.get(str(rows[0].get("model")), ""),
                "row": best(rows[0]),
                "share": metric in ("accuracy", "coverage_at_risk"),
                "ties": ties - 1,
            }
        )
    return out


def compared(result: Result) -> list[dict[str, Any]]:
    """How the models were compared in each domain: on the same rows or apart, and why."""
    out = []
    for domain, words in DOMAINS.items():
        paired = (result.get("paired") or {}).get(domain)
        if not paired:
            continue
        rows = {
            count
            for model in result.get("models") or []
            if (count := finite((model.get(domain) or {}).get("rows"))) is not None
        }
        many = rows_text(rows.pop()) if len(rows) == 1 else "rows of each model's own number"
        out.append({"domain": words, "paired": bool(paired.get("paired")), "why": paired.get("why"), "rows": many})
    return out
