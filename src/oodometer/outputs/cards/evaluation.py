"""The card of an evaluation, or of several: every metric with its interval, slices, and what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from ...results.evaluation import metric_rows
from ...results.view import Grid, View, cells_of, interval_of

if TYPE_CHECKING:
    from ...results.evaluation import Evaluation, Evaluations


_SHOWN = ("accuracy", "brier", "ece", "aurc")  # of each slice


def card(found: Evaluation | Evaluations) -> View:
    """The card; of several files a table of their accuracies, and each file's metrics."""
    from ...results.evaluation import Evaluations

    if not isinstance(found, Evaluations):
        return _one(found)
    rows = [[one.name, f"{one.rows:,}", *cells_of(one.metrics.get("accuracy"))] for one in found]
    files = Grid("accuracy", ["file", "rows", "accuracy", "lower", "upper"], rows)
    grids = [files, *(_metrics(one, one.name, detail=True) for one in found)]
    warnings = tuple(f"{one.name}: {said}" for one in found for said in one.warnings)
    return View("Measured on labelled rows", f"{len(found)} files", grids=tuple(grids), warnings=warnings)


def _one(found: Evaluation) -> View:
    accuracy = found.metrics.get("accuracy")
    first = next(iter(found.metrics.items()), None)
    title, number, interval = "Measured on labelled rows", f"{found.rows:,} rows", None
    if accuracy is not None:
        title, number, interval = "Accuracy", percent(accuracy.value), interval_of(accuracy)
    elif first is not None:
        title, number = first[0], cells_of(first[1], share=False)[0]
    rows = f"{found.name}: {found.rows:,} labelled rows"
    if found.unlabelled:
        rows += f", {found.unlabelled:,} of unknown truth left out"
    return View(
        title,
        number,
        interval,
        sentences=(rows,),
        grids=(_metrics(found, "metrics"), *_slices(found), *_skipped(found)),
        warnings=tuple(found.warnings),
        seed=found.seed,
    )


def _metrics(found: Evaluation, title: str, detail: bool = False) -> Grid:
    columns = ["metric", "value", "lower", "upper", "kind"]
    return Grid(title, columns, metric_rows(found), detail=detail)


def _slices(found: Evaluation) -> list[Grid]:
    if not found.slices:
        return []
    names = [name for name in _SHOWN if name in found.slices[0].metrics] or list(found.slices[0].metrics)[:4]
    rows = [
        [str(part.value), f"{part.rows:,}", *(cells_of(part.metrics.get(name), share=False)[0] for name in names)]
        for part in found.slices
    ]
    return [Grid(f"by {found.slices[0].by}", ["slice", "rows", *names], rows)]


def _skipped(found: Evaluation) -> list[Grid]:
    if not found.skipped:
        return []
    rows = [[one.method, one.why] for one in found.skipped]
    title = f"{len(rows)} metric{'' if len(rows) == 1 else 's'} left out"
    return [Grid(title, ["metric", "why"], rows, detail=True)]
