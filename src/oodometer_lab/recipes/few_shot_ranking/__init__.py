"""Few-shot ranking: which of several models does best out of domain, from ten examples. Singhal et al. (2022)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import final

from ...models.torch.library import transformers
from ..base import Recipe, Step, check_all
from ..kit.publish import last_steps, of_study
from ..kit.sources import placed
from . import findings as found
from . import study as work
from .lineup import (
    FAMILIES,
    RUN_CONFIGS,
    SUITES,
    Plan,
    RunConfig,
    Suite,
    lineup,
    ranked_of,
    suites_of,
    training_of,
)
from .study import FORM, MODEL_FILES, RunData, cut_folder

__all__ = ["RECIPE", "FewShotRanking"]

# Seconds of one core at the small scale: a training step, a question about a word in a perturbed text. Only bar and
# order depend on them.
_STEP, _SAMPLE, _GRADIENT = 0.2, 0.0015, 0.006


@final
class _Steps:
    """The steps of a run but the tables, each behind those that it needs."""

    def __init__(self, config: RunConfig, data: RunData) -> None:
        self.config, self.data, self.plans = config, data, lineup(config)
        self.marks = {family: data.fingerprints(family) for family in FAMILIES}

    def all(self) -> list[Step]:
        """All of them in order."""
        steps = [*self.cut()]
        for seed in range(self.config.seeds):
            steps += [self.train(plan, seed) for plan in self.plans if not plan.toward]
            steps += [self.grade(plans, seed) for plans in self.graded()]
            steps += [self.ask(plan, seed) for plan in self.plans if plan.ranked]
            steps += self.explain_all(seed)
        needs = tuple(step.name for step in steps if step.name.startswith(("ask-", "explain-")))
        return [*steps, self.study(needs)]

    def cut(self) -> Iterator[Step]:
        """The first layers of MiniLM, where networks start from them."""
        networks = self.config.networks.values()
        if folders := sorted({folder for network in networks if (folder := cut_folder(network))}):
            files = sorted(f"{folder}/{file}" for folder in folders for file in work.CUT_FILES)
            yield Step(
                "cut",
                "cutting the network",
                files=tuple(files),
                work=partial(work.cut, folders),
                settings={"files": files},
                weight=5.0,
            )

    def train(self, plan: Plan, seed: int) -> Step:
        """A training from a network, or from another model."""
        config, folder = self.config, f"models/{seed}/{plan.name}"
        network = config.networks[plan.network]
        settings = {
            "plan": plan.to_dict(),
            "network": dict(network),
            "seed": seed,
            "training": training_of(config, plan),
            "data": self.marks[plan.family],
        }
        if plan.family == "paraphrase":
            settings["paws"] = config.paws_inoculation
        needs = ("cut",) if cut_folder(network) else ()
        steps = plan.further if plan.start else plan.steps
        longer = {"nli": 2.0, "paraphrase": 3.0}.get(plan.family, 1.0)
        return Step(
            f"train-{seed}-{plan.name}",
            f"training {plan.name} (seed {seed})",
            files=_model_files(plan, seed),
            work=placed(folder, work.train, self.data, plan, seed),
            settings=settings,
            needs=(f"train-{seed}-{plan.start}",) if plan.start else needs,
            weight=1 + _STEP * steps * longer,
        )

    def graded(self) -> Iterable[list[Plan]]:
        """The models between each pair of others."""
        between: dict[str, list[Plan]] = {}
        for plan in self.plans:
            if plan.toward:
                between.setdefault(plan.start, []).append(plan)
        return between.values()

    def grade(self, plans: Sequence[Plan], seed: int) -> Step:
        """The models between two others."""
        start, end = plans[0].start, plans[0].toward
        return Step(
            f"grade-{seed}-{start}",
            f"grading between {start} and {end} (seed {seed})",
            files=tuple(file for plan in plans for file in _model_files(plan, seed)),
            work=partial(work.grade, self.data, plans, seed),
            settings={
                "plans": [plan.to_dict() for plan in plans],
                "rows": self.config.grading_rows,
                "seed": seed,
            },
            needs=(f"train-{seed}-{start}", f"train-{seed}-{end}"),
            weight=20.0,
        )

    def ask(self, plan: Plan, seed: int) -> Step:
        """Answers of a model in its domain and on each suite of its family."""
        suites, folder = suites_of(plan.family), f"answers/{seed}/{plan.name}"
        names = ("in-domain", *(suite.name for suite in suites))
        return Step(
            f"ask-{seed}-{plan.name}",
            f"asking {plan.name} (seed {seed})",
            files=tuple(f"{folder}/{name}.npz" for name in names),
            work=placed(folder, work.ask, self.data, plan, suites, seed),
            settings={
                "rows": [self.config.truth_rows, self.config.grading_rows],
                "near": self.config.in_domain_rows,
                "seed": seed,
            },
            needs=(_made_by(plan, seed),),
            weight=7.0,
        )

    def explain_all(self, seed: int) -> Iterator[Step]:
        """Attributions by every method to every ranked model of every suite."""
        for suite in SUITES:
            for plan in ranked_of(self.config, suite.family):
                for method in work.methods_of(self.config, seed):
                    yield self.explain(plan, suite, method, seed)

    def explain(self, plan: Plan, suite: Suite, method: str, seed: int) -> Step:
        """Attributions of a model on the pool of a suite."""
        config, folder = self.config, f"attributions/{seed}/{suite.name}"
        samples, seconds = config.samples_of(method, plan.family), _SAMPLE
        if method == "token-ig":
            samples, seconds = config.ig_steps, _GRADIENT
        return Step(
            f"explain-{seed}-{suite.name}-{plan.name}-{method}",
            f"explaining {plan.name} on {suite.name} by {method} (seed {seed})",
            files=(f"{folder}/{plan.name}.{method}.npz",),
            work=placed(folder, work.explain, self.data, plan, suite, method, seed),
            settings={
                "pool": config.pool,
                "samples": samples,
                "rows": [config.truth_rows, config.grading_rows],
                "seed": seed,
            },
            needs=(_made_by(plan, seed),),
            weight=config.pool * samples * seconds,
        )

    def study(self, needs: tuple[str, ...]) -> Step:
        """What is found in all answers and attributions."""
        return Step(
            "study",
            "judging the rankings",
            files=("study.json",),
            work=partial(work.judge, self.config, self.data),
            settings={"form": FORM, "draws": self.config.draws, "size": self.config.size},
            needs=needs,
            weight=60.0,
        )


def _model_files(plan: Plan, seed: int) -> tuple[str, ...]:
    """Files of a model, with what its classes mean."""
    return tuple(f"models/{seed}/{plan.name}/{file}" for file in (*MODEL_FILES, "classes.json"))


def _made_by(plan: Plan, seed: int) -> str:
    """The step that leaves a model."""
    return f"grade-{seed}-{plan.start}" if plan.toward else f"train-{seed}-{plan.name}"


@final
class FewShotRanking(Recipe):
    """The recipe."""

    name = "few-shot-ranking"
    title = "Which of several models will do best, from ten examples?"
    citation = "singhal2022"
    findings, form, configs = found, FORM, RUN_CONFIGS
    side_by_side = True

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Trainings, questions, attributions and the study; then tables and figures, always made again."""
        transformers()  # a missing extra is said before anything is read
        config = self.config[scale]
        data = RunData(config)
        check_all(work.needs_of(config, data))
        return [
            *_Steps(config, data).all(),
            *last_steps(self, partial(of_study, paper=self.name, scale=scale), ("study",)),
        ]


RECIPE = FewShotRanking()
