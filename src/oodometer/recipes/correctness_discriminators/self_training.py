"""Self-training: one round of learning from outputs that every judge accepted, shown to help or not on other rows."""

from __future__ import annotations

import shutil
from typing import Any

import numpy as np

from ...arrays import Array
from ...metrics.vote_counts import paired_gap, share
from ...models.seq2seq import EncoderDecoder
from ...models.torch.library import use_threads
from ...verbs.discriminate.pseudo_labels import PseudoLabels, pseudo_labels
from ..base import Progress, Workspace
from ..kit.tables import rounded
from .data import TaskData
from .files import read_judged
from .new_parser import new_parser
from .study import LEVEL


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
    found = {"set": name, "pool": len(learn), **_purity(accepted), "sets": []}
    if len(accepted):
        new = _trained(data, accepted, workspace, f"{home}/self_trained", progress)
        for one in data.task.tests:
            rows = judge if one.name == name else None
            found["sets"].append(_compared(data, new, workspace, home, one.name, rows))
    workspace.write_json(f"{home}/self_training.json", rounded(found))


def _purity(accepted: PseudoLabels) -> dict[str, Any]:
    plain = accepted.to_dict()
    return {key: plain[key] for key in ("kept", "accepted", "precision", "accuracy", "agree", "ladder")}


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


def _compared(
    data: TaskData,
    parser: EncoderDecoder,
    workspace: Workspace,
    home: str,
    name: str,
    rows: Array | None,
) -> dict[str, Any]:
    """Exact match of the old parser and of the new one on the same rows, and the difference with its interval."""
    before = read_judged(workspace.folder / home, name)
    given = data.test(name)
    places = np.arange(len(given)) if rows is None else rows
    part = given.take(places.tolist())
    record = parser.predict(part.inputs, gold=part.targets, beams=data.task.config.beams, clean=data.clean)
    right = {"old": before.verdicts[places] > 0, "new": record.verdicts > 0}
    out: dict[str, Any] = {"name": name, "rows": len(places)}
    for key, verdicts in right.items():
        accuracy = share(int(verdicts.sum()), len(verdicts), LEVEL)
        assert accuracy is not None
        out[key] = accuracy.to_dict()
    gap = right["new"].astype(float) - right["old"]
    out["new_gain"] = paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL).to_dict()
    return out
