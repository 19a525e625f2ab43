"""Plan: the result of the verb `plan`: how many questions, epochs and labels show a difference, and what they cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..plain import Json, Plain, Strings
from .values import Record, counted, percent, points
from .view import Grid, Maker, Named, Shown, Table, View, cell, shows


@dataclass(frozen=True)
class PlannedRun(Record):
    """A run that might be made.

    Parameters
    ----------
    questions, epochs, labels : how many, how often each is asked, how many people label (None: without a judge).
    power : the chance that the difference is shown where both systems get the same questions; None where their
        correlation is not known. unpaired : where each has questions of its own; None with labels.
    smallest : the smallest rise that is shown with the power asked for (paired where that is known); None where none.
    cost : of questions and labels; None where no cost is named.
    worse, not_worse, undecided : the chances of a gate's verdicts, with the same questions for both where their
        correlation is known, else with questions of their own; None without a gate.
    """

    questions: int
    epochs: int
    labels: int | None
    power: float | None
    unpaired: float | None
    smallest: float | None
    cost: float | None
    worse: float | None = None
    not_worse: float | None = None
    undecided: float | None = None


@dataclass(frozen=True, repr=False)
class Plan(Shown, Record, Named[PlannedRun]):
    """What `plan` found.

    runs : runs that might be made, with their power and cost.
    difference : the wanted one; None where the smallest that can be shown is asked. power, level : as asked.
    needed : questions for the difference at that power and one epoch: ``paired`` and ``unpaired``, None where not known
        or more than ten million; ``lower`` and ``upper`` of the paired number by the correlation's interval.
    needed_labels : of so many ``questions``, ``with_judge`` and ``alone``; empty without a judge.
    assumed : mean, variance, within, correlation (with its interval where pilots tell it), judge, span, and the
        design effect of clusters: so many questions are worth one that no other depends on.
    pilot : names, questions and epochs of the pilots; empty without.
    warnings : sentences to read before believing the numbers.
    argv : the command line; None of a call from Python.
    drop : of the gate; None without.
    """

    runs: tuple[PlannedRun, ...]
    difference: float | None
    power: float
    level: float
    needed: Mapping[str, int | None] = field(default_factory=dict)
    needed_labels: Mapping[str, int | None] = field(default_factory=dict)
    assumed: Plain = field(default_factory=dict)
    pilot: Plain = field(default_factory=dict)
    warnings: Strings = ()
    argv: str | None = None
    drop: float | None = None
    _command, _noun = "plan", "run"
    _first = "argv difference drop power level needed needed_labels runs assumed pilot"

    def frames(self) -> dict[str, Maker]:
        """``runs``: a row for each; the row ``headline`` is the run that is asked for."""
        columns = ("name", *PlannedRun.__dataclass_fields__)
        rows = [{"name": name, **run.to_dict()} for name, run in self.entries().items()]
        return {"runs": lambda: Table(columns, rows, named="name")}

    def entries(self) -> Mapping[str, PlannedRun]:
        """The runs in words, such as "200 questions asked 2 times"."""
        return {_run(run.to_dict()): run for run in self.runs}


@shows(Plan)
def plan_view(result: Plain) -> View:
    """What a plan says, from the mapping that JSON holds: how many questions, what pairing saves, a table of runs."""
    wanted, power = result.get("difference"), percent(result["power"], None)
    runs = result.get("runs") or []
    drop, note = result.get("drop"), ""
    if drop is not None:
        title = f"Questions after which a gate of {_amount(result, drop)} decides (power {power})"
        number = _count(result["needed"].get("gate"))
        if drop == -(wanted or 0.0):
            number, note = "none", "the difference is the drop"
    elif wanted is None:
        first = runs[0]
        title = f"Smallest difference shown by {_run(first)} (power {power})"
        number = _amount(result, first["smallest"])
    else:
        paired, unpaired = (result["needed"].get(name) for name in ("paired", "unpaired"))
        title = f"Questions that show {_amount(result, abs(wanted))} (power {power})"
        number = _count(paired if paired is not None else unpaired)
        note = "the same for both systems" if paired is not None else "each system its own"
    return View(
        title,
        number,
        note=note,
        share=False,
        sentences=(
            *_gate(result),
            *_savings(result),
            *_labels(result),
            _assumed(result),
            *_epochs(result),
            "To stop early, look with `compare BASE NEW --fail-drop DROP --anytime`: no other verdict stays valid at "
            "every look",
        ),
        grids=(_runs_grid(result),),
        warnings=tuple(result.get("warnings") or ()),
        cells=_asked_for(result),
    )


def _asked_for(result: Plain) -> Plain:
    """The run that shows the difference wanted with the power wanted; without one the first run."""
    if result.get("difference") is None:
        return {**result["runs"][0]}
    paired, unpaired = (result["needed"].get(name) for name in ("paired", "unpaired"))
    by = "power" if paired is not None else "unpaired"
    out: Json = {"questions": paired if paired is not None else unpaired, "epochs": 1}
    return out | {by: result["power"], "smallest": abs(result["difference"])}


def _count(number: int | None) -> str:
    return "more than ten million" if number is None else f"{number:,}"


def _amount(result: Plain, value: float | None) -> str:
    """A difference in points, or on the scale of the scores."""
    if value is None:
        return "none"
    return points(value) if result["assumed"].get("variance") is None else f"{value:.3g}"


def _run(run: Plain) -> str:
    """A run in words."""
    text = counted(run["questions"], "question")
    text += "" if run["epochs"] == 1 else f" asked {run['epochs']} times"
    return text + ("" if run["labels"] is None else f" with {counted(run['labels'], 'label')}")


def _gate(result: Plain) -> list[str]:
    """What the gate is, and for which difference its chances are."""
    drop, wanted = result.get("drop"), result.get("difference") or 0.0
    if drop is None:
        return []
    where = f"{_amount(result, abs(wanted))} {'better' if wanted > 0 else 'worse'}"
    is_new = f"Where the new system is {where if wanted else 'as good'}"
    return [
        f"{is_new}, `compare BASE NEW --fail-drop {drop:g}` says worse (exit code 3), not worse, or cannot tell (4 "
        "with --strict) as often as the columns say"
    ]


def _savings(result: Plain) -> list[str]:
    """What the same questions for both systems save, and what a pilot leaves open."""
    needed: Plain = result.get("needed") or {}
    lines: list[str] = []
    if result.get("drop") is not None:
        return lines
    paired, unpaired = needed.get("paired"), needed.get("unpaired")
    if needed.get("lower") is not None or needed.get("upper") is not None:
        ends_text = " to ".join(_count(needed.get(name)) for name in ("lower", "upper"))
        lines.append(f"The pilots leave {ends_text} open, by the interval of the correlation")
    if paired is not None and unpaired is not None:
        saved = 1 - paired / unpaired
        saves = f"save {percent(saved, 0)}" if saved > 0 else "save none"
        lines.append(
            f"With questions of its own each system needs {unpaired:,}: the same ones {saves}"
        )
    elif unpaired is not None and result["assumed"]["correlation"] is None:
        lines.append(
            "The same questions for both take fewer: give two pilots, or --correlation 0.5"
        )
    return lines


def _labels(result: Plain) -> list[str]:
    """How many labels a judge leaves to people."""
    labels = result.get("needed_labels") or {}
    if not labels:
        return []
    questions = f"{labels['questions']:,}"
    if labels["with_judge"] is None:
        return [f"Labels on all {questions} questions are too few, beside the judge, too"]
    alone = "all are too few" if labels["alone"] is None else f"{labels['alone']:,}"
    return [
        f"Of {questions} questions people label {labels['with_judge']:,} beside the judge, {alone} without it"
    ]


def _assumed(result: Plain) -> str:
    """What the numbers rest on."""
    assumed, pilot = result["assumed"], result.get("pilot") or {}
    mean = assumed["mean"]
    parts = [f"accuracy {percent(mean)}" if assumed["variance"] is None else f"mean {mean:.3g}"]
    if assumed["variance"] is not None:
        parts.append(f"standard deviation {assumed['variance'] ** 0.5:.3g}")
    correlation = assumed["correlation"]
    if correlation is not None:
        low, high = (assumed["correlation_interval"] or {}).get("lower"), None
        text = f"correlation {correlation:.2f}"
        if low is not None:
            high = assumed["correlation_interval"]["upper"]
            text += f" ({low:.2f} to {high:.2f})"
        parts.append(text)
    parts.append(f"{percent(assumed['within'], 0)} of the variance within questions")
    if assumed.get("design_effect", 1.0) > 1:
        parts.append(f"clusters in which {assumed['design_effect']:.2f} questions are worth one")
    if assumed["judge"] is not None:
        parts.append(f"a judge's correlation {assumed['judge']:.2f}")
    basis = ""
    if pilot:
        basis = (
            f", from {counted(pilot['questions'], 'question')} of {' and '.join(pilot['names'])}"
        )
    return f"Assumes: {', '.join(parts)}{basis}"


def _epochs(result: Plain) -> list[str]:
    """That nothing is known of epochs, where that is so."""
    if result["assumed"]["within"] or result["assumed"].get("variance") == 0:
        return []
    return [
        "More epochs help by the variance within questions, which is not known: a pilot with repeated ids tells it, or "
        "--within 0.3"
    ]


def _runs_grid(result: Plain) -> Grid:
    """Each run with its power and cost, beside a gate's verdicts without what else it shows."""
    is_gate = result.get("drop") is not None
    rows = [
        [
            f"{run['questions']:,}",
            str(run["epochs"]),
            "" if run["labels"] is None else f"{run['labels']:,}",
            cell(run["power"], "%"),
            "" if is_gate and run["power"] is not None else cell(run["unpaired"], "%"),
            "" if is_gate else _amount(result, run["smallest"]),
            *(cell(run.get(name), "%") for name in ("worse", "not_worse", "undecided")),
            cell(run["cost"], ",.10g"),
        ]
        for run in result.get("runs") or ()
    ]
    heads = ["questions", "epochs", "labels", "power", "own questions", "smallest shown"]
    heads += ["worse", "not worse", "cannot tell", "cost"]
    return Grid.used("runs", heads, rows, {2, 3, 4, 5, 6, 7, 8, 9}, noun="run")
