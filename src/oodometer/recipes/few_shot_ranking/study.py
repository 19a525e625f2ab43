"""The study: every suite of every seed evaluated, and what the claims and tables are about."""

from __future__ import annotations

import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...attributions.factors.base import factor_values
from ...rankings.combination import LearntWeights, labels_first, leave_one_out, powered_accuracy
from ...rankings.few_shot import FewShot, baseline_methods, draw_rows, draws_test, few_shot_evaluation, guess_accuracy
from ...rankings.pool import pool_evidence
from ...rankings.suite import Method, fixed, scored, suite_of
from ...rankings.suite import Suite as Answers
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.sources import load_answers
from ..kit.tables import mean_and_spread, rounded
from .data import METHODS, STAND_INS, RunData, accuracies, balanced, explained, record_of
from .lineup import FAMILIES, SUITES, Plan, RunConfig, Suite, lineup, suites_of

POWERED = "PPI++"
LEARNT = "learnt"
COMBINED = ("ACC + all", "ACC + pool", "ACC + factors", "ACC + CONF-GT", LEARNT)
"""Names of the combined rankings that are compared with ACC; what they hold was settled before any run."""
_POOL = "plurality"
_PIECES = ("ACC", "CONF-GT", POWERED, f"pool/{_POOL}")
"""What the learnt ranking weighs, beside the factor made for the set."""


def evidence_methods(held: Evaluation, models: Sequence[int], known: Mapping[str, Method]) -> dict[str, Method]:
    """Rankings by the unlabelled pool, and by everything together, for some of the models.

    The pool is all rows out of domain without their labels, the reference of the estimators the in-domain rows. In the
    combined rankings labels come first and the rest is worth less than one of them: "all" is prediction-powered
    accuracy, agreement with the other models, CONF-GT and the factor made for the set, by LIME and by SHAP.
    """
    # What all rows out of domain say without their labels, with the in-domain rows for a reference
    pools = {str(i): record_of(held.probabilities[i], None) for i in models}
    found = pool_evidence(pools, {str(i): record_of(held.near[i], held.near_label) for i in models})
    out: dict[str, Method] = {f"pool/{name}": fixed(scores) for name, scores in found.scores.items()}
    answers, whole = held.answers(models, slice(0, held.pool)), held.answers(models, labels=False)
    assert answers.probabilities is not None
    assert whole.probabilities is not None
    right = answers.correct
    out[POWERED] = powered_accuracy(right, answers.probabilities.max(axis=2), whole.probabilities.max(axis=2))
    pool = {POWERED: out[POWERED], _POOL: out[f"pool/{_POOL}"]}
    own = {name: known[name] for one in held.suite.own[:1] for name in (f"lime/{one}", f"shap/{one}")}
    truth = {"CONF-GT": known["CONF-GT"]}
    pieces = ({**pool, **own, **truth}, pool, own, truth)
    return {**out, **{name: labels_first(right, one) for name, one in zip(COMBINED, pieces, strict=False)}}


def pieces_of(held: Evaluation, known: Mapping[str, Method]) -> dict[str, Method]:
    """The evidence that the learnt ranking weighs, by names that all suites share."""
    own = {f"{method}/own": known[f"{method}/{held.suite.own[0]}"] for method in ("lime", "shap")}
    return {**{name: known[name] for name in _PIECES}, **own}


def learnt_weights(suites: Sequence[Evaluation]) -> dict[str, LearntWeights]:
    """For each suite of a seed the weights that the inoculated models of the others teach."""
    sets = {}
    for held in suites:
        models = dict(held.groups()).get("inoculated")
        if models is not None:
            pieces = pieces_of(held, held.methods(models))
            sets[held.suite.name] = (scored(pieces, held.drawn()), held.truth[models])
            names = list(pieces)
    return leave_one_out(sets, names) if len(sets) > 1 else {}


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
        return {**out, **evidence_methods(self, models, out)}

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
            methods[LEARNT] = weights.rule(pieces_of(self, methods))
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


spread_over = partial(mean_and_spread, of="by_seed")


FORM = 1  # raise it where the form of the result changes: then the step is done again


def study(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all rankings; writes ``study.json``."""
    rows: list[dict[str, Any]] = []
    sets: list[dict[str, Any]] = []
    guesses: list[list[list[float]]] = []
    done = 0
    learnt: list[dict[str, Any]] = []
    for seed in range(config.seeds):
        three: list[list[float]] = []
        suites = [Evaluation(workspace, data, one, seed, ranked_plans(config, one.family)) for one in SUITES]
        weights = learnt_weights(suites)
        learnt += [{"left_out": name, "seed": seed, **one.to_dict()} for name, one in weights.items()]
        for suite, held in zip(SUITES, suites, strict=True):
            found = list(held.rows(weights.get(suite.name)))
            rows += found
            three += [one["accuracy"] for one in found if one["group"] == "architectures"]
            counts = data.rows(suite, seed).counts
            sets.append({"set": suite.name, "seed": seed, **counts, "absent": held.absent()})
            done += 1
            progress(done, config.seeds * len(SUITES) + 1)
        guesses.append(three)
    result: dict[str, Any] = {"form": FORM, "version": __version__, "python": platform.python_version()}
    result |= {"sizes": asdict(config), "stand_ins": STAND_INS, "baseline": BASELINE, "combined": list(COMBINED)}
    result["data"] = {family: data.fingerprints(family) for family in FAMILIES}
    result |= {"sets": sets, "models": models(config, workspace), "rows": rows, "guess": _guess(guesses)}
    result["learnt"] = learnt
    workspace.write_json("study.json", rounded(result))
    progress(1, 1)


def ranked_plans(config: RunConfig, family: str) -> list[Plan]:
    """The models of a family that stand in suites; those of other networks that others only go on from do not."""
    plans = [plan for plan in lineup(config) if plan.family == family]
    return [plan for plan in plans if plan.inoculated or all(other.start != plan.name for other in plans)]


def models(config: RunConfig, workspace: Workspace) -> list[dict[str, Any]]:
    """Every model with its accuracy in-domain and on each suite (Tables 5 and 6), over the seeds."""
    out = []
    for plan in lineup(config):
        told: dict[str, Any] = {**plan.to_dict(), "family": plan.family, "accuracy": {}, "balanced": {}}
        for name in ("in-domain", *(suite.name for suite in suites_of(plan.family))):
            right, even = [], []
            for seed in range(config.seeds):
                held = load_answers(workspace, f"answers/{seed}/{plan.name}", name)
                right.append(float(accuracies(held["positive"][None], held["label"])[0]))
                even.append(float(balanced(held["positive"][None], held["label"])[0]))
            told["accuracy"][name], told["balanced"][name] = spread_over(right), spread_over(even)
        out.append(told)
    return out


def _guess(by_seed: Sequence[Sequence[Sequence[float]]]) -> list[dict[str, Any]]:
    """GUESS for each architecture that could be named best in every set: few-shot accuracy over the seeds."""
    found = [guess_accuracy(sets) for sets in by_seed if sets]
    if not found:
        return []
    return [
        {"model": place, "few_shot": spread_over(values.tolist())} for place, values in enumerate(np.array(found).T)
    ]
