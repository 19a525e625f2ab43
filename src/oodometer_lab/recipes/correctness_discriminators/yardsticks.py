"""Yardsticks of bounds: ATC plus and minus a constant, coins, the choice made on other tasks, the interval score."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from oodometer.intervals import normal_quantile

LEVEL = 0.95  # share of the other tasks' sets that must hold the truth, and the level of the interval score
PAPERS = 0.9  # of ten data sets nine hold the truth in the paper
_ACCEPT = {"half": "P ≥ 0.5", "thresholds": "thresholds", "slack": "thresholds with slack"}
Rows = Sequence[Mapping[str, Any]]


def trainings(result: Mapping[str, Any], task: str) -> list[Mapping[str, Any]]:
    """All trainings of a task, the first seed first."""
    replicates = result.get("replicates", {}).get(task, {})
    return [result["tasks"][task], *(replicates[seed] for seed in sorted(replicates, key=int))]


def interval_score(lower: float, upper: float, truth: float, level: float = LEVEL) -> float:
    """upper - lower + 2 / (1 - level) max(lower - truth, truth - upper, 0), smaller is better; a wider interval and a
    farther miss both cost. Source: Gneiting and Raftery (2007), section 6.2.

    >>> round(interval_score(0.4, 0.6, 0.5), 2), round(interval_score(0.4, 0.6, 0.65, 0.9), 2)
    (0.2, 1.2)
    """
    return upper - lower + 2 / (1 - level) * max(lower - truth, truth - upper, 0.0)


def coins(accept: float, judges: int) -> tuple[float, float]:
    """Bounds by judges that accept each output by chance, as often as real ones do on the development set:
    (a^n, 1 - (1 - a)^n), where all agree. What bounds like these hold as well is no evidence for judges.
    """
    return accept**judges, 1 - (1 - accept) ** judges


def enough(count: int) -> int:
    """How many of n sets must hold the truth: the smallest k with k / (n + 1) at least the level, at most all."""
    return min(count, math.ceil(LEVEL * (count + 1)))


def _named(row: Mapping[str, Any]) -> str:
    return f"{row['voters']}, {_ACCEPT[row['accept']]}, {row['agree']} of {row['of']}"


def chosen_elsewhere(rows: Rows) -> dict[str, str]:
    """For each task the narrowest choice among those that hold the truth on enough sets of the OTHER tasks, those out
    of distribution alone; the one that holds most where none does. Empty with fewer than three tasks.
    """
    chosen, away = dict[str, str](), [row for row in rows if not row["near"]]
    for task in dict.fromkeys(row["task"] for row in rows):
        elsewhere = [row for row in away if row["task"] != task]
        choices = dict.fromkeys(name for row in elsewhere for name in row["choices"])
        worths = {name: worth for name in choices if (worth := Worth.of_rows(elsewhere, name))}
        if len({row["task"] for row in elsewhere}) > 1 and worths:
            chosen[task] = max(
                (min(w.inside, enough(w.of)), -w.width, name) for name, w in worths.items()
            )[2]
    return chosen


def bounds_of_choice(study: Mapping[str, Any], name: str | None) -> dict[str, Any] | None:
    """A choice as a procedure of a study: its bounds and their mean; None where the study lacks it. Errors of numbers
    from the same rows are added, which no dependence between them can exceed.
    """
    choice = next((row for row in study["choices"] if _named(row) == name), None)
    if choice is None:
        return None
    low, high, gold = choice["lower"], choice["upper"], study["gold"]["value"]
    below, above, true = ((p * (1 - p) / study["rows"]) ** 0.5 for p in (low, high, gold))

    def cell(value: float, error: float) -> dict[str, Any]:
        half = normal_quantile(LEVEL) * error
        return {
            "value": value,
            "lower": value - half,
            "upper": value + half,
            "level": LEVEL,
            "kind": "asymptotic",
        }

    middle, error = (low + high) / 2, (below + above) / 2
    mean = {"value": cell(middle, error), "error": cell(abs(middle - gold), error + true)}
    both = (
        ("lower", {"value": cell(low, below)}),
        ("upper", {"value": cell(high, above)}),
        ("mean", mean),
    )
    margins = {
        "above_lower": cell(gold - low, below + true),
        "below_upper": cell(high - gold, above + true),
    }
    methods = [{"method": name, **numbers} for name, numbers in both]
    more = {
        "inside": choice["inside"],
        "width": cell(high - low, below + above),
        "judges": choice["of"],
    }
    return {**more, "methods": methods, "bounds": [{"agree": choice["agree"], **margins}]}


def intervals(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    """A row for each data set and training: its truth ``gold``; ``by``: lower and upper end of every procedure, of each
    of the ``choices`` of voters, thresholds and agreement, of the one ``chosen`` on the other tasks, of ``coins``, and
    of ``constant``, ATC plus and minus it.
    """
    rows = list[dict[str, Any]]()
    for task in result["tasks"]:
        for seed, run in enumerate(trainings(result, task)):
            for study in run["sets"].values():
                by = {_named(row): (row["lower"], row["upper"]) for row in study["choices"]}
                about = {"task": task, "seed": seed, "title": study["title"], "choices": tuple(by)}
                for at, procedure in (
                    ("half", study["at_half"]),
                    ("thresholds", study),
                    ("mixed", study.get("mixed")),
                ):
                    if procedure is not None:
                        ends = {
                            row["method"]: row["value"]["value"] for row in procedure["methods"]
                        }
                        by[at] = ends["lower"], ends["upper"]
                by["coins"] = coins(run["dev_accuracy"]["value"], study["judges"])
                about["atc"] = next(
                    (row["value"]["value"] for row in study["methods"] if row["method"] == "atc"),
                    None,
                )
                rows.append(
                    {
                        **about,
                        "near": study["domain"] == "in",
                        "gold": study["gold"]["value"],
                        "by": by,
                    }
                )
    chosen, constants = (
        chosen_elsewhere(rows),
        {task: constant(rows, task) for task in result["tasks"]},
    )
    for row in rows:
        if (choice := chosen.get(row["task"])) in row["by"]:
            row["by"]["chosen"] = row["by"][choice]
        if (c := constants[row["task"]]) is not None and row["atc"] is not None:
            row["by"]["constant"] = around(row["atc"], c)
    return rows


def around(value: float, c: float) -> tuple[float, float]:
    """A share plus and minus c, cut to [0, 1]."""
    return max(value - c, 0.0), min(value + c, 1.0)


def constant(rows: Rows, task: str) -> float | None:
    """The smallest c for which ATC plus and minus c holds enough of the other tasks' sets, those out of distribution
    alone; None where there is none.
    """
    elsewhere = [
        row for row in rows if row["task"] != task and not row["near"] and row["atc"] is not None
    ]
    errors = sorted(abs(row["atc"] - row["gold"]) for row in elsewhere)
    return errors[enough(len(errors)) - 1] if errors else None


class Worth(NamedTuple):
    """How intervals fared: how many hold the truth, of how many; means of width, of the middle's error, of the interval
    score at both levels.
    """

    inside: int
    of: int
    width: float
    error: float
    score: float
    score_papers: float

    @classmethod
    def of_rows(cls, rows: Rows, name: str) -> Worth | None:
        """Of those rows that have the interval of this name; None where there is none."""
        triples = [(*row["by"][name], row["gold"]) for row in rows if name in row["by"]]
        if not triples:
            return None
        means = [
            [upper - lower for lower, upper, _ in triples],
            [abs((a + b) / 2 - gold) for a, b, gold in triples],
        ]
        means += [
            [interval_score(a, b, gold, level) for a, b, gold in triples]
            for level in (LEVEL, PAPERS)
        ]
        covered = sum(lower <= gold <= upper for lower, upper, gold in triples)
        return cls(covered, len(triples), *(sum(values) / len(triples) for values in means))
