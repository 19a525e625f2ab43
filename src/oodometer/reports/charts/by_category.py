"""Charts by category: methods, audits, files, classes, slices, judges and models, each a dot with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...plain import Json, Plain, inside
from ...results.backtest import answered_families, by_family
from ...results.backtest import family_name as called
from ...results.evaluation import agreement, panel
from ...results.view import p_text
from ..numbers import (
    basename,
    best,
    capital,
    difference,
    finite,
    measured,
    number,
    percent,
    percent_range,
    points,
    short,
)
from .base import (
    WORDS,
    Figure,
    Plot,
    Result,
    Rows,
    axis,
    caption,
    categories,
    ends,
    entry,
    names_axis,
    ticks,
    unique,
)
from .looks import (
    ACCENT,
    INK,
    MUTED,
    POINTS,
    QUIET,
    REFERENCE,
    RIGHT,
    ROW_HEIGHT,
    SURFACE,
    TRUTH,
    narrow,
)

MEANINGS: dict[str, str] = WORDS["families"]
_FULL = 0.1  # an error that gets the strongest colour, where none is larger than its double
# opacity at the largest error; above it the number in the cell would be hard to read
_STRONGEST = 0.62
GLYPHS = {
    "circle": '<circle cx="17" cy="7" r="4" style="fill:COLOR"/>',
    "square": '<rect x="13" y="3" width="8" height="8" style="fill:COLOR"/>',
    "triangle-up": '<path d="M17 2l5 9h-10z" style="fill:COLOR"/>',
    "diamond": '<path d="M17 2l5 5-5 5-5-5z" style="fill:COLOR"/>',
}
"""Shapes of the points as the key above the charts draws them; the colours are our own names, never text of a file."""
LEADERS = 3  # methods drawn against severity, besides the reference accuracy


def family_name(name: Any) -> str:
    """A family as the page calls it."""
    return short(called(str(name)), 20)


def ranked(result: Result, table: str = "overall") -> list[dict[str, Any]]:
    """Rows of a table that have an error, the smallest first; by default methods over all families."""
    rows = [dict(row) for row in result.get(table) or [] if finite(row.get("error")) is not None]
    return sorted(rows, key=lambda row: float(row["error"]))


def leaders(result: Result) -> list[str]:
    """The best methods, and the reference accuracy to judge them by."""
    names = [str(row.get("method")) for row in ranked(result)]
    return [name for name in names if name != "source"][:LEADERS] + (
        ["source"] if "source" in names else []
    )


def error_map(result: Result) -> Figure | None:
    """Mean error of every method on every family, the best method on top; the best of each family in bold."""
    errors, biases, coverages = (by_family(result, name) for name in ("error", "bias", "coverage"))
    order = [short(row.get("method"), 40) for row in ranked(result)]
    best_by_family: dict[str, tuple[float, str]] = {}
    for (method, family), error in errors.items():
        best_by_family[family] = min(
            best_by_family.get(family, (error, method)), (error, method), key=lambda pair: pair[0]
        )
    full = max(_FULL, sorted(errors.values())[int(0.9 * (len(errors) - 1))]) if errors else _FULL
    cells = []
    for (method, family), error in errors.items():
        bias, name = biases.get((method, family)), short(method, 40)
        tip = {"": f"{name}, {family_name(family)}", "mean error": points(error)}
        tip |= (
            {} if bias is None else {"bias": f"{points(bias)} too {'high' if bias > 0 else 'low'}"}
        )
        tip["interval held"] = percent(coverages.get((method, family)), 0)
        cell = {
            "method": name,
            "family": family_name(family),
            "text": f"{100 * error:.1f}",
            "tip": tip,
        }
        cells.append(
            {
                **cell,
                "shade": _STRONGEST * min(error / full, 1.0),
                "best": error <= best_by_family[family][0],
            }
        )
    cells = [cell for cell in cells if cell["method"] in order]
    if not cells:
        return None
    font = narrow(11, 13)
    columns = names_axis(
        order=[family_name(name) for name in answered_families(result)],
        orient="top",
        labelAngle=-60,
        labelAlign="left",
        labelPadding=4,
        labelFontSize=font,
        labelLimit=150,
    )
    plot = Plot(columns, names_axis((96, 200), order, labelFontSize=font))
    look = {"color": ACCENT, "stroke": SURFACE, "strokeWidth": 2}
    plot.draw("rect", cells, look, x="family", y="method", opacity="shade")
    for where, weight in (("!datum.best", {}), ("datum.best", {"fontWeight": "bold"})):
        look = {"fontSize": narrow(10, 13), **weight}
        plot.draw("text", cells, look, where=where, x="family", y="method", text="text")
    plot.draw("rect", cells, {"opacity": 0}, x="family", y="method", tooltip="tip")
    winners = {method for _, method in best_by_family.values()}
    title = f"No method is best everywhere: {len(winners)} of them win on {len(best_by_family)} kinds of shift"
    if len(winners) == 1:
        title = f"{short(winners.pop(), 40)} is closest on every kind of simulated shift"
    height = 26 * len({cell["method"] for cell in cells}) + 70
    text, note = caption("error-map", "read"), caption("error-map", "families")
    return plot.figure("error-map", title, text, height=height, page_note=note)


def styles(result: Result) -> list[Json]:
    """Colour, shape and dash of each leading method, for the lines and for the key above them."""
    looks_left = iter(
        [(ACCENT, "circle", (1, 0)), (REFERENCE, "square", (1, 0)), (TRUTH, "triangle-up", (1, 0))]
    )
    looks = [
        (name, (QUIET, "diamond", (4, 4)) if name == "source" else next(looks_left))
        for name in leaders(result)
    ]
    return [
        {"method": name, "color": color, "shape": shape, "dash": dash}
        for name, (color, shape, dash) in looks
    ]


def error_by_severity(result: Result) -> list[Figure]:
    """How the error of the best methods grows with a simulated shift: one chart for each family that was tried at more
    than one severity; all share one vertical axis.
    """
    looks = styles(result)
    methods = {look["method"] for look in looks}
    tried = (row for row in ranked(result, "rows") if finite(row.get("severity")) is not None)
    rows = [row for row in tried if row["method"] in methods]
    (_, high), marks = ticks([row["error"] for row in rows] + [0.0], most=5)
    up = axis([0, high], values=marks, labelExpr=POINTS)
    out: list[Figure] = []
    for family in answered_families(result):
        mine = sorted(
            (row for row in rows if str(row.get("family")) == family),
            key=lambda row: row["severity"],
        )
        severities = sorted({float(row["severity"]) for row in mine})
        if len(severities) < 2:
            continue
        room = 0.06 * (severities[-1] - severities[0])
        across = axis(
            [severities[0] - room, severities[-1] + room],
            title="severity",
            values=severities,
            grid=False,
            labelExpr="format(datum.value, '~g')",
        )
        plot = Plot(across, up)
        if severities[0] < 0 < severities[-1]:
            plot.draw(
                "rule", [{"x": 0}], {"color": MUTED, "strokeDash": [2, 3], "strokeWidth": 1}, x="x"
            )
        for look in reversed(looks):
            line = []
            for row in (row for row in mine if row["method"] == look["method"]):
                tip = {
                    "": look["method"],
                    "severity": f"{row['severity']:g}",
                    "mean error": points(row["error"]),
                }
                line.append({"x": float(row["severity"]), "y": float(row["error"]), "tip": tip})
            if line:
                plot.curve(
                    line,
                    look["color"],
                    dash=look["dash"],
                    size=55,
                    shape=look["shape"],
                    strokeWidth=2.25,
                )
        name, words = family_name(family), f"Mean error by severity: {family_name(family)}"
        name_of, text = f"error-by-severity-{len(out)}", MEANINGS.get(family, "")
        out.append(plot.figure(name_of, name, text, height=190, words=words))
    return out


_MOST = 25  # classes, slices
_MOST_FILES = 30  # files, models
_MOST_JUDGES = 8  # alone

# ------------------------------------------------------------------------------------------ methods


def is_headline(estimate: Result, headline: Result) -> bool:
    """Whether this estimate is the one that became the headline."""
    return all(estimate.get(key) == headline.get(key) for key in ("method", "value"))


def with_headline(result: Result) -> list[Json]:
    """Estimates from the highest to the lowest; before them the headline where it is made from several of them."""
    estimates = [item for estimate in result.get("estimates") or [] if (item := best(estimate))]
    estimates.sort(key=lambda item: -float(item["value"]))
    headline = best(result.get("headline"))
    if headline and not any(is_headline(estimate, headline) for estimate in estimates):
        return [{"score": headline.get("method"), **headline, "method": "headline"}, *estimates]
    return estimates


def methods(result: Result) -> Figure | None:
    """The estimate of every method, the headline in colour, beside the reference accuracy and the truth."""
    estimates, headline = with_headline(result), best(result.get("headline"))
    if not estimates:
        return None
    rows = []
    for name, item in zip(_method_names(estimates), estimates, strict=True):
        highlighted = headline and (item.get("method") == "headline" or is_headline(item, headline))
        color = ACCENT if highlighted else QUIET
        rows.append(entry(name, item, color=color, assumes=item.get("assumes") or ""))
    accuracy = inside(result, "reference", "accuracy")
    values = [item["value"] for item in estimates if item.get("method") != "headline"]
    text = caption(
        "methods",
        "several" if len(values) > 1 else "read",
        many=len(values),
        least=percent(min(values, default=None)),
        most=percent(max(values, default=None)),
    )
    truth = best(inside(result, "target", "accuracy")).get("value")
    lines = [("reference", accuracy, REFERENCE), ("truth", truth, TRUTH)]
    title = _headline_title(headline, accuracy) if headline else "What each method says"
    return categories(
        "methods", title, text, rows, axis_title="accuracy on the target", lines=lines
    )


def _method_names(estimates: Sequence[Result]) -> list[str]:
    """Names of methods, with its score where a method stands in the chart more than once."""
    several = [str(item.get("method")) for item in estimates]
    return unique(
        f"{item.get('method')} ({item['score']})"
        if several.count(str(item.get("method"))) > 1 and item.get("score")
        else item.get("method") or "estimate"
        for item in estimates
    )


def _headline_title(headline: Result, accuracy: Any) -> str:
    """The estimate, and how far it is from the accuracy on the reference."""
    title = f"Estimated accuracy is {percent(headline['value'])}"
    gap = difference(headline["value"], accuracy, "the reference")
    if not gap:
        return title
    low, high = ends(headline)
    is_within = not gap.startswith("the same") and low <= accuracy <= high
    tail = ", a difference within the range of the estimate" if is_within else ""
    return f"{title} \N{EM DASH} {gap}{tail}"


# ------------------------------------------------------------------------------------------ audits


def chosen_first(result: Result) -> list[Json]:
    """The intervals from labels, the one that the page prints before the others."""
    intervals = [item for each in result.get("intervals") or [] if (item := best(each))]
    return sorted(intervals, key=lambda item: item.get("method") != result.get("method"))


def audited(result: Result) -> Figure | None:
    """Every interval that the labels allow, over the band of the label-free estimate."""
    intervals = chosen_first(result)
    claim = best(result.get("headline"))
    estimate = best(result.get("estimate"))
    if not intervals or result.get("scale"):  # a mean grade is no share
        return None
    rows = []
    for name, item in zip(
        unique(interval.get("method") for interval in intervals), intervals, strict=True
    ):
        color = ACCENT if item.get("method") == result.get("method") else QUIET
        rows.append(entry(name, item, color=color, assumes=item.get("assumes") or ""))
    rows += [entry("without labels", claim, assumes=claim.get("assumes") or "")] if claim else []
    title = "What the labels say"
    if estimate:
        title = f"The labels allow {percent_range(estimate.get('lower'), estimate.get('upper'))}"
        if estimate.get("lower") == estimate.get("upper"):
            title = f"Every row has a label: {percent(estimate['value'])} is certain"
        title += f"; without labels the estimate was {percent(claim['value'])}" if claim else ""
    rate = f"rate of {result['label']}" if result.get("judges") else "accuracy on the target"
    return categories(
        "audited",
        title,
        caption("audited", "read", claim and "claim"),
        rows,
        axis_title=rate,
        lines=[("reference", inside(result, "reference", "accuracy"), REFERENCE)],
        shaded=(claim.get("lower"), claim.get("upper")),
    )


# ------------------------------------------------------------------------------------------ tests, plain intervals

_LEAST_P = 1e-4  # smaller p-values stand at the left edge
_ALARMING_P = 0.05


def findings(result: Result) -> Figure | None:
    """The p-value of each test of a diagnosis, those in colour that speak strongly."""
    rows = []
    for item in result.get("findings") or []:
        p = finite(item.get("p_value"))
        if p is not None:
            color = ACCENT if item.get("strength") == "strong" else QUIET
            row = entry(str(item["name"]), {"value": max(p, _LEAST_P)}, color=color)
            rows.append({**row, "label": p_text(p), "tip": {"": item["name"], "p": p_text(p)}})
    if not rows:
        return None
    marks = [_LEAST_P, 0.001, 0.01, 0.1, 1]
    label = f"datum.value > {_LEAST_P} ? format(datum.value, '~g') : '≤ {_LEAST_P:.4f}'"
    title = "p-value, on a logarithmic scale"
    across = axis(
        [_LEAST_P / 1.5, 1.5], title=title, scale={"type": "log"}, values=marks, labelExpr=label
    )
    return categories(
        "findings",
        f"Kind of shift: {result['kind']}. {capital(str(result['why']))}",
        caption("findings", "read"),
        rows,
        axis_title=title,
        lines=[(f"p = {_ALARMING_P}", _ALARMING_P, REFERENCE)],
        across=across,
    )


def intervals(title: str, items: Sequence[tuple[str, Plain]], *, share: bool) -> Figure | None:
    """Numbers with their intervals, each under its name, the first in colour; None without any.

    ``share``: the axis and the numbers are percentages.
    """
    if not items:
        return None
    rows = []
    for index, (name, item) in enumerate(items):
        row = entry(name, item, color=QUIET if index else ACCENT)
        rows.append(row if share else {**row, "label": number(item["value"])})
    ends = [row[end] for row in rows for end in ("lower", "upper")]
    room = 0.06 * (max(ends) - min(ends) or 1)
    plain = axis([min(ends) - room, max(ends) + room], title="value", tickCount=6)
    in_range = share and min(ends) >= 0 and max(ends) <= 1
    text = caption("intervals", "read")
    return categories(
        "intervals", title, text, rows, axis_title="share", across=None if in_range else plain
    )


# ------------------------------------------------------------------------------------------ files, classes, slices


def _accuracy(item: Result) -> Json:
    return best(inside(item, "metrics", "accuracy"))


def best_files_first(result: Result) -> list[Json]:
    """Files from the highest accuracy to the lowest; those without one come last."""
    files = (dict(file) for file in result.get("files") or [])
    return sorted(files, key=lambda item: -float(_accuracy(item).get("value", -1)))


def files(result: Result) -> Figure | None:
    """The accuracy of several labelled files side by side, the best first."""
    selected = [item for item in best_files_first(result) if _accuracy(item)][:_MOST_FILES]
    if not selected:
        return None
    names = unique(basename(item.get("name")) for item in selected)
    tones = [ACCENT, *[QUIET] * len(selected)]
    rows = [
        entry(name, _accuracy(item), color=tone, rows=number(item.get("rows")))
        for name, item, tone in zip(names, selected, tones, strict=False)
    ]
    first, second = _accuracy(selected[0]), _accuracy(selected[1]) if len(selected) > 1 else {}
    title = f"Highest accuracy: {names[0]}, {percent(first['value'])}"
    if second and second.get("upper", 1) >= first.get("lower", 0):
        title += "; the range of the next one overlaps"
    return categories("files", title, caption("files", "read"), rows, axis_title="accuracy")


def _weakest(parts: list[Json], names: list[str], key: str, overall: Any) -> list[Json]:
    """An entry for each part, in colour where its whole interval lies below the number of all rows."""
    rows = []
    for name, item in zip(names, parts, strict=True):
        below = overall is not None and (finite(item[key].get("upper")) or 1) < overall
        count = item.get("rows", item.get("support"))
        more = {} if count is None else {"rows": number(count)}
        rows.append(entry(name, item[key], color=ACCENT if below else QUIET, **more))
    return rows


def worst_classes(result: Result) -> tuple[str | None, list[Json]]:
    """The measure that the chart of classes shows, and classes that have it from the lowest to the highest."""
    for name in ("recall", "accuracy", "f1", "precision"):
        every = ((item, item.get(name)) for item in result.get("per_class") or [])
        measured = (
            (item, best(x) or ({} if finite(x) is None else {"value": x})) for item, x in every
        )
        if having := [{**item, "shown": value} for item, value in measured if value]:
            return name, sorted(having, key=lambda item: float(item["shown"]["value"]))
    return None, []


def per_class(result: Result) -> Figure | None:
    """The worst classes beside the accuracy of all rows."""
    name, classes = worst_classes(result)
    if name is None:
        return None
    some, overall = classes[:_MOST], _accuracy(result).get("value")
    labels = unique(item.get("class") for item in some)
    title = f"Weakest class: {labels[0]}, {name} {percent(some[0]['shown']['value'])}"
    text = caption(
        "per-class",
        "some" if len(some) < len(classes) else "all",
        some=len(some),
        many=len(classes),
    )
    rows, lines = _weakest(some, labels, "shown", overall), [("all rows", overall, ACCENT)]
    return categories("per-class", title, text, rows, axis_title=name, lines=lines)


def slices(result: Result) -> Figure | None:
    """The worst slices, in colour where the whole interval lies below the number of all rows."""
    having = [dict(item) for item in result.get("slices") or [] if best(item.get("headline"))]
    if not having:
        return None
    every = sorted(having, key=lambda item: float(item["headline"]["value"]))
    headline = best(result.get("headline"))
    some, worst, of = every[:_MOST], every[0]["headline"]["value"], headline.get("value")
    gap = difference(worst, of, "all rows together")
    about = "" if result.get("command") == "evaluate" else "about "
    title = f"Weakest slice: {short(every[0].get('value'))}, {about}{percent(worst)}" + (
        gap and f" \N{EM DASH} {gap}"
    )
    by = next((str(item["by"]) for item in having if item.get("by")), "slice")
    which = "some" if len(some) < len(every) else "all" if len(every) > 1 else "one"
    text = caption(
        "slices", which, "read", some=len(some), many=len(every), by=by, measured=measured(result)
    )
    lines = [
        ("reference", inside(result, "reference", "accuracy"), REFERENCE),
        ("all rows", of, ACCENT),
    ]
    rows = _weakest(some, unique(item.get("value") for item in some), "headline", of)
    return categories("slices", title, text, rows, axis_title=measured(result), lines=lines)


# ------------------------------------------------------------------------------------------ judges


def votes(result: Result) -> Figure | None:
    """Bars from lower to upper bound by how many judges must agree, and a dot for each judge alone."""
    jury = panel(result)
    if jury is None:
        return None
    is_single, rows = jury["judges"] == 1, _bound_rows(jury)
    if not rows:
        return None
    if not is_single:
        alone = [(name, item) for name, item in jury["alone"] if item][:_MOST_JUDGES]
        called = unique(f"{_judge(name)} alone" for name, _ in alone)
        rows += [entry(name, item) for name, (_, item) in zip(called, alone, strict=True)]
    evaluated = inside(result, "votes", "bounds")
    reference = None if evaluated else inside(result, "reference", "accuracy")
    return categories(
        "votes",
        _judge_title(jury) if is_single else _judges_title(jury),
        caption("votes", "one") if is_single else _judges_caption(jury["reference"] or {}),
        rows,
        axis_title="share of the outputs accepted",
        lines=[("reference", reference, REFERENCE), ("truth", jury["truth"], TRUTH)],
    )


def _judge(name: str) -> str:
    """A judge's name, with the noun where it is a bare number: the end of a long label is cut on a narrow page."""
    return f"judge {name}" if name.isdigit() else name


def _bound_rows(jury: Result) -> Rows:
    """The bounds by how many judges must agree; of one judge what it accepts."""
    judges, rows = jury["judges"], []
    for item in jury["bounds"]:
        low, high = finite(item.get("lower")), finite(item.get("upper"))
        if low is None or high is None:
            continue
        if judges == 1 and jury["alone"]:
            return [entry(agreement(1, 1), jury["alone"][0][1], color=ACCENT)]
        name, middle = agreement(item["agree"], judges), (low + high) / 2
        tip = {
            "": name,
            "bounds": percent_range(low, high),
            "mean": percent(middle),
            "width": points(high - low),
        }
        color = ACCENT if item["agree"] == jury["agree"] else QUIET
        row = entry(name, {"value": middle, "lower": low, "upper": high}, color=color)
        rows.append({**row, "tip": tip})
    return rows


def _judge_title(jury: Result) -> str:
    """What one judge accepts, beside the accuracy."""
    alone, truth = jury["alone"], finite(jury["truth"])
    title = f"The judge accepts {percent(alone[0][1].get('value')) if alone else ''} of the outputs"
    return title if truth is None else f"{title}; the accuracy is {percent(truth)}"


def _judges_title(jury: Result) -> str:
    """Whether the widest bounds hold the accuracy; without it the bounds."""
    widest, truth = jury["bounds"][0], finite(jury["truth"])
    low, high = finite(widest.get("lower")), finite(widest.get("upper"))
    span = percent_range(low, high)
    if truth is None or low is None or high is None:
        return f"The judges accept {span} of the outputs: all of them agree on the lower, any one on the upper"
    is_inside = low <= truth <= high if widest.get("inside") is None else widest["inside"]
    where = "within" if is_inside else "outside"
    return f"The accuracy, {percent(truth)}, lies {where} the judges' bounds, {span}"


def _judges_caption(seen: Result) -> str:
    """How to read the chart, and how the judges did on the reference."""
    return caption(
        "votes",
        "read",
        finite(seen.get("accuracy")) is not None and "reference",
        accuracy=percent(seen.get("accuracy")),
        where="within" if seen.get("inside") else "outside",
        span=percent_range(seen.get("lower_bound"), seen.get("upper_bound")),
    )


# ------------------------------------------------------------------------------------------ models on a few labels


def ranked_models(result: Result, limit: int = _MOST_FILES) -> list[Json]:
    """Rows of the ranking with a name each that is short and unique, as ``short``."""
    rows = result.get("ranking") or []
    names = unique(str(row.get("model")) for row in rows)
    return [{**row, "short": name} for row, name in zip(rows, names, strict=True)][:limit]


def shots(result: Result) -> Figure | None:
    """The accuracy of each model on the labelled rows with its exact interval, in the order of the ranking."""
    models = ((row, best(inside(row, "evidence", "accuracy"))) for row in ranked_models(result))
    models_with_accuracy = [(row, item) for row, item in models if item]
    if not models_with_accuracy:
        return None
    # those that were drawn at random
    labels = int(result.get("labelled") or 0) - int(result.get("chosen") or 0)
    rows: Rows = []
    for row, accuracy in models_with_accuracy:
        right = f"{number(row['evidence'].get('right'))} of {number(labels)}"
        rows.append(entry(row["short"], accuracy, color=QUIET if rows else ACCENT, right=right))
    top, accuracy = max(models_with_accuracy, key=lambda pair: float(pair[1]["value"]))
    text = f"{top['short']} is ahead: {percent(accuracy['value'], 0)}"
    highest = max(finite(item.get("lower")) or 0.0 for _, item in models_with_accuracy)
    if highest <= min(finite(item.get("upper")) or 1.0 for _, item in models_with_accuracy):
        text = "the ranges of all models overlap"
    title = f"On {number(labels)} label{'' if labels == 1 else 's'} alone, {text}"
    text = caption("shots", "read", level=percent(result.get("level"), 0))
    return categories("shots", title, text, rows, axis_title="accuracy on the labelled rows")


def best_chances(result: Result) -> Figure | None:
    """The probability of each model to be the most accurate of all, as bars, in the order of the ranking."""
    rows = []
    every = ranked_models(result, len(result.get("ranking") or []))
    first = max(every, key=lambda row: finite(row.get("p_best")) or 0.0, default={})
    for row in every[:_MOST_FILES]:
        if (chance := finite(row.get("p_best"))) is not None:
            rows.append(
                {
                    "name": row["short"],
                    "value": chance,
                    "color": ACCENT if row is first else QUIET,
                    "label": percent(chance, 0),
                    "tip": {"": row["short"], "P(best)": percent(chance)},
                }
            )
    if not rows:
        return None
    across = axis(
        [0, 1],
        title="probability of being the best",
        values=[0, 0.25, 0.5, 0.75, 1],
        labelExpr="datum.value * 100 + ' %'",
    )
    plot = Plot(across, names_axis())
    plot.draw(
        "bar",
        rows,
        {"height": 16, "cornerRadiusEnd": 4},
        x="value",
        y="name",
        color="color",
        tooltip="tip",
    )
    plot.draw(
        "text", rows, {"align": "left", "dx": 10, "color": INK}, x=RIGHT, y="name", text="label"
    )
    title = f"{first['short']} is the best with a probability of {percent(first.get('p_best'), 0)}"
    labelled = bool(result.get("labelled"))
    if result.get("open"):
        title = "The labels favour no model" if labelled else "Nothing favours a model"
    basis = "battles" if "battles" in result else "read" if labelled else "unlabelled"
    read = caption("best-chances", basis)
    return plot.figure("best-chances", title, read, height=ROW_HEIGHT * len(rows))
