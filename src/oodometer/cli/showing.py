"""Commands that show what is there: history, report, methods, cite and demo."""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..errors import MissingExtraError, UsageError, near_names
from ..options import Options, argument, one_of, option
from ..outputs import terminal
from ..plain import Json, Plain
from ..results import percent
from ..verbs.options import CiteOptions, DemoOptions, HistoryOptions
from . import output, samples
from .commands import Written, command

_DATA = (
    "target",
    "predictions",
    "data",
    "examples",
    "models",
    "outputs",
    "pairs",
    "paper",
    "reference",
)


class _History(HistoryOptions):
    """The options of `history`, where a folder may stand in the place of a store, and another result."""

    store: Any = argument(
        kw_only=False,
        default=None,
        path="read",
        metavar="STORE",
        many=True,
        help="A store of past runs: a file, or postgresql://user@host/database; estimate --store fills it. Or folders "
        "of runs of long commands, or that hold some; by default this one.",
    )
    run: int | None = option(
        default=None,
        metavar="NUMBER",
        help="Instead, the whole result of this run, as --json (by default) or --report.",
    )
    page_folder: str | None = option(
        default=None,
        path="folder",
        metavar="FOLDER",
        help="Write a static folder, again and again: index.html of all jobs, a page each, metrics.prom for "
        "Prometheus, runs.jsonl with a line a run.",
    )


@command(_History, written=("json", "report"))
def history(arguments: Json, to: Written) -> None:
    """Show past runs and their alarms, or how far long ones came."""
    stores = arguments.pop("store", None) or ["."]
    if all(os.path.isdir(store) for store in stores):
        if arguments or to.report is not None:
            raise UsageError(
                "runs of long commands have no --job, --last, --run, --report and --page-folder; "
                "leave them out"
            )
        _list_runs(stores, to)
    elif len(stores) > 1:
        raise UsageError(f"expected one store, or folders, got {' and '.join(stores)}")
    elif "run" in arguments:
        run = arguments.pop("run")
        if arguments:
            raise UsageError("--run names one run; leave out --job, --last and --page-folder")
        _deliver_run(stores[0], run, to)
    else:
        _list_jobs(stores[0], arguments.pop("page_folder", None), arguments, to)


def _list_runs(folders: Sequence[str], to: Written) -> None:
    """How far long commands came whose runs stand in folders."""
    from ..verbs.history import runs

    result = runs(folders)
    if to.deliver(result.to_dict()):
        _show_runs(result.runs)


def _deliver_run(store: str, run: int, to: Written) -> None:
    """The whole result of a run, as the run itself would have written it."""
    from ..histories import kept_result, open_store

    to = replace(to, json="-") if to.json is None and to.report is None else to
    to.deliver(kept_result(open_store(store), run))


def _list_jobs(store: str, folder: str | None, arguments: Json, to: Written) -> None:
    """What the runs of each job in a store say; ``folder``: also as a folder of pages."""
    from ..verbs.history import history

    past = replace(history(store, **arguments), argv=output.command_line())
    if folder is not None:
        from ..outputs.dashboard import write_dashboard

        written = write_dashboard(past, folder)
        output.say(f"Dashboard: {written[-1]}", error=to.json == "-")
    if not to.deliver(past.to_dict()):
        return
    if not past.jobs:
        output.say(f"{past.store} holds no run yet; estimate adds one with --store {past.store}")
    for job in past.jobs:
        output.show(job)


def _show_runs(runs: Sequence[Any]) -> None:
    """Print how far each run of a long command came."""
    if not runs:
        hint = "estimate --run-folder FOLDER makes one, and so do reproduce, stress, predict and the like"
        output.say(f"no run here; {hint}")
        return
    rows = []
    for run in runs:
        began = run.began.replace("+00:00", "").replace("T", " ")
        data = next(filter(None, map(run.about.get, _DATA)), "")
        done = f"{run.done} of {run.parts or '?'}"
        target = os.path.basename(data.rstrip("/"))
        rows.append([run.folder, run.verb, run.status, done, str(run.read), began, target])
    heads = ["folder", "command", "status", "parts done", "read", "began (UTC)", "target"]
    output.print_table(heads, rows, "Runs")
    output.say(*(f"{run.folder}: {run.why}" for run in runs if run.why))


class _Report(Options):
    """The file that is shown."""

    path: str = argument(
        kw_only=False, path="read", metavar="FILE", help="JSON of a command; - is standard input."
    )


@command(_Report, written=("report", "out"))
def report(arguments: Json, to: Written) -> None:
    """Show a saved result again: terminal, page or Markdown."""
    from ..reports.saved import load_result, shown_whole

    result = load_result(arguments["path"])
    with shown_whole(arguments["path"]):
        if to.deliver(result.to_dict(), result):
            output.show(result)


class _Methods(Options):
    """The options of `methods`."""

    kind: str | None = argument(
        kw_only=False,
        default=None,
        metavar="[NAME]",
        help="All about a method, or the list of a kind: estimator, score, metric, shift, ...",
    )
    json: bool = option(default=False, help="Print JSON.")


@command(_Methods)
def methods(arguments: Json, to: Written) -> None:
    """List methods: what each one needs and assumes."""
    from ..verbs.methods import methods as run

    every, requested = run(), arguments.get("kind")
    kinds = list(dict.fromkeys(("estimator", *(m["what"] for m in every))))
    requested = next((kind for kind in kinds if requested in (kind, f"{kind}s")), requested)
    chosen = every if requested is None else _methods_called(requested, kinds, every)
    if arguments["json"]:
        output.deliver({"methods": chosen}, json="-")
        return
    for method in chosen:
        if requested is not None and method["what"] != requested:
            _show_method(method)
    if requested is None and not output.verbose():
        _show_methods(kinds[0], chosen, brief=True)
        counts = ", ".join(f"{sum(m['what'] == what for m in every)} {what}s" for what in kinds[1:])
        output.tell(f"More: oodometer methods NAME, or KIND: {counts}")
        return
    for what in kinds if requested is None else [requested]:
        _show_methods(what, chosen)


def _methods_called(
    requested: str, kinds: Sequence[str], every: Sequence[Plain]
) -> Sequence[Plain]:
    """The methods of a kind or of a name, ours or another one of the field; `UsageError` where there is none."""
    from ..registry import named

    chosen = [m for m in every if requested in (m["name"], m["what"])]
    chosen = chosen or [m for m in every if m["name"] == named(m["what"], requested)]
    if not chosen:
        near = near_names(requested, [*kinds, *(m["name"] for m in every)], 3)
        hint = f"did you mean {' or '.join(near)}" if near else "`oodometer methods -v` lists all"
        raise UsageError(f"unknown method {requested!r}; {hint}")
    return chosen


def _show_method(method: Plain) -> None:
    """Print all about a method."""
    output.say(f"{method['name']} ({method['what']})")
    about = {"needs": method["needs"], "assumes": method["assumes"], "interval": method["kind"]}
    lines = [method["summary"], *(f"{name}: {text}" for name, text in about.items() if text)]
    output.tell(*(f"  {line}" for line in lines))
    cited = f"  cited as: {method['citation']} (oodometer cite {method['name']})"
    output.tell(cited if method["citation"] else "")


def _show_methods(what: str, every: Sequence[Plain], brief: bool = False) -> None:
    """Print the table of the methods of a kind; a line for each where it is to be brief."""
    rows = [
        [m["name"], m["needs"], m["assumes"] or m["summary"]] for m in every if m["what"] == what
    ]
    if brief:
        wide = [max(len(row[0]) for row in rows), 20]
        for row in rows:
            family = re.search(r"\(([^()|]*shift[^()]*)\)", row[2])
            few = family[1] if family else row[2].removeprefix("on the target, too, ")
            row[1] = re.split(r" or |, ", row[1])[0]
            row[2] = textwrap.shorten(few, terminal.width() - sum(wide) - 4, placeholder=" ...")
    if rows:
        columns = ["name", "needs", "assumes" if what == "estimator" else "is"]
        output.print_table(columns, rows, f"{what}s")


@command(CiteOptions)
def cite(arguments: Json, to: Written) -> None:
    """Print the BibTeX entry of the paper behind a method."""
    from ..verbs.methods import cite as run

    output.say(*run(**arguments).splitlines())


class _Demo(DemoOptions):
    """The options of `demo`, and the samples of other commands."""

    sample: str | None = option(
        default=None,
        metavar="NAME",
        help=f"Instead, write the files of a sample ({', '.join(samples.COMMANDS)}), and what to type.",
    )


@command(_Demo)
def demo(arguments: Json, to: Written) -> None:
    """Run it on digits that drift, or write the files of a sample."""
    from ..verbs.demo import demo as run

    sample = arguments.get("sample")
    out = Path(arguments["out"]) if sample is None or arguments["out"] != "demo" else Path(sample)
    if sample is not None:
        from ..datasets.samples import write_sample

        paths = write_sample(one_of(*samples.COMMANDS)("--sample", sample), out)
        output.say(f"Wrote {len(paths)} files into {out}. Go there (cd {out}), and try:")
        output.say(
            *(
                f"  oodometer {command} {words}"
                for command, words in samples.COMMANDS[sample].items()
            )
        )
        return
    with output.progress_bar("estimating") as progress:
        result = run(out, progress=progress)
    rows = []
    for step in result.steps:
        i, truth = step.estimation.headline.interval, step.estimation.target["accuracy"]
        cells = [
            percent(i.value),
            f"[{percent(i.lower)}, {percent(i.upper)}]",
            percent(truth["value"]),
        ]
        rows.append([str(step.severity), step.name, *cells, step.estimation.headline.trust])
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
