"""The command `estimate`: two prediction files in, a table, JSON and a page out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..results import percent
from ..results.estimation import ASSUMPTIONS, alarm_text, alarms_sentence, headline_lines
from . import options, output, places

if TYPE_CHECKING:
    from ..results.estimation import Assumed, Estimation

__all__ = ["add_to"]


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="estimate")(estimate)


def estimate(
    reference: options.Reference,
    target: options.Target,
    method: options.Methods = None,
    level: options.Level = 0.95,
    by: Annotated[str | None, typer.Option(help="Slice the target by this column.")] = None,
    every: Annotated[str | None, typer.Option(help="Cut the target into chunks of time, such as 7d.")] = None,
    labels: Annotated[
        str | None,
        typer.Option(
            help="Truth of target rows (null where unknown), printed beside the estimates; joined by id, by a column "
            "row that counts them from 0, or one row each.",
            metavar="FILE",
        ),
        places.READ,
    ] = None,
    key: options.Key = None,
    accuracy: Annotated[
        list[float] | None,
        typer.Option("--accuracy", help="Find the threshold for this accuracy; may be repeated."),
    ] = None,
    calibrator: Annotated[str, typer.Option(help="auto, none, temperature, isotonic or histogram.")] = "auto",
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    classes: options.Classes = None,
    backtest: Annotated[
        str,
        typer.Option(
            help="What the headline is weighed by: auto (a quick backtest, kept in the cache), none, or a folder that "
            "keeps backtests."
        ),
    ] = "auto",
    assume: Annotated[
        str,
        typer.Option(
            help="What is believed of the shift: natural (like those of public data), none, label (P(x | y) stood "
            "still) or covariate (P(y | x) did)."
        ),
    ] = "natural",
    prior: Annotated[
        str | None,
        typer.Option(help="Another prior of natural shifts than the packaged one.", metavar="FILE"),
        places.READ,
    ] = None,
    margin: Annotated[
        float,
        typer.Option(help="Say whether the accuracy fell by at least this much: target, slices and chunks."),
    ] = 0.01,
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: options.IntervalSeed = 0,
    json: options.Json = None,
    report: options.Report = None,
) -> None:
    """Estimate a model's accuracy on data without labels."""
    from ..verbs.estimate import estimate as run

    output.check_page(report)
    with output.progress_bar("estimating") as progress:
        found = run(
            reference,
            target,
            methods=method or None,
            level=level,
            by=by,
            every=every,
            labels=labels,
            key=key,
            target_accuracies=tuple(accuracy or (0.95,)),
            calibrator=calibrator,
            mapping=output.parse_mapping(rename or []),
            positive=positive,
            threshold=threshold,
            classes=output.parse_classes(classes),
            backtest=None if backtest == "none" else backtest,
            assume=assume,
            prior=prior,
            margin=margin,
            engine=engine,
            workers=workers,
            seed=seed,
            progress=progress,
        )
    found = replace(found, argv=output.command_line())
    output.deliver(found.to_dict(), json=json, report=report)
    if json != "-":
        show(found)


def show(found: Estimation) -> None:
    """Headline, table of methods, slices or chunks, what was skipped, warnings."""
    output.say(*headline_lines(found))
    output.print_table(
        ["method", "accuracy", "lower", "upper", "kind", "assumes"],
        [[e.method, percent(e.value), percent(e.lower), percent(e.upper), e.kind, e.assumes] for e in found.estimates],
    )
    output.print_table(
        ["if", "accuracy", "lower", "upper", "method", "the data"],
        [_assumed(name, one) for name, one in found.assumptions.items()],
        "what you would believe",
    )
    for title, parts in (("slices", found.slices), ("chunks", found.chunks)):
        if parts:
            rows = []
            for p in parts:
                place = p.place.get("value", p.place.get("start"))
                truth_here = "" if p.truth is None else percent(p.truth.value)
                rows.append(
                    [
                        str(place),
                        str(p.rows),
                        percent(p.headline.interval.value),
                        percent(p.headline.interval.lower),
                        percent(p.headline.interval.upper),
                        alarm_text(p.fell),
                        truth_here,
                    ]
                )
            output.print_table([title[:-1], "rows", "accuracy", "lower", "upper", "fell", "truth"], rows, title)
            output.say(alarms_sentence(parts, title[:-1]))
    for answer in found.risk_coverage.extra["answers"] if found.risk_coverage is not None else ():
        output.say(_answer(answer))
    if found.risk_coverage is not None and found.diagnosis is not None and found.diagnosis.kind == "support":
        output.say("  do not rely on this threshold: it asks that confidence means what it meant on the reference")
    for skipped in found.skipped:
        output.say(f"skipped {skipped.method}: {skipped.why}")
    for warning in found.warnings:
        output.say(f"warning: {warning}")


def _assumed(name: str, one: Assumed) -> list[str]:
    """A row of the table of assumptions."""
    against = "" if one.refuted is None else f"speak against it: {one.refuted}"
    if one.interval is None:
        return [ASSUMPTIONS[name], "", "", "", "", one.why or against]
    i = one.interval
    return [ASSUMPTIONS[name], percent(i.value), percent(i.lower), percent(i.upper), one.method, against]


def _answer(answer: dict[str, float | None]) -> str:
    target = percent(float(answer["accuracy"] or 0))
    if answer["threshold"] is None or answer["coverage"] is None:
        return f"Threshold: no part of the target reaches an estimated accuracy of {target}"
    text = f"Threshold: at confidence >= {answer['threshold']:.4f} ({percent(answer['coverage'])} of the rows) "
    text += f"estimated accuracy is at least {target}"
    if answer["safe_threshold"] is None:
        return text + "; nowhere does the band's lower end reach it"
    return text + f"; the band's lower end reaches it at >= {answer['safe_threshold']:.4f}"
