"""How often 95 % intervals of Krippendorff's alpha hold the alpha of many items; writes results/agreement.json and .md.

python -m benchmarks.agreement [--draws N]

Raters say what is true of an item with one chance, else another value: any of five words, of two, of five words of
which one is true of 70 % of items, or the grade beside it. The truth is the alpha of 100,000 such items. Beside ours
the plain percentiles of a bootstrap over items, which most packages give, and Student's interval of the jackknife on
Fisher's scale, which is ours without the item that is made up; the last column divides our width by that of the
narrowest of the two that held the truth in 93 % of draws.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator
from itertools import product

import numpy as np

from benchmarks import kit
from oodometer.errors import NotApplicable
from oodometer.inference.agreement import Ratings, Scale, agreement, alphas, jackknife
from oodometer.inference.clusters import student_quantile

LEVEL, MANY, RESAMPLED = 0.95, 100_000, 1_000
LAWS: dict[str, tuple[Scale, np.ndarray]] = {
    "five words": ("nominal", np.full(5, 0.2)),
    "two words": ("nominal", np.full(2, 0.5)),
    "five words, one common": ("nominal", np.array([0.7, 0.15, 0.05, 0.05, 0.05])),
    "grades, ordinal": ("ordinal", np.full(5, 0.2)),
    "grades, interval": ("interval", np.full(5, 0.2)),
}
SIZES = ((10, 3, 0.7), (20, 3, 0.7), (30, 2, 0.95), (50, 2, 0.8), (200, 4, 0.8))


def drawn(law: str, items: int, raters: int, skill: float, rng: np.random.Generator) -> np.ndarray:
    """Ratings by rater and item; a fifth is missing where there are four raters."""
    scale, shares = LAWS[law]
    truth = rng.choice(len(shares), items, p=shares)
    size = (raters, items)
    beside = np.clip(truth + rng.choice([-1, 1], size), 0, len(shares) - 1)
    other = rng.integers(len(shares), size=size) if scale == "nominal" else beside
    ratings = np.where(rng.random(size) < skill, truth, other).astype(float)
    ratings[rng.random(size) < (0.2 if raters > 3 else 0)] = np.nan
    return ratings


def percentiles(ratings: Ratings, scale: Scale, rng: np.random.Generator) -> tuple[float, float]:
    """The plain bootstrap over items."""
    total = int(ratings.items.sum())
    draws = rng.multinomial(total, ratings.items / total, size=RESAMPLED)
    low, high = np.nanquantile(alphas(draws, ratings, scale), [0.025, 0.975])
    return float(low), float(high)


def jackknifed(ratings: Ratings, scale: Scale, value: float) -> tuple[float, float]:
    """Student's interval of the jackknife on Fisher's scale; the value where that is 1."""
    if value >= 1:
        return 1.0, 1.0
    reach = student_quantile(LEVEL, ratings.items.sum() - 1) * jackknife(ratings, scale)
    middle, reach = math.atanh(value), reach / (1 - value**2)
    return math.tanh(middle - reach), math.tanh(middle + reach)


def against_best(row: kit.Result) -> str:
    """Our width over that of the narrowest other interval that held the truth in 93 % of draws; empty without one."""
    others = zip(row["coverage"][1:], row["width"][1:], strict=True)
    held = [width for coverage, width in others if coverage >= 0.93]
    return f"{row['width'][0] / min(held):.2f}" if held else ""


def measured(draws: int) -> Iterator[kit.Result]:
    for number, (law, (items, raters, skill)) in enumerate(product(LAWS, SIZES)):
        scale, rng = LAWS[law][0], np.random.default_rng([number, 0xA1])
        truth = agreement(Ratings.of(drawn(law, MANY, raters, skill, rng)), scale).alpha.value
        inside, width, done = np.zeros(3), np.zeros(3), 0
        while done < draws:
            try:
                ratings = Ratings.of(drawn(law, items, raters, skill, rng))
            except NotApplicable:  # all say the same of all
                continue
            ours = agreement(ratings, scale, LEVEL).alpha
            plain = percentiles(ratings, scale, rng)
            ends = np.array(
                [(ours.lower, ours.upper), plain, jackknifed(ratings, scale, ours.value)]
            )
            inside += (ends[:, 0] <= truth) & (truth <= ends[:, 1])
            width += ends[:, 1] - ends[:, 0]
            done += 1
        yield {
            "law": law,
            "items": items,
            "raters": raters,
            "alpha": truth,
            "coverage": (inside / draws).tolist(),
            "width": (width / draws).tolist(),
        }


def page(result: kit.Result) -> str:
    rows = [
        [
            row["law"],
            str(row["items"]),
            str(row["raters"]),
            f"{row['alpha']:.2f}",
            *(
                f"{100 * covered:.1f} ({wide:.2f})"
                for covered, wide in zip(row["coverage"], row["width"], strict=True)
            ),
            against_best(row),
        ]
        for row in result["rows"]
    ]
    lines = [
        "# Krippendorff's alpha: coverage of nominal 95 % intervals, and mean width",
        "",
        f"`python -m benchmarks.agreement --draws {result['draws']}`; coverage in %, width in brackets.",
        "",
        *kit.table(
            [
                "ratings",
                "items",
                "raters",
                "alpha",
                "ours",
                "percentiles",
                "jackknife",
                "width / best",
            ],
            rows,
        ),
    ]
    return kit.joined([*lines, *kit.promises(result["limits"])])


def measure(given: argparse.Namespace) -> kit.Result:
    rows = [*measured(given.draws)]
    ours = [row["coverage"][0] for row in rows]
    limits = [
        {"limit": "lowest coverage, at least 0.93", "value": min(ours), "holds": min(ours) >= 0.93},
    ]
    return {"draws": given.draws, "level": LEVEL, "limits": limits, "rows": rows}


if __name__ == "__main__":
    raise SystemExit(kit.command(__doc__, "agreement", measure, page, draws=(600, "draws a cell")))
