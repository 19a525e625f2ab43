"""Halves: parsers of two halves of the training set, as judges of another kind and for mistakes on unseen sentences."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import numpy as np

from ...arrays import Array
from ...discriminators import Discriminator, LikelihoodDiscriminator, collect, folds_of
from ...models.seq2seq import EncoderDecoder
from ...models.torch.library import use_threads
from ...store import write_predictions
from ..base import Progress, Workspace
from .data import TaskData
from .new_parser import new_parser

FOLDS = 2
SHARE = 0.5  # of the negatives that come from sentences that a parser has not seen
SEEDS = 11  # added to the seed of the parser, so that neither half begins from its weights


def train_half(data: TaskData, workspace: Workspace, home: str, progress: Progress, *, fold: int) -> None:
    """Train a parser on all of the training set but a fold; it is written to ``<home>/halves/fold-<fold>``.

    A sentence that stands in the training set twice is in one fold.
    """
    use_threads(1)
    config, checkpoint = data.task.config, workspace / f"{home}/checkpoints/half-{fold}"
    rows = np.flatnonzero(_folds(data, data.train.inputs) != fold)
    judge = LikelihoodDiscriminator(new_parser(data, config.seed + SEEDS + fold))
    judge.fit(
        [data.train.inputs[row] for row in rows],
        [data.train.targets[row] for row in rows],
        [True] * len(rows),
        checkpoint=checkpoint,
        progress=progress,
    )
    judge.save(workspace / f"{home}/halves/fold-{fold}")
    shutil.rmtree(checkpoint, ignore_errors=True)


def collect_unseen(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Gold pairs, and mistakes of each parser of a half on the half that it has not seen."""
    use_threads(1)
    config = data.task.config
    part = data.train.sample(config.example_rows, config.seed + 3)
    found = collect(
        [_parser(workspace, home, fold) for fold in range(FOLDS)],
        part.inputs,
        part.targets,
        folds=_folds(data, part.inputs),
        beams=config.beams,
        balance=SHARE * config.balance,
        clean=data.clean,
        seed=config.seed,
        progress=progress,
    )
    write_predictions(found.record(), workspace / f"{home}/unseen/train.parquet")
    workspace.write_json(f"{home}/unseen/statistics.json", found.statistics())


def likelihood_judges(data: TaskData, workspace: Workspace, home: str) -> list[Discriminator]:
    """The parsers of the halves as judges; none where the task has no halves."""
    if not data.task.config.halves:
        return []
    return [LikelihoodDiscriminator.load(workspace / f"{home}/halves/fold-{fold}") for fold in range(FOLDS)]


def _parser(workspace: Workspace, home: str, fold: int) -> EncoderDecoder:
    return LikelihoodDiscriminator.load(workspace / f"{home}/halves/fold-{fold}").model


def _folds(data: TaskData, inputs: Sequence[str]) -> Array:
    """The fold of each input, as drawn over the whole training set; the same for every seed of the task."""
    every = data.train.inputs
    fold_of = dict(zip(every, folds_of(every, FOLDS, data.task.config.data_seed).tolist(), strict=True))
    return np.array([fold_of[one] for one in inputs])
