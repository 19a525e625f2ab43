"""The command `evaluate`: labelled predictions in, every metric with its interval out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..options import argument
from ..results import percent, rounded_up
from ..results.evaluation import metric_rows, positive_said
from ..results.values import counted
from ..verbs.options import EvaluateOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..results import Interval
    from ..results.evaluation import Evaluation


# Metrics that are printed without -v, where none is asked for.
_MAIN = (
    "accuracy", "balanced_accuracy", "precision", "recall", "f1", "macro_f1", "roc_auc", "average_precision", "mcc",
    "log_loss", "nll", "brier", "ece", "auc_coverage", "aurc", "recall_at_k", "top_k_accuracy",
)  # fmt: skip


# Columns of the table of slices, where they were asked for.
_IN_SLICES = ("accuracy", "f1", "precision", "recall", "roc_auc")


class _Evaluate(EvaluateOptions):
    """The options of `evaluate`, and the files."""

    predictions: Sequence[Any] = argument(
        kw_only=False,
        path="read",
        metavar="PREDICTIONS...",
        help="Labelled predictions, one file or several.",
    )


@command(_Evaluate, written=("json", "report", "out"))
def evaluate(given: dict[str, Any], to: Written) -> None:
    """Judge labelled predictions: accuracy, F1, ROC AUC and the like, calibration, risk-coverage."""
    from ..results.evaluation import Evaluations
    from ..verbs.evaluate import evaluate as run

    with output.progress_bar("evaluating") as progress:
        found: Evaluation | Evaluations = run(*given.pop("predictions"), **given, progress=progress)
    if to.deliver({**found.to_dict(), "argv": output.command_line()}, found):
        for one in found if isinstance(found, Evaluations) else (found,):
            show(one, given.get("metrics", ()))


def show(found: Evaluation, asked: Sequence[str] = ()) -> None:
    """Metrics with intervals, slices, what to answer, warnings; with -v all metrics, failure cases, skipped ones."""
    output.tell(f"{found.name}: {counted(found.rows, 'labelled row')}")
    everything = output.verbose() or bool(asked)
    rows = [row for row in metric_rows(found) if everything or row[0] in _MAIN]
    if not rows:
        rows, everything = metric_rows(found), True
    output.print_table(["metric", "value", "lower", "upper", "kind"], rows)
    output.tell(*positive_said(found))
    if "disca" in found.metrics and everything:
        output.tell(f"disca is that of {found.rows} rows: it does not compare with that of another number of rows")
    if found.slices:
        there = {name: None for one in found.slices for name in one.metrics}
        names = [n for n in _IN_SLICES if n in there] or list(there)[:5]
        output.print_table(
            ["slice", "rows", *names],
            [[str(s.value), f"{s.rows:,}", *(_cell(s.metrics.get(n)) for n in names)] for s in found.slices],
            f"by {found.slices[0].by}",
        )
    for point in found.tables.get("operating_points", []):
        output.tell(f"to be right {percent(point['accuracy'], 0)} of the time: {_rule(point)}")
    cases = [case for case in found.tables.get("failure_cases", []) if case["seen"]]
    if output.verbose():
        output.tell(*(f"failure case: {case['sentence']}" for case in cases))
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in found.skipped))
    output.tell(*(f"warning: {warning}" for warning in found.warnings))
    more = len(metric_rows(found)) - len(rows)
    output.left_out(seed=found.seed, metric=more, skipped_metric=len(found.skipped), note=len(cases))


def _cell(number: Interval | None) -> str:
    """A number of a slice, a hyphen where it has none."""
    return "-" if number is None else f"{number.value:.4f}"


def _rule(point: dict[str, Any]) -> str:
    """What to do for a required accuracy, or why nothing is proved."""
    if point["coverage"] is None:
        return str(point["why"])
    proved = point["selective_accuracy"]["lower"]
    share = point["coverage"]["value"]
    if share == 1:
        return f"answer everything (proved {percent(proved)})"
    threshold = rounded_up(point["threshold"])
    return f"answer from a threshold of {threshold} up, {percent(share)} of the rows (proved {percent(proved)})"
