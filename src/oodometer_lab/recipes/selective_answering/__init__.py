"""Selective answering: ten models trained on IMDb, judged on IMDb and SST-2 by DiSCA. Mishra et al. (2022)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, final

from oodometer.errors import UsageError

from ...models.torch.library import torch
from ..base import LACKS, Progress, Recipe, Step, Workspace, check_all
from ..kit.publish import write_result
from . import findings as found
from . import lineup as entries
from . import study as work
from . import tables
from .lineup import Entry, RunConfig
from .study import RunData

__all__ = ["RECIPE", "SelectiveAnswering"]


@final
class _Steps:
    """The steps of a run but the last two, each behind those that it needs."""

    def __init__(self, config: RunConfig, chosen: Sequence[Entry], data: RunData) -> None:
        self.config, self.chosen, self.data = config, chosen, data
        again = [training for entry in chosen for training in entry.again()]
        self.again = sorted(again, key=lambda training: training.number)
        self.metered = work.is_metered()

    def all(self) -> list[Step]:
        """All of them in order: vectors, then each model's training and questions, then those of other seeds."""
        used = {entry.vectors for entry in self.chosen}
        steps = [self.make_vectors(kind) for kind in entries.VECTORS if kind in used]
        for entry in self.chosen:
            steps += [self.train(entry), self.ask(entry)]
        for entry in self.again:
            steps += [self.train(entry), self.ask_again(entry)]
        return steps

    def make_vectors(self, kind: str) -> Step:
        """Word vectors of a kind, trained or downloaded."""
        trained = self.config.trained_vectors
        options: dict[str, Any] = {"kind": kind}
        if trained:  # by which models are trained, however often
            often = ("trainings", "encoder_trainings")
            options = {
                name: size for name, size in asdict(self.config).items() if name not in often
            }
        check = partial(entries.check_vectors, kind)
        return Step(
            f"vectors-{kind}",
            f"{'training' if trained else 'reading'} {kind}",
            files=(work.vectors_file(kind),),
            work=partial(work.make_vectors, self.data, kind),
            settings={**options, "data": self.data.set("train").fingerprint},
            weight=80,
            checks={} if trained else {f"{kind} vectors": check},
        )

    def train(self, entry: Entry) -> Step:
        """A training of a model."""
        folder = work.model_folder(entry)
        return Step(
            f"train-{entry.name}",
            f"training {entry.name}",
            files=tuple(f"{folder}/{name}" for name in work.MODEL_FILES),
            work=partial(work.train, self.data, entry),
            settings={**entry.settings(), "data": self.data.set("train").fingerprint},
            needs=(f"vectors-{entry.vectors}",) if entry.vectors else (),
            weight=entry.weight,
            checks=entries.pretrained_of(entry),
        )

    def ask(self, entry: Entry) -> Step:
        """What a model says of each set, and at what cost."""
        return Step(
            f"predict-{entry.name}",
            f"asking {entry.name}",
            files=(*work.prediction_files(entry), work.cost_file(entry)),
            work=partial(work.ask, self.data, entry, self.metered),
            settings={"data": self._marks(), "metered": self.metered},
            needs=(f"train-{entry.name}",),
            weight=entry.weight / 5,
        )

    def ask_again(self, entry: Entry) -> Step:
        """What a training behind the first says of each set."""
        return Step(
            f"predict-{entry.name}",
            f"asking {entry.name}",
            files=work.prediction_files(entry),
            work=partial(work.ask_again, self.data, entry),
            settings={"data": self._marks()},
            needs=(f"train-{entry.name}",),
            weight=entry.weight / 5,
        )

    def _marks(self) -> list[str]:
        return [self.data.set(name).fingerprint for name in tables.SETS]


@final
class SelectiveAnswering(Recipe):
    """The recipe."""

    name = "selective-answering"
    title = "May this model answer, or should it abstain?"
    citation = "mishra2022"
    findings, form, configs = found, tables.FORM, entries.RUN_CONFIGS

    def models(self, scale: str) -> tuple[str, ...]:
        """Names of the ten models."""
        return tuple(entry.name for entry in entries.lineup(scale, self.config[scale]))

    def steps(self, scale: str, only: Sequence[str]) -> list[Step]:
        """Vectors, then each model's training and prediction, then what is read off them."""
        torch()  # a missing extra is said before anything is read
        config = self.config[scale]
        lineup = entries.lineup(scale, config)
        chosen = [entry for entry in lineup if not only or entry.name in only]
        if len(chosen) < 2:
            raise UsageError(
                f"models are compared, so two are needed, got {chosen[0].name} alone; add another --only"
            )
        data = RunData(config)
        try:
            names = data.names()
        except LACKS:
            titles = {"IMDb, training set": "train", "IMDb, test set": "imdb", "SST-2": "sst2"}
            loads = {title: partial(data.set, name) for title, name in titles.items()}
            # not the first thing that is missing, but all
            check_all(entries.needs_of(chosen, config, loads))
            raise
        about = {
            "models": [entry.name for entry in chosen],
            "scale": scale,
            "sizes": asdict(config),
            "data": names,
        }
        steps = _Steps(config, chosen, data)
        judging = Step(
            "tables",
            "judging the models",
            files=("compare.json", "result.json", "result.md"),
            work=partial(self.judge, scale, chosen, about),
            settings={**about, "form": tables.FORM},
            needs=tuple(f"predict-{entry.name}" for entry in (*chosen, *steps.again)),
            weight=100,
        )
        figures = Step(
            "figures",
            "drawing",
            files=found.FIGURES.files("report.html"),
            work=found.draw,
            settings={"form": found.FORM},
            needs=("tables",),
            weight=10,
        )
        return [*steps.all(), judging, figures]

    def judge(
        self,
        scale: str,
        chosen: Sequence[Entry],
        about: Mapping[str, Any],
        workspace: Workspace,
        progress: Progress,
    ) -> None:
        """Judge the predictions of all models, and leave the result with its claims."""
        result = tables.tabulate(workspace, scale, chosen, about, progress)
        write_result(self, workspace, result)


RECIPE = SelectiveAnswering()
