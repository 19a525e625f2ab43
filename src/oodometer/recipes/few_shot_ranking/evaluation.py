"""Evaluation: the models of one suite and seed, every method of ranking them, and how often each is right."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...attributions.factors.table import factor_values
from ...rankings.baselines import baseline_methods
from ...rankings.few_shot import FewShot, draw_rows, few_shot_evaluation
from ...rankings.learnt import LearntWeights
from ...rankings.paired_test import draws_test
from ...rankings.rules import Method
from ...rankings.suite import Suite as Answers
from ...rankings.suite import suite_of
from ..base import Workspace
from ..kit.answers import load_answers
from . import evidence
from .data import RunData
from .lineup import Plan, Suite
from .record import accuracies, record_of
from .work import METHODS, explained

__all__ = ["BASELINE", "GROUPS", "Evaluation", "spread_over"]

BASELINE = "ACC"
GROUPS = ("inoculated", "architectures", "pairs")
"""Models of one network that saw more or less of the target data; one model a network; and those of Table 4."""


@final
class Evaluation:
    """What the models of a suite said, and what each method makes of it.

    ``plans`` are the models, ``probabilities`` of the positive class, shape (model, row), of all rows out of domain;
    the first ``pool`` rows are the population that examples are drawn from.
    """

    def __init__(self, workspace: Workspace, data: RunData, suite: Suite, seed: int, plans: Sequence[Plan]) -> None:
        self.suite, self.seed, self.plans, self.config = suite, seed, tuple(plans), data.config
        self._workspace, self._rows = workspace, data.rows(suite, seed)
        held = [load_answers(workspace, f"answers/{seed}/{plan.name}", suite.name) for plan in plans]
        near = [load_answers(workspace, f"answers/{seed}/{plan.name}", "in-domain") for plan in plans]
        self.label = held[0]["label"]
        self.probabilities = np.stack([one["positive"] for one in held])
        self.near_label, self.near = near[0]["label"], np.stack([one["positive"] for one in near])
        self.truth = accuracies(self.probabilities, self.label)
        self.pool = self._rows.pool
        self._factors = {method: found for method in METHODS if (found := self._values(method)) is not None}

    def _values(self, method: str) -> Array | None:
        """Factors, shape (factor, model, example), nan where words do not occur; None without explanations."""
        if method == "token-ig" and self.seed >= self.config.ig_seeds:
            return None
        words, folder = self._rows.words(), f"attributions/{self.seed}/{self.suite.name}"
        found = [
            factor_values(explained(self._workspace, folder, f"{plan.name}.{method}", words), self.suite.factors)
            for plan in self.plans
        ]
        out = np.stack(found, axis=1)
        if self.suite.feature:
            out[:, :, [one.feature is None for one in words]] = np.nan
        return out

    # ---------------------------------------------------------------- groups

    def groups(self) -> Iterator[tuple[str, list[int]]]:
        """Name and models of each comparison; those whose models are all equally good are left out."""
        inoculated = [i for i, plan in enumerate(self.plans) if plan.inoculated]
        others = [i for i, plan in enumerate(self.plans) if not plan.inoculated]
        found = {"inoculated": inoculated}
        if others:
            by_name = {plan.name: i for i, plan in enumerate(self.plans)}
            first = by_name["paws-pure" if self.suite.name == "PAWS" else "nli-base"]
            found["architectures"] = [first, *others]
            if self.suite.name == "PAWS":
                found["pairs"] = [first, by_name["paws-mixed-1"], *others]
        for name, models in found.items():
            if len(set(self.truth[models].tolist())) > 1:
                yield name, models

    def methods(self, models: Sequence[int]) -> dict[str, Method]:
        """Every method for some of the models; a factor enters as minus its value."""
        answers = self.answers(models, slice(0, self.pool))
        out = baseline_methods(answers, seed=self.seed)
        for method, values in self._factors.items():
            for place, factor in enumerate(self.suite.factors):
                out[f"{method}/{factor}"] = -values[place][list(models)]
        return {**out, **evidence.methods(self, models, out)}

    def answers(self, models: Sequence[int], rows: slice | None = None, *, labels: bool = True) -> Answers:
        """Answers of some models on some of the rows out of domain, by default on all."""
        rows = rows or slice(None)
        label = self.label[rows] if labels else None
        return suite_of({str(i): record_of(self.probabilities[i, rows], label) for i in models})

    def drawn(self) -> Array:
        """The draws of the protocol, shape (draw, size)."""
        config = self.config
        return draw_rows(self.pool, draws=config.draws, size=min(config.size, self.pool), seed=self.seed)

    def ranked(self, models: Sequence[int], weights: LearntWeights | None = None) -> FewShot:
        """The protocol over the pool, with the accuracy on all rows as truth; ``weights`` were learnt elsewhere."""
        config, methods = self.config, self.methods(models)
        if weights is not None:
            methods[evidence.LEARNT] = weights.rule(evidence.pieces_of(self, methods))
        return few_shot_evaluation(
            methods,
            self.truth[list(models)],
            models=[self.plans[i].label for i in models],
            draws=config.draws,
            size=min(config.size, self.pool),
            seed=self.seed,
        )

    def rows(self, weights: LearntWeights | None = None) -> Iterator[dict[str, Any]]:
        """What is to be told of each group of models; the inoculated ones are also ranked by learnt weights."""
        for group, models in self.groups():
            found = self.ranked(models, weights if group == "inoculated" else None)
            told = dict(zip(found.methods, found.few_shot.tolist(), strict=True))
            tests = {
                name: draws_test(found.of(name), found.of(BASELINE), resamples=999, seed=self.seed).p_value
                for name in found.methods
                if name != BASELINE
            }
            yield {
                "suite": self.suite.name,
                "seed": self.seed,
                "group": group,
                "models": [self.plans[i].label for i in models],
                "accuracy": self.truth[models].tolist(),
                "equal": found.equal,
                "pairs": [
                    {"pair": found.pair_name(k), "gap": float(found.truth[a] - found.truth[b])}
                    for k, (a, b) in enumerate(found.pairs)
                ],
                "few_shot": told,
                "ties": dict(zip(found.methods, found.ties.tolist(), strict=True)),
                "pairwise": dict(zip(found.methods, found.pairwise.tolist(), strict=True)),
                "p_draws": tests,
            }

    def absent(self) -> dict[str, int]:
        """Factor -> examples of the pool in which its words do not occur."""
        held = self._factors["lime"][:, 0]
        return dict(zip(self.suite.factors, np.isnan(held).sum(axis=1).tolist(), strict=True))


def spread_over(values: Sequence[float]) -> dict[str, Any]:
    """Mean and standard deviation over seeds (None of a single one), and each seed's value.

    >>> spread_over([1.0, 3.0])
    {'mean': 2.0, 'sd': 1.4142135623730951, 'by_seed': [1.0, 3.0]}
    """
    found = np.asarray(values, dtype=float)
    sd = float(found.std(ddof=1)) if len(found) > 1 else None
    return {"mean": float(found.mean()), "sd": sd, "by_seed": found.tolist()}
