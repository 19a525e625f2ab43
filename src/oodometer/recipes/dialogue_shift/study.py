"""The study: every method on every condition, and the differences that the claims are about."""

from __future__ import annotations

import hashlib
import importlib.util
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cache, cached_property
from itertools import chain, combinations, pairwise
from typing import Any, final

import numpy as np

from ...arrays import Array, softmax
from ...calibrators.temperature import fit_temperature
from ...datasets import Dataset, Dialogue, daily_dialog
from ...datasets.dialogues import daily_dialog_conversations
from ...errors import MissingExtraError
from ...metrics.brier import brier_score
from ...metrics.calibration import expected_calibration_error
from ...models import ResponseRanker, load_model
from ...models.base import Request
from ...models.text.network import AttentionImportance
from ...models.torch.library import load_pretrained, use_threads
from ...models.torch.training import TrainingConfig
from ...shifts import find_text_shift
from ...shifts.text import Dropped, ShiftedText, TextShift, Vocabulary, find_wordnet
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.sources import Place, load_answers, passing, source_of, store_answers
from ..kit.tables import mean_and_spread, rounded

PAPER_RATIOS = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)


@final
@dataclass(frozen=True)
class RunConfig:
    """How large a run is. An instance is a context with its candidate replies.

    Parameters
    ----------
    network : arguments of `ResponseRanker`; ``source`` may be ``minilm``, the packaged one.
    training : how a ranker is trained; its batches count instances.
    members : rankers, trained with different seeds on the same instances; ``ensemble``, of how many of them the
        smaller ensembles are.
    dropout_members, dropout_passes : how many of them are asked with dropout, and how often.
    dropout_conditions : those that are asked with dropout, by name; None for all.
    train_rows, train_candidates : training instances, None for all, and candidates of each.
    candidates : of an instance that is asked about.
    dev_rows, rows, turns_rows, length_rows : instances of the validation split, of the test split (those whose words
        are exchanged, too), of those whose turns are deleted, and of each real length; None for all.
    ratios, deleted, lengths, importance : severities of unknown and known words, of deleted turns (of ``turns``), of
        really short contexts, and of words by importance.
    seed : of every draw; member i trains with seed + i.
    """

    network: Mapping[str, Any] = field(default_factory=dict)
    training: TrainingConfig = field(default_factory=TrainingConfig)
    members: int = 5
    ensemble: int = 3
    dropout_members: int = 1
    dropout_passes: int = 5
    dropout_conditions: tuple[str, ...] | None = None
    train_rows: int | None = None
    train_candidates: int = 10
    candidates: int = 10
    dev_rows: int | None = None
    rows: int | None = None
    turns_rows: int | None = None
    length_rows: int | None = None
    ratios: tuple[float, ...] = PAPER_RATIOS
    turns: int = 6
    deleted: tuple[int, ...] = (0, 1, 2, 3, 4, 5)
    lengths: tuple[int, ...] = (6, 5, 4, 3, 2, 1)
    importance: tuple[int, ...] = (1, 2, 3, 4, 5)
    seed: int = 0


_ASKED_WITH_DROPOUT = (
    *("dev", "test", "uw-0.1", "uw-0.5", "kw-0.1", "kw-0.5"),
    *("importance-1", "importance-5", "ic-0", "ic-5", "sr-6", "sr-1"),
)
# The paper gives the optimiser, the batch and the one epoch; the learning rate is ours, the usual one of its network.
RUN_CONFIGS = {
    "small": RunConfig(
        network={"source": "minilm", "head": "means", "layers": 2, "max_length": 96},
        training=TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-4, warmup=0.1),
        dropout_conditions=_ASKED_WITH_DROPOUT,
        train_rows=2_000,
        train_candidates=4,
        dev_rows=300,
        rows=300,
        turns_rows=200,
        length_rows=250,
        ratios=(0.1, 0.2, 0.3, 0.4, 0.5),
        lengths=(6, 3, 1),
        importance=(1, 3, 5),
    ),
    "paper": RunConfig(
        network={"source": "google-bert/bert-base-cased", "max_length": 512},
        training=TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-5, schedule="constant", precision="bfloat16"),
        dropout_members=5,
    ),
}


GROUPS = ("source", "uw", "kw", "importance", "ic", "sr")
_SHIFTS = {
    "uw": "unknown-words",
    "kw": "known-words",
    "importance": "important-words",
    "ic": "insufficient-context",
    "sr": "short-context",
}
_BY_SYNONYMS = ("uw", "kw", "importance")

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
        """Such as ``uw-0.3`` or ``ic-1``.

        >>> Condition("ic", "1/6", "1/6").name, Condition("source", "dev").name
        ('ic-1', 'dev')
        """
        return self.label if self.group == "source" else f"{self.group}-{self.label.partition('/')[0]}"


def conditions_of(config: RunConfig) -> tuple[Condition, ...]:
    """All conditions, in the order of the tables.

    >>> [one.name for one in conditions_of(RunConfig(ratios=(0.1,), deleted=(0, 5), lengths=(1,), importance=(5,)))]
    ['dev', 'test', 'uw-0.1', 'kw-0.1', 'importance-5', 'ic-0', 'ic-5', 'sr-1']
    """
    ratios = [f"{one:g}" for one in config.ratios]
    gone = [f"{one}/{config.turns}" for one in config.deleted]
    return (
        *(Condition("source", one) for one in ("dev", "test")),
        *(Condition(group, one, one) for group in ("uw", "kw") for one in ratios),
        *(Condition("importance", str(one), one) for one in config.importance),
        *(Condition("ic", one, one) for one in gone),
        *(Condition("sr", str(one), one) for one in config.lengths),
    )


@final
class RunData:
    """The conversations of a run, read once and when they are first needed."""

    def __init__(self, config: RunConfig) -> None:
        self.config = config
        self._conversations = cache(daily_dialog_conversations)
        self._split = cache(self._read)
        self.vocabulary = cache(self._vocabulary)
        self._plain = cache(self._shift)

    def _read(self, split: str) -> Dataset:
        of_training = split == "train"
        many = self.config.train_candidates if of_training else self.config.candidates
        return daily_dialog(split, candidates=many, seed=self.config.seed)

    def _vocabulary(self) -> Vocabulary:
        """Words of all training conversations, of which a ranker may have seen only a part."""
        return Vocabulary.of(chain.from_iterable(turns for _, turns in self._conversations("train")))

    @property
    def test(self) -> Dataset:
        """Every reply of the test split."""
        return self._split("test")

    def train(self) -> Dataset:
        """The training instances, the same for every member."""
        return self._split("train").take(self._drawn(len(self._split("train")), self.config.train_rows))

    def base(self, condition: Condition) -> Dataset:
        """The split that a condition takes its instances, candidates and targets from."""
        return self._split("validation") if condition.name == "dev" else self.test

    def _drawn(self, many: int, rows: int | None, among: Sequence[int] | None = None) -> list[int]:
        """So many places in their order, drawn by the seed."""
        places = np.arange(many) if among is None else np.asarray(among, dtype=np.int64)
        order = np.random.default_rng(self.config.seed).permutation(len(places))
        return sorted(places[order[:rows]].tolist())

    def asked(self, condition: Condition) -> list[int]:
        """Rows of the split that a condition tries: the same ones at every severity, but for really short contexts."""
        config, data = self.config, self.base(condition)
        turns = [len(one.context) for one in data.inputs]
        if condition.group == "ic":
            return self._drawn(len(data), config.turns_rows, [i for i, n in enumerate(turns) if n >= config.turns])
        if condition.group == "sr":
            exact = [i for i, n in enumerate(turns) if n == condition.severity]
            return self._drawn(len(data), config.length_rows, exact)
        return self._drawn(len(data), config.dev_rows if condition.name == "dev" else config.rows)

    def _shift(self, group: str) -> TextShift:
        return self.shift(group)

    def shift(self, group: str, importance: Importance | None = None, **options: Any) -> TextShift:
        """The shift of a group of conditions, with the options that fit the paper's counts best."""
        if group in _BY_SYNONYMS:
            options |= {"training": self.vocabulary(), "pieces": True}
        if group == "ic":
            options["turns"] = self.config.turns
        if importance is not None:
            options["importance"] = importance
        return find_text_shift(_SHIFTS[group], dialogues=True)(**options)

    def shifted(self, condition: Condition, importance: Importance | None = None) -> dict[str, Any]:
        """Rows that could be shifted, their contexts after it, words and exchanged words; ready for JSON.

        The draws depend on the row in the whole split, so that they are nested over severities.
        """
        data, rows = self.base(condition), self.asked(condition)
        out: dict[str, Any] = {"condition": condition.name, "asked": len(rows)}
        kept, contexts, words, targets = [], [], [], []
        shift = None if condition.group == "source" else self.shift(condition.group, importance)
        if shift is not None and importance is None:
            shift = self._plain(condition.group)  # its look-ups are kept
        for row in rows:
            context = data.inputs[row].context
            found: ShiftedText | Dropped = ShiftedText(context, 0, 0)
            if shift is not None:
                found = shift.apply(context, condition.severity, seed=self.config.seed, row=row)
            if isinstance(found, ShiftedText):
                kept.append(row)
                contexts.append(list(found.turns))
                words.append(found.words)
                targets.append(found.targets)
        return {**out, "rows": kept, "contexts": contexts, "words": words, "targets": targets}

    def instances(self, condition: Condition, held: Any) -> Dataset:
        """The instances of a condition from what `shifted` gave: other contexts, the same candidates and targets."""
        data = self.base(condition).take(held["rows"])
        pairs = zip(data.inputs, held["contexts"], strict=True)
        return replace(data, inputs=tuple(Dialogue(tuple(context), one.candidates) for one, context in pairs))

    def counts(self, group: str, severity: Any, **options: Any) -> tuple[int, float]:
        """Contexts of the whole test split that can be shifted, and the mean number of words that are exchanged."""
        even = group == "importance"  # how many words a fifth has does not depend on which they are
        options |= {"importance": _by_place} if even else {}
        shift = self.shift(group, **options) if options else self._plain(group)
        done = [targets for targets in self._targets(shift, severity) if targets is not None]
        return len(done), float(np.mean(done)) if done else 0.0

    def _targets(self, shift: TextShift, severity: Any) -> Iterator[int | None]:
        for row, one in enumerate(self.test.inputs):
            found = shift.apply(one.context, severity, seed=self.config.seed, row=row)
            yield None if isinstance(found, Dropped) else found.targets

    @cache  # noqa: B019 - one a run
    def fingerprints(self) -> dict[str, Any]:
        """Conversations and digest of each split."""
        out = {}
        for split in ("train", "validation", "test"):
            found = self._conversations(split)
            digest = hashlib.sha256(repr(found).encode())
            out[split] = {"conversations": len(found), "fingerprint": digest.hexdigest()[:16]}
        return out


def _by_place(turns: Sequence[str]) -> Array:
    from ...shifts.text.words import words_of

    return np.arange(float(sum(len(words_of(turn)) for turn in turns)))


MODEL_FILES = ("oodometer_model.json", "config.json", "weights.safetensors", "tokenizer/tokenizer.json")
ENCODER_FILES = ("config.json", "model.safetensors", "tokenizer.json")
_ARRAYS = {False: ("logits",), True: ("mean", "variance")}


def check(config: RunConfig) -> None:
    """Say what is missing, library, WordNet or pretrained network, before anything is read or trained."""
    find_wordnet()
    if importlib.util.find_spec("rapidfuzz") is None:
        raise MissingExtraError("a shift by synonyms", "rapidfuzz", extra="text")
    if "source" in config.network:
        load_pretrained("AutoConfig", source_of(str(config.network["source"])))


def count(data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Contexts of the whole test split and words exchanged at every ratio of the paper; writes ``counts.json``."""
    parts: list[tuple[str, str, Any, dict[str, Any]]] = [
        (group, f"{one:g}", f"{one:g}", {}) for group in ("uw", "kw") for one in PAPER_RATIOS
    ]
    parts += [("importance", str(one), one, {}) for one in range(1, 6)]
    parts += [("kw-5000", f"{one:g}", f"{one:g}", {"least": 5_001}) for one in (PAPER_RATIOS[0], PAPER_RATIOS[-1])]
    out: dict[str, Any] = {"contexts": len(data.test), "shifts": {}}
    for done, (name, label, severity, options) in enumerate(parts, 1):
        many, targets = data.counts(name.partition("-")[0], severity, **options)
        out["shifts"].setdefault(name, {})[label] = [many, round(targets, 4)]
        progress(done, len(parts))
    turns = [len(one.context) for one in data.test.inputs]
    out["turns"] = {str(n): turns.count(n) for n in range(1, data.config.turns + 1)}
    out["at_least"] = sum(n >= data.config.turns for n in turns)
    out["also_in_train"] = data.test.counts.get("also in train", 0)
    workspace.write_json("counts.json", out)


def write_sets(data: RunData, conditions: Sequence[Condition], place: Place, encoder: str | None = None) -> None:
    """The contexts of each condition, one file each; words by importance need the ``encoder``, which stays the same."""
    importance = None if encoder is None else AttentionImportance(place.workspace.folder / encoder)
    for done, one in enumerate(conditions, 1):
        place.workspace.write_json(f"{place.folder}/{one.name}.json", data.shifted(one, importance))
        place.progress(done, len(conditions))


def train(data: RunData, member: int, place: Place, encoder: str | None = None) -> None:
    """Train one ranker and save it, its ``encoder`` alone where asked, too; it goes on from its checkpoint."""
    use_threads()
    config = data.config
    training = replace(config.training, seed=config.seed + member)
    options = dict(config.network)
    if "source" in options:
        options["source"] = source_of(str(config.network["source"]))
    model = ResponseRanker(**options, training=training)
    with passing(place.workspace, place.folder) as checkpoint:
        model.fit(data.train(), checkpoint=checkpoint, progress=place.progress)
        model.save(place.workspace / place.folder)
        if encoder is not None:
            net = model.net["encoder"] if model.head == "means" else model.net.base_model
            net.save_pretrained(place.workspace / encoder)
            model.tokenizer.save_pretrained(place.workspace / encoder)


def ask(data: RunData, conditions: Sequence[Condition], model: str, place: Place, passes: int = 0) -> None:
    """Ask a ranker about every condition; an NPZ file each: logits, or mean and variance of passes with dropout."""
    use_threads()
    ranker = load_model(place.workspace.folder / model)
    for done, one in enumerate(conditions):
        held = place.workspace.read_json(f"conditions/{one.name}.json")
        instances = data.instances(one, held)

        def tell(pairs: int, of: int, done: int = done) -> None:
            place.progress(done * of + pairs, len(conditions) * of)

        found: dict[str, Any] = {name: np.zeros((0, data.config.candidates)) for name in _ARRAYS[passes > 0]}
        if len(instances):  # at a strong severity there may be none
            said = ranker.ask(instances.inputs, Request(dropout=passes, seed=data.config.seed), progress=tell)
            whole = (said.distribution, said.variance) if passes else (said.logits_of(ranker.kind),)
            found = dict(zip(_ARRAYS[passes > 0], whole, strict=True))
        arrays: dict[str, Any] = {name: np.asarray(values, dtype=np.float32) for name, values in found.items()}
        arrays |= {"target": np.array(instances.targets, dtype=np.int64), "ids": np.array(instances.ids, dtype=str)}
        arrays["truncated"] = np.int64(ranker.truncated if len(instances) else 0)
        store_answers(place, one.name, arrays)


METHODS = ("vanilla", "temperature", "dropout", "ensemble")
METRICS = ("accuracy", "brier", "ece")
BINS = 10
"""Buckets of equal width of the calibration error; the paper does not tell its number."""
_ROUNDING = 1e-6  # weights and sums of the replicates are float32


@final
@dataclass(frozen=True)
class Said:
    """What one method said of one condition: probabilities (model, sample, candidate), targets, conversations."""

    probabilities: Array
    target: Array
    conversation: Array

    def take(self, kept: Array) -> Said:
        """The samples at some places, or where a mask says so."""
        return Said(self.probabilities[:, kept], self.target[kept], self.conversation[kept])

    def models(self, many: int) -> Said:
        """The first models alone."""
        return Said(self.probabilities[:many], self.target, self.conversation)

    @cached_property
    def right(self) -> Array:
        """Whether each model put the true candidate first, float64, shape (model, sample)."""
        return np.asarray((self.probabilities.argmax(-1) == self.target).astype(np.float64))

    @cached_property
    def confidence(self) -> Array:
        """Probability of the first candidate, shape (model, sample)."""
        return np.asarray(self.probabilities.max(-1).astype(np.float64))

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


def sums(said: Said, metric: str) -> Array:
    """What is added up over samples, shape (model, sample, part): one part, or for the calibration error one a bin."""
    if metric == "accuracy":
        return said.right[..., None]
    if metric == "brier":
        p = said.probabilities.astype(np.float64)
        own = np.take_along_axis(p, np.broadcast_to(said.target, p.shape[:2])[..., None], -1)
        return np.asarray((p * p).sum(-1, keepdims=True) - 2 * own + 1)
    at = np.clip(np.ceil(said.confidence * BINS).astype(np.int64) - 1, 0, BINS - 1)
    return np.asarray((at[..., None] == np.arange(BINS)) * (said.right - said.confidence)[..., None])


@final
class Bootstrap:
    """Draws of whole conversations, the same for every method and condition, so that differences are paired."""

    def __init__(self, conversations: Sequence[str], replicates: int, seed: int) -> None:
        self._place = {name: place for place, name in enumerate(sorted(set(conversations)))}
        many = len(self._place)
        rng = np.random.default_rng(seed)
        self._draws = rng.multinomial(many, np.full(many, 1 / many), size=replicates).astype(np.float32)

    def metric(self, said: Said, metric: str) -> tuple[Array, Array]:
        """A metric as it was seen, shape (model,), and in every replicate, shape (replicate, model)."""
        parts = sums(said, metric)
        seen = np.abs(parts.sum(1)).sum(-1) / max(parts.shape[1], 1)
        weights = self._draws[:, [self._place[one] for one in said.conversation]]
        rows = np.maximum(weights.sum(1), 1)[:, None]
        drawn = np.stack([np.abs(weights @ one.astype(np.float32)).sum(-1) for one in parts], axis=1) / rows
        return seen, drawn

    def apart(self, *terms: tuple[float, Said, str]) -> dict[str, Any]:
        """A sum of metrics, each with its sign, averaged over models: its value, its error, and the share ``above`` 0.

        The share is that of the replicates turned over (2 * seen - drawn, the basic bootstrap), those at 0 counted
        half: a calibration error is too large in a sample, and by as much again in a sample of it. ``by_model`` where
        all terms have as many models.
        """
        found = [(sign, *self.metric(said, metric)) for sign, said, metric in terms]
        drawn = np.sum([sign * each.mean(1) for sign, _, each in found], axis=0)
        value = float(sum(sign * seen.mean() for sign, seen, _ in found))
        turned = 2 * value - drawn
        equal = np.abs(turned) < _ROUNDING
        models = {len(seen) for _, seen, _ in found}
        by_model = np.sum([sign * seen for sign, seen, _ in found], axis=0).tolist() if len(models) == 1 else []
        out: dict[str, Any] = {"value": value, "error": float(drawn.std(ddof=1))}
        out |= {"above": float(((turned > 0) & ~equal).mean() + equal.mean() / 2), "by_model": by_model}
        return out | {"rows": [len(said.target) for _, said, _ in terms]}


FORM = 1  # raise it where the form of the result changes: then the step is done again
REPLICATES = 1_999


@final
class Study:
    """What all models said of all conditions, and what is to be told of it."""

    def __init__(self, config: RunConfig, workspace: Workspace) -> None:
        self.config = config
        every = conditions_of(config)
        members = [
            {one.name: load_answers(workspace, f"answers/{i}", one.name) for one in every}
            for i in range(config.members)
        ]
        first = members[0]
        self.conditions = [one for one in every if len(first[one.name]["ids"])]
        self.ids = {name: one["ids"] for name, one in first.items()}
        self.truncated = {name: int(one["truncated"]) for name, one in first.items()}
        self._target = {name: one["target"] for name, one in first.items()}
        self._conversation = {name: _conversations(name, ids) for name, ids in self.ids.items()}
        self._logits = {name: np.stack([one[name]["logits"] for one in members]) for name in first}
        self.temperatures = [fit_temperature(one["dev"]["logits"], one["dev"]["target"]) for one in members]
        wanted = config.dropout_conditions
        self._dropout: dict[str, Array] = {}
        for one in self.conditions if config.dropout_members else ():
            if wanted is None or one.name in wanted:
                folders = [f"answers/dropout-{i}" for i in range(config.dropout_members)]
                self._dropout[one.name] = np.stack([load_answers(workspace, f, one.name)["mean"] for f in folders])
        everyone = [one for names in self._conversation.values() for one in names]
        self.bootstrap = Bootstrap(everyone, REPLICATES, config.seed)

    def said(self, method: str, condition: Condition, models: int | None = None) -> Said | None:
        """What a method said of a condition; ``models``: of an ensemble, how many are averaged, each choice once."""
        name = condition.name
        if method == "dropout":
            p = self._dropout.get(name)
        else:
            logits = self._logits[name].astype(np.float64)
            scale = np.asarray(self.temperatures, dtype=np.float64)[:, None, None] if method == "temperature" else 1.0
            p = softmax(logits / scale)
            if method == "ensemble":
                p = np.stack([p[list(one)].mean(0) for one in combinations(range(len(p)), models or len(p))])
        return None if p is None else Said(p, self._target[name], self._conversation[name])

    def group(self, group: str) -> list[Condition]:
        """The conditions of a group, the mildest first, as in the config."""
        return [one for one in self.conditions if one.group == group]

    def common(self, conditions: Sequence[Condition]) -> set[str]:
        """Ids of the instances that stand in all of them."""
        return set.intersection(*(set(self.ids[one.name].tolist()) for one in conditions))

    def vanilla(self, condition: Condition, ids: set[str] | None = None, method: str = "vanilla") -> Said:
        """What the members, or another method, said of the instances with some ids."""
        said = self.said(method, condition)
        assert said is not None
        if ids is None:
            return said
        return said.take(np.isin(self.ids[condition.name], sorted(ids)))

    # ---------------------------------------------------------------- tables

    def rows(self) -> Iterator[dict[str, Any]]:
        """A row for each method on each condition."""
        kinds: list[tuple[str, str, int | None]] = [(method, method, None) for method in METHODS]
        kinds.append((f"ensemble of {self.config.ensemble}", "ensemble", self.config.ensemble))
        for one in self.conditions:
            for name, method, models in kinds:
                said = self.said(method, one, models)
                if said is not None:
                    about = {"condition": one.name, "group": one.group, "label": one.label, "method": name}
                    yield {**about, "rows": len(said.target), **_metrics(said)}

    def of_types(self, seen: Mapping[str, bool]) -> Iterator[dict[str, Any]]:
        """The members on every condition without, and on, the conversations that also stand in training."""
        for one in self.conditions:
            known = np.array([seen.get(name, False) for name in self.ids[one.name].tolist()])
            for label, mask in (("new", ~known), ("also in train", known)):
                if one.name != "dev" and mask.any():
                    said = self.vanilla(one).take(mask)
                    yield {"condition": one.name, "type": label, "rows": int(mask.sum()), **_metrics(said)}

    def on_common(self) -> dict[str, Any]:
        """The members on the instances that every ratio of unknown and of known words kept."""
        known = [*self.group("uw"), *self.group("kw")]
        ids = self.common(known) if known else set()
        if not ids:
            return {"rows": 0, "conditions": {}}
        test = next(one for one in self.conditions if one.name == "test")
        found = {one.name: _metrics(self.vanilla(one, ids)) for one in (test, *known)}
        return {"rows": len(ids), "conditions": found}

    # ---------------------------------------------------------------- differences

    def differences(self) -> dict[str, Any]:
        """Every difference that a claim is about, by name."""
        return dict([*self._changes(), *self._between_methods(), *self._known_words(), *self._controls()])

    def _changes(self) -> Iterator[tuple[str, Any]]:
        """From the mildest to the strongest severity, and from each to the next, on the same instances."""
        for group in ("uw", "kw", "importance", "ic", "sr"):
            known = self.group(group)
            if len(known) < 2:
                continue
            ids = None if group == "sr" else self.common(known)
            if ids is not None and not ids:
                continue
            for metric in METRICS:
                yield f"change/{group}/{metric}", self._change(known[-1], known[0], metric, ids)
            for before, after in pairwise(known):
                yield f"step/{after.name}/accuracy", self._change(after, before, "accuracy", ids)
            if group == "uw":
                yield "change/uw/ece/temperature", self._change(known[-1], known[0], "ece", ids, "temperature")

    def _change(self, last: Condition, first: Condition, metric: str, ids: Any, method: str = "vanilla") -> Any:
        pair = [(sign, self.vanilla(one, ids, method), metric) for sign, one in ((1.0, last), (-1.0, first))]
        return self.bootstrap.apart(*pair)

    def _between_methods(self) -> Iterator[tuple[str, Any]]:
        """One method less another on the same condition: both of the same models, or against the whole ensemble."""
        for one in self.conditions:
            for first, second, metrics in (
                ("ensemble", "vanilla", ("accuracy", "brier")),
                ("ensemble", "dropout", ("accuracy", "brier")),
                ("ensemble", "temperature", ("brier", "ece")),
                ("temperature", "vanilla", ("ece",)),
                ("dropout", "vanilla", ("accuracy", "ece")),
            ):
                left, right = self.said(first, one), self.said(second, one)
                if left is None or right is None:
                    continue
                if first == "dropout":
                    right = right.models(len(left.probabilities))
                for metric in metrics:
                    found = self.bootstrap.apart((1.0, left, metric), (-1.0, right, metric))
                    yield f"{first}-{second}/{one.name}/{metric}", found

    def _known_words(self) -> Iterator[tuple[str, Any]]:
        """Known words less unknown ones at the same ratio, on the instances that both kept."""
        others = {one.label: one for one in self.group("kw")}
        for unknown in self.group("uw"):
            known = others.get(unknown.label)
            ids = set() if known is None else self.common([unknown, known])
            if known is not None and ids:
                yield f"kw-uw/{unknown.label}/accuracy", self._change(known, unknown, "accuracy", ids)

    def _controls(self) -> Iterator[tuple[str, Any]]:
        """The fall over deleted turns less that over really short contexts; the middle fifth less the least one."""
        deleted, short = self.group("ic"), self.group("sr")
        if len(deleted) > 1 and len(short) > 1:
            terms = [(1.0, deleted[0]), (-1.0, deleted[-1]), (-1.0, short[0]), (1.0, short[-1])]
            found = self.bootstrap.apart(*((sign, self.vanilla(one), "accuracy") for sign, one in terms))
            yield "control/accuracy", found
        fifths = self.group("importance")
        if len(fifths) > 2:
            middle = fifths[len(fifths) // 2]
            found = self._change(middle, fifths[0], "accuracy", self.common(fifths))
            yield "flat/importance/accuracy", found


def _metrics(said: Said) -> dict[str, Any]:
    models = range(len(said.probabilities))
    return {metric: mean_and_spread([said.value(metric, i) for i in models]) for metric in (*METRICS, "ece_all")}


def _conversations(condition: str, ids: Array) -> Array:
    """Names of the conversations of ids like ``<conversation>-<turn>``, those of the validation split apart."""
    split = "dev:" if condition == "dev" else ""
    return np.array([split + one.rpartition("-")[0] for one in ids.tolist()])


def study(config: RunConfig, data: RunData, workspace: Workspace, progress: Progress) -> None:
    """Judge all answers; writes ``study.json``."""
    found = Study(config, workspace)
    progress(1, 4)
    seen = {name: kind == "also in train" for name, kind in zip(data.test.ids, data.test.types, strict=True)}
    result: dict[str, Any] = {"form": FORM, "version": __version__, "python": platform.python_version()}
    result |= {"sizes": asdict(config), "data": data.fingerprints(), "counts": workspace.read_json("counts.json")}
    result["conditions"] = [
        _about(one, workspace.read_json(f"conditions/{one.name}.json"), found.truncated[one.name])
        for one in conditions_of(config)
    ]
    result["temperatures"] = found.temperatures
    result["rows"] = list(found.rows())
    progress(2, 4)
    result["types"] = list(found.of_types(seen))
    result["common"] = found.on_common()
    progress(3, 4)
    result |= {"replicates": REPLICATES, "differences": found.differences()}
    workspace.write_json("study.json", rounded(result))
    progress(4, 4)


def _about(one: Condition, held: Mapping[str, Any], truncated: int) -> dict[str, Any]:
    changed = held["targets"]
    out = {"condition": one.name, "group": one.group, "label": one.label, "asked": held["asked"]}
    out |= {"kept": len(held["rows"]), "targets": float(np.mean(changed)) if changed else 0.0}
    return {**out, "truncated": truncated}
