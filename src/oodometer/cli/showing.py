"""Commands that show what is there: report, methods, cite and demo; and reproduce, which shows a paper again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, visible
from ..options import Options, argument, option
from ..results import percent
from ..verbs.options import CiteOptions, DemoOptions, ReproduceOptions
from . import output
from .commands import Written, command


class _Report(Options):
    """The file that is shown."""

    path: str = argument(kw_only=False, path="read", metavar="FILE", help="JSON of a command; - is standard input.")


@command(_Report, written=("report", "out"))
def report(given: dict[str, Any], to: Written) -> None:
    """Show a saved result again: on the terminal, as a page, as Markdown."""
    from ..reports.saved import load_result, shown_whole

    result = load_result(given["path"])
    with shown_whole(given["path"]):
        if to.deliver(result.to_dict(), result):
            output.show(result)


class _Methods(Options):
    """The options of `methods`."""

    json: bool = option(default=False, help="Print JSON.")


@command(_Methods)
def methods(given: dict[str, Any], to: Written) -> None:
    """List estimators, scores, calibrators, metrics, rankers, simulations and shifts."""
    from ..verbs.methods import methods as run

    every = run()
    if given["json"]:
        output.deliver({"methods": every}, json="-")
        return
    for what in ("estimator", "score", "calibrator", "metric", "ranker", "simulation", "shift"):
        rows = [[m["name"], m["needs"], m["assumes"] or m["summary"]] for m in every if m["what"] == what]
        output.print_table(["name", "needs", "assumes" if what == "estimator" else "is"], rows, f"{what}s")


@command(CiteOptions)
def cite(given: dict[str, Any], to: Written) -> None:
    """Print the BibTeX entry of the paper behind a method."""
    from ..verbs.cite import cite as run

    output.say(*run(**given).splitlines())


@command(DemoOptions)
def demo(given: dict[str, Any], to: Written) -> None:
    """Run the main job on handwritten digits that drift; no files needed."""
    from ..verbs.demo import demo as run

    out = Path(given["out"])
    with output.progress_bar("training and estimating") as progress:
        result = run(out, progress=progress)
    rows = []
    for step in result.steps:
        i, truth = step.estimation.headline.interval, step.estimation.target["accuracy"]
        shown = [percent(i.value), f"[{percent(i.lower)}, {percent(i.upper)}]", percent(truth["value"])]
        rows.append([str(step.severity), step.name, *shown, step.estimation.headline.trust])
    columns = ["severity", "drift", "estimate", "interval", "truth", "trust"]
    output.print_table(columns, rows, "Accuracy without labels, and the truth")
    output.deliver(result.to_dict(), json=str(out / "demo.json"))
    target, labels = result.steps[3].files
    output.say(f"Try it yourself: oodometer estimate {result.reference} {target} --labels {labels}")
    try:
        from ..reports import write_report

        write_report(result.to_dict(), out / "report.html")
    except MissingExtraError as error:
        output.say(f"no report: {error}")
        return
    output.say(f"report: {out / 'report.html'}")


@command(ReproduceOptions, written=("json",), kept=True)
def reproduce(given: dict[str, Any], to: Written) -> None:
    """Reproduce a paper: train, predict, judge, and set the numbers beside the paper's."""
    from ..recipes import reproduce as run

    with output.progress_bar("starting") as bar:
        last = ""

        def report(what: str, share: float) -> None:
            nonlocal last
            if bar is None and what != last:  # nobody watches: a line for each step
                output.say(f"{share:4.0%}  {visible(what)}", error=True)
            elif bar is not None and what != last:
                bar.phase(visible(what))  # type: ignore[attr-defined]
            if bar is not None:
                bar(round(1000 * share), 1000)
            last = what

        result = run(**given, report=report)
    if to.deliver(replace(result, argv=output.command_line()).to_dict()):
        output.say(*result.words.splitlines())
        done = [step for step in result.steps if not step.kept]
        output.say(
            f"{len(done)} steps done in {sum(step.seconds for step in done):.0f} s, {len(result.steps) - len(done)} "
            f"kept from before; files in {result.folder}"
        )
