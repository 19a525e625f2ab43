"""A toy recipe: does more training data help on digits that are not as they were? Three claims."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, final

import numpy as np

from oodometer.metrics.votes import paired_gap, share
from oodometer.recipes.base import Progress, Recipe, Step, Workspace
from oodometer.recipes.kit.claims import Claim, above, claims_table, either, judged, on_most
from oodometer.recipes.kit.publish import Figures, write_result
from oodometer.recipes.kit.tables import percent, section, tables_page
from oodometer.reports import drawings as plain
from oodometer.reports.drawings import Drawing, Panel

__all__ = ["RECIPE"]

NOISE = (0.0, 4.0, 8.0)
ROWS = {"SMALL": 60, "LARGE": 600}


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
        looks = [above(one["gain"], 0) for one in result["sets"]]
        worse = [above(one["gain"], 0.9) for one in result["sets"]]
        seen = "; ".join(f"noise {one['name']}: {percent(one['gain'])}" for one in result["sets"])
        return judged(
            [
                on_most("more_helps", "more rows help on most sets", seen, "paired, on the rows", looks),
                Claim("saves", "somewhere more rows turn failure into success", seen, "paired", either(worse), 3),
                Claim("cheap", "few rows are enough for children", "no children took part"),
            ]
        )

    def to_markdown(self, result: Mapping[str, Any]) -> str:
        """Accuracies and claims."""
        keys = ("SMALL", "LARGE", "gain")
        rows = [[one["name"], *(percent(one[key]) for key in keys)] for one in result["sets"]]
        table = section("**Accuracy, %**", ["noise", *keys], rows)
        return tables_page([table, claims_table(result["claims"])])


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
            assert accuracy is not None
            row[name] = accuracy.to_dict()
        row["gain"] = paired_gap(float(gain.sum()), float((gain**2).sum()), len(gain), 0.95).to_dict()
        out.append(row)
    return out


def drawings(result: Mapping[str, Any]) -> list[Drawing]:
    """Accuracy by noise."""
    rows = [
        {"model": name, "noise": float(one["name"]), "order": i, "accuracy": one[name]["value"]}
        for name in ROWS
        for i, one in enumerate(result["sets"])
    ]
    chart = plain.lines(plain.axis("noise", "noise"), plain.axis("accuracy", "accuracy"), "model")
    return [Drawing("accuracy", "Accuracy by noise", "A line for each model.", [Panel("all", "", chart, rows)])]


FIGURES = Figures("Digits", "A toy", ("accuracy",), drawings)
RECIPE = Toy()
