"""Pairs for judges: rows of files become right and wrong pairs, each once, balanced; some inputs are held out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import Examples, sentence_bleu, token_f1
from ...errors import InputError, UsageError
from .rows import TextRows, squeezed

METRICS: Mapping[str, Callable[[Sequence[str], Sequence[str]], Array] | None] = {
    "exact": None,
    "token-f1": token_f1,
    "bleu": sentence_bleu,
}
"""What judges may learn: to tell right from wrong, or to predict a metric in [0, 1]."""

GOLD = "gold"
SHARE = 10  # one of so many inputs is held out
_NO_NEGATIVES = (
    "judges learn from mistakes: give the outputs of early checkpoints on the training set (a smaller K), of wider "
    "beams, or of a weaker model"
)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs to learn from or to be judged by.

    inputs, outputs : texts. targets : float32, shape (sample,), 1 where the output is right, else 0, or the metric.
    origin : "gold", or the file that an output comes from. counts : what was left out.
    """

    inputs: list[str]
    outputs: list[str]
    targets: Array
    origin: Array
    counts: Mapping[str, Any]

    def __len__(self) -> int:
        return len(self.inputs)

    @property
    def correct(self) -> Array:
        """Whether each output is right, bool, shape (sample,)."""
        right: Array = self.targets == 1
        return right

    def take(self, index: Array) -> Pairs:
        """The pairs at some places, without the counts."""
        return Pairs(
            [self.inputs[i] for i in index],
            [self.outputs[i] for i in index],
            self.targets[index],
            self.origin[index],
            {},
        )

    def statistics(self) -> dict[str, Any]:
        """Counts, ready for JSON, and the same in ``words``."""
        found = Examples(self.inputs, self.outputs, self.correct, self.origin, self.counts)
        return {**found.statistics(), "mean": float(self.targets.mean()), "words": found.summary()}


def pairs_of(
    files: Sequence[TextRows], *, metric: str = "exact", balance: float = 1.0, seed: int = 0, all_right: bool = False
) -> Pairs:
    """Right and wrong pairs of all rows.

    Every gold output is a right pair. An output is right where it equals a gold output of its input, or where `correct`
    says so; it is wrong otherwise. Empty outputs are counted and left out, as they are judged Incorrect without asking.
    A pair is there once. Of the wrong ones at most ``balance`` for each right one are drawn, 0 for all. With a
    ``metric`` the target of an output is the metric against the row's gold. ``all_right``: no pair need be wrong.

    Raises `InputError` for a row whose correctness is unknown, for an empty gold output, for an output that equals gold
    and is said to be wrong, and where all pairs are right or all wrong.
    """
    if metric not in METRICS:
        raise UsageError(f"expected a metric of {', '.join(METRICS)}, got {metric!r}")
    if not balance >= 0:
        raise UsageError(f"expected a balance of 0 or more, got {balance}; 1 is as many wrong pairs as right ones")
    for rows in files:
        _check(rows, metric)
    if all(rows.outputs is None for rows in files) and not all_right:
        raise files[0].lacks("a column output", "output", why="judges learn from what a model wrote; ")
    found = _gathered(files, METRICS[metric])
    once, counts = _once(found, files)
    right = once.correct
    wrong = np.flatnonzero(~right)
    if (not len(wrong) and not all_right) or len(wrong) == len(once):
        raise _one_class(replace(once, counts=counts), files)
    if balance:
        most = max(1, int(balance * right.sum()))
        drawn = np.random.default_rng([seed, 2]).permutation(wrong)[:most]
        counts["beyond_balance"] = len(wrong) - len(drawn)
        once = once.take(np.sort(np.concatenate([np.flatnonzero(right), drawn])))
    return replace(once, counts=counts)


def _check(rows: TextRows, metric: str) -> None:
    """Every row has what a pair needs."""
    equal = rows.equal
    outputs = rows.outputs or [None] * len(rows.inputs)
    if rows.golds is None and (metric != "exact" or rows.outputs is None or not (rows.correct >= 0).any()):
        what = "a column gold" + ("" if metric != "exact" else " (or output and correct)")
        raise rows.lacks(what, "gold", why="judges learn from outputs that are known to be right or wrong; ")
    odd = np.flatnonzero((equal == 1) & (rows.correct == 0))
    if len(odd):
        raise rows.error(
            int(odd[0]),
            "true, since the output equals gold",
            "false",
            "drop the column or correct the cell",
            "correct",
        )
    known = equal >= 0 if metric != "exact" else (equal >= 0) | (rows.correct >= 0)
    if not known.all():
        row = int(np.argmin(known))
        said = "null" if outputs[row] is None else repr(outputs[row])[:40]
        raise rows.error(
            row,
            "a gold output" + ("" if metric != "exact" else ", or whether the output is correct"),
            f"none (the output is {said})",
            "give it or drop the row",
            "gold",
        )


def _gathered(files: Sequence[TextRows], metric: Callable[..., Array] | None) -> Pairs:
    """Gold pairs, then right outputs, then the others; duplicates and all."""
    right: dict[str, set[str]] = {}
    for rows in files:
        for given, gold in zip(rows.inputs, rows.golds or (), strict=False):
            if gold is not None:
                right.setdefault(squeezed(given), set()).add(squeezed(gold))
    golds: list[tuple[str, str, float, str]] = []
    outputs: list[tuple[str, str, float, str]] = []
    for rows in files:
        none: list[str | None] = [None] * len(rows.inputs)
        for given, output, gold, known in zip(
            rows.inputs, rows.outputs or none, rows.golds or none, rows.correct.tolist(), strict=True
        ):
            if gold is not None:
                golds.append((given, gold, 1.0, GOLD))
            if output is None or not output.strip():
                continue
            good = known == 1 or squeezed(output) in right.get(squeezed(given), ())
            target = float(good) if metric is None else float(metric([output], [gold])[0])
            outputs.append((given, output, target, rows.short_name))
    every = golds + sorted(outputs, key=lambda one: -one[2])
    return Pairs(
        [one[0] for one in every],
        [one[1] for one in every],
        np.array([one[2] for one in every], dtype=np.float32),
        np.array([one[3] for one in every], dtype=object),
        {},
    )


def _once(found: Pairs, files: Sequence[TextRows]) -> tuple[Pairs, dict[str, Any]]:
    """Each pair once, and counts; where two rows judge one pair differently the better verdict stays."""
    first: dict[tuple[str, str], int] = {}
    contradictions = 0
    for place, (given, output) in enumerate(zip(found.inputs, found.outputs, strict=True)):
        kept = first.setdefault((squeezed(given), squeezed(output)), place)
        contradictions += bool(found.targets[kept] != found.targets[place])
    rows = sum(len(one.inputs) for one in files)
    given_outputs = [output for one in files for output in one.outputs or ()]
    absent = rows - sum(output is not None for output in given_outputs)
    counts = {
        "rows": rows,
        "without_output": absent,
        "empty": sum(output is not None and not output.strip() for output in given_outputs),
        "duplicates": len(found) - len(first),
        "contradictions": contradictions,
        "beyond_balance": 0,
    }
    return found.take(np.array(sorted(first.values()), dtype=np.int64)), counts


def _one_class(pairs: Pairs, files: Sequence[TextRows]) -> InputError:
    file = files[0].record.source if len(files) == 1 else None
    if pairs.counts["empty"] + pairs.counts["without_output"] == pairs.counts["rows"]:
        got = f"none: all {pairs.counts['rows']} are empty"
        return InputError("outputs of a model", got=got, remedy="give what it wrote", file=file, column="output")
    if pairs.correct.all():
        got = f"none: all {len(pairs)} pairs are right"
        return InputError("outputs that are wrong", got=got, remedy=_NO_NEGATIVES, file=file)
    return InputError(
        "outputs that are right",
        got=f"none: all {len(pairs)} pairs are wrong",
        file=file,
        remedy="give the gold outputs as a column gold, or right outputs",
    )


def split(pairs: Pairs, seed: int) -> tuple[Pairs, Pairs]:
    """Pairs to train on, and those of a tenth of the inputs, drawn apart among inputs with and without mistakes.

    All pairs of one input lie on one side, so that nothing is asked that was learnt. Raises `InputError` for fewer than
    ten inputs, and where a side would lack right or wrong pairs.
    """
    names, codes = np.unique([squeezed(one) for one in pairs.inputs], return_inverse=True)
    if len(names) < SHARE:
        raise InputError(
            f"at least {SHARE} different inputs, of which a tenth is held out",
            got=str(len(names)),
            remedy="give more rows, or held-out ones with --dev FILE",
        )
    erring = np.zeros(len(names), dtype=bool)
    erring[codes[~pairs.correct]] = True
    rng = np.random.default_rng([seed, 3])
    away = np.zeros(len(names), dtype=bool)
    for group in (np.flatnonzero(erring), np.flatnonzero(~erring)):
        count = max(round(len(group) / SHARE), int(len(group) > 1))
        away[rng.permutation(group)[:count]] = True
    held = away[codes]
    parts = pairs.take(np.flatnonzero(~held)), pairs.take(np.flatnonzero(held))
    for part, name in zip(parts, ("to train on", "held out"), strict=True):
        if part.correct.all() or not part.correct.any():
            raise InputError(
                f"right and wrong pairs {name}",
                got=f"{int(part.correct.sum())} of {len(part)} right",
                remedy=f"too few inputs have mistakes ({int(erring.sum())} of {len(names)}): {_NO_NEGATIVES}",
            )
    return replace(parts[0], counts=pairs.counts), parts[1]
