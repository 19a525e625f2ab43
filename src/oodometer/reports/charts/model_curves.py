"""Model curves: a small chart for each model, its accuracy over coverage in its domain and out of it, with bands."""

from __future__ import annotations

from typing import Any

from ..numbers import number, percent
from ..theme import ACCENT, REFERENCE, axis, data, specification
from .accuracy_coverage import coverage_axis, curve_of, steady, tip
from .base import Figure, Result
from .curves import curve_rows, told
from .models import DOMAINS, domains, drawn, names, part, score

PREFIX = "model-curve-"
HEIGHT = 170
STYLES: dict[str, tuple[str, tuple[int, int]]] = {
    "in_domain": (ACCENT, (1, 0)),
    "out_of_domain": (REFERENCE, (6, 3)),
}
"""Colour and dash of the line of a domain."""


def figures(result: Result) -> list[Figure]:
    """One small chart for each model that charts show; all have one vertical axis."""
    called, found = names(result), []
    for model in drawn(result):
        rows = [
            {
                "d": DOMAINS[domain],
                "c": STYLES[domain][0],
                "dash": list(STYLES[domain][1]),
                **every_other(mine),
            }
            for domain in domains(result)
            if (mine := curve_rows(curve_of(model, domain)))
        ]
        if rows:
            found.append((model, rows))
    up = axis([end for _, rows in found for row in rows for end in steady(row)], most=4)
    return [
        Figure(f"{PREFIX}{index}", called[str(model.get("name"))], caption(model), _spec(rows, up, called, model))
        for index, (model, rows) in enumerate(found)
    ]


def every_other(columns: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Half of the points, the last among them: small charts show no more."""
    return {key: values[::-1][::2][::-1] for key, values in columns.items()}


def _spec(rows: list[dict[str, Any]], up: dict[str, Any], called: dict[str, str], model: Result) -> dict[str, Any]:
    import altair as alt

    across = coverage_axis((0.25, 0.5, 0.75, 1), None)
    base = alt.Chart(data(rows)).transform_flatten(list("xytlu")).encode(x=across, detail="d:N")
    tone = alt.Color("c:N", scale=None)
    near = told(base, tip("", "datum.d")).mark_point(size=70, opacity=0, filled=True, clip=True)
    layers = [
        base.mark_area(opacity=0.17, clip=True).encode(y=alt.Y("l:Q", **up), y2="u:Q", color=tone),
        base.mark_line(strokeWidth=2, clip=True).encode(
            y=alt.Y("y:Q", **up), color=tone, strokeDash=alt.StrokeDash("dash:N", scale=None)
        ),
        near.encode(y=alt.Y("y:Q", **up), tooltip="tip:N"),
    ]
    words = f"Accuracy over coverage of {called[str(model.get('name'))]}"
    return specification(alt.layer(*layers), height=HEIGHT, alt_text=words, spoken=False)


def caption(model: Result) -> str:
    """AUC and DiSCA of each domain."""
    out = []
    for domain, words in DOMAINS.items():
        if not part(model, domain):
            continue
        told = []
        for name, metric in (("AUC", "auc_coverage"), ("DiSCA", "disca")):
            found = score(model, domain, metric)
            if found:
                told.append(f"{name} {number(found['value'])}")
        accuracy = score(model, domain, "accuracy")
        if accuracy:
            told.append(f"{percent(accuracy['value'])} right on all")
        out.append(f"{words}: {', '.join(told)}")
    return "; ".join(out)
