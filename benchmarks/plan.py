"""The power that `plan` states beside simulation, and wrong verdicts of the gate of `compare`; results/plan.*.

python -m benchmarks.plan [--draws N] [--gates N]

Runs are drawn with the accuracy, correlation, share within questions, epochs and labels that a plan assumes, and
compared as `compare` compares them: how often does the interval leave 0 out, and how often does the gate of
`--fail-drop` say worse, not worse, or that it cannot be told? Answers of a question are right with a
chance of its own, of a beta law; both systems have the quantile of one number in a share of the questions that makes
the correlation. Then runs whose difference is the drop itself, looked at once, or after every 60 questions: how often
does the gate say "worse" or "not_worse", by the interval of one look and by the one that holds at every look; and how
often a true loss is found.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.special

from benchmarks import kit
from oodometer.audits.judged_pairs import paired_rates
from oodometer.audits.judges import Judged
from oodometer.inference.betting import betting_sequence
from oodometer.inference.paired import Paired
from oodometer.inference.power import Answers, Setting, power_of, verdicts_of
from oodometer.intervals import clopper_pearson, normal_quantile

LEVEL, DROP = 0.95, 0.02
Case = tuple[str, Answers, Setting, float]
CASES: list[Case] = [
    ("right or wrong", Answers(0.5, correlation=0.3), Setting(60), 0.15),
    ("right or wrong", Answers(0.7, correlation=0.5), Setting(100), 0.1),
    ("right or wrong", Answers(0.7, correlation=0.5), Setting(400), 0.05),
    ("right or wrong", Answers(0.8, correlation=0.7), Setting(1_000), 0.02),
    ("own questions", Answers(0.7), Setting(400, paired=False), 0.08),
    ("own questions", Answers(0.9), Setting(1_500, paired=False), 0.03),
    ("epochs", Answers(0.6, within=0.4, correlation=0.4), Setting(60, epochs=4), 0.08),
    ("epochs", Answers(0.7, within=0.6, correlation=0.3), Setting(100, epochs=8), 0.05),
    ("epochs", Answers(0.5, within=0.3, correlation=0.5), Setting(300, epochs=2), 0.05),
    ("scores", Answers(0.6, variance=0.04, correlation=0.6), Setting(150), 0.04),
    ("scores", Answers(0.5, variance=0.05, within=0.3, correlation=0.5), Setting(80, epochs=3), 0.05),
    ("a judge", Answers(0.6, correlation=0.4, judge=0.6), Setting(500, labels=100), 0.12),
    ("a judge", Answers(0.6, correlation=0.4, judge=0.6), Setting(2_000, labels=300), 0.07),
    ("a judge", Answers(0.7, correlation=0.5, judge=0.8), Setting(1_000, labels=200), 0.08),
]  # fmt: skip
GATED: list[tuple[Case, float]] = [  # and the drop
    (("right or wrong", Answers(0.5, correlation=0.3), Setting(60), -0.2), 0.02),
    (("right or wrong", Answers(0.7, correlation=0.5), Setting(200), 0.0), 0.1),
    (("right or wrong", Answers(0.8, correlation=0.6), Setting(900), -0.06), 0.02),
    (("right or wrong", Answers(0.8, correlation=0.7), Setting(900), 0.0), 0.02),
    (("right or wrong", Answers(0.9, correlation=0.6), Setting(1_000), 0.01), 0.01),
    (("own questions", Answers(0.7), Setting(800, paired=False), -0.08), 0.02),
    (("own questions", Answers(0.8), Setting(1_500, paired=False), 0.01), 0.03),
    (("epochs", Answers(0.6, within=0.4, correlation=0.4), Setting(100, epochs=4), -0.1), 0.02),
    (("epochs", Answers(0.5, within=0.3, correlation=0.5), Setting(300, epochs=2), 0.0), 0.05),
    (("scores", Answers(0.6, variance=0.04, correlation=0.6), Setting(200), -0.06), 0.02),
    (
        (
            "scores",
            Answers(0.5, variance=0.05, within=0.3, correlation=0.5),
            Setting(100, epochs=3),
            0.0,
        ),
        0.05,
    ),
    (
        ("a judge", Answers(0.6, correlation=0.4, judge=0.6), Setting(1_000, labels=200), -0.15),
        0.02,
    ),
    (("a judge", Answers(0.7, correlation=0.5, judge=0.8), Setting(2_000, labels=300), 0.0), 0.05),
]
GATES = ((-0.02, 0.1), (-0.02, 0.3), (-0.06, 0.2), (-0.1, 0.2), (0.02, 0.1))
LOSSES = ((-0.06, 0.2), (-0.05, 0.1), (-0.1, 0.3), (0.02, 0.1))
LOOKS = range(60, 901, 60)
ONCE = 10  # runs that are looked at once, for each that is looked at often


@dataclass(frozen=True)
class Law:
    """The chances of questions of both systems, by the assumptions of a plan."""

    answers: Answers
    difference: float

    def chances(self, uniform: np.ndarray, new: bool) -> np.ndarray:
        """Quantiles of a question's chance, or of its mean score."""
        mean = self.answers.mean + self.difference * new
        variance = self.answers.variances(self.difference)[new]
        between = variance * (1 - self.answers.within)
        spread = mean * (1 - mean) / between - 1  # a + b
        if spread < 1e-9:  # no chance, right or wrong
            return (uniform > 1 - mean).astype(float)
        return scipy.special.betaincinv(mean * spread, (1 - mean) * spread, uniform)

    def shared(self) -> float:
        """The share of questions on which both have the quantile of one number."""
        uniform = (np.arange(20_000) + 0.5) / 20_000
        most = np.cov(self.chances(uniform, False), self.chances(uniform, True))[0, 1]
        a, b = self.answers.variances(self.difference)
        share = (self.answers.correlation or 0.0) * math.sqrt(a * b) / float(most)
        assert 0 <= share <= 1, share
        return share

    def draw(self, setting: Setting, share: float, rng: np.random.Generator) -> np.ndarray:
        """Answers of both systems, (system, question, epoch)."""
        first = rng.random(setting.questions)
        second = np.where(
            rng.random(setting.questions) < share, first, rng.random(setting.questions)
        )
        chance = np.stack([self.chances(first, False), self.chances(second, True)])[..., None]
        shape = (2, setting.questions, setting.epochs)
        if self.answers.variance is None:
            return (rng.random(shape) < chance).astype(float)
        chance = np.clip(chance, 1e-9, 1 - 1e-9)
        inner = self.answers.variance * self.answers.within
        if not inner:
            return np.broadcast_to(chance, shape)
        spread = float((chance * (1 - chance)).mean()) / inner - 1
        return rng.beta(np.broadcast_to(chance, shape) * spread, (1 - chance) * spread)


def compared(case: Case, drawn: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    """The interval of the difference that the comparison of a run gives."""
    kind, _, setting, _ = case
    if kind == "a judge":
        slip = slip_of(case)
        said = np.where(rng.random(drawn.shape) < slip, 1 - drawn, drawn)[..., 0]
        row = np.arange(setting.labels or 0)
        runs = [Judged(s[None], row, y[row, 0], ("judge",)) for s, y in zip(said, drawn, strict=True)]  # fmt: skip
        return paired_rates(runs[0], runs[1], "system").interval(LEVEL)[1:]
    if not setting.paired:
        ends = [clopper_pearson(float(y.sum()), y.size, LEVEL) for y in drawn]
        a, b = (float(y.mean()) for y in drawn)
        low = b - a - math.hypot(b - ends[1][0], ends[0][1] - a)
        high = b - a + math.hypot(ends[1][1] - b, a - ends[0][0])
        return low, high
    clusters = None
    if setting.epochs > 1:
        clusters = np.repeat(np.arange(setting.questions), setting.epochs)
    flat = drawn.reshape(2, -1)
    gap = Paired(flat, clusters).difference(1, 0, LEVEL)
    return gap.lower, gap.upper


def slip_of(case: Case) -> float:
    """How often a verdict is the wrong one, for the correlation of differences that the plan assumes: F = (1 - 2 e) D +
    noise, with var F = (1 - 2 e)^2 var D + 2 e (1 - e) ... solved by halving.
    """
    _, answers, _, difference = case
    once = answers.of_question(difference, 1)
    low, high = 0.0, 0.5
    for _ in range(40):
        slip = (low + high) / 2
        kept = 1 - 2 * slip
        correlation = kept * math.sqrt(once / (kept**2 * once + 2 * slip * (1 - slip)))
        low, high = (slip, high) if correlation > (answers.judge or 0) else (low, slip)
    return low


def ends_of(case: Case, draws: int, rng: np.random.Generator) -> np.ndarray:
    """The intervals of so many runs, (end, run)."""
    _, answers, setting, difference = case
    law = Law(answers, difference)
    share = law.shared()
    return np.array([compared(case, law.draw(setting, share, rng), rng) for _ in range(draws)]).T


def stated_gates(draws: int) -> Iterator[kit.Result]:
    """The stated chances of a gate's verdicts and how often it speaks so."""
    for number, (case, drop) in enumerate(GATED):
        kind, answers, setting, difference = case
        low, high = ends_of(case, draws, np.random.default_rng([number, 0x6A7]))
        made = verdicts_of(answers, setting, difference, LEVEL, drop)
        yield {
            "kind": kind, "questions": setting.questions, "epochs": setting.epochs, "labels": setting.labels,
            "difference": difference, "drop": drop, "stated": [*made],
            "shown": [float((high < -drop).mean()), float((low > -drop).mean())],
        }  # fmt: skip


def stated(draws: int) -> Iterator[kit.Result]:
    """The stated power and how often a difference is shown."""
    for number, case in enumerate(CASES):
        kind, answers, setting, difference = case
        low, high = ends_of(case, draws, np.random.default_rng([number, 0x914]))
        hits = (low > 0) | (high < 0)
        yield {
            "kind": kind, "questions": setting.questions, "epochs": setting.epochs, "labels": setting.labels,
            "difference": difference, "correlation": answers.correlation, "within": answers.within,
            "stated": power_of(answers, setting, difference, LEVEL), "shown": float(np.mean(hits)),
        }  # fmt: skip


def gates(draws: int) -> Iterator[kit.Result]:
    """Verdicts at one look, at any of many looks by the interval of one, and by that which holds at every look."""
    for number, (difference, changed) in enumerate(GATES):
        rng = np.random.default_rng([number, 0x6A7E])
        shares = [(changed - difference) / 2, 1 - changed, (changed + difference) / 2]
        verdicts = {name: np.zeros(2) for name in ("once", "peeking", "anytime")}
        stops = []
        for run in range(ONCE * draws):
            d = rng.choice([-1.0, 0.0, 1.0], size=LOOKS[-1], p=shares)
            verdicts["once"] += verdict(d) / ONCE
            if run >= draws:
                continue
            verdicts["peeking"] += np.any([verdict(d[:rows]) for rows in LOOKS], axis=0)
            low, high = betting_sequence(d, LEVEL, low=-1, high=1)
            verdicts["anytime"] += high < -DROP, low > -DROP
            stops.append(first_look(d))
        rates = {name: (value / draws).tolist() for name, value in verdicts.items()}
        about = {"difference": difference, "changed": changed, "draws": draws}
        yield {**about, **rates, "rows": float(np.mean(stops))}


def verdict(d: np.ndarray) -> np.ndarray:
    """Whether the interval of one look says worse, and not worse."""
    gap = Paired(np.stack([d < 0, d > 0]).astype(float)).difference(1, 0, LEVEL)
    return np.array([gap.upper < -DROP, gap.lower > -DROP])


def costs(draws: int) -> Iterator[kit.Result]:
    """How many questions looking costs, in those that one look needs for a power of 0.8: on average, and for 80 % of
    the runs.
    """
    for number, (difference, changed) in enumerate(LOSSES):
        rng = np.random.default_rng([number, 0xC057])
        z = normal_quantile(LEVEL) + normal_quantile(2 * 0.8 - 1)
        planned = int(z**2 * (changed - difference**2) / (difference + DROP) ** 2)
        looks = np.linspace(0.1 * planned, 4 * planned, 40).astype(int).tolist()
        shares = [(changed - difference) / 2, 1 - changed, (changed + difference) / 2]
        stops = [
            first_look(rng.choice([-1.0, 0.0, 1.0], size=looks[-1], p=shares), looks) / planned
            for _ in range(draws)
        ]
        about = {"difference": difference, "changed": changed, "planned": planned}
        yield {**about, "mean": float(np.mean(stops)), "most": float(np.quantile(stops, 0.8))}


def first_look(d: np.ndarray, looks: Sequence[int] = LOOKS) -> int:
    """The rows at the first look at which the sequence decides, by halving, as its ends only come nearer."""
    low, high = 0, len(looks) - 1
    while low < high:
        middle = (low + high) // 2
        lower, upper = betting_sequence(d[: looks[middle]], LEVEL, low=-1, high=1)
        low, high = (low, middle) if upper < -DROP or lower > -DROP else (middle + 1, high)
    return looks[low]


def page(result: kit.Result) -> str:
    lines = [
        "# The power that `plan` states, and the gate of `compare`",
        "",
        f"`python -m benchmarks.plan --draws {result['draws']} --gates {result['gates']}`; in %, at a level of 95 %.",
        "",
        "## Stated and shown power",
        "",
    ]
    rows = [
        [
            cell["kind"], f"{cell['questions']:,}", str(cell["epochs"]), str(cell["labels"] or ""),
            f"{100 * cell['difference']:.0f}", "" if cell["correlation"] is None else f"{cell['correlation']:g}",
            f"{cell['within']:g}", f"{100 * cell['stated']:.1f}", f"{100 * cell['shown']:.1f}",
            f"{100 * (cell['stated'] - cell['shown']):+.1f}",
        ]
        for cell in result["power"]
    ]  # fmt: skip
    head = ["answers", "questions", "epochs", "labels", "difference", "correlation", "within"]
    head += ["stated", "shown", "off by"]
    lines += kit.table(head, rows)
    rows = [
        [
            cell["kind"], f"{cell['questions']:,}", str(cell["epochs"]), str(cell["labels"] or ""),
            f"{100 * cell['difference']:+.0f}", f"{100 * cell['drop']:.0f}",
            *(f"{100 * x:.1f}" for pair in zip(cell["stated"], cell["shown"], strict=True) for x in pair),
            *(f"{100 * (1 - sum(cell[name])):.1f}" for name in ("stated", "shown")),
        ]
        for cell in result["stated_gates"]
    ]  # fmt: skip
    head = ["answers", "questions", "epochs", "labels", "difference", "drop"]
    head += [
        f"{verdict}{name}"
        for verdict in ("worse", "not worse", "cannot be told")
        for name in ("", ": shown")
    ]
    lines += ["## Stated and shown verdicts of a gate", "", *kit.table(head, rows)]
    lines += [
        "## Verdicts of a gate of 2 points",
        "",
        "How often it says worse, and not worse; of 900 questions, looked at once, or after every 60: by the interval "
        "of one look, and by `--anytime`; the questions after which this decided, on average.",
        "",
    ]
    gates_rows = []
    for cell in result["gate_cells"]:
        rates = [f"{100 * x:.1f}" for name in ("once", "peeking", "anytime") for x in cell[name]]
        start = [f"{100 * cell['difference']:+.0f}", f"{cell['changed']:.0%}"]
        gates_rows.append([*start, *rates, f"{cell['rows']:.0f}"])
    head = ["better by", "differ on"]
    for name in ("once", "peeking", "anytime"):
        head += [f"{name}: worse", f"{name}: not"]
    lines += kit.table([*head, "questions"], gates_rows, "r")
    rows = [
        [f"{100 * cell['difference']:+.0f}", f"{cell['changed']:.0%}", f"{cell['planned']:,}",
         f"{cell['mean']:.2f}", f"{cell['most']:.2f}"]
        for cell in result["costs"]
    ]  # fmt: skip
    lines += [
        "## What looking costs",
        "",
        "Questions that one look needs for a power of 80 %, and how many times as many `--anytime` takes until it "
        "decides: on average, and for 80 % of the runs.",
        "",
        *kit.table(["better by", "differ on", "one look", "on average", "for 80 %"], rows, "r"),
    ]
    return kit.joined([*lines, *kit.promises(result["limits"])])


def measure(given: argparse.Namespace) -> kit.Result:
    power, verdicts = list(stated(given.draws)), list(gates(given.gates))
    gated = list(stated_gates(given.draws))
    gate_off = max(
        abs(a - b) for cell in gated for a, b in zip(cell["stated"], cell["shown"], strict=True)
    )
    off = max(abs(cell["stated"] - cell["shown"]) for cell in power)
    at_drop = [cell for cell in verdicts if cell["difference"] == -DROP]
    once = max(max(cell["once"]) for cell in at_drop)
    anytime = max(sum(cell["anytime"]) for cell in at_drop)
    limits = [
        {"limit": "stated power off by at most 0.03", "value": off, "holds": off <= 0.03},
        {"limit": "stated verdicts of a gate off by at most 0.03", "value": gate_off, "holds": gate_off <= 0.03},
        {"limit": "either verdict of one look is wrong, at most 0.03", "value": once, "holds": once <= 0.03},
        {"limit": "--anytime is wrong at any look, at most 0.05", "value": anytime, "holds": anytime <= 0.05},
    ]  # fmt: skip
    about = {"draws": given.draws, "gates": given.gates, "limits": limits}
    looking = list(costs(given.gates // 3))
    return {
        **about,
        "power": power,
        "stated_gates": gated,
        "gate_cells": verdicts,
        "costs": looking,
    }


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "plan", measure, page, draws=(2_000, "runs of a plan"), gates=(200, "runs of a gate"))
    )  # fmt: skip
