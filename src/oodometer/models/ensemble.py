"""Ensemble: several classifiers of one task asked together; their classes are the members of a record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..arrays import Array
from ..datasets import Dataset
from ..errors import InputError, UsageError
from .artifacts import load_artifact
from .base import Answers, Classifier, Progress, Request


@final
class Ensemble(Classifier):
    """Several trained classifiers of the same classes, or several rankers.

    Either the first one is judged and the others stand beside it, for the methods that look at agreement; or, with
    ``average``, the mean of all their probabilities is judged: p(y | x) = mean_m p_m(y | x).

    Parameters
    ----------
    models : classifiers, the judged one first; their classes may have different orders, and are matched by name.
    names : a name for each.
    average : whether the mean is judged; the answers then have the variance over the models, too.

    Raises `UsageError` for no model, `InputError` where the classes of two differ.

    Source: Lakshminarayanan et al. (2017) for the mean.
    """

    kind = "ensemble"

    def __init__(self, models: Sequence[Classifier], *, names: Sequence[str] = (), average: bool = False) -> None:
        if not models:
            raise UsageError("expected at least one model, got none")
        self.models, self.average = tuple(models), average
        self.names = tuple(names) or tuple(f"{one.kind}_{i}" for i, one in enumerate(models))
        if len(set(self.names)) < len(models) or len(self.names) != len(models):
            raise UsageError(f"expected a name for each of {len(models)} models, got {', '.join(self.names)}")
        first = self.models[0]
        self.classes, self.reads = first.classes, first.reads
        self.by_position = any(one.by_position for one in models)
        self._orders = [_order(first, one, name) for one, name in zip(models, self.names, strict=True)]

    def options(self) -> dict[str, Any]:
        """How many there are, and what is judged."""
        return {"models": len(self.models), "names": list(self.names), "average": self.average}

    def _fit(self, data: Dataset, truth: Array, dev: Any, checkpoint: Any, progress: Progress | None) -> None:
        raise UsageError("train the models of an ensemble one by one, each with a seed of its own")

    def ask(self, inputs: Any, request: Request | None = None, *, progress: Progress | None = None) -> Answers:
        """The answers of the judged model, or the mean, with the probabilities of every member."""
        request = request or Request()
        alone = replace(request, features=False, views=0)
        turns = len(self.models)
        found: list[Answers] = []
        for place, model in enumerate(self.models):

            def tell(done: int, total: int, place: int = place) -> None:
                if progress is not None:
                    progress(place * total + done, turns * total)

            found.append(model.ask(inputs, alone if place else request, progress=tell))
        ranked = found[0].candidates is not None  # positions among candidates are the same to all
        members = np.stack(
            [
                one.distribution if ranked else one.distribution[:, order]
                for one, order in zip(found, self._orders, strict=True)
            ]
        )
        first = replace(found[0], members=members, names=self.names)
        if not self.average:
            return first
        return replace(first, logits=None, probabilities=members.mean(0), variance=members.var(0))

    def _fitted(self) -> bool:
        return True  # it is made of trained models

    def _checked(self, inputs: Any) -> Any:
        return self.models[0]._checked(inputs)

    @property
    def parameters(self) -> int:
        """Of all models."""
        return sum(one.parameters for one in self.models)

    def _write(self, folder: Path) -> dict[str, Any]:
        for name, model in zip(self.names, self.models, strict=True):
            model.save(folder / name)
        return {"classes": list(self.classes)}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        names = list(about["options"]["names"])
        models = [load_artifact(folder / name, Classifier, "a classifier") for name in names]
        return cls(models, names=names, average=bool(about["options"]["average"]))


def _order(first: Classifier, other: Classifier, name: str) -> Array:
    """Where each class of the first stands among those of another."""
    if set(first.classes) != set(other.classes):
        odd = sorted(map(str, set(first.classes) ^ set(other.classes)))[:3]
        raise InputError(
            f"the classes of the first model, {', '.join(map(str, first.classes[:6]))}",
            got=f"others: {', '.join(odd)} is known to one alone",
            remedy="ensembles share their classes; train it on the same, or leave it out",
            file=name,
        )
    return np.array([other.classes.index(one) for one in first.classes])
