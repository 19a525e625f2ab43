"""Few-shot ranking: which of several models does best out of domain, from ten examples. Singhal et al. (2022)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, final

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


def steps_of(config: RunConfig, data: RunData) -> list[Step]:
    """All steps but the tables, each behind those that it needs."""
    marks = {family: data.fingerprints(family) for family in FAMILIES}
    out: list[Step] = []
    folders = sorted(
        {folder for network in config.networks.values() if (folder := cut_folder(network))}
    )
    if folders:
        cuts = sorted(f"{folder}/{file}" for folder in folders for file in work.CUT_FILES)
        cut = partial(work.cut, folders)
        out.append(Step("cut", "cutting the network", tuple(cuts), cut, {"files": cuts}, (), 5.0))

    def train_step(plan: Plan, seed: int) -> Step:
        network, folder = config.networks[plan.network], f"models/{seed}/{plan.name}"
        settings: dict[str, Any] = {"plan": plan.to_dict(), "network": dict(network), "seed": seed}
        settings |= {"training": training_of(config, plan), "data": marks[plan.family]}
        settings |= {"paws": config.paws_inoculation} if plan.family == "paraphrase" else {}
        needs = (
            (f"train-{seed}-{plan.start}",)
            if plan.start
            else ("cut",)
            if cut_folder(network)
            else ()
        )
        steps = plan.further if plan.start else plan.steps
        longer = {"nli": 2.0, "paraphrase": 3.0}.get(plan.family, 1.0)
        about, step = (
            f"training {plan.name} (seed {seed})",
            placed(folder, work.train, data, plan, seed),
        )
        files = tuple(f"{folder}/{file}" for file in (*MODEL_FILES, "classes.json"))
        return Step(
            f"train-{seed}-{plan.name}",
            about,
            files,
            step,
            settings,
            needs,
            1 + _STEP * steps * longer,
        )

    def grade_step(plans: Sequence[Plan], seed: int) -> Step:
        start, end = plans[0].start, plans[0].toward
        files = [
            f"models/{seed}/{plan.name}/{file}"
            for plan in plans
            for file in (*MODEL_FILES, "classes.json")
        ]
        settings = {
            "plans": [plan.to_dict() for plan in plans],
            "rows": config.grading_rows,
            "seed": seed,
        }
        about, step = (
            f"grading between {start} and {end} (seed {seed})",
            partial(work.grade, data, plans, seed),
        )
        needs = (f"train-{seed}-{start}", f"train-{seed}-{end}")
        return Step(f"grade-{seed}-{start}", about, tuple(files), step, settings, needs, 20.0)

    def behind(plan: Plan, seed: int) -> tuple[str, ...]:
        return (f"grade-{seed}-{plan.start}" if plan.toward else f"train-{seed}-{plan.name}",)

    def ask_step(plan: Plan, seed: int) -> Step:
        suites, folder = suites_of(plan.family), f"answers/{seed}/{plan.name}"
        step, needs = placed(folder, work.ask, data, plan, suites, seed), behind(plan, seed)
        settings = {
            "rows": [config.truth_rows, config.grading_rows],
            "near": config.in_domain_rows,
            "seed": seed,
        }
        files = tuple(
            f"{folder}/{name}.npz" for name in ("in-domain", *(suite.name for suite in suites))
        )
        return Step(
            f"ask-{seed}-{plan.name}",
            f"asking {plan.name} (seed {seed})",
            files,
            step,
            settings,
            needs,
            7.0,
        )

    def explain_step(plan: Plan, suite: Suite, method: str, seed: int) -> Step:
        folder, gradients, pool = (
            f"attributions/{seed}/{suite.name}",
            method == "token-ig",
            config.pool,
        )
        step = placed(folder, work.explain, data, plan, suite, method, seed)
        samples, second = (config.ig_steps, _GRADIENT) if gradients else (config.samples, _SAMPLE)
        settings = {
            "pool": pool,
            "samples": samples,
            "rows": [config.truth_rows, config.grading_rows],
            "seed": seed,
        }
        about = f"explaining {plan.name} on {suite.name} by {method} (seed {seed})"
        name, needs = f"explain-{seed}-{suite.name}-{plan.name}-{method}", behind(plan, seed)
        files = (f"{folder}/{plan.name}.{method}.npz",)
        return Step(name, about, files, step, settings, needs, pool * samples * second)

    those = lineup(config)
    for seed in range(config.seeds):
        between = {
            plan.start: [p for p in those if p.toward == plan.toward]
            for plan in those
            if plan.toward
        }
        out += [train_step(plan, seed) for plan in those if not plan.toward]
        out += [grade_step(graded, seed) for graded in between.values()]
        out += [ask_step(plan, seed) for plan in those if plan.ranked]
        for suite in SUITES:
            ranked = ranked_of(config, suite.family)
            methods = work.methods_of(config, seed)
            out += [
                explain_step(plan, suite, method, seed) for plan in ranked for method in methods
            ]
    needs = tuple(step.name for step in out if step.name.startswith(("ask-", "explain-")))
    settings, step = (
        {"form": FORM, "draws": config.draws, "size": config.size},
        partial(work.judge, config, data),
    )
    return [
        *out,
        Step("study", "judging the rankings", ("study.json",), step, settings, needs, 60.0),
    ]


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
            *steps_of(config, data),
            *last_steps(self, partial(of_study, paper=self.name, scale=scale), ("study",)),
        ]


RECIPE = FewShotRanking()
