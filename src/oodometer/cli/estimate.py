"""The command `estimate`: two prediction files in, a table, JSON and a page out."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..results import percent
from ..results.diagnosis import columns_grid
from ..results.estimation import (
    ASSUMPTIONS,
    alarm_text,
    alarms_sentence,
    brief_lines,
    headline_lines,
    number,
    worst_parts,
)
from . import options, output, places

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..histories import Store
    from ..results.estimation import Assumed, Estimation, Part


_MOST_WARNINGS = 3  # that are printed without -v
_MOST_PARTS = 30
ALARM = 3  # exit code: done, and an alarm that was asked for is raised


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="estimate")(estimate)


def estimate(
    reference: options.Reference,
    target: options.Target,
    method: options.Methods = None,
    level: options.Level = 0.95,
    by: Annotated[str | None, typer.Option(help="Slice the target by this column.")] = None,
    every: Annotated[
        str | None,
        typer.Option(
            help="Cut the target into chunks: month (or day, week, quarter, year, as in the calendar), 7d or 1000rows."
        ),
    ] = None,
    cluster: options.Cluster = None,
    where: options.Where = None,
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
    target_accuracy: options.TargetAccuracies = None,
    calibrator: Annotated[str, typer.Option(help="auto, none, temperature, isotonic or histogram.")] = "auto",
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    features: options.Features = None,
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
    metric: options.ClassMetrics = None,
    payoff: options.Payoff = None,
    margin: Annotated[
        float,
        typer.Option(help="Say whether the accuracy fell by at least this much: target, slices and chunks."),
    ] = 0.01,
    fail_below: options.FailBelow = None,
    fail_drop: options.FailDrop = None,
    fail_when: options.FailWhen = "value",
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: options.IntervalSeed = 0,
    run_folder: options.RunFolder = None,
    store: options.Store = None,
    job: options.Job = None,
    alarms: options.Alarms = "all",
    json: options.Json = None,
    report: options.Report = None,
    out: options.Out = None,
) -> None:
    """Estimate a model's accuracy on data without labels."""
    from ..verbs.estimate import estimate as run

    output.check_files(report, out)
    with _kept(store) as kept:
        with output.progress_bar("estimate", lines=True) as progress:
            found = run(
                reference,
                target,
                methods=method or None,
                level=level,
                by=by,
                every=every,
                cluster=cluster,
                where=where or None,
                labels=labels,
                key=key,
                target_accuracies=tuple(target_accuracy or (0.95,)),
                calibrator=calibrator,
                mapping=output.parse_mapping(rename or []),
                positive=positive,
                threshold=threshold,
                features=features,
                classes=output.parse_classes(classes),
                backtest=backtest,
                assume=assume,
                prior=prior,
                metrics=tuple(metric or ()),
                payoff=payoff,
                margin=margin,
                fail_below=output.parse_bounds(fail_below or [], "--fail-below"),
                fail_drop=output.parse_bounds(fail_drop or [], "--fail-drop"),
                fail_when=fail_when,
                engine=engine,
                workers=workers,
                seed=seed,
                run_folder=run_folder,
                store=kept,
                job=job,
                alarms=alarms,
                progress=progress,
            )
        found = replace(found, argv=output.command_line())
        output.deliver(found.to_dict(), json=json, report=report, found=found, files=out)
        if json != "-":
            show(found, thresholds=bool(target_accuracy))
        raised = found.alarms is not None and found.alarms.raised
        if found.alarms is not None and raised and (json == "-" or output.quiet()):
            output.say(*found.alarms.lines(), error=True)  # whoever is woken by an alarm reads why
    if raised:
        raise typer.Exit(ALARM)


@contextmanager
def _kept(store: str | None) -> Iterator[Store | None]:
    """The store of past runs; what is told to it inside is written at the end, after the answer and its alarms."""
    if store is None:
        yield None
        return
    from ..histories import open_store

    with open_store(store, output.command_line()).afterwards() as kept:
        yield kept


def show(found: Estimation, thresholds: bool = False) -> None:
    """Headline, trust and alarm, slices or chunks, warnings; with -v everything else."""
    output.tell(*(headline_lines(found) if output.verbose() else brief_lines(found)))
    if output.verbose():
        _show_methods(found)
    _show_metrics(found)
    _show_parts(found)
    if found.alarms is not None:
        output.say(*found.alarms.lines())  # unfolded: one line each, for a log
    answers = found.risk_coverage.extra["answers"] if found.risk_coverage is not None else ()
    if output.verbose() or thresholds:
        _show_thresholds(found, answers)
        answers = ()
    if output.verbose():
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in found.skipped))
    new = [warning for warning in found.warnings if warning != found.headline.why]  # trust has said it
    shown = found.warnings if output.verbose() else new[:_MOST_WARNINGS]
    output.tell(*(f"warning: {warning}" for warning in shown))
    notes = len(answers) + len(new) - min(len(new), len(shown))
    output.left_out(seed=found.seed, method=len(found.estimates), skipped_method=len(found.skipped), note=notes)


def _show_methods(found: Estimation) -> None:
    """The user's columns, every method, and every assumption about the shift."""
    if found.diagnosis is not None and found.diagnosis.columns:
        for grid in columns_grid(found.diagnosis.to_dict()):
            output.print_table(grid.columns, grid.rows, grid.title, bold=grid.bold)
    kinds = {e.kind for e in found.estimates}
    columns = ["method", "accuracy", "lower", "upper", *(["kind"] if len(kinds) > 1 else []), "assumes"]
    rows = [
        [e.method, percent(e.value), percent(e.lower), percent(e.upper), *([e.kind] * (len(kinds) > 1)), e.assumes]
        for e in found.estimates
    ]
    output.print_table(columns, rows, "methods" if len(kinds) > 1 else f"methods, {kinds.pop()} intervals")
    output.print_table(
        ["if", "accuracy", "lower", "upper", "method", "the data"],
        [_assumed(name, one) for name, one in found.assumptions.items()],
        "what you would believe",
    )


def _show_metrics(found: Estimation) -> None:
    """What was asked for besides the accuracy; with -v what each method says of it."""
    rows, said = [], []
    for name, one in found.metrics.items():
        i = one.headline.interval
        known = [number(one.reference.value if one.reference else None), number(one.truth.value if one.truth else None)]
        rows.append([name, *map(number, (i.value, i.lower, i.upper)), one.headline.trust, *known])
        said += [[name, e.method, *map(number, (e.value, e.lower, e.upper)), e.assumes] for e in one.estimates]
    if not rows:
        return
    known_truth = any(row[-1] for row in rows)
    columns = ["metric", "value", "lower", "upper", "trust", "reference", *(["truth"] if known_truth else [])]
    output.print_table(columns, rows if known_truth else [row[:-1] for row in rows])
    if output.verbose():
        output.print_table(["metric", "method", "value", "lower", "upper", "assumes"], said)


def _show_metrics_of_parts(title: str, parts: Sequence[Part]) -> None:
    """The metrics of each part beside their truth, where it is known."""
    names = list(dict.fromkeys(name for p in parts for name in p.metrics))
    if not names:
        return
    known = any(one.truth is not None for p in parts for one in p.metrics.values())
    rows = []
    for p in parts:
        row = [p.name]
        for name in names:
            one = p.metrics.get(name)
            row.append("" if one is None else number(one.value))
            if known:
                row.append(number(one.truth.value if one is not None and one.truth is not None else None))
        rows.append(row)
    columns = [title, *(c for name in names for c in ([name, "truth"] if known else [name]))]
    output.print_table(columns, rows)


def _show_parts(found: Estimation) -> None:
    """Slices or chunks; of very many those with an alarm and the worst."""
    for title, parts in (("slice", found.slices), ("chunk", found.chunks)):
        if not parts:
            continue
        shown = parts if output.verbose() else worst_parts(parts, _MOST_PARTS)
        rows = []
        for p in shown:
            i = p.headline.interval
            truth = "" if p.truth is None else percent(p.truth.value)
            ends = [percent(i.value), percent(i.lower), percent(i.upper)]
            rows.append([p.name, f"{p.rows:,}", *ends, alarm_text(p.fell), truth])
        columns = [title, "rows", "accuracy", "lower", "upper", "fell", "truth"]
        drop = {j for j in (5, 6) if not any(row[j] for row in rows)}
        kept = [j for j in range(len(columns)) if j not in drop]
        output.print_table([columns[j] for j in kept], [[row[j] for j in kept] for row in rows])
        _show_metrics_of_parts(title, shown)
        output.tell(alarms_sentence(parts, title))
        if len(shown) < len(parts):
            output.tell(f"{len(parts) - len(shown)} {title}s without an alarm are left out, none worse than these: -v")


def _show_thresholds(found: Estimation, answers: Sequence[dict[str, float | None]]) -> None:
    output.tell(*map(_answer, answers))
    if answers and found.diagnosis is not None and found.diagnosis.kind == "support":
        output.tell("  do not rely on this threshold: it asks that confidence means what it meant on the reference")


def _assumed(name: str, one: Assumed) -> list[str]:
    """A row of the table of assumptions."""
    against = "" if one.refuted is None else f"speak against it: {one.refuted}"
    if one.interval is None:
        return [ASSUMPTIONS[name], "", "", "", "", one.why or against]
    i = one.interval
    return [
        ASSUMPTIONS[name],
        percent(i.value),
        percent(i.lower),
        percent(i.upper),
        one.method.partition(":")[0],
        against,
    ]


def _answer(answer: dict[str, float | None]) -> str:
    target = percent(float(answer["accuracy"] or 0))
    if answer["threshold"] is None or answer["coverage"] is None:
        return f"Threshold: no part of the target reaches an estimated accuracy of {target}"
    text = f"Threshold: at confidence >= {answer['threshold']:.4f} ({percent(answer['coverage'])} of the rows) "
    text += f"estimated accuracy is at least {target}"
    if answer["safe_threshold"] is None:
        return text + "; nowhere does the band's lower end reach it"
    return text + f"; the band's lower end reaches it at >= {answer['safe_threshold']:.4f}"
