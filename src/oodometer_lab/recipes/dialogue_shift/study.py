"""Data, work and study of a run: conversations shifted, rankers trained and asked, every method on every condition."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, present, softmax
from oodometer.calibrators.temperature import fit_temperature
from oodometer.errors import needed
from oodometer.metrics.brier import brier_score
from oodometer.metrics.calibration import expected_calibration_error
from oodometer.predictions import Predictions
from oodometer.verbs.estimate import estimate

from ...datasets import Dataset, Dialogue, daily_dialog
from ...datasets.dialogues import Conversation, daily_dialog_conversations, replies
from ...models import FrozenRanker, ResponseRanker, load_model
from ...models.base import Request
from ...models.text.network import AttentionImportance
from ...models.torch.library import load_pretrained, use_threads
from ...models.torch.training import TrainingConfig
from ...shifts import find_text_shift
from ...shifts.text import Dropped, ShiftedText, TextShift, Vocabulary, find_wordnet
from ..base import Progress, Workspace, part_of
from ..kit.publish import facts
from ..kit.sources import (
    Place,
    load_answers,
    located,
    passing,
    read_sizes,
    source_of,
    store_answers,
)
from ..kit.tables import mean_and_spread, rounded

PAPER_RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is; sizes.toml has each scale and says what each value means."""

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    members: int = 5
    ensemble: int = 5
    dropout_members: int = 5
    dropout_passes: int = 5
    dropout_conditions: tuple[str, ...] | None = None
    train_conversations: int | None = None
    train_rows: int | None = None
    train_candidates: int = 10
    candidates: int = 10
    dev_rows: int | None = None
    rows: int | None = None
    word_rows: int | None = None
    turns_rows: int | None = None
    length_rows: int | None = None
    ratios: tuple[float, ...] = PAPER_RATIOS
    turns: int = 6
    deleted: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    lengths: tuple[int, ...] = (6, 5, 4, 3, 2, 1)
    unused_lengths: bool = False
    importance: tuple[int, ...] = (1, 2, 3, 4, 5)
    seed: int = 0

    @property
    def frozen(self) -> bool:
        """Whether rankers are heads on a frozen encoder; else cross-encoders, trained as a whole."""
        return "hidden" in self.network

    def has_dropout(self, condition: str) -> bool:
        """Whether rankers are asked about a condition with dropout, too."""
        return self.dropout_conditions is None or condition in self.dropout_conditions


RUN_CONFIGS = read_sizes(__file__, RunConfig)
_SHIFTS = {
    "uw": "unknown-words",
    "kw": "known-words",
    "importance": "important-words",
    "ic": "insufficient-context",
    "sr": "short-context",
}
GROUPS = ("source", *_SHIFTS)
WORDS = ("uw", "kw", "importance")  # whose contexts hold sentences that no conversation has
Importance = Callable[[Sequence[str]], Array]


@final
@dataclass(frozen=True)
class Condition:
    """A shift at one severity; ``dev`` and ``test`` have none. ``name`` is that of its files, ``label`` of its rows."""

    group: str
    label: str
    severity: Any = None

    @property
    def name(self) -> str:
        """Such as ``uw-0.3`` or ``ic-1``."""
        return (
            self.label if self.group == "source" else f"{self.group}-{self.label.partition('/')[0]}"
        )


def conditions_of(config: RunConfig) -> tuple[Condition, ...]:
    """All conditions, in the order of the tables."""
    ratios = [f"{ratio:g}" for ratio in config.ratios]
    gone = [f"{turn}/{config.turns}" for turn in config.deleted]
    severities = {
        "uw": ratios,
        "kw": ratios,
        "importance": config.importance,
        "ic": gone,
        "sr": config.lengths,
    }
    shifted = (
        Condition(group, str(severity), severity)
        for group, values in severities.items()
        for severity in values
    )
    return (Condition("source", "dev"), Condition("source", "test"), *shifted)


@final
class RunData:
    """The conversations of a run, read once and when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._conversations = cache(daily_dialog_conversations)
        self._split = cache(self._read)
        self._plain = cache(lambda group: self.shift(group))
        self.sentences = cache(self._sentences)
        self._vectors = cache(self._read_vectors)

    def _read(self, split: str) -> Dataset:
        candidates = self.config.train_candidates if split == "train" else self.config.candidates
        return daily_dialog(split, candidates=candidates, seed=self.config.seed)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Words of all training conversations, of which a ranker may have seen only a part."""
        return Vocabulary.of(
            chain.from_iterable(turns for _, turns in self._conversations("train"))
        )

    @property
    def test(self) -> Dataset:
        """Every reply of the test split."""
        return self._split("test")

    @cached_property
    def _learnt(self) -> list[Conversation]:
        """The conversations that rankers learn from."""
        every = self._conversations("train")
        return [every[i] for i in self._drawn(range(len(every)), self.config.train_conversations)]

    @cached_property
    def _unused(self) -> Dataset:
        """The first replies of the training conversations that no ranker learns from and no other split has, as many
        of each as the longest real length has turns; conversations that end before are left out, each is taken once.
        """
        longest = max(self.config.lengths)
        others = (self._learnt, *map(self._conversations, ("validation", "test")))
        known = {turns for conversations in others for _, turns in conversations}
        unused = {turns: name for name, turns in self._conversations("train") if turns not in known}
        conversations = [
            (name, turns[: longest + 1]) for turns, name in unused.items() if len(turns) > longest
        ]
        return replies(
            conversations,
            "DailyDialog train, unused",
            candidates=self.config.candidates,
            seed=self.config.seed,
        )

    def train(self) -> Dataset:
        """The training instances, the same for every member; candidates are replies of their conversations."""
        config = self.config
        if config.train_conversations is None:
            data = self._split("train")
        else:
            conversations = self._learnt
            data = replies(
                conversations,
                "DailyDialog train",
                candidates=config.train_candidates,
                seed=config.seed,
            )
        return data.take(self._drawn(range(len(data)), self.config.train_rows))

    def _sentences(self, name: str, folder: Path) -> list[str]:
        """Texts that are encoded: those of all instances as they are ("turns"), those of "train", or what only a
        condition has, each once.
        """
        ranker = FrozenRanker(**self.config.network)
        if name == "train":
            return ranker.texts(self.train().inputs)
        if name == "turns":
            plain = (
                condition
                for condition in conditions_of(self.config)
                if condition.group not in WORDS
            )
            return ranker.texts([d for c in plain for d in self.base(c).take(self.asked(c)).inputs])
        contexts, encoded = (
            Workspace(folder).read_json(f"conditions/{name}.json")["contexts"],
            set(self.sentences("turns", folder)),
        )
        read = dict.fromkeys(turn for context in contexts for turn in context[-ranker.turns :])
        return [turn for turn in read if turn not in encoded]

    def _read_vectors(self, name: str, folder: Path) -> Mapping[str, Array]:
        vectors = load_answers(Workspace(folder), "vectors", name)["vectors"]
        return dict(zip(self.sentences(name, folder), vectors, strict=True))

    def vectors(self, workspace: Workspace, *names: str) -> dict[str, Array]:
        """Vectors by text, of files that `encode` left."""
        return {
            text: vector
            for name in names
            for text, vector in self._vectors(name, workspace.folder).items()
        }

    def base(self, condition: Condition) -> Dataset:
        """The split that a condition takes its instances, candidates and targets from."""
        if condition.group == "sr" and self.config.unused_lengths:
            return self._unused
        return self._split("validation") if condition.name == "dev" else self.test

    def _drawn(self, among: Sequence[int], rows: int | None) -> list[int]:
        """So many of some rows in their order, drawn by the seed."""
        order = np.random.default_rng(self.config.seed).permutation(len(among))
        return sorted(np.asarray(among, dtype=np.int64)[order[:rows]].tolist())

    def asked(self, condition: Condition) -> list[int]:
        """Rows of the split that a condition tries: the same ones at every severity, but for really short contexts."""
        config, turns = (
            self.config,
            [len(dialogue.context) for dialogue in self.base(condition).inputs],
        )
        if condition.group == "ic":
            return self._drawn(
                [i for i, n in enumerate(turns) if n >= config.turns], config.turns_rows
            )
        if condition.group == "sr":
            return self._drawn(
                [i for i, n in enumerate(turns) if n == condition.severity], config.length_rows
            )
        rows = config.word_rows if condition.group in ("uw", "kw") else config.rows
        return self._drawn(range(len(turns)), config.dev_rows if condition.name == "dev" else rows)

    def shift(self, group: str, importance: Importance | None = None, **options: Any) -> TextShift:
        """The shift of a group of conditions, with the options that fit the paper's counts best."""
        if group in ("uw", "kw", "importance"):  # by synonyms
            options |= {"training": self.vocabulary, "pieces": True, "function_words": True}
        if group == "ic":
            options["turns"] = self.config.turns
        if importance is not None:
            options["importance"] = importance
        return find_text_shift(_SHIFTS[group], dialogues=True)(**options)

    def shifted(self, condition: Condition, importance: Importance | None = None) -> dict[str, Any]:
        """Rows that could be shifted, contexts and counts of words, for JSON; draws depend on the row, so they nest."""
        inputs, rows, group = self.base(condition).inputs, self.asked(condition), condition.group
        shift = None
        if group != "source":  # the look-ups of a plain shift are kept
            shift = self._plain(group) if importance is None else self.shift(group, importance)
        texts: dict[int, ShiftedText] = {}
        for row in rows:
            text: ShiftedText | Dropped = ShiftedText(inputs[row].context, 0, 0)
            if shift is not None:
                text = shift.apply(
                    inputs[row].context, condition.severity, seed=self.config.seed, row=row
                )
            if isinstance(text, ShiftedText):
                texts[row] = text
        out: dict[str, Any] = {"condition": condition.name, "asked": len(rows), "rows": list(texts)}
        out["contexts"] = [list(text.turns) for text in texts.values()]
        return out | {
            name: [getattr(text, name) for text in texts.values()] for name in ("words", "targets")
        }

    def instances(self, condition: Condition, shifted: Any) -> Dataset:
        """The instances of a condition from what `shifted` gave: other contexts, the same candidates and targets."""
        data = self.base(condition).take(shifted["rows"])
        pairs = zip(data.inputs, shifted["contexts"], strict=True)
        return replace(
            data,
            inputs=tuple(
                Dialogue(tuple(context), dialogue.candidates) for dialogue, context in pairs
            ),
        )

    def counts(self, group: str, severity: Any, **options: Any) -> tuple[int, float]:
        """Contexts of the whole test split that can be shifted, and the mean number of words that are exchanged."""
        if group == "importance":  # how many words a fifth has does not depend on which they are
            from ...shifts.text.words import words_of

            options["importance"] = lambda turns: np.arange(
                float(sum(len(words_of(turn)) for turn in turns))
            )
        shift = self.shift(group, **options) if options else self._plain(group)
        contexts, seed = (
            enumerate(dialogue.context for dialogue in self.test.inputs),
            self.config.seed,
        )
        texts = (shift.apply(context, severity, seed=seed, row=row) for row, context in contexts)
        targets = [text.targets for text in texts if isinstance(text, ShiftedText)]
        return len(targets), float(np.mean(targets)) if targets else 0.0

    def fingerprints(self) -> dict[str, Any]:
        """Conversations and digest of each split."""
        splits = {split: self._conversations(split) for split in ("train", "validation", "test")}
        digests = {
            split: hashlib.sha256(repr(conversations).encode()).hexdigest()[:16]
            for split, conversations in splits.items()
        }
        return {
            s: {"conversations": len(conversations), "fingerprint": digests[s]}
            for s, conversations in splits.items()
        }


MODEL_FILES = (
    "oodometer_model.json",
    "config.json",
    "weights.safetensors",
    "tokenizer/tokenizer.json",
)
HEAD_FILES = MODEL_FILES[:1] + MODEL_FILES[2:3]
ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json")


def check(config: RunConfig) -> None:
    """Say what is missing, library, WordNet or pretrained network, before anything is read or trained."""
    find_wordnet()
    needed("rapidfuzz", "a shift by synonyms", extra="text")
    if "source" in config.network:
        load_pretrained("AutoConfig", source_of(str(config.network["source"])))


def count(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Contexts of the whole test split and words exchanged at every ratio of the paper; writes ``counts.json``."""
    ratios = [f"{ratio:g}" for ratio in PAPER_RATIOS]
    parts: list[tuple[str, Any, dict[str, Any]]] = [
        (group, ratio, {}) for group in ("uw", "kw") for ratio in ratios
    ]
    parts += [("importance", fifth, {}) for fifth in range(1, 6)]
    parts += [("kw-5000", ratio, {"least": 5_001}) for ratio in (ratios[0], ratios[-1])]
    out: dict[str, Any] = {"contexts": len(data.test), "shifts": {}}
    for done, (name, severity, options) in enumerate(parts, 1):
        contexts, targets = data.counts(name.partition("-")[0], severity, **options)
        out["shifts"].setdefault(name, {})[str(severity)] = [contexts, round(targets, 4)]
        progress(done, len(parts))
    turns = [len(dialogue.context) for dialogue in data.test.inputs]
    out["turns"] = {str(n): turns.count(n) for n in range(1, data.config.turns + 1)}
    out["at_least"] = sum(n >= data.config.turns for n in turns)
    out["also_in_train"] = data.test.counts.get("also in train", 0)
    workspace.write_json("counts.json", out)


def encode(data: RunData, name: str, place: Place) -> None:
    """Sentences of a name as vectors of the frozen encoder, one file; it goes on behind the last batch."""
    use_threads()
    ranker, texts = (
        FrozenRanker(**located(data.config.network)),
        data.sentences(name, place.workspace.folder),
    )
    with passing(place.workspace, f"{place.folder}/{name}") as checkpoint:
        vectors = (
            ranker.vectors(texts, checkpoint=checkpoint, progress=place.progress)
            if texts
            else np.zeros((0, 1))
        )
        store_answers(place, name, {"vectors": vectors.astype(np.float16)})


def weigh(data: RunData, member: int, place: Place) -> None:
    """Weights of all words of the test contexts to a ranker; writes ``importance.npz``."""
    use_threads()
    ranker: Any = load_model(place.workspace.folder / f"models/{member}")
    ranker.memory, rows = (
        data.vectors(place.workspace, "turns"),
        data.asked(Condition("source", "test")),
    )
    weights = ranker.word_weights(data.test.take(rows), place.progress)
    ends = np.cumsum([len(each) for each in weights])
    store_answers(
        place,
        "importance",
        {"rows": np.array(rows), "ends": ends, "weights": np.concatenate(weights)},
    )


def write_sets(
    data: RunData, conditions: Sequence[Condition], place: Place, by: str | None = None
) -> None:
    """The contexts of each condition, one file each; words by importance need what `weigh` left, or an encoder."""
    importance: Importance | None = None
    if by is not None and data.config.frozen:
        arrays, inputs = load_answers(place.workspace, by, "importance"), data.test.inputs
        each = zip(arrays["rows"], np.split(arrays["weights"], arrays["ends"][:-1]), strict=True)
        by_context = {inputs[row].context: weights for row, weights in each}
        importance = lambda turns: by_context[tuple(turns)]  # noqa: E731
    elif by is not None:
        importance = AttentionImportance(place.workspace.folder / by)
    for done, condition in enumerate(conditions, 1):
        place.workspace.write_json(
            f"{place.folder}/{condition.name}.json", data.shifted(condition, importance)
        )
        place.progress(done, len(conditions))


def train(data: RunData, member: int, place: Place, encoder: str | None = None) -> None:
    """Train one ranker and save it, its ``encoder`` alone where asked, too; it goes on from its checkpoint."""
    use_threads()
    training = replace(data.config.training, seed=data.config.seed + member)
    kind: Any = FrozenRanker if data.config.frozen else ResponseRanker
    model = kind(**located(data.config.network), training=training)
    if data.config.frozen:
        model.memory = data.vectors(place.workspace, "train")
    with passing(place.workspace, place.folder) as checkpoint:
        model.fit(data.train(), checkpoint=checkpoint, progress=place.progress)
        model.save(place.workspace / place.folder)
        if encoder is not None:
            net = model.net["encoder"] if model.head == "means" else model.net.base_model
            net.save_pretrained(place.workspace / encoder)
            model.tokenizer.save_pretrained(place.workspace / encoder)


def ask(
    data: RunData,
    conditions: Sequence[Condition],
    members: Sequence[int],
    place: Place,
    passes: int = 0,
) -> None:
    """Ask rankers about every condition; an NPZ file each: logits, or mean and variance of passes with dropout."""
    use_threads()
    rankers: list[Any] = [
        load_model(place.workspace.folder / f"models/{member}") for member in members
    ]
    names, kind = (("mean", "variance"), "dropout-") if passes else (("logits",), "")
    for done, condition in enumerate(conditions):
        instances = data.instances(
            condition, place.workspace.read_json(f"conditions/{condition.name}.json")
        )
        inputs: Any = instances.inputs
        if data.config.frozen and inputs:
            changed = [condition.name] if condition.group in WORDS else []
            rankers[0].memory = data.vectors(place.workspace, "turns", *changed)
            inputs = rankers[0].encoded(inputs)  # once for all
        for at, (member, ranker) in enumerate(zip(members, rankers, strict=True)):
            values: list[Any] = [np.zeros((0, data.config.candidates))] * len(names)
            if len(instances):  # at a strong severity there may be none
                part = part_of(
                    place.progress, done * len(members) + at, len(conditions) * len(members)
                )
                answers = ranker.ask(
                    inputs, Request(dropout=passes, seed=data.config.seed), progress=part
                )
                values = (
                    [answers.distribution, answers.variance]
                    if passes
                    else [answers.logits_of(ranker.kind)]
                )
            arrays: dict[str, Any] = {
                n: np.asarray(v, dtype=np.float32) for n, v in zip(names, values, strict=True)
            }
            arrays |= {
                "target": np.array(instances.targets, dtype=np.int64),
                "ids": np.array(instances.ids, dtype=str),
            }
            arrays["truncated"] = np.int64(ranker.truncated if len(instances) else 0)
            store_answers(
                replace(place, folder=f"{place.folder}/{kind}{member}"), condition.name, arrays
            )


METHODS = ("vanilla", "temperature", "dropout", "ensemble")
METRICS = ("accuracy", "brier", "ece")
BINS = 10
"""Buckets of equal width of the calibration error; the paper does not tell its number."""
_ROUNDING = 1e-6  # weights and sums of the replicates are float32


@final
@dataclass(frozen=True)
class Answers:
    """What one method says of one condition: probabilities (model, sample, candidate), targets, conversations."""

    probabilities: Array
    target: Array
    conversation: Array

    def take(self, rows: Array) -> Answers:
        """The samples at some places, or where a mask says so."""
        return Answers(self.probabilities[:, rows], self.target[rows], self.conversation[rows])

    @cached_property
    def right(self) -> Array:
        """Whether each model put the true candidate first, float64, shape (model, sample)."""
        return np.asarray((self.probabilities.argmax(-1) == self.target).astype(np.float64))

    def value(self, metric: str, model: int) -> float:
        """A metric of one model, by the library; ``ece_all`` takes every candidate as an event of its own."""
        p = self.probabilities[model].astype(np.float64)
        p /= p.sum(1, keepdims=True)  # stored in float32
        if metric == "accuracy":
            return float(self.right[model].mean())
        if metric == "brier":
            return brier_score(p, self.target)
        if metric == "ece":
            return expected_calibration_error(p.max(1), self.right[model], BINS)
        true = np.arange(p.shape[1]) == self.target[:, None]
        return expected_calibration_error(p.ravel(), true.ravel(), BINS)

    def metrics(self) -> dict[str, Any]:
        """All metrics, mean and spread over the models."""
        models = range(len(self.probabilities))
        return {
            m: mean_and_spread([self.value(m, i) for i in models]) for m in (*METRICS, "ece_all")
        }

    def sums(self, metric: str) -> Array:
        """What is added up over samples, shape (model, sample, part): one part, or for the ECE one a bin."""
        if metric == "accuracy":
            return self.right[..., None]
        p = self.probabilities.astype(np.float64)
        if metric == "brier":
            p_target = np.take_along_axis(
                p, np.broadcast_to(self.target, p.shape[:2])[..., None], -1
            )
            return np.asarray((p * p).sum(-1, keepdims=True) - 2 * p_target + 1)
        confidence = self.probabilities.max(-1).astype(np.float64)
        at = np.clip(np.ceil(confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
        return np.asarray((at[..., None] == np.arange(BINS)) * (self.right - confidence)[..., None])


Term = tuple[float, Answers, str]
"""A metric of some answers with its sign in a sum."""


@final
class Bootstrap:
    """Draws of whole conversations, the same for every method and condition, so that differences are paired."""

    def __init__(self, conversations: Sequence[str], replicates: int, seed: int) -> None:
        self._index = {name: i for i, name in enumerate(sorted(set(conversations)))}
        count, rng = len(self._index), np.random.default_rng(seed)
        self._draws = rng.multinomial(count, np.full(count, 1 / count), size=replicates).astype(
            np.float32
        )

    def metric(self, answers: Answers, metric: str) -> tuple[Array, Array]:
        """A metric as it was seen, shape (model,), and in every replicate, shape (replicate, model)."""
        parts = answers.sums(metric)
        seen = np.abs(parts.sum(1)).sum(-1) / max(parts.shape[1], 1)
        at = np.array([self._index[name] for name in answers.conversation], dtype=np.int64)
        # of whole conversations
        sums = np.zeros((self._draws.shape[1], len(parts), parts.shape[2]))
        np.add.at(sums, at, parts.transpose(1, 0, 2))
        resampled = (self._draws @ sums.reshape(len(sums), -1).astype(np.float32)).reshape(
            -1, *sums.shape[1:]
        )
        rows = np.maximum(self._draws @ np.bincount(at, minlength=len(sums)).astype(np.float32), 1)[
            :, None
        ]
        return seen, np.abs(resampled).sum(-1) / rows

    def apart(self, *terms: Term) -> dict[str, Any]:
        """A sum of metrics averaged over models: its value, its error, and the share ``above`` 0 of the basic
        bootstrap's replicates (2 * seen - resampled): a calibration error is too large in a sample, and by as much
        again in a sample of it. ``by_model``: of each model, or of each ensemble and the mean of its members.
        """
        metrics = [(sign, *self.metric(answers, metric)) for sign, answers, metric in terms]
        resampled = np.sum([sign * each.mean(1) for sign, _, each in metrics], axis=0)
        value = float(sum(sign * seen.mean() for sign, seen, _ in metrics))
        turned = 2 * value - resampled
        equal = np.abs(turned) < _ROUNDING
        units = min(len(seen) for _, seen, _ in metrics)
        grouped = [
            sign * seen[: len(seen) // units * units].reshape(units, -1).mean(1)
            for sign, seen, _ in metrics
        ]
        by_model = np.sum(grouped, axis=0).tolist()
        out: dict[str, Any] = {"value": value, "error": float(resampled.std(ddof=1))}
        out |= {
            "above": float(((turned > 0) & ~equal).mean() + equal.mean() / 2),
            "by_model": by_model,
        }
        return out | {"rows": [len(answers.target) for _, answers, _ in terms]}


def _conversations(condition: str, ids: Array, config: RunConfig) -> Array:
    """The conversations of ids like ``<conversation>-<turn>``; splits have the same names for others."""
    split = "dev:" if condition == "dev" else ""
    if config.unused_lengths and condition.startswith("sr-"):
        split = "train:"
    return np.array([split + row.rpartition("-")[0] for row in ids.tolist()])


FORM = 2  # raise it where the form of the result changes: then the step is done again
REPLICATES = 1_999


@final
class Study:
    """What all models said of all conditions, and what is to be told of it."""

    def __init__(self, config: RunConfig, workspace: Workspace) -> None:
        self.config, every = config, [condition.name for condition in conditions_of(config)]
        members = [
            {name: load_answers(workspace, f"answers/{member}", name) for name in every}
            for member in range(config.members)
        ]
        self._first = members[0]
        self.ids = {name: answers["ids"] for name, answers in self._first.items()}
        self.conditions = [c for c in conditions_of(config) if len(self.ids[c.name])]
        self._conversation = {
            name: _conversations(name, ids, config) for name, ids in self.ids.items()
        }
        self._logits = {
            name: np.stack([member[name]["logits"] for member in members]) for name in every
        }
        self.temperatures = [
            fit_temperature(member["dev"]["logits"], member["dev"]["target"]) for member in members
        ]
        self._dropout = self._means_of_dropout(workspace) if config.dropout_members else {}
        everyone = [name for names in self._conversation.values() for name in names]
        self.bootstrap = Bootstrap(everyone, REPLICATES, config.seed)

    def _means_of_dropout(self, workspace: Workspace) -> dict[str, Array]:
        """What members say with dropout, of each condition that they were asked about."""
        folders = [f"answers/dropout-{i}" for i in range(self.config.dropout_members)]
        return {
            condition.name: np.stack(
                [load_answers(workspace, folder, condition.name)["mean"] for folder in folders]
            )
            for condition in self.conditions
            if self.config.has_dropout(condition.name)
        }

    def answers(self, method: str, condition: Condition) -> Answers | None:
        """What a method said of a condition; no two ensembles have a member in common."""
        name = condition.name
        if method == "dropout":
            p = self._dropout.get(name)
        else:
            logits = self._logits[name].astype(np.float64)
            scale = (
                np.asarray(self.temperatures, dtype=np.float64)[:, None, None]
                if method == "temperature"
                else 1.0
            )
            p = softmax(logits / scale)
            if method == "ensemble":
                size = min(self.config.ensemble, len(p))
                p = p[: len(p) // size * size].reshape(-1, size, *p.shape[1:]).mean(1)
        return (
            None if p is None else Answers(p, self._first[name]["target"], self._conversation[name])
        )

    def group(self, group: str) -> list[Condition]:
        """The conditions of a group, the mildest first, as in the config."""
        return [condition for condition in self.conditions if condition.group == group]

    def common(self, conditions: Sequence[Condition]) -> set[str]:
        """Ids of the instances that stand in all of them."""
        return (
            set.intersection(*(set(self.ids[c.name].tolist()) for c in conditions))
            if conditions
            else set()
        )

    def vanilla(
        self, condition: Condition, ids: set[str] | None = None, method: str = "vanilla"
    ) -> Answers:
        """What the members, or another method, said of the instances with some ids."""
        answers = present(self.answers(method, condition))
        return (
            answers if ids is None else answers.take(np.isin(self.ids[condition.name], sorted(ids)))
        )

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each method on each condition."""
        for condition in self.conditions:
            for method in METHODS:
                if answers := self.answers(method, condition):
                    about = {
                        "condition": condition.name,
                        "group": condition.group,
                        "label": condition.label,
                    }
                    yield {
                        **about,
                        "method": method,
                        "rows": len(answers.target),
                        **answers.metrics(),
                    }

    def differences(self) -> dict[str, Any]:
        """Every difference that a claim is about, by name."""
        terms = (*self._changes(), *self._between_methods(), *self._controls())
        return {name: self.bootstrap.apart(*parts) for name, parts in terms}

    def _change(
        self, last: Condition, first: Condition, metric: str, ids: Any, method: str = "vanilla"
    ) -> list[Term]:
        return [
            (sign, self.vanilla(c, ids, method), metric) for sign, c in ((1.0, last), (-1.0, first))
        ]

    def _changes(self) -> Iterator[tuple[str, list[Term]]]:
        """From the mildest to the strongest severity, and from each to the next, on the same instances."""
        for group in ("uw", "kw", "importance", "ic", "sr"):
            conditions = self.group(group)
            ids = None if group == "sr" else self.common(conditions)
            if len(conditions) < 2 or (ids is not None and not ids):
                continue
            for metric in METRICS:
                yield (
                    f"change/{group}/{metric}",
                    self._change(conditions[-1], conditions[0], metric, ids),
                )
            for before, after in pairwise(conditions):
                yield f"step/{after.name}/accuracy", self._change(after, before, "accuracy", ids)
            if group == "uw":
                change = self._change(conditions[-1], conditions[0], "ece", ids, "temperature")
                yield "change/uw/ece/temperature", change

    def _between_methods(self) -> Iterator[tuple[str, list[Term]]]:
        """One method less another on the same condition: both of the same models, or against the whole ensemble."""
        for condition in self.conditions:
            for first, second, metrics in (
                (
                    "ensemble",
                    "vanilla",
                    ("accuracy",),
                ),  # its Brier score is never above the mean of its members'
                ("ensemble", "dropout", ("accuracy", "brier")),
                ("ensemble", "temperature", ("brier", "ece")),
                ("temperature", "vanilla", ("ece",)),
                ("dropout", "vanilla", ("accuracy", "ece")),
            ):
                left, right = self.answers(first, condition), self.answers(second, condition)
                if left is None or right is None:
                    continue
                if first == "dropout":
                    right = replace(
                        right, probabilities=right.probabilities[: len(left.probabilities)]
                    )
                for metric in metrics:
                    yield (
                        f"{first}-{second}/{condition.name}/{metric}",
                        [(1.0, left, metric), (-1.0, right, metric)],
                    )

    def _controls(self) -> Iterator[tuple[str, list[Term]]]:
        """Known words less unknown ones; deleted turns less short contexts; the middle fifth less the least."""
        by_label = {condition.label: condition for condition in self.group("kw")}
        for unknown in self.group("uw"):
            known = by_label.get(unknown.label)
            if known is not None and (ids := self.common([unknown, known])):
                yield (
                    f"kw-uw/{unknown.label}/accuracy",
                    self._change(known, unknown, "accuracy", ids),
                )
        deleted, short, fifths = self.group("ic"), self.group("sr"), self.group("importance")
        if len(deleted) > 1 and len(short) > 1:
            signed = [(1.0, deleted[0]), (-1.0, deleted[-1]), (-1.0, short[0]), (1.0, short[-1])]
            yield "control/accuracy", [(sign, self.vanilla(c), "accuracy") for sign, c in signed]
        if len(fifths) > 2:
            change = self._change(
                fifths[len(fifths) // 2], fifths[0], "accuracy", self.common(fifths)
            )
            yield "flat/importance/accuracy", change


def judge(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all answers; writes ``study.json``."""
    study = Study(config, workspace)
    progress(1, 3)
    result = {
        **facts(FORM, config),
        "data": data.fingerprints(),
        "counts": workspace.read_json("counts.json"),
    }
    result["conditions"] = []
    for condition in conditions_of(config):
        shifted = workspace.read_json(f"conditions/{condition.name}.json")
        targets = float(np.mean(shifted["targets"])) if shifted["targets"] else 0.0
        about: dict[str, Any] = {"condition": condition.name, "group": condition.group}
        about |= {
            "label": condition.label,
            "asked": shifted["asked"],
            "kept": len(shifted["rows"]),
            "targets": targets,
        }
        result["conditions"].append(
            {**about, "truncated": int(study._first[condition.name]["truncated"])}
        )
    result |= {"temperatures": study.temperatures, "rows": list(study.rows())}
    progress(2, 3)
    result |= {"replicates": REPLICATES, "differences": study.differences()}
    workspace.write_json("study.json", rounded(result))
    progress(3, 3)


_LEVEL = 0.9


def study_estimators(config: RunConfig, workspace: Workspace, progress: Progress) -> None:
    """What every estimator that applies, and the headline, say of each member; writes ``estimators.json``."""

    def answers_of(member: int, name: str) -> Mapping[str, Array]:
        return load_answers(workspace, f"answers/{member}", name)

    members, rows = range(min(config.members, config.ensemble)), []
    dev = [answers_of(i, "dev") for i in members]
    references = [
        Predictions.from_candidates(answers["logits"], label=answers["target"]) for answers in dev
    ]
    targets = [
        c for c in conditions_of(config) if c.name != "dev" and len(answers_of(0, c.name)["ids"])
    ]
    for done, target in enumerate(targets, 1):
        values: dict[str, list[float]] = defaultdict(list)
        truth, covered, ends = [], [], []
        for i in members:
            answers = answers_of(i, target.name)
            truth.append(float((answers["logits"].argmax(1) == answers["target"]).mean()))
            pair = references[i], Predictions.from_candidates(answers["logits"])
            estimation = estimate(*pair, level=_LEVEL, target_accuracies=(), seed=config.seed)
            head = estimation.headline.interval
            for method, value in {
                "headline": head.value,
                **{e.method: e.value for e in estimation.estimates},
            }.items():
                values[method].append(value)
            covered.append(float(head.lower <= truth[-1] <= head.upper))
            ends.append((head.lower, head.upper))
        methods = {}
        for method, estimates in values.items():
            if len(estimates) == len(truth):
                errors = [abs(a - b) for a, b in zip(estimates, truth, strict=True)]
                methods[method] = {
                    "said": mean_and_spread(estimates),
                    "error": mean_and_spread(errors),
                }
        about: dict[str, Any] = {
            "condition": target.name,
            "group": target.group,
            "label": target.label,
        }
        about["truth"] = mean_and_spread(truth)
        lower, upper = np.mean(ends, axis=0).tolist()
        rows.append(
            {
                **about,
                "inside": sum(covered) / len(covered),
                "lower": lower,
                "upper": upper,
                "methods": methods,
            }
        )
        progress(done, len(targets))
    workspace.write_json(
        "estimators.json", rounded({"form": FORM, "level": _LEVEL, "conditions": rows})
    )
