"""The command `backtest`: a labelled file in, every method's error on simulated shifts out; it can be interrupted."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from . import options, output
from .places import going_on


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
    from ..backtests.trials import cache_folder
    from ..verbs.backtest import backtest as run

    output.check_files(report, out)
    kept = Path(run_folder) if run_folder is not None else None if no_cache else cache_folder()
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
            cache=None if no_cache else "auto",
            engine=engine,
            workers=workers,
            run_folder=run_folder,
            progress=count,
        )
    found = replace(found, argv=output.command_line())
    output.deliver(found.to_dict(), json=json, report=report, found=found, files=out)
    if json != "-":
        output.show(found)


class _Count:
    """Remembers how far the work came, and tells the bar where there is one."""

    def __init__(self) -> None:
        self.bar: Callable[[int, int], None] | None = None
        self.done, self.total = 0, 0

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self.bar is not None:
            self.bar(done, total)


def _last_words(count: _Count, kept: Path | None) -> str:
    if not count.done or kept is None or not any((kept / one).is_dir() for one in ("backtests", "parts")):
        return "nothing was written"
    return (
        f" after {count.done} of {count.total} trials, which are kept in {kept}; "
        "run the same command again and it goes on from there"
    )
