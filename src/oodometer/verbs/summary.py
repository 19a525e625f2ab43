"""Summary: what a result says, in lines and a table, for a prompt, a notebook and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..results import Interval, percent

if TYPE_CHECKING:
    from .estimation import Estimation, Headline
    from .evaluation import Evaluation

__all__ = ["aligned", "headline_lines", "metric_rows", "summary_of_estimation", "summary_of_evaluation"]

_WIDEST = 60  # characters of a cell


def aligned(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of text, columns under each other; long cells are cut.

    >>> print(aligned(["method", "accuracy"], [["atc", "94.5 %"], ["source", "95.3 %"]]))
    method  accuracy
    atc     94.5 %
    source  95.3 %
    """
    cells = [[_cut(cell) for cell in line] for line in (columns, *rows)]
    widths = [max(len(line[j]) for line in cells) for j in range(len(columns))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in cells
    )


def _cut(cell: str) -> str:
    return cell if len(cell) <= _WIDEST else cell[: _WIDEST - 3].rstrip() + "..."


def headline_lines(found: Estimation) -> list[str]:
    """The headline, what it rests on, how far to trust it, the kind of shift, the reference, and the truth if known."""
    i, reference = found.headline.interval, found.reference
    made = f"{percent(i.level, None)} {i.kind} interval, {found.headline.method}"
    lines = [
        f"Estimated accuracy: {_ends(found.headline)}  ({made})",
        f"  rests on: {found.headline.assumes}",
        _trust(found),
    ]
    if found.diagnosis is not None:
        lines.append(f"  kind of shift: {found.diagnosis.kind}: {found.diagnosis.why}")
    lines.append(f"Reference accuracy: {percent(reference['accuracy'])} on {reference['rows']} rows")
    truth = found.target["accuracy"]
    if truth is not None:
        ends = f"[{percent(truth['lower'])}, {percent(truth['upper'])}]"
        rows = f"{found.target['labelled']} labelled target rows"
        lines.append(f"True accuracy:      {percent(truth['value'])}  {ends} on {rows}")
    return lines


def _ends(headline: Headline) -> str:
    return f"{percent(headline.value)}  [{percent(headline.lower)}, {percent(headline.upper)}]"


def _trust(found: Estimation) -> str:
    """How far to trust the headline and why; the diagnosis, which has a line of its own, is not said twice."""
    why = found.headline.why
    if found.diagnosis is not None and found.diagnosis.why:
        for said in (f": {found.diagnosis.why}", f"{found.diagnosis.why}; ", found.diagnosis.why):
            why = why.replace(said, "")
    return f"  trust {found.headline.trust}: {why or 'see the kind of shift'}"


def summary_of_estimation(found: Estimation) -> str:
    """Headline, every method, slices or chunks, and how many methods were left out."""
    lines = headline_lines(found)
    lines.append(
        aligned(
            ["method", "accuracy", "lower", "upper", "assumes"],
            [
                [e.method, percent(e.value), percent(e.lower), percent(e.upper), e.assumes]
                for e in found.estimates
            ],
        )
    )
    for title, parts in (("slice", found.slices), ("chunk", found.chunks)):
        if parts:
            rows = [
                [str(p.place.get("value", p.place.get("start"))), str(p.rows), _ends(p.headline)]
                for p in parts
            ]
            lines.append(aligned([title, "rows", "accuracy"], rows))
    if found.skipped:
        lines.append(f"{len(found.skipped)} methods were left out; `.skipped` says why")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def summary_of_evaluation(found: Evaluation) -> str:
    """Every metric with its interval, and how many were left out."""
    lines = [f"{found.name}: {found.rows} labelled rows"]
    lines.append(aligned(["metric", "value", "lower", "upper", "kind"], metric_rows(found)))
    if found.skipped:
        lines.append(f"{len(found.skipped)} metrics were left out; `.skipped` says why")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def metric_rows(found: Evaluation) -> list[list[str]]:
    """A row for each metric: name, value, ends of the interval, kind."""
    return [
        [_title(name, m), *(f"{x:.4f}" for x in (m.value, m.lower, m.upper)), m.kind]
        for name, m in found.metrics.items()
    ]


def _title(name: str, metric: Interval) -> str:
    """A metric with the place on the curve where it was read, where there is one."""
    extras = getattr(metric, "extras", {})
    place = next((extras[key] for key in ("risk", "coverage") if key in extras and name.endswith(key)), None)
    return name if place is None else f"{name} {place:g}"
