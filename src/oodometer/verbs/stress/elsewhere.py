"""Elsewhere: models asked about conditions as tasks of an engine, one a run of a model and a condition."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import final

from ...datasets import Dataset
from ...engines import Engine, run_tasks
from ...models.sent import forgetting
from .asking import Asker, ModelRun
from .conditions import ShiftedKind
from .examples import Examples

__all__ = ["ask_elsewhere"]


@final
@dataclass(frozen=True)
class _Question:
    """What a run of a model is asked about, under which name its answers are kept, and the numbers of the rows."""

    run: ModelRun
    stem: str
    data: Dataset
    numbers: Sequence[int]


@final
@dataclass(frozen=True)
class _Task:
    """Asks a run about a condition, on whatever machine, with one thread."""

    asker: Asker
    gpu: bool

    def __call__(self, one: _Question) -> None:
        assert one.run.sent is not None
        with one.run.sent.opened() as model:
            self.asker.ask(replace(one.run, classifier=model), one.stem, one.data, one.numbers)


def ask_elsewhere(
    engine: Engine,
    asker: Asker,
    runs: Sequence[ModelRun],
    known: Examples,
    shifted: Examples,
    kinds: Sequence[ShiftedKind],
) -> None:
    """Ask what is not answered yet; answers are files in the asker's folder, where it finds them.

    A task travels with the path of its model and the texts of its condition.
    """
    every = [_Question(run, *what) for run in runs for what in _questions(known, shifted, kinds)]
    rest = [one for one in every if not asker.has(one.run, one.stem, one.data, one.numbers)]
    sent = [replace(one, run=replace(one.run, classifier=None)) for one in rest]
    asker.begin(len(every) - len(rest), sum(len(one.data) for one in every) - sum(len(one.data) for one in rest))
    with forgetting():
        gpu = any(one.run.sent is not None and one.run.sent.gpu for one in rest)
        run_tasks(engine, _Task(asker.sent, gpu), sent, on_done=lambda one: asker.told(len(one.data)))
    asker.be_quiet()


def _questions(
    known: Examples, shifted: Examples, kinds: Iterable[ShiftedKind]
) -> Iterator[tuple[str, Dataset, Sequence[int]]]:
    """Everything that each run is asked about, as `run.py` asks for it."""
    yield "reference", *known.dataset()
    yield "source", *shifted.dataset()
    for kind in kinds:
        for condition in kind.conditions:
            for at, kept in enumerate(condition.different):
                if kept:
                    yield condition.stem(kind.shift, at), *shifted.dataset(kept)
