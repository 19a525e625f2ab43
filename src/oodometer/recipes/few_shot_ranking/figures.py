"""Figures: pairwise accuracies across architectures (Figure 4), and factors against ACC by pair (Figures 5 and 6)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ...reports.drawings import Drawing, Panel
from ..base import Progress, Workspace
from ..kit import figures as kit
from .lineup import SUITES

TITLE = "Few-shot ranking: figures"
LEAD = "Pairs of models as Singhal et al. (2022) draw them; numbers and claims are in result.md"
_BY_PAIR = {"figure-5-lime-msgs": ("lime", ("MORPH", "VERB", "ADJECT")), "figure-6-shap": ("shap", ("CON", "PAWS"))}
_SHOWN = {"CON": ("const", "sum-diff"), "PAWS": ("swap-avg", "swap-max-diff")}
_SPREAD = "figure-4-paws-architectures"
_BINS = 10


def names() -> tuple[str, ...]:
    """Names of the files, relative to the workspace."""
    return kit.figure_files((_SPREAD, *_BY_PAIR))


def draw(workspace: Workspace, progress: Progress) -> None:
    """Write the figures."""
    kit.draw(workspace, TITLE, drawings(workspace.read_json("result.json")), LEAD, progress)


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Figures 4 to 6."""
    rows = result["rows"]
    chart = _bars()
    panels = [Panel(name, title, chart, list(_spread(rows, name == "acc"))) for name, title in _SIDES.items()]
    caption = "PAWS, models of different networks, SHAP, every pair and seed: how many pairs lie where."
    out = [Drawing(_SPREAD, "Figure 4: pairwise accuracies across architectures", caption, panels)]
    for name, (method, suites) in _BY_PAIR.items():
        panels = [Panel(suite.lower(), suite, _points(), list(_pairs(rows, method, suite))) for suite in suites]
        title = f"Figure {name[7]}: pairwise accuracy of factors against ACC, {method}"
        caption = "A point a pair and seed, inoculated models; above the line the factor is right more often than ACC."
        out.append(Drawing(name, title, caption, panels, width=280, height=260, columns=3))
    return out


_SIDES = {"acc": "ACC", "factors": "all factors (SHAP)"}


def _spread(rows: Sequence[Mapping[str, Any]], of_baseline: bool) -> Iterator[dict[str, Any]]:
    """Pairs by their pairwise accuracy in ten bins."""
    values: list[float] = []
    for row in rows:
        if (row["suite"], row["group"]) == ("PAWS", "architectures"):
            for name, found in row["pairwise"].items():
                if name == "ACC" if of_baseline else name.startswith("shap/"):
                    values += found
    places = [min(int(one * _BINS), _BINS - 1) for one in values]
    for place in range(_BINS):
        yield {"bin": (place + 0.5) / _BINS, "pairs": places.count(place)}


def _pairs(rows: Sequence[Mapping[str, Any]], method: str, suite: str) -> Iterator[dict[str, Any]]:
    """A point for each pair, seed and factor."""
    shown = _SHOWN.get(suite) or next(one.own for one in SUITES if one.name == suite)
    for row in rows:
        if (row["suite"], row["group"]) != (suite, "inoculated"):
            continue
        for factor in shown:
            ours = row["pairwise"].get(f"{method}/{factor}", ())
            for pair, x, y in zip(row["pairs"], row["pairwise"]["ACC"], ours, strict=False):
                yield {"pair": f"{pair['pair']} (seed {row['seed']})", "factor": factor, "acc": x, "value": y}


def _axis(field: str, title: str) -> dict[str, Any]:
    return {"field": field, "type": "quantitative", "title": title, "scale": {"domain": [0, 1]}}


def _points() -> dict[str, Any]:
    """Points of pairs over the line of equality."""
    colour = {"field": "factor", "type": "nominal", "title": None, "scale": {"scheme": "tableau10"}}
    tooltip = [{"field": one} for one in ("pair", "factor", "acc", "value")]
    point = {
        "mark": {"type": "point", "filled": True, "size": 45, "opacity": 0.75},
        "encoding": {"x": _axis("acc", "ACC"), "y": _axis("value", "factor"), "color": colour, "tooltip": tooltip},
    }
    line = {
        "data": {"values": [{"x": 0, "y": 0}, {"x": 1, "y": 1}]},
        "mark": {"type": "line", "color": "#d9480f", "strokeWidth": 1},
        "encoding": {"x": {"field": "x", "type": "quantitative"}, "y": {"field": "y", "type": "quantitative"}},
    }
    return {"layer": [line, point]}


def _bars() -> dict[str, Any]:
    """How many pairs lie in each bin."""
    return {
        "mark": {"type": "bar", "width": 18},
        "encoding": {
            "x": _axis("bin", "pairwise accuracy"),
            "y": {"field": "pairs", "type": "quantitative", "title": "pairs", "axis": {"tickMinStep": 1}},
            "tooltip": [{"field": "bin"}, {"field": "pairs"}],
        },
    }
