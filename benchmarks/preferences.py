"""Strengths of Bradley and Terry from battles that share prompts and judges: coverage of 95 %; results/preferences.*.

python -m benchmarks.preferences [--draws N]

Each prompt has a battle of every two models, in an order by lot; a prompt suits one model more than another (standard
deviation 0.5 or 1 in log-odds), the first place helps, 15 % are ties. Or 600 battles of 5 models on 150 prompts, each
judged by one of 12, 31 or 100 people who lean towards models of their own, and towards the first place. The truth is
what the same fit gives of a million battles. "independent" is the interval that takes each battle by itself.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from benchmarks import kit
from oodometer.inference.bradley_terry import Strengths, bradley_terry

LEVEL, TIES, PLACE = 0.95, 0.15, 0.4
MANY = 1_000_000  # battles of which the truth is


@dataclass(frozen=True)
class Setting:
    """How many models there are, how far they lie apart, how much prompts differ, and how many judges there are."""

    models: int
    spread: float
    prompts: int
    suits: float
    judges: int = 0

    @property
    def names(self) -> list[str]:
        """Of the models, the weakest first."""
        return [f"m{i:02}" for i in range(self.models)]


SETTINGS = [
    Setting(2, 0.3, 100, 0.5),
    Setting(4, 0.5, 50, 0.5),
    Setting(4, 1.5, 50, 1.0),
    Setting(4, 0.5, 200, 0.5),
    Setting(10, 0.8, 80, 0.5),
    Setting(5, 0.5, 150, 0.5, 12),
    Setting(5, 0.5, 150, 0.5, 31),
    Setting(5, 0.5, 150, 0.5, 100),
]


def battles(
    setting: Setting, prompts: int, judges: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[np.ndarray]]:
    """The two models of each battle, who won, and the codes of what battles share."""
    level = np.linspace(-1, 1, setting.models) * setting.spread
    pairs = np.array(list(combinations(range(setting.models), 2)))
    own = level + rng.normal(0, setting.suits, (prompts, setting.models))
    if judges:
        rows = 4 * prompts
        prompt, judge = np.repeat(np.arange(prompts), 4), rng.integers(0, judges, rows)
        pair = pairs[rng.integers(0, len(pairs), rows)]
        leaning = rng.normal(0, 0.4, (judges, setting.models))
        places = PLACE + rng.normal(0, 0.4, judges)[judge]
    else:
        rows = prompts * len(pairs)
        prompt, judge = np.repeat(np.arange(prompts), len(pairs)), np.zeros(rows, dtype=int)
        pair = np.tile(pairs, (prompts, 1))
        leaning, places = np.zeros((1, setting.models)), np.full(rows, PLACE)
    turned = rng.random(rows) < 0.5
    first, second = (
        np.where(turned, pair[:, 1], pair[:, 0]),
        np.where(turned, pair[:, 0], pair[:, 1]),
    )
    odds = own[prompt, first] - own[prompt, second] + places
    odds += leaning[judge, first] - leaning[judge, second]
    won = (rng.random(rows) < 1 / (1 + np.exp(-odds))).astype(float)
    won[rng.random(rows) < TIES] = 0.5
    return first, second, won, [prompt, judge] if judges else [prompt]


def fit(setting: Setting, drawn: tuple[np.ndarray, ...], clusters: list[np.ndarray]) -> Strengths:
    """The strengths, with the place as a covariate."""
    first, second, won = drawn
    names = np.array(setting.names)
    return bradley_terry(
        names[first],
        names[second],
        won,
        clusters=clusters,
        covariates=np.ones((len(won), 1)),
        names=["place"],
        models=setting.names,
    )


def numbers(found: Strengths) -> dict[str, tuple[float, float, float]]:
    """What is looked at, each with its ends."""
    count = len(found.models)
    alone, place = np.zeros(len(found.value)), np.zeros(len(found.value))
    alone[0], place[count] = 1, 1
    return {
        "strongest - weakest": found.contrast(found.gap(count - 1, 0), LEVEL),
        "two neighbours": found.contrast(found.gap(count // 2, count // 2 - 1), LEVEL),
        "strength of one": found.contrast(alone, LEVEL),
        "place": found.contrast(place, LEVEL),
        "wins of one": found.wins(0, LEVEL),
    }


def cells(draws: int) -> Iterator[kit.Result]:
    for setting in SETTINGS:
        rng = np.random.default_rng([setting.models, setting.prompts, setting.judges])
        per_prompt = 4 if setting.judges else setting.models * (setting.models - 1) // 2
        prompts = MANY // per_prompt
        *drawn, clusters = battles(setting, prompts, 20_000 if setting.judges else 0, rng)
        truth = numbers(fit(setting, tuple(drawn), clusters))
        held: dict[str, list[tuple[bool, bool, float]]] = {name: [] for name in truth}
        for _ in range(draws):
            *drawn, clusters = battles(setting, setting.prompts, setting.judges, rng)
            ours = numbers(fit(setting, tuple(drawn), clusters))
            plain = numbers(fit(setting, tuple(drawn), []))
            for name, (value, _, _) in truth.items():
                low, high = ours[name][1:]
                inside = plain[name][1] <= value <= plain[name][2]
                held[name].append((low <= value <= high, inside, high - low))
        for name, rows in held.items():
            coverage, alone, width = np.mean(rows, axis=0).tolist()
            about: kit.Result = {
                "models": setting.models,
                "prompts": setting.prompts,
                "suits": setting.suits,
            }
            about |= {"judges": setting.judges, "of": name, "truth": truth[name][0]}
            yield {**about, "coverage": coverage, "independent": alone, "width": width}


def measure(options: argparse.Namespace) -> kit.Result:
    out = list(cells(options.draws))
    few = [cell["coverage"] for cell in out if 0 < cell["judges"] < 30]
    coverage = [cell["coverage"] for cell in out if not 0 < cell["judges"] < 30]
    limits = [
        {"limit": name, "value": value, "holds": holds}
        for name, value, holds in (
            ("lowest coverage, at least 0.93", min(coverage), min(coverage) >= 0.93),
            ("highest coverage, at most 0.99", max(coverage), max(coverage) <= 0.99),
            ("lowest of 12 judges, at least 0.9", min(few), min(few) >= 0.9),
        )
    ]
    return {"draws": options.draws, "level": LEVEL, "limits": limits, "cells": out}


def page(result: kit.Result) -> str:
    lines = [
        "# Strengths from battles: coverage of nominal 95 % intervals, and mean width in log-odds",
        "",
        f"`python -m benchmarks.preferences --draws {result['draws']}`; coverage in %. Clusters are prompts, and "
        'judges where there are some; "independent" takes each battle by itself.',
        "",
    ]
    rows = []
    for cell in result["cells"]:
        judges = str(cell["judges"]) if cell["judges"] else "-"
        start = [str(cell["models"]), str(cell["prompts"]), f"{cell['suits']:g}", judges]
        shares = [f"{100 * cell[name]:.1f}" for name in ("coverage", "independent")]
        rows.append([*start, cell["of"], *shares, f"{cell['width']:.3f}"])
    head = [
        "models",
        "prompts",
        "prompts differ by",
        "judges",
        "of",
        "ours",
        "independent",
        "width",
    ]
    lines += kit.table(head, rows, "rrrrlrrr")
    return kit.joined([*lines, *kit.promises(result["limits"])])


if __name__ == "__main__":
    raise SystemExit(
        kit.command(__doc__, "preferences", measure, page, draws=(600, "draws a cell"))
    )
