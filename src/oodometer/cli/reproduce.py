"""The command `reproduce`: a paper by name, its numbers beside ours; it can be interrupted and goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..errors import visible
from ..verbs.options import ReproduceOptions
from . import output
from .commands import Written, command

if TYPE_CHECKING:
    from ..recipes import Report


@command(ReproduceOptions, written=("json",), kept=True)
def reproduce(given: dict[str, Any], to: Written) -> None:
    """Reproduce a paper: train, predict, judge, and set the numbers beside the paper's."""
    from ..recipes import reproduce as run

    with _bar() as bar:
        found = run(**given, report=bar)
    if to.deliver(replace(found, argv=output.command_line()).to_dict()):
        output.say(*found.words.splitlines())
        done = [step for step in found.steps if not step.kept]
        output.say(
            f"{len(done)} steps done in {sum(one.seconds for one in done):.0f} s, {len(found.steps) - len(done)} kept "
            f"from before; files in {found.folder}"
        )


@contextmanager
def _bar() -> Iterator[Report | None]:
    """A bar with what is being done, on standard error; where that is no terminal a line for each step."""
    if not output.is_watched():
        yield _line_a_step()
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeElapsedColumn())
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
