"""How often 95 % intervals of `audit --judge` hold the rate that people would find; writes results/judged.json and .md.

python -m benchmarks.judged [--draws N] [--latent N] [--again N]

2,000 rows of which a share is good, judges that pass good rows with their sensitivity and bad ones with 1 -
specificity, and people's labels on 50, 100 or 300 rows drawn at random; the truth is the share of good rows among
them. Three judges share their luck in 3 of 10 rows. The sides: `by-verdict`, the default; labels alone (Clopper and
Pearson); PPI++; PPI by betting (other labels of the same rows); Rogan and Gladen with the interval of Lee et al.; and
the profile likelihood of the error rates (fewer draws). The verdicts uncorrected stand beside them.

Of so many settings the lowest coverage is below the nominal one by luck alone: the two settings with the lowest of the
default, of one judge and of three, are drawn again, --again times, with other seeds.

The last table says how often the tests of bias and of change reject at 5 % what is not so. --only-tests keeps the rest,
--only-again all but the settings drawn again.
"""

from __future__ import annotations

import argparse
from itertools import product

import numpy as np

from benchmarks import kit
from oodometer.audits.judge import exact_interval, ppi_plus_plus
from oodometer.audits.judges import Counts, Judged, biases, changes, rogan_gladen
from oodometer.estimators.votes import CorrectedVotes
from oodometer.inference.betting import betting_interval, sampled_game
from oodometer.predictions import Predictions

LEVEL, ROWS, LABELS = 0.95, 2000, (50, 100, 300)
RATES, ERRORS = (0.1, 0.3, 0.5, 0.7, 0.9), (0.6, 0.8, 0.95)
PANELS = (  # sensitivities and specificities of three judges
    ((0.8, 0.8, 0.8), (0.8, 0.8, 0.8)),
    ((0.95, 0.6, 0.6), (0.95, 0.6, 0.6)),
    ((0.9, 0.7, 0.6), (0.6, 0.8, 0.95)),
    ((0.6, 0.6, 0.6), (0.6, 0.6, 0.6)),
)
SIDES = ("by-verdict", "labels alone", "ppi++", "ppi-betting", "rogan-gladen", "votes-corrected")
Ends = tuple[float, float]
Right = tuple[tuple[float, ...], ...]


def drawn(
    rate: float, right: tuple[tuple[float, ...], ...], labels: int, rng: np.random.Generator
) -> tuple[Judged, float]:
    """A run of the judges, with people's labels on its first rows, and the share of good rows."""
    good, shared = rng.random(ROWS) < rate, rng.random(ROWS)
    verdicts = []
    for sensitivity, specificity in zip(*right, strict=True):
        luck = rng.random(ROWS)
        luck = np.where(rng.random(ROWS) < 0.3, shared, luck) if len(right[0]) > 1 else luck
        verdicts.append(np.where(good, luck < sensitivity, luck >= specificity).astype(float))
    names = tuple(f"judge {j}" for j in range(len(verdicts)))
    return Judged(np.array(verdicts), np.arange(labels), good[:labels].astype(float), names), float(
        good.mean()
    )


def sides_of(judged: Judged) -> dict[str, Ends]:
    """The intervals that take no time."""
    truth, labels = judged.truth, len(judged.row)
    one = len(judged.names) == 1
    best = judged.scores[0] if one else judged.crossfitted(0)
    out = {"by-verdict": Counts.of(judged, judged.cells, LEVEL).interval(LEVEL)[1:],
        "labels alone": exact_interval(int(truth.sum()), labels, ROWS, LEVEL),
        "ppi++": ppi_plus_plus(truth, best[judged.row], float(best.mean()), ROWS, LEVEL)[1:]}  # fmt: skip
    if one and 0 < truth.sum() < labels:
        low, high = rogan_gladen(judged, LEVEL)[1:]
        out["rogan-gladen"] = (max(low, 0.0), min(high, 1.0))
    return out


def betting(
    judged: Judged, good: np.ndarray, draws: int, rng: np.random.Generator
) -> dict[str, float]:
    """Coverage and width of the exact interval over other labels of the same rows."""
    labels, score = len(judged.row), judged.scores.mean(axis=0)
    row = np.array([rng.permutation(ROWS)[:labels] for _ in range(draws)])
    correct = good[row].astype(float)
    hits = correct.sum(axis=1)
    game = sampled_game(row, correct, np.ones(labels), score, 0.5)
    low, high = betting_interval(game, LEVEL, hits / ROWS, (ROWS - labels + hits) / ROWS)
    truth = float(good.mean())
    return {
        "coverage": float(((low <= truth) & (truth <= high)).mean()),
        "width": float((high - low).mean()),
    }


def latent(judged: Judged) -> Ends | None:
    """The interval of the error rates' likelihood; None without labels of both kinds."""
    if not 0 < judged.truth.sum() < len(judged.row):
        return None
    votes = judged.scores > 0.5
    reference = Predictions.from_arrays(votes=votes[:, judged.row], correct=judged.truth > 0)
    result = (
        CorrectedVotes(level=LEVEL).fit(reference).estimate(Predictions.from_arrays(votes=votes))
    )
    return result.lower, result.upper


def setting(
    number: int, rate: float, right: Right, labels: int, given: argparse.Namespace
) -> kit.Result:
    """Coverage and mean width of each side."""
    rng = np.random.default_rng([number, 0x1D6E])
    inside: dict[str, list[bool]] = {}
    width: dict[str, list[float]] = {}
    uncorrected = 0.0
    for draw in range(given.draws):
        judged, truth = drawn(rate, right, labels, rng)
        ends = sides_of(judged)
        if draw < given.latent and (more := latent(judged)) is not None:
            ends["votes-corrected"] = more
        for side, (low, high) in ends.items():
            inside.setdefault(side, []).append(low - 1e-9 <= truth <= high + 1e-9)
            width.setdefault(side, []).append(high - low)
        uncorrected += abs(float(judged.scores.mean()) - truth)
    sides = {
        s: {"coverage": float(np.mean(inside[s])), "width": float(np.mean(width[s]))}
        for s in inside
    }
    if labels <= given.betting:
        judged, truth = drawn(rate, right, labels, rng)
        good = np.zeros(ROWS, dtype=bool)
        good[: round(truth * ROWS)] = True
        luck = rng.random((len(right[0]), ROWS))
        pairs = zip(luck, *right, strict=True)
        verdicts = np.array([np.where(good, u < a, u >= b) for u, a, b in pairs], dtype=float)
        fixed = Judged(verdicts, np.arange(labels), good[:labels].astype(float), judged.names)
        sides["ppi-betting"] = betting(fixed, good, min(given.draws, 300), rng)
    about = {"labels": labels, "rate": rate, "sensitivity": right[0], "specificity": right[1]}
    return {**about, "uncorrected": uncorrected / given.draws, "sides": sides}


def worst(result: kit.Result, draws: int) -> list[kit.Result]:
    """The settings with the lowest coverage of the default, drawn again: misses below and above, and the width."""
    out = []
    for name, number in product(("one", "three"), range(2)):
        lowest = sorted(result[name], key=lambda cell: cell["sides"]["by-verdict"]["coverage"])[
            number
        ]
        right, rng = (
            (tuple(lowest["sensitivity"]), tuple(lowest["specificity"])),
            np.random.default_rng([number, 0xA6]),
        )
        sums = np.zeros(3)
        for _ in range(draws):
            judged, truth = drawn(lowest["rate"], right, lowest["labels"], rng)
            low, high = Counts.of(judged, judged.cells, LEVEL).interval(LEVEL)[1:]
            sums += (truth < low - 1e-9, truth > high + 1e-9, high - low)
        below, above, width = (sums / draws).tolist()
        about = {key: lowest[key] for key in ("labels", "rate", "sensitivity", "specificity")}
        before = lowest["sides"]["by-verdict"]["coverage"]
        out.append(
            {
                **about,
                "before": before,
                "below": below,
                "above": above,
                "width": width,
                "draws": draws,
            }
        )
    return out


def tests(draws: int) -> list[kit.Result]:
    """How often the tests of bias and of change reject what is not so at the level 5 %, corrected for their looks."""
    out = []
    for labels, rate in product(LABELS, (0.3, 0.7)):
        rng, rejected = np.random.default_rng([labels, int(10 * rate), 0xB1]), np.zeros(2)
        for _ in range(draws):
            runs = [drawn(rate, ((0.85,), (0.75,)), labels, rng)[0] for _ in range(2)]
            columns = {"length": rng.lognormal(size=labels), "noise": rng.random(labels),
                "group": rng.integers(0, 4, labels).astype(str).astype(object)}  # fmt: skip
            found = min(bias.corrected for bias in biases(runs[0], columns))
            changed = min(change.corrected for change in changes(*runs))
            rejected += (found < 0.05, changed < 0.05)
        out.append(
            {
                "labels": labels,
                "rate": rate,
                "bias": rejected[0] / draws,
                "change": rejected[1] / draws,
            }
        )
    return out


def differences(draws: int) -> list[kit.Result]:
    """Two models under a judge that favours the second: coverage and width of the corrected difference, and how often
    it says which is better, and how often wrongly.
    """
    out = []
    for number, (labels, better) in enumerate(product(LABELS, (0.0, 0.1, 0.3))):
        rng, sides = np.random.default_rng([number, 0xD1F]), np.zeros((2, 4))
        bare = 0.0
        for _ in range(draws):
            good = rng.random(ROWS) < 0.5
            other = np.where(rng.random(ROWS) < 0.7, good, rng.random(ROWS) < 0.5) | (
                rng.random(ROWS) < better
            )
            first, second = (np.where(y, rng.random(ROWS) < a, rng.random(ROWS) < b).astype(float)
                             for y, a, b in ((good, 0.9, 0.4), (other, 0.92, 0.5)))  # fmt: skip
            truth = (other.astype(float) - good + 1) / 2
            judged = Judged(
                (second - first + 1)[None] / 2, np.arange(labels), truth[:labels], ("judge",)
            )
            value = 2 * float(truth.mean()) - 1
            bare += abs(float((second - first).mean()) - value)
            for side, cell in enumerate((judged.cells, np.zeros(ROWS, dtype=np.int64))):
                low, high = (
                    2 * end - 1 for end in Counts.of(judged, cell, LEVEL).interval(LEVEL)[1:]
                )
                sides[side] += (low - 1e-9 <= value <= high + 1e-9, high - low, low > 0 or high < 0,
                                (low > 0 >= value) or (high < 0 <= value))  # fmt: skip
        shares = dict(zip(("by-verdict", "labels alone"), (sides / draws).tolist(), strict=True))
        out.append({"labels": labels, "better": better, "uncorrected": bare / draws, **shares})
    return out


def measure(given: argparse.Namespace) -> kit.Result:
    if given.only_again:
        return {**given.before, "again": worst(given.before, given.again)}
    if given.only_tests:
        return {
            **given.before,
            "tests": tests(given.draws),
            "differences": differences(given.draws),
        }
    one = [(rate, ((a,), (b,))) for rate, a, b in product(RATES, ERRORS, ERRORS)]
    three = [(rate, panel) for rate, panel in product((0.2, 0.5, 0.8), PANELS)]
    cells, panels = (
        [
            setting(start + i, rate, right, n, given)
            for i, (n, (rate, right)) in enumerate(product(LABELS, some))
        ]
        for start, some in ((0, one), (900, three))
    )
    about = {"draws": given.draws, "latent": given.latent, "level": LEVEL, "rows": ROWS}
    about["again"] = worst({"one": cells, "three": panels}, given.again)
    return {**about, "one": cells, "three": panels, "tests": tests(given.draws),
            "differences": differences(given.draws)}  # fmt: skip


def page(result: kit.Result) -> str:
    lines = [
        "# Rates corrected by judges: coverage of nominal 95 % intervals, and mean width",
        "",
        f"`python -m benchmarks.judged --draws {result['draws']} --latent {result['latent']}`; "
        f"{result['rows']:,} rows. Coverage in %, the lowest of all settings and the mean; width in points.",
        "",
    ]
    for name, title in (("one", "One judge: sensitivity and specificity 0.6 to 0.95, rates 0.1 to 0.9"),
                        ("three", "Three judges, rates 0.2 to 0.8")):  # fmt: skip
        rows = []
        for labels in LABELS:
            some = [cell for cell in result[name] if cell["labels"] == labels]
            for side in SIDES:
                own = [cell["sides"][side] for cell in some if side in cell["sides"]]
                if own:
                    covered = [100 * cell["coverage"] for cell in own]
                    rows.append([str(labels), side, f"{min(covered):.1f}", f"{np.mean(covered):.1f}",
                                 f"{100 * np.mean([cell['width'] for cell in own]):.1f}"])  # fmt: skip
        uncorrected = 100 * float(np.mean([cell["uncorrected"] for cell in result[name]]))
        lines += [f"## {title}", "", *kit.table(["labels", "interval", "lowest", "mean", "width"], rows, "rlrrr"),
            f"Uncorrected, the verdicts are off by {uncorrected:.1f} points on average.", ""]  # fmt: skip
    if again := result.get("again"):
        rows, error = [], 100 * float(np.sqrt(0.05 * 0.95 / again[0]["draws"]))
        for cell in again:
            right = [
                " ".join(f"{x:g}" for x in cell[key]) for key in ("sensitivity", "specificity")
            ]
            missed = [cell["below"], cell["above"], cell["below"] + cell["above"]]
            shares = [
                f"{100 - 100 * cell['before']:.1f}",
                *(f"{100 * x:.2f}" for x in (*missed, cell["width"])),
            ]
            rows.append([str(cell["labels"]), f"{cell['rate']:g}", *right, *shares])
        lines += ["## The default's worst settings, drawn again", "",
                  f"How often the interval misses, in %, in the {result['draws']:,} draws by which a setting is one of "
                  f"the worst, and in {again[0]['draws']:,} others (the truth below it, above it, both; the standard "
                  f"error of 5 % is {error:.2f}), and the width in points: `--only-again`.", "",
                  *kit.table(["labels", "rate", "sensitivity", "specificity", "missed at first", "below", "above",
                              "missed", "width"], rows)]  # fmt: skip
    rows = [
        [str(t["labels"]), f"{t['rate']:g}", f"{100 * t['bias']:.1f}", f"{100 * t['change']:.1f}"]
        for t in result["tests"]
    ]
    lines += ["## Tests", "", "Rejected at 5 % where nothing is so, in %, corrected for 3 looks (bias) and 2 (change).",
              "", *kit.table(["labels", "rate", "bias", "change"], rows)]  # fmt: skip
    rows = []
    for gap in result["differences"]:
        shares = [f"{100 * x:.1f}" for side in ("by-verdict", "labels alone") for x in gap[side]]
        rows.append(
            [str(gap["labels"]), f"{gap['better']:g}", *shares, f"{100 * gap['uncorrected']:.1f}"]
        )
    lines += ["## Two models under one judge that favours the second", "",
              "Coverage and mean width of the corrected difference, how often it says which model is better, and how "
              "often wrongly, by verdict and by labels alone; the error of the bare verdicts, in points.", "",
              *kit.table(["labels", "better by", *["covers", "width", "decided", "wrong"] * 2, "bare"],
                         rows)]  # fmt: skip
    return kit.joined(lines)


if __name__ == "__main__":
    raise SystemExit(
        kit.command(
            __doc__,
            "judged",
            measure,
            page,
            draws=(1000, "draws a setting"),
            latent=(40, "of these for the likelihood of error rates"),
            betting=(100, "most labels for betting"),
            again=(10_000, "draws of the default's worst settings"),
            only_again=(False, "draw these alone, and keep the rest of the result that is there"),
            only_tests=(False, "keep the intervals of the result that is there"),
        )
    )
