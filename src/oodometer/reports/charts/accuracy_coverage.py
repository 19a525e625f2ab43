"""Accuracy and coverage of several models: one curve each, in a domain or as estimated on data without labels."""

from __future__ import annotations

from typing import Any

from ..numbers import finite, number, percent
from ..theme import QUIET, axis, specification
from ..words import capital
from .base import Figure, Result
from .curves import curve_rows, direct_labels, dressed, lines
from .models import DOMAINS, MOST, colors, drawn, names, part

HEIGHT = 380
STEADY = 0.1  # coverage from which on the axis has to hold the bands
FIRST = 0.2  # the share of the rows where careful applications work
APART = 0.005  # of accuracy; a smaller lead is not worth a word
TARGET = "target"


def figures(result: Result) -> list[Figure | None]:
    """A chart for each domain, and one for the target without labels."""
    return [figure(result, domain) for domain in (*DOMAINS, TARGET)]


def curve_of(model: Result, domain: str) -> dict[str, Any]:
    """The accuracy-coverage curve of a model; of the target the estimated one."""
    if domain == TARGET:
        return dict((model.get(TARGET) or {}).get("curve") or {})
    return dict(part(model, domain).get("accuracy_coverage") or {})


def coverage_axis(
    values: tuple[float, ...] = (0.2, 0.4, 0.6, 0.8, 1),
    title: str | None = "rows answered, the most confident first",
) -> Any:
    """The horizontal axis: how much is answered."""
    import altair as alt

    return alt.X(
        "x:Q",
        scale=alt.Scale(domain=[0, 1.02], nice=False),
        axis=alt.Axis(
            values=list(values),
            labelExpr="format(datum.value * 100, '.0f') + ' %'",
            grid=False,
            title=title,
        ),
    )


def tip(name: str, title: str) -> dict[str, str]:
    """What the pointer shows of a point: expressions over its row; ``title`` is what stands beside ``name``."""
    space, dash = "\N{NO-BREAK SPACE}", "\N{EN DASH}"
    share = "format(datum.{} * 100, '.1f')"
    fine = "datum.t > 0.999 && datum.t < 1 ? format(datum.t, '.6f') : format(datum.t, '.3f')"
    return {
        name: title,
        "answered": f"{share.format('x')} + '{space}%'",
        "accuracy": f"{share.format('y')} + '{space}%'",
        "interval": f"{share.format('l')} + '{dash}' + {share.format('u')} + '{space}%'",
        "confidence down to": f"isValid(datum.t) ? ({fine}) : '{dash}'",
    }


def figure(result: Result, domain: str) -> Figure | None:
    """Curves of all models that there is room for; bands of those in colour."""
    called, tones = names(result), colors(result)
    rows: list[dict[str, Any]] = []
    ends: dict[str, tuple[float, str]] = {}
    for model in drawn(result):
        name = str(model.get("name"))
        mine = curve_rows(curve_of(model, domain))
        if mine:
            rows.append(dressed({"model": called[name], **mine}, tones[name], band=tones[name] != QUIET))
            ends[called[name]] = (mine["y"][-1], tones[name])
    if not rows:
        return None
    seen = [value for row in rows for value in row["y"]]
    seen += [value for row in rows if "band" in row for value in steady(row)]
    up = axis(seen, title="accuracy of the answers" if domain != TARGET else "estimated accuracy")
    height = max(HEIGHT, 16 * len(ends))
    labels = direct_labels(ends, up["scale"].domain, height - 40)
    chart = lines(rows, labels, columns="xytlu", across=coverage_axis(), up=up, tip=tip("", "datum.model"))
    finding = title(result, domain)
    spec = specification(chart, height=height, alt_text=finding, spoken=False)
    return Figure(f"curves-{domain.replace('_', '-')}", finding, caption(result, domain), spec)


def steady(columns: Result) -> list[float]:
    """Ends of the band that the axis has to hold: those of the very first rows may reach down to 0.

    >>> steady({"x": [0.01, 0.5], "l": [0.1, 0.8], "u": [1.0, 0.9]})
    [0.8, 0.9]
    """
    kept = zip(columns["x"], columns["l"], columns["u"], strict=True)
    return [end for x, low, high in kept if x >= STEADY for end in (low, high)]


def title(result: Result, domain: str) -> str:
    """Whose curve is highest on the whole, and whether another is ahead where little is answered."""
    where = "Estimated on the target" if domain == TARGET else capital(DOMAINS[domain])
    means: dict[str, tuple[float, float]] = {}
    for model in result.get("models") or []:
        curve = curve_of(model, domain)
        pairs = [
            (x, y)
            for x, y in zip(curve.get("x") or [], curve.get("y") or [], strict=False)
            if finite(x) is not None and finite(y) is not None
        ]
        if pairs:
            early = [y for x, y in pairs if x <= FIRST + 1e-9] or [pairs[0][1]]
            means[str(model.get("name"))] = (
                sum(y for _, y in pairs) / len(pairs),
                sum(early) / len(early),
            )
    called = names(result)
    top = max(means, key=lambda name: means[name][0])
    if len(means) == 1:
        return f"{where} the mean accuracy over all coverages is {percent(means[top][0])}"
    text = f"{where} {called[top]} is the most accurate over all coverages"
    first = max(means, key=lambda name: means[name][1])
    if means[first][1] - means[top][1] >= APART:
        return f"{text}, but on the first {percent(FIRST, 0)} {called[first]} is"
    return f"{text}: {percent(means[top][0])} on average"


def caption(result: Result, domain: str) -> str:
    """What the lines are, and how far the band goes."""
    bands = [one.get("level") for m in drawn(result) if (one := curve_of(m, domain))]
    level = finite(bands[0]) if bands else None
    text = "Accuracy of the rows that a model answers when it leaves out those it is least sure of. "
    if domain == TARGET:
        assumes = curve_of(drawn(result)[0], domain).get("assumes")
        text = "The same without labels: estimated, not seen. "
        text += f"It assumes that {assumes}. " if assumes else ""
    kind = curve_of(drawn(result)[0], domain).get("kind") or ""
    if level is not None:
        text += f"Bands ({kind}, {percent(level, 0)} at each point) are drawn for the models in colour. "
    many = len(result.get("models") or [])
    if many > MOST:
        text += f"Of {number(many)} models {MOST} are drawn. "
    return text + "Rest the pointer near a line to single it out."
