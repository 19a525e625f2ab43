"""Commands that tell how good a model is: estimate, fit, diagnose, backtest, audit, evaluate, compare and plan."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Any

import typer

from ..errors import UsageError
from ..notes import THRESHOLD
from ..options import argument, option
from ..outputs import terminal
from ..plain import Json
from ..results import percent
from ..results.alarms import Alarms
from ..results.values import counted
from ..verbs import options
from . import output
from .commands import Written, command, going_on

ALARM = 3  # exit code: done, and an alarm that was asked for is raised


def _deliver(result: Any, to: Written, kinds: Sequence[str] = ()) -> bool:
    """The answer with the command as it was typed, written and shown; whether the terminal showed it."""
    result = replace(result, argv=output.command_line())
    free = to.deliver(result.to_dict(), result)
    if free:
        output.show(result, kinds=kinds)
    return free


def _heard(alarms: Alarms | None, to: Written) -> bool:
    """Whether an alarm is raised; whoever is woken by one reads why, also where the answer is not shown."""
    raised = alarms is not None and alarms.raised
    if alarms is not None and raised and (to.json == "-" or output.quiet()):
        output.say(*alarms.lines(), error=True)
    return raised


@command(options.EstimateOptions, written=("json", "report", "out"))
def estimate(arguments: Json, to: Written) -> None:
    """Estimate a model's accuracy on data without labels."""
    from ..verbs.estimate import estimate as run

    store: Any = nullcontext()
    # what is told to it inside is written at the end, after the answer and its alarms
    if "store" in arguments:
        from ..histories import open_store

        store = open_store(arguments.pop("store"), output.command_line()).afterwards()
    with store as opened:
        with output.progress_bar("estimate", lines=True) as progress:
            result = run(**arguments, store=opened, progress=progress)
        _deliver(result, to, [THRESHOLD] if "target_accuracies" in arguments else ())
        raised = _heard(result.alarms, to)
    if raised:
        raise typer.Exit(ALARM)


@command(options.FitOptions)
def fit(arguments: Json, to: Written) -> None:
    """Learn from a reference once, for many targets."""
    from ..verbs.fit import fit as run

    with output.progress_bar("fitting", lines=True) as progress:
        fitted = run(**arguments, progress=progress).fitted_
    out, rows = arguments["out"], fitted.reference.rows
    trials = (
        "no backtest" if fitted.trials is None else f"{len(fitted.trials.trials)} simulated targets"
    )
    output.tell(
        f"Fitted {counted(len(fitted.plan.methods), 'method')} on {counted(rows, 'row')} of {fitted.name}, "
        f"{percent(fitted.reference.correct / rows)} right; {trials}",
        f"Wrote {out} ({Path(out).stat().st_size / 1e6:.1f} MB); ask it: oodometer estimate {out} TARGET",
    )
    if output.verbose():
        output.tell(*(f"skipped {skipped.method}: {skipped.why}" for skipped in fitted.skipped))
    output.tell(*map(terminal.warned, fitted.warnings))
    output.left_out({"skipped_method": len(fitted.skipped)})


@command(options.DiagnoseOptions, written=("json", "report", "out"))
def diagnose(arguments: Json, to: Written) -> None:
    """Say what kind of shift lies between reference and target."""
    from ..verbs.diagnose import diagnose as run
    from ..version import __version__

    with output.progress_bar("diagnosing") as progress:
        result = run(**arguments, progress=progress)
    about = {
        "command": "diagnose",
        "version": __version__,
        "argv": output.command_line(),
        "seed": arguments["seed"],
    }
    about |= {name: {"name": arguments[name]} for name in ("reference", "target")}
    if to.deliver({**about, **result.to_dict()}, result):
        output.show(result, seed=arguments["seed"])


class _Backtest(options.BacktestOptions):
    """The options of `backtest`, and what a shell has for None."""

    no_cache: bool = option(default=False, help="Keep nothing, reuse nothing.", rare=True)


@command(_Backtest, written=("json", "report", "out"))
def backtest(arguments: Json, to: Written) -> None:
    """Try every method on shifts simulated from a reference."""
    from ..backtests.trials import cache_folder
    from ..verbs.backtest import backtest as run

    no_cache, run_folder = arguments.pop("no_cache"), arguments.get("run_folder")
    folder = Path(run_folder) if run_folder is not None else None if no_cache else cache_folder()
    count = _Count(folder)
    with going_on(count.last_words), output.progress_bar("backtesting", lines=True) as count.bar:
        result = run(**arguments, cache=None if no_cache else "auto", progress=count)
    _deliver(result, to)


class _Count:
    """Remembers how far the work came, tells the bar where there is one, and knows where trials are kept."""

    def __init__(self, folder: Path | None) -> None:
        self.bar: Callable[[int, int], None] | None = None
        self.done, self.total, self.folder = 0, 0, folder

    def __call__(self, done: int, total: int) -> None:
        self.done, self.total = done, total
        if self.bar is not None:
            self.bar(done, total)

    def last_words(self) -> str:
        """What a run that is stopped leaves behind."""
        folder = self.folder
        if (
            not self.done
            or folder is None
            or not any((folder / name).is_dir() for name in ("backtests", "parts"))
        ):
            return "nothing was written"
        text = f" after {self.done} of {self.total} trials, which are kept in {folder}"
        return f"{text}; run the same command again and it goes on from there"


@command(options.AuditOptions, written=("json", "report", "save"))
def audit(arguments: Json, to: Written) -> None:
    """Check a model on the target by a few labels."""
    from ..verbs.audit import audit as run

    out = arguments.get("out")
    if arguments["suggest"] and out is None:
        raise UsageError("say where to write the suggested rows: --suggest N --out FILE.csv")
    with output.results(), output.progress_bar("auditing") as progress:
        result = run(**arguments, expected_widths=to.report is not None, progress=progress)
        result = replace(result, argv=output.command_line())
        visible = to.deliver(result.to_dict(), result)
    if visible:
        output.show(result)
        if result.suggestion is not None:
            output.tell(f"Wrote {len(result.suggestion.row)} rows to label to {out}")
            if str(out).lower().endswith(".html"):
                output.tell(
                    "Open it in a browser, label, save the CSV there, and give that with --labels"
                )
    if _heard(result.alarms, to):
        raise typer.Exit(ALARM)


class _Evaluate(options.EvaluateOptions):
    """The options of `evaluate`, and the files."""

    predictions: Sequence[Any] = argument(
        kw_only=False,
        path="read",
        metavar="PREDICTIONS...",
        help="Labelled predictions, one file or several.",
    )


@command(_Evaluate, written=("json", "report", "out"))
def evaluate(arguments: Json, to: Written) -> None:
    """Measure labelled predictions: accuracy, F1, calibration, ..."""
    from ..verbs.evaluate import evaluate as run

    with output.progress_bar("evaluating") as progress:
        result = run(*arguments.pop("predictions"), **arguments, progress=progress)
    _deliver(result, to)


@command(options.CompareOptions, written=("json", "report", "out"))
def compare(arguments: Json, to: Written) -> None:
    """Compare models on labelled rows: which one answers best."""
    from ..verbs.compare import compare as run

    with output.progress_bar("comparing") as progress:
        result = run(**arguments, progress=progress)
    free, gate = _deliver(result, to), result.gate
    if gate is not None and gate.exit_code:
        if not free or output.quiet():
            output.say(result.view().sentences[0], error=True)
        raise typer.Exit(gate.exit_code)


@command(options.PlanOptions, written=("json", "report", "out"))
def plan(arguments: Json, to: Written) -> None:
    """Plan a comparison: questions, epochs, labels, power and cost."""
    from ..verbs.plan import plan as run

    with output.progress_bar("planning") as progress:
        result = run(**arguments, progress=progress)
    _deliver(result, to)
