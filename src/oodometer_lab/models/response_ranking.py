"""Response ranking: which of several candidates answers a conversation, by a cross-encoder or by sentence vectors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from typing import Any, ClassVar, Self, final

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import InputError, UsageError
from oodometer.options import is_whole

from ..datasets.base import Dataset, Dialogue
from ..shifts.text.words import words_of
from .base import Answers, Progress, only_shift
from .text.encoder import TransformerClassifier, read_first_token_only
from .text.frozen_encoder import FrozenEncoder
from .text.network import with_words_dropped
from .torch.batches import Asking, padded, ragged, sorted_batches, tokens_at_once
from .torch.classifier import TorchClassifier
from .torch.library import load_pretrained
from .torch.library import torch as load_torch
from .torch.training import TrainingConfig

_AT_ONCE = 4096  # texts given to the tokenizer together


@final
@dataclass(frozen=True)
class Pairs:
    """Every (context, candidate) of some dialogues, encoded: ``ids`` of each pair, ``second`` tokens at its end that
    are the candidate's, number of ``candidates`` of each sample; ``truncated`` samples of which something was cut.
    """

    ids: Ragged
    second: Array
    candidates: Array
    truncated: int

    @property
    def starts(self) -> Array:
        """The first pair of each sample, and behind the last one, int64, shape (sample + 1,)."""
        return np.concatenate([[0], np.cumsum(self.candidates)])

    @property
    def lengths(self) -> Array:
        """Tokens of all pairs of each sample."""
        return np.add.reduceat(self.ids.lengths, self.starts[:-1])

    def of(self, samples: Array) -> Array:
        """The pairs of some samples, in their order."""
        starts = self.starts
        return np.concatenate([np.arange(starts[sample], starts[sample + 1]) for sample in samples])

    def matrix(self, scores: Array) -> Array:
        """A score for each pair as a matrix (sample, most candidates), -inf behind the last of a sample."""
        width = int(self.candidates.max())
        out = np.full((len(self.candidates), width), -np.inf, dtype=scores.dtype)
        out[np.arange(width) < self.candidates[:, None]] = scores
        return out


def check_dialogues(inputs: Any) -> list[Dialogue]:
    """Dialogues that can be ranked: a context of at least one turn, two candidates or more, all of them texts."""
    dialogues = list(inputs) if not isinstance(inputs, (str, bytes)) else []
    if not dialogues:
        raise InputError(
            "dialogues", got="none", remedy="give at least one context with its candidates"
        )
    for row, dialogue in enumerate(dialogues, 1):
        if not isinstance(dialogue, Dialogue):
            got = repr(dialogue)[:40]
            raise InputError(
                "a Dialogue, turns and candidates", got=got, remedy="make one of each row", row=row
            )
        for column, minimum in (("context", 1), ("candidates", 2)):
            texts: Any = getattr(dialogue, column)
            odd = next((text for text in texts if not isinstance(text, str)), None)
            if odd is not None or isinstance(texts, str):
                raise InputError(
                    "texts",
                    got=repr(odd or texts)[:40],
                    remedy="clean the texts",
                    row=row,
                    column=column,
                )
            if len(texts) < minimum:
                expected = "at least one turn" if minimum == 1 else "at least 2 candidates"
                remedy = (
                    "drop the row"
                    if minimum == 1
                    else "a choice needs two: add the others, or drop the row"
                )
                raise InputError(
                    expected, got=str(len(texts)), remedy=remedy, row=row, column=column
                )
    return dialogues


def positions_of(data: Dataset) -> Array:
    """Targets as positions, int64, shape (sample,); `InputError` for what is no candidate of its row."""
    out = np.empty(len(data), dtype=np.int64)
    for row, (dialogue, target) in enumerate(zip(data.inputs, data.targets, strict=True)):
        plain = target.item() if hasattr(target, "item") else target
        if not is_whole(plain, 0) or plain >= len(dialogue.candidates):
            expected = (
                f"a position from 0 to {len(dialogue.candidates) - 1}, that of the true candidate"
            )
            got, remedy = repr(plain)[:40], "positions count from 0"
            raise InputError(
                expected,
                got=got,
                remedy=remedy,
                row=row + 1,
                column="label",
                file=data.source or None,
            )
        out[row] = plain
    return out


def encode_pairs(tokenizer: Any, dialogues: Sequence[Dialogue], max_length: int) -> Pairs:
    """Token ids of every context with each of its candidates. Where both are too long, the context loses its oldest
    tokens; a candidate is cut at its end only where it alone fills more than half of the room.
    """
    # Ids that the tokenizer puts before, between and behind the parts of a pair.
    first, reply_ids = (
        tokenizer(text, add_special_tokens=False)["input_ids"] for text in ("a", "b")
    )
    pair_ids = tokenizer("a", "b")["input_ids"]
    begin = next(at for at in range(len(pair_ids)) if pair_ids[at : at + len(first)] == first)
    behind = begin + len(first)
    middle = next(
        at for at in range(behind, len(pair_ids)) if pair_ids[at : at + len(reply_ids)] == reply_ids
    )
    before, between, after = (
        pair_ids[:begin],
        pair_ids[behind:middle],
        pair_ids[middle + len(reply_ids) :],
    )
    room = max_length - len(before) - len(between) - len(after)
    different = list(
        dict.fromkeys(text for row in dialogues for text in (*row.context, *row.candidates))
    )
    ids_of: dict[str, list[int]] = {}
    # each text once, however often it stands there
    for start in range(0, len(different), _AT_ONCE):
        part = different[start : start + _AT_ONCE]
        encoded = tokenizer(
            part, add_special_tokens=False, return_attention_mask=False, verbose=False
        )["input_ids"]
        ids_of |= dict(zip(part, encoded, strict=True))
    turn_end = [] if tokenizer.sep_token_id is None else [int(tokenizer.sep_token_id)]
    rows: list[list[int]] = []
    second: list[int] = []
    truncated = 0
    for dialogue in dialogues:
        context: list[int] = []
        for turn in dialogue.context:
            context += [*turn_end, *ids_of[turn]] if context else ids_of[turn]
        cut = False
        for candidate in dialogue.candidates:
            reply = ids_of[candidate]
            cut_reply = reply[: max(room // 2, room - len(context))]
            context_room = room - len(cut_reply)
            cut |= len(cut_reply) < len(reply) or context_room < len(context)
            rows.append(
                [
                    *before,
                    *context[max(0, len(context) - context_room) :],
                    *between,
                    *cut_reply,
                    *after,
                ]
            )
            second.append(len(cut_reply) + len(after))
        truncated += cut
    candidates = np.array([len(dialogue.candidates) for dialogue in dialogues], dtype=np.int64)
    return Pairs(ragged(rows), np.array(second, dtype=np.int64), candidates, truncated)


HEADS = ("first-token", "means")

_SCALE = 10.0  # of the cosine that training starts from: sure enough to learn from, not so sure that it stops learning
_END = "\x1e"  # between turns, as a word of its own


def with_candidates_kept(dialogues: Sequence[Dialogue], seed: Sequence[int]) -> list[Dialogue]:
    """Each dialogue with words of its context left out by `with_words_dropped`; the end of a turn counts as a word."""
    joined = [f" {_END} ".join(dialogue.context) for dialogue in dialogues]
    shorter = with_words_dropped(joined, seed)
    out = []
    for dialogue, text in zip(dialogues, shorter, strict=True):
        assert isinstance(text, str)
        turns = tuple(turn.strip() for turn in text.split(_END) if turn.strip())
        out.append(replace(dialogue, context=turns or dialogue.context))
    return out


@final
class ResponseRanker(TransformerClassifier):
    """A cross-encoder for response ranking: s(c, r) from the first token of "context [SEP] candidate".

    The probability of a candidate is the softmax of the scores over the candidates of its sample,
    p(r | c) = exp s(c, r) / sum_r' exp s(c, r'); training minimises -log p of the true one. Answers are those of a
    classifier whose classes are positions among the candidates: logits of shape (sample, most candidates), -inf where
    a sample has fewer. Its record has ``candidate_scores``. Targets are positions, counted from 0: `fit` reads no
    ``classes``, and raises `InputError` for a target that is no position among the candidates of its row.

    source : hub name or path of a pretrained encoder and its tokenizer, such as ``bert-base-cased``.
    head : what the score is made of: "first-token", as in the paper, or "means", sum_k w_k u_k v_k of the mean hidden
        states u of the context and v of the candidate, each of length 1. Means suit an encoder whose first token means
        nothing, such as one of sentences: it ranks before it is trained.
    layers : how many of its layers are kept, the first ones; None: all.
    config : in place of ``source``, sizes of an encoder that is trained from scratch (see `Encoder`).
    vocab_size : word pieces that are learnt with ``config``.
    max_length : tokens of a pair that are read. The context loses its oldest tokens; ``truncated`` counts the samples.
    tokenizer : with ``config``, a tokenizer of transformers to use instead of learning one.
    training : how to train; a sample with all its candidates counts as one of a batch.
    device : "cpu" or "cuda"; by default a GPU where one is there.

    Source: Vig and Ramea (2019).

    >>> from oodometer_lab.models import ResponseRanker
    >>> ResponseRanker()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name a pretrained encoder or give sizes
    """

    kind = "response-ranker"
    arguments = (*TransformerClassifier.arguments, "head", "layers")
    reads = ("dialogue",)
    _task = "AutoModelForSequenceClassification"

    def __init__(
        self,
        source: str | None = None,
        *,
        head: str = "first-token",
        layers: int | None = None,
        config: Mapping[str, Any] | None = None,
        vocab_size: int = 8_000,
        max_length: int = 128,
        tokenizer: Any = None,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        training = training or TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-5)
        super().__init__(
            source,
            config=config,
            vocab_size=vocab_size,
            max_length=max_length,
            tokenizer=tokenizer,
            training=training,
            device=device,
        )
        if head not in HEADS:
            raise UsageError(f"expected a head of {' or '.join(HEADS)}, got {head!r}")
        self.head, self.layers = head, layers
        # of two outputs: a network that was made to say "relevant" or "not"
        self._difference = False

    @classmethod
    def from_pretrained(
        cls, source: str, *, max_length: int | None = None, device: str | None = None
    ) -> Self:
        """A ranker that exists already, by folder or hub name: a classifier of pairs with one output, or with two.

        Of two outputs (not relevant, relevant) the score is z_1 - z_0. Raises `InputError` for more.
        """
        model = cls.opened(source, expected="a ranker", max_length=max_length, device=device)
        outputs = len(model.classes)
        if outputs > 2:
            remedy = "train its encoder to rank (ResponseRanker.fit)"
            raise InputError(
                "a ranker, with one output or two",
                got=f"{outputs} outputs",
                remedy=remedy,
                file=source,
            )
        model.classes, model._difference = (), outputs == 2
        return model

    def _codes(self, data: Dataset, classes: Any) -> tuple[Array, tuple[int | str, ...]]:
        return positions_of(data), ()  # positions have no names

    def _fitted(self) -> bool:
        return self.net is not None

    def _learn(self, inputs: Sequence[Any]) -> None:
        super()._learn(
            [text for dialogue in inputs for text in (*dialogue.context, *dialogue.candidates)]
        )
        self._difference = False

    def _outputs(self) -> int:
        return 1

    def _build(self) -> Any:
        layers = {} if self.layers is None else {"num_hidden_layers": self.layers}
        if self.head == "first-token":
            net = self._network(self._task, num_labels=1, ignore_mismatched_sizes=True, **layers)
            read_first_token_only(net)
            return net
        torch, net = load_torch(), self._network("AutoModel", **layers)
        # softmax takes a constant away again
        score = torch.nn.Linear(net.config.hidden_size, 1, bias=False)
        torch.nn.init.constant_(score.weight, _SCALE)  # so that the score is 10 times a cosine
        dropout = torch.nn.Dropout(getattr(net.config, "hidden_dropout_prob", 0.1))
        return torch.nn.ModuleDict({"encoder": net, "dropout": dropout, "score": score})

    def _loss(self, encoded: Pairs, batch: Array, truth: Any, device: str) -> Any:
        torch = load_torch()
        pairs = encoded.of(batch)
        # pairs of one length together: less is padded
        parts = self._parts(encoded.ids.lengths[pairs])
        scores = [
            self._scores(self.net, *self._tensors(encoded, pairs[part], device)).float()
            for part in parts
        ]
        order = torch.from_numpy(np.argsort(np.concatenate(parts))).to(device)
        return _cross_entropy(torch.cat(scores)[order], encoded.candidates[batch], truth[batch])

    def _mean_loss(self, encoded: Pairs, truth: Array, device: str) -> float:
        with Asking(self._asking_batches(encoded), self._units(encoded)) as asking:
            for batch in asking:
                asking.take(self._scores(self.net, *self._tensors(encoded, batch, device)).float())
        scores = load_torch().from_numpy(asking.found[0])
        return float(_cross_entropy(scores, encoded.candidates, load_torch().from_numpy(truth)))

    def _checked(self, inputs: Any) -> Any:
        return check_dialogues(inputs)

    def _encode(self, inputs: Any) -> Any:
        pairs = encode_pairs(self.tokenizer, inputs, self.max_length)
        self.truncated = pairs.truncated
        return pairs

    def _arrays(self, encoded: Pairs) -> tuple[Array, ...]:
        return (encoded.ids.values, encoded.ids.offsets, encoded.candidates)

    def _units(self, encoded: Pairs) -> int:
        return len(encoded.second)

    def _asking_batches(self, encoded: Any) -> list[Array]:
        return self._parts(encoded.ids.lengths)

    def _parts(self, lengths: Array) -> list[Array]:
        """Positions of pairs in batches of about one length, the longest first."""
        return sorted_batches(lengths, 0, self.asking_tokens or tokens_at_once(self.device))

    def _tensors(self, encoded: Any, batch: Array, device: str) -> tuple[Any, ...]:
        """Padded ids of some pairs, what of them is real, and which part each token belongs to."""
        torch = load_torch()
        ids, real = padded(encoded.ids, batch, self.padding)
        ends = real.sum(1)
        types = (np.arange(ids.shape[1]) >= (ends - encoded.second[batch])[:, None]) & real
        return tuple(torch.from_numpy(array).to(device) for array in (ids, real, types))

    def _scores(self, net: Any, ids: Any, real: Any, types: Any) -> Any:  # type: ignore[override]
        encoder = net["encoder"] if self.head == "means" else net
        forward = partial(encoder, input_ids=ids, attention_mask=real.long())
        if getattr(encoder.config, "type_vocab_size", 0) > 1:
            forward = partial(forward, token_type_ids=types.long())
        if self.head == "means":
            # s = sum_k w_k u_k v_k, u and v the means of the hidden states of both parts, each of length 1
            hidden = net["dropout"](forward().last_hidden_state)
            context, reply = (
                load_torch().nn.functional.normalize(
                    (hidden * part[..., None]).sum(1), dim=1
                )  # as the mean points
                for part in ((real & ~types).to(hidden.dtype), types.to(hidden.dtype))
            )
            return net["score"](context * reply)[:, 0]
        logits = forward().logits
        return logits[:, 1] - logits[:, 0] if self._difference else logits[:, 0]

    def _gathered(self, encoded: Pairs, answers: tuple[Array, ...]) -> tuple[Array, ...]:
        """Scores as a matrix; features are those of the predicted candidate."""
        logits = encoded.matrix(answers[0])
        chosen = encoded.starts[:-1] + logits.argmax(1)
        return (logits, *(values[chosen] for values in answers[1:]))

    def _answers(self, encoded: Pairs, fields: dict[str, Any]) -> Answers:
        count = int(encoded.candidates.max())
        return Answers(tuple(range(count)), candidates=encoded.candidates, **fields)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> list[Any]:
        only_shift(augmentation, "dialogues")
        return with_candidates_kept(inputs, seed)

    def _write_encoding(self, folder: Any) -> None:
        self.tokenizer.save_pretrained(folder / "tokenizer")
        (self.net["encoder"] if self.head == "means" else self.net).config.save_pretrained(folder)

    def _write(self, folder: Any) -> dict[str, Any]:
        return {**super()._write(folder), "difference": self._difference}

    @classmethod
    def _read(cls, folder: Any, about: Mapping[str, Any]) -> Self:
        model = super()._read(folder, about)
        model._difference = bool(about["difference"])
        return model


def _cross_entropy(scores: Any, candidates: Array, truth: Any) -> Any:
    torch = load_torch()
    width = int(candidates.max())
    if (candidates == width).all():
        matrix = scores.reshape(len(candidates), width)
    else:
        real = torch.from_numpy(np.arange(width) < candidates[:, None]).to(scores.device)
        matrix = torch.full(real.shape, -torch.inf, device=scores.device).masked_scatter(
            real, scores
        )
    return torch.nn.functional.cross_entropy(matrix, truth)


@final
@dataclass(frozen=True)
class Sentences:
    """Dialogues as a `FrozenRanker` reads them: ``vectors`` (text, dimension), the last one 0; numbers of the texts of
    ``turns`` (sample, turn), the latest first, and of ``replies`` (sample, most candidates), -1 where there is none;
    ``truncated`` samples have more turns.
    """

    vectors: Array
    turns: Array
    replies: Array
    truncated: int

    def __len__(self) -> int:
        return len(self.turns)

    @property
    def lengths(self) -> Array:
        """All samples cost the same."""
        return np.ones(len(self.turns), dtype=np.int64)


@final
class FrozenRanker(TorchClassifier):
    """A ranker over sentence vectors of an encoder that stays as it is: s = a cos(u + A(v_1, u), r + B(r)).

    v_1, v_2, ... are the vectors of the last turns (mean states, of length 1), the latest first, u their mean with
    learnt weights, of length 1, r the vector of a candidate. A and B, networks with one hidden layer, dropout before
    both of their layers, are trained with the weights and a, as is a `ResponseRanker`, whose answers it gives.

    source : hub name or path of the encoder and its tokenizer.
    turns : how many of the last turns are read; ``truncated`` counts the samples that have more.
    hidden, dropout : units of the hidden layers, and the share of values that training leaves out.
    max_length : word pieces of a turn that are read; a longer one loses its middle.
    training, device : how and where to train.

    ``memory`` holds the vector of each text that was encoded; what is put there before need not be encoded.

    Source: Reimers and Gurevych (2019) for the vectors, and 20 as what a starts from.

    >>> from oodometer_lab.models import FrozenRanker
    >>> FrozenRanker("a-path", turns=4).options()["turns"]
    4
    """

    kind, reads = "frozen-ranker", ("dialogue",)
    arguments: ClassVar[tuple[str, ...]] = ("source", "turns", "hidden", "dropout", "max_length")

    def __init__(
        self,
        source: str,
        *,
        turns: int = 6,
        hidden: int = 128,
        dropout: float = 0.1,
        max_length: int = 128,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(training=training or TrainingConfig(), device=device)
        self.source, self.turns, self.hidden, self.dropout, self.max_length = (
            source,
            turns,
            hidden,
            dropout,
            max_length,
        )
        self.memory: dict[str, Array] = {}

    @cached_property
    def _encoder(self) -> FrozenEncoder:
        return FrozenEncoder(self.source, max_length=self.max_length, device=self.device)

    def vectors(
        self, texts: Sequence[str], *, checkpoint: Any = None, progress: Progress | None = None
    ) -> Array:
        """The vector of each text, float32, shape (text, dimension); a checkpoint as for `FrozenEncoder.states`."""
        states = self._encoder.states(texts, checkpoint=checkpoint, progress=progress)
        return np.asarray(states / np.linalg.norm(states, axis=1, keepdims=True))

    def texts(self, dialogues: Sequence[Dialogue]) -> list[str]:
        """What is read of some dialogues, each text once."""
        parts = ((*dialogue.context[-self.turns :], *dialogue.candidates) for dialogue in dialogues)
        return list(dict.fromkeys(chain.from_iterable(parts)))

    def _checked(self, inputs: Any) -> Any:
        return inputs if isinstance(inputs, Sentences) else check_dialogues(inputs)

    def _codes(self, data: Dataset, classes: Any) -> tuple[Array, tuple[int | str, ...]]:
        return positions_of(data), ()

    def _fitted(self) -> bool:
        return self.net is not None

    def _learn(self, inputs: Any) -> None:
        """Nothing."""

    def _encode(self, inputs: Any) -> Sentences:
        encoded = self.encoded(inputs)
        self.truncated = encoded.truncated
        return encoded

    def encoded(self, inputs: Sequence[Dialogue] | Sentences) -> Sentences:
        """Dialogues as numbers, which rankers of the same encoder and turns can be asked about in their place."""
        if isinstance(inputs, Sentences):
            return inputs
        texts = self.texts(inputs)
        new = [text for text in texts if text not in self.memory]
        if new:
            self.memory.update(zip(new, self.vectors(new), strict=True))
        numbers = {text: i for i, text in enumerate(texts)}
        turns = np.full((len(inputs), self.turns), -1, dtype=np.int64)
        replies = np.full(
            (len(inputs), max(len(dialogue.candidates) for dialogue in inputs)), -1, dtype=np.int64
        )
        for row, dialogue in enumerate(inputs):
            recent = dialogue.context[: -self.turns - 1 : -1]
            turns[row, : len(recent)] = [numbers[text] for text in recent]
            replies[row, : len(dialogue.candidates)] = [
                numbers[text] for text in dialogue.candidates
            ]
        cut = sum(len(dialogue.context) > self.turns for dialogue in inputs)
        vectors = np.array([self.memory[text] for text in texts], dtype=np.float32)
        return Sentences(np.vstack([vectors, 0 * vectors[:1]]), turns, replies, cut)

    def _arrays(self, encoded: Sentences) -> tuple[Array, ...]:
        return (encoded.vectors, encoded.turns, encoded.replies)

    def _asking_batches(self, encoded: Any) -> list[Array]:
        return sorted_batches(encoded.lengths, 4096)

    def _build(self) -> Any:
        nn, torch = load_torch().nn, load_torch()
        size = load_pretrained("AutoConfig", self.source).hidden_size

        def layers(parts: int) -> Any:
            first, last = nn.Linear(parts * size, self.hidden), nn.Linear(self.hidden, size)
            return nn.Sequential(
                nn.Dropout(self.dropout), first, nn.GELU(), nn.Dropout(self.dropout), last
            )

        # Logarithms: a turn starts with half the weight of the one behind it.
        numbers = {"turns": -0.7 * torch.arange(float(self.turns)), "scale": torch.tensor(20.0)}
        free = nn.ParameterDict({name: nn.Parameter(value) for name, value in numbers.items()})
        return nn.ModuleDict({"context": layers(2), "reply": layers(1), "numbers": free})

    def _tensors(self, encoded: Sentences, batch: Array, device: str) -> tuple[Any, ...]:
        """Vectors of turns (sample, turn, dimension), those of the replies, each once, and which of them are whose."""
        replies, which = np.unique(encoded.replies[batch], return_inverse=True)
        which = np.where(encoded.replies[batch] < 0, -1, which.reshape(len(batch), -1))
        arrays = (encoded.vectors[encoded.turns[batch]], encoded.vectors[replies], which)
        return tuple(load_torch().from_numpy(array).to(device) for array in arrays)

    def _scores(self, net: Any, turns: Any, replies: Any, which: Any) -> Any:
        normal, width = load_torch().nn.functional.normalize, turns.shape[-1] ** 0.5
        real = turns.abs().sum(-1, keepdim=True) > 0
        mean = normal((turns * real * net["numbers"]["turns"].exp()[:, None]).sum(1), dim=-1)
        both = load_torch().cat([turns[:, 0], mean], -1)
        context = normal(mean + net["context"](both * width) / width, dim=-1)
        reply = normal(replies + net["reply"](replies * width) / width, dim=-1)
        scores = net["numbers"]["scale"] * (context[:, None] * reply[which]).sum(-1)
        return scores.masked_fill(which < 0, -float("inf"))

    def _answers(self, encoded: Sentences, fields: dict[str, Any]) -> Answers:
        return Answers(
            tuple(range(encoded.replies.shape[1])),
            candidates=(encoded.replies >= 0).sum(1),
            **fields,
        )

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> list[Any]:
        only_shift(augmentation, "dialogues")
        return with_candidates_kept(inputs, seed)

    def _write_encoding(self, folder: Any) -> None:
        """Nothing: the encoder stays where ``source`` says."""

    def _read_encoding(self, folder: Any) -> None:
        """Nothing."""

    def word_weights(self, data: Dataset, progress: Progress | None = None) -> list[Array]:
        """For each dialogue the weight of every word and punctuation mark of its context, in order, float64: |sum of
        e g| over its word pieces, e their embeddings and g the gradient of log p(true reply): to first order, how much
        is lost with them. Turns that are not read have 0. Source: Denil et al. (2014), gradient times input.
        """
        torch, out, at_once = load_torch(), [], 32
        self._encoder._open()
        tokenizer, encoder = (
            self._encoder.tokenizer,
            self._encoder.net.to("cpu").requires_grad_(False),
        )
        pieces_of = partial(
            tokenizer,
            truncation=True,
            max_length=self.max_length,
            padding=True,
            return_tensors="pt",
            return_offsets_mapping=True,
        )
        encoded, target, net = (
            self._encode(self._inputs(data)),
            torch.from_numpy(positions_of(data)),
            self.net.to("cpu"),
        )
        for start in range(0, len(data), at_once):
            contexts = [dialogue.context for dialogue in data.inputs[start : start + at_once]]
            places = [
                (row, at)
                for row, turns in enumerate(contexts)
                for at in range(min(self.turns, len(turns)))
            ]
            # so that less is padded
            places.sort(key=lambda position: len(contexts[position[0]][-1 - position[1]]))
            texts = [contexts[row][-1 - at] for row, at in places]
            pieces, states, spans = [], [], []
            for first in range(0, len(texts), 16):
                tokens = pieces_of(texts[first : first + 16])
                spans += list(tokens["offset_mapping"].numpy())
                pieces.append(
                    encoder.get_input_embeddings()(tokens["input_ids"]).detach().requires_grad_()
                )
                mask = tokens["attention_mask"]
                hidden = encoder(inputs_embeds=pieces[-1], attention_mask=mask).last_hidden_state
                states.append(
                    torch.nn.functional.normalize((hidden * mask[..., None]).sum(1), dim=-1)
                )
            turns, replies, which = self._tensors(
                encoded, np.arange(start, start + len(contexts)), "cpu"
            )
            turns = torch.zeros_like(turns).index_put(
                tuple(torch.tensor(places).T), torch.cat(states)
            )
            logits = self._scores(net, turns, replies, which)
            loss = torch.nn.functional.cross_entropy(
                logits, target[start : start + at_once], reduction="sum"
            )
            slopes = zip(torch.autograd.grad(loss, pieces), pieces, strict=True)
            effects = [
                effect.numpy()
                for slope, piece in slopes
                for effect in (slope * piece).sum(-1).detach().double()
            ]
            weights = [[np.zeros(len(words_of(turn))) for turn in context] for context in contexts]
            for (row, back), text, span, effect in zip(places, texts, spans, effects, strict=True):
                words, real = words_of(text), span[:, 1] > span[:, 0]  # not the special tokens
                owners = (
                    np.searchsorted([word.start for word in words], span[real, 0], side="right") - 1
                )
                weights[row][-1 - back] = np.abs(
                    np.bincount(owners, effect[real], minlength=len(words))
                )
            out += [np.concatenate(each) for each in weights]
            if progress is not None:
                progress(len(out), len(data))
        return out
