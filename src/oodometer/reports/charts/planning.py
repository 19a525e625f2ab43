"""Planning: what runs of a comparison show, by their number of questions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ...plain import Json, Plain
from ...results.values import counted
from ..numbers import finite, number, percent, points
from .base import Figure, Plot, Result, Rows, axis, caption, shares, ticks
from .looks import ACCENT, POINTS, QUIET, REFERENCE, TRUTH, Spec

_HEIGHT = 300
_COLOURS = (ACCENT, QUIET, TRUTH, REFERENCE)
_LABEL: Spec = {"fontWeight": 600}
_COUNTS = [step * 10**power for power in range(8) for step in (1, 2, 5)]
_VERDICTS = {"worse": "worse", "not_worse": "not worse", "undecided": "cannot tell"}


def planned(result: Result) -> Figure | None:
    """The gate's verdicts, the power, or the smallest difference shown, by questions; None for one number of them."""
    lines = {name: rows for name, rows in _lines(result).items() if len(rows) > 1}
    if not lines:
        return None
    seen = [row["x"] for rows in lines.values() for row in rows]
    across = axis(
        (min(seen) * 0.93, max(seen) * 1.04),
        title="questions",
        scale={"type": "log", "clamp": True},
        values=_COUNTS,
        format=",d",
        grid=False,
    )
    values = [row["y"] for rows in lines.values() for row in rows]
    plot = Plot(across, _up(result, values))
    ends = []
    for colour, (name, rows) in zip(_COLOURS, lines.items(), strict=False):
        plot.curve(rows, colour, size=60)
        ends.append({"label": name, "y": rows[-1]["y"], "c": colour})
    if len(ends) > 1:
        plot.names(ends, _HEIGHT, gap=19, look=_LABEL)
    text = caption("planned", "read", _measure(result))
    return plot.figure("planned", _title(result, lines), text, height=_HEIGHT)


def _measure(result: Result) -> str:
    """What the lines are of."""
    if result.get("drop") is not None:
        return "gate"
    return "smallest" if result.get("difference") is None else "power"


def _lines(result: Result) -> dict[str, Rows]:
    """Name of a line -> its points, by rising numbers of questions; as many lines as there are colours."""
    runs, measure = result.get("runs") or [], _measure(result)
    kinds = list(dict.fromkeys((run["epochs"], run["labels"]) for run in runs))
    several = len(kinds) > 1
    out: dict[str, Rows] = {}
    if measure == "gate":
        first = [run for run in runs if (run["epochs"], run["labels"]) == kinds[0]]
        out = {name: _points(first, key, result) for key, name in _VERDICTS.items()}
    else:
        key = "smallest"
        if measure == "power":
            key = "power" if runs[0]["power"] is not None else "unpaired"
        for epochs, labels in kinds:
            these = [run for run in runs if (run["epochs"], run["labels"]) == (epochs, labels)]
            name = f"asked {counted(epochs, 'time')}" if several else "the same questions"
            name += "" if labels is None else f", {counted(labels, 'label')}"
            out[name] = _points(these, key, result)
        if not several and key == "power":
            out["own questions"] = _points(runs, "unpaired", result)
    return dict([*out.items()][: len(_COLOURS)])


def _points(runs: Iterable[Plain], key: str, result: Result) -> Rows:
    """Points of a line, with what the pointer shows."""
    by_questions = {
        run["questions"]: value for run in runs if (value := finite(run[key])) is not None
    }
    what = "shows" if _measure(result) == "smallest" else "chance"
    rows = []
    for questions, value in sorted(by_questions.items()):
        tip = {"": f"{number(questions)} questions", what: _amount(result, value)}
        rows.append({"x": questions, "y": value, "tip": tip})
    return rows


def _on_scale(result: Result) -> bool:
    """Whether differences are on the scale of scores, not in points of accuracy."""
    return (result.get("assumed") or {}).get("variance") is not None


def _is_share(result: Result) -> bool:
    """Whether the numbers of the lines are shares."""
    return _measure(result) != "smallest" or not _on_scale(result)


def _up(result: Result, values: list[float]) -> Spec:
    """The vertical axis: chances, points, or the scale of the scores."""
    if not _is_share(result):
        top = max(values) * 1.08
        return axis((0.0, top), title="smallest difference")
    if _measure(result) == "smallest":
        ends, marks = ticks([0.0, *values])
        return axis(ends, title="smallest difference, points", values=marks, labelExpr=POINTS)
    return shares([0.0, *values], title="chance")


def _amount(result: Result, value: float) -> str:
    """A number of a line as text."""
    if _measure(result) != "smallest":
        return percent(value)
    return points(value) if _is_share(result) else number(value)


def _title(result: Result, lines: Mapping[str, Rows]) -> str:
    """What the chart shows, in a sentence."""
    needed, power = result.get("needed") or {}, percent(result["power"], 0)
    measure = _measure(result)
    if measure == "gate":
        count = needed.get("gate")
        return (
            "More than ten million questions decide the gate"
            if count is None
            else f"{number(count)} questions decide the gate in {power} of runs"
        )
    if measure == "power":
        count = needed.get("paired") or needed.get("unpaired")
        wanted = abs(result["difference"])
        amount = number(wanted) if _on_scale(result) else points(wanted)
        shown = (
            f"{number(count)} questions show" if count else "More than ten million questions show"
        )
        return f"{shown} {amount} with a power of {power}"
    first = next(iter(lines.values()))
    ends: list[Json] = [first[0], first[-1]]
    low, high = (_amount(result, end["y"]) for end in ends)
    return (
        f"{number(ends[0]['x'])} questions show {low} or more, {number(ends[1]['x'])} show {high}"
    )
