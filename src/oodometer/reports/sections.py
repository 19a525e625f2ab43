"""Sections: which charts a page has and what its template is told, by the command that made the result."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from .. import plugins
from ..audits.judges_result import judges_view
from ..audits.result import audit_view
from ..errors import UsageError
from ..notes import BESIDE, TRUST, about, kind_of
from ..options import Options, declared, spelt
from ..plain import Json, Plain, Strings, inside
from ..registry import find
from ..results.alarms import WHEN
from ..results.backtest import answered_families, backtest_view
from ..results.comparison import amount, comparison_view, elsewhere, leader
from ..results.diagnosis import diagnosis_view
from ..results.estimation import estimation_view
from ..results.evaluation import evaluation_view, votes_grids
from ..results.history import history_view, job_view
from ..results.plan import plan_view
from ..results.prediction import prediction_view
from ..results.preferences import preferences_view
from ..results.ranking import ranking_view
from ..results.reading import reading_view
from ..results.values import counted, listed
from ..results.view import View, interval_of
from ..verbs.options import AuditOptions, FitOptions, PlanOptions
from .charts import by_category, curves, models, over_time, planning
from .charts.base import WORDS, Figure, Result
from .charts.models import DOMAINS, METRICS, names, part, rankings, score
from .numbers import (
    EQUAL,
    best,
    finite,
    given,
    number,
    percent,
    percent_range,
    points,
    reference,
    rows_text,
    short,
)

Drawn = list[Figure | None]

# ------------------------------------------------------------------------------------------ the first screen

FEW = 10  # rows to label first: enough to refute an estimate
MORE = 20  # rows to suggest where the curve names no number
# sentences that stand before the fold, where none of them says how far to trust the number
MOST_SENTENCES = 4
# take no value, as all other options do
BARE = ("-v", "--verbose", "-q", "--quiet", "--debug", "--no-config")
NEXT: dict[str, str] = WORDS["next"]
Step = dict[str, str]
"""What to do next: ``text``, and ``line``, the command that does it."""


SIZES = ((14, ""), (26, "words"), (999, "text"))
"""Styles of the claim by the length of the longest line of it."""


def claim_size(view: View) -> str:
    """The style in which the claim is written, one for the number and for what limits it: neither is larger."""
    ends = f"{' '.join(view.ends)}{' points' * view.gap}" if view.ends else ""
    longest = max(map(len, (view.number, ends, view.caveat)))
    if view.trust == "none" or view.number in ("none", "open", "not audited"):
        return "none"
    return next(style for most, style in SIZES if longest <= most)


def first_screen(view: View, *, drawn: bool = False) -> Json:
    """What a view says before the fold: sentences, the reason for the trust, parts with an alarm; and what waits.

    ``drawn`` : whether the numbers beside the first are drawn, so that no sentence has to say them.
    """
    shown = [text for text in view.sentences if text and not (drawn and kind_of(text) == BESIDE)]
    cut = next((at for at, text in enumerate(shown) if kind_of(text) == TRUST), None)
    why = "" if cut is None else _without_command(about(shown.pop(cut)))
    cut = MOST_SENTENCES if cut is None else cut
    sentences = [_without_command(text) for text in shown]
    parts = [grid for grid in view.grids if grid.title in ("chunks", "slices") and grid.notes]
    raised = [
        (grid.notes[0], [grid.rows[at][0] for at in sorted(grid.marked)][-MORE:]) for grid in parts
    ]
    return {
        "sentences": sentences[:cut],
        "why": why,
        "raised": raised,
        "more": [*sentences[cut:], *view.details],
    }


def _without_command(sentence: str) -> str:
    """A sentence without the command that stands in full below."""
    return sentence.replace(" (`oodometer audit`)", "")


def again(
    result: Result, record: type[Options], name: str, *more: str, files: int | None = None
) -> str:
    """The command that made a result as that of another verb: its files, or the first so many of them, and of its
    options those that both have.
    """
    words = _command_of(result)
    if not words:
        return ""
    both = {way for option, _, about in declared(record) for way in spelt(option, about)} - {*more}
    both.add("--sample")
    if name == "audit" and not result.get("judges"):
        both.discard("--by")  # groups of judged rows alone
    positional, line, rest = list[str](), list[str](), iter(words[2:])
    for word in rest:
        if not word.startswith("-"):
            positional.append(word)
        elif word not in BARE:
            value = [] if "=" in word else [next(rest, "")]
            # an audit knows the accuracy alone
            of_metric = word.startswith("--fail-") and "=" in "".join(value)
            if word.partition("=")[0] in both and not (name == "audit" and of_metric):
                line += [word, *value]
    return shlex.join([words[0], *name.split(), *positional[:files], *line, *more])


def _command_of(result: Result) -> list[str]:
    """The words of the command that made a result; none where it is not known."""
    argv = result.get("argv")
    if isinstance(argv, list | tuple):
        return [*map(str, argv)]
    try:
        return shlex.split(str(argv or ""), True)
    except ValueError:
        return []


def label_rows(result: Result, why: str, count: int = FEW, **values: Any) -> Step:
    """Rows to label, drawn by an audit of the same files; ``why`` is a name in the table of words."""
    rows = finite(inside(result, "target", "rows"))
    count = count if rows is None else min(count, int(rows))
    line = again(result, AuditOptions, "audit", "--suggest", str(count), "--out", "rows.html")
    line = line or f'oodometer.audit(reference, target, suggest={count}, out="rows.html")'
    return {
        "text": f"{NEXT[why].format(**values)} {NEXT['draw'].format(rows=rows_text(count))}",
        "line": line,
    }


def after_estimate(result: Result) -> Step:
    """Nothing, or a few rows to label, where the number is not to be trusted or an alarm stands; before all which class
    is which, where the labels of the reference may be other classes than they are called.
    """
    if inside(result, "reference", "doubt"):
        return {"text": NEXT["classes"]}
    head, fell = result.get("headline") or {}, result.get("fell") or {}
    parts = [
        part.get("fell") or {} for name in ("chunks", "slices") for part in result.get(name) or ()
    ]
    if inside(result, "truth", "decides"):
        return {"text": NEXT["labelled"]}
    if inside(result, "alarms", "raised") or any(part.get("alarm") for part in parts):
        return label_rows(result, "alarm")
    trusted = head.get("trust") == "high" and fell.get("verdict") != "fell"
    return {"text": NEXT["trusted"]} if trusted else label_rows(result, "doubted")


def after_audit(result: Result) -> Step:
    """The rows that were drawn, or those that would about halve the interval."""
    if result.get("compared"):
        return after_compare(result)
    half, labels = curves.halving(result), int(finite(result.get("labels")) or 0)
    if suggested := len(result.get("suggested") or []):
        width = curves.expected(result, labels + suggested)
        text = NEXT["drawn"].format(rows=rows_text(suggested))
        return {
            "text": text
            + (f" With all the interval would be about {points(width)} wide." if width else "")
        }
    rows = finite(inside(result, "target", "rows")) or MORE
    if result.get("alarms") and result.get("decisions"):  # a rule was asked for
        needed = finite(result.get("needed_labels"))
        if needed is None:
            return {"text": NEXT["settled"]}
        return label_rows(result, "asked", int(needed), more=number(int(needed)))
    more = half - labels if half is not None else min(max(labels, MORE), int(rows) - labels)
    if more <= 0:
        return {"text": NEXT["all"]}
    return label_rows(result, "surer" if half is None else "halve", more, more=number(more))


def after_compare(result: Result) -> Step:
    """Which model to use, or how many rows would decide between the two if their difference stays as it is."""
    gap = interval_of({"kind": "asymptotic", **(result.get("difference") or {})})
    of = result.get("difference") or {}
    if gap is None:
        return {}
    if gap.lower > 0 or gap.upper < 0:
        return {"text": NEXT["shown"].format(model=of["b" if gap.value > 0 else "a"])}
    half, rows = max(gap.upper - gap.value, gap.value - gap.lower), finite(of.get("rows"))
    if not rows or abs(gap.value) < EQUAL:
        return {"text": NEXT["either"]}
    needed = float(
        f"{rows * ((finite(of.get('smallest_visible')) or half) / abs(gap.value)) ** 2:.2g}"
    )
    return {
        "text": NEXT["undecided"].format(
            gap=amount(of, gap.value), many=f"{needed:,.0f}", rows=f"{rows:,.0f}"
        )
    }


def after_rank(result: Result) -> Step:
    """Which model to take, or how many rows to label until the first two are told apart."""
    settling, best = result.get("settling") or {}, str(result.get("likeliest"))
    if "battles" in result:
        together = result["groups"][0]
        if len(together) == 1:
            return {"text": NEXT["ahead"].format(model=together[0])}
        return {"text": NEXT["battles"].format(models=listed([*map(str, together[:3])]))}
    if inside(result, "stop", "safe"):
        return {"text": NEXT["decided"].format(model=best)}
    if settling.get("labels") == 0:
        chance = max((row.get("p_best") or 0.0 for row in result["ranking"]), default=0.0)
        sure = f"{percent(chance, 0)} sure"
        return {"text": NEXT["for_now"].format(model=best, sure=sure)}
    labels, rows = finite(settling.get("labels")), len(result.get("suggested") or [])
    text = (
        NEXT["drawn_by_rank"].format(rows=rows_text(rows))
        if rows
        else NEXT["rank"].format(model=best)
    )
    return {
        "text": text if labels is None or rows else NEXT["settle"].format(rows=rows_text(labels))
    }


def next_step(command: str, result: Result) -> Step:
    """What to do once this result is read; nothing where the page says so itself."""
    after = {
        "estimate": after_estimate,
        "audit": after_audit,
        "compare": after_compare,
        "diagnose": after_diagnosis,
        "rank": after_rank,
    }
    if command in after:
        return after[command](result)
    # scores alone
    if command == "evaluate" and "accuracy" not in (result.get("metrics") or {"accuracy": None}):
        line = again(result, PlanOptions, "plan", "--difference", "0.03", files=1)
        return {"text": NEXT["graded"], "line": line or "oodometer.plan(scores, difference=0.03)"}
    if command in ("evaluate", "backtest"):
        line = again(result, FitOptions, "fit", "--out", "model.oodo", files=1)
        return {
            "text": NEXT[command],
            "line": line or 'oodometer.fit(reference, out="model.oodo")',
        }
    return {"text": NEXT[command]} if command in NEXT else {}


# ------------------------------------------------------------------------------------------ estimate, demo, backtest

ESTIMATE_CHARTS = (
    by_category.methods,
    by_category.votes,
    curves.risk_coverage,
    curves.reliability,
    curves.confidence,
    over_time.chunks,
    by_category.slices,
)


def estimate(result: Result) -> tuple[Drawn, Json]:
    """Charts and names for the sections of an estimate."""
    estimates = by_category.with_headline(result)
    for item in estimates:
        item["reference"] = reference(str(item["citation"])) if item.get("citation") else None
    small = over_time.metric_chunks(result)
    return [*(chart(result) for chart in ESTIMATE_CHARTS), *small], {
        "metric_figures": small,
        "when": WHEN.get(str(inside(result, "alarms", "when"))),
        "estimates": estimates,
        "votes": votes_grids(result),
    }


def demo(result: Result) -> tuple[Drawn, Json]:
    """The same of the step that is shown in full, and the chart of all steps."""
    inner = result.get("estimate") or {}
    charts, words = estimate(inner)
    return [curves.severity(result), *charts], {
        "estimate": inner,
        "inner_view": estimation_view(inner),
        **words,
    }


def backtest(result: Result) -> tuple[Drawn, Json]:
    """The map of errors, a small chart for each family, and the tables."""
    small = by_category.error_by_severity(result)
    return [by_category.error_map(result), *small], {
        "small": small,
        "styles": by_category.styles(result),
        "glyphs": by_category.GLYPHS,
        "families": [
            {"name": by_category.family_name(name), "means": by_category.MEANINGS.get(name, "")}
            for name in answered_families(result)
        ],
    }


# ------------------------------------------------------------------------------------------ audit


def after_diagnosis(result: Result) -> Step:
    """A few rows to label where something moved, as no test sees the truth; else nothing."""
    moved = result.get("kind") != "none"
    return label_rows(result, "moved") if moved else {"text": NEXT["trusted"]}


def diagnose(result: Result) -> tuple[Drawn, Json]:
    """The tests, the user's columns along time, and the tables."""
    return [over_time.columns(result), by_category.findings(result)], {
        "found": {"diagnosis": result},
        "estimates": [],
    }


def power(result: Result) -> str:
    """Which accuracies so many labels would have noticed, so that nobody takes silence for proof."""
    noticed = result.get("noticeable") or {}
    below, above = finite(noticed.get("below")), finite(noticed.get("above"))
    labels, share = finite(result.get("labels")), finite(noticed.get("power"))
    if not labels or share is None:
        return ""
    often, labels_text = f"{number(round(share * 10))} times in 10", counted(int(labels), "label")
    ends = [f"below {percent(below)}"] if below is not None else []
    ends += [f"above {percent(above)}"] if above is not None else []
    if not ends:
        return f"No accuracy at all would be refuted {often} by {labels_text}: label more for a test that can."
    return f"With {labels_text} this test refutes {often} only where the truth lies {' or '.join(ends)}."


def audit(result: Result) -> tuple[Drawn, Json]:
    """The intervals from labels, the widths to come, what the test sees, and what to label next."""
    estimates = by_category.chosen_first(result)
    for item in estimates:
        item["reference"] = reference(str(item["citation"])) if item.get("citation") else None
    return [by_category.audited(result), curves.widths(result)], {
        "audited": best(result.get("estimate")),
        "claim": best(result.get("headline")),
        "power": power(result),
        "when": WHEN.get(str(inside(result, "alarms", "when"))),
        "estimates": estimates,
        "steps": curves.width_steps(result),
    }


# ------------------------------------------------------------------------------------------ evaluate

MOST_CLASSES = 200  # in the table of classes
MOST_CELLS = 15  # classes in the grid of confusions; beyond it the largest confusions are listed
MOST_PAIRS = 20
MOST_FILES = 3  # shown in full where several were evaluated
EVALUATE_CHARTS = (
    curves.risk_coverage,
    by_category.votes,
    curves.vote_trade_off,
    curves.vote_subsets,
    curves.reliability,
    by_category.per_class,
    by_category.slices,
)


def meaning(name: str, result: Result) -> str:
    """What a metric says, with the options it was read at."""
    if name not in WORDS["metric_words"]:
        return str(result.get("description") or "")
    risk, coverage = (
        given(result[key]) if finite(result.get(key)) is not None else usual
        for key, usual in (("risk", "so many"), ("coverage", "part"))
    )
    sentence: str = WORDS["metric_words"][name]
    text = sentence.format(risk=risk, coverage=coverage, k=str(result.get("k", "few")))
    return (
        f"of class {short(result['positive'], 40)}: {text}"
        if result.get("positive") is not None
        else text
    )


def _confusion(result: Result) -> Json | None:
    """A small grid with the share of each row, or the largest confusions where there are many classes."""
    table = result.get("confusion") or {}
    called, counts = [short(name) for name in table.get("classes") or []], table.get("counts") or []
    if not called or len(counts) != len(called):
        return None
    shares = [[(count, count / (sum(row) or 1)) for count in row] for row in counts]
    pairs = [
        {"truth": called[i], "prediction": called[j], "count": count, "share": share}
        for i, row in enumerate(shares)
        for j, (count, share) in enumerate(row)
        if i != j and count
    ]
    pairs.sort(key=lambda pair: -pair["count"])
    title = "No confusions: every row is right"
    if pairs:
        worst = pairs[0]
        title = f"Most common confusion: {short(worst['truth'], 40)} taken for {short(worst['prediction'], 40)}"
        title += f", {rows_text(worst['count'])} ({percent(worst['share'])} of that class)"
    if len(called) > MOST_CELLS:
        caption = (
            f"The {min(MOST_PAIRS, len(pairs))} largest confusions among {len(called)} classes."
        )
        return {"title": title, "caption": caption, "pairs": pairs[:MOST_PAIRS]}
    caption = "Rows by true and predicted class. The stronger the colour, the larger the share of the true class."
    return {
        "title": title,
        "caption": caption,
        "names": called,
        "grid": list(zip(called, shares, strict=True)),
    }


def evaluate(result: Result) -> tuple[Drawn, Json]:
    """Charts and names for one labelled file, or for several one after another."""
    files: list[Json] = [dict(result)]
    charts: Drawn = []
    if result.get("files"):
        files, charts = by_category.best_files_first(result), [by_category.files(result)]
    sheets = []
    for index, item in enumerate(files[:MOST_FILES]):
        metrics = item.get("metrics") or {}
        # the accuracy of all rows, and of each slice, stands where an estimate has its headline
        parts = item.get("slices") or []
        slices = [{**each, "headline": inside(each, "metrics", "accuracy")} for each in parts]
        item |= {"command": "evaluate", "headline": metrics.get("accuracy"), "slices": slices}
        mine = {
            figure_of_item.name: figure_of_item
            for chart in EVALUATE_CHARTS
            if (figure_of_item := chart(item)) is not None
        }
        figures = {name: replace(figure, name=f"{name}-{index}") for name, figure in mine.items()}
        charts += figures.values()
        classes = by_category.worst_classes(item)[1][:MOST_CLASSES]
        columns = dict.fromkeys(key for each in classes for key in each if key != "class")
        filled = {
            key
            for each in classes
            for key, value in each.items()
            if finite(value) is not None or best(value)
        }
        sheets.append(
            {
                "result": item,
                "figures": figures,
                "votes": votes_grids(item),
                "view": evaluation_view(item),
                "accuracy": best(metrics.get("accuracy")),
                "meanings": [
                    (name, meaning(name, metric))
                    for name, metric in metrics.items()
                    if best(metric)
                ],
                "class_rows": classes,
                "class_columns": [name for name in columns if name in filled],
                "confusion": _confusion(item),
                "disca": best(metrics.get("disca")),
            }
        )
    return charts, {"sheets": sheets, "left": len(files) - len(sheets)}


# ------------------------------------------------------------------------------------------ compare

COLUMNS = {**METRICS, "brier": "Brier", "ece": "ECE"}
KINDS = {
    "auc_against_coverage_at_risk": ("answers more", "high"),
    "tail": ("first rows", "high"),
    "auc_against_disca": ("DiSCA", "low"),
    "contested": ("DiSCA alone", "quiet"),
}
"""Findings about two models: words and style of the badge, the weightiest first."""
OURS = {"didma": "mishra2022", "nidma": "mishra2022"}


def pairs(result: Result, domain: str) -> list[Json]:
    """Findings about two models, each with its badge; those that DiSCA alone supports come last."""
    out = []
    by_name = {str(model.get("name")): model for model in result.get("models") or []}
    for finding in result.get("findings") or []:
        kind = str(finding.get("name"))
        if finding.get("domain") != domain or kind not in KINDS:
            continue
        pair = [
            score(by_name.get(str(name)) or {}, domain, "coverage_at_risk")
            for name in finding.get("models") or []
        ]
        # contested: the model that AUC prefers also answers more at the accepted risk
        if (
            kind == "auc_against_disca"
            and len(pair) == 2
            and all(pair)
            and pair[0]["value"] > pair[1]["value"]
        ):
            kind = "contested"
        badge, style = KINDS[kind]
        out.append({**finding, "kind": kind, "badge": badge, "style": style})
    return sorted(
        out, key=lambda item: (list(KINDS).index(item["kind"]), -(finite(item.get("share")) or 0.0))
    )


def disca_table(result: Result, domain: str) -> Json | None:
    """DiSCA of each model at each tolerance, the best on top, in the form of the paper's Table 2."""
    called, rows = names(result), list[Json]()
    for model in result.get("models") or []:
        disca = score(model, domain, "disca")
        if cells := _disca_cells(disca):
            rows.append({"name": called[str(model.get("name"))], "cells": cells, "disca": disca})
    if not rows:
        return None
    heads = [cell.get("tolerance") for cell in rows[0]["cells"]]
    rows.sort(key=lambda row: -row["disca"]["value"])
    for at in range(len(heads)):
        column = [row["cells"][at] for row in rows if len(row["cells"]) > at]
        top = max(item["value"] for item in column)
        for entry in column:
            entry["top"] = entry["value"] == top
    return {
        "heads": heads,
        "rows": rows,
        "chosen": finite(inside(result, "settings", "tolerance")),
        "grids": list(rows[0]["disca"].get("by_grid") or {}),
        "where": DOMAINS[domain],
    }


def _disca_cells(disca: Result) -> list[Json]:
    """DiSCA at each tolerance; the last one that the model falls below is marked, and so are those before it."""
    cells = [entry for each in disca.get("by_tolerance") or [] if (entry := best(each))]
    for entry, later in zip(cells, [*cells[1:], {}], strict=False):
        is_last = later.get("never_below", True)
        entry["style"] = "" if entry.get("never_below") else "edge" if is_last else "below"
    return cells


def notes(result: Result) -> list[Json]:
    """What each metric says and where it comes from; only metrics that this result has."""
    settings, every = result.get("settings") or {}, result.get("models") or []
    ranked = [
        name for name in COLUMNS if any(name in rankings(result, domain) for domain in DOMAINS)
    ]
    out: list[Json]
    out = [{"name": COLUMNS[name], "key": name, "text": meaning(name, settings)} for name in ranked]
    for name, text in WORDS["noted"].items():
        if any(part(model, domain).get(name) for model in every for domain in DOMAINS):
            out.append({"name": name.replace("_", " "), "key": name, "text": text})
    for item in out:
        try:
            item["reference"] = reference(
                OURS.get(item["key"]) or str(find("metric", item["key"]).citation)
            )
        except UsageError:  # this installation does not know it
            item["reference"] = None
    return out


def badges(result: Result) -> list[dict[str, str]]:
    """What the bound of the model that may answer most promises, and what its threshold did elsewhere."""
    led, out = leader(result), []
    count, level = len(result.get("models") or []), finite(result.get("level"))
    if led is not None:
        model, at = led
        text = "The bound holds for rows drawn like these, however few, although the threshold was looked for on them."
        if count > 1 and level is not None:
            text += f" It does not pay for having picked the best of {count} models: for that ask for the level "
            text += f"{round(1 - (1 - level) / count, 6):g}."
        kind = str(at.get("kind") or at["selective_accuracy"].get("kind") or "")
        out.append({"badge": kind, "style": "", "text": text})
        away = elsewhere(model, at.get("threshold"))
        if finite(away.get("value")) is not None:
            holds = away["value"] >= at["accuracy"]
            text = f"Out of its domain the same threshold answers {percent(away['coverage'])}, and "
            text += f"{percent(away['value'])} of that is right ({percent_range(away['lower'], away['upper'])}): "
            text += (
                "as required there too, not guaranteed."
                if holds
                else "the promise does not carry over."
            )
            out.append(
                {"badge": "elsewhere", "style": "quiet" if holds else "none-badge", "text": text}
            )
    return out


def cards(result: Result) -> list[Json]:
    """The best model by each of four metrics: its value, and how often it is the best in replicates."""
    risk = finite(inside(result, "settings", "risk"))
    titles = {
        "accuracy": "Most accurate on all rows",
        "mean_score": "Highest mean score",
        "auc_coverage": "Best by AUC",
        "disca": "Best by DiSCA",
    }
    titles["coverage_at_risk"] = "Answers most" + (
        "" if risk is None else f" with {given(risk)} wrong"
    )
    by_metric, called, out = rankings(result), names(result), []
    for metric, title in titles.items():
        if rows := by_metric.get(metric):
            ties = sum(row.get("rank") == 1 for row in rows) - 1
            out.append(
                {
                    "title": title,
                    "model": called.get(str(rows[0].get("model")), ""),
                    "row": best(rows[0]),
                    "ties": ties,
                    "share": metric in ("accuracy", "coverage_at_risk"),
                }
            )
    return out


def compared(result: Result) -> list[Json]:
    """How the models were compared in each domain: on the same rows or apart, and why."""
    out = []
    for domain, words in DOMAINS.items():
        if paired := inside(result, "paired", domain):
            rows = {
                finite(inside(model, domain, "rows")) for model in result.get("models") or []
            } - {None}
            rows_in_words = (
                rows_text(rows.pop()) if len(rows) == 1 else "rows of each model's own number"
            )
            out.append(
                {
                    "domain": words,
                    "paired": bool(paired.get("paired")),
                    "why": paired.get("why"),
                    "rows": rows_in_words,
                }
            )
    return out


def compare(result: Result) -> tuple[Drawn, Json]:
    """Curves, terms of DiSCA and ranks of several models, and the tables beside them."""
    charts: Drawn = [*models.differences(result)]
    charts += [models.accuracy_coverage(result, item) for item in (*DOMAINS, "target")]
    charts += [
        chart(result, item) for chart in (models.places, models.tolerances) for item in DOMAINS
    ]
    charts += [
        models.first_mistakes(result),
        *(models.fluctuations(result, item) for item in DOMAINS),
    ]
    limited = {**result, "models": models.drawn(result)}
    return charts, {
        "styles": models.STYLES,
        "badges": badges(result),
        "cards": cards(result),
        "compared": compared(result),
        "left": len(result.get("models") or []) - len(limited["models"]),
        "findings": {name: pairs(result, name) for name in DOMAINS},
        "disca": [table for name in DOMAINS if (table := disca_table(limited, name))],
        "notes": notes(result),
        "domains": DOMAINS,
    }


# ------------------------------------------------------------------------------------------ rank


MOST_EXAMPLES = 20
MOST_WORDS = 300  # of an example; longer ones would swell the page
STRONGEST = 0.72  # opacity of the largest attribution: the ink on it stays readable


def drawn_examples(result: Result) -> list[Json]:
    """The first examples, each with a line for each model, in the order of the ranking."""
    order = [str(item.get("model")) for item in result.get("ranking") or []]
    factors = [name for name, _ in drawn_factors(result)]
    out = []
    for example in (result.get("examples") or [])[:MOST_EXAMPLES]:
        every = example.get("models") or {}
        numbers = [
            n
            for model in every.values()
            for n in (*(model.get("values") or ()), model.get("separator"))
        ]
        largest = max((abs(v) for n in numbers if (v := finite(n)) is not None), default=0.0)
        lines = [
            _line(example, name, every[name], largest, factors) for name in order if name in every
        ]
        out.append(
            {
                "id": example.get("id"),
                "label": example.get("label"),
                "lines": lines,
                "largest": largest,
            }
        )
    return out


def drawn_factors(result: Result) -> list[tuple[str, str]]:
    """Factors that have words in any example: name, and the heuristic that they measure."""
    seen = {
        name
        for example in result.get("examples") or []
        for model in (example.get("models") or {}).values()
        for name, factor in (model.get("factors") or {}).items()
        if factor.get("words")
    }
    every = inside(result, "attribution", "factors") or []
    return [
        (str(item["name"]), str(item.get("heuristic") or ""))
        for item in every
        if item.get("name") in seen
    ]


def _line(
    example: Plain,
    name: str,
    result: Plain,
    largest: float,
    factors: Sequence[str],
) -> Json:
    """One model's line: for each part the pieces of its text in order, words with their shade."""
    positions = example.get("places") or []
    values = result.get("values") or []
    measured = result.get("factors") or {}
    marked = [set(measured.get(factor, {}).get("words") or []) for factor in factors]
    parts = []
    for number_of, text in enumerate(example.get("parts") or []):
        pieces: list[Json] = []
        end = 0
        for index, ((mine, start, stop), value) in enumerate(zip(positions, values, strict=True)):
            if mine != number_of:
                continue
            if len(pieces) == MOST_WORDS:
                pieces.append({"gap": " … (cut here)"})
                break
            marks = " ".join(f"w{at}" for at, indices in enumerate(marked) if index in indices)
            pieces.append(
                {"gap": text[end:start], **_word(text[start:stop], value, largest), "marks": marks}
            )
            end = stop
        else:
            pieces.append({"gap": text[end:]})
        parts.append(pieces)
    separator, target = finite(result.get("separator")), result.get("target")
    out: Json = {
        "model": name,
        "target": target,
        "probability": result.get("probability"),
        "parts": parts,
        "separator": None
        if separator is None or len(parts) < 2
        else _word("│", separator, largest),
    }
    return out | {"right": target == example.get("label")}


def _word(text: str, value: float, largest: float) -> Json:
    """A word with its colour: for or against the class, and how strongly, of the largest in the example."""
    shade = 0.0 if not largest else min(abs(value) / largest, 1) * STRONGEST
    title = f"{text}: {value:+.3f}".replace(": -", ": \N{MINUS SIGN}")
    return {
        "word": text,
        "side": "for" if value > 0 else "against",
        "shade": f"{shade:.3f}",
        "title": title,
    }


def rank(result: Result) -> tuple[Drawn, Json]:
    """Chances and accuracies of the models, and the words that they look at."""
    more = {
        "examples": drawn_examples(result),
        "factors": drawn_factors(result),
        "examples_left": max(len(result.get("examples") or []) - MOST_EXAMPLES, 0),
        "attribution": result.get("attribution") or {},
    }
    return [by_category.best_chances(result), by_category.shots(result)], more


# ------------------------------------------------------------------------------------------ history

MOST_JOBS = 20
MOST_ROWS = 200  # of a table of past parts or runs


def after_history(view: View, run: Result) -> Step:
    """A few rows to label where an alarm stands, or nobody should act on the newest number; else nothing."""
    if view.alarms:
        return label_rows(run, "stands")
    fell = view.fell in ("alarm", "fell")
    return label_rows(run, "doubted") if view.trust == "none" or fell else {"text": NEXT["quiet"]}


def history(result: Result) -> tuple[Drawn, Json]:
    """The newest estimates of each job along time, how they changed, and the tables."""
    jobs, charts, pages = result.get("jobs") or [], list[Any](), list[Any]()
    for index, job in enumerate(item for item in jobs[:MOST_JOBS] if item.get("runs")):
        large = over_time.newest(job, index)
        small = over_time.changes(job, index)
        view = job_view(job)
        charts += [large, *small]
        grids = []
        for grid in view.grids:
            older = max(len(grid.rows) - MOST_ROWS, 0)
            marked = frozenset(i - older for i in grid.marked if i >= older)
            grids.append((replace(grid, rows=grid.rows[older:], marked=marked), older))
        hidden = sum(len(item.get("seen") or []) > 1 for item in over_time.shown_parts(job)) - len(
            small
        )
        page = {
            "name": job.get("job"),
            "view": view,
            "kind": over_time.cut_of(job),
            "small": small,
            "grids": grids,
        }
        run = job["runs"][-1]
        run_result = (
            {"argv": ["oodometer", "estimate", run["reference"], run["target"]]}
            if run.get("target")
            else {}
        )
        page["step"] = after_history(view, run_result)
        page |= {
            "large": None if large is None else large.name,
            "left": max(hidden, 0) if small else 0,
        }
        pages.append(page)
    return charts, {"history_jobs": pages, "more_jobs": max(len(jobs) - MOST_JOBS, 0)}


def plan(result: Result) -> tuple[Drawn, Json]:
    """What runs of a comparison show, by their number of questions."""
    return [planning.planned(result)], {}


def read(result: Result) -> tuple[Drawn, Json]:
    """What a log or a table holds needs no chart; what its questions need stands below them, once each."""
    needs = dict.fromkeys(one["needs"] for one in result["questions"] if one["needs"])
    return [], {"needs": [*needs]}


SECTIONS: dict[str, Callable[[Result], tuple[Drawn, Json]]] = {
    section.__name__: section
    for section in (
        estimate,
        evaluate,
        demo,
        backtest,
        diagnose,
        audit,
        compare,
        rank,
        history,
        plan,
        read,
    )
}
"""Charts and names for the template, by command."""

VIEWS: dict[str, Callable[[Result], View]] = {
    "audit": lambda result: (judges_view if "judges" in result else audit_view)(result),
    "backtest": backtest_view,
    "compare": comparison_view,
    "demo": lambda result: estimation_view(result.get("estimate") or {}),
    "diagnose": diagnosis_view,
    "estimate": estimation_view,
    "evaluate": evaluation_view,
    "history": history_view,
    "plan": plan_view,
    "predict": prediction_view,
    "read": reading_view,
    "rank": lambda result: (preferences_view if "battles" in result else ranking_view)(result),
}
"""What each result says, from the mapping that JSON holds."""


def section_of(command: Any) -> Callable[[Result], tuple[Drawn, Json]] | None:
    """The section of a command, of the core or of what is plugged in; None where it has none."""
    return SECTIONS.get(command) or _plugged("sections").get(command)


def view_of(command: Any) -> Callable[[Result], View] | None:
    """The view of a command, of the core or of what is plugged in; None where it has none."""
    return VIEWS.get(command) or _plugged("views").get(command)


def commands_with(part: str) -> Strings:
    """The commands that have ``sections`` or ``views``."""
    return *(SECTIONS if part == "sections" else VIEWS), *_plugged(part)


def _plugged(part: str) -> Plain:
    """What other packages bring, none where none is here."""
    with suppress(UsageError):
        contributed: Plain = plugins.load("parts", part)
        return contributed
    return {}
