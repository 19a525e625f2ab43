"""Evaluations of language models beside their peers: coverage, width and time on the same data, in one run.

pip install judgy==0.1.0 truescore==0.7.4 cje-eval==0.9.3
python -m benchmarks.peers_evaluations [--draws N] [--judged N]     writes results/peers_evaluations.json and .md

Five questions: the mean of right and wrong, the mean of scores, the mean of rows in clusters, the difference of two
models on the same questions, and a judge's pass rate corrected by the labels of some rows. Simulated data, whose truth
is known, and the stored answers of 29 models to MMLU-Pro ($OODOMETER_DATA, natural4/mmlupro): rows drawn from them are
the sample, all rows the truth; there a judge is another model, or the vote of five, that gives the same answer.

Sides: inspect (0.3.285) and lm-evaluation-harness (0.4.13) report a standard error, the sample standard deviation over
sqrt(n), which users take 1.96 times; inspect's `stderr(cluster=)` is sqrt(G/(G-1) sum_g (sum_g (x - mean))^2) / n, its
`ci` takes Student's t with n - 1, or G - 1, degrees, and `ci_wilson` is Wilson's. These formulas are written out here;
judgy, truescore and cje are called. A side that refuses a draw is not counted there; how often is said below a table.
"""

from __future__ import annotations

import argparse
import json
import sys
import tarfile
import tempfile
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from benchmarks import kit
from oodometer.audits.judges import Counts, Judged, rogan_gladen
from oodometer.inference.betting import SampledRows, betting_interval
from oodometer.inference.clusters import Clusters, clustered_share
from oodometer.inference.means import bounded_mean
from oodometer.inference.paired import Paired

try:
    import cje
    import judgy
    import truescore
except ImportError as error:
    raise SystemExit(
        f"{error}: pip install judgy==0.1.0 truescore==0.7.4 cje-eval==0.9.3"
    ) from None

Ends = tuple[float, float]
Side = Callable[..., Ends]
ROWS, RESAMPLES = (
    2_000,
    2_000,
)  # rows of a judged run; judgy's default of 20,000 takes ten times as long
Z = 1.959963984540054
OWN = "the judge's own rate"
SLOW = ("oodometer, betting", "judgy", "cje")  # of judges; they get fewer draws


# ---- the peers -----------------------------------------------------------------------------------------------------


def standard_error(x: Any, keys: Any = None) -> float:
    """As of inspect's `stderr` and lm-evaluation-harness's `mean_stderr`; clustered as of inspect alone."""
    if keys is None:
        return float(np.std(x, ddof=1) / np.sqrt(len(x)))
    sums = np.bincount(keys, x - x.mean())
    return float(np.sqrt((sums**2).sum() * len(sums) / (len(sums) - 1)) / len(x))


def around(value: float, half: float) -> Ends:
    return value - half, value + half


def inspect_stderr(x: Any, keys: Any = None) -> Ends:
    return around(x.mean(), Z * standard_error(x, keys))


def inspect_t(x: Any, keys: Any = None) -> Ends:
    many = len(x) if keys is None else int(keys.max()) + 1
    return around(x.mean(), float(stats.t.ppf(0.975, many - 1)) * standard_error(x, keys))


def inspect_wilson(x: Any) -> Ends:
    n, p = len(x), x.mean()
    middle, half = p + Z**2 / (2 * n), Z * np.sqrt(p * (1 - p) / n + Z**2 / (4 * n * n))
    return (middle - half) / (1 + Z**2 / n), (middle + half) / (1 + Z**2 / n)


def unpaired(a: Any, b: Any, keys: Any = None) -> Ends:
    """Two standard errors as logs have them, as if the runs had been of different questions."""
    return around(
        b.mean() - a.mean(), Z * float(np.hypot(standard_error(a, keys), standard_error(b, keys)))
    )


def ends_of(result: Any) -> Ends:
    return float(result.low), float(result.high)


def truescore_mean(x: Any, keys: Any = None) -> Ends:
    return ends_of(truescore.gold_only_estimate(x, clusters=keys))


def truescore_mcnemar(a: Any, b: Any) -> Ends:
    return ends_of(truescore.mcnemar(b, a))


def truescore_bootstrap(a: Any, b: Any, keys: Any = None) -> Ends:
    return ends_of(truescore.paired_bootstrap(b, a, n_bootstrap=2_000, clusters=keys))


def judge_alone(judge: Any, labels: Any, at: Any) -> Ends:
    return ends_of(truescore.judge_only_estimate(judge))


def labels_alone(judge: Any, labels: Any, at: Any, keys: Any = None) -> Ends:
    return ends_of(
        truescore.gold_only_estimate(labels, clusters=None if keys is None else keys[at])
    )


def judgy_rate(judge: Any, labels: Any, at: Any) -> Ends:
    np.random.seed(int(at[0]))  # noqa: NPY002 - judgy draws from it
    whole = (np.asarray(part, dtype=int) for part in (labels, judge[at], judge))
    _, low, high = judgy.estimate_success_rate(*whole, bootstrap_iterations=RESAMPLES)
    return low, high


def truescore_ppi(judge: Any, labels: Any, at: Any, keys: Any = None) -> Ends:
    return ends_of(truescore.ppi_estimate(judge, labels, at, clusters=keys))


def truescore_rogan_gladen(judge: Any, labels: Any, at: Any) -> Ends:
    return ends_of(truescore.rogan_gladen_estimate(judge, labels, at))


def cje_mean(judge: Any, labels: Any, at: Any, keys: Any = None) -> Ends:
    sparse = np.full(len(judge), np.nan)
    sparse[at] = labels
    low, high = cje.calibrated_mean_ci(np.asarray(judge, float), sparse, cluster_ids=keys).ci
    return float(low), float(high)


# ---- ours ----------------------------------------------------------------------------------------------------------


def our_clustered(x: Any, keys: Any) -> Ends:
    """What `evaluate --cluster` prints: of right and wrong Clopper and Pearson's for effective rows, of scores bets."""
    if not np.isin(x, (0, 1)).all():
        return our_mean(x, keys)
    return clustered_share(Clusters.of(keys.astype(np.uint64), x), len(x), float(x.mean()), 0.95)


def our_mean(x: Any, keys: Any = None) -> Ends:
    """What `evaluate` prints of right and wrong and of scores; of clusters by bets on their sums, which is exact."""
    mean = bounded_mean(x, keys=None if keys is None else keys.astype(np.uint64))
    return mean.lower, mean.upper


def our_t(x: Any, keys: Any = None) -> Ends:
    """Student's, which stands beside it."""
    return bounded_mean(x, keys=None if keys is None else keys.astype(np.uint64)).t


def our_gap(a: Any, b: Any, keys: Any = None) -> Ends:
    """What `compare` prints first."""
    gap = Paired(np.stack([b, a]), keys).difference(0, 1, 0.95)
    return gap.lower, gap.upper


def verdicts(judge: Any, labels: Any, at: Any) -> Judged:
    return Judged(np.asarray(judge, float)[None], at, np.asarray(labels, float), ("judge",))


def our_rate(judge: Any, labels: Any, at: Any, keys: Any = None) -> Ends:
    """What `audit --judge` prints first."""
    judged = verdicts(judge, labels, at)
    return Counts.of(judged, judged.cells, 0.95, None if keys is None else keys[at]).interval(0.95)[
        1:
    ]


def our_betting(judge: Any, labels: Any, at: Any) -> Ends:
    """Its exact interval."""
    hits, rows, sampled = (
        int(labels.sum()),
        len(judge),
        SampledRows.evenly(at, labels.astype(float)),
    )
    game = sampled.game(np.asarray(judge, float), 0.5)
    low, high = betting_interval(game, 0.95, hits / rows, (rows - len(at) + hits) / rows)
    return float(low), float(high)


def our_rogan_gladen(judge: Any, labels: Any, at: Any) -> Ends:
    """Its interval by the judge's error rates alone."""
    if not 0 < labels.sum() < len(labels):
        raise ValueError("labels of one kind")
    low, high = rogan_gladen(verdicts(judge, labels, at), 0.95)[1:]
    return max(low, 0.0), min(high, 1.0)


SIDES: dict[str, dict[str, Side]] = {
    "mean of right and wrong": {
        "oodometer": our_mean,
        "stderr (inspect, lm-eval)": inspect_stderr, "t (inspect)": inspect_t,
        "Wilson (inspect, truescore)": inspect_wilson,
    },
    "mean of scores": {
        "oodometer": our_mean, "stderr (inspect, lm-eval)": inspect_stderr, "t (inspect, truescore)": inspect_t,
    },
    "mean of rows in clusters": {
        "oodometer": our_clustered, "oodometer, exact": our_mean, "oodometer, t": our_t,
        "stderr (lm-eval)": lambda x, keys: inspect_stderr(x), "clustered stderr (inspect)": inspect_stderr,
        "clustered t (inspect)": inspect_t, "truescore": truescore_mean,
    },
    "difference of two models": {
        "oodometer": our_gap,
        "two stderr (inspect, lm-eval)": unpaired, "McNemar's (truescore)": truescore_mcnemar,
        "bootstrap (truescore)": truescore_bootstrap,
    },
    "difference of two models in clusters": {
        "oodometer": our_gap,
        "two clustered stderr (inspect)": unpaired,
        "rows bootstrap (truescore)": lambda a, b, keys: truescore_bootstrap(a, b),
        "cluster bootstrap (truescore)": truescore_bootstrap,
    },
    "corrected judge rate": {
        "oodometer": our_rate, "oodometer, betting": our_betting, "oodometer, error rates": our_rogan_gladen,
        OWN: judge_alone, "labels alone (truescore)": labels_alone, "judgy": judgy_rate,
        "ppi++ (truescore)": truescore_ppi, "Rogan-Gladen (truescore)": truescore_rogan_gladen, "cje": cje_mean,
    },
    "corrected judge rate in clusters": {
        "oodometer": our_rate, "labels alone (truescore)": labels_alone,
        "judgy": lambda judge, labels, at, keys: judgy_rate(judge, labels, at),
        "ppi++ (truescore)": truescore_ppi, "cje": cje_mean,
    },
}  # fmt: skip


# ---- the data ------------------------------------------------------------------------------------------------------

Draw = tuple[tuple[Any, ...], float]
"""What the sides are given, and the truth."""


def latent(keys: Any, share: float, rng: np.random.Generator) -> Any:
    """Standard normal numbers of which a ``share`` of the variance is the cluster's; shape of keys."""
    common = rng.normal(size=int(keys.max()) + 1)[keys]
    return np.sqrt(share) * common + np.sqrt(1 - share) * rng.normal(size=len(keys))


def score_draw(kind: str, n: int, rng: np.random.Generator) -> tuple[Any, float]:
    """Scores in [0, 1] and their mean."""
    if kind == "grades 1 to 5":
        p = np.array([0.05, 0.1, 0.15, 0.3, 0.4])
        return rng.choice(5, n, p=p) / 4, float(p @ np.arange(5) / 4)
    if kind == "F1: half are 1, a quarter 0":
        u = rng.random(n)
        return np.where(
            u < 0.5, 1.0, np.where(u < 0.75, 0.0, rng.beta(4, 3, n))
        ), 0.5 + 0.25 * 4 / 7
    x = np.where(rng.random(n) < 0.95, 1.0, rng.beta(1, 2, n))
    return x, 0.95 + 0.05 / 3


def means(n: int, p: float) -> Callable[[np.random.Generator], Draw]:
    return lambda rng: (((rng.random(n) < p).astype(float),), p)


def scores(n: int, kind: str) -> Callable[[np.random.Generator], Draw]:
    def drawn(rng: np.random.Generator) -> Draw:
        x, truth = score_draw(kind, n, rng)
        return (x,), truth

    return drawn


def clustered(
    sizes: Any, share: float, p: float, graded: bool = False
) -> Callable[[np.random.Generator], Draw]:
    """Right and wrong, or scores between 0 and 1, that are alike within a cluster."""

    def drawn(rng: np.random.Generator) -> Draw:
        keys = np.repeat(np.arange(len(sizes)), sizes)
        x = latent(keys, share, rng)
        if graded:  # E Phi(c + x) = Phi(c / sqrt 2)
            return (stats.norm.cdf(np.sqrt(2) * stats.norm.ppf(p) + x), keys), p
        return ((x < stats.norm.ppf(p)).astype(float), keys), p

    return drawn


def pairs(
    n: int, only_b: float, only_a: float, both: float
) -> Callable[[np.random.Generator], Draw]:
    def drawn(rng: np.random.Generator) -> Draw:
        cell = rng.choice(4, n, p=[only_b, only_a, both, 1 - only_a - only_b - both])
        return (
            ((cell == 1) | (cell == 2)).astype(int),
            ((cell == 0) | (cell == 2)).astype(int),
        ), only_b - only_a

    return drawn


def clustered_pairs(clusters: int, size: int, gap: float) -> Callable[[np.random.Generator], Draw]:
    """Both models do well or badly on a cluster together by half, each on its own by another part."""

    def drawn(rng: np.random.Generator) -> Draw:
        keys = np.repeat(np.arange(clusters), size)
        hard = latent(keys, 0.5, rng)
        own = [np.sqrt(0.5) * (hard + latent(keys, 0.5, rng)) for _ in range(2)]
        sides = (x < stats.norm.ppf(p) for x, p in zip(own, (0.6, 0.6 + gap), strict=True))
        return (*(side.astype(int) for side in sides), keys), gap

    return drawn


def judged(
    labels: int, rate: float, sensitivity: float, specificity: float
) -> Callable[[np.random.Generator], Draw]:
    """The truth is the rate among the run's own rows, of which some are labelled."""

    def drawn(rng: np.random.Generator) -> Draw:
        right = rng.random(ROWS) < rate
        judge = rng.random(ROWS) < np.where(right, sensitivity, 1 - specificity)
        at = np.sort(rng.choice(ROWS, labels, replace=False))
        return (judge.astype(int), right[at].astype(int), at), float(right.mean())

    return drawn


def judged_clusters(
    clusters: int, rate: float, sensitivity: float, specificity: float
) -> Callable[[Any], Draw]:
    """Clusters of five rows, labelled whole; right answers and the judge's errors are alike within."""

    def drawn(rng: np.random.Generator) -> Draw:
        keys = np.repeat(np.arange(ROWS // 5), 5)
        right = latent(keys, 0.5, rng) < stats.norm.ppf(rate)
        judge = latent(keys, 0.5, rng) < stats.norm.ppf(
            np.where(right, sensitivity, 1 - specificity)
        )
        at = np.flatnonzero(np.isin(keys, rng.choice(ROWS // 5, clusters, replace=False)))
        return (judge.astype(int), right[at].astype(int), at, keys), float(right.mean())

    return drawn


@cache
def answers() -> list[tuple[Any, Any]]:
    """Of each model and subject of MMLU-Pro its answers, right or wrong, (question,), and those of 27 other models with
    whether they are the same, (question, model, 2): right, same.
    """
    import pyarrow.parquet as pq

    out = []
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(kit.data_folder() / "natural4/mmlupro.tar.xz") as archive:
            archive.extractall(folder, filter="data")
        for case in sorted(Path(folder).glob("*/*/")):
            target, labels = (
                pq.read_table(case / f"{name}.parquet") for name in ("target", "labels")
            )
            prediction, label = target["prediction"].to_numpy(), labels["label"].to_numpy()
            members = np.array(target["members"].to_pylist())
            vote = np.stack([members == label[:, None], members == prediction[:, None]], axis=-1)
            out.append((prediction == label, vote, prediction, members))
    return out


def a_case(rng: np.random.Generator, least: int = 0) -> tuple[Any, ...]:
    fitting = [case for case in answers() if len(case[0]) >= least]
    return fitting[rng.integers(len(fitting))]


def real_mean(n: int) -> Callable[[np.random.Generator], Draw]:
    def drawn(rng: np.random.Generator) -> Draw:
        right = a_case(rng)[0]
        return (rng.choice(right, n).astype(float),), float(right.mean())

    return drawn


def real_scores(n: int) -> Callable[[np.random.Generator], Draw]:
    """The share of 27 models that know the answer, as a score of each question."""

    def drawn(rng: np.random.Generator) -> Draw:
        score = a_case(rng)[1][..., 0].mean(axis=1)
        return (rng.choice(score, n),), float(score.mean())

    return drawn


def real_pairs(n: int) -> Callable[[np.random.Generator], Draw]:
    def drawn(rng: np.random.Generator) -> Draw:
        right, others, *_ = a_case(rng)
        other = others[:, rng.integers(others.shape[1]), 0]
        rows = rng.integers(len(right), size=n)
        return (right[rows].astype(int), other[rows].astype(int)), float(
            other.mean() - right.mean()
        )

    return drawn


def real_judge(labels: int, voters: int) -> Callable[[np.random.Generator], Draw]:
    """The judge passes an answer that another model gives, too, or that is the first choice of some."""

    def drawn(rng: np.random.Generator) -> Draw:
        right, _, prediction, members = a_case(rng, 2 * labels)
        chosen = members[:, rng.choice(members.shape[1], voters, replace=False)]
        votes = (chosen[:, :, None] == np.arange(members.max() + 1)).sum(axis=1)
        judge = votes.argmax(axis=1) == prediction
        at = np.sort(rng.choice(len(right), labels, replace=False))
        return (judge.astype(int), right[at].astype(int), at), float(right.mean())

    return drawn


JUDGES = (
    (0.55, 0.9, 0.55),
    (0.55, 0.95, 0.9),
    (0.55, 0.6, 0.7),
    (0.9, 0.9, 0.6),
)  # rate, sensitivity, specificity
UNEVEN = np.r_[np.full(15, 3), np.full(4, 20), 60]
CELLS: dict[str, dict[str, Callable[[np.random.Generator], Draw]]] = {
    "mean of right and wrong": {
        **{f"{n} rows, {p:.0%} right": means(n, p) for n in (20, 50, 200) for p in (0.5, 0.9, 0.97)},
        **{f"MMLU-Pro, {n} rows": real_mean(n) for n in (50, 200)},
    },
    "mean of scores": {
        **{f"{n} rows, {kind}": scores(n, kind) for n in (20, 50, 200)
           for kind in ("grades 1 to 5", "F1: half are 1, a quarter 0", "95 % are 1")},
        **{f"MMLU-Pro, {n} rows": real_scores(n) for n in (50, 200)},
    },
    "mean of rows in clusters": {
        "20 of 10 rows, 60 %": clustered(np.full(20, 10), 0.5, 0.6),
        "20 of 10 rows, 90 %": clustered(np.full(20, 10), 0.5, 0.9),
        "8 of 25 rows, 60 %": clustered(np.full(8, 25), 0.5, 0.6),
        "20 uneven, 3 to 60 rows, 60 %": clustered(UNEVEN, 0.5, 0.6),
        "100 of 5 rows, 60 %": clustered(np.full(100, 5), 0.3, 0.6),
        "20 of 10 scores, mean 0.6": clustered(np.full(20, 10), 0.5, 0.6, graded=True),
        "20 of 10 scores, mean 0.9": clustered(np.full(20, 10), 0.5, 0.9, graded=True),
    },
    "difference of two models": {
        **{f"{n} rows, {b:.0%} only B, {a:.0%} only A": pairs(n, b, a, 0.5)
           for n in (50, 200, 1_000) for b, a in ((0.1, 0.1), (0.15, 0.05), (0.03, 0.01))},
        **{f"MMLU-Pro, {n} rows": real_pairs(n) for n in (50, 200)},
    },
    "difference of two models in clusters": {
        "20 of 10 rows, no difference": clustered_pairs(20, 10, 0.0),
        "20 of 10 rows, 5 points": clustered_pairs(20, 10, 0.05),
        "100 of 5 rows, 5 points": clustered_pairs(100, 5, 0.05),
    },
    "corrected judge rate": {
        **{f"{n} labels, {rate:.0%} right, judge {sens:g} and {spec:g}": judged(n, rate, sens, spec)
           for n in (50, 100, 300) for rate, sens, spec in JUDGES},
        **{f"MMLU-Pro, {n} labels, {who}": real_judge(n, voters) for n in (50, 150, 300)
           for voters, who in ((1, "another model"), (5, "the vote of five"))},
    },
    "corrected judge rate in clusters": {
        f"{many} clusters of 5 labelled, 55 % right, judge 0.9 and 0.55": judged_clusters(many, 0.55, 0.9, 0.55)
        for many in (20, 60)
    },
}  # fmt: skip


# ---- measuring -----------------------------------------------------------------------------------------------------


def cells(draws: int, few: int, only: str) -> Iterator[dict[str, Any]]:
    """Coverage, width, seconds a call and refusals of each side in each setting; what an interrupted run has measured
    stands in peers_evaluations.jsonl of `kit.bench_dir`, a setting a line.
    """
    part, number = kit.bench_dir() / "peers_evaluations.jsonl", 0
    part.parent.mkdir(parents=True, exist_ok=True)
    lines = part.read_text(encoding="utf-8").splitlines() if part.exists() else []
    done = {(cell["question"], cell["setting"]): cell for cell in map(json.loads, lines)}
    for question, settings in CELLS.items():
        for setting, draw in settings.items():
            number += 1
            if only not in f"{question}: {setting}":
                continue
            if (question, setting) in done:
                yield done[question, setting]
                continue
            start = time.perf_counter()
            rng = np.random.default_rng([45, number])
            seen: dict[str, list[tuple[bool, float, float]]] = defaultdict(list)
            refused: dict[str, int] = defaultdict(int)
            for turn in range(draws):
                given, truth = draw(rng)
                for side, interval in SIDES[question].items():
                    if side in SLOW and turn >= few:
                        continue
                    began = time.perf_counter()
                    try:
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore")
                            low, high = interval(*given)
                    except (ValueError, RuntimeError):
                        refused[side] += 1
                        continue
                    seen[side].append(
                        (
                            low - 1e-9 <= truth <= high + 1e-9,
                            high - low,
                            time.perf_counter() - began,
                        )
                    )
            sides = {}
            for side, rows in seen.items():
                covered, width, seconds = np.array(rows, dtype=float).T
                many = len(rows) + refused[side]
                sides[side] = {"coverage": covered.mean(), "width": width.mean(), "draws": many}
                sides[side]["refused"] = refused[side] / many
                sides[side]["milliseconds"] = 1e3 * np.median(seconds)
                sides[side] = {name: round(float(value), 5) for name, value in sides[side].items()}
            print(
                f"{question}: {setting}, {time.perf_counter() - start:.0f} s",
                file=sys.stderr,
                flush=True,
            )
            cell = {"question": question, "setting": setting, "sides": sides}
            with part.open("a", encoding="utf-8") as file:
                file.write(json.dumps(cell) + "\n")
            yield cell


# ---- whole processes -----------------------------------------------------------------------------------------------

JUDGY = """
import csv, judgy
rows = list(csv.DictReader(open("verdicts.csv")))
yes = lambda row, name: int(row[name] == "true")
known = [row for row in rows if row["human_passed"]]
print(judgy.estimate_success_rate([yes(r, "human_passed") for r in known], [yes(r, "judge_passed") for r in known],
    [yes(r, "judge_passed") for r in rows]))
"""
CJE = """
import csv, math, cje
rows = list(csv.DictReader(open("verdicts.csv")))
labels = [float(row["human_passed"] == "true") if row["human_passed"] else math.nan for row in rows]
print(cje.calibrated_mean_ci([float(row["judge_passed"] == "true") for row in rows], labels).summary())
"""
OURS, THEIRS = (
    "import sys; from oodometer.cli import main; sys.exit(main())",
    "from truescore.cli import main; main()",
)
TYPED = {
    "a judge's rate, 2,000 rows and 150 labels": {
        "oodometer audit": [OURS, "audit", "verdicts.csv", "--judge", "judge_passed", "--labels", "human_passed"],
        "truescore audit": [THEIRS, "audit", "verdicts.csv", "--judge", "judge_passed", "--gold", "human_passed"],
        "judgy, a script": [JUDGY], "cje, a script": [CJE],
    },
    "two models on the same 400 questions": {
        "oodometer compare": [OURS, "compare", "small.csv", "large.csv", "--cluster", "passage"],
        "truescore compare": [THEIRS, "compare", "both.csv", "--judge-a", "large", "--judge-b", "small"],
    },
    "the mean of 400 scores": {"oodometer evaluate": [OURS, "evaluate", "small.csv", "--cluster", "passage"]},
}  # fmt: skip


def typed(rounds: int) -> list[dict[str, Any]]:
    """Seconds of whole processes on the samples `judged` and `runs`, and what the one rate was."""
    import csv
    import os

    from oodometer.datasets import write_sample

    out = []
    with tempfile.TemporaryDirectory() as folder:
        for sample in ("judged", "runs"):
            write_sample(sample, folder)
        sides = [
            list(csv.DictReader((Path(folder) / f"{name}.csv").open()))
            for name in ("small", "large")
        ]
        with (Path(folder) / "both.csv").open("w", newline="") as file:
            pairs = ([a["id"], a["correct"], b["correct"]] for a, b in zip(*sides, strict=True))
            csv.writer(file).writerows([["id", "small", "large"], *pairs])
        before = Path.cwd()
        os.chdir(folder)
        try:
            for question, commands in TYPED.items():
                turns = {
                    name: partial(kit.timed, [sys.executable, "-c", *words])
                    for name, words in commands.items()
                }
                for name, answers in kit.in_turns(turns, rounds).items():
                    seconds = kit.spread([answer[0] for answer in answers])
                    out.append(
                        {
                            "question": question,
                            "side": name,
                            "seconds": seconds,
                            "says": answers[0][1],
                        }
                    )
        finally:
            os.chdir(before)
    return out


# ---- the page ------------------------------------------------------------------------------------------------------

NOMINAL, SHORT = 0.95, 0.02  # a side covers where it is at most two points short


def worse(cells: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Where what ours prints first falls short, or is wider than a side that covers there."""
    first = "oodometer"
    for cell in cells:
        covered = cell["sides"][first]["coverage"]
        if covered < NOMINAL - SHORT:
            yield f"{cell['setting']}: oodometer covers {covered:.1%}."
    for other in dict.fromkeys(name for cell in cells for name in cell["sides"]):
        gaps = [
            (
                100 * (cell["sides"][first]["width"] - side["width"]),
                100 * side["width"],
                cell["setting"],
            )
            for cell in cells
            if (side := cell["sides"].get(other)) and side["coverage"] >= NOMINAL - SHORT
        ]
        wider = [gap for gap in gaps if gap[0] > 0.02 * gap[1]]
        if wider and not other.startswith(first) and other != OWN:
            most, width, setting = max(wider)
            where = f"at most by {most:.1f} points of {width:.1f} ({setting})"
            yield f"{other} covers in {len(gaps)} of {len(cells)} rows, narrower in {len(wider)} of these, {where}."


def page(result: kit.Result) -> str:
    lines = ["# Evaluations of language models, beside the peers", "", f"`{result['command']}`", "",
        "Coverage of nominal 95 % intervals in %, then mean width in points; **bold** where coverage is more than two "
        "points short. What each side is: the head of `benchmarks/peers_evaluations.py`.", ""]  # fmt: skip
    for question in CELLS:
        rows, refused = [], dict[str, list[float]]()
        chosen = [cell for cell in result["cells"] if cell["question"] == question]
        if not chosen:
            continue
        names = [*SIDES[question]]
        for cell in chosen:
            row = [cell["setting"]]
            for name in names:
                side = cell["sides"].get(name)
                short = side is not None and side["coverage"] < NOMINAL - SHORT
                text = "" if side is None else f"{100 * side['coverage']:.1f}"
                row.append(
                    ""
                    if side is None
                    else f"{f'**{text}**' if short else text}, {100 * side['width']:.1f}"
                )
                if side is not None and side["refused"] > 0:
                    refused.setdefault(name, []).append(side["refused"])
            rows.append(row)
        refusing = "".join(
            f" {name} refused up to {max(some):.1%} of a row's." for name, some in refused.items()
        )
        speed = [
            f"{np.median([c['sides'][n]['milliseconds'] for c in chosen if n in c['sides']]):.2g}"
            for n in names
        ]
        lines += [
            f"## {question.capitalize()}",
            "",
            *kit.table(["data", *names], [*rows, ["milliseconds", *speed]]),
        ]
        every = sorted(
            {int(side["draws"]) for cell in chosen for side in cell["sides"].values()}, reverse=True
        )
        draws = f"{every[0]:,} draws a row"
        if len(every) > 1:
            less = " or ".join(map(str, every[1:]))
            draws += (
                f", of {', '.join(name for name in names if name in SLOW)} the first {less} of them"
            )
        lines += [f"{draws}; milliseconds a call.{refusing}", ""]
    lines += ["## Where ours is worse", ""]
    for question in CELLS:
        texts = list(worse([cell for cell in result["cells"] if cell["question"] == question]))
        lines += [f"- {question.capitalize()}: {' '.join(texts)}"] if texts else []
    lines.append("")
    rows = [
        [one["question"], one["side"], kit.ranged(one["seconds"], 2)]
        for one in result.get("typed", [])
    ]
    about = "Median and range, from the interpreter's start to the answer: reading, working out and printing. "
    about += "Processes took turns on a busy machine: compare them within a question."
    lines += [
        "## Seconds of a whole process",
        "",
        about,
        "",
        *kit.table(["question", "side", "seconds"], rows, "llr"),
    ]
    return kit.joined(lines)


def measure(given: argparse.Namespace) -> kit.Result:
    command = (
        f"python -m benchmarks.peers_evaluations --draws {given.draws} --judged {given.judged}"
    )
    processes = {} if given.no_processes else {"typed": typed(given.rounds)}
    measured = list(cells(given.draws, given.judged, given.only))
    return {"command": command, "machine": kit.machine(), **processes, "cells": measured}


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__, "peers_evaluations", measure, page,
            draws=(1_000, "draws of a setting"), judged=(300, "of these for the slow sides of judges"),
            rounds=(3, "rounds of whole processes"), only=("", "questions whose name contains this"),
            no_processes=(False, "no whole processes"),
        )
    )  # fmt: skip
