"""Examples: pairs of input and output with their correctness, on which a discriminator is trained; counted and kept."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..arrays import Array
from ..errors import InputError, UsageError
from ..predictions import Predictions
from ..store import open_predictions, write_predictions

GOLD = "gold"  # origin of a positive


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs (input, output) and whether the output is right.

    Parameters
    ----------
    inputs, outputs : texts, one pair a sample.
    correct : bool, shape (sample,).
    origin : where a pair comes from, "gold" or the name of a checkpoint; objects, shape (sample,).
    counts : what was seen while they were collected, by `collect`.

    >>> e = Examples(["1 2", "1 2"], ["a b", "a a"], np.array([True, False]), np.array(["gold", "step-000200"], object))
    >>> e.statistics()["share_correct"], len(e)
    (0.5, 2)
    >>> print(e.summary())
    2 pairs of 1 input: 1 correct, 1 incorrect (50.0 % correct)
    """

    inputs: list[str]
    outputs: list[str]
    correct: Array
    origin: Array
    counts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.inputs)

    def mixed(self, other: Examples, share: float = 0.5, seed: int = 0) -> Examples:
        """The same pairs, but for ``share`` of the incorrect ones, which give way to incorrect ones of ``other``.

        Those that go are drawn; those that come are the first of ``other`` that are not here already, as many as there
        are. The counts have ``mixed`` as well: how many came.

        >>> gold, wrong = np.array([True, False, False]), np.array([False])
        >>> early = Examples(["1"] * 3, ["a", "b", "c"], gold, np.array(["gold", "x", "x"], object))
        >>> late = Examples(["1"], ["d"], wrong, np.array(["y"], object))
        >>> found = early.mixed(late)
        >>> found.outputs[0], len(found), found.outputs[-1], found.counts["mixed"]
        ('a', 3, 'd', 1)
        """
        if not 0 <= share <= 1:
            raise UsageError(f"expected a share of the incorrect pairs from 0 to 1, got {share}")
        rng = np.random.default_rng([seed, 4])
        mine, theirs = np.flatnonzero(~self.correct), np.flatnonzero(~other.correct)
        known = {(self.inputs[i], self.outputs[i]) for i in range(len(self))}
        new = [i for i in theirs.tolist() if (other.inputs[i], other.outputs[i]) not in known]
        come = np.array(new[: round(share * len(mine))], dtype=np.int64)
        stay = np.sort(rng.permutation(mine)[: len(mine) - len(come)])
        kept = np.concatenate([np.flatnonzero(self.correct), stay])
        return Examples(
            [*(self.inputs[i] for i in kept), *(other.inputs[i] for i in come)],
            [*(self.outputs[i] for i in kept), *(other.outputs[i] for i in come)],
            np.concatenate([self.correct[kept], other.correct[come]]),
            np.concatenate([self.origin[kept], other.origin[come]]),
            {**self.counts, "mixed": len(come)},
        )

    def statistics(self) -> dict[str, Any]:
        """Counts of pairs, of inputs and by origin, and ``counts``; ready for JSON."""
        right = int(self.correct.sum())
        names, sizes = np.unique(self.origin.astype(str), return_counts=True)
        wrong = {one for one, good in zip(self.inputs, self.correct.tolist(), strict=True) if not good}
        return {
            "pairs": len(self),
            "correct": right,
            "incorrect": len(self) - right,
            "share_correct": right / len(self) if len(self) else None,
            "inputs": len(set(self.inputs)),
            "inputs_with_mistakes": len(wrong),
            "by_origin": dict(zip(names.tolist(), sizes.tolist(), strict=True)),
            **self.counts,
        }

    def summary(self) -> str:
        """The statistics in words, a line for the pairs, one for each checkpoint, one for what was left out."""
        s = self.statistics()
        inputs = f"{s['inputs']:,} input" + ("s" if s["inputs"] != 1 else "")
        share = f" ({100 * s['share_correct']:.1f} % correct)" if len(self) else ""
        lines = [f"{s['pairs']:,} pairs of {inputs}: {s['correct']:,} correct, {s['incorrect']:,} incorrect{share}"]
        for one in s.get("checkpoints", ()):
            lines.append(
                f"{one['name']}: right on {100 * one['accuracy']:.1f} % of {one['rows']:,} inputs; "
                f"{one['wrong']:,} wrong beams, {one['kept']:,} kept"
            )
        left = {
            "empty": "empty outputs",
            "duplicates": "pairs that were there already",
            "beyond_balance": "mistakes beyond the balance",
        }
        out = [f"{s[name]:,} {what}" for name, what in left.items() if s.get(name)]
        return "\n".join(lines + ([f"left out: {', '.join(out)}"] if out else []))

    def record(self) -> Predictions:
        """The pairs as a record with ``input``, ``output``, ``correct`` and the column ``origin``, to be written."""
        return Predictions.from_arrays(
            input=_objects(self.inputs),
            output=_objects(self.outputs),
            correct=self.correct.astype(np.int8),
            columns={"origin": self.origin.astype(object)},
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the pairs as a predictions file: Parquet, JSONL, CSV, Arrow or NPZ, told by the ending."""
        return write_predictions(self.record(), path)

    @classmethod
    def read(cls, path: str | os.PathLike[str], *, mapping: Mapping[str, str] | None = None) -> Examples:
        """Read pairs from a file with ``input``, ``output`` and ``correct``; ``mapping`` renames, theirs -> ours."""
        source = open_predictions(path, mapping=mapping)
        if "origin" in source.columns:
            source = open_predictions(path, mapping=mapping, extra_columns=("origin",))
        return cls.from_record(source.read(("input", "output", "correct", "label", "prediction")))

    @classmethod
    def from_record(cls, record: Predictions) -> Examples:
        """The pairs of a record; ``origin`` is read where it is there. `InputError` where a column or a cell lacks."""
        columns: dict[str, list[Any]] = {}
        for name in ("input", "output"):
            values = getattr(record, name)
            if values is None:
                raise InputError(
                    f"a column {name}",
                    got="none",
                    remedy="give one text a row",
                    file=record.source,
                    column=name,
                )
            columns[name] = values.tolist()
            bad = next((row for row, one in enumerate(columns[name]) if not isinstance(one, str)), None)
            if bad is not None:
                raise InputError(
                    "a text",
                    got=repr(columns[name][bad]),
                    remedy="drop the row or give the text",
                    file=record.source,
                    row=record.first_row + bad + 1,
                    column=name,
                )
        verdicts = record.verdicts
        if (verdicts < 0).any():
            row = record.first_row + int(np.argmax(verdicts < 0)) + 1
            raise InputError(
                "whether the output is correct",
                got="null",
                remedy="drop the row or judge it",
                file=record.source,
                row=row,
                column="correct",
            )
        origin = record.columns.get("origin", np.full(len(record), "", dtype=object))
        return cls(columns["input"], columns["output"], verdicts > 0, np.asarray(origin, dtype=object))


def _objects(texts: list[str]) -> Array:
    out = np.empty(len(texts), dtype=object)
    out[:] = texts
    return out
