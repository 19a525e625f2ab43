"""The cards of audits, backtests, comparisons, rankings, judged outputs and stress tests: a function for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...results import percent
from .base import Card, Grid, interval_text, numbers, sentence

if TYPE_CHECKING:
    from ...audits.result import Audit
    from ...results.backtest import Backtest
    from ...results.comparison import Comparison
    from ...results.ranking import FewShotRanking
    from ...results.stressing import StressTest
    from ...verbs.discriminate.judged import JudgedOutputs


_COLUMNS = ("accuracy", "auc_coverage", "disca", "coverage_at_risk", "risk_at_coverage")
_MOST = 8


def audit(found: Audit) -> Card:
    """The audited accuracy, the label-free one beside it; without labels that stands alone."""
    from ...audits.result import audit_lines

    chosen = found.estimate
    lines = audit_lines(found)
    rows = [[e.method, *numbers(e), e.kind, e.assumes] for e in found.intervals]
    columns = ["interval", "accuracy", "lower", "upper", "kind", "assumes"]
    grids = [Grid("intervals", columns, rows, words=frozenset((0, 4, 5)))] if rows else []
    if found.suggestion is not None:
        lines.append(f"{len(found.suggestion.row):,} rows to label next; `.suggestion` names them")
    shown = found.headline if chosen is None else chosen
    return Card(
        title="Estimated accuracy, not audited: no labels" if chosen is None else "Audited accuracy",
        number=percent(shown.value),
        interval=interval_text(shown),
        trust=found.headline.trust if chosen is None else None,
        lines=tuple(map(sentence, lines)),
        grids=tuple(grids),
        warnings=tuple(found.warnings),
    )


def backtest(found: Backtest) -> Card:
    """The method with the smallest error, and every other."""
    overall = found.overall()
    rows = [
        [one.method, f"{100 * one.error:.1f}", f"{100 * one.bias:+.1f}", percent(one.coverage, 0), f"{one.cases}"]
        for one in overall
    ]
    columns = ["method", "error (points)", "bias (points)", "interval held", "cases"]
    told = f"{len(found.trials)} simulated targets from {found.reference['rows']:,} rows of {found.reference['name']}"
    best = overall[0] if overall else None
    return Card(
        title="Smallest error on simulated shifts",
        number="none" if best is None else best.method,
        interval="" if best is None else f"{100 * best.error:.1f} points on average",
        lines=(told,),
        grids=(Grid("methods over all families", columns, rows),),
        warnings=tuple(found.warnings),
    )


def comparison(found: Comparison) -> Card:
    """The models by each metric, and the first findings."""
    grids = []
    for domain, rankings in found.rankings.items():
        columns = [name for name in _COLUMNS if name in rankings]
        cells = {(n, row["model"]): f"{row['value']:.4f} ({row['rank']})" for n in columns for row in rankings[n]}
        rows = [[model.name, *(cells.get((n, model.name), "") for n in columns)] for model in found.models]
        if columns:
            grids.append(Grid(f"{domain.replace('_', ' ')}, value (rank)", ["model", *columns], rows))
    return Card(
        title="Models compared",
        number=f"{len(found.models)} models",
        lines=tuple(str(one["sentence"]) for one in found.findings[:_MOST]),
        grids=tuple(grids),
        warnings=tuple(found.warnings),
    )


def judged_outputs(found: JudgedOutputs) -> Card:
    """Between which bounds the judges put the accuracy; bounds first, since the middle rests on more."""
    share = found.metric == "exact"
    named = [("all accept", found.lower), ("some accept", found.upper), ("middle", found.mean)]
    named += [(f"judge {name}", one) for name, one in zip(found.judges, found.by_judge, strict=True)]
    rows = [[name, *numbers(one, share=share)] for name, one in named]
    one = found.estimate
    ends = f"{one.lower:.4f} to {one.upper:.4f}, {percent(one.level, None)} {one.kind} interval"
    return Card(
        title="Accuracy by its judges" if share else f"Mean {found.metric} by its judges",
        number=percent(one.value) if share else f"{one.value:.4f}",
        interval=interval_text(one) if share else ends,
        lines=(f"{found.name}: {found.rows:,} rows, {len(found.judges)} judges", f"Rests on: {found.assumes}"),
        grids=(Grid("bounds and judges", ["number", "value", "lower", "upper"], rows),),
        warnings=tuple(found.warnings),
    )


def ranking(found: FewShotRanking) -> Card:
    """The likeliest model, the order, each two models, the evidence."""
    likeliest = found.likeliest
    words = frozenset((0, 1, 2))
    evidence = Grid("evidence", *found.evidence_table(), folded=True, words=words)
    pairs = Grid("how sure the order of each two is", *found.pair_table(), folded=True, words=frozenset((0, 1)))
    return Card(
        title="Most likely the best",
        number="open" if found.open else likeliest.model,
        interval="" if found.open else f"{percent(likeliest.p_best, 0)} sure",
        lines=tuple(found.opening()),
        grids=(Grid("models, the best first", *found.table()), pairs, evidence),
        warnings=tuple(found.closing()),
    )


def stress_test(found: StressTest) -> Card:
    """One row for each model, shift and severity."""
    kinds = dict.fromkeys(curve.kind for _, curve, _ in found.points())
    return Card(
        title="Models on data whose shift grows",
        number=f"{len(found.models)} model{'' if len(found.models) == 1 else 's'}",
        interval=", ".join(kinds),
        lines=tuple(found.opening()),
        grids=(Grid("each severity", *found.table(), words=frozenset((0, 1, 2, 11))),),
        warnings=tuple(found.closing()),
    )
