"""Summary: what a result says, in lines and a table, for a prompt, a notebook and the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import Estimate, Interval, aligned, percent

if TYPE_CHECKING:
    from .audit import Audit
    from .backtest import Backtest
    from .comparison import Comparison
    from .estimation import Estimation, Headline
    from .evaluation import Evaluation

__all__ = [
    "audit_lines",
    "headline_lines",
    "metric_rows",
    "summary_of_audit",
    "summary_of_backtest",
    "summary_of_comparison",
    "summary_of_estimation",
    "summary_of_evaluation",
]

_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "risk_at_coverage")
_MOST_FINDINGS = 8


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


def _ends(one: Headline | Estimate) -> str:
    return f"{percent(one.value)}  [{percent(one.lower)}, {percent(one.upper)}]"


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


def audit_lines(found: Audit) -> list[str]:
    """The label-free estimate, the interval of the labels, what they are worth, whether they refute the estimate."""
    lines = [f"Label-free estimate: {_ends(found.headline)}  ({found.headline.method})"]
    chosen = found.estimate
    if chosen is None or found.p_value is None:
        return lines
    made = f"{percent(chosen.level, None)} {chosen.kind} interval, {chosen.method}"
    lines += [f"Audited accuracy:    {_ends(chosen)}  ({made})", f"  rests on: {chosen.assumes}"]
    if found.effective_labels is not None:
        worth = f"worth {found.effective_labels:.0f} drawn at random and read alone"
        lines.append(f"  {found.labels} labels of {found.rows} rows, {worth}")
    verdict = (
        "REFUTED: the labels contradict" if found.refuted else "Not refuted: the labels do not contradict"
    )
    return [*lines, f"{verdict} the label-free interval (p = {found.p_value:.2g})"]


def summary_of_audit(found: Audit) -> str:
    """What `audit_lines` says, every interval, and the rows to label next."""
    lines = audit_lines(found)
    if found.intervals:
        rows = [
            [e.method, percent(e.value), percent(e.lower), percent(e.upper), e.kind] for e in found.intervals
        ]
        lines.append(aligned(["interval", "accuracy", "lower", "upper", "kind"], rows))
    if found.suggestion is not None:
        lines.append(f"{len(found.suggestion.row)} rows to label next; `.suggestion` names them")
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])


def summary_of_backtest(found: Backtest) -> str:
    """Every method over all trials, best first: error, bias, how often its interval held the truth."""
    rows = [
        [one.method, f"{100 * one.error:.1f}", f"{100 * one.bias:+.1f}", percent(one.coverage, 0)]
        for one in found.overall()
    ]
    told = f"{len(found.trials)} simulated targets from {found.reference['rows']} rows of {found.reference['name']}"
    table = aligned(["method", "error (points)", "bias (points)", "interval held"], rows)
    return "\n".join([told, table, *(f"warning: {warning}" for warning in found.warnings)])


def summary_of_comparison(found: Comparison) -> str:
    """The models by each metric, value and rank, in and out of the domain, and the first findings."""
    lines = []
    for domain, rankings in found.rankings.items():
        columns = [name for name in _COLUMNS if name in rankings]
        cells = {
            (name, row["model"]): f"{row['value']:.4f} ({row['rank']})"
            for name in columns
            for row in rankings[name]
        }
        rows = [[m.name, *(cells.get((name, m.name), "") for name in columns)] for m in found.models]
        if columns:
            lines += [f"{domain.replace('_', ' ')}, value (rank)", aligned(["model", *columns], rows)]
    lines += [f"- {one['sentence']}" for one in found.findings[:_MOST_FINDINGS]]
    return "\n".join([*lines, *(f"warning: {warning}" for warning in found.warnings)])
