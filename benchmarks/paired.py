"""Differences of models on the same rows beside the plain ways, and how long a comparison takes; results/paired.*.

python -m benchmarks.paired [--draws N] [--weights N] [--rounds N] [--many N]

Simulations in which the difference is known: answers that are right or wrong, scores from 0 to 1, passages of several
questions, rows drawn with uneven chances and weighted by them, six models at once, five tasks. Each cell holds the
coverage of nominal 95 % intervals, their mean width and, where the models do not differ, how often a difference is
claimed. 1,000 draws leave a standard error of 0.7 points in a share of 5 %: so the claims of two models that do not
differ are also worked out exactly, and those of six models counted in many more draws. Then 12,000 questions and 6
models, read, compared and written as a page by the command as typed, in a new process.
"""

from __future__ import annotations

import argparse
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import scipy.stats

from benchmarks import kit
from oodometer.inference.paired import Paired, holm

LEVEL, Z = 0.95, 1.959964
EVEN, UNEVEN = [10] * 20, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]
Draw = Callable[[int, np.random.Generator], np.ndarray]


def binary(ahead: float, behind: float) -> tuple[float, Draw]:
    """Rows on which only the first is right, only the second, both (40 % of the others), none."""

    def draw(rows: int, rng: np.random.Generator) -> np.ndarray:
        u, rest = rng.random(rows), 1 - ahead - behind
        first = (u < ahead) | ((u > ahead + behind) & (u < ahead + behind + 0.4 * rest))
        second = (u >= ahead) & (u < ahead + behind + 0.4 * rest)
        return np.stack([first, second]).astype(float)

    return ahead - behind, draw


def rare_loss(rows: int, rng: np.random.Generator) -> np.ndarray:
    """A small gain everywhere, and now and then everything is lost."""
    lost = rng.random(rows) < 0.05
    return np.stack([np.where(lost, 0.0, 1.0), np.where(lost, 1.0, 0.95)])


def rare_gain(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Both the same, but for a gain of any size in one of twenty rows."""
    gain = (rng.random(rows) < 0.05) * rng.random(rows)
    return np.stack([gain, np.zeros(rows)])


def graded(rows: int, rng: np.random.Generator) -> np.ndarray:
    """Partial credit of the same law, which depends on the question."""
    hard = rng.beta(0.7, 0.7, rows)
    return np.stack([np.clip(hard + rng.normal(0, 0.25, rows), 0, 1) for _ in range(2)])


BINARY = {
    f"{a:g} and {b:g}": binary(a, b)
    for a, b in ((0.3, 0.3), (0.2, 0.1), (0.05, 0.05), (0.03, 0.01), (0.02, 0))
}
SCORES: dict[str, tuple[float, Draw]] = {
    "partial credit, no difference": (0.0, graded),
    "a rare gain": (0.025, rare_gain),
    "a small gain, a rare loss": (0.05 * 0.95 - 0.05, rare_loss),
}


def passages(kind: str, sizes: list[int], rng: np.random.Generator) -> np.ndarray:
    """Right and wrong answers to questions of passages: (2, row)."""
    at = np.repeat(np.arange(len(sizes)), sizes)
    if kind == "each model has its good passages":
        chance = rng.beta(1, 1, (2, len(sizes)))
    elif kind == "the gain varies":
        base, gain = rng.uniform(0.3, 0.7, len(sizes)), rng.uniform(-0.2, 0.4, len(sizes))
        chance = np.stack([base + gain / 2, base - gain / 2])
    else:  # all questions of a passage are one question
        chance = (rng.random((2, len(sizes))) < 0.5).astype(float)
    return (rng.random((2, len(at))) < chance[:, at]).astype(float)


PASSAGES = {
    "each model has its good passages": 0.0,
    "the gain varies": 0.1,
    "copies of one question": 0.0,
}


class Tally:
    """Coverage, width and claims of one way to make intervals."""

    def __init__(self) -> None:
        self.rows: list[tuple[bool, float, bool]] = []

    def add(self, low: float, high: float, truth: float) -> None:
        self.rows.append((low <= truth <= high, high - low, low > 0 or high < 0))

    def result(self, null: bool) -> kit.Result:
        coverage, width, claims = np.mean(self.rows, axis=0).tolist()
        return {"coverage": coverage, "width": width, "claims": claims if null else None}


def plain(scores: np.ndarray, sides: dict[str, Tally], truth: float) -> None:
    """Student's paired interval of independent rows, and that of two samples."""
    d, rows = scores[0] - scores[1], scores.shape[1]
    t = scipy.stats.t.ppf(0.975, rows - 1)
    half = t * d.std(ddof=1) / np.sqrt(rows)
    sides["plain"].add(d.mean() - half, d.mean() + half, truth)
    half = t * np.sqrt(scores.var(axis=1, ddof=1).sum() / rows)
    sides["unpaired"].add(d.mean() - half, d.mean() + half, truth)


def single(draws: int) -> Iterator[kit.Result]:
    """Two models on independent rows."""
    for kind, cases, sizes in (
        ("binary", BINARY, (20, 50, 200, 1000)),
        ("scores", SCORES, (20, 50, 200)),
    ):
        for case, (truth, draw) in cases.items():
            for rows in sizes:
                rng, sides = (
                    np.random.default_rng([rows, len(case)]),
                    {n: Tally() for n in ("ours", "plain", "unpaired")},
                )
                for _ in range(draws):
                    scores = draw(rows, rng)
                    made = Paired(scores).difference(0, 1, LEVEL)
                    sides["ours"].add(made.lower, made.upper, truth)
                    plain(scores, sides, truth)
                made_of = {name: side.result(truth == 0) for name, side in sides.items()}
                yield {"kind": kind, "case": case, "rows": rows, **made_of}


def clustered(draws: int) -> Iterator[kit.Result]:
    """Two models on passages."""
    for case, truth in PASSAGES.items():
        for name, sizes in (("20 of 10", EVEN), ("20 of 1 to 19", UNEVEN), ("8 of 25", [25] * 8)):
            rng, sides = (
                np.random.default_rng([len(case), len(sizes)]),
                {n: Tally() for n in ("ours", "plain", "unpaired")},
            )
            by = np.repeat(np.arange(len(sizes)), sizes)
            for _ in range(draws):
                scores = passages(case, sizes, rng)
                made = Paired(scores, by).difference(0, 1, LEVEL)
                sides["ours"].add(made.lower, made.upper, truth)
                plain(scores, sides, truth)
            yield {
                "kind": "clusters",
                "case": case,
                "rows": name,
                **{n: side.result(truth == 0) for n, side in sides.items()},
            }


POPULATION = 200_000


def populations(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Scores of two models on a whole population, (2, row), and how eagerly each row is drawn: where they differ most
    it is drawn most.
    """
    hard = rng.beta(1, 1, POPULATION)
    eager = 0.15 + hard**2
    chance = np.stack([0.95 - 0.5 * hard, 0.9 - 0.25 * hard])
    right = (rng.random((2, POPULATION)) < chance).astype(float)
    credit = np.clip(chance + rng.normal(0, 0.25, (2, POPULATION)), 0, 1)
    return {"right or wrong": (right, eager), "partial credit": (credit, eager)}


def weighted(draws: int) -> Iterator[kit.Result]:
    """Two models on rows, or on passages of five rows, that were drawn with uneven chances and are weighted by them."""
    rng = np.random.default_rng(8)
    for case, (scores, eager) in populations(rng).items():
        truth = float((scores[0] - scores[1]).mean())
        passage_size = eager.reshape(-1, 5).mean(axis=1)
        for name, drawn, chance in (
            ("60", 60, eager),
            ("200", 200, eager),
            ("600", 600, eager),
            ("60 passages of 5", 60, passage_size),
        ):
            sides = {n: Tally() for n in ("ours", "plain", "unpaired")}
            odds, per = chance / chance.sum(), POPULATION // len(chance)
            for _ in range(draws):
                unit = rng.choice(len(chance), drawn, p=odds)
                at = (unit[:, None] * per + np.arange(per)).ravel()
                by = None if per == 1 else np.repeat(np.arange(drawn), per)
                paired = Paired(scores[:, at], by, weights=np.repeat(1 / odds[unit], per))
                made = paired.difference(0, 1, LEVEL)
                sides["ours"].add(made.lower, made.upper, truth)
                plain(scores[:, at], sides, truth)
            results = {n: side.result(False) for n, side in sides.items()}
            yield {"kind": "weights", "case": case, "rows": name, **results}


def exactly() -> Iterator[kit.Result]:
    """How often a difference of two models is claimed that do not differ, without draws: the law of the number of
    discordant rows, times that of who is right on them, summed over all counts that are claimed.
    """

    def is_claimed(ahead: int, behind: int, rows: int) -> bool:
        scores = np.zeros((2, rows))
        scores[0, :ahead] = scores[1, ahead : ahead + behind] = 1
        made = Paired(scores).difference(0, 1, LEVEL)
        return made.lower > 0 or made.upper < 0

    for rate in (0.02, 0.1, 0.2, 0.4, 0.6, 1.0):
        errors = {}
        for rows in (20, 50, 200, 1000):
            chance, total = scipy.stats.binom.pmf(np.arange(rows + 1), rows, rate), 0.0
            for discordant in map(int, np.flatnonzero(chance > 1e-12)):
                low, high = (
                    (discordant + 1) // 2,
                    discordant + 1,
                )  # the fewest rows ahead that are claimed
                while low < high:
                    middle = (low + high) // 2
                    claimed = is_claimed(middle, discordant - middle, rows)
                    low, high = (low, middle) if claimed else (middle + 1, high)
                total += chance[discordant] * 2 * scipy.stats.binom.sf(low - 1, discordant, 0.5)
            errors[str(rows)] = float(total)
        yield {"discordant": rate, "claims": errors}


def together(draws: int, again: bool = False) -> Iterator[kit.Result]:
    """Six models: whether all 15 intervals hold at once, and whether a difference to the picked best is claimed; again:
    of independent rows and models that are all alike, with another seed.
    """
    means = {
        "all alike": np.full(6, 0.6),
        "two behind": np.array([0.65, 0.65, 0.65, 0.65, 0.55, 0.5]),
    }
    sizes = (("50 rows", 50, 1), ("400 rows", 400, 1), ("20 of 10", 200, 10))
    for case, mean in [*means.items()][: 1 if again else None]:
        for name, rows, per in sizes[1:2] if again else sizes:
            rng, by = np.random.default_rng([rows, len(case), *[1] * again]), np.arange(rows) // per
            held: dict[str, list[tuple[bool, bool]]] = {"ours": [], "single": []}
            for _ in range(draws):
                hard = rng.normal(0, 0.15, rows // per)[by]
                paired = Paired(
                    (rng.random((6, rows)) < np.clip(mean[:, None] + hard, 0, 1)),
                    None if per == 1 else by,
                )
                for side, quantile in (
                    ("ours", paired.simultaneous(LEVEL)),
                    ("single", paired.quantile(LEVEL)),
                ):
                    middle, error, _ = paired._moments
                    apart = mean[:, None] - mean
                    inside = np.abs(middle - apart) <= quantile * error + 1e-12
                    best = int(paired.scores.mean(axis=1).argmax())
                    wrong = (
                        (middle[best] > quantile * error[best])
                        & (apart[best] <= 0)
                        & (np.arange(6) != best)
                    )
                    held[side].append(
                        (bool((inside | np.eye(6, dtype=bool)).all()), bool(wrong.any()))
                    )
            sides = {
                side: dict(zip(("coverage", "wrong"), np.mean(rows_, axis=0).tolist(), strict=True))
                for side, rows_ in held.items()
            }
            yield {"kind": "together", "case": case, "rows": name, **sides}


def over_tasks(draws: int) -> Iterator[kit.Result]:
    """Five tasks of 20 to 200 questions without any difference: claims by task, and the mean over tasks."""
    sizes = [20, 40, 60, 100, 200]
    tasks, rng = np.repeat(np.arange(5), sizes), np.random.default_rng(5)
    any_raw = any_holm = 0
    macro, micro = Tally(), Tally()
    gains = np.array([0.2, 0.1, 0.0, -0.1, 0.0])
    for _ in range(draws):
        paired = Paired(rng.random((2, len(tasks))) < 0.5 + 0.1 * tasks / 4)
        p_values = [
            paired.take(np.flatnonzero(tasks == t)).difference(0, 1, LEVEL).p_value
            for t in range(5)
        ]
        any_raw, any_holm = (
            any_raw + (min(p_values) <= 0.05),
            any_holm + (min(holm(p_values)) <= 0.05),
        )
        moved = Paired(rng.random((2, len(tasks))) < 0.5 + np.array([[0.5], [-0.5]]) * gains[tasks])
        macro.add(*moved.macro(0, 1, tasks, Z)[1:], float(gains.mean()))
        made = moved.difference(0, 1, LEVEL)
        micro.add(made.lower, made.upper, float(gains.mean()))
    yield {
        "kind": "tasks",
        "raw": any_raw / draws,
        "holm": any_holm / draws,
        "macro": macro.result(False),
        "rows": micro.result(False),
    }


def visible(draws: int) -> Iterator[kit.Result]:
    """How often a difference as large as the smallest visible one, read off other rows, is shown."""
    rng = np.random.default_rng(6)
    for rows in (100, 400, 2000):
        shown = 0
        for _ in range(draws):
            size = (
                Paired(binary(0.125, 0.125)[1](rows, rng)).difference(0, 1, LEVEL).smallest_visible
            )
            made = Paired(
                binary(0.125 + size / 2, max(0.125 - size / 2, 0.0))[1](rows, rng)
            ).difference(0, 1, LEVEL)
            shown += made.lower > 0
        yield {"kind": "visible", "rows": rows, "power": shown / draws}


def clocks(rounds: int) -> kit.Result:
    """Seconds of the command as typed: 12,000 questions, 6 models, with a page."""
    import pyarrow as pa
    import pyarrow.json
    import pyarrow.parquet

    rng, out = np.random.default_rng(7), {}
    hard = rng.beta(1, 1, 12_000)
    with tempfile.TemporaryDirectory() as folder:
        for ending in ("parquet", "jsonl"):
            for model in "abcdef":
                right = rng.random(12_000) < np.clip(hard + rng.uniform(-0.05, 0.05), 0, 1)
                confidence = np.round(rng.beta(2, 1, 12_000), 4)
                columns = {
                    "id": [f"t{i % 12}/{i}" for i in range(12_000)],
                    "group": [f"t{i % 12}" for i in range(12_000)],
                }
                table = pa.table({**columns, "correct": right, "confidence": confidence})
                path = Path(folder, f"{model}.{ending}")
                if ending == "parquet":
                    pyarrow.parquet.write_table(table, path)
                else:
                    table.to_pandas().to_json(path, orient="records", lines=True)
            words = [
                "oodometer",
                "compare",
                *(str(Path(folder, f"{m}.{ending}")) for m in "abcdef"),
            ]
            words += ["--report", str(Path(folder, "page.html"))]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            out[ending] = sorted(kit.timed(words)[0] for _ in range(rounds))
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            out[f"{ending}, processor"] = [
                (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / rounds
            ]
    return out


def measure(given: argparse.Namespace) -> kit.Result:
    parts, before = (single, clustered, together, over_tasks, visible), given.before
    cells = (
        [cell for part in parts for cell in part(given.draws)] if given.draws else before["cells"]
    )
    seconds = clocks(given.rounds) if given.rounds else before.get("seconds", {})
    if given.weights:
        cells = [c for c in cells if c["kind"] != "weights"] + [*weighted(given.weights)]
    result = {
        "draws": given.draws or before["draws"],
        "weights": given.weights or before.get("weights", 0),
        "many": given.many or before.get("many", 0),
        "cells": cells,
    }
    again = [*together(given.many, again=True)] if given.many else before.get("again", [])
    return {**result, "exact": [*exactly()], "again": again, "seconds": seconds}


def page(result: kit.Result) -> str:
    def said(side: kit.Result) -> str:
        claims = "" if side["claims"] is None else f", {100 * side['claims']:.1f}"
        return f"{100 * side['coverage']:.1f}, {100 * side['width']:.1f}{claims}"

    lines = [
        "# Differences of models on the same rows",
        "",
        f"`python -m benchmarks.paired --draws {result['draws']}`. Coverage of nominal 95 % intervals in %, mean width "
        "in points and, where there is no difference, how often one is claimed in %. Plain: Student's paired interval "
        "of independent rows; unpaired: that of two samples; neither knows weights.",
    ]
    titles = {
        "binary": ("Right or wrong", "only A is right, only B is right"),
        "scores": ("Scores from 0 to 1", "case"),
        "clusters": ("Questions in passages", "case"),
        "weights": (f"Rows drawn with uneven chances, {result['weights']:,} draws", "case"),
    }
    for kind, (title, head) in titles.items():
        cells = [cell for cell in result["cells"] if cell["kind"] == kind]
        rows = [
            [c["case"], str(c["rows"]), *(said(c[side]) for side in ("ours", "plain", "unpaired"))]
            for c in cells
        ]
        lines += [
            "",
            f"## {title}",
            "",
            *kit.table([head, "rows", "ours", "plain", "unpaired"], rows)[:-1],
        ]
    cells = [cell for cell in result["cells"] if cell["kind"] == "together"]
    shown = lambda side: f"{100 * side['coverage']:.1f}, {100 * side['wrong']:.1f}"  # noqa: E731
    rows = [[c["case"], c["rows"], shown(c["ours"]), shown(c["single"])] for c in cells]
    text = "How often all 15 intervals hold at once, and how often a model that is not worse is said to be behind the "
    text += "best, in %; single: each interval for itself."
    lines += [
        "",
        "## Six models",
        "",
        text,
        "",
        *kit.table(["case", "rows", "ours", "single"], rows)[:-1],
    ]
    rows, exact = [], result.get("exact", [])
    for cell in exact:
        rows.append(
            [
                f"{100 * cell['discordant']:g} %",
                *(f"{100 * error:.2f}" for error in cell["claims"].values()),
            ]
        )
    text = "Decisions at 5 % where there is no difference: how often one is claimed, in %, summed over the law of the "
    text += "rows on which just one of two models is right, and of which of them. The exact test keeps 5 % at each "
    text += "number of such rows, and the intervals claim no more than it does: what is above 5 with two models that "
    text += "are right or wrong, further up, is luck."
    if exact:
        lines += ["", "## Claims without any difference, exactly", "", text, ""]
        lines += kit.table(["only one is right", *(f"{n} rows" for n in exact[0]["claims"])], rows)[
            :-1
        ]
    if result.get("again"):
        error, rows = 100 * float(np.sqrt(0.05 * 0.95 / result["many"])), []
        for c in result["again"]:
            rows.append(
                [
                    c["case"],
                    c["rows"],
                    f"{100 * c['ours']['coverage']:.2f}",
                    f"{100 * c['ours']['wrong']:.2f}",
                ]
            )
        text = f"The six models again, all alike, {result['many']:,} other draws (`--many {result['many']}`); the "
        lines += ["", f"{text}standard error of a share of 5 % is {error:.2f} points:", ""]
        lines += kit.table(["case", "rows", "all 15 hold, %", "wrongly behind, %"], rows)[:-1]
    tasks = next(cell for cell in result["cells"] if cell["kind"] == "tasks")
    text = f"Without any difference one of the five is claimed in {100 * tasks['holm']:.1f} % with Holm's p-values, in "
    text += f"{100 * tasks['raw']:.1f} % without. The mean over tasks: {said(tasks['macro'])}; all rows alike, held "
    lines += [
        "",
        "## Five tasks of 20 to 200 questions",
        "",
        f"{text}against the same mean: {said(tasks['rows'])}.",
    ]
    cells = [cell for cell in result["cells"] if cell["kind"] == "visible"]
    text = ", ".join(f"{100 * cell['power']:.0f} % at {cell['rows']:,} rows" for cell in cells)
    text = f"A difference as large as what is said to be visible with a power of 0.8 was shown in {text}."
    lines += ["", "## What the questions could show", "", text]
    text = ", ".join(
        f"{end} {some[0]:.1f} s, of processor time {result['seconds'][f'{end}, processor'][0]:.1f} s"
        for end, some in result["seconds"].items()
        if "," not in end
    )
    about = "12,000 questions and 6 models with confidence and 12 tasks, read, compared and written as a page by "
    lines += [
        "",
        "## Time",
        "",
        f"{about}`oodometer compare ... --report page.html`, a new process each, the fastest of some: {text}.",
    ]
    return kit.joined(lines)


if __name__ == "__main__":
    more = {
        "draws": (1000, "draws a cell; 0 keeps the cells that are there"),
        "weights": (1000, "draws a cell of weighted rows; 0 keeps those that are there"),
        "many": (10_000, "draws of six models that are all alike; 0 keeps those that are there"),
        "rounds": (5, "rounds of the clock; 0 keeps the times that are there"),
    }
    raise SystemExit(kit.command(__doc__, "paired", measure, page, **more))
