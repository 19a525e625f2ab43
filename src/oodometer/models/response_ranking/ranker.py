"""Response ranker: a transformer that reads a context and a candidate together and gives their score."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset
from ...datasets.base import Dialogue
from ...errors import InputError, UsageError
from ..base import Answers, Progress, only_shift
from ..hub import load_pretrained
from ..text.encoder import TransformerClassifier, positions
from ..text.first_token import read_first_token_only
from ..text.views import with_words_dropped
from ..torch.asking import Asking
from ..torch.batches import padded, token_batches
from ..torch.library import choose_device
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import TrainingConfig
from .pieces import Pairs, check_dialogues, encode_pairs, positions_of

HEADS = ("first-token", "means")

_SCALE = 10.0  # of the cosine that training starts from: sure enough to learn from, not so sure that it stops learning


def with_means(encoder: Any) -> Any:
    """An encoder with the head `score_of_means`; weights start at 10, so that the score is 10 times a cosine."""
    torch = load_torch()
    score = torch.nn.Linear(encoder.config.hidden_size, 1, bias=False)  # softmax takes a constant away again
    torch.nn.init.constant_(score.weight, _SCALE)
    dropout = torch.nn.Dropout(getattr(encoder.config, "hidden_dropout_prob", 0.1))
    return torch.nn.ModuleDict({"encoder": encoder, "dropout": dropout, "score": score})


def score_of_means(net: Any, hidden: Any, real: Any, types: Any) -> Any:
    """s = sum_k w_k u_k v_k; u and v are the means of the hidden states of both parts, each of length 1.

    hidden has the shape (pair, token, unit), ``real`` and ``types`` (pair, token); s (pair,).
    """
    functional = load_torch().nn.functional
    hidden = net["dropout"](hidden)
    context, reply = (
        functional.normalize((hidden * part[..., None]).sum(1), dim=1)  # a sum points where the mean does
        for part in ((real & ~types).to(hidden.dtype), types.to(hidden.dtype))
    )
    return net["score"](context * reply)[:, 0]


_END = "\x1e"  # between turns, as a word of its own


def with_candidates_kept(dialogues: Sequence[Dialogue], seed: Sequence[int]) -> list[Dialogue]:
    """Each dialogue with every word of its context left out by chance, as `with_words_dropped` does with a text.

    The end of a turn counts as a word: where it is left out, two turns become one.

    >>> said = Dialogue(("a b c d e f g h",), ("x", "y"))
    >>> found = with_candidates_kept([said], (0, 0, 0))[0]
    >>> found.candidates, len(found.context[0]) < len(said.context[0])
    (('x', 'y'), True)
    """
    joined = [f" {_END} ".join(one.context) for one in dialogues]
    shorter = with_words_dropped(joined, seed)
    out = []
    for one, text in zip(dialogues, shorter, strict=True):
        assert isinstance(text, str)
        turns = tuple(turn.strip() for turn in text.split(_END) if turn.strip())
        out.append(replace(one, context=turns or one.context))
    return out


_ON_CPU, _ON_GPU = 2048, 65_536  # padded tokens of a batch: on a CPU its values are to stay in the caches


@final
class ResponseRanker(TransformerClassifier):
    """A cross-encoder for response ranking: s(c, r) from the first token of "context [SEP] candidate".

    The probability of a candidate is the softmax of the scores over the candidates of its sample,
    p(r | c) = exp s(c, r) / sum_r' exp s(c, r'); training minimises -log p of the true one. Answers are those of a
    classifier whose classes are positions among the candidates: logits of shape (sample, most candidates), -inf where
    a sample has fewer. Its record has ``candidate_scores``. Targets are positions, counted from 0.

    Parameters
    ----------
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

    >>> from oodometer.models import ResponseRanker
    >>> ResponseRanker()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name a pretrained encoder or give sizes
    """

    kind = "response-ranker"
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
        super().__init__(
            source,
            config=config,
            vocab_size=vocab_size,
            max_length=max_length,
            tokenizer=tokenizer,
            training=training or TrainingConfig(epochs=1, batch_size=12, learning_rate=2e-5),
            device=device,
        )
        if head not in HEADS:
            raise UsageError(f"expected a head of {' or '.join(HEADS)}, got {head!r}")
        self.head, self.layers = head, layers
        self._difference = False  # of two outputs: a network that was made to say "relevant" or "not"

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {**super().options(), "head": self.head, "layers": self.layers}

    @classmethod
    def from_pretrained(cls, source: str, *, max_length: int | None = None, device: str | None = None) -> Self:
        """A ranker that exists already, by folder or hub name: a classifier of pairs with one output, or with two.

        Of two outputs (not relevant, relevant) the score is z_1 - z_0. Raises `InputError` for more.
        """
        model = cls(source, device=device)
        model.tokenizer = load_pretrained("AutoTokenizer", source, expected="a ranker")
        model.net = load_pretrained(cls._task, source, expected="a ranker").eval()
        outputs = int(model.net.config.num_labels)
        if outputs > 2:
            raise InputError(
                "a ranker, with one output or two",
                got=f"{outputs} outputs",
                remedy="train its encoder to rank (ResponseRanker.fit)",
                file=source,
            )
        model._difference = outputs == 2
        read_first_token_only(model.net)
        model.padding = int(model.tokenizer.pad_token_id)
        most = positions(model.net.config, model.tokenizer)
        model.max_length = most if max_length is None else min(max_length, most)
        return model

    # ---------------------------------------------------------------- training

    def fit(
        self,
        data: Dataset | Sequence[Dialogue],
        targets: Any = None,
        *,
        dev: Dataset | tuple[Sequence[Any], Sequence[Any]] | None = None,
        classes: Sequence[int | str] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        progress: Progress | None = None,
    ) -> Self:
        """Train on dialogues whose targets are positions of the true candidates; see `Classifier.fit`.

        ``classes`` are not read: positions have no names. Raises `InputError` for a target that is no position among
        the candidates of its row, and for inputs of another modality.
        """
        given = self._data(data, targets)
        held = None if dev is None else self._data(*((dev, None) if isinstance(dev, Dataset) else dev))
        truth = positions_of(given)
        self._fit(given, truth, None if held is None else (held, positions_of(held)), checkpoint, progress)
        return self

    def _fitted(self) -> bool:
        return self.net is not None

    def _learn(self, inputs: Sequence[Any]) -> None:
        super()._learn([text for one in inputs for text in (*one.context, *one.candidates)])
        self._difference = False

    def _outputs(self) -> int:
        return 1

    def _build(self) -> Any:
        self.padding = int(self.tokenizer.pad_token_id)
        if self._settings is not None or self.source is None:
            settings = self._settings or self._sizes()
            return self._with_head(getattr(load_transformers(), self._task_of_head()).from_config(settings))
        kept: dict[str, Any] = {} if self.layers is None else {"num_hidden_layers": self.layers}
        if self.head == "first-token":
            kept |= {"num_labels": 1, "ignore_mismatched_sizes": True}
        return self._with_head(load_pretrained(self._task_of_head(), self.source, **kept))

    def _task_of_head(self) -> str:
        return self._task if self.head == "first-token" else "AutoModel"

    def _with_head(self, net: Any) -> Any:
        if self.head == "means":
            return with_means(net)
        read_first_token_only(net)
        return net

    def _loss(self, encoded: Pairs, batch: Array, truth: Any, device: str) -> Any:
        torch = load_torch()
        pairs = encoded.of(batch)
        parts = self._parts(encoded.ids.lengths[pairs])  # pairs of one length together: less is padded
        said = [self._scores(self.net, *self._tensors(encoded, pairs[part], device)).float() for part in parts]
        order = torch.from_numpy(np.argsort(np.concatenate(parts))).to(device)
        return _cross_entropy(torch.cat(said)[order], encoded.candidates[batch], truth[batch], "mean")

    def _mean_loss(self, encoded: Pairs, truth: Array, device: str) -> float:
        with Asking(self._asking_batches(encoded), self._units(encoded)) as asking:
            for batch in asking:
                asking.take(self._scores(self.net, *self._tensors(encoded, batch, device)).float())
        scores = load_torch().from_numpy(asking.found[0])
        return float(_cross_entropy(scores, encoded.candidates, load_torch().from_numpy(truth), "mean"))

    # ---------------------------------------------------------------- asking

    def _checked(self, inputs: Any) -> Any:
        return check_dialogues(inputs)

    def _encode(self, inputs: Any) -> Any:
        found = encode_pairs(self.tokenizer, inputs, self.max_length)
        self.truncated = found.truncated
        return found

    def _units(self, encoded: Pairs) -> int:
        return len(encoded.second)

    def _asking_batches(self, encoded: Any) -> list[Array]:
        return self._parts(encoded.ids.lengths)

    def _parts(self, lengths: Array) -> list[Array]:
        """Positions of pairs in batches of about one length, the longest first."""
        tokens = self.asking_tokens or (_ON_CPU if choose_device(self.device) == "cpu" else _ON_GPU)
        return token_batches(lengths, np.argsort(-lengths, kind="stable"), tokens)

    def _tensors(self, encoded: Any, batch: Array, device: str) -> tuple[Any, ...]:
        """Padded ids of some pairs, what of them is real, and which part each token belongs to."""
        torch = load_torch()
        ids, real = padded(encoded.ids, batch, self.padding)
        ends = real.sum(1)
        types = (np.arange(ids.shape[1]) >= (ends - encoded.second[batch])[:, None]) & real
        return tuple(torch.from_numpy(one).to(device) for one in (ids, real, types))

    def _scores(self, net: Any, ids: Any, real: Any, types: Any) -> Any:  # type: ignore[override]
        encoder = net["encoder"] if self.head == "means" else net
        given: dict[str, Any] = {"input_ids": ids, "attention_mask": real.long()}
        if getattr(encoder.config, "type_vocab_size", 0) > 1:
            given["token_type_ids"] = types.long()
        if self.head == "means":
            return score_of_means(net, encoder(**given).last_hidden_state, real, types)
        found = net(**given).logits
        return found[:, 1] - found[:, 0] if self._difference else found[:, 0]

    def _gathered(self, encoded: Pairs, found: tuple[Array, ...]) -> tuple[Array, ...]:
        """Scores as a matrix; features are those of the predicted candidate."""
        logits = encoded.matrix(found[0])
        chosen = encoded.starts[:-1] + logits.argmax(1)
        return (logits, *(one[chosen] for one in found[1:]))

    def _answers(self, encoded: Pairs, found: dict[str, Any]) -> Answers:
        most = int(encoded.candidates.max())
        return Answers(tuple(range(most)), candidates=encoded.candidates, **found)

    def _view(self, inputs: Any, seed: Sequence[int], augmentation: str = "shift") -> list[Any]:
        only_shift(augmentation, "dialogues")
        return with_candidates_kept(inputs, seed)

    # ---------------------------------------------------------------- keeping

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


def _cross_entropy(scores: Any, candidates: Array, truth: Any, reduction: str) -> Any:
    """-log softmax of the true candidate; scores of all pairs in a row, shape (pair,)."""
    torch = load_torch()
    most = int(candidates.max())
    if (candidates == most).all():
        matrix = scores.reshape(len(candidates), most)
    else:
        real = torch.from_numpy(np.arange(most) < candidates[:, None]).to(scores.device)
        matrix = torch.full(real.shape, -torch.inf, device=scores.device).masked_scatter(real, scores)
    return torch.nn.functional.cross_entropy(matrix, truth, reduction=reduction)
