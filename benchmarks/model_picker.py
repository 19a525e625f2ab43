"""Which rows to label to find the best model: ours beside Model Picker and CODA; writes results/model_picker.*.

    python -m benchmarks.model_picker              # twenty minutes of processor time

The suites of `benchmarks.rank_suites`, up to 1,000 rows of each without a label, no reference. So many labels are asked
for by each rule; regret is what the model that is named then lacks to the best, in points of accuracy on all rows.

- ``counting``: rows at random, most right answers (ties: the mean of those tied).
- ``Model Picker``: Karimi et al. (2021), Okanovic et al. (2025). A posterior over which model is best, w_j times
  (1 - e) / e for each right answer, e = 0.46, a default of its software (the paper searches for it, against the
  plurality's answers); asked is the row whose label leaves the least entropy, all classes weighted alike. The model of
  the largest w_j is named: the one with most right answers.
- ``CODA``: Kay et al. (2025), as `benchmarks.coda` has it: rows and the model that is named by the confusions of all
  models, whose prior is what they agree on. It reads probabilities where a suite has them.
- ``rank``: rows at random, the first of `oodometer rank`, which reads the answers on the pool, too.
- ``rank, suggested``: ten rows at random, then ten at a time that `oodometer rank` suggests.
- ``rank, Model Picker's rows``: ten at random, then those that Model Picker asks for, read as rows that were chosen.

Intervals: 95 %, Student's t over suites.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks import kit
from benchmarks.coda import asked
from benchmarks.rank_suites import (
    MORE,
    POOL,
    Suite,
    groups_of,
    mean_interval,
    places,
    ranked,
    regret,
    suites,
)
from oodometer.rankings import outcome, rows_to_label

EPSILON = 0.46
BUDGETS = (10, 50)
RULES = (
    "counting",
    "Model Picker",
    "CODA",
    "rank",
    "rank, suggested",
    "rank, Model Picker's rows",
)
Picks = list[int]


def entropy_left(predicted: np.ndarray, weights: np.ndarray, odds: float) -> np.ndarray:
    """What is left of the entropy of the best model's posterior by a row's label, less what it is now, summed over the
    classes that some model predicts; those that none predicts leave it as it is. Shapes (model, row), (model,), (row,).
    """

    def entropy(w: np.ndarray) -> np.ndarray:
        share = w / w.sum(axis=0)
        return np.asarray(-(share * np.log2(np.maximum(share, 1e-300))).sum(axis=0))

    left, now = np.zeros(predicted.shape[1]), entropy(weights[:, None])
    for model, classes in enumerate(predicted):
        is_first = ~(predicted[:model] == classes).any(axis=0)
        after = entropy(weights[:, None] * np.where(predicted == classes, odds, 1.0))
        left += np.where(is_first, after - now, 0.0)
    return left


def picked(
    predicted: np.ndarray, truth: np.ndarray, count: int, seed: int, first: Sequence[int] = ()
) -> Picks:
    """The rows that Model Picker asks for, one after the other, behind ``first``; ties at random."""
    rng, odds = np.random.default_rng([seed, 0x3D]), (1 - EPSILON) / EPSILON
    rows, right = list(first), (predicted == truth).astype(float)
    while len(rows) < count:
        log_weights = right[:, rows].sum(axis=1) * np.log(odds)
        left = entropy_left(predicted, np.exp(log_weights - log_weights.max()), odds)
        left[rows] = np.inf
        rows.append(int(rng.choice(np.flatnonzero(left <= left.min() + 1e-12))))
    return rows


def of_rank(suite: Suite, pool: np.ndarray, rows: Picks, chosen: int) -> Any:
    """The posterior of `rank` with labels of these places of the pool, the last so many ``chosen``; no reference."""
    rest = np.setdiff1d(np.arange(len(pool)), rows)
    if not chosen:
        return ranked(suite, pool[rows], pool[rest], referenced=False)
    by_choice = np.arange(len(rows)) >= len(rows) - chosen
    answers = suite.answers[:, pool[np.r_[rows, rest]]]
    return outcome.beliefs_of(answers, suite.truth[pool[rows]], draws=1, chosen=by_choice)[0]


def suggested(suite: Suite, pool: np.ndarray, first: Picks, count: int, seed: int) -> Picks:
    """Ten at a time of what `rank` suggests, behind the first ones; where nothing tells more, at random."""
    rows = list(first)
    while len(rows) < count:
        rest = np.setdiff1d(np.arange(len(pool)), rows)
        found = of_rank(suite, pool, rows, len(rows) - len(first))
        told = rows_to_label(suite.predicted[:, pool[rest]], found.p_best, MORE, seed=seed)
        others = np.setdiff1d(np.arange(len(rest)), told)
        rows += [int(rest[at]) for at in [*told, *others][: min(MORE, count - len(rows))]]
    return rows


def answers_of(suite: Suite, pool: np.ndarray) -> np.ndarray:
    """Probabilities of the pool, (model, row, class); 1 for the predicted class where a suite has classes alone."""
    if suite.answers.ndim == 3:
        return suite.answers[:, pool]
    classes = int(max(suite.predicted.max(), suite.truth.max())) + 1
    return np.eye(classes)[suite.predicted[:, pool]]


def of_suite(suite: Suite, draws: int) -> dict[str, Any]:
    """Regret of each rule with each number of labels, mean over the draws."""
    accuracy = suite.accuracy
    lost = {count: {rule: list[float]() for rule in RULES} for count in BUDGETS}
    for draw in range(draws):
        rng = np.random.default_rng([draw, *suite.name.encode()])
        pool = rng.permutation(len(suite.truth))[:POOL]
        predicted, truth = suite.predicted[:, pool], suite.truth[pool]
        right = predicted == truth
        most = max(BUDGETS)
        random, picks = [*range(most)], picked(predicted, truth, most, draw)
        first = random[:MORE]
        ours = suggested(suite, pool, first, most, draw)
        both = picked(predicted, truth, most, draw, first)
        believed = asked(answers_of(suite, pool), truth, most, draw)[1]
        for count in BUDGETS:
            chosen = count - MORE
            scores = (
                right[:, random[:count]].sum(axis=1),
                right[:, picks[:count]].sum(axis=1),
                believed[count - 1],
                *(
                    places(of_rank(suite, pool, rows[:count], of_choice).order)
                    for rows, of_choice in ((random, 0), (ours, chosen), (both, chosen))
                ),
            )
            for rule, score in zip(RULES, scores, strict=True):
                lost[count][rule].append(regret(score, accuracy))
    means = {
        str(count): {rule: round(float(np.mean(values)), 4) for rule, values in of_rules.items()}
        for count, of_rules in lost.items()
    }
    return {"suite": suite.name, "kind": suite.kind, "source": suite.source, "regret": means}


def measure(given: argparse.Namespace) -> kit.Result:
    """All suites that have twice as many rows as labels are asked for."""
    rows = []
    for number, suite in enumerate(suites(kit.data_folder())):
        if len(suite.truth) < 2 * max(BUDGETS) or number % (given.only or 1):
            continue
        rows.append(of_suite(suite, given.draws))
        print(f"{len(rows)}: {suite.name}", file=sys.stderr, flush=True)
    table = {
        group: {
            "suites": len(some),
            **{
                str(count): {
                    rule: mean_interval(
                        [
                            s["regret"][str(count)][rule]
                            - (s["regret"][str(count)][RULES[1]] if rule != RULES[1] else 0.0)
                            for s in some
                        ]
                    )
                    for rule in RULES
                }
                for count in BUDGETS
            },
        }
        for group, some in groups_of(rows).items()
        if not group.startswith("source")
    }
    command = f"python -m benchmarks.model_picker --draws {given.draws}"
    return {"command": command, "machine": kit.machine(), "regret": table, "suites": rows}


def page(found: Mapping[str, Any]) -> str:
    """Regret by group, and beside Model Picker's."""
    lines = [
        "# Which rows to label: ours beside Model Picker and CODA",
        "",
        f"`{found['command']}`. Regret of the model that is named, in points of accuracy; in brackets the mean",
        "difference from Model Picker's with its 95 % interval over suites, below 0: better than it.",
        "",
    ]
    for count in map(str, BUDGETS):
        rows, shown = [], RULES if int(count) > MORE else RULES[:4]  # before, nothing is chosen
        for group, cells in found["regret"].items():
            own = cells[count][RULES[1]][0]
            row = [group, str(cells["suites"])]
            for rule in shown:
                mean, low, high = cells[count][rule]
                is_own = rule == RULES[1]
                gap = "" if is_own else f" ({mean:+.2f} [{low:+.2f}, {high:+.2f}])"
                row.append(f"{own if is_own else own + mean:.2f}{gap}")
            rows.append(row)
        lines += [f"## {count} labels", "", *kit.table(["group", "suites", *shown], rows)]
    return kit.joined(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; its exit status."""
    work: Callable[[argparse.Namespace], kit.Result] = measure
    return kit.command(
        __doc__,
        "model_picker",
        work,
        page,
        arguments,
        draws=(2, "draws a suite"),
        only=(0, "each n-th suite alone, for a quick look; nothing is kept"),
    )


if __name__ == "__main__":
    raise SystemExit(main())
