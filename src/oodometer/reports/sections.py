"""Sections: which charts a page has and what its template is told, by the command that made the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from . import audit as audits
from . import backtest as backtests
from . import evaluation
from .charts import (
    audited,
    chunks,
    confidence,
    error_by_severity,
    error_map,
    files,
    methods,
    per_class,
    reliability,
    risk_coverage,
    severity,
    slices,
    widths,
)
from .charts.base import Figure, Result
from .glossary import STRENGTHS
from .numbers import best
from .references import reference
from .words import anything_goes, headline_sentence, rests_on

__all__ = ["SECTIONS"]

MOST_ROWS = 200  # of the table of slices and of that of chunks
ESTIMATE_CHARTS = (methods, risk_coverage, reliability, confidence, chunks, slices)
EVALUATE_CHARTS = (risk_coverage, reliability, per_class, slices)
Drawn = list[Figure | None]


def estimate(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Charts and names for the sections of an estimate."""
    headline = best(result.get("headline"))
    found = methods.with_headline(result)
    for one in found:
        one["is_headline"] = bool(headline) and (
            one["method"] == "headline" or methods.is_headline(one, headline)
        )
        one["reference"] = reference(str(one["citation"])) if one.get("citation") else None
    return [chart.figure(result) for chart in ESTIMATE_CHARTS], {
        "sentence": headline_sentence(result),
        "rests_on": rests_on(headline),
        "anything_goes": anything_goes(headline),
        "strengths": STRENGTHS,
        "estimates": found,
        "chunk_rows": chunks.shown(result)[-MOST_ROWS:],
        "slice_rows": slices.worst_first(result)[:MOST_ROWS],
    }


def demo(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The same of the step that is shown in full, and the chart of all steps."""
    inner = result.get("estimate") or {}
    drawn, words = estimate(inner)
    return [severity.figure(result), *drawn], {"estimate": inner, **words}


def backtest(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The map of errors, a small chart for each family, and the tables."""
    small = error_by_severity.figures(result)
    drawn: Drawn = [error_map.figure(result), *small]
    return drawn, {
        "small": small,
        "styles": error_by_severity.styles(result),
        "glyphs": error_by_severity.GLYPHS,
        **backtests.context(result),
    }


def audit(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The intervals from labels, the widths to come, and the verdict."""
    return [audited.figure(result), widths.figure(result)], audits.context(result)


def evaluate(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Charts and names for one labelled file, or for several one after another."""
    files_ = files.best_first(result) if result.get("files") else [dict(result)]
    drawn: Drawn = [files.figure(result)] if result.get("files") else []
    sheets = []
    for index, one in enumerate(files_[: evaluation.MOST_FILES]):
        one = evaluation.with_slices({**one, "command": "evaluate"})
        mine = [
            replace(figure, name=f"{figure.name}-{index}")
            for chart in EVALUATE_CHARTS
            if (figure := chart.figure(one)) is not None
        ]
        drawn += mine
        sheets.append({
            "result": one,
            "figures": {figure.name.removesuffix(f"-{index}"): figure for figure in mine},
            "slice_rows": slices.worst_first(one)[:MOST_ROWS],
            **evaluation.context(one),
        })  # fmt: skip
    words: dict[str, Any] = {
        "sheets": sheets,
        "meanings": evaluation.MEANINGS,
        "left": len(files_) - len(sheets),
    }
    return drawn, words | {"comparison": evaluation.comparison(files_) if result.get("files") else None}


SECTIONS: dict[str, Callable[[Result], tuple[Drawn, dict[str, Any]]]] = {
    "estimate": estimate,
    "evaluate": evaluate,
    "demo": demo,
    "backtest": backtest,
    "audit": audit,
}
"""Charts and names for the template, by command."""
