"""The verb `backtest`: which estimator would have been right on shifts simulated from the reference?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..arguments import checked
from ..audits.joining import labelled
from ..backtests.run import BacktestOptions, run_backtest
from ..backtests.trials import LEAST_REFERENCE
from ..engines import Engine
from ..errors import InputError
from ..kernels import limited_to
from ..passes.folding import Execution
from ..passes.reference import label_warnings, read_reference
from ..passes.run_folder import run_folder as in_run_folder
from ..results.backtest import Backtest
from ..runs import places_of_run
from .features import about_features, check_features, with_features
from .fitted import faults_of_fitted
from .opening import Opener, renamings

__all__ = ["Backtest", "backtest"]


@checked(features=check_features)
def backtest(
    reference: Any,
    *,
    where: str | Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    families: Sequence[str] | None = None,
    repeats: int | None = None,
    level: float = 0.95,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    features: str | Sequence[str] | None = None,
    labels: Any = None,
    key: str | None = None,
    seed: int = 0,
    cache: str | Path | None = "auto",
    engine: str | Engine = "local",
    workers: int | None = None,
    run_folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Backtest:
    """Try every method on shifts simulated from a labelled reference, where the truth is known.

    One half of the reference is fitted on, targets are drawn from the other: other class shares, other shares of
    clusters, tilts of inputs and of confidence, noise and temperature on the logits, the user's own groups and
    stretches of time. Of more than 5,000 rows a seeded sample is read; the result says so.

    Parameters
    ----------
    reference :
        A labelled file, `Predictions`, a frame or a dict of arrays.
    where :
        Conditions on its rows, as in `estimate`; others are not used.
    methods, families :
        Names; all that apply by default.
    repeats :
        Trials of each family and severity. By default 8, of which methods that are slow take part in 3 where no
        ``methods`` are named; a number is for all methods.
    level :
        Nominal coverage of the intervals that are judged.
    classes, mapping, positive, threshold, features :
        As in `estimate`.
    labels, key :
        Truth of the reference in a file of its own, and the column to join it by, as in `evaluate`.
    seed :
        Seed of splits and draws.
    cache :
        Folder that keeps trials, so that an interrupted backtest goes on and a finished one is reused; "auto" for
        ``$OODOMETER_CACHE`` or the user's cache folder, None for none.
    engine, workers :
        Where the trials run, as in `estimate`, in tasks of eight that share a fit: "local" (in this process, slow
        methods in threads), "processes", "ray" or "spark"; how many work at a time. The result is the same to the last
        bit.
    run_folder :
        Folder that keeps finished tasks: a backtest that was killed goes on from there. The reference must be a file.
    progress :
        Called with (trials done, trials in all).

    Raises `InputError` for a reference of fewer than 80 labelled rows, `UsageError` for unknown names.

    >>> from oodometer.testing import example_record
    >>> found = backtest(example_record(), methods=["source", "atc"], families=["none"], repeats=2, cache=None)
    >>> [(r.method, r.cases) for r in found.rows]
    [('source', 2), ('atc', 2)]
    """
    options = BacktestOptions(methods=methods, families=families, repeats=repeats, level=level, seed=seed, cache=cache)
    about = {} if run_folder is None else {"verb": "backtest", **places_of_run(reference=reference)}
    with limited_to(workers), in_run_folder(run_folder, about) as folder, faults_of_fitted(reference):
        opener = Opener(renamings(mapping, positive), threshold, positive)
        sources = opener.references([reference], classes, where)
        said: tuple[str, ...] = ()
        if labels is not None:
            joined = labelled(labels, sources[0], key, opener.open)
            sources, said = [joined.source], joined.warnings
        opener.check()
        source = with_features(sources, None, features)[0][0]
        execution = Execution(engine, workers, progress, folder)
        read = read_reference(source, execution=execution.heard_by(None), seed=seed)
        if len(read.record) < LEAST_REFERENCE:
            raise _too_few(len(read.record), source.name)
        found = run_backtest(read.record, options, execution)
    tells = {"name": source.name, "rows": read.rows, "accuracy": read.correct / read.rows}
    tells |= {"features": about_features(source)} if source.encoding is not None else {}
    warnings = label_warnings("the reference", [read.record], read.record.accuracy)
    return replace(found, reference=tells, warnings=(*opener.notes, *said, *warnings, *found.warnings))


def _too_few(rows: int, file: str) -> InputError:
    return InputError(
        f"at least {LEAST_REFERENCE} labelled rows to backtest on",
        got=f"{rows}",
        file=file,
        remedy="label more, or use `oodometer estimate`, which then says what it cannot know",
    )
