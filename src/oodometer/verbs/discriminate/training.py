"""Training of judges: from rows of right and wrong outputs to a folder of discriminators, and what they are worth."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np

from ...arrays import Array
from ...discriminators import SMALL, Discriminator, Panel, PretrainingOptions, pretrain
from ...discriminators.pair_encoder import TRAINING
from ...engines import task_engine
from ...errors import InputError, UsageError, WorkError
from ...metrics.one_vs_rest import roc_auc
from ...models.artifacts import fingerprint
from ...models.base import Progress
from ...models.torch.library import idle_threads, on_gpu, one_torch_thread
from ...models.torch.library import torch as load_torch
from ...options import verb
from ...results.shown import Shown
from ...results.values import Record
from ...results.view import View
from ...runs import Manifest, passing, places_said
from ...store import write_predictions
from ...version import __version__
from ..model_options import TrainOptions
from ..opening import Opener
from .folder import HELD_OUT, finish, finished, noting_cuts, revived, training_home
from .judged import trained_view
from .options import check_training, in_tasks, untrained
from .pairs import Pairs, TextRows, pairs_of, read_texts, split, squeezed
from .thresholding import calibrated, labelled, shortest
from .worth import judge_names, no_better_than_a_coin, worth

POOR = 0.6
"""Area under the ROC curve below which a judge is of no use."""


def stop_at_a_coin(judge: Discriminator, held: Pairs, judges: int) -> None:
    """Raise `WorkError` where the first of several judges is surely of no use; else do nothing.

    It is where the upper 95 % limit of its area under the ROC curve on the held-out pairs is below `POOR`; with few of
    them nothing is sure, and all judges are trained. What it says at 0.5 does not count: thresholds can be set later.
    """
    right = held.correct > 0
    if not (right.any() and (~right).any()):
        return
    area, upper = ranks_above(judge.probabilities(held.inputs, held.outputs), right)
    if upper < POOR:
        raise WorkError(
            f"the first of {judges} judges is no better than a coin: P(Correct) of a right held-out output is above "
            f"that of a wrong one in {100 * area:.0f} % of the cases, at most in {100 * upper:.0f} %; train longer "
            "(--epochs), on more mistakes or from a pretrained model (--source); in Python pretraining=20 may help, "
            "and all_judges=True goes on all the same"
        )


def ranks_above(said: Any, right: Array, level: float = 0.95) -> tuple[float, float]:
    """Area under the ROC curve, and its upper limit by the variance that Mann and Whitney (1947) give without effect.

    ``said`` are P(Correct), ``right`` says which outputs are; both of shape (sample,). Equal P count one half.

    >>> import numpy as np
    >>> area, upper = ranks_above([0.9, 0.6, 0.6, 0.1], np.array([True, True, False, False]))
    >>> area, round(upper, 2)
    (0.875, 1.0)
    """
    some, others = int(right.sum()), int((~right).sum())
    area = roc_auc(right, said)
    error = float(((some + others + 1) / (12 * some * others)) ** 0.5)
    return area, min(area + NormalDist().inv_cdf(level) * error, 1.0)


SEEDS = 1000  # between the seeds of two panels
_NEEDS = ("input", "output", "gold")  # or correct in the place of gold
_HELD, _PRETRAINED = 0.02, 0.2  # of the work: what the judges are worth, and learning before them


@dataclass(frozen=True, repr=False)
class TrainedJudges(Shown, Record):
    """What `train_judges` left in a folder.

    folder : where the judges are. judges : their number. metric : "exact", or what they predict. settings : how they
    were trained. examples : counts of the pairs to learn from. dev : the same of the held-out ones, and where they come
    from. thresholds : from which P(Correct) each judge accepts, set on the outputs of ``dev``; None without. held_out :
    what the judges are worth on these (see `worth`); empty where nothing is known. kept : whether the very same
    training had been finished before.
    """

    folder: Path
    judges: int
    metric: str
    settings: Mapping[str, Any]
    examples: Mapping[str, Any]
    dev: Mapping[str, Any]
    held_out: Mapping[str, Any]
    warnings: tuple[str, ...]
    level: float
    seed: int
    kept: bool = False
    thresholds: Mapping[str, Any] | None = None
    argv: str | None = None

    @property
    def panel(self) -> Panel:
        """The judges, read from the folder."""
        return Panel.load(self.folder)

    def view(self) -> View:
        """What it says; see `Shown`."""
        return trained_view(self.to_dict())

    def to_dict(self) -> dict[str, Any]:
        """Return a plain mapping, ready for JSON."""
        return {
            "command": "discriminate train",
            "version": __version__,
            **super().to_dict(),
            "folder": str(self.folder),
        }


@verb(TrainOptions)
def train_judges(options: TrainOptions) -> TrainedJudges:
    """Train judges that tell right outputs from wrong ones, and say what they are worth.

    Raises `InputError` for rows that cannot be judged or that are all right, `UsageError` for a call that makes no
    sense, `WorkError` where the first judge is a coin, `MissingExtraError` without torch. Source: Yao and Koller
    (2024).

    >>> train_judges({"input": ["a b"] * 20, "gold": ["A B"] * 20, "output": ["A  B"] * 20}, "judges")
    Traceback (most recent call last):
    oodometer.errors.InputError: expected outputs that are wrong, got none: all 1 pairs are right; judges learn from ...
    """
    check_training(options)
    pairs, out, judges, metric = options.pairs, options.out, options.judges, options.metric
    level, seed = options.level, options.seed
    data = _data(options)
    settings = {"kind": options.kind, "seed": seed, **untrained(options, None, 0).options()}
    if options.pretraining:
        settings["pretraining"] = options.pretraining
    home = Path(os.path.abspath(out))
    learnt = [[one.inputs, one.outputs, one.targets.tolist()] for one in (data.learnt, data.held)]
    training = fingerprint({**settings, "judges": judges, "metric": metric, "data": learnt})
    common: dict[str, Any] = {
        "folder": Path(out),
        "judges": judges,
        "metric": metric,
        "settings": settings,
        "examples": data.examples,
        "dev": data.dev,
        "level": level,
        "seed": seed,
    }
    done = finished(home, training)
    if done is not None:
        common |= {"thresholds": done.get("thresholds"), "warnings": tuple(done["warnings"])}
        return TrainedJudges(**common, held_out=revived(done["held_out"]), kept=True)
    load_torch()  # its absence is told before a folder is made
    with passing(training_home(home), {"verb": "discriminate train", **places_said(pairs=pairs, out=out)}) as run:
        panel, cuts = _panel(data, training_home(home), options, run)
        with _threads(options), noting_cuts(None):
            told = _part(options.progress, 1 - _HELD, 1.0)
            found, record = worth(panel, data.held, metric=metric, level=level, seed=seed, progress=told)
            thresholds, why = _thresholds(panel, data.outputs, options)
        warnings = (*data.warnings, *cuts, *no_better_than_a_coin(found), *why)
        result = TrainedJudges(**common, held_out=found, warnings=warnings, thresholds=thresholds)
        finish(
            home,
            panel,
            {**result.to_dict(), "argv": None, "folder": None, "training": training},
            lambda folder: write_predictions(record, folder / HELD_OUT),
        )
    return result


class _Data(NamedTuple):
    """Pairs to learn from and held-out ones, the counts of both, warnings; the rows of ``dev`` as they are."""

    learnt: Pairs
    held: Pairs
    examples: dict[str, Any]
    dev: dict[str, Any]
    warnings: list[str]
    outputs: TextRows | None


def _data(options: TrainOptions) -> _Data:
    pairs, dev, metric = options.pairs, options.dev, options.metric
    balance, seed = options.balance, options.seed
    opener = Opener(options.mapping)
    files = [
        read_texts(one, opener, options.mapping, needs=_NEEDS)
        for one in (pairs if isinstance(pairs, list | tuple) else [pairs])
    ]
    if not files:
        raise UsageError("give at least one file of pairs")
    away = None if dev is None else read_texts(dev, opener, options.mapping, needs=_NEEDS)
    opener.check()
    alone = options.kind == "likelihood" and away is not None  # it learns from right pairs, and others say its worth
    learnt = pairs_of(files, metric=metric, balance=balance, seed=seed, all_right=alone)
    warnings = []
    if learnt.counts["contradictions"]:
        count = learnt.counts["contradictions"]
        warnings.append(f"{count} pairs are judged differently by two rows; the better verdict is taken")
    examples = learnt.statistics()
    if away is None:
        learnt, held = split(learnt, seed)
        origin = "a tenth of the inputs"
    else:
        held = pairs_of([away], metric=metric, balance=balance, seed=seed)
        origin = away.name
        both = {squeezed(one) for one in learnt.inputs} & {squeezed(one) for one in held.inputs}
        if both:
            warnings.append(
                f"{len(both)} inputs are in both the pairs and {origin}: what the judges are worth may be "
                "flattered; hold out other inputs"
            )
    return _Data(learnt, held, examples, {"from": origin, "learnt": len(learnt), **held.statistics()}, warnings, away)


def _thresholds(panel: Panel, rows: TextRows | None, options: TrainOptions) -> tuple[dict[str, Any] | None, list[str]]:
    """The judges' thresholds from the held-out outputs whose truth is known, and why there are none."""
    if rows is None or rows.outputs is None or options.metric != "exact":
        return None, []
    given = [row for row, output in enumerate(rows.outputs) if output is not None]
    told = [rows.outputs[row] or "" for row in given]
    said = np.zeros((len(panel), len(rows.inputs)))
    said[:, given] = shortest(panel.probabilities([rows.inputs[row] for row in given], told))
    truth = np.full(len(rows.inputs), -1, dtype=np.int8)
    truth[given] = labelled(rows)[given]
    names = judge_names(panel.members)
    try:
        return calibrated(said, replace(rows, correct=truth, golds=None), options.level).to_dict(names), []
    except InputError as error:
        return None, [f"the judges accept from P(Correct) 0.5 on: {error}"]


def _panel(data: _Data, state: Path, options: TrainOptions, run: Manifest | None) -> tuple[Panel, list[str]]:
    """The trained judges, and what was said of pairs that are too long; ``state`` holds an unfinished training."""
    asked = replace(options, pairs=None, dev=None, progress=None)  # what tasks are sent
    make: Callable[[int], Discriminator] = partial(untrained, asked, None)
    learnt, held, first = data.learnt, data.held, _PRETRAINED if options.pretraining else 0.0
    # One for both calls below: a cluster is started once.
    runner = task_engine(options.engine, options.workers, gpu=in_tasks(options) and on_gpu(options.device))
    with _threads(options), noting_cuts(state) as cuts:
        if options.pretraining:
            start = _pretrained(learnt, state, options, _part(options.progress, 0.0, first))
            make = partial(untrained, asked, str(start))
        seeds = range(options.seed * SEEDS, options.seed * SEEDS + options.judges)
        noted = _Noted(run, options.judges)

        def trained(some: Sequence[int], stop: float) -> Panel:
            pairs = learnt.inputs, learnt.outputs, _targets(learnt, options.metric)
            more: dict[str, Any] = {
                "dev": (held.inputs, held.outputs, _targets(held, options.metric)),
                "checkpoint": state,
                "progress": noted.telling(len(some), _part(options.progress, first, stop)),
            }
            if runner is not None:
                return Panel.train_on(runner, make, some, pairs, **more)
            return Panel.train(make, some, *pairs, **more)

        if len(seeds) > 1 and options.metric == "exact" and not options.all_judges:
            (judge,) = trained(seeds[:1], first + (1 - _HELD - first) / len(seeds)).members
            with noting_cuts(None):  # of held-out pairs it is told when all judges are trained
                stop_at_a_coin(judge, held, len(seeds))
        panel = trained(seeds, 1 - _HELD)  # the first one is kept
    return panel, cuts


def _pretrained(pairs: Pairs, state: Path, options: TrainOptions, progress: Progress | None) -> Path:
    """An encoder that has learnt the right pairs, in the folder of the training."""
    right = [row for row, good in enumerate(pairs.correct.tolist()) if good]
    if not right:
        raise UsageError("there is no right pair to learn from before the judges; leave out pretraining")
    return pretrain(
        [pairs.inputs[row] for row in right],
        [pairs.outputs[row] for row in right],
        state / "pretrained",
        config=options.config or SMALL,
        options=PretrainingOptions(
            max_length=options.max_length,
            training=replace(TRAINING, epochs=options.pretraining, seed=options.seed),
            device=options.device,
        ),
        checkpoint=state / "pretraining",
        progress=progress,
    )


def _targets(pairs: Pairs, metric: str) -> Sequence[Any]:
    found: list[Any] = (pairs.correct if metric == "exact" else pairs.targets).tolist()
    return found


def _part(progress: Progress | None, start: float, stop: float) -> Progress | None:
    """Progress of a part of the work, told as a share of the whole."""
    if progress is None:
        return None

    def tell(done: int, total: int) -> None:
        progress(round(10_000 * (start + (stop - start) * done / max(total, 1))), 10_000)

    return tell


def _threads(options: TrainOptions) -> AbstractContextManager[None]:
    """The threads of all networks: one, as a task has, where judges are tasks; else as many as there are idle cores."""
    return one_torch_thread() if in_tasks(options) else idle_threads()


class _Noted:
    """Notes how many judges are trained, and how many of them by this run; one for all calls of a training."""

    def __init__(self, run: Manifest | None, judges: int) -> None:
        self.run, self.judges = run, judges
        self._trained, self._seen = 0, False

    def telling(self, some: int, progress: Progress | None) -> Progress:
        """Progress of the training of the first ``some`` judges."""

        def tell(done: int, total: int) -> None:
            trained, rest = divmod(done * some, max(total, 1))
            self._seen |= rest > 0  # of a judge that was kept only the end is told
            if trained > self._trained:
                if self.run is not None:
                    self.run.tell(trained, self.judges, int(self._seen))
                self._trained, self._seen = trained, False
            if progress is not None:
                progress(done, total)

        return tell
