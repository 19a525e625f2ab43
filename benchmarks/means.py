"""How often 95 % intervals of a mean score hold the truth, and how wide they are; writes results/means.json and .md.

python -m benchmarks.means [--draws N] [--only-clusters]

Independent scores on a scale: uniform, beta(2, 5), beta(0.5, 5), nearly all at the upper end, grades 1 to 5, and an F1
(30 % 0, 30 % 1, else beta(3, 2)). Then 20 clusters: a beta law of the clusters' own means with the correlation, and of
each row a verdict or a grade in quarters; sizes equal (10) or uneven (1 to 19 alike). The sides: ours (bets; by
cluster); Student's t (clusters: the jackknife's error, Kish's number of clusters); Maurer and Pontil's empirical
Bernstein interval; Gaffke's, of which nobody has proved that it always holds; rows of clusters taken as independent;
Clopper and Pearson's of effective rows, m (1 - m) / se^2, which `accuracy` has.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from scipy import stats

from benchmarks import kit
from oodometer.inference.clusters import Clusters, student_quantile
from oodometer.inference.means import bounded_mean
from oodometer.intervals import clopper_pearson, normal_quantile

LEVEL = 0.95
ALONE = ("ours", "t", "Bernstein", "Gaffke")
TOGETHER = ("ours", "t", "effective rows", "rows")
CLUSTERS = 20
Ends = tuple[float, float]
SHARES = np.array([0.05, 0.1, 0.2, 0.35, 0.3])


def f1(n: int, rng: np.random.Generator) -> np.ndarray:
    kind = rng.choice(3, n, p=[0.3, 0.3, 0.4])
    return np.where(kind == 2, rng.beta(3, 2, n), kind.astype(float))


LAWS: dict[str, tuple[Callable[[int, np.random.Generator], np.ndarray], float]] = {
    "uniform": (lambda n, rng: rng.random(n), 0.5),
    "beta(2, 5)": (lambda n, rng: rng.beta(2, 5, n), 2 / 7),
    "beta(0.5, 5)": (lambda n, rng: rng.beta(0.5, 5, n), 1 / 11),
    "nearly all 1": (lambda n, rng: np.where(rng.random(n) < 0.95, 1.0, rng.random(n)), 0.975),
    "grades 1 to 5": (
        lambda n, rng: rng.choice(5, n, p=SHARES) / 4,
        float(np.arange(5) @ SHARES / 4),
    ),
    "F1": (f1, 0.3 + 0.4 * 0.6),
}


def of_rows(x: np.ndarray, rng: np.random.Generator) -> dict[str, Ends]:
    """Ends of each side for independent scores between 0 and 1."""
    n, value, mean = len(x), float(x.mean()), bounded_mean(x, LEVEL)
    log = float(np.log(4 / (1 - LEVEL)))
    half = float(np.sqrt(2 * x.var(ddof=1) * log / n)) + 7 * log / (3 * (n - 1))
    weights = rng.dirichlet(np.ones(n + 1), 1000)
    low, high = (
        np.quantile(weights[:, :n] @ x, 0.025),
        np.quantile(weights[:, :n] @ x + weights[:, n], 0.975),
    )
    bernstein = (max(value - half, 0.0), min(value + half, 1.0))
    return {
        "ours": (mean.lower, mean.upper),
        "t": mean.t,
        "Bernstein": bernstein,
        "Gaffke": (float(low), float(high)),
    }


def of_clusters(x: np.ndarray, keys: np.ndarray) -> dict[str, Ends]:
    """Ends of each side for rows of clusters."""
    mean, clusters = bounded_mean(x, LEVEL, keys=keys), Clusters.of(keys, x)
    quantile = student_quantile(LEVEL, clusters.worth - 1) / normal_quantile(LEVEL)
    spread = mean.value * (1 - mean.value)
    worth = (
        min(spread / clusters.variance / quantile**2, len(x))
        if clusters.variance
        else clusters.worth
    )
    half = stats.t.ppf(0.5 + LEVEL / 2, len(x) - 1) * float(x.std(ddof=1)) / len(x) ** 0.5
    effective = clopper_pearson(mean.value * max(worth, 1), max(worth, 1), LEVEL)
    rows = (mean.value - half, mean.value + half)
    return {
        "ours": (mean.lower, mean.upper),
        "t": mean.t,
        "effective rows": effective,
        "rows": rows,
    }


def measured(
    draw: Callable[[], dict[str, Ends]], truth: float, sides: tuple[str, ...], draws: int
) -> kit.Result:
    inside, width = dict.fromkeys(sides, 0), dict.fromkeys(sides, 0.0)
    for _ in range(draws):
        for side, (low, high) in draw().items():
            inside[side] += low <= truth <= high
            width[side] += min(high, 1) - max(low, 0)
    return {
        side: {"coverage": inside[side] / draws, "width": width[side] / draws} for side in sides
    }


def independent(draws: int) -> Iterator[kit.Result]:
    for number, ((law, (make, truth)), n) in enumerate(product(LAWS.items(), (20, 50, 200))):
        rng = np.random.default_rng([number, 0x3E])
        draw = lambda make=make, n=n, rng=rng: of_rows(make(n, rng), rng)  # noqa: E731
        yield {"law": law, "rows": n, "mean": truth, **measured(draw, truth, ALONE, draws)}


def clustered(draws: int) -> Iterator[kit.Result]:
    settings = product(("verdicts", "grades"), (0.3, 0.6), ("equal", "uneven"), (0.6, 0.9))
    for number, (kind, correlation, sizes, truth) in enumerate(settings):
        rng, total = np.random.default_rng([number, 0x3F]), 1 / correlation - 1

        def draw(kind: str = kind, sizes: str = sizes, truth: float = truth, total: float = total,
                 rng: np.random.Generator = rng) -> dict[str, Ends]:  # fmt: skip
            size = np.full(CLUSTERS, 10) if sizes == "equal" else rng.integers(1, 20, CLUSTERS)
            keys = np.arange(CLUSTERS, dtype=np.uint64).repeat(size)
            p = rng.beta(truth * total, (1 - truth) * total, CLUSTERS).repeat(size)
            return of_clusters(
                rng.binomial(1, p) * 1.0 if kind == "verdicts" else rng.binomial(4, p) / 4, keys
            )

        about = {"rows": kind, "correlation": correlation, "sizes": sizes, "mean": truth}
        yield {"about": about, **measured(draw, truth, TOGETHER, draws)}


def page(result: kit.Result) -> str:
    def cells(row: kit.Result, sides: tuple[str, ...]) -> list[str]:
        return [
            f"{100 * row[side]['coverage']:.1f} ({100 * row[side]['width']:.1f})" for side in sides
        ]

    alone = [
        [r["law"], str(r["rows"]), f"{r['mean']:.3f}", *cells(r, ALONE)]
        for r in result["independent"]
    ]
    together = [
        [*(str(v) for v in r["about"].values()), *cells(r, TOGETHER)] for r in result["clustered"]
    ]
    lines = [
        "# Means of scores: coverage of nominal 95 % intervals, and mean width",
        "",
        f"`python -m benchmarks.means --draws {result['draws']}`; coverage in %, width in points of the scale.",
        "",
        "## Independent rows",
        "",
        *kit.table(["scores", "rows", "mean", *ALONE], alone),
        f"## {CLUSTERS} clusters of 10 rows on average",
        "",
        "Ours is by bets on whole clusters, exact; `rows` takes the rows as independent.",
        "",
        *kit.table(["rows of", "correlation", "sizes", "mean", *TOGETHER], together),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    draws = given.before["draws"] if given.only_clusters else given.draws
    alone = given.before["independent"] if given.only_clusters else [*independent(draws)]
    return {"draws": draws, "level": LEVEL, "independent": alone, "clustered": [*clustered(draws)]}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "means",
            measure,
            page,
            draws=(1000, "draws a cell"),
            only_clusters=(False, "keep the intervals of independent rows that are there"),
        )
    )
