"""The verb `backtest`: which estimator would have been right on shifts simulated from the reference?"""

from __future__ import annotations

from dataclasses import replace

from ..audits.joining import labelled
from ..backtests.trials import LEAST_REFERENCE, run_backtest
from ..backtests.trials import BacktestOptions as TrialOptions
from ..errors import InputError
from ..options import verb
from ..passes.reference import label_warnings, read_reference
from ..results.backtest import Backtest
from ..vectors import index_key
from .opening import about_features, executing, opener_for, with_features
from .options import BacktestOptions

__all__ = ["Backtest", "backtest"]


@verb(BacktestOptions)
def backtest(options: BacktestOptions) -> Backtest:
    """Try every method on shifts simulated from a labelled reference, where the truth is known.

    One half of the reference is fitted on, targets are drawn from the other: other class shares, other shares of
    clusters, tilts of inputs and of confidence, noise and temperature on the logits, the user's own groups and
    stretches of time. Of more than 5,000 rows a seeded sample is read; the result says so.

    Raises `InputError` for a reference of fewer than 80 labelled rows, `UsageError` for unknown names.

    >>> from oodometer.testing import example_record
    >>> found = backtest(example_record(), methods=["source", "atc"], families=["none"], repeats=2, cache=None)
    >>> [(r.method, r.cases) for r in found.rows]
    [('source', 2), ('atc', 2)]
    """
    shared = ("methods", "families", "repeats", "level", "seed", "cache")
    how = TrialOptions(**{name: getattr(options, name) for name in shared})
    with executing("backtest", options, reference=options.reference) as execution:
        opener = opener_for(options)
        sources = opener.references([options.reference], options.classes, options.where)
        notes: tuple[str, ...] = ()
        if options.labels is not None:
            key = index_key(options.labels, options.reference, options.key)
            sources[0], notes = labelled(options.labels, sources[0], key, opener.labels)
        opener.check()
        source = with_features(sources, None, options.features)[0][0]
        read = read_reference(source, execution=execution.heard_by(None), seed=options.seed)
        if len(read.record) < LEAST_REFERENCE:
            expected = f"at least {LEAST_REFERENCE} labelled rows to backtest on"
            remedy = "label more, or use `oodometer estimate`, which then says what it cannot know"
            raise InputError(expected, got=f"{len(read.record)}", file=source.name, remedy=remedy)
        result = run_backtest(read.record, how, execution)
    tells = {"name": source.name, "rows": read.rows, "accuracy": read.correct / read.rows}
    tells |= {"features": about_features(source)} if source.encoding is not None else {}
    warnings = label_warnings("the reference", [read.record], read.record.accuracy)
    return replace(
        result, reference=tells, warnings=(*opener.notes, *notes, *warnings, *result.warnings)
    )
