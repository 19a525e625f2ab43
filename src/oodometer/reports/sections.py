"""Sections: which charts a page has and what its template is told, by the command that made the result."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..audits.result import audit_view
from ..results.alarms import WHEN
from ..results.backtest import answered_families, backtest_view
from ..results.comparison import comparison_view
from ..results.diagnosis import diagnosis_view
from ..results.estimation import estimation_view
from ..results.evaluation import evaluation_view, votes_grids
from ..results.history import history_view, job_view
from ..results.prediction import prediction_view
from ..results.ranking import ranking_view
from ..results.shifting import shifting_view
from ..results.stressing import stress_view
from ..results.view import View
from ..verbs.discriminate.judged import judged_view, trained_view
from . import audit as audits
from . import comparison, evaluation, few_shot
from .charts import by_category, curves, models, over_time
from .charts.base import Figure, Result
from .charts.models import DOMAINS, domains
from .numbers import best, reference

FEW_MODELS = 3  # as many have their bands in the large chart
MOST_JOBS = 20
MOST_ROWS = 200  # of a table of past parts or runs
ESTIMATE_CHARTS = (
    by_category.methods, by_category.votes, curves.risk_coverage, curves.reliability, curves.confidence,
    over_time.chunks, by_category.slices,
)  # fmt: skip
EVALUATE_CHARTS = (
    curves.risk_coverage, by_category.votes, curves.vote_trade_off, curves.vote_subsets, curves.reliability,
    by_category.per_class, by_category.slices,
)  # fmt: skip
Drawn = list[Figure | None]


def estimate(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Charts and names for the sections of an estimate."""
    headline = best(result.get("headline"))
    estimates = by_category.with_headline(result)
    for item in estimates:
        item["is_headline"] = bool(headline) and (
            item["method"] == "headline" or by_category.is_headline(item, headline)
        )
        item["reference"] = reference(str(item["citation"])) if item.get("citation") else None
    small = over_time.metric_chunks(result)
    return [*(chart(result) for chart in ESTIMATE_CHARTS), *small], {
        "metric_figures": small,
        "when": WHEN.get(str((result.get("alarms") or {}).get("when"))),
        "estimates": estimates,
        "votes": votes_grids(result),
    }


def demo(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The same of the step that is shown in full, and the chart of all steps."""
    inner = result.get("estimate") or {}
    drawn, words = estimate(inner)
    return [curves.severity(result), *drawn], {"estimate": inner, "inner_view": estimation_view(inner), **words}


def backtest(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The map of errors, a small chart for each family, and the tables."""
    small = by_category.error_by_severity(result)
    drawn: Drawn = [by_category.error_map(result), *small]
    return drawn, {
        "small": small,
        "styles": by_category.styles(result),
        "glyphs": by_category.GLYPHS,
        "families": [
            {"name": by_category.family_name(name), "key": name, "means": by_category.MEANINGS.get(name, "")}
            for name in answered_families(result)
        ],
    }


def audit(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The intervals from labels, the widths to come, and the verdict."""
    return [by_category.audited(result), curves.widths(result)], audits.context(result)


def evaluate(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Charts and names for one labelled file, or for several one after another."""
    files_ = by_category.best_files_first(result) if result.get("files") else [dict(result)]
    drawn: Drawn = [by_category.files(result)] if result.get("files") else []
    sheets = []
    for index, item in enumerate(files_[: evaluation.MOST_FILES]):
        item = evaluation.with_slices({**item, "command": "evaluate"})
        mine = [
            replace(figure, name=f"{figure.name}-{index}")
            for chart in EVALUATE_CHARTS
            if (figure := chart(item)) is not None
        ]
        drawn += mine
        sheets.append(
            {
                "result": item,
                "figures": {figure.name.removesuffix(f"-{index}"): figure for figure in mine},
                "votes": votes_grids(item),
                **evaluation.context(item),
            }
        )
    return drawn, {"sheets": sheets, "left": len(files_) - len(sheets)}


def compare(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Curves, terms of DiSCA and ranks of several models, and the tables beside them."""
    small = models.model_curves(result)
    if len(small) <= FEW_MODELS and len(domains(result)) < 2:
        small = []  # the large chart has their bands
    drawn: Drawn = [
        *(models.accuracy_coverage(result, item) for item in (*DOMAINS, "target")),
        *(models.places(result, item) for item in DOMAINS),
        *(models.tolerances(result, item) for item in DOMAINS),
        models.first_mistakes(result),
        *(models.fluctuations(result, item) for item in DOMAINS),
        *small,
    ]
    shown = {**result, "models": models.drawn(result)}
    each = list(DOMAINS)
    return drawn, {
        "small": small,
        "styles": models.STYLES,
        "badges": comparison.badges(result),
        "cards": comparison.cards(result),
        "compared": comparison.compared(result),
        "left": len(result.get("models") or []) - len(shown["models"]),
        "findings": {name: comparison.pairs(result, name) for name in each},
        "disca": [table for name in each if (table := comparison.disca_table(shown, name))],
        "notes": comparison.notes(result),
        "domains": DOMAINS,
    }


def stress(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Curves for each kind of shift."""
    tested = result.get("models") or [{}]
    kinds = [dict(curve) for curve in tested[0].get("curves") or []]
    drawn = [curves.stress_curves(result, at) for at in range(len(kinds))]
    pages = [{**kind, "figures": [item.name for item in some]} for kind, some in zip(kinds, drawn, strict=True)]
    return [item for some in drawn for item in some], {"stress_kinds": pages}


def rank(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """Chances and accuracies of the models, and the tables."""
    return [by_category.best_chances(result), by_category.shots(result)], few_shot.context(result)


def history(result: Result) -> tuple[Drawn, dict[str, Any]]:
    """The newest estimates of each job along time, how they changed, and the tables."""
    jobs, drawn, pages = result.get("jobs") or [], list[Any](), list[Any]()
    for index, job in enumerate(item for item in jobs[:MOST_JOBS] if item.get("runs")):
        large, small = over_time.newest(job, index), over_time.changes(job, index)
        drawn += [large, *small]
        view = job_view(job)
        grids = []
        for grid in view.grids:
            older = max(len(grid.rows) - MOST_ROWS, 0)
            marked = frozenset(i - older for i in grid.marked if i >= older)
            grids.append((replace(grid, rows=grid.rows[older:], marked=marked), older))
        left = sum(len(item.get("seen") or []) > 1 for item in over_time.shown_parts(job)) - len(small)
        pages.append(
            {
                "name": job.get("job"),
                "view": view,
                "kind": over_time.cut_of(job),
                "large": None if large is None else large.name,
                "small": small,
                "left": max(left, 0) if small else 0,
                "grids": grids,
            }
        )
    return drawn, {"history_jobs": pages, "more_jobs": max(len(jobs) - MOST_JOBS, 0)}


SECTIONS: dict[str, Callable[[Result], tuple[Drawn, dict[str, Any]]]] = {
    "estimate": estimate,
    "evaluate": evaluate,
    "demo": demo,
    "backtest": backtest,
    "audit": audit,
    "compare": compare,
    "stress": stress,
    "rank": rank,
    "history": history,
}
"""Charts and names for the template, by command."""

VIEWS: dict[str, Callable[[Result], View]] = {
    "audit": audit_view,
    "backtest": backtest_view,
    "compare": comparison_view,
    "demo": lambda result: estimation_view(result.get("estimate") or {}),
    "diagnose": diagnosis_view,
    "discriminate predict": judged_view,
    "discriminate train": trained_view,
    "estimate": estimation_view,
    "evaluate": evaluation_view,
    "history": history_view,
    "predict": prediction_view,
    "rank": ranking_view,
    **dict.fromkeys(("shift image", "shift text", "shift dialogue"), shifting_view),
    "stress": stress_view,
}
"""What each result says, from the mapping that JSON holds."""
