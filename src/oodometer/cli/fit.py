"""The command `fit`: a labelled reference in, a file of everything that was learnt from it out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ..results import percent
from ..results.values import counted
from . import options, output, places

if TYPE_CHECKING:
    from ..verbs.fit import Oodometer


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="fit")(fit)


def fit(
    reference: options.Reference,
    out: Annotated[
        str,
        typer.Option(help="Where to write what was learnt, FILE.oodo; no pickle.", metavar="FILE"),
        places.WRITTEN,
    ],
    where: options.Where = None,
    method: options.Methods = None,
    level: options.Level = 0.95,
    target_accuracy: options.TargetAccuracies = None,
    calibrator: Annotated[str, typer.Option(help="auto, none, temperature, isotonic or histogram.")] = "auto",
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    classes: options.Classes = None,
    features: options.Features = None,
    cluster: options.Cluster = None,
    backtest: Annotated[
        str,
        typer.Option(
            help="What the headline is weighed by: auto (a quick backtest, kept in the cache), none, or a folder that "
            "keeps backtests."
        ),
    ] = "auto",
    prior: Annotated[
        str | None,
        typer.Option(help="Another prior of natural shifts than the packaged one.", metavar="FILE"),
        places.READ,
    ] = None,
    metric: options.ClassMetrics = None,
    payoff: options.Payoff = None,
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: options.IntervalSeed = 0,
    run_folder: options.RunFolder = None,
) -> None:
    """Learn from a reference once, for `estimate FILE.oodo TARGET` to ask every night."""
    from ..verbs.fit import fit as run

    with output.progress_bar("fitting", lines=True) as progress:
        made = run(
            reference,
            out=out,
            where=where or None,
            methods=method or None,
            level=level,
            target_accuracies=tuple(target_accuracy or (0.95,)),
            calibrator=calibrator,
            mapping=output.parse_mapping(rename or []),
            positive=positive,
            threshold=threshold,
            classes=output.parse_classes(classes),
            features=features,
            cluster=cluster,
            backtest=backtest,
            prior=prior,
            metrics=tuple(metric or ()),
            payoff=payoff,
            engine=engine,
            workers=workers,
            seed=seed,
            run_folder=run_folder,
            progress=progress,
        )
    show(made, out)


def show(made: Oodometer, out: str) -> None:
    """What was learnt from how many rows, what was not, and how it is asked."""
    fitted = made.fitted_.fitted
    rows, correct = fitted.counts
    trials = "no backtest" if fitted.trials is None else f"{len(fitted.trials.trials)} simulated targets"
    output.tell(
        f"Fitted {counted(len(fitted.plan.methods), 'method')} on {counted(rows, 'row')} of {fitted.name}, "
        f"{percent(correct / rows)} right; {trials}",
        f"Wrote {out} ({Path(out).stat().st_size / 1e6:.1f} MB); ask it: oodometer estimate {out} TARGET",
    )
    if output.verbose():
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in fitted.skipped))
    output.tell(*(f"warning: {warning}" for warning in fitted.warnings))
    output.left_out(skipped_method=len(fitted.skipped))
