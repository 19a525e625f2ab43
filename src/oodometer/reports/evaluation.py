"""Evaluation: what the page of labelled data needs besides charts: the metrics, the classes, the confusions."""

from __future__ import annotations

from typing import Any

from ..results.evaluation import evaluation_view
from .charts.base import Result
from .charts.by_category import worst_classes
from .numbers import best, finite, given, percent, rows_text, short

MOST_CLASSES = 200  # in the table of classes
MOST_CELLS = 15  # classes in the grid of confusions; beyond it the largest confusions are listed
MOST_PAIRS = 20
MOST_FILES = 3  # shown in full where several were evaluated

MEANINGS = {
    "accuracy": "share of rows that are right; more is better",
    "f1": "harmonic mean of precision and recall; more is better",
    "precision": "share of the predictions of the class that are right; more is better",
    "recall": "share of the rows of the class that are found; more is better",
    "roc_auc": "how often a row of the class scores above one that is not of it; more is better",
    "specificity": "share of the rows of other classes that are not taken for the class; more is better",
    "average_precision": "area under the curve of precision and recall; more is better",
    "balanced_accuracy": "mean over classes of the share of its rows that are found; more is better",
    "mcc": "correlation of truth and prediction, 0 is chance; more is better",
    "cohen_kappa": "agreement of truth and prediction beyond chance; more is better",
    "fpr_at_95_tpr": "share of other rows that pass where 95 % of the class do; less is better",
    "expected_value": "mean pay-off of a row; more is better",
    "top_k_accuracy": "share of rows whose true class is among the {k} of the highest probabilities; more is better",
    "recall_at_k": "share of rows whose true candidate is among the {k} of the highest scores; more is better",
    "brier": "squared distance of the probabilities from the truth; less is better",
    "ece": "gap between confidence and accuracy over bins of equal width; less is better",
    "nll": "mean surprise at the truth, in nats; less is better",
    "ece_debiased": "ece less what chance alone would give; less is better",
    "macro_precision": "mean over classes of the share of its predictions that are right; more is better",
    "macro_recall": "mean over classes of the share of its rows that are found; more is better",
    "macro_f1": "mean over classes of the harmonic mean of precision and recall; more is better",
    "ece_equal_mass": "ece over bins of equal size; less is better",
    "smece": "ece smoothed instead of binned; less is better",
    "ks": "largest accumulated gap between confidence and accuracy; less is better",
    "auc_coverage": "mean accuracy over all coverages, the most confident rows first; more is better",
    "aurc": "1 minus auc_coverage; less is better",
    "e_aurc": "aurc above that of a perfect order; less is better",
    "augrc": "mean over all coverages of the errors among the answers, as a share of all rows; less is better",
    "disca": "how well confidence alone tells when not to answer: x/a + y/b minus a penalty where accuracy rises as "
    "more is answered; more is better, among models whose confidences are on one scale and whose rows are equally many",
    "coverage_at_risk": "largest share of the rows that can be answered with at most {risk} of the answers wrong; "
    "more is better",
    "risk_at_coverage": "share of wrong answers when the surest {coverage} of the rows are answered; less is better",
    "didma": "DiSCA weighed against what the model costs to run; more is better",
    "nidma": "DiDMA in the domain together with DiSCA out of it; more is better",
}


def meaning(name: str, result: Result) -> str:
    """What a metric says, with the options it was read at."""
    if name not in MEANINGS:
        return str(result.get("description") or "")
    words = {"risk": "so many", "coverage": "part"}
    values = {key: given(result.get(key)) for key in words if finite(result.get(key)) is not None}
    many = {"k": str(result.get("k", "few"))}
    text = MEANINGS[name].format(**(words | values | many))
    return f"of class {short(result['positive'], 40)}: {text}" if result.get("positive") is not None else text


def _confusion(result: Result) -> dict[str, Any] | None:
    """A small grid with the share of each row, or the largest confusions where there are many classes."""
    table = result.get("confusion") or {}
    names, counts = [short(name) for name in table.get("classes") or []], table.get("counts") or []
    if not names or len(counts) != len(names):
        return None
    totals = [sum(row) or 1 for row in counts]
    pairs = [
        {"truth": names[i], "prediction": names[j], "count": count, "share": count / totals[i]}
        for i, row in enumerate(counts)
        for j, count in enumerate(row)
        if i != j and count
    ]
    pairs.sort(key=lambda pair: -pair["count"])
    title, caption = "No confusions: every row is right", "Rows by true and predicted class."
    if pairs:
        worst = pairs[0]
        title = f"Most common confusion: {short(worst['truth'], 40)} taken for {short(worst['prediction'], 40)}"
        title += f", {rows_text(worst['count'])} ({percent(worst['share'])} of that class)"
    if len(names) > MOST_CELLS:
        caption = f"The {min(MOST_PAIRS, len(pairs))} largest confusions among {len(names)} classes."
        return {"title": title, "caption": caption, "pairs": pairs[:MOST_PAIRS]}
    grid = [
        (name, [(count, count / total) for count in row])
        for name, row, total in zip(names, counts, totals, strict=True)
    ]
    return {
        "title": title,
        "caption": caption + " The stronger the colour, the larger the share of the true class.",
        "names": names,
        "grid": grid,
    }


def context(result: Result) -> dict[str, Any]:
    """Names for the section of one file."""
    accuracy = best((result.get("metrics") or {}).get("accuracy"))
    classes = worst_classes(result)[1][:MOST_CLASSES]
    columns = [
        name
        for name in dict.fromkeys(key for item in classes for key in item)
        if name != "class" and any(finite(item.get(name)) is not None or best(item.get(name)) for item in classes)
    ]
    return {
        "view": evaluation_view(result),
        "accuracy": accuracy,
        "meanings": [
            (name, meaning(name, metric)) for name, metric in (result.get("metrics") or {}).items() if best(metric)
        ],
        "class_rows": classes,
        "class_columns": columns,
        "confusion": _confusion(result),
        "disca": best((result.get("metrics") or {}).get("disca")),
    }


def with_slices(result: Result) -> dict[str, Any]:
    """The result with the accuracy of all rows, and of each slice, where an estimate has its headline."""
    slices = [{**item, "headline": (item.get("metrics") or {}).get("accuracy")} for item in result.get("slices") or []]
    return {**result, "headline": (result.get("metrics") or {}).get("accuracy"), "slices": slices}
