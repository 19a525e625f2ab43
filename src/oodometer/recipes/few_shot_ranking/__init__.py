"""Few-shot ranking: which of several models does best out of domain, from ten examples. Singhal et al. (2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, final

from ...models.torch.library import transformers
from ..base import Recipe, Step
from ..kit.claims import judged
from ..kit.publish import last_steps, of_study
from ..kit.sources import placed
from .data import METHODS, MODEL_FILES, RunData, ask, check, cut, cut_files, explain, is_cut, train
from .findings import FIGURES, claims_of, markdown
from .lineup import FAMILIES, RUN_CONFIGS, SUITES, Plan, RunConfig, Suite, lineup, suites_of, training_of
from .study import FORM, study

__all__ = ["RECIPE", "FewShotRanking"]

# Seconds of one core at the small scale: a training step, a question about a word in a perturbed text. Only bar and
# order depend on them.
_STEP, _SAMPLE, _GRADIENT = 0.2, 0.0015, 0.006


@final
class Steps:
    """All steps but the tables."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data = config, data
        self.plans = {plan.name: plan for plan in lineup(config)}
        self._data = {family: data.fingerprints(family) for family in FAMILIES}

    def all(self) -> list[Step]:
        """The steps in an order in which each stands behind those that it needs."""
        config, out = self.config, []
        cuts = sorted({name for one in config.networks.values() if is_cut(one) for name in cut_files(one)})
        if cuts:
            out.append(Step("cut", "cutting the network", tuple(cuts), partial(cut, config), {"files": cuts}, (), 5.0))
        for seed in range(config.seeds):
            out += [self._train(plan, seed) for plan in self.plans.values()]
            out += [self._ask(plan, seed) for plan in self.plans.values()]
            for suite in SUITES:
                ranked = [plan for plan in self.plans.values() if self.is_ranked(plan) and plan.family == suite.family]
                out += [
                    self._explain(plan, suite, method, seed)
                    for plan in ranked
                    for method in METHODS
                    if method != "token-ig" or seed < config.ig_seeds
                ]
        needs = [step.name for step in out if step.name.startswith(("ask-", "explain-"))]

        settings = {"form": FORM, "draws": config.draws, "size": config.size}
        out.append(
            Step(
                "study",
                "judging the rankings",
                ("study.json",),
                partial(study, config, self.data),
                settings,
                tuple(needs),
                60.0,
            )
        )
        return out

    def is_ranked(self, plan: Plan) -> bool:
        """Whether a model stands in a suite; one that others only go on from, of another network, does not."""
        return plan.inoculated or all(other.start != plan.name for other in self.plans.values())

    def _train(self, plan: Plan, seed: int) -> Step:
        config, network = self.config, self.config.networks[plan.network]
        folder = f"models/{seed}/{plan.name}"
        work = placed(folder, train, self.data, plan, seed)
        settings: dict[str, Any] = {"plan": plan.to_dict(), "network": dict(network), "seed": seed}
        settings |= {"training": training_of(config, plan), "data": self._data[plan.family]}
        settings |= {"paws": config.paws_inoculation} if plan.family == "paraphrase" else {}
        needs = (f"train-{seed}-{plan.start}",) if plan.start else ("cut",) if is_cut(network) else ()
        steps = plan.further if plan.start else plan.steps
        longer = {"nli": 2.0, "paraphrase": 3.0}.get(plan.family, 1.0)
        about = f"training {plan.name} (seed {seed})"
        files = tuple(f"{folder}/{one}" for one in (*MODEL_FILES, "classes.json"))
        return Step(f"train-{seed}-{plan.name}", about, files, work, settings, needs, 1 + _STEP * steps * longer)

    def _ask(self, plan: Plan, seed: int) -> Step:
        suites, folder = suites_of(plan.family), f"answers/{seed}/{plan.name}"
        work = placed(folder, ask, self.data, plan, suites, seed)
        config = self.config
        settings = {"rows": config.truth_rows, "near": config.in_domain_rows, "seed": seed}
        files = tuple(f"{folder}/{name}.npz" for name in ("in-domain", *(suite.name for suite in suites)))
        needs = (f"train-{seed}-{plan.name}",)
        return Step(f"ask-{seed}-{plan.name}", f"asking {plan.name} (seed {seed})", files, work, settings, needs, 7.0)

    def _explain(self, plan: Plan, suite: Suite, method: str, seed: int) -> Step:
        config, folder = self.config, f"attributions/{seed}/{suite.name}"
        work = placed(folder, explain, self.data, plan, suite, method, seed)
        gradients = method == "token-ig"
        pool, samples = config.pool_of(seed), config.ig_steps if gradients else config.samples_of(seed)
        settings = {"pool": pool, "samples": samples, "rows": config.truth_rows, "seed": seed}
        about = f"explaining {plan.name} on {suite.name} by {method} (seed {seed})"
        name, needs = f"explain-{seed}-{suite.name}-{plan.name}-{method}", (f"train-{seed}-{plan.name}",)
        weight = pool * samples * (_GRADIENT if gradients else _SAMPLE)
        return Step(name, about, (f"{folder}/{plan.name}.{method}.npz",), work, settings, needs, weight)


@final
class FewShotRanking(Recipe):
    """The recipe; ``config`` replaces the usual one of each scale, for tests."""

    name = "few-shot-ranking"
    title = "Which of several models will do best, from ten examples?"
    citation = "singhal2022"
    claims = staticmethod(lambda result: judged(claims_of(result)))
    to_markdown = staticmethod(markdown)
    row_key = "suite"
    side_by_side = True

    def __init__(self, config: Mapping[str, RunConfig] | None = None) -> None:
        self.config = dict(config or RUN_CONFIGS)

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Trainings, questions, attributions and the study; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        data = RunData(config)
        check(config, data)
        out = Steps(config, data).all()

        return [*out, *last_steps(self, partial(of_study, paper=self.name, scale=scale), FIGURES, ("study",))]


RECIPE = FewShotRanking()
