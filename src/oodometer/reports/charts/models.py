"""Models side by side: their names, order, colours and numbers in a comparison, and its charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ...plain import Json, inside
from ...results.comparison import amount, leader
from ...results.view import interval_of
from ..numbers import best, capital, finite, given, number, percent, short, threshold
from .base import (
    Figure,
    Plot,
    Result,
    Rows,
    axis,
    caption,
    categories,
    coverage_axis,
    entry,
    names_axis,
    pointed,
    shares,
    unique,
)
from .looks import (
    ACCENT,
    BAND,
    DOT,
    HALO,
    INK,
    MUTED,
    QUIET,
    REFERENCE,
    RIGHT,
    SURFACE,
    TRUTH,
    Spec,
    narrow,
)

MOST = 10  # models in a chart; beyond it lines can no longer be told apart
_WIDEST = 28  # characters of a name
DOMAINS = {"in_domain": "in domain", "out_of_domain": "out of domain"}
"""Domains of a comparison in words."""
WHERE = {
    "in_domain": "rankings",
    "out_of_domain": "rankings_out_of_domain",
    "target": "rankings_target",
}
"""Where the rankings of a domain stand."""


def domains(result: Result) -> list[str]:
    """Domains in which any model was judged."""
    return [
        name for name in DOMAINS if any(part(model, name) for model in result.get("models") or [])
    ]


def part(model: Result, domain: str) -> Json:
    """What was found for a model in a domain; empty where it was not judged there."""
    return dict(model.get(domain) or {})


def score(model: Result, domain: str, metric: str) -> Json:
    """A metric of a model with its interval; empty where there is none."""
    return best(inside(part(model, domain), "metrics", metric))


def rankings(result: Result, domain: str = "in_domain") -> dict[str, list[dict[str, Any]]]:
    """Rankings of a domain, metric to rows, best first; rows without a number are left out."""
    tables = (result.get(WHERE[domain]) or {}).items()
    rows = {str(name): [item for row in each or [] if (item := best(row))] for name, each in tables}
    return {name: each for name, each in rows.items() if each}


def names(result: Result) -> dict[str, str]:
    """A short name for each model, told apart by a number where two are alike."""
    full_names = [str(model.get("name")) for model in result.get("models") or []]
    return dict(zip(full_names, unique(short(item, _WIDEST) for item in full_names), strict=True))


def colors(result: Result) -> dict[str, str]:
    """Three models in colour, the others quiet: what may answer most, the best by AUC, the best by DiSCA. Models stand
    from the best to the worst, by AUC where it is there, else by accuracy, else as given.
    """
    led, ranked = leader(result), rankings(result)
    model_names = [str(model.get("name")) for model in result.get("models") or []]
    first = [
        str(row.get("model")) for row in ranked.get("auc_coverage") or ranked.get("accuracy") or []
    ]
    ordered = list(dict.fromkeys([*(name for name in first if name in model_names), *model_names]))
    heads = [str(led[0].get("name"))] if led else []
    heads += [
        str(ranked[name][0].get("model"))
        for name in ("auc_coverage", "disca", "accuracy")
        if name in ranked
    ]
    by_priority = [name for name in dict.fromkeys([*heads, *ordered]) if name in ordered]
    bright = dict(zip(by_priority, (ACCENT, REFERENCE, TRUTH), strict=False))
    return {name: bright.get(name, QUIET) for name in ordered}


def drawn(result: Result) -> list[Json]:
    """Models that charts show, the best first: those in colour, and others as far as there is room."""
    tones = colors(result)
    bright = [name for name, tone in tones.items() if tone != QUIET]
    selected = {
        *bright,
        *[name for name, tone in tones.items() if tone == QUIET][: max(MOST - len(bright), 0)],
    }
    by_name = {str(model.get("name")): dict(model) for model in result.get("models") or []}
    return [by_name[name] for name in tones if name in selected]


def _each(result: Result) -> list[tuple[Json, str, str]]:
    """The models that charts show, each with its short name and its colour."""
    called, tones = names(result), colors(result)
    return [
        (item, called[str(item.get("name"))], tones[str(item.get("name"))])
        for item in drawn(result)
    ]


def _read(chart: str, result: Result, *parts: Any, **values: Any) -> str:
    """The caption of a chart, and how many models it leaves out."""
    count = len(result.get("models") or [])
    out = [caption(chart, *parts, **values)]
    return " ".join(
        [*out, caption("curves", "left", many=number(count), most=MOST)] if count > MOST else out
    )


# ------------------------------------------------------------------------------------------ differences

_MOST_TASKS = 30


def differences(result: Result) -> list[Figure]:
    """Each model's difference to the best one, and the difference that comes first by task; bright: beyond chance."""
    gap, called = result.get("difference") or {}, names(result)
    figures, to_best, tasks = [], result.get("to_best"), result.get("tasks") or []
    if to_best:
        items = [(called.get(str(row["model"]), ""), row["difference"]) for row in to_best[:MOST]]
        title = f"Behind {called.get(str(to_best[0]['best']), '')}, the best one"
        figures.append(_differences("to-best", title, items, result))
    if tasks or not to_best:
        items = [(short(task["task"] or "-", _WIDEST), task["difference"]) for task in tasks]
        items = [("all rows", gap), *items[:_MOST_TASKS], ("mean of tasks", gap.get("macro") or {})]
        items = [(name, item) for name, item in items if interval_of({"kind": "", **item})]
        figures.append(_differences("by-task", "", items, result))
    return [figure for figure in figures if figure is not None]


def _differences(
    name: str, title: str, items: Sequence[tuple[str, Result]], result: Result
) -> Figure | None:
    """Differences with their intervals; None where there are none."""
    gap, called = result.get("difference") or {}, names(result)
    rows = [_difference_row(label, item, gap) for label, item in items]
    if not rows:
        return None
    ends = [0.0, *(row[end] for row in rows for end in ("lower", "upper"))]
    room = 0.06 * (max(ends) - min(ends) or 1)
    scores = gap.get("metric") == "mean_score"
    unit, factor = ("score", "") if scores else ("points of accuracy", " * 100")
    label = f"format(datum.value{factor}, '+~g')"
    across = axis([min(ends) - room, max(ends) + room], title=unit, tickCount=6, labelExpr=label)
    a, b = (called.get(str(gap.get(side)), "") for side in "ab")
    what = f"Difference in {'mean score' if scores else 'accuracy'}, {b} \N{MINUS SIGN} {a}"
    title = (title or f"{what}, by task") if len(rows) > 1 else what
    text, lines = caption("differences", name), [("no difference", 0.0, REFERENCE)]
    return categories(name, title, text, rows, axis_title=unit, lines=lines, across=across)


def _difference_row(title: str, item: Result, gap: Result) -> Json:
    """A difference as a row of the chart, bright where it is more than chance."""
    value, low, high = (amount(gap, item[end], signed=True) for end in ("value", "lower", "upper"))
    color = ACCENT if item["lower"] > 0 or item["upper"] < 0 else QUIET
    tip = {"": title, "difference": value, "interval": f"{low} to {high}"}
    row = entry(title, item)
    return {**row, "label": value, "tip": tip, "color": color, "band": BAND[color]}


# ------------------------------------------------------------------------------------------ accuracy over coverage

STYLES: dict[str, tuple[str, tuple[int, int]]] = {
    "in_domain": (ACCENT, (1, 0)),
    "out_of_domain": (REFERENCE, (6, 3)),
}
"""Colour and dash of the line of a domain."""
_STEADY = 0.1  # coverage from which on the axis has to hold the bands
# the share of the rows where careful applications work, and where curves keep more points
_FIRST = 0.2
_APART = 0.005  # of accuracy; a smaller lead is not worth a word
_MOST_EARLY, _MOST_LATE = 20, 30  # points of a curve
_TONE: Spec = {"field": "c", "type": "nominal", "scale": None}


def thin(x: Sequence[Any]) -> list[int]:
    """Numbers of the points to draw: all the early ones, fewer of the others, always the last."""
    values = [i for i, value in enumerate(x) if finite(value) is not None]
    early = [i for i in values if x[i] <= _FIRST + 1e-9]
    late = [i for i in values if x[i] > _FIRST + 1e-9]
    out = early[:: -(-len(early) // _MOST_EARLY) or 1]
    step = -(-len(late) // _MOST_LATE) or 1
    return out + (late[(len(late) - 1) % step :: step] if late else [])


def curve_rows(curve: Any) -> dict[str, list[Any]]:
    """Points of an accuracy-coverage curve as columns, rounded; empty where there is none."""
    curve = curve or {}
    x, y = curve.get("x") or [], curve.get("y") or []
    chosen = [i for i in thin(x[: len(y)]) if finite(y[i]) is not None]
    if not chosen:
        return {}

    def column(values: Sequence[Any], digits: int = 5) -> list[float | None]:
        items = [finite(values[i]) for i in chosen]
        return [None if item is None else round(item, digits) for item in items]

    middle = column(y)
    ends = {}
    for end in ("lower", "upper"):
        pairs = zip(middle, column(curve.get(end) or y), strict=True)
        ends[end] = [value if item is None else item for value, item in pairs]
    # confidences may be near 1
    thresholds = column(curve.get("thresholds") or [None] * len(x), digits=6)
    return {"x": column(x), "y": middle, "t": thresholds, **ends}


def _curve_of(model: Result, domain: str) -> Json:
    """The accuracy-coverage curve of a model; of the target the estimated one."""
    return dict(
        part(model, domain).get("curve" if domain == "target" else "accuracy_coverage") or {}
    )


def _tip(tip: Spec) -> Spec:
    """A transform that gives rows a ``tip``, an object of what the pointer shows, from names and expressions."""
    words = ", ".join(f"{json.dumps(name)}: {expression}" for name, expression in tip.items())
    return {"calculate": f"{{{words}}}", "as": "tip"}


def _lines(plot: Plot, rows: Rows, tip: Spec, height: float, *, hollow: str | None = None) -> None:
    """A line for each row, a ``label`` in its colour ``c`` with lists of numbers; the pointer singles one out."""
    rows = sorted(rows, key=lambda row: row["c"] != QUIET)
    rows = [{**row, "w": 1.25 if row["c"] == QUIET else 2.5} for row in rows]
    over, shade = pointed("label")
    flat = {"flatten": [name for name, value in rows[0].items() if isinstance(value, list)]}
    flatten, dim = {"transform": [flat]}, shade(1.0, 0.1)

    def draw(kind: str, look: Spec, **channels: Any) -> None:
        """A layer over the flattened rows."""
        plot.draw(kind, rows, {**look, "clip": True}, **channels, x="x", detail="label")

    if any("band" in row for row in rows):
        draw(
            "area",
            {},
            where="isValid(datum.band)",
            y="lower",
            y2="upper",
            color="band",
            opacity=shade(0.55, 0.05),
            more=flatten,
        )
    draw("line", {}, y="y", color="c", opacity=dim, size="w", more=flatten)
    if hollow is not None:
        fill = {"condition": {"test": f"datum.{hollow}", "value": SURFACE}, **_TONE}
        look = {"size": 28, "strokeWidth": 1.5}
        draw("point", look, y="y", stroke="c", opacity=dim, fill=fill, more=flatten)
    unseen = {"size": 60, "filled": True, "opacity": 0}
    draw("point", unseen, y="y", tooltip="tip", more={"transform": [flat, tip], **over})
    last = [{"label": row["label"], "y": row["y"][-1], "c": row["c"]} for row in rows]
    words = {"fontSize": narrow(10.5, 12), "limit": narrow(92, 200), **HALO}
    plot.names(last, height - 40, look=words, opacity=dim, detail="label")


def accuracy_coverage(result: Result, domain: str) -> Figure | None:
    """Accuracy over coverage of all models that there is room for, in a domain or as estimated on the "target"."""
    rows: Rows = []
    for model, name, tone in _each(result):
        if columns := curve_rows(_curve_of(model, domain)):
            band = {} if tone == QUIET else {"band": BAND[tone]}
            rows.append({"label": name, "c": tone, **band, **columns})
    if not rows:
        return None
    seen = [value for row in rows for value in row["y"]]
    for row in rows:  # the band of the very first rows may reach down to 0
        bands = zip(row["x"], row["lower"], row["upper"], strict=True) if "band" in row else ()
        seen += [end for x, *ends in bands if x >= _STEADY for end in ends]
    on_target = domain == "target"
    up = shares(seen, title="estimated accuracy" if on_target else "accuracy of the answers")
    plot = Plot(coverage_axis("rows answered, the most confident first"), up)
    height = max(380, 16 * len(rows))
    percents = "format(datum.{} * 100, '.1f') + '\N{NO-BREAK SPACE}%'".format
    low = percents("lower").partition(" + ")[0]
    fine = "datum.t > 0.999 && datum.t < 1 ? format(datum.t, '.6f') : format(datum.t, '.3f')"
    tip = {
        "": "datum.label",
        "answered": percents("x"),
        "accuracy": percents("y"),
        "interval": f"{low} + '\N{EN DASH}' + {percents('upper')}",
        "confidence down to": f"isValid(datum.t) ? ({fine}) : '\N{EN DASH}'",
    }
    _lines(plot, rows, _tip(tip), height)
    name, title = f"curves-{domain.replace('_', '-')}", _curves_title(result, domain)
    text, note = _curves_caption(result, domain), caption("curves", "pointer")
    return plot.figure(name, title, text, height=height, spoken=False, page_note=note)


def _mean_accuracies(result: Result, domain: str) -> dict[str, tuple[float, float]]:
    """The mean accuracy of each model over all coverages, and over the first ones."""
    means = {}
    for model in result.get("models") or []:
        curve = _curve_of(model, domain)
        every = zip(curve.get("x") or [], curve.get("y") or [], strict=False)
        pairs = [(x, y) for x, y in every if finite(x) is not None and finite(y) is not None]
        if pairs:
            early = [y for x, y in pairs if x <= _FIRST + 1e-9] or [pairs[0][1]]
            mean = sum(y for _, y in pairs) / len(pairs)
            means[str(model.get("name"))] = mean, sum(early) / len(early)
    return means


def _curves_title(result: Result, domain: str) -> str:
    """Which model is the most accurate over all coverages, and whether another one is on the first rows."""
    means, called = _mean_accuracies(result, domain), names(result)
    where = "Estimated on the target" if domain == "target" else capital(DOMAINS[domain])
    top = max(means, key=lambda name: means[name][0])
    first = max(means, key=lambda name: means[name][1])
    if len(means) == 1:
        return f"{where} the mean accuracy over all coverages is {percent(means[top][0])}"
    title = f"{where} {called[top]} is the most accurate over all coverages"
    if means[first][1] - means[top][1] >= _APART:
        return f"{title}, but on the first {percent(_FIRST, 0)} {called[first]} is"
    return f"{title}: {percent(means[top][0])} on average"


def _curves_caption(result: Result, domain: str) -> str:
    """How to read the curves, what they assume, and the level of their bands."""
    curves = [_curve_of(model, domain) for model in drawn(result)]
    first, level = curves[0], next((finite(curve.get("level")) for curve in curves if curve), None)
    on_target = domain == "target"
    return _read(
        "curves",
        result,
        "target" if on_target else "read",
        on_target and first.get("assumes") and "assumes",
        level is not None and "bands",
        assumes=first.get("assumes"),
        kind=first.get("kind") or "",
        level=percent(level, 0),
    )


# ------------------------------------------------------------------------------------------ the terms of DiSCA


def _confidence_ends(values: list[float]) -> list[float]:
    """Ends of an axis of confidences that holds the values with some room, inside [0, 1] but for the room at 1."""
    low = min(values)
    return [round(max(low - 0.06 * (1 - low), 0.0), 3), round(1 + 0.02 * (1 - low), 3)]


def tolerances(result: Result, domain: str) -> Figure | None:
    """The confidence b down to which a model keeps an accuracy, over that accuracy (Figure 1 of the paper)."""
    rows: Rows = []
    for model, name, tone in _each(result):
        points = sorted(
            (-float(item["tolerance"]), round(float(item["b"]), 6), bool(item.get("never_below")))
            for item in score(model, domain, "disca").get("by_tolerance") or []
            if finite(item.get("tolerance")) is not None and finite(item.get("b")) is not None
        )
        if points:
            x, y, never = map(list, zip(*points, strict=True))
            rows.append({"label": name, "c": tone, "x": x, "y": y, "never": never})
    if not rows:
        return None
    marks = sorted({value for row in rows for value in row["x"]})
    across = axis(
        [marks[0] - 0.01, marks[-1] + 0.01],
        title="accuracy that must be kept",
        values=marks[::2],
        labelExpr="format(-datum.value, '.2f')",
        grid=False,
    )
    up = axis(
        _confidence_ends([value for row in rows for value in row["y"]]),
        title="confidence b",
        tickCount=5,
    )
    tip = {
        "": "datum.label",
        "accuracy to keep": "format(-datum.x, '.2f')",
        "confidence b": "format(datum.y, '.4f')",
        "falls below it": "datum.never ? 'never' : 'yes'",
    }
    plot, height = Plot(across, up), max(340, 17 * len(rows))
    _lines(plot, rows, _tip(tip), height, hollow="never")
    name, title = f"tolerances-{domain.replace('_', '-')}", _tolerances_title(result, domain)
    text = _read("tolerances", result, "read")
    return plot.figure(name, title, text, height=height, spoken=False)


def _tolerances_title(result: Result, domain: str) -> str:
    """Which model keeps the accuracy that is asked for down to the lowest confidence."""
    where, tolerance = capital(DOMAINS[domain]), finite(inside(result, "settings", "tolerance"))
    every = {
        str(model.get("name")): finite(score(model, domain, "disca").get("b"))
        for model in result.get("models") or []
    }
    lowest = {name: b for name, b in every.items() if b is not None}
    if not lowest or tolerance is None:
        return f"{where}: the confidence b by the accuracy that must be kept"
    first, b = min(lowest.items(), key=lambda pair: pair[1])
    kept = f"{names(result)[first]} stays {number(tolerance, 2)} accurate"
    return f"{where} {kept} down to confidence {number(b, 2)}"


_LAST = 0.999999  # a confidence beyond it is written as being beyond it


def first_mistakes(result: Result) -> Figure | None:
    """The confidence a at which each model first errs, with its interval, in and out of its domain (Figure 2 of the
    paper); the lowest on top. The title says who errs last, and whether that stays so out of the domain.
    """
    rows = [
        row
        for model, name, _ in _each(result)
        for domain in domains(result)
        if (row := _first_mistake(model, name, domain)) is not None
    ]
    if not rows:
        return None
    rows_of = {domain: [row for row in rows if row["domain"] == domain] for domain in DOMAINS}
    rows_of = {domain: of_domain for domain, of_domain in rows_of.items() if of_domain}
    first_domain, *further_domains = rows_of.values()
    lowest_first = sorted(first_domain, key=lambda row: row["a"])
    order = list(dict.fromkeys(row["model"] for row in (*lowest_first, *rows)))
    domain_ends = _confidence_ends([row["lower"] for row in rows])
    across = axis(domain_ends, title="confidence a at the first mistake", tickCount=5)
    plot = Plot(across, names_axis((110, 210), order))
    for domain, of_domain in rows_of.items():
        offset = {"yOffset": (-6 if domain == "in_domain" else 6) if further_domains else 0}
        bar = {"strokeWidth": 6, "strokeCap": "round", "opacity": 1, **offset}
        plot.draw("rule", of_domain, bar, x="lower", x2="upper", y="model", color="band")
        look = {"align": "left", "dx": 8, "fontSize": 11, **offset}
        plot.draw("text", of_domain, look, x=RIGHT, y="model", text="text", color="c")
        dot = {**DOT, "size": 80, **offset}
        plot.draw("point", of_domain, dot, x="a", y="model", color="c", tooltip="tip")
    first = lowest_first[0]
    title = f"{first['model']} makes its first mistake at the lowest confidence, {threshold(first['a'])}"
    if further_domains:
        name = min(further_domains[-1], key=lambda row: row["a"])["model"]
        title += f"; out of domain {'it does too' if name == first['model'] else f'{name} does'}"
    height, text = (34 if further_domains else 26) * len(order), caption("first-mistakes", "read")
    return plot.figure("first-mistakes", title, text, height=height, spoken=False)


def _first_mistake(model: Result, name: str, domain: str) -> Json | None:
    """The confidence at which a model first errs in a domain, with its interval; None where it is not known."""
    disca = score(model, domain, "disca")
    value = finite(disca.get("a"))
    if value is None:
        return None
    ends = inside(disca, "intervals", "a") or [value, value]
    # A confidence is at most 1, whatever the bootstrap's arithmetic says.
    low, high = (
        None if (end := finite(item)) is None else min(max(end, 0.0), 1.0) for item in ends[:2]
    )
    tip = {"": name, DOMAINS[domain]: threshold(value)}
    if low is not None and high is not None:
        tip["interval"] = f"{threshold(low)}\N{EN DASH}{threshold(high)}"
    if disca.get("never_wrong"):
        tip["note"] = "never wrong: the lowest confidence"
    color = STYLES[domain][0]
    return {
        "model": name,
        "a": value,
        "lower": value if low is None else low,
        "upper": value if high is None else high,
        "c": color,
        "band": BAND[color],
        "domain": domain,
        "text": f"> {_LAST}" if _LAST < value < 1 else threshold(value),
        "tip": tip,
    }


def fluctuations(result: Result, domain: str) -> Figure | None:
    """How often accuracy rises as more is answered, and the penalty for it (Figure 3 of the paper)."""
    rows: Rows = []
    for model, name, _ in _each(result):
        of_model = score(model, domain, "disca")
        count, penalty = finite(of_model.get("fluctuations")), finite(of_model.get("penalty"))
        if count is not None and penalty is not None:
            tip = {"": name, "times accuracy rises": f"{count:.0f}", "penalty": number(penalty)}
            rows.append(
                {
                    "model": name,
                    "n": count,
                    "p": round(penalty, 6),
                    "text": f"{count:.0f}",
                    "tip": tip,
                }
            )
    if not rows:
        return None
    rows.sort(key=lambda row: (row["n"], row["p"]))
    rows = [{**row, "place": index} for index, row in enumerate(rows)]
    often, dear = max(rows, key=lambda row: row["n"]), max(rows, key=lambda row: row["p"])
    below = axis(
        [0, max(often["n"] * 1.12, 1)],
        title="times accuracy rises (bars)",
        tickCount=5,
        tickMinStep=1,
        grid=True,
    )
    above = axis(
        [0, dear["p"] * 1.12 or 1],
        title="penalty (dots)",
        orient="top",
        grid=False,
        tickCount=5,
        labelColor=ACCENT,
        titleColor=ACCENT,
    )
    plot = Plot(below, names_axis((110, 190), [row["model"] for row in rows]))
    bar = {"color": BAND[QUIET], "height": {"band": 0.62}, "cornerRadiusEnd": 3}
    plot.draw("bar", rows, bar, x="n", y="model", tooltip="tip")
    look: Spec = {"align": "left", "dx": 5, "color": MUTED, "fontSize": 11.5}
    plot.draw("text", rows, look, x={**below, "field": "n", "axis": None}, y="model", text="text")
    plot.across = above
    look = {"color": ACCENT, "strokeWidth": 1.25, "opacity": 0.5, "orient": "vertical"}
    plot.draw(
        "line", rows, look, x="p", y="model", order={"field": "place", "type": "quantitative"}
    )
    unnamed = {**above, "field": "p", "axis": None}
    plot.draw(
        "point", rows, {**DOT, "size": 75, "color": ACCENT}, x=unnamed, y="model", tooltip="tip"
    )
    where = capital(DOMAINS[domain])
    times = f"{often['text']} time{'' if often['n'] == 1 else 's'}"
    title = f"{where} accuracy rises most often for {often['model']} ({times})"
    if not often["n"]:
        title = f"{where} accuracy never rises as more is answered"
    elif often["model"] == dear["model"]:
        title += f", and the penalty is largest there ({number(dear['p'], 2)})"
    else:
        title += f"; the penalty is largest for {dear['model']} ({number(dear['p'], 2)})"
    settings = result.get("settings") or {}
    grid = (
        settings.get("grid")
        if settings.get("grid") in ("coverage", "thresholds", "samples")
        else "curve"
    )
    of = caption("fluctuations", grid, count=settings.get("steps"))
    text, independent = caption("fluctuations", "read", of=of), {"scale": {"x": "independent"}}
    name, height = f"fluctuations-{domain.replace('_', '-')}", 28 * len(rows) + 60
    return plot.figure(name, title, text, height=height, spoken=False, resolve=independent)


# ------------------------------------------------------------------------------------------ places by metric

METRICS = {
    "accuracy": "accuracy",
    "auc_coverage": "AUC",
    "e_aurc": "E-AURC",
    "augrc": "AUGRC",
    "risk_at_coverage": "risk at coverage",
    "coverage_at_risk": "coverage at risk",
    "disca": "DiSCA",
    "didma": "DiDMA",
    "nidma": "NiDMA",
}
"""Metrics of the chart in their order; aurc is auc_coverage upside down, brier and ece stand in the table."""
_FIRM = 0.9  # share of replicates in which a place must hold


def places(result: Result, domain: str) -> Figure | None:
    """The rank of each model by each metric, joined by lines, so that crossings show where metrics disagree."""
    by_name = {str(model.get("name")): (name, tone) for model, name, tone in _each(result)}
    by_metric = rankings(result, domain)
    metrics = [name for name in METRICS if name in by_metric]
    if len(metrics) < 2 or len(by_name) < 2:
        return None
    by_model = _places_of(by_metric, metrics, list(by_name))
    rows = [
        {"label": by_name[name][0], "c": by_name[name][1], **columns}
        for name, columns in by_model.items()
    ]
    rows.sort(key=lambda row: row["c"] != QUIET)
    called = _called_with_settings(result)
    titles = json.dumps([called[name] for name in metrics])
    across = axis(
        [-0.35, len(metrics) - 0.65],
        values=list(range(len(metrics))),
        labelExpr=f"{titles}[datum.value]",
        orient="top",
        grid=False,
        labelColor=INK,
        labelOverlap=False,
        labelFontSize=narrow(11, 12.5),
        labelAngle=narrow(-60, 0),
        labelAlign=narrow("'left'", "'center'"),
    )
    last_slot = max(slot for row in rows for slot in row["slot"])
    scale = {"domain": [last_slot + 0.5, -0.5], "nice": False}
    plot = Plot(across, {"type": "quantitative", "scale": scale, "axis": None})
    _draw_places(plot, rows, titles)
    title = _places_title(result, domain)
    sentence = _read("places", result, "read", firm=percent(_FIRM, 0))
    name, height = f"places-{domain.replace('_', '-')}", 34 * len(by_name)
    return plot.figure(name, title, sentence, height=height, spoken=False)


_PLACE = ("metric", "slot", "value", "firm", "text", "stable", "best")
"""What is drawn of a place: of which metric, where, its value and rank, and how firm these are."""


def _places_of(
    by_metric: dict[str, list[Json]], metrics: Sequence[str], model_names: Sequence[str]
) -> dict[str, dict[str, list[Any]]]:
    """The places of the models that are shown, as columns, by model."""
    by_model: dict[str, dict[str, list[Any]]] = {}
    for at, metric in enumerate(metrics):
        ranked = [row for row in by_metric[metric] if str(row.get("model")) in model_names]
        for slot, row in enumerate(ranked):
            columns = by_model.setdefault(str(row["model"]), {key: [] for key in _PLACE})
            position = (
                at,
                slot,
                number(row["value"], 4),
                (finite(row.get("stable")) or 0.0) >= _FIRM,
                f"{row.get('rank')}",
                percent(row.get("stable"), 0),
                percent(row.get("p_best"), 0),
            )
            for key, value in zip(_PLACE, position, strict=True):
                columns[key].append(value)
    return by_model


def _called_with_settings(result: Result) -> dict[str, str]:
    """What metrics are called, with the coverage or the risk that they are read at."""
    called, settings = dict(METRICS), result.get("settings") or {}
    for name, setting, text in (
        ("risk_at_coverage", "coverage", "risk at"),
        ("coverage_at_risk", "risk", "cover at"),
    ):
        if finite(settings.get(setting)) is not None:
            called[name] = f"{text} {given(settings[setting])}"
    return called


def _draw_places(plot: Plot, rows: Rows, titles: str) -> None:
    """Draw a line for each model through its places, discs with the rank, filled where it is firm, and the names."""
    over, shade = pointed("label", near=False)
    dim, size, flat = shade(1.0, 0.15), narrow(250, 430), {"flatten": list(_PLACE)}

    def draw(kind: str, look: Spec, more: Spec | None = None, **channels: Any) -> None:
        """A layer over the flattened rows."""
        more = more or {"transform": [flat]}
        plot.draw(kind, rows, look, more=more, **channels, x="metric", y="slot", detail="label")

    width = {"condition": {"test": f"datum.c === '{QUIET}'", "value": 1.75}, "value": 3}
    draw("line", {}, color="c", size=width, opacity=dim)
    # An opaque disc below: a faded dot would let the lines through.
    draw("point", {"filled": True, "size": size, "opacity": 1, "color": SURFACE})
    fill = {"condition": {"test": "datum.firm", **_TONE}, "value": SURFACE}
    draw("point", {"size": size, "strokeWidth": 2}, stroke="c", fill=fill, opacity=dim)
    ink = {"condition": {"test": "datum.firm", "value": SURFACE}, "value": INK}
    look: Spec = {"fontWeight": 700, "fontSize": narrow(10, 12)}
    draw("text", look, text="text", color=ink, opacity=dim)
    tip = {
        "": f"datum.label + ', ' + {titles}[datum.metric]",
        "value": "datum.value",
        "rank": "datum.text",
        "same rank in": "datum.stable + ' of replicates'",
        "best in": "datum.best + ' of replicates'",
    }
    unseen, more = {"filled": True, "size": size}, {"transform": [flat, _tip(tip)], **over}
    draw("point", unseen, more, tooltip="tip", opacity=0)
    last = [
        {"label": r["label"], "slot": r["slot"][-1], "c": MUTED if r["c"] == QUIET else r["c"]}
        for r in rows
    ]
    look = {
        "align": "left",
        "dx": 4,
        "fontSize": narrow(11, 13),
        "fontWeight": 600,
        "limit": narrow(92, 210),
    }
    plot.draw("text", last, look, x=RIGHT, y="slot", text="label", opacity=dim, color="c")


def _places_title(result: Result, domain: str) -> str:
    """In how many pairs of models AUC and DiSCA disagree, where both are there."""
    where, both = capital(DOMAINS[domain]), {"auc_coverage", "disca"}
    if not both <= set(rankings(result, domain)):
        return f"{where}: the place of each model by each metric"
    count = len(result.get("models") or [])
    total = count * (count - 1) // 2
    of_both = [
        row
        for row in result.get("disagreements") or []
        if row.get("domain") == domain and {*(row.get("metrics") or [])} == both
    ]
    parted = len(of_both[-1].get("pairs") or []) if of_both else 0
    if not parted:
        return f"{where} AUC and DiSCA put all models in the same order"
    which = "the two models" if total == 1 else f"{parted} of {number(total)} pairs of models"
    return f"{where} AUC and DiSCA put {which} in a different order"
