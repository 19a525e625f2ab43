"""Collect: right pairs from gold, wrong ones from early checkpoints of a model or from models of other folds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, final

import numpy as np

from oodometer.arrays import Array
from oodometer.engines import Engine, task_engine
from oodometer.errors import InputError, UsageError
from oodometer.predictions import Predictions
from oodometer.results import percent
from oodometer.runs import Kept
from oodometer.store import open_predictions, write_predictions
from oodometer.store.artifact_cache import content_of

from ..datasets.reading import objects
from ..models.artifacts import fingerprint
from ..models.base import Progress
from ..models.opening import Piece, path_of, pieces_of_work
from ..models.seq2seq import Beams, open_sequence_model
from ..models.torch.library import on_gpu, one_torch_thread
from .base import check_pairs, pairs_of

GOLD = "gold"  # origin of a positive


@dataclass(frozen=True, eq=False)
class Examples:
    """Pairs (input, output) and whether the output is right.

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
        own_pairs = {(self.inputs[i], self.outputs[i]) for i in range(len(self))}
        new = [i for i in theirs.tolist() if (other.inputs[i], other.outputs[i]) not in own_pairs]
        come = np.array(new[: round(share * len(mine))], dtype=np.int64)
        stay = np.sort(rng.permutation(mine)[: len(mine) - len(come)])
        stays = np.concatenate([np.flatnonzero(self.correct), stay])
        both = ((self.inputs, other.inputs), (self.outputs, other.outputs))
        texts = [[*(column[i] for i in stays), *(more[i] for i in come)] for column, more in both]
        correct = np.concatenate([self.correct[stays], other.correct[come]])
        origin = np.concatenate([self.origin[stays], other.origin[come]])
        return Examples(texts[0], texts[1], correct, origin, {**self.counts, "mixed": len(come)})

    def statistics(self) -> dict[str, Any]:
        """Counts of pairs, of inputs and by origin, and ``counts``; ready for JSON."""
        right = int(self.correct.sum())
        names, sizes = np.unique(self.origin.astype(str), return_counts=True)
        wrong = {
            text for text, good in zip(self.inputs, self.correct.tolist(), strict=True) if not good
        }
        out: dict[str, Any] = {"pairs": len(self), "correct": right, "incorrect": len(self) - right}
        out |= {
            "share_correct": right / len(self) if len(self) else None,
            "inputs": len(set(self.inputs)),
        }
        out |= {"inputs_with_mistakes": len(wrong)}
        return out | {
            "by_origin": dict(zip(names.tolist(), sizes.tolist(), strict=True)),
            **self.counts,
        }

    def summary(self) -> str:
        """The statistics in words, a line for the pairs, one for each checkpoint, one for what was left out."""
        s = Examples.statistics(self)
        inputs = f"{s['inputs']:,} input" + ("s" if s["inputs"] != 1 else "")
        share = f" ({100 * s['share_correct']:.1f} % correct)" if len(self) else ""
        lines = [
            f"{s['pairs']:,} pairs of {inputs}: {s['correct']:,} correct, {s['incorrect']:,} incorrect{share}"
        ]
        for row in s.get("checkpoints", ()):
            lines.append(
                f"{row['name']}: right on {100 * row['accuracy']:.1f} % of {row['rows']:,} inputs; "
                f"{row['wrong']:,} wrong beams, {row['kept']:,} kept"
            )
        reasons = {"empty": "empty outputs", "duplicates": "pairs that were there already"}
        reasons["beyond_balance"] = "mistakes beyond the balance"
        out = [f"{s[name]:,} {what}" for name, what in reasons.items() if s.get(name)]
        return "\n".join(lines + ([f"left out: {', '.join(out)}"] if out else []))

    def record(self) -> Predictions:
        """The pairs as a record with ``input``, ``output``, ``correct`` and the column ``origin``, to be written."""
        texts, columns = (
            (objects(self.inputs), objects(self.outputs)),
            {"origin": self.origin.astype(object)},
        )
        correct = self.correct.astype(np.int8)
        return Predictions.from_arrays(
            input=texts[0], output=texts[1], correct=correct, columns=columns
        )

    def write(self, path: str | os.PathLike[str]) -> Path:
        """Write the pairs as a predictions file: Parquet, JSONL, CSV, Arrow or NPZ, told by the ending."""
        return write_predictions(self.record(), path)

    @classmethod
    def read(
        cls, path: str | os.PathLike[str], *, mapping: Mapping[str, str] | None = None
    ) -> Examples:
        """Read pairs from a file with ``input``, ``output`` and ``correct``; ``mapping`` renames, theirs -> ours."""
        source = open_predictions(path, mapping=mapping)
        if "origin" in source.columns:
            source = open_predictions(path, mapping=mapping, extra_columns=("origin",))
        return cls.from_record(source.read(("input", "output", "correct", "label", "prediction")))

    @classmethod
    def from_record(cls, record: Predictions) -> Examples:
        """The pairs of a record; ``origin`` is read where it is there. `InputError` where a column or a cell lacks."""
        inputs, outputs = pairs_of(record)
        verdicts = record.verdicts
        if (verdicts < 0).any():
            row = record.first_row + int(np.argmax(verdicts < 0)) + 1
            raise InputError(
                "whether the output is correct",
                got="null",
                file=record.source,
                row=row,
                column="correct",
                remedy="drop the row or judge it",
            )
        origin = record.columns.get("origin", np.full(len(record), "", dtype=object))
        return cls(inputs, outputs, verdicts > 0, np.asarray(origin, dtype=object))


Outputs = list[list[str]]


@final
@dataclass(frozen=True)
class _Question(Piece):
    """What a model, or that of a folder, is asked, and where the beams are kept, if so."""

    inputs: tuple[str, ...]
    beams: int
    model: Any
    opening: Mapping[str, Any]  # how that of a folder is opened

    def asked(self, progress: Progress | None = None) -> Outputs:
        """The beams, which are kept where there is a place."""
        model = self.model
        if isinstance(model, Path):
            model = open_sequence_model(model, **self.opening)
        outputs: Outputs = model.decode(
            list(self.inputs), beams=self.beams, progress=progress
        ).outputs
        if self.kept is not None:
            self.kept.keep(self.key, outputs)
        return outputs


@final
@dataclass(frozen=True)
class _Task:
    """Opens the model of a question and decodes, with one thread; the beams, or None where they are in their file."""

    gpu: bool = True

    def __call__(self, question: _Question) -> Outputs | None:
        with one_torch_thread():
            outputs = question.asked()
        return outputs if question.kept is None else None


class Decoder(Protocol):
    """Anything that answers inputs with beams."""

    def decode(
        self, inputs: Sequence[str], *, beams: int = 1, progress: Progress | None = None
    ) -> Beams:
        """The best ``beams`` outputs of each input."""


@dataclass(frozen=True)
class CollectOptions:
    """Which mistakes are collected; `UsageError` for numbers below 1.

    checkpoints : how many of the models are asked, from the first on.
    beams : width of the beam search, from whose outputs mistakes are drawn.
    per_checkpoint : inputs that each model is asked, drawn at random; None for all.
    per_input : most mistakes kept of one input and model, drawn at random among its wrong beams.
    balance : most incorrect pairs for each correct one, drawn at random; None for no limit.

    clean : applied to both before an output is compared with gold; by default runs of white space count as one space.
    seed : of all draws.
    max_length, max_output_length, device : of models that are folders, see `open_sequence_model`.
    engine, workers : where models are asked, each a task of one thread, and how many tasks at a time: "processes"
        (which ``workers`` alone means), "ray", "spark", these two with an address after a colon, "local", or an
        `Engine`. Models must be folders; ``checkpoint`` must be one that all machines see. By default in this process.

    >>> CollectOptions(beams=0)
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected beams of at least 1, got 0
    """

    checkpoints: int = 5
    beams: int = 4
    per_checkpoint: int | None = None
    per_input: int = 1
    balance: float | None = 1.0

    clean: Callable[[str], str] | None = None
    seed: int = 0
    max_length: int | None = None
    max_output_length: int | None = None
    device: str | None = None
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

    models : Checkpoints of the model in the order of training: folders (see `snapshot_folders`) or anything with
        ``decode``.
    inputs, golds : The data the model was trained on (for a dev set: the dev data), one gold output an input.
    folds : Cross-fitting: ``models[i]`` was trained on all rows but those of fold i, and is asked for these alone (see
        `folds_of`); int, shape (sample,). Mistakes are best outputs that are wrong, in a drawn order, and behind them
        wrong lower beams, which ``balance`` cuts first. None: every model is asked for all rows, and mistakes are drawn
        among all beams.
    options, more : Which mistakes are collected. Fields of `CollectOptions` may also be given by name: ``collect(...,
        beams=3)``.
    checkpoint : Folder in which the mistakes of each model folder are kept, so that an interrupted collection goes on.
    progress : Called with (inputs asked, inputs to ask).

    An output that equals any gold output of its input after ``clean`` is never a mistake, nor is an empty one (it is
    judged Incorrect without asking). The result is the same on every engine, and that of one thread in this process.
    Raises `InputError` for a row without gold, and where no model made any mistake, `UsageError` for an engine and a
    model in memory, `WorkError` where a worker died; the beams that were kept stay. Source: Yao and Koller (2024),
    section 3.1; for folds Wolpert (1992), stacked generalization.
    """
    inputs, golds = check_pairs(inputs, golds)
    how = replace(options or CollectOptions(), **more)
    if not models:
        raise UsageError(
            "expected at least one checkpoint of the model, got none; train with snapshots=FOLDER"
        )
    clean = how.clean or _plain
    right = _right_outputs(inputs, golds, clean)
    chosen, rows = _asked(models, folds, len(inputs), how)
    engine = _engine(chosen, how)
    questions = [
        _question(model, tuple(inputs[row] for row in selected), how, checkpoint)
        for model, selected in zip(chosen, rows, strict=True)
    ]
    beams = pieces_of_work(
        questions, engine, lambda question, tell: question.asked(tell), _Task(), progress
    )
    mistakes = _Mistakes(inputs, right, how, folds is not None)
    for model, selected, outputs in zip(chosen, rows, beams, strict=True):
        mistakes.add(model, selected, outputs)
    if not mistakes.pairs:
        checkpoints = mistakes.checkpoints
        share = percent(checkpoints[0]["accuracy"])
        raise InputError(
            "wrong outputs of the first checkpoints on the data they were trained on",
            got=f"none: the best output is right on {share} of the inputs at the first of {len(checkpoints)}",
            remedy="it makes no mistake to learn from; keep earlier checkpoints (a smaller K) or ask for more beams",
        )
    return mistakes.beside(golds)


_Pair = tuple[int, str, int]
"""Row, output, place of the model; -1 for gold."""


def _right_outputs(
    inputs: Sequence[str], golds: Sequence[str], clean: Callable[[str], str]
) -> dict[str, set[str]]:
    """Every cleaned gold output of an input; `InputError` for an empty one."""
    right: dict[str, set[str]] = {}
    for row, (text, gold) in enumerate(zip(inputs, golds, strict=True), 1):
        if not clean(gold).strip():
            got, remedy = "an empty one", "drop the row"
            raise InputError("a gold output", got=got, remedy=remedy, row=row, column="gold")
        right.setdefault(text, set()).add(clean(gold))
    return right


def _rows_of_folds(folds: Array, rows: int, models: int) -> list[Array]:
    """The rows of each fold; `UsageError` where there is not a fold for each row, and a model for each fold."""
    fold_of = np.asarray(folds)
    if fold_of.shape != (rows,) or not np.issubdtype(fold_of.dtype, np.integer):
        got = f"{fold_of.dtype} of shape {fold_of.shape}"
        raise UsageError(f"expected folds as {rows} whole numbers, one a row, got {got}")
    if set(fold_of.tolist()) != set(range(models)):
        numbers = sorted(set(fold_of.tolist()))
        raise UsageError(
            f"expected a model for each fold, folds 0 to {models - 1}, got the folds {numbers}"
        )
    return [np.flatnonzero(fold_of == fold) for fold in range(models)]


def _asked(
    models: Sequence[str | os.PathLike[str] | Decoder],
    folds: Array | None,
    rows: int,
    how: CollectOptions,
) -> tuple[list[str | os.PathLike[str] | Decoder], list[Array]]:
    """The models that are asked, all of them where each has a fold, and the rows that each is asked for."""
    if folds is None:
        chosen = list(models)[: how.checkpoints]
        parts = [np.arange(rows)] * len(chosen)
    else:
        chosen = list(models)
        parts = _rows_of_folds(folds, rows, len(chosen))
    return chosen, [_asked_rows(part, index, how) for index, part in enumerate(parts)]


def _asked_rows(rows: Array, index: int, how: CollectOptions) -> Array:
    """Those rows that a model is asked for: all, or so many that are drawn, in their order."""
    if how.per_checkpoint is None or how.per_checkpoint >= len(rows):
        return rows
    rng = np.random.default_rng([how.seed, index, 0])
    return np.asarray(rows[np.sort(rng.choice(len(rows), how.per_checkpoint, replace=False))])


def _engine(models: Sequence[object], how: CollectOptions) -> Engine | None:
    """Where models are asked, which must be folders then; None for here."""
    if how.engine is None and how.workers is None:
        return None
    for model in models:
        path_of(model)
    return task_engine(how.engine, how.workers, gpu=on_gpu(how.device))


def _distinct(
    pairs: Sequence[_Pair], inputs: Sequence[str], clean: Callable[[str], str]
) -> list[_Pair]:
    """The first of those pairs with the same input and cleaned output."""
    first: dict[tuple[str, str], _Pair] = {}
    for pair in pairs:
        first.setdefault((inputs[pair[0]], clean(pair[1])), pair)
    return list(first.values())


def _question(
    model: str | os.PathLike[str] | Decoder,
    inputs: tuple[str, ...],
    how: CollectOptions,
    checkpoint: str | os.PathLike[str] | None,
) -> _Question:
    """What a model is asked; beams of a folder are kept, named before by all files of the model as they are now."""
    kept, key = None, ""
    limits = {"max_length": how.max_length, "max_output_length": how.max_output_length}
    if isinstance(model, str | os.PathLike):
        model = path = Path(os.path.abspath(model))
        if checkpoint is not None:
            named = [str(path.resolve()), content_of(path)]
            about = {"model": named, "beams": how.beams, "inputs": list(inputs), **limits}
            kept, key = Kept(Path(os.path.abspath(checkpoint))), f"beams-{fingerprint(about)}"
    lost = f"{model} was asked, and {key}.json does not hold its beams", "checkpoint folder"
    opening = {**limits, "device": how.device}
    return _Question(
        inputs, how.beams, model, opening, size=len(inputs), lost=lost, kept=kept, key=key
    )


@final
class _Mistakes:
    """Wrong outputs of the models, which are added in their order; ``crossed``: each was asked for its fold alone."""

    def __init__(
        self,
        inputs: Sequence[str],
        right: Mapping[str, set[str]],
        how: CollectOptions,
        crossed: bool,
    ) -> None:
        self._inputs, self._right, self._how, self._crossed = inputs, right, how, crossed
        self._clean = how.clean or _plain
        self._lower: set[_Pair] = set()  # wrong lower beams where models are cross-fitted
        self.pairs: list[_Pair] = []
        self.checkpoints: list[dict[str, Any]] = []
        self.empty = 0

    def add(self, model: str | os.PathLike[str] | Decoder, rows: Array, outputs: Outputs) -> None:
        """Draw mistakes among the beams of a model."""
        clean, how, number = self._clean, self._how, len(self.checkpoints)
        name = f"fold-{number}" if self._crossed else f"checkpoint-{number + 1}"
        if isinstance(model, str | os.PathLike):
            name = Path(model).name
        draw = np.random.default_rng([how.seed, number, 1]).random((len(rows), how.beams))
        if self._crossed:
            draw = np.broadcast_to(np.arange(how.beams), draw.shape)
        wrong = best = 0
        for row, answers, order in zip(rows.tolist(), outputs, draw, strict=True):
            golds, keys = self._right[self._inputs[row]], [clean(output) for output in answers]
            best += bool(keys) and keys[0] in golds
            self.empty += sum(not key.strip() for key in keys)
            different = {
                key: output
                for key, output in zip(keys, answers, strict=True)
                if key.strip() and key not in golds
            }
            wrong += len(different)
            for _, output in sorted(zip(order, different.values(), strict=False))[: how.per_input]:
                self.pairs.append((row, output, number))
                if self._crossed and clean(output) != keys[0]:
                    self._lower.add(self.pairs[-1])
        accuracy = best / len(rows)
        self.checkpoints.append(
            {"name": name, "rows": len(rows), "accuracy": accuracy, "wrong": wrong}
        )

    def beside(self, golds: Sequence[str]) -> Examples:
        """The gold pairs, the mistakes that are drawn, and counts of both, each pair once."""
        gold_pairs = [(row, gold, -1) for row, gold in enumerate(golds)]
        positives, negatives = (
            _distinct(pairs, self._inputs, self._clean) for pairs in (gold_pairs, self.pairs)
        )
        balanced = self.draw(negatives, len(positives))
        examples = [*positives, *balanced]
        places = np.array([position for _, _, position in examples])
        counts = {
            "checkpoints": [
                entry | {"kept": int((places == at).sum())}
                for at, entry in enumerate(self.checkpoints)
            ],
            "empty": self.empty,
            "duplicates": len(golds) + len(self.pairs) - len(positives) - len(negatives),
            "beyond_balance": len(negatives) - len(balanced),
        }
        origin = [GOLD if at < 0 else self.checkpoints[at]["name"] for at in places]
        return Examples(
            [self._inputs[row] for row, _, _ in examples],
            [output for _, output, _ in examples],
            np.arange(len(examples)) < len(positives),
            objects(origin),
            counts,
        )

    def draw(self, pairs: Sequence[_Pair], positives: int) -> list[_Pair]:
        """So many mistakes as the balance allows, in their order; of cross-fitted models best outputs first."""
        how, limit = self._how, len(pairs)
        if how.balance is not None:
            limit = min(limit, max(1, int(how.balance * positives)))
        order = np.random.default_rng([how.seed, 2]).permutation(len(pairs))
        if self._crossed:
            is_lower = [pairs[i] in self._lower for i in order]
            indices = order[np.argsort(is_lower, kind="stable")][:limit]
        else:
            indices = np.sort(order[:limit])
        return [pairs[i] for i in indices]


def folds_of(inputs: Sequence[str], folds: int = 2, seed: int = 0) -> Array:
    """The fold of each row, drawn; equal inputs are in one fold, so that no model has seen an input of its own fold.

    inputs : texts, one a row.
    folds : how many; they have as many different inputs as each other, or one more.
    seed : of the draw.

    int64, shape (sample,). Raises `UsageError` for fewer than two folds or more than there are different inputs.

    >>> folds_of(["a", "b", "a", "c", "d"]).tolist()
    [0, 1, 0, 0, 1]
    """
    if not 2 <= folds <= len(set(inputs)):
        raise UsageError(
            f"expected 2 folds or more of {len(set(inputs))} different inputs, got {folds}"
        )
    names, codes = np.unique(np.asarray(inputs, dtype=object), return_inverse=True)
    of_name = np.random.default_rng([seed, 3]).permutation(len(names)) % folds
    return np.asarray(of_name[codes].astype(np.int64))


def _plain(text: str) -> str:
    return " ".join(text.split())
