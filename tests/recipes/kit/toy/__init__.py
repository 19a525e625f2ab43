"""A toy recipe: does more training data help on digits that are not as they were? Three claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from oodometer.metrics.votes import paired_gap, share
from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Panel
from oodometer_lab.recipes.base import Progress, Recipe, Step, Workspace, judged
from oodometer_lab.recipes.kit.claims import Row, above, claims_from, claims_table
from oodometer_lab.recipes.kit.publish import Figures, write_result
from oodometer_lab.recipes.kit.tables import Page, percent, tables_page

__all__ = ["RECIPE"]

NOISE = (0.0, 4.0, 8.0)
ROWS = {"SMALL": 60, "LARGE": 600}
PAGE = Page(  # of a real recipe it stands in page.toml beside the module: Page.beside(__file__)
    {
        "page": {"title": "Digits", "lead": "A toy"},
        "claims": {
            "more_helps": ["more rows help on most sets", "{seen}"],
            "saves": ["somewhere more rows turn failure into success", "{seen}"],
            "cheap": ["few rows are enough for children", "no children took part"],
        },
        "tables": {
            "accuracy": {
                "words": "**Accuracy, %**",
                "heads": "noise | SMALL | LARGE | gain",
                "row": "{name} | {SMALL:percent} | {LARGE:percent} | {gain:percent}",
            }
        },
        "figures": {
            "accuracy": {"title": "Accuracy by noise", "caption": "A line for each model."}
        },
    }
)


@final
class Toy(Recipe):
    """Two classifiers of digits, trained on few and on many rows, asked on digits with three amounts of noise."""

    name = "toy"
    title = "Does more training data help?"
    citation = "mishra2022"
    scales = ("small",)

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Train and ask, then draw."""

        def work(workspace: Workspace, progress: Progress) -> None:
            write_result(self, workspace, {"scale": scale, "sets": study()})

        left = ("result.json", "result.md")
        return [
            Step("tables", "training and judging", left, work, {"noise": NOISE, "rows": ROWS}),
            Step("figures", "drawing", FIGURES.files(), FIGURES.draw, {}, ("tables",)),
        ]

    def claims(self, result: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Three claims of a paper that nobody wrote."""
        gains = [one["gain"]["value"] for one in result["sets"]]
        looks = [above(one["gain"], 0) for one in result["sets"]]
        worse = [above(one["gain"], 0.9) for one in result["sets"]]
        seen = "; ".join(f"noise {one['name']}: {percent(one['gain'])}" for one in result["sets"])
        rows = [
            Row("more_helps", "paired", "rows", looks, gains, {"seen": seen}, "most"),
            Row("saves", "paired", "rows", worse, gains, {"seen": seen}, "any"),
            Row("cheap", "", "rows", []),
        ]
        return judged(claims_from(PAGE, rows))

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Accuracies and claims."""
        return tables_page([PAGE.table("accuracy", result["sets"]), claims_table(result["claims"])])


def study() -> list[dict[str, Any]]:
    """Accuracy of both classifiers on each set, and the difference on the same rows."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression

    inputs, labels = load_digits(return_X_y=True)
    rng, models = np.random.default_rng(0), {}
    for name, rows in ROWS.items():
        models[name] = LogisticRegression(C=0.01, max_iter=500).fit(inputs[:rows], labels[:rows])
    out = []
    for noise in NOISE:
        asked = inputs[600:] + rng.normal(0, noise, inputs[600:].shape)
        right = {name: model.predict(asked) == labels[600:] for name, model in models.items()}
        gain = right["LARGE"].astype(float) - right["SMALL"]
        row: dict[str, Any] = {"name": f"{noise:g}"}
        for name, found in right.items():
            accuracy = share(int(found.sum()), len(found), 0.95)
            row[name] = accuracy.to_dict()
        row["gain"] = paired_gap(
            float(gain.sum()), float((gain**2).sum()), len(gain), 0.95
        ).to_dict()
        out.append(row)
    return out


def by_noise(result: Mapping[str, Any]) -> list[Panel]:
    """Accuracy by noise."""
    rows = [
        {"model": name, "noise": float(one["name"]), "order": i, "accuracy": one[name]["value"]}
        for name in ROWS
        for i, one in enumerate(result["sets"])
    ]
    chart = plain.lines(plain.axis("noise", "noise"), plain.axis("accuracy", "accuracy"), "model")
    return [Panel("all", "", chart, rows)]


FIGURES = Figures(PAGE, {"accuracy": by_noise})
RECIPE = Toy()
