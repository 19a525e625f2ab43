"""The command `reproduce`: a paper by name, its numbers beside ours; it can be interrupted and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from ..errors import visible
from . import options, output, places
from .places import going_on

if TYPE_CHECKING:
    from ..recipes import Report, Reproduction


def add_to(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="reproduce")(reproduce)


def reproduce(
    paper: Annotated[str, typer.Argument(help="Name of the paper, such as selective-answering.")],
    scale: Annotated[
        str,
        typer.Option(
            help="small (two cores; each paper or task about half an hour) or paper (a GPU, the paper's models)."
        ),
    ] = "small",
    out: Annotated[
        str | None,
        typer.Option(
            help="Folder for all files; by default reproduce/PAPER-SCALE.",
            metavar="FOLDER",
        ),
        places.FOLDER,
    ] = None,
    only: Annotated[list[str] | None, typer.Option("--only", help="Only this model; may be repeated.")] = None,
    task: Annotated[
        list[str] | None,
        typer.Option("--task", help="Only this task of a paper that has tasks, such as cogs; may be repeated."),
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option(
            help="Where steps run as tasks of one thread each: processes, ray or spark, with an address "
            "ray:HOST:PORT, spark:spark://HOST:PORT; local: here, one after another. All workers must see the folder. "
            "By default no tasks: processes of this machine."
        ),
    ] = None,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes that do steps side by side, for a paper whose steps can be, or tasks at a time; by default "
            "one for each core."
        ),
    ] = None,
    json: options.Json = None,
) -> None:
    """Reproduce a paper: train, predict, judge, and set the numbers beside the paper's."""
    from ..recipes import reproduce as run

    with going_on(output.KEPT), _bar() as bar:
        found = run(
            paper, scale=scale, out=out, only=only or (), tasks=task or (), engine=engine, workers=workers, report=bar
        )
    found = replace(found, argv=output.command_line())
    output.deliver(found.to_dict(), json=json)
    if json != "-":
        show(found)


@contextmanager
def _bar() -> Iterator[Report | None]:
    """A bar with what is being done, on standard error; where that is no terminal a line for each step."""
    if not output.is_watched():
        yield _line_a_step()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=1.0)
        yield lambda what, share: bar.update(task, description=visible(what), completed=share)


def _line_a_step() -> Report:
    last = ""

    def tell(what: str, share: float) -> None:
        nonlocal last
        if what != last:
            last = what
            output.say(f"{share:4.0%}  {visible(what)}", error=True)

    return tell


def show(found: Reproduction) -> None:
    """The page of Markdown, where the files are, and how long the work took."""
    output.say(*found.words.splitlines())
    done = [run for run in found.steps if not run.kept]
    output.say(
        f"{len(done)} steps done in {sum(run.seconds for run in done):.0f} s, {len(found.steps) - len(done)} kept from "
        f"before; files in {found.folder}"
    )
