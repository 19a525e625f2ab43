"""Models side by side: their names, order, colours and numbers in a comparison, and its charts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from ..numbers import best, finite, given, number, percent, short, threshold
from ..words import capital
from .base import (
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
    Figure,
    Plot,
    Result,
    Rows,
    Spec,
    axis,
    coverage_axis,
    names_axis,
    narrow,
    pointed,
    shares,
    unique,
)

MOST = 10  # models in a chart; beyond it lines can no longer be told apart
_WIDEST = 28  # characters of a name
DOMAINS = {"in_domain": "in domain", "out_of_domain": "out of domain"}
"""Domains of a comparison in words."""
WHERE = {"in_domain": "rankings", "out_of_domain": "rankings_out_of_domain", "target": "rankings_target"}
"""Where the rankings of a domain stand."""


def domains(result: Result) -> list[str]:
    """Domains in which any model was judged."""
    return [name for name in DOMAINS if any(part(one, name) for one in result.get("models") or [])]


def part(model: Result, domain: str) -> dict[str, Any]:
    """What was found for a model in a domain; empty where it was not judged there."""
    return dict(model.get(domain) or {})


def score(model: Result, domain: str, metric: str) -> dict[str, Any]:
    """A metric of a model with its interval; empty where there is none."""
    return best((part(model, domain).get("metrics") or {}).get(metric))


def rankings(result: Result, domain: str = "in_domain") -> dict[str, list[dict[str, Any]]]:
    """Rankings of a domain, metric to rows, best first; rows without a number are left out."""
    found = result.get(WHERE[domain]) or {}
    rows = {str(name): [one for row in each or [] if (one := best(row))] for name, each in found.items()}
    return {name: each for name, each in rows.items() if each}


def names(result: Result) -> dict[str, str]:
    """A short name for each model, told apart by a number where two are alike.

    >>> names({"models": [{"name": "x" * 40 + "1"}, {"name": "x" * 40 + "2"}]})["x" * 40 + "2"][-6:]
    'x… (2)'
    """
    given = [str(one.get("name")) for one in result.get("models") or []]
    return dict(zip(given, unique(short(one, _WIDEST) for one in given), strict=True))


def required(result: Result) -> float | None:
    """The accuracy to speak about first: the tolerance of DiSCA where it is required, else the highest one.

    >>> required({"settings": {"require": [0.9, 0.95, 0.99], "tolerance": 0.95}}), required({})
    (0.95, None)
    """
    settings = result.get("settings") or {}
    wanted = [one for each in settings.get("require") or [] if (one := finite(each)) is not None]
    tolerance = finite(settings.get("tolerance"))
    return tolerance if tolerance in wanted else max(wanted, default=None)


def point(model: Result, domain: str, accuracy: float) -> dict[str, Any]:
    """The operating point of a model for a required accuracy; empty where none was looked for."""
    rows = part(model, domain).get("operating_points") or []
    return next((dict(row) for row in rows if row.get("accuracy") == accuracy), {})


def leader(result: Result) -> tuple[dict[str, Any], dict[str, Any]] | None:
    """The model that may answer most and its operating point, for the accuracy to speak about first.

    First that of `required` is tried, then lower ones, then higher ones; of equal coverages the more accurate one wins.
    """
    first = required(result)
    wanted = [x for each in (result.get("settings") or {}).get("require") or [] if (x := finite(each))]
    lower = sorted((x for x in wanted if first is not None and x < first), reverse=True)
    for accuracy in [first, *lower, *sorted(x for x in wanted if first is not None and x > first)]:
        found = [
            (one, at)
            for one in result.get("models") or []
            if accuracy is not None and best((at := point(one, "in_domain", accuracy)).get("coverage"))
        ]
        if found:
            return max(found, key=lambda pair: (pair[1]["coverage"]["value"], pair[1]["selective_accuracy"]["value"]))
    return None


def order(result: Result) -> list[str]:
    """Models from the best to the worst, by AUC where it is there, else by accuracy, else as given."""
    given = [str(one.get("name")) for one in result.get("models") or []]
    found = rankings(result)
    ranked = [str(row.get("model")) for row in found.get("auc_coverage") or found.get("accuracy") or []]
    kept = [name for name in dict.fromkeys(ranked) if name in given]
    return [*kept, *(name for name in given if name not in kept)]


def colors(result: Result) -> dict[str, str]:
    """Three models in colour, the others quiet: what may answer most, the best by AUC, the best by DiSCA."""
    led, found = leader(result), rankings(result)
    heads = [str(led[0].get("name"))] if led else []
    heads += [str(found[name][0].get("model")) for name in ("auc_coverage", "disca", "accuracy") if name in found]
    ordered = order(result)
    shown = [name for name in dict.fromkeys([*heads, *ordered]) if name in ordered]
    bright = dict(zip(shown, (ACCENT, REFERENCE, TRUTH), strict=False))
    return {name: bright.get(name, QUIET) for name in ordered}


def drawn(result: Result) -> list[dict[str, Any]]:
    """Models that charts show, the best first: those in colour, and others as far as there is room."""
    ordered, tones = order(result), colors(result)
    kept = [name for name in ordered if tones[name] != QUIET]
    kept += [name for name in ordered if tones[name] == QUIET][: max(MOST - len(kept), 0)]
    by_name = {str(one.get("name")): dict(one) for one in result.get("models") or []}
    return [by_name[name] for name in ordered if name in kept]


def _left_out(result: Result) -> str:
    many = len(result.get("models") or [])
    return f" Of {number(many)} models {MOST} are drawn." if many > MOST else ""


# ------------------------------------------------------------------------------------------ accuracy over coverage

STYLES: dict[str, tuple[str, tuple[int, int]]] = {"in_domain": (ACCENT, (1, 0)), "out_of_domain": (REFERENCE, (6, 3))}
"""Colour and dash of the line of a domain."""
_STEADY = 0.1  # coverage from which on the axis has to hold the bands
_FIRST = 0.2  # the share of the rows where careful applications work, and where curves keep more points
_APART = 0.005  # of accuracy; a smaller lead is not worth a word
_MOST_EARLY, _MOST_LATE = 20, 30  # points of a curve


def thin(x: Sequence[Any]) -> list[int]:
    """Numbers of the points to draw: all the early ones, fewer of the others, always the last.

    >>> kept = thin([(i + 1) / 100 for i in range(100)])
    >>> len(kept), kept[:3], kept[-2:]
    (47, [0, 1, 2], [96, 99])
    """
    known = [i for i, value in enumerate(x) if finite(value) is not None]
    early, late = [i for i in known if x[i] <= _FIRST + 1e-9], [i for i in known if x[i] > _FIRST + 1e-9]
    out = early[:: -(-len(early) // _MOST_EARLY) or 1]
    step = -(-len(late) // _MOST_LATE) or 1
    return out + (late[(len(late) - 1) % step :: step] if late else [])


def curve_rows(curve: Any) -> dict[str, list[Any]]:
    """Points of an accuracy-coverage curve as columns, rounded; empty where there is none."""
    curve = curve or {}
    x, y = curve.get("x") or [], curve.get("y") or []
    low, high = curve.get("lower") or y, curve.get("upper") or y
    bounds = curve.get("thresholds") or [None] * len(x)
    kept = [i for i in thin(x[: len(y)]) if finite(y[i]) is not None]
    if not kept:
        return {}

    def column(values: Sequence[Any], digits: int) -> list[float | None]:
        found = [finite(values[i]) for i in kept]
        return [None if one is None else round(one, digits) for one in found]

    middle = column(y, 5)
    out: dict[str, list[Any]] = {"x": column(x, 5), "y": middle, "t": column(bounds, 6)}  # confidences may be near 1
    for key, ends in (("lower", low), ("upper", high)):
        out[key] = [m if e is None else e for m, e in zip(middle, column(ends, 5), strict=True)]
    return out


def _curve_of(model: Result, domain: str) -> dict[str, Any]:
    """The accuracy-coverage curve of a model; of the target the estimated one."""
    if domain == "target":
        return dict((model.get("target") or {}).get("curve") or {})
    return dict(part(model, domain).get("accuracy_coverage") or {})


def _steady(columns: Result) -> list[float]:
    """Ends of the band that the axis has to hold: those of the very first rows may reach down to 0.

    >>> _steady({"x": [0.01, 0.5], "lower": [0.1, 0.8], "upper": [1.0, 0.9]})
    [0.8, 0.9]
    """
    kept = zip(columns["x"], columns["lower"], columns["upper"], strict=True)
    return [end for x, low, high in kept if x >= _STEADY for end in (low, high)]


def _curve_tip(title: str) -> Spec:
    """Transforms that give a point of a curve what the pointer shows; ``title`` is an expression."""
    space, dash = "\N{NO-BREAK SPACE}", "\N{EN DASH}"
    share = "format(datum.{} * 100, '.1f')"
    fine = "datum.t > 0.999 && datum.t < 1 ? format(datum.t, '.6f') : format(datum.t, '.3f')"
    return _told({
        "": title,
        "answered": f"{share.format('x')} + '{space}%'",
        "accuracy": f"{share.format('y')} + '{space}%'",
        "interval": f"{share.format('lower')} + '{dash}' + {share.format('upper')} + '{space}%'",
        "confidence down to": f"isValid(datum.t) ? ({fine}) : '{dash}'",
    })  # fmt: skip


def _told(tip: Spec) -> Spec:
    """A transform that gives rows a ``tip``, an object of what the pointer shows, from names and expressions."""
    words = ", ".join(f"{json.dumps(name)}: {expression}" for name, expression in tip.items())
    return {"calculate": f"{{{words}}}", "as": "tip"}


def _lines(plot: Plot, rows: Rows, tip: Spec, height: float, *, hollow: str | None = None) -> None:
    """A line for each row, a ``label`` in its colour ``c`` with lists of numbers; the pointer singles one out.

    Rows that carry ``band`` get one. ``hollow`` names the field that makes a dot hollow (without it there are no dots).
    Quiet lines lie below the coloured ones; names stand at the ends.
    """
    rows = sorted(rows, key=lambda row: row["c"] != QUIET)
    rows = [{**row, "w": 1.25 if row["c"] == QUIET else 2.5} for row in rows]
    over, shade = pointed("label")
    flat = [{"flatten": [name for name, value in rows[0].items() if isinstance(value, list)]}]
    one: Spec = {"x": "x", "y": "y", "detail": "label"}
    if any("band" in row for row in rows):
        area: Spec = {"x": "x", "y": "lower", "y2": "upper", "detail": "label", "color": "band"}
        where, dim = "isValid(datum.band)", shade(0.55, 0.05)
        plot.draw("area", rows, {"clip": True}, where=where, more={"transform": flat}, **area, opacity=dim)
    dim = shade(1.0, 0.1)
    plot.draw("line", rows, {"clip": True}, more={"transform": flat}, **one, color="c", opacity=dim, size="w")
    if hollow is not None:
        fill = {
            "condition": {"test": f"datum.{hollow}", "value": SURFACE},
            "field": "c",
            "type": "nominal",
            "scale": None,
        }
        look = {"size": 28, "strokeWidth": 1.5, "clip": True}
        plot.draw("point", rows, look, more={"transform": flat}, **one, stroke="c", opacity=dim, fill=fill)
    look = {"size": 60, "filled": True, "opacity": 0, "clip": True}
    plot.draw("point", rows, look, more={"transform": [*flat, tip], **over}, **one, tooltip="tip")
    ends = [{"label": row["label"], "y": row["y"][-1], "c": row["c"]} for row in rows]
    words = {"fontSize": narrow(10.5, 12), "limit": narrow(92, 200), **HALO}
    plot.names(ends, height - 40, look=words, opacity=dim, detail="label")


def accuracy_coverage(result: Result, domain: str) -> Figure | None:
    """Accuracy over coverage of all models that there is room for, in a domain or as estimated on the "target".

    Models in colour have bands.

    The title says whose curve is highest on the whole, and whether another is ahead where little is answered.
    """
    called, tones = names(result), colors(result)
    rows: Rows = []
    for model in drawn(result):
        tone, columns = tones[str(model.get("name"))], curve_rows(_curve_of(model, domain))
        if columns:
            band = {} if tone == QUIET else {"band": BAND[tone]}
            rows.append({"label": called[str(model.get("name"))], "c": tone, **band, **columns})
    if not rows:
        return None
    seen = [value for row in rows for value in row["y"]]
    seen += [value for row in rows if "band" in row for value in _steady(row)]
    on_target = domain == "target"
    up = shares(seen, title="estimated accuracy" if on_target else "accuracy of the answers")
    height = max(380, 16 * len(rows))
    plot = Plot(coverage_axis("rows answered, the most confident first"), up)
    _lines(plot, rows, _curve_tip("datum.label"), height)
    means: dict[str, tuple[float, float]] = {}
    for model in result.get("models") or []:
        curve = _curve_of(model, domain)
        pairs = [
            (x, y)
            for x, y in zip(curve.get("x") or [], curve.get("y") or [], strict=False)
            if finite(x) is not None and finite(y) is not None
        ]
        if pairs:
            early = [y for x, y in pairs if x <= _FIRST + 1e-9] or [pairs[0][1]]
            means[str(model.get("name"))] = (sum(y for _, y in pairs) / len(pairs), sum(early) / len(early))
    where = "Estimated on the target" if on_target else capital(DOMAINS[domain])
    top = max(means, key=lambda name: means[name][0])
    first = max(means, key=lambda name: means[name][1])
    title = f"{where} {called[top]} is the most accurate over all coverages"
    if len(means) == 1:
        title = f"{where} the mean accuracy over all coverages is {percent(means[top][0])}"
    elif means[first][1] - means[top][1] >= _APART:
        title += f", but on the first {percent(_FIRST, 0)} {called[first]} is"
    else:
        title += f": {percent(means[top][0])} on average"
    one = _curve_of(drawn(result)[0], domain)
    caption = "Accuracy of the rows that a model answers when it leaves out those it is least sure of."
    if on_target:
        caption = "The same without labels: estimated, not seen."
        caption += f" It assumes that {one['assumes']}." if one.get("assumes") else ""
    levels = [finite(curve.get("level")) for m in drawn(result) if (curve := _curve_of(m, domain))]
    if levels and levels[0] is not None:
        kind = f"{one.get('kind') or ''}, {percent(levels[0], 0)} at each point"
        caption += f" Bands ({kind}) are drawn for the models in colour."
    caption += _left_out(result) + " Rest the pointer near a line to single it out."
    name = f"curves-{domain.replace('_', '-')}"
    return plot.figure(name, title, caption, height=height, spoken=False)


def model_curves(result: Result) -> list[Figure]:
    """A small chart for each model that charts show, in its domain and out of it; one vertical axis for all.

    Captions have AUC and DiSCA of each domain. Of the points every other one is drawn, the last among them.
    """
    called, made = names(result), []
    for model in drawn(result):
        rows: Rows = []
        for domain in domains(result):
            columns = curve_rows(_curve_of(model, domain))
            if columns:
                color, dash = STYLES[domain]
                half = {key: values[::-1][::2][::-1] for key, values in columns.items()}
                rows.append({"d": DOMAINS[domain], "c": color, "dash": list(dash), "columns": half})
        if rows:
            made.append((model, rows))
    up = shares([end for _, rows in made for row in rows for end in _steady(row["columns"])], most=4)
    out = []
    for index, (model, rows) in enumerate(made):
        plot = Plot(coverage_axis(None, (0.25, 0.5, 0.75, 1)), up)
        flat = {"transform": [{"flatten": ["x", "y", "t", "lower", "upper"]}]}
        lines = [{"d": row["d"], "c": row["c"], "dash": row["dash"], **row["columns"]} for row in rows]
        one: Spec = {"x": "x", "detail": "d", "color": "c"}
        plot.draw("area", lines, {"opacity": 0.17, "clip": True}, more=flat, y="lower", y2="upper", **one)
        plot.draw("line", lines, {"strokeWidth": 2, "clip": True}, more=flat, y="y", strokeDash="dash", **one)
        near = {"transform": [*flat["transform"], _curve_tip("datum.d")]}
        look = {"size": 70, "opacity": 0, "filled": True, "clip": True}
        plot.draw("point", lines, look, more=near, x="x", y="y", detail="d", tooltip="tip")
        captions = []
        for domain, where in DOMAINS.items():
            if part(model, domain):
                numbers = [
                    f"{name} {number(found['value'])}"
                    for name, metric in (("AUC", "auc_coverage"), ("DiSCA", "disca"))
                    if (found := score(model, domain, metric))
                ]
                right = score(model, domain, "accuracy")
                numbers += [f"{percent(right['value'])} right on all"] if right else []
                captions.append(f"{where}: {', '.join(numbers)}")
        name = called[str(model.get("name"))]
        words = f"Accuracy over coverage of {name}"
        figure = plot.figure(f"model-curve-{index}", name, "; ".join(captions), height=170, words=words, spoken=False)
        out.append(figure)
    return out


# ------------------------------------------------------------------------------------------ the terms of DiSCA


def _confidence_ends(values: list[float]) -> list[float]:
    """Ends of an axis of confidences that holds the values with some room, inside [0, 1] but for the room at 1.

    >>> _confidence_ends([0.5, 0.9])
    [0.47, 1.01]
    """
    low = min(values, default=0.0)
    return [round(max(low - 0.06 * (1 - low), 0.0), 3), round(1 + 0.02 * (1 - low), 3)]


def tolerances(result: Result, domain: str) -> Figure | None:
    """The confidence b down to which a model keeps an accuracy, over that accuracy (Figure 1 of the paper).

    A line for each model; a hollow dot where accuracy never falls so far.
    """
    called, tones = names(result), colors(result)
    rows: Rows = []
    for model in drawn(result):
        points = sorted(
            (-float(one["tolerance"]), round(float(one["b"]), 6), bool(one.get("never_below")))
            for one in score(model, domain, "disca").get("by_tolerance") or []
            if finite(one.get("tolerance")) is not None and finite(one.get("b")) is not None
        )
        if points:
            columns = dict(zip(("x", "y", "never"), map(list, zip(*points, strict=True)), strict=True))
            rows.append({"label": called[str(model.get("name"))], "c": tones[str(model.get("name"))], **columns})
    if not rows:
        return None
    marks = sorted({value for row in rows for value in row["x"]})
    across = axis([marks[0] - 0.01, marks[-1] + 0.01], title="accuracy that must be kept", values=marks[::2],
                  labelExpr="format(-datum.value, '.2f')", grid=False)  # fmt: skip
    up = axis(_confidence_ends([value for row in rows for value in row["y"]]), title="confidence b", tickCount=5)
    tip = {
        "": "datum.label",
        "accuracy to keep": "format(-datum.x, '.2f')",
        "confidence b": "format(datum.y, '.4f')",
        "falls below it": "datum.never ? 'never' : 'yes'",
    }
    plot, height = Plot(across, up), max(340, 17 * len(rows))
    _lines(plot, rows, _told(tip), height, hollow="never")
    lowest = [
        (b, str(m.get("name")))
        for m in result.get("models") or []
        if (b := finite(score(m, domain, "disca").get("b"))) is not None
    ]
    tolerance = finite((result.get("settings") or {}).get("tolerance"))
    title = f"{capital(DOMAINS[domain])}: the confidence b by the accuracy that must be kept"
    if lowest and tolerance is not None:
        b, first = min(lowest, key=lambda pair: pair[0])
        title = f"{capital(DOMAINS[domain])} {called[first]} stays {number(tolerance, 2)} accurate down to confidence "
        title += number(b, 2)
    caption = "The b of DiSCA: the confidence at which accuracy first falls below the value on the axis. Lower is "
    caption += "better. A hollow dot: accuracy never falls so far, and b is the lowest confidence of all."
    caption += _left_out(result)
    return plot.figure(f"tolerances-{domain.replace('_', '-')}", title, caption, height=height, spoken=False)


def first_mistakes(result: Result) -> Figure | None:
    """The confidence a at which each model first errs, with its interval, in and out of its domain (Figure 2 of the
    paper); the lowest on top. The title says who errs last, and whether that stays so out of the domain.
    """
    called = names(result)
    rows: Rows = []
    for model in drawn(result):
        for domain in domains(result):
            found = score(model, domain, "disca")
            value = finite(found.get("a"))
            if value is None:
                continue
            ends = (found.get("intervals") or {}).get("a") or [value, value]
            # A confidence is at most 1, whatever the bootstrap's arithmetic says.
            low, high = (None if (end := finite(one)) is None else min(max(end, 0.0), 1.0) for one in ends[:2])
            name, color = called[str(model.get("name"))], STYLES[domain][0]
            tip = {"": name, DOMAINS[domain]: threshold(value)}
            if low is not None and high is not None:
                tip["interval"] = f"{threshold(low)}\N{EN DASH}{threshold(high)}"
            if found.get("never_wrong"):
                tip["note"] = "never wrong: the lowest confidence"
            text = threshold(value) if not _LAST < value < 1 else f"> {_LAST}"
            row = {
                "model": name,
                "a": value,
                "lower": value if low is None else low,
                "upper": value if high is None else high,
            }
            rows.append({**row, "c": color, "band": BAND[color], "domain": domain, "text": text, "tip": tip})
    if not rows:
        return None
    seen = [domain for domain in DOMAINS if any(row["domain"] == domain for row in rows)]
    home = sorted((row for row in rows if row["domain"] == seen[0]), key=lambda row: row["a"])
    order = list(dict.fromkeys(row["model"] for row in (*home, *rows)))
    across = axis(
        _confidence_ends([row["lower"] for row in rows]), title="confidence a at the first mistake", tickCount=5
    )
    plot = Plot(across, names_axis((110, 210), order))
    for domain in seen:
        mine = [row for row in rows if row["domain"] == domain]
        offset = {"yOffset": (-6 if domain == "in_domain" else 6) if len(seen) > 1 else 0}
        bar = {"strokeWidth": 6, "strokeCap": "round", "opacity": 1, **offset}
        plot.draw("rule", mine, bar, x="lower", x2="upper", y="model", color="band")
        plot.draw("text", mine, {"align": "left", "dx": 8, "fontSize": 11, **offset}, x=RIGHT, y="model", text="text",
                  color="c")  # fmt: skip
        plot.draw("point", mine, {**DOT, "size": 80, **offset}, x="a", y="model", color="c", tooltip="tip")
    first, other = (min((r for r in rows if r["domain"] == d), key=lambda r: r["a"]) for d in (seen[0], seen[-1]))
    title = f"{first['model']} makes its first mistake at the lowest confidence, {threshold(first['a'])}"
    if len(seen) > 1:
        same = other["model"] == first["model"]
        title += f"; out of domain {'it does too' if same else other['model'] + ' does'}"
    caption = "The a of DiSCA: the confidence at which accuracy first drops below 1, with its interval. Lower is "
    caption += "better: then everything above it was right. A single row can move it, so the interval is empirical."
    height = 34 * len(order) if len(seen) > 1 else 26 * len(order)
    return plot.figure("first-mistakes", title, caption, height=height, spoken=False)


_LAST = 0.999999  # a confidence beyond it is written as being beyond it


def fluctuations(result: Result, domain: str) -> Figure | None:
    """How often accuracy rises as more is answered, and the penalty for it (Figure 3 of the paper).

    Bars for how often, dots on an axis of their own for how much; the calmest model on top.
    """
    called = names(result)
    rows: Rows = []
    for model in drawn(result):
        found, name = score(model, domain, "disca"), called[str(model.get("name"))]
        count, penalty = finite(found.get("fluctuations")), finite(found.get("penalty"))
        if count is not None and penalty is not None:
            tip = {"": name, "times accuracy rises": f"{count:.0f}", "penalty": number(penalty)}
            rows.append({"model": name, "n": count, "p": round(penalty, 6), "text": f"{count:.0f}", "tip": tip})
    if not rows:
        return None
    rows.sort(key=lambda row: (row["n"], row["p"]))
    rows = [{**row, "place": place} for place, row in enumerate(rows)]
    often, dear = max(rows, key=lambda row: row["n"]), max(rows, key=lambda row: row["p"])
    below = axis(
        [0, max(often["n"] * 1.12, 1)], title="times accuracy rises (bars)", tickCount=5, tickMinStep=1, grid=True
    )
    above = axis([0, dear["p"] * 1.12 or 1], title="penalty (dots)", orient="top", grid=False, tickCount=5,
                 labelColor=ACCENT, titleColor=ACCENT)  # fmt: skip
    plot = Plot(below, names_axis((110, 190), [row["model"] for row in rows]))
    bar = {"color": BAND[QUIET], "height": {"band": 0.62}, "cornerRadiusEnd": 3}
    plot.draw("bar", rows, bar, x="n", y="model", tooltip="tip")
    unnamed = {**below, "field": "n", "axis": None}
    plot.draw(
        "text", rows, {"align": "left", "dx": 5, "color": MUTED, "fontSize": 11.5}, x=unnamed, y="model", text="text"
    )
    plot.across = above
    look = {"color": ACCENT, "strokeWidth": 1.25, "opacity": 0.5, "orient": "vertical"}
    order = {"field": "place", "type": "quantitative"}
    plot.draw("line", rows, look, x="p", y="model", order=order)
    unnamed = {**above, "field": "p", "axis": None}
    plot.draw("point", rows, {**DOT, "size": 75, "color": ACCENT}, x=unnamed, y="model", tooltip="tip")
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
    count = settings.get("steps")
    of = {
        "coverage": f"{count} steps of coverage",
        "thresholds": f"{count} steps of confidence",
        "samples": "every sample",
    }
    caption = "Accuracy should only fall as more is answered. Bars: at how many of "
    caption += f"{of.get(str(settings.get('grid')), 'the curve')} it rises, lower axis. Dots: the penalty of DiSCA for "
    caption += "it, upper axis; early and steep rises weigh most. Less is better."
    name, height = f"fluctuations-{domain.replace('_', '-')}", 28 * len(rows) + 60
    own: Spec = {"scale": {"x": "independent"}}
    return plot.figure(name, title, caption, height=height, spoken=False, resolve=own)


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


def title_of(metric: str, result: Result) -> str:
    """The short name of a metric, with the risk or the coverage at which it was read.

    >>> title_of("risk_at_coverage", {"settings": {"coverage": 0.8}}).replace(chr(160), " "), title_of("disca", {})
    ('risk at 80 %', 'DiSCA')
    """
    settings = result.get("settings") or {}
    at = {"risk_at_coverage": ("coverage", "risk at"), "coverage_at_risk": ("risk", "cover at")}.get(metric)
    if at and finite(settings.get(at[0])) is not None:
        return f"{at[1]} {given(settings[at[0]])}"
    return METRICS.get(metric, metric)


def firm(row: Result) -> bool:
    """Whether the place of a model holds in most replicates."""
    return (finite(row.get("stable")) or 0.0) >= _FIRM


def places(result: Result, domain: str) -> Figure | None:
    """The rank of each model by each metric, joined by lines, so that crossings show where metrics disagree.

    Ranks in dots, a column for each metric; a full dot is a firm place. The title says how many
    pairs of models AUC and DiSCA put in a different order.
    """
    called, tones = names(result), colors(result)
    shown = {str(one.get("name")) for one in drawn(result)}
    known = rankings(result, domain)
    metrics = [name for name in METRICS if name in known]
    if len(metrics) < 2 or len(shown) < 2:
        return None
    by_model: dict[str, dict[str, list[Any]]] = {}
    for at, metric in enumerate(metrics):
        for slot, row in enumerate(row for row in known[metric] if str(row.get("model")) in shown):
            cell = {
                "metric": at,
                "slot": slot,
                "value": number(row["value"], 4),
                "firm": firm(row),
                "text": f"{row.get('rank')}",
                "stable": percent(row.get("stable"), 0),
                "best": percent(row.get("p_best"), 0),
            }
            columns = by_model.setdefault(str(row["model"]), {key: [] for key in cell})
            for key, value in cell.items():
                columns[key].append(value)
    rows = [{"label": called[name], "c": tones[name], **columns} for name, columns in by_model.items()]
    rows.sort(key=lambda row: row["c"] != QUIET)
    titles = json.dumps([title_of(name, result) for name in metrics])
    look: Spec = {
        "orient": "top",
        "grid": False,
        "labelColor": INK,
        "labelOverlap": False,
        "labelFontSize": narrow(11, 12.5),
    }
    look |= {"labelAngle": narrow(-60, 0), "labelAlign": narrow("'left'", "'center'")}
    places_, text = list(range(len(metrics))), f"{titles}[datum.value]"
    across = axis([-0.35, len(metrics) - 0.65], values=places_, labelExpr=text, **look)
    most = max(slot for row in rows for slot in row["slot"])
    plot = Plot(across, {"type": "quantitative", "scale": {"domain": [most + 0.5, -0.5], "nice": False}, "axis": None})
    over, shade = pointed("label", near=False)
    flat = [{"flatten": ["metric", "slot", "value", "firm", "text", "stable", "best"]}]
    of: Spec = {"more": {"transform": flat}, "x": "metric", "y": "slot", "detail": "label"}
    dim, size = shade(1.0, 0.15), narrow(250, 430)
    tone = {"field": "c", "type": "nominal", "scale": None}
    width = {"condition": {"test": f"datum.c === '{QUIET}'", "value": 1.75}, "value": 3}
    plot.draw("line", rows, {}, color="c", size=width, opacity=dim, **of)
    # An opaque disc below: a faded dot would let the lines through.
    plot.draw("point", rows, {"filled": True, "size": size, "opacity": 1, "color": SURFACE}, **of)
    fill = {"condition": {"test": "datum.firm", **tone}, "value": SURFACE}
    plot.draw("point", rows, {"size": size, "strokeWidth": 2}, stroke="c", fill=fill, opacity=dim, **of)
    ink = {"condition": {"test": "datum.firm", "value": SURFACE}, "value": INK}
    plot.draw("text", rows, {"fontWeight": 700, "fontSize": narrow(10, 12)}, text="text", color=ink, opacity=dim, **of)
    tip = {
        "": f"datum.label + ', ' + {titles}[datum.metric]",
        "value": "datum.value",
        "rank": "datum.text",
        "same rank in": "datum.stable + ' of replicates'",
        "best in": "datum.best + ' of replicates'",
    }
    of["more"] = {"transform": [*flat, _told(tip)], **over}
    plot.draw("point", rows, {"filled": True, "size": size}, tooltip="tip", opacity=0, **of)
    ends = [{"label": r["label"], "slot": r["slot"][-1], "c": MUTED if r["c"] == QUIET else r["c"]} for r in rows]
    look = {"align": "left", "dx": 4, "fontSize": narrow(11, 13), "fontWeight": 600, "limit": narrow(92, 210)}
    plot.draw("text", ends, look, x=RIGHT, y="slot", text="label", opacity=dim, color="c")
    title = f"{capital(DOMAINS[domain])}: the place of each model by each metric"
    if {"auc_coverage", "disca"} <= set(known):
        many = len(result.get("models") or [])
        total = many * (many - 1) // 2
        parted = next(
            (
                len(row.get("pairs") or [])
                for row in reversed(result.get("disagreements") or [])
                if row.get("domain") == domain and {*(row.get("metrics") or [])} == {"auc_coverage", "disca"}
            ),
            0,
        )
        which = "the two models" if total == 1 else f"{parted} of {number(total)} pairs of models"
        order = f"put {which} in a different order" if parted else "put all models in the same order"
        title = f"{capital(DOMAINS[domain])} AUC and DiSCA {order}"
    caption = "Best on top; lines that cross are models that two metrics put in a different order. A full dot is a "
    caption += f"firm place: it holds in at least {percent(_FIRM, 0)} of the bootstrap replicates. One number twice: a "
    caption += "tie." + _left_out(result)
    height = 34 * len(shown)
    return plot.figure(f"places-{domain.replace('_', '-')}", title, caption, height=height, spoken=False)
