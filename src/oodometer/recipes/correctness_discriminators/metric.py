"""Another metric than exact match: a discriminator that predicts the token F1 of outputs, from the same pairs."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import RegressionDiscriminator, token_f1
from ...metrics.vote_bounds import mean_of
from ...metrics.vote_counts import absolute, paired_gap
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...results import Interval
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import TaskData
from .files import read_judged
from .needs import located
from .study import LEVEL
from .work import PARTS, examples

METRICS = {"token_f1": token_f1}


def learn_metric(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Train one discriminator of a metric, compare its mean on every test set with the truth: ``<home>/metric.json``.

    It learns from the pairs of the panel: gold outputs have the metric 1, a checkpoint's mistakes what they share with
    gold. Of gold outputs only so many are taken, drawn, that their share is the parser's accuracy on the development
    set: outputs are to be like those that will be judged, or the mean is too high. Two numbers stand beside the
    judge's mean: the true mean, and the mean on the development set, which is what one would answer without any
    estimate.
    """
    use_threads(1)
    known = read_judged(workspace.folder / home, "dev").verdicts
    accuracy = float((known[known >= 0] > 0).mean())
    config, name = data.task.config, data.task.metric
    assert name is not None
    metric = METRICS[name]

    def measured(outputs: Any, golds: Any) -> Array:
        return metric([data.clean(one) for one in outputs], [data.clean(one) for one in golds])

    pairs = {}
    for part in PARTS:
        found = examples(workspace, home, part)
        rows = data.train if part == "train" else data.dev
        gold = dict(zip(rows.inputs, rows.targets, strict=True))
        kept = _like_outputs(found.correct, accuracy, config.seed)
        inputs, outputs = ([texts[row] for row in kept] for texts in (found.inputs, found.outputs))
        pairs[part] = (
            *data.seen(inputs, outputs),
            measured(outputs, [gold[one] for one in inputs]).tolist(),
        )
    judge = RegressionDiscriminator(
        **located(config.metric_judge), training=TrainingConfig(**{**config.judge_plan, "seed": config.seed})
    )
    checkpoint = workspace / f"{home}/checkpoints/metric"
    judge.fit(*pairs["train"], dev=pairs["dev"], checkpoint=checkpoint, progress=progress)
    shutil.rmtree(checkpoint, ignore_errors=True)

    def asked(name: str) -> tuple[Array, Array]:
        record = read_judged(workspace.folder / home, name)
        assert record.input is not None
        assert record.output is not None
        outputs = record.output.tolist()
        true = measured(outputs, record.columns["gold"].tolist()).astype(float)
        said = judge.probabilities(*data.seen(record.input.tolist(), outputs)).astype(float)
        return true, np.where([bool(one.strip()) for one in outputs], said, 0.0)

    source = _mean(asked("dev")[0])
    sets = []
    for test in data.task.tests:
        true, said = asked(test.name)
        gap = true - said
        off = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL))
        far = absolute(_difference(_mean(true), source))
        both = np.std(true) > 0 and np.std(said) > 0
        sets.append(
            {
                "name": test.name,
                "title": test.title,
                "rows": len(true),
                "true": _mean(true).to_dict(),
                "predicted": _mean(said).to_dict(),
                "error": off.to_dict(),
                "source": source.to_dict(),
                "source_error": far.to_dict(),
                "correlation": float(np.corrcoef(true, said)[0, 1]) if both else 0.0,
            }
        )
    workspace.write_json(f"{home}/metric.json", rounded({"metric": name, "sets": sets}))


def _like_outputs(correct: Array, accuracy: float, seed: int) -> list[int]:
    """Rows of pairs, all mistakes and so many right ones that about the share ``accuracy`` is right.

    >>> _like_outputs(np.array([True] * 8 + [False] * 9), 0.1, 0)[1:]
    [8, 9, 10, 11, 12, 13, 14, 15, 16]
    """
    wrong, right = np.flatnonzero(~correct), np.flatnonzero(correct)
    count = round(len(wrong) * accuracy / (1 - accuracy)) if accuracy < 1 else len(right)
    drawn = np.random.default_rng(seed).choice(right, size=min(count, len(right)), replace=False)
    kept: list[int] = np.sort(np.concatenate([wrong, drawn])).tolist()
    return kept


def _mean(values: Array) -> Interval:
    return mean_of(float(values.sum()), float(np.square(values).sum()), len(values), LEVEL)


def _difference(first: Interval, second: Interval) -> Interval:
    """The difference of the means of two samples, its error from both."""
    value = first.value - second.value
    half = np.hypot(first.upper - first.lower, second.upper - second.lower) / 2
    return Interval(value, max(value - half, -1.0), min(value + half, 1.0), LEVEL, "asymptotic")
