"""The command `backtest`: a labelled file in, every method's error on simulated shifts out; it can be interrupted."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Annotated

import typer

from ..results import percent
from . import options, output
from .places import going_on

if TYPE_CHECKING:
    from ..results.backtest import Backtest


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="backtest")(backtest)


def backtest(
    reference: options.Reference,
    where: options.Where = None,
    method: options.Methods = None,
    family: Annotated[
        list[str] | None, typer.Option("--family", help="Only this family of shifts; may be repeated.")
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(help="Trials of each family and severity, for all methods; by default 8, and 3 for slow methods."),
    ] = None,
    level: Annotated[float, typer.Option(help="Nominal coverage of the intervals that are judged.")] = 0.95,
    cache: Annotated[
        str | None,
        typer.Option(help="Folder that keeps trials; by default $OODOMETER_CACHE or the user's cache folder."),
    ] = None,
    labels: options.Truth = None,
    key: options.Key = None,
    no_cache: Annotated[bool, typer.Option("--no-cache", help="Keep nothing, reuse nothing.")] = False,
    rename: options.Rename = None,
    positive: options.Positive = None,
    threshold: options.Threshold = None,
    features: options.Features = None,
    classes: options.Classes = None,
    engine: options.Engine = "local",
    workers: options.Workers = None,
    seed: Annotated[int, typer.Option(help="Seed of splits and draws.")] = 0,
    run_folder: options.RunFolder = None,
    json: options.Json = None,
    report: options.Report = None,
    out: options.Out = None,
) -> None:
    """Try every method on shifts simulated from a labelled reference."""
    from ..errors import UsageError
    from ..verbs.backtest import backtest as run

    if cache is not None and no_cache:
        raise UsageError("give --cache or --no-cache, not both")
    output.check_files(report, out)
    kept = _kept_in(cache, no_cache) if run_folder is None else Path(run_folder)
    count = _Count()
    with going_on(lambda: _last_words(count, kept)), output.progress_bar("backtesting", lines=True) as count.bar:
        found = run(
            reference,
            where=where or None,
            methods=method or None,
            families=family or None,
            repeats=repeats,
            level=level,
            classes=output.parse_classes(classes),
            mapping=output.parse_mapping(rename or []),
            positive=positive,
            threshold=threshold,
            features=features,
            labels=labels,
            key=key,
            seed=seed,
            cache=None if no_cache else cache or "auto",
            engine=engine,
            workers=workers,
            run_folder=run_folder,
            progress=count,
        )
    found = replace(found, argv=output.command_line())
    output.deliver(found.to_dict(), json=json, report=report, found=found, files=out)
    if json != "-":
        show(found)


class _Count:
    """Remembers how far the work came, and tells the bar where there is one."""

    def __init__(self) -> None:
        self.bar: Callable[[int, int], None] | None = None
        self.done, self.total = 0, 0

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self.bar is not None:
            self.bar(done, total)


def _kept_in(cache: str | None, no_cache: bool) -> Path | None:
    from ..backtests.trial_store import cache_folder

    if no_cache:
        return None
    return cache_folder() if cache is None else Path(cache)


def _last_words(count: _Count, kept: Path | None) -> str:
    if not count.done or kept is None or not any((kept / one).is_dir() for one in ("backtests", "parts")):
        return "nothing was written"
    return (
        f" after {count.done} of {count.total} trials, which are kept in {kept}; "
        "run the same command again and it goes on from there"
    )


def _by_family(found: Backtest, name: str) -> dict[tuple[str, str], float]:
    """Mean over severities of a column of the table, by method and family."""
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in found.rows:
        values[row.method, row.family].append(getattr(row, name))
    return {key: fmean(some) for key, some in values.items()}


def show(found: Backtest) -> None:
    """Every method's error, the best first, and how often its intervals held the truth; with -v by family of shifts."""
    reference = found.reference
    output.tell(
        f"{len(found.trials)} simulated targets from {reference['rows']} rows of {reference['name']}"
        f" (accuracy {100 * reference['accuracy']:.1f} %); {found.reused} trials were kept from before"
    )
    if output.verbose():
        _show_families(found)
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in found.skipped))
    else:
        errors, rows = _by_family(found, "error"), []
        for row in found.overall():
            worst, family = max((value, f) for (method, f), value in errors.items() if method == row.method)
            rows.append([row.method, *(f"{100 * x:.1f}" for x in (row.error, worst)), family.replace("_", " "),
                         f"{100 * row.coverage:.0f} %"])  # fmt: skip
        held = f"{percent(found.level, None)} intervals held"
        output.print_table(
            ["method", "error", "worst", "in", held], rows, "Mean absolute error, points of accuracy; the best first"
        )
    output.tell(*(f"warning: {warning}" for warning in found.warnings))
    output.left_out(seed=found.seed, table=2, note=len(found.skipped))


def _show_families(found: Backtest) -> None:
    """Errors, then coverage, of every method on every family of shifts."""
    methods = [row.method for row in found.overall()]
    families = [f for f in found.families if any(row.family == f for row in found.rows)]
    heads = ["method", *(f.replace("_", " ") for f in families), "all"]
    for name, title, scale in (
        ("error", "Mean absolute error, points of accuracy", "{:.1f}"),
        (
            "coverage",
            f"Share of trials whose truth the {percent(found.level, None)} interval held, %",
            "{:.0f}",
        ),
    ):
        cells = _by_family(found, name)
        cells |= {(row.method, "all"): getattr(row, name) for row in found.overall()}
        columns = [*families, "all"]
        table = [[m, *(scale.format(100 * cells[m, f]) if (m, f) in cells else "" for f in columns)] for m in methods]
        bold: list[tuple[int, int]] = []
        if name == "error":
            for j, family in enumerate(columns, 1):
                least = min(cells[m, family] for m in methods if (m, family) in cells)
                bold += [(i, j) for i, m in enumerate(methods) if cells.get((m, family)) == least]
        output.print_table(heads, table, title, bold=bold)
