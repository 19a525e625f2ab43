"""Self-training: one round of learning from outputs that every judge accepted, shown to help or not on other rows."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import RegressionDiscriminator, token_f1
from ...metrics.votes import absolute, mean_of, paired_gap, share
from ...models.seq2seq import EncoderDecoder
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...results import Interval
from ...verbs.discriminate.judged import PseudoLabels, pseudo_labels
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import TaskData, new_parser, read_judged
from .study import LEVEL
from .tasks import located
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
        pairs[part] = (*data.seen(inputs, outputs), measured(outputs, [gold[one] for one in inputs]).tolist())
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
        # The difference of the means of two samples, its error from both
        first = _mean(true)
        value = first.value - source.value
        half = np.hypot(first.upper - first.lower, source.upper - source.lower) / 2
        far = absolute(Interval(value, max(value - half, -1.0), min(value + half, 1.0), LEVEL, "asymptotic"))
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


def halves(types: Array, seed: int) -> tuple[Array, Array]:
    """Positions of the rows that may be learnt from and of those that judge the outcome, every type cut in two.

    >>> learn, judge = halves(np.array(["a"] * 4 + ["b"] * 2), seed=0)
    >>> len(learn), len(judge), sorted([*learn.tolist(), *judge.tolist()])
    (3, 3, [0, 1, 2, 3, 4, 5])
    """
    order = np.random.default_rng(seed).permutation(len(types))
    codes = np.unique(types, return_inverse=True)[1][order]
    by_type = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    place = np.empty(len(types), dtype=np.int64)
    place[by_type] = np.arange(len(types)) - first[codes[by_type]]
    return np.sort(order[place % 2 == 0]), np.sort(order[place % 2 == 1])


def self_train(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Train the parser again on training set and accepted outputs; writes ``<home>/self_training.json``.

    The test set is cut in two, type by type. Of one half the outputs that all judges accept become training pairs; its
    truth is used only to measure how pure they are. The other half, and the other test sets, say whether the new parser
    is better than the old one. Both are trained by the same plan from the same seed, for the same number of passes. How
    much two trainings differ for no reason is seen from the other seeds of the task.
    """
    use_threads(1)
    config, name = data.task.config, data.task.pseudo_labels
    assert name is not None
    old = read_judged(workspace.folder / home, name)
    learn, judge = halves(np.asarray(old.columns["type"]).astype(str), config.data_seed)
    accepted = pseudo_labels(old.take(learn), level=LEVEL)
    plain = accepted.to_dict()
    found = {
        "set": name,
        "pool": len(learn),
        **{key: plain[key] for key in ("kept", "accepted", "precision", "accuracy", "agree", "ladder")},
        "sets": [],
    }
    if len(accepted):
        new = _trained(data, accepted, workspace, f"{home}/self_trained", progress)
        for one in data.task.tests:
            rows = judge if one.name == name else None
            before = read_judged(workspace.folder / home, one.name)
            given = data.test(one.name)
            places = np.arange(len(given)) if rows is None else rows
            part = given.take(places.tolist())
            record = new.predict(part.inputs, gold=part.targets, beams=data.task.config.beams, clean=data.clean)
            right = {"old": before.verdicts[places] > 0, "new": record.verdicts > 0}
            out: dict[str, Any] = {"name": one.name, "rows": len(places)}
            for key, verdicts in right.items():
                accuracy = share(int(verdicts.sum()), len(verdicts), LEVEL)
                assert accuracy is not None
                out[key] = accuracy.to_dict()
            gap = right["new"].astype(float) - right["old"]
            out["new_gain"] = paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL).to_dict()
            found["sets"].append(out)
    workspace.write_json(f"{home}/self_training.json", rounded(found))


def _trained(
    data: TaskData, accepted: PseudoLabels, workspace: Workspace, home: str, progress: Progress
) -> EncoderDecoder:
    """A parser of the task's plan; one that was finished before an interruption is loaded."""
    folder = workspace / home
    if (folder / "finished").is_file():
        return EncoderDecoder.load(folder)
    assert accepted.record.input is not None
    assert accepted.record.output is not None
    inputs = [*data.train.inputs, *accepted.record.input.tolist()]
    outputs = [*data.train.targets, *accepted.record.output.tolist()]
    parser = new_parser(data, data.task.config.seed)
    parser.fit(inputs, outputs, checkpoint=folder / "checkpoint", progress=progress)
    parser.save(folder)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    (folder / "finished").write_text("")
    return parser
