"""Collect: right pairs from gold, wrong ones from early checkpoints of a model or from models of other folds."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from ..arrays import Array
from ..engines import Engine
from ..errors import InputError, UsageError
from ..models.base import Progress
from ..models.seq2seq import Beams, EncoderDecoder
from ..results import percent
from .base import check_pairs
from .decoding import Outputs, Question, decode_elsewhere, decoding_engine
from .examples import GOLD, Examples


class Decoder(Protocol):
    """Anything that answers inputs with beams."""

    def decode(self, inputs: Sequence[str], *, beams: int = 1, progress: Progress | None = None) -> Beams:
        """The best ``beams`` outputs of each input."""


@dataclass(frozen=True)
class CollectOptions:
    """Which mistakes are collected; `UsageError` for numbers below 1.

    Parameters
    ----------
    checkpoints :
        How many of the models are asked, from the first on.
    beams :
        Width of the beam search, from whose outputs mistakes are drawn.
    per_checkpoint :
        Inputs that each model is asked, drawn at random; None for all.
    per_input :
        Most mistakes kept of one input and model, drawn at random among its wrong beams.
    balance :
        Most incorrect pairs for each correct one, drawn at random; None for no limit.
    deduplicate :
        Whether each pair is there once. False keeps it as often as it came, the gold pairs once for each model that
        was asked for them, as in the code of the paper.
    clean :
        Applied to both before an output is compared with gold; by default runs of white space count as one space.
    seed :
        Of all draws.
    engine, workers :
        Where models are asked, each a task of one thread, and how many tasks at a time: "processes" (which ``workers``
        alone means), "ray", "spark", these two with an address after a colon, "local", or an `Engine`. Models must be
        folders; ``checkpoint`` must be one that all machines see. By default in this process.

    >>> CollectOptions(beams=0)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected beams of at least 1, got 0
    """

    checkpoints: int = 5
    beams: int = 4
    per_checkpoint: int | None = None
    per_input: int = 1
    balance: float | None = 1.0
    deduplicate: bool = True
    clean: Callable[[str], str] | None = None
    seed: int = 0
    engine: str | Engine | None = None
    workers: int | None = None

    def __post_init__(self) -> None:
        for name in ("checkpoints", "beams", "per_checkpoint", "per_input"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise UsageError(f"expected {name} of at least 1, got {value}")


def collect(
    models: Sequence[str | os.PathLike[str] | Decoder],
    inputs: Sequence[str],
    golds: Sequence[str],
    *,
    folds: Array | None = None,
    options: CollectOptions | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
    **more: Any,
) -> Examples:
    """Pairs to train a discriminator on: gold outputs are correct, wrong beams of early checkpoints are incorrect.

    Parameters
    ----------
    models :
        Checkpoints of the model in the order of training: folders (see `snapshot_folders`) or anything with ``decode``.
    inputs, golds :
        The data the model was trained on (for a dev set: the dev data), one gold output an input.
    folds :
        Cross-fitting: ``models[i]`` was trained on all rows but those of fold i, and is asked for these alone (see
        `folds_of`); int, shape (sample,). Mistakes are best outputs that are wrong, in a drawn order, and behind them
        wrong lower beams, which ``balance`` cuts first. None: every model is asked for all rows, and mistakes are drawn
        among all beams.
    options, more :
        Which mistakes are collected. Fields of `CollectOptions` may also be given by name: ``collect(..., beams=3)``.
    checkpoint :
        Folder in which the mistakes of each model folder are kept, so that an interrupted collection goes on.
    progress :
        Called with (inputs asked, inputs to ask).

    An output that equals any gold output of its input after ``clean`` is never a mistake, nor is an empty one (it is
    judged Incorrect without asking). The result is the same on every engine, and that of one thread in this process.
    Raises `InputError` for a row without gold, and where no model made any mistake, `UsageError` for an engine and a
    model in memory, `WorkError` where a worker died; the beams that were kept stay.

    Source: Yao and Koller (2024), section 3.1; for folds Wolpert (1992), stacked generalization.
    """
    inputs, golds = check_pairs(inputs, golds)
    how = replace(options or CollectOptions(), **more)
    if not models:
        raise UsageError("expected at least one checkpoint of the model, got none; train with snapshots=FOLDER")
    search = _Search(inputs, golds, how, cross_fitted=folds is not None)
    asked = list(models) if folds is not None else list(models)[: how.checkpoints]
    if folds is not None:
        _check_folds(folds, len(inputs), len(asked))
    engine = decoding_engine(how.engine, how.workers, asked)
    rows = []
    for place in range(len(asked)):
        there = np.arange(len(inputs)) if folds is None else np.flatnonzero(folds == place)
        rows.append(there[_rows(len(there), how.per_checkpoint, how.seed, place)])
    kept = None if checkpoint is None else Path(os.path.abspath(checkpoint))
    questions = [search.question(model, some, kept) for model, some in zip(asked, rows, strict=True)]
    if engine is None:
        outputs = _one_after_another(asked, questions, progress)
    else:
        outputs = decode_elsewhere(engine, questions, progress)
    found = [search.mistakes(*both, place) for place, both in enumerate(zip(asked, outputs, rows, strict=True))]
    return _joined(search, found, how)


@final
class _Search:
    """Asks one model after the other for mistakes."""

    def __init__(self, inputs: list[str], golds: list[str], how: CollectOptions, cross_fitted: bool = False) -> None:
        self.cross_fitted = cross_fitted
        self.inputs, self.golds, self.beams, self.per_input = inputs, golds, how.beams, how.per_input
        self.clean, self.seed = how.clean or _plain, how.seed
        self.right: dict[str, set[str]] = {}  # every cleaned gold output of an input
        for row, (given, gold) in enumerate(zip(inputs, golds, strict=True)):
            key = self.clean(gold)
            if not key.strip():
                raise InputError("a gold output", got="an empty one", remedy="drop the row", row=row + 1, column="gold")
            self.right.setdefault(given, set()).add(key)

    def question(self, model: Any, rows: Array, kept: Path | None) -> Question:
        """What a model is asked; one in memory has no folder, and nothing of it is kept."""
        inputs = tuple(self.inputs[row] for row in rows)
        if not isinstance(model, str | os.PathLike):
            return Question(Path(), inputs, self.beams)
        home = Path(os.path.abspath(model))
        return Question.kept_in(kept, home, inputs, self.beams) if kept else Question(home, inputs, self.beams)

    def mistakes(self, model: Any, outputs: Outputs, rows: Array, place: int) -> dict[str, Any]:
        """Rows and outputs of a model's mistakes, and counts."""
        usual = f"fold-{place}" if self.cross_fitted else f"checkpoint-{place + 1}"
        name = Path(model).name if isinstance(model, str | os.PathLike) else usual
        return {"name": name, **self._mistakes(outputs, rows, place)}

    def _mistakes(self, outputs: Outputs, rows: Array, place: int) -> dict[str, Any]:
        """Rows and texts of the mistakes that are kept, and what was counted."""
        draw = np.random.default_rng([self.seed, place, 1]).random((len(rows), self.beams))
        if self.cross_fitted:
            draw = np.broadcast_to(np.arange(self.beams), draw.shape)
        out: dict[str, Any] = {"asked": rows.tolist(), "rows": [], "outputs": [], "later": []}
        empty = wrong = best = 0
        for row, answers, order in zip(rows.tolist(), outputs, draw, strict=True):
            right = self.right[self.inputs[row]]
            keys = [self.clean(one) for one in answers]
            best += bool(keys) and keys[0] in right
            empty += sum(not key.strip() for key in keys)
            different = {key: one for key, one in zip(keys, answers, strict=True) if key.strip() and key not in right}
            wrong += len(different)
            picked = [one for _, one in sorted(zip(order, different.values(), strict=False))][: self.per_input]
            out["rows"] += [row] * len(picked)
            out["outputs"] += picked
            out["later"] += [self.cross_fitted and self.clean(one) != keys[0] for one in picked]
        return {**out, "accuracy": best / len(rows), "wrong": wrong, "empty": empty}


def _one_after_another(
    models: Sequence[Any], questions: Sequence[Question], progress: Progress | None
) -> list[Outputs]:
    """The beams of each question, asked in this process, read back where they were kept."""
    found = []
    for place, (model, question) in enumerate(zip(models, questions, strict=True)):

        def tell(done: int, total: int, place: int = place) -> None:
            if progress is not None:
                progress(place * total + done, len(questions) * total)

        outputs = question.known()
        if outputs is not None:
            tell(len(question.inputs), len(question.inputs))
        else:
            path = isinstance(model, str | os.PathLike)
            decoder: Decoder = EncoderDecoder.load(model) if path else model
            outputs = decoder.decode(list(question.inputs), beams=question.beams, progress=tell).outputs
            question.keep(outputs)
        found.append(outputs)
    return found


def _joined(search: _Search, found: list[dict[str, Any]], how: CollectOptions) -> Examples:
    golds = range(len(search.inputs)) if how.deduplicate else [row for one in found for row in one["asked"]]
    positives = [(row, search.golds[row], -1) for row in golds]  # row, output, place of the checkpoint
    negatives = [
        (row, output, place)
        for place, one in enumerate(found)
        for row, output in zip(one["rows"], one["outputs"], strict=True)
    ]
    behind = {
        (row, output, place)
        for place, one in enumerate(found)
        for row, output, later in zip(one["rows"], one["outputs"], one["later"], strict=True)
        if later
    }
    if not negatives:
        raise InputError(
            "wrong outputs of the first checkpoints on the data they were trained on",
            got=f"none: the best output is right on {percent(found[0]['accuracy'])} of the inputs at the first of "
            f"{len(found)}",
            remedy="it makes no mistake to learn from; keep earlier checkpoints (a smaller K) or ask for more beams",
        )
    before = len(positives) + len(negatives)
    if how.deduplicate:
        positives, negatives = _once(search, positives), _once(search, negatives)
    duplicates = before - len(positives) - len(negatives)
    most = len(negatives)
    if how.balance is not None:
        most = min(most, max(1, int(how.balance * len(positives))))
    order = np.random.default_rng([how.seed, 2]).permutation(len(negatives))
    drawn = np.sort(order[:most])
    if search.cross_fitted:  # best outputs first
        drawn = order[np.argsort([negatives[i] in behind for i in order], kind="stable")][:most]
    pairs = positives + [negatives[i] for i in drawn]
    places = np.array([place for _, _, place in pairs])
    counts = {
        "checkpoints": [
            {
                "name": one["name"],
                "rows": len(one["asked"]),
                "accuracy": one["accuracy"],
                "wrong": one["wrong"],
                "kept": int((places == place).sum()),
            }
            for place, one in enumerate(found)
        ],
        "empty": sum(one["empty"] for one in found),
        "duplicates": duplicates,
        "beyond_balance": len(negatives) - most,
    }
    origin = np.empty(len(pairs), dtype=object)
    origin[:] = [GOLD if place < 0 else found[place]["name"] for place in places]
    return Examples(
        [search.inputs[row] for row, _, _ in pairs],
        [output for _, output, _ in pairs],
        np.arange(len(pairs)) < len(positives),
        origin,
        counts,
    )


def folds_of(inputs: Sequence[str], folds: int = 2, seed: int = 0) -> Array:
    """The fold of each row, drawn; equal inputs are in one fold, so that no model has seen an input of its own fold.

    int64, shape (sample,); folds have as many different inputs as each other, or one more.

    >>> folds_of(["a", "b", "a", "c", "d"]).tolist()
    [0, 1, 0, 0, 1]
    """
    if not 2 <= folds <= len(set(inputs)):
        raise UsageError(f"expected 2 folds or more of {len(set(inputs))} different inputs, got {folds}")
    names, codes = np.unique(np.asarray(inputs, dtype=object), return_inverse=True)
    of_name = np.random.default_rng([seed, 3]).permutation(len(names)) % folds
    out: Array = of_name[codes].astype(np.int64)
    return out


def _check_folds(folds: Array, rows: int, models: int) -> None:
    given = np.asarray(folds)
    if given.shape != (rows,) or not np.issubdtype(given.dtype, np.integer):
        raise UsageError(f"expected folds as {rows} whole numbers, one a row, got {given.dtype} of shape {given.shape}")
    if set(given.tolist()) != set(range(models)):
        raise UsageError(
            f"expected a model for each fold, folds 0 to {models - 1}, got the folds {sorted(set(given.tolist()))}"
        )


def _once(search: _Search, pairs: list[tuple[int, str, int]]) -> list[tuple[int, str, int]]:
    """The first of each (input, cleaned output), in order."""
    first: dict[tuple[str, str], tuple[int, str, int]] = {}
    for one in pairs:
        first.setdefault((search.inputs[one[0]], search.clean(one[1])), one)
    return list(first.values())


def _rows(count: int, most: int | None, seed: int, place: int) -> Array:
    """The inputs that one model is asked, in their order."""
    if most is None or most >= count:
        return np.arange(count)
    return np.sort(np.random.default_rng([seed, place, 0]).choice(count, most, replace=False))


def _plain(text: str) -> str:
    return " ".join(text.split())
