"""What stands beside the rows of a comparison: curves of several answers by question, and what answers take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from ..arrays import Array, present
from ..inference.clusters import EPOCH_OF_ID
from ..inference.paired import Paired, holm
from ..inference.reliability import pass_at_k, pass_hat_k
from ..metrics.reliability import SHORT, answer_counts
from ..plain import Json
from ..results import Interval
from ..store import Source
from .costs import amounts, cost_columns


@final
@dataclass(frozen=True)
class Beside:
    """A further number of each model on the same rows, or questions: how it is called, and whether it is a share."""

    name: str
    side: Paired
    share: bool


@final
@dataclass(frozen=True)
class Questions:
    """The question of each row, (row,), and where each question stands first, in the order in which they come."""

    of_rows: Array
    names: dict[str, int]

    @classmethod
    def of(cls, ids: Array) -> Questions:
        """The questions of rows with these ids, which may name an epoch as well."""
        bases = [EPOCH_OF_ID.sub("", name) for name in ids.tolist()]
        names: dict[str, int] = {}
        for row, name in enumerate(bases):
            names.setdefault(name, row)
        return cls(np.array(bases, dtype=object), names)

    def rows_of(self, names: Sequence[str]) -> Array:
        """The rows of some questions, in their order."""
        return np.flatnonzero(np.isin(self.of_rows, np.array(names, dtype=object)))

    def first(self, names: Sequence[str]) -> Array:
        """The first row of each of these questions."""
        return np.array([self.names[name] for name in names])

    def codes(self, names: Sequence[str]) -> Array:
        """The place of each row's question among these."""
        place = {name: i for i, name in enumerate(names)}
        return np.array([place[name] for name in self.of_rows.tolist()])


def curves_beside(
    curves: Sequence[tuple[str, int]],
    models: Sequence[tuple[Array, Array, Array | None]],
    seed: int,
) -> list[Beside]:
    """Each curve (family, k) by question. Of each model: codes of the questions from 0 on, whether it is right, and the
    names of what it answered, which a majority alone needs, all (row,).
    """
    out = []
    for family, k in curves:
        values = np.stack([_curve_by_question(family, k, *answers) for answers in models])
        out.append(Beside(f"{SHORT[family]}{k}", Paired(values, seed=seed), share=True))
    return out


def _curve_by_question(
    family: str, k: int, questions: Array, correct: Array, answers: Array | None
) -> Array:
    """A curve at k of each question, (question,); see `curves_beside`."""
    if family == "maj_at_k":
        return answer_counts(questions.astype(np.uint64), present(answers), correct).maj_at_k(k)
    repeats, passed = np.bincount(questions), np.bincount(questions, correct)
    return (pass_at_k if family == "pass_at_k" else pass_hat_k)(repeats, passed, k)


def costs_beside(
    sources: Sequence[Source],
    rows: Sequence[Array],
    clusters: Array | None,
    seed: int,
    questions: Sequence[Array] | None = None,
) -> list[Beside]:
    """What an answer takes, by the columns that all sources have: of the same rows, whose positions in each source are
    ``rows``, or by question where ``questions`` are the codes of these rows. What one of the models lacks is left out.
    """
    shared = [
        name
        for name in cost_columns(sources[0])
        if all(name in cost_columns(source) for source in sources[1:])
    ]
    read = [amounts(source, shared) for source in sources] if shared else []
    out = []
    for name in shared:
        if not all(name in found for found in read):
            continue
        taken = [found[name][at] for found, at in zip(read, rows, strict=True)]
        if questions is not None:
            taken = [_means(cells, codes) for cells, codes in zip(taken, questions, strict=True)]
        values = np.stack(taken)
        known = np.isfinite(values).all(axis=0)
        values, groups = values[:, known], None if clusters is None else clusters[known]
        if values.shape[1] > 1 and np.ptp(values) > 0:
            side = Paired(values, groups, low=0.0, high=float(values.max()), seed=seed)
            out.append(Beside(name, side, share=False))
    return out


def _means(cells: Array, codes: Array) -> Array:
    """The mean of the known cells of each question, (question,), NaN where none is known."""
    known, count = np.isfinite(cells), int(codes.max()) + 1
    rows = np.bincount(codes[known], minlength=count)
    sums = np.bincount(codes[known], cells[known], count)
    return np.where(rows > 0, sums / np.maximum(rows, 1), np.nan)


def beside_rows(
    beside: Sequence[Beside], models: Sequence[str], a: str, b: str, level: float
) -> list[Json]:
    """The difference of two models, b - a, in each further number, with p-values that hold together (Holm 1979)."""
    i, j = models.index(b), models.index(a)
    out: list[Json] = []
    for other in beside:
        gap = other.side.difference(i, j, level)
        values = dict(zip(models, other.side.scores.mean(axis=1).tolist(), strict=True))
        out.append(
            {
                "metric": other.name,
                "share": other.share,
                "rows": other.side.rows,
                "values": values,
                "difference": Interval(
                    gap.value, gap.lower, gap.upper, level, "asymptotic"
                ).to_dict(),
                "p_value": gap.p_value,
            }
        )
    for row, p_value in zip(out, holm([row["p_value"] for row in out]), strict=True):
        row["p_holm"] = p_value
    return out
