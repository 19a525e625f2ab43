"""The command `reproduce`: a paper again, and our numbers beside its own."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from oodometer.cli import output
from oodometer.cli.commands import Written, command
from oodometer.errors import visible

from ..verbs.options import ReproduceOptions


@command(ReproduceOptions, written=("json",), kept=True)
def reproduce(options: dict[str, Any], to: Written) -> None:
    """Reproduce a paper, and set our numbers beside its own."""
    from ..recipes import reproduce as run

    with output.progress_bar("starting") as bar:
        last = ""

        def report(what: str, share: float) -> None:
            nonlocal last
            # nobody watches: a line for each step
            if bar is None and what != last and not output.quiet():
                output.say(f"{share:4.0%}  {visible(what)}", error=True)
            elif bar is not None and what != last:
                bar.phase(visible(what))  # type: ignore[attr-defined]
            if bar is not None:
                bar(round(1000 * share), 1000)
            last = what

        result = run(**options, report=report)
    if to.deliver(replace(result, argv=output.command_line()).to_dict()):
        output.say(*result.words.splitlines())
        done = [step for step in result.steps if not step.kept]
        output.say(
            f"{len(done)} steps done in {sum(step.seconds for step in done):.0f} s, {len(result.steps) - len(done)} "
            f"reused from an earlier run; files in {result.folder}"
        )
