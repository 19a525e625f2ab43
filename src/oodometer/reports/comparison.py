"""Comparison: what the page of several models says in words: who may answer, who is best by what, and how surely."""

from __future__ import annotations

from typing import Any

from .charts.base import Result
from .charts.models import DOMAINS, drawn, leader, names, point, rankings, required, score
from .numbers import best, cutoff, finite, given, percent, percent_range, rows_text, short
from .operating import elsewhere
from .rankings import target_rows

SHORT = ("accuracy", "auc_coverage", "disca", "coverage_at_risk")  # of models beyond those that charts show
JUDGES = {"auc_coverage": "AUC", "disca": "DiSCA", "coverage_at_risk": "coverage at risk"}
"""Metrics whose choice stands beside that of the thresholds."""
_MOST_TOLD = 3  # models in a sentence


def limited(result: Result) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """The result with the models that charts show, and a short row for each other one."""
    shown = drawn(result)
    kept = {str(one.get("name")) for one in shown}
    called, led = names(result), leader(result)
    others = [
        {
            "name": called[str(one.get("name"))],
            "scores": [score(one, "in_domain", metric) for metric in SHORT],
            "at": point(one, "in_domain", led[1]["accuracy"]) if led else {},
        }
        for one in result.get("models") or []
        if str(one.get("name")) not in kept
    ]
    return {**result, "models": shown}, others


def moved(result: Result) -> list[dict[str, Any]]:
    """The user's columns that explain a change of accuracy, with the model and the place that they moved to."""
    called = names(result)
    return [
        {**one, "model": called[str(model.get("name"))], "to": DOMAINS.get(domain, "the target")}
        for model in result.get("models") or []
        for domain, changes in (model.get("columns") or {}).items()
        for one in changes
        if one.get("matters") and one.get("explains")
    ]


def sentence(result: Result) -> str:
    """Who may answer, from which confidence on, and what is proved of the answers.

    >>> point = {"accuracy": 0.95, "threshold": 0.7, "coverage": {"value": 0.894},
    ...          "selective_accuracy": {"value": 0.978, "lower": 0.954}}
    >>> result = {"models": [{"name": "one", "in_domain": {"operating_points": [point]}}], "level": 0.95,
    ...           "settings": {"require": [0.95], "tolerance": 0.95}}
    >>> print(sentence(result).replace(chr(160), " "))
    one may answer from confidence 0.7000 on. It then answers 89.4 % of rows like these and, with 95 % confidence, is \
right on at least 95.4 % of them (here on 97.8 %).
    """
    led, first = leader(result), required(result)
    wanted = [x for each in (result.get("settings") or {}).get("require") or [] if (x := finite(each))]
    if led is None:
        if not wanted:
            return ""
        asked = " or ".join(given(one) for one in sorted(wanted))
        return f"No model may answer on its own: none is proved to be right {asked} of the time, at any threshold."
    name, at = names(result)[str(led[0].get("name"))], led[1]
    proof, share = at["selective_accuracy"], at["coverage"]["value"]
    text = ""
    if first is not None and at["accuracy"] < first:
        text = f"No model is proved to be right {given(first)} of the time. For {given(at['accuracy'])}: "
    level = f", with {given(result['level'])} confidence," if finite(result.get("level")) else ""
    if share >= 1:
        text += f"{name} may answer everything like these rows and{level} is right on at least "
        return f"{text}{percent(proof['lower'])} of it (here on {percent(proof['value'])})."
    text += f"{name} may answer from confidence {cutoff(at['threshold'])} on. It then answers {percent(share)} of rows "
    text += f"like these and{level} is right on at least {percent(proof['lower'])} of them "
    return f"{text}(here on {percent(proof['value'])})."


def on_target(result: Result) -> str:
    """What is estimated of the models on their targets without labels, and whether their order is decided.

    >>> one, other = ({"value": v, "lower": v - 0.05, "upper": v + 0.05} for v in (0.8, 0.6))
    >>> result = {"models": [{"name": "a", "target": {"accuracy": one}}, {"name": "b", "target": {"accuracy": other}}]}
    >>> print(on_target(result).replace(chr(160), " "))
    On the target, without labels, a is estimated at 80.0 % (75.0–85.0 %) and b at 60.0 % (55.0–65.0 %).
    """
    rows = target_rows(result)
    if not rows:
        return ""
    known = all(row.get("by_labels") for row in rows)
    rows = [{**row, "accuracy": row["by_labels"]} for row in rows] if known else rows
    rows.sort(key=lambda row: -row["accuracy"]["value"])
    how = "is" if known else "is estimated"
    told = [
        f"{how if row is rows[0] else ''} at {percent(at['value'])} "
        f"({percent_range(at.get('lower'), at.get('upper'))})".lstrip()
        for row in rows[:_MOST_TOLD]
        for at in [row["accuracy"]]
    ]
    named = [f"{short(row['name'], 30)} {words}" for row, words in zip(rows, told, strict=False)]
    text = f"On the target, {'by its labels' if known else 'without labels'}, {_listed(named)}"
    if len(rows) > 1:
        first, second = (row["accuracy"] for row in rows[:2])
        ends = finite(first.get("lower")), finite(second.get("upper"))
        if ends[0] is not None and ends[1] is not None and ends[0] <= ends[1]:
            text += "; the first two intervals overlap: which is better is undecided"
            text += "" if known else ", and a few labels decide it"
    doubted = [short(row["name"], 30) for row in rows if row.get("trust") == "none" and not known]
    if doubted:
        text += f"; the estimate of {_listed(doubted[:_MOST_TOLD])} deserves no trust, nor does its place"
    return f"{text}."


def choices(result: Result) -> str:
    """Which model AUC, DiSCA and coverage at risk would choose, beside the one that may answer most."""
    led, found, called = leader(result), rankings(result), names(result)
    chosen: dict[str, list[str]] = {}
    for metric, name in JUDGES.items():
        tops = [str(row.get("model")) for row in found.get(metric) or [] if row.get("rank") == 1]
        if not tops:
            continue
        mine = led is not None and str(led[0].get("name")) in tops
        who = str(led[0].get("name")) if mine and led is not None else tops[0]
        chosen.setdefault(who, []).append(name)
    if not chosen:
        return ""
    if len(chosen) == 1 and (led is None or str(led[0].get("name")) not in chosen):
        ((who, each),) = chosen.items()
        text = f"{_listed(each)} agree{'s' if len(each) == 1 else ''} on {called.get(who, who)}"
        return f"{text}." if led is None else f"{text}, which may answer less at the accuracy that is required."
    own = chosen.pop(str(led[0].get("name")), []) if led else []
    if not chosen:
        return f"{_listed(own)} choose{'s' if len(own) == 1 else ''} the same model."
    others = [f"{_listed(each)} would choose {called.get(who, who)}" for who, each in chosen.items()]
    text = f"{_listed(own)} agree{'s' if len(own) == 1 else ''}; " if own else ""
    return f"{text}{'; '.join(others)}."


def _listed(items: list[str]) -> str:
    return " and ".join([", ".join(items[:-1]), items[-1]] if len(items) > 1 else items)


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
        away = elsewhere(led[0], "out_of_domain", at.get("threshold"))
        if finite(away.get("value")) is not None:
            holds = away["value"] >= at["accuracy"]
            text = f"Out of its domain the same threshold answers {percent(away['coverage'])}, and "
            text += f"{percent(away['value'])} of that is right ({percent_range(away['lower'], away['upper'])}): "
            text += "as required there too, but seen, not promised." if holds else "the promise does not carry over."
            out.append(
                {
                    "badge": "elsewhere",
                    "style": "quiet" if holds else "none-badge",
                    "text": text,
                }
            )
    if ahead := on_target(result):
        out.append({"badge": "target", "style": "quiet", "text": ahead})
    said = choices(result)
    if said:
        same = "would" not in said
        out.append(
            {
                "badge": "agreed" if same else "disputed",
                "style": "high" if same else "low",
                "text": said,
            }
        )
    return out


def cards(result: Result) -> list[dict[str, Any]]:
    """The best model by each of four metrics: its value, and how often it is the best in replicates."""
    titles = {
        "accuracy": "Most accurate on all rows",
        "auc_coverage": "Best by AUC",
        "disca": "Best by DiSCA",
        "coverage_at_risk": "Answers most",
    }
    risk = finite((result.get("settings") or {}).get("risk"))
    if risk is not None:
        titles["coverage_at_risk"] = f"Answers most with {given(risk)} wrong"
    found, called, out = rankings(result), names(result), []
    for metric, title in titles.items():
        rows = found.get(metric) or []
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
        found = (result.get("paired") or {}).get(domain)
        if not found:
            continue
        rows = {
            count
            for one in result.get("models") or []
            if (count := finite((one.get(domain) or {}).get("rows"))) is not None
        }
        many = rows_text(rows.pop()) if len(rows) == 1 else "rows of each model's own number"
        out.append({"domain": words, "paired": bool(found.get("paired")), "why": found.get("why"), "rows": many})
    return out
