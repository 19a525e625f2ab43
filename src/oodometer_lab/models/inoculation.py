"""Inoculation: models of graded quality on a target domain, by a little target data in, or after, their training."""

from __future__ import annotations

import copy
import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.errors import InputError, UsageError

from ..datasets import Dataset
from .artifacts import fingerprint, keep, trained_as
from .base import Progress, load_model, part_of
from .torch.classifier import TorchClassifier
from .torch.training import TrainingConfig

# Folders that no dose can be named after: trainings under way, and models that only others go on from.
_STATES, _BASES = ".training", ".bases"


@final
@dataclass(frozen=True)
class Dose:
    """How much target data a model sees.

    name : of the model, and of its folder: no separator of paths, no dot at its start.
    shares : name of a target set -> its share of the training rows, in [0, 1]; the rest is source data.
    steps : steps of pure target data after the training.
    of : name of the target set of those steps.

    Raises `UsageError` for a name that is no name of a folder, shares out of range, and steps without a target set.

    >>> Dose("late", steps=50)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected the target set of 50 further steps of late, got none; name it in `of`
    """

    name: str
    shares: Mapping[str, float] = field(default_factory=dict)
    steps: int = 0
    of: str = ""

    def __post_init__(self) -> None:
        if not self.name or self.name.startswith(".") or any(sign in self.name for sign in "/\\\0"):
            expected = f"expected the name of a dose without / and \\ and without a dot at its start, got {self.name!r}"
            raise UsageError(f"{expected}; give another name")
        _check_shares(self.shares.values())
        if self.steps < 0:
            raise UsageError(f"expected 0 or more further steps, got {self.steps}")
        if self.steps and not self.of:
            expected = (
                f"expected the target set of {self.steps} further steps of {self.name}, got none"
            )
            raise UsageError(f"{expected}; name it in `of`")


@final
@dataclass(frozen=True)
class Inoculated:
    """A model of a suite.

    dose : how much target data it saw.
    model : the trained one.
    rows : that it was trained on.
    target_rows : name of a target set -> its rows among these.
    """

    dose: Dose
    model: TorchClassifier
    rows: int
    target_rows: Mapping[str, int]

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON, without the model."""
        dose = {"name": self.dose.name, "shares": dict(self.dose.shares), "steps": self.dose.steps}
        return {**dose, "rows": self.rows, "target_rows": dict(self.target_rows)}


def mixed(
    source: Dataset,
    parts: Sequence[tuple[Dataset, float]],
    *,
    rows: int | None = None,
    seed: int = 0,
) -> Dataset:
    """Rows of a source, of which a share is taken from each of some target sets, in an order drawn by the seed.

    source : What fills the rest.
    parts : Target sets with their shares of all rows, each in [0, 1], together at most 1. All their rows are the sum of
        the shares, rounded; what rounding down leaves goes to the sets with the largest rests. A set that has too few
        rows gives some of them more than once. With one seed, the rows of a larger share hold those of a smaller one.
    rows : Of the mixture; by default as many as the source has.
    seed : Of the draws and of the order.

    Raises `UsageError` for shares out of range and for fewer than one row, `InputError` for a share that is above 0 and
    gives no row, and for a set without rows that some are to come from. Source: Liu, Schwartz and Smith (2019).

    >>> near = Dataset("near", ("a", "b", "c", "d"), (0, 1, 0, 1))
    >>> far = Dataset("far", ("x", "y"), (1, 0))
    >>> sorted(mixed(near, [(far, 0.25)]).inputs)[-1] in ("x", "y")
    True
    """
    _check_shares([share for _, share in parts])
    total = len(source) if rows is None else rows
    if total < 1:
        raise UsageError(f"expected a mixture of at least one row, got {total}")
    counts = _counts([share for _, share in parts], total)
    for (part, share), count in zip(parts, counts, strict=True):
        if share > 0 and count == 0:
            expected = f"a share of {part.name} that gives at least one of {total} rows"
            raise InputError(expected, got=f"{share:g}", remedy="mix more rows or raise the share")
    out = _repeated(source, total - sum(counts), seed)
    for (part, _), count in zip(parts, counts, strict=True):
        if count:  # both sets as one, without what only one of them has
            more = _repeated(part, count, seed)
            if not (len(out.types) and len(more.types)):
                out, more = replace(out, types=()), replace(more, types=())
            if not (len(out.ids) and len(more.ids)):
                out, more = replace(out, ids=()), replace(more, ids=())
            out = out + more
    return out.take(np.random.default_rng(seed).permutation(len(out)).tolist())


def batches_of(target: Dataset, steps: int, batch_size: int, seed: int = 0) -> Dataset:
    """The rows of so many training steps, drawn by the seed; all come once before any comes again."""
    if steps < 1 or batch_size < 1:
        raise UsageError(
            f"expected at least one step of at least one row, got {steps} and {batch_size}"
        )
    return _repeated(target, steps * batch_size, seed)


def inoculate(
    make: Callable[[], TorchClassifier],
    source: Dataset,
    targets: Mapping[str, Dataset],
    doses: Sequence[Dose],
    *,
    further: TrainingConfig | None = None,
    rows: int | None = None,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> list[Inoculated]:
    """Train a suite of models whose quality on target data is graded by the dose of it that they saw.

    make : Gives the untrained model, the same for every dose: one start, so that only the data differ.
    source, targets : In-domain data, which has every class, and sets of target data by name.
    doses : One a model. Of a dose with further steps, the model of the same shares without steps is trained first.
    further : How further steps are trained, ``epochs`` aside; by default as before.
    rows : Training rows of each model, by default as many as the source has.
    folder : Where finished models are kept, each under the name of its dose. ``.training`` in it holds the state of the
        one in training, and an interrupted call goes on there; ``.bases`` holds models that only others go on from.
    progress : Called with (done, all), in thousandths of a model; ``done`` never falls.

    Returns the models in the order of the doses. Raises `UsageError` for doses of the same name and for a target set
    that is not among the targets. Source: Liu, Schwartz and Smith (2019).
    """
    names = [dose.name for dose in doses]
    if len(set(names)) < len(names) or not names:
        raise UsageError(f"expected doses of different names, got {', '.join(names) or 'none'}")
    for dose in doses:
        unknown = [
            name for name in (*dose.shares, *([dose.of] if dose.of else [])) if name not in targets
        ]
        if unknown:
            raise UsageError(
                f"unknown target set {unknown[0]!r} of {dose.name}; known: {', '.join(targets)}"
            )
    suite = _Suite(
        make=make,
        source=source,
        targets=targets,
        rows=len(source) if rows is None else rows,
        further=further,
        folder=None if folder is None else Path(folder),
        named={_shares(dose): dose.name for dose in doses if not dose.steps},
    )
    return [
        suite.model_of(dose, part_of(progress, index, len(doses)))
        for index, dose in enumerate(doses)
    ]


@final
@dataclass
class _Suite:
    """What all models of a suite are made of; ``named``: shares -> the dose whose model others go on from."""

    make: Callable[[], TorchClassifier]
    source: Dataset
    targets: Mapping[str, Dataset]
    rows: int
    further: TrainingConfig | None
    folder: Path | None
    named: Mapping[str, str]

    def __post_init__(self) -> None:
        self.classes = tuple(sorted(set(self.source.targets)))
        untrained = self.make()
        self.training = untrained.training
        self.about = {
            "kind": untrained.kind,
            "options": untrained.options(),
            "training": repr(untrained.training),
        }
        # where there is no folder to keep them in
        self.bases: dict[str, TorchClassifier] = {}

    def model_of(self, dose: Dose, tell: Progress) -> Inoculated:
        """The model of a dose, kept or trained."""
        counts = dict(zip(dose.shares, _counts(list(dose.shares.values()), self.rows), strict=True))
        if not dose.steps:
            model = self._without_steps(dose, Path(dose.name), tell)
            return Inoculated(dose, model, self.rows, counts)
        training = self.further or self.training  # a loaded model does not know its own
        added = dose.steps * training.batch_size
        counts[dose.of] = counts.get(dose.of, 0) + added
        base = self._base_of(dose, lambda done, of: tell(done, 2 * of))

        def second(done: int, of: int) -> None:
            tell(of + done, 2 * of)

        data = batches_of(self.targets[dose.of], dose.steps, training.batch_size, training.seed)
        name = fingerprint(
            {
                "options": self.about,
                "start": self._mixture(dose).fingerprint,
                "data": data.fingerprint,
                "classes": self.classes,
                "further": repr(training),
            }
        )
        once = replace(training, epochs=1)

        def go_on(state: Path | None) -> TorchClassifier:
            return copy.deepcopy(base).fit_further(
                data, training=once, checkpoint=state, progress=second
            )

        model = self._stored(Path(dose.name), name, go_on, second)
        return Inoculated(dose, model, self.rows + added, counts)

    def _base_of(self, dose: Dose, tell: Progress) -> TorchClassifier:
        """The model that the further steps of a dose go on from."""
        shares = _shares(dose)
        if shares in self.bases:
            return self.bases[shares]
        target = Path(_BASES, fingerprint({"shares": shares}))
        if shares in self.named:
            target = Path(self.named[shares])
        return self._without_steps(dose, target, tell)

    def _without_steps(self, dose: Dose, target: Path, tell: Progress) -> TorchClassifier:
        """The model of a dose's shares, its further steps aside; ``target`` is where it is kept, within the folder."""
        data = self._mixture(dose)
        name = fingerprint(
            {"options": self.about, "data": data.fingerprint, "classes": self.classes}
        )

        def fit(state: Path | None) -> TorchClassifier:
            return self.make().fit(data, classes=self.classes, checkpoint=state, progress=tell)

        model = self._stored(target, name, fit, tell)
        if self.folder is None:
            self.bases.setdefault(_shares(dose), model)
        return model

    def _mixture(self, dose: Dose) -> Dataset:
        parts = [(self.targets[name], share) for name, share in dose.shares.items()]
        return mixed(self.source, parts, rows=self.rows, seed=self.training.seed)

    def _stored(
        self,
        within: Path,
        name: str,
        train: Callable[[Path | None], TorchClassifier],
        tell: Progress,
    ) -> TorchClassifier:
        """The model of this very training in its place, else a new one, which is kept there."""
        if self.folder is None:
            return train(None)
        target = self.folder / within
        state = target.parent / _STATES / target.name
        if trained_as(target) == name:
            tell(1, 1)
            return load_model(target)  # type: ignore[return-value]
        model = train(state)
        keep(target, name, model.save)
        shutil.rmtree(state, ignore_errors=True)
        with suppress(OSError):  # the states of others
            state.parent.rmdir()
        return model


def _shares(dose: Dose) -> str:
    return repr(sorted(dose.shares.items()))


def _counts(shares: Sequence[float], rows: int) -> list[int]:
    """Rows of each share, together their rounded sum: what rounding down leaves goes to the largest rests."""
    exact = np.array(shares, dtype=np.float64) * rows
    counts = np.floor(exact).astype(np.int64)
    remaining = min(round(float(exact.sum())), rows) - int(counts.sum())
    counts[np.argsort(counts - exact, kind="stable")[:remaining]] += 1
    return [int(count) for count in counts]


def _check_shares(shares: Any) -> None:
    values = list(shares)
    if any(not 0 <= share <= 1 for share in values) or sum(values) > 1 + 1e-9:
        raise UsageError(
            f"expected shares in [0, 1] that sum to at most 1, got {', '.join(map(str, values))}"
        )


def _repeated(data: Dataset, rows: int, seed: int) -> Dataset:
    if rows and not len(data):
        raise InputError(f"rows of {data.name}", got="none", remedy="give a set that has some")
    turns = range(-(-rows // max(len(data), 1)))
    indices = [
        row
        for turn in turns
        for row in np.random.default_rng([seed, turn]).permutation(len(data)).tolist()
    ]
    return data.take(indices[:rows])
