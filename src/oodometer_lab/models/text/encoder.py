"""Encoder: a transformer with a linear head, fine-tuned as a whole or trained anew; one that judges each token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, Self, final

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import UsageError

from ..base import Text
from ..tokens import learn_wordpiece
from ..torch.batches import padded, tokens_at_once
from ..torch.library import class_names, load_pretrained
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import TrainingConfig
from .network import TextClassifier, counted_ids


def read_first_token_only(net: Any) -> bool:
    """Let the last layer of a BERT give its first token alone; whether the network is one. Weights stay as they are."""
    base: Any = getattr(net, "base_model", None)
    layers = getattr(getattr(base, "encoder", None), "layer", None)
    if (
        type(base).__name__ != "BertModel"
        or not layers
        or base.pooler is None
        or net.config.is_decoder
    ):
        return False
    last = layers[-1]
    last.forward = partial(_forward, last)
    return True


def _forward(layer: Any, hidden: Any, mask: Any = None, *rest: Any, **more: Any) -> Any:
    attention = load_torch().nn.functional.scaled_dot_product_attention
    self_attention = layer.attention.self
    heads = (
        len(hidden),
        -1,
        self_attention.num_attention_heads,
        self_attention.attention_head_size,
    )
    first = hidden[:, :1]
    query, key, value = (
        read(states).view(heads).transpose(1, 2)
        for read, states in (
            (self_attention.query, first),
            (self_attention.key, hidden),
            (self_attention.value, hidden),
        )
    )
    first_mask, rate = (
        None if mask is None else mask[..., :1, :],
        self_attention.dropout.p if self_attention.training else 0.0,
    )
    attended_values = attention(query, key, value, attn_mask=first_mask, dropout_p=rate)
    attended = layer.attention.output(attended_values.transpose(1, 2).reshape(first.shape), first)
    return layer.feed_forward_chunk(attended)


class TransformerClassifier(TextClassifier):
    """What the classifiers on top of a transformer share: see `Encoder` for the parameters."""

    arguments: ClassVar[tuple[str, ...]] = ("source", "config", "vocab_size", "max_length")
    _task: ClassVar[str]
    """Name of transformers' automatic class of the network with its head."""

    def __init__(
        self,
        source: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        vocab_size: int = 8_000,
        max_length: int = 256,
        tokenizer: Any = None,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if (source is None) == (config is None):
            got = "neither" if source is None else "both"
            raise UsageError(
                f"expected source or config, got {got}; name a pretrained encoder or give sizes"
            )
        super().__init__(
            training=training
            or TrainingConfig(epochs=2, batch_size=32, learning_rate=3e-5, warmup=0.1),
            device=device,
        )
        self.source, self.config = source, None if config is None else dict(config)
        self.vocab_size, self.max_length = vocab_size, max_length
        self.tokenizer: Any = tokenizer
        self._given = tokenizer is not None
        self._settings: Any = None  # transformers' configuration of a loaded model
        # One that exists already is asked as its tokenizer and a pipeline do.
        self._typed = True  # the parts of a pair have types
        self._ends_cut = False  # a long text loses its end, not its middle

    @classmethod
    def opened(
        cls,
        source: str,
        *,
        expected: str = "a classifier of texts",
        max_length: int | None = None,
        device: Any = None,
    ) -> Self:
        """A network that exists already, with its tokenizer; its classes are the numbers of its outputs.

        ``max_length`` is at most, and by default, what the network can read.
        """
        model = cls(source, device=device)
        model.tokenizer = load_pretrained("AutoTokenizer", source, expected=expected)
        net = load_pretrained(cls._task, source, expected=expected).eval()
        model.classes = tuple(range(net.config.num_labels))
        # decoders have none: any will do, since it is masked
        if model.tokenizer.pad_token_id is None:
            model.tokenizer.pad_token = model.tokenizer.eos_token
            net.config.pad_token_id = model.tokenizer.pad_token_id
        model.padding = int(model.tokenizer.pad_token_id)
        limit = positions(net.config, model.tokenizer)
        model.max_length = limit if max_length is None else min(max_length, limit)
        read_first_token_only(net)
        model.net, model._typed = net, "token_type_ids" in model.tokenizer.model_input_names
        return model

    def _learn(self, inputs: Sequence[Text]) -> None:
        self._settings = None  # trained again, a loaded model starts where a new one does
        if self.source is not None:
            self.tokenizer = load_pretrained("AutoTokenizer", self.source)
        elif not self._given:
            self.tokenizer = learn_wordpiece(inputs, self.vocab_size, self.max_length)

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        result, self.truncated = counted_ids(
            self.tokenizer, texts, self.max_length, end=self._ends_cut
        )
        return result

    def _outputs(self) -> int:
        """Outputs of the head."""
        return len(self.classes)

    def _build(self) -> Any:
        return self._network(self._task, num_labels=self._outputs(), ignore_mismatched_sizes=True)

    def _network(self, task: str, **options: Any) -> Any:
        self.padding = int(self.tokenizer.pad_token_id)
        if self._settings is not None or self.source is None:
            return getattr(load_transformers(), task).from_config(self._settings or self._sizes())
        return load_pretrained(task, self.source, **options)

    def _sizes(self) -> Any:
        """The configuration of an encoder that is trained from scratch."""
        return load_transformers().AutoConfig.for_model(
            **{
                "model_type": "bert",
                "vocab_size": len(self.tokenizer),
                "max_position_embeddings": self.max_length,
                "pad_token_id": self.padding,
                "num_labels": self._outputs(),
                **(self.config or {}),
            }
        )

    def _network_inputs(self, net: Any, ids: Any, real: Any) -> dict[str, Any]:
        """What the network reads; the second part of a pair, behind the first separator, has a type of its own."""
        inputs = {"input_ids": ids, "attention_mask": real.long()}
        if self._typed and getattr(net.config, "type_vocab_size", 0) > 1:
            separators = (ids == self.tokenizer.sep_token_id).long()
            inputs["token_type_ids"] = (separators.cumsum(1) - separators).clamp(max=1)
        return inputs

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return net(**self._network_inputs(net, ids, real)).logits

    def _write(self, folder: Path) -> dict[str, Any]:
        return {**super()._write(folder), "typed": self._typed, "ends_cut": self._ends_cut}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        model = super()._read(folder, about)
        model._typed, model._ends_cut = about.get("typed", True), about.get("ends_cut", False)
        return model

    def _write_encoding(self, folder: Path) -> None:
        self.tokenizer.save_pretrained(folder / "tokenizer")
        self.net.config.save_pretrained(folder)

    def _read_encoding(self, folder: Path) -> None:
        self.tokenizer = load_pretrained("AutoTokenizer", str(folder / "tokenizer"))
        self._settings = load_pretrained("AutoConfig", str(folder))
        self.padding = int(self.tokenizer.pad_token_id)


@final
class Encoder(TransformerClassifier):
    """A Hugging Face encoder with a head for sequence classification; logits of shape (sample, class).

    Give ``source`` or ``config``, not both.

    source : hub name or path of a pretrained encoder and its tokenizer, such as ``bert-base-uncased``.
    config : arguments of transformers' ``BertConfig`` (or of the configuration of another ``model_type`` that is named
        among them, such as ``modernbert``) for an encoder that is trained from scratch; its word pieces are learnt from
        the training texts.
    vocab_size : size of the vocabulary of word pieces that is learnt with ``config``.
    max_length : word pieces that are read; a longer text loses its middle, a pair the end of its longer part.
    tokenizer : with ``config``, a tokenizer of transformers to use instead of learning one.
    training, device : how and where to train.

    ``truncated`` is the number of texts of the last call that were too long. Source: Devlin et al. (2019).

    >>> from oodometer_lab.models import Encoder
    >>> Encoder()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name a pretrained encoder or give sizes
    """

    kind = "encoder"
    _task = "AutoModelForSequenceClassification"

    @classmethod
    def from_pretrained(
        cls, source: str, *, max_length: int | None = None, device: str | None = None
    ) -> Self:
        """A classifier that exists already, asked as it is; class names are those of its configuration.

        ``max_length`` is at most, and by default, what the network can read. A longer text loses its end, a pair that
        of its longer part, as in transformers' own pipelines. Raises `InputError` where there is no classifier, or
        where it gives no distribution over classes.
        """
        model = cls.opened(source, max_length=max_length, device=device)
        model.classes, model._ends_cut = class_names(model.net.config, source), True
        model.asking_tokens = tokens_at_once(device)
        return model


def positions(config: Any, tokenizer: Any) -> int:
    """Tokens that a network and its tokenizer can read; 512 where neither says."""
    from_config = getattr(config, "max_position_embeddings", None) or getattr(
        config, "n_positions", None
    )
    if from_config is not None and config.model_type in ("roberta", "xlm-roberta", "camembert"):
        from_config -= 2  # its positions count from 2
    stated = [
        int(limit)
        for limit in (from_config, tokenizer.model_max_length)
        if limit is not None and 0 < limit < 10**9
    ]
    return min(stated, default=512)


_START = 3.0  # log odds at which every token starts as right: else a long output would start as surely wrong
_TOKEN_WEIGHT = 10.0  # weight of the tokens' own loss, which is small, since few tokens are wrong
_LEAST = 1e-6  # of -log P: P stays below 1


@final
class TokenEncoder(TransformerClassifier):
    """Of two classes, the second is "every token of the second text of a pair is right".

    P = prod_t sigmoid(a_t) over the tokens t of the second text and the separator behind it, a_t the log odds of a
    linear head that token t is right; the logits are (0, log(P / (1 - P))). The separator is an end too early.

    The loss is the cross-entropy, and ten times the mean over tokens of the cross-entropy of a_t, wherever it is known
    which tokens are wrong: all tokens of a right text are right; of a wrong one those that differ from a right text of
    the same first text among the training pairs (see `mistakes`), where there is one.

    Parameters as for `Encoder`. Raises `UsageError` for texts that are no pairs, or for other than two classes. Source:
    Cobbe et al. (2021) for verdicts on every token; Devlin et al. (2019) for pairs in an encoder.

    >>> from oodometer_lab.models import TokenEncoder
    >>> TokenEncoder(config={"hidden_size": 32}).kind
    'token-encoder'
    """

    kind = "token-encoder"
    _task = "AutoModelForTokenClassification"
    _known: Array

    def _outputs(self) -> int:
        if len(self.classes) != 2:
            raise UsageError(
                f"expected two classes, wrong and right, got {len(self.classes)}; use Encoder"
            )
        return 1

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        if any(isinstance(text, str) for text in texts):
            raise UsageError("a token encoder reads pairs of texts, got single texts; use Encoder")
        return super()._ids(texts)

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return _joined(*self._odds(net(**self._network_inputs(net, ids, real)).logits, ids, real))

    def _odds(self, heads: Any, ids: Any, real: Any) -> tuple[Any, Any]:
        """Log odds that a token is right, and which tokens count, both (sample, position), of what the heads say."""
        torch = load_torch()
        separators = (ids == self.tokenizer.sep_token_id).long()
        return heads[..., 0].float() + _START, (
            (separators.cumsum(1) - separators) > 0
        ) & torch.as_tensor(real)

    def _loss(self, encoded: Ragged, batch: Array, truth: Any, device: str) -> Any:
        torch = load_torch()
        ids, real = self._tensors(encoded, batch, device)
        odds, counts = self._odds(
            self.net(**self._network_inputs(self.net, ids, real)).logits, ids, real
        )
        text_loss = torch.nn.functional.cross_entropy(_joined(odds, counts), truth[batch])
        wrong, _ = padded(Ragged(self._known, encoded.offsets), batch, -1, least=self.least_width)
        faults = torch.from_numpy(wrong).to(device)
        labelled = counts & (faults >= 0)
        right = (faults == 0).to(odds.dtype)
        each = torch.nn.functional.binary_cross_entropy_with_logits(odds, right, reduction="none")
        return text_loss + _TOKEN_WEIGHT * (each * labelled).sum() / labelled.sum().clamp(min=1)

    def _prepare(self, encoded: Ragged, truth: Array) -> None:
        if truth.ndim == 2:  # shares of right and wrong say nothing of single tokens
            self._known = np.full(len(encoded.values), -1)
        else:
            self._known = mistakes(encoded, truth > 0, int(self.tokenizer.sep_token_id))


def _joined(odds: Any, counts: Any) -> Any:
    """Logits (0, log(P / (1 - P))) of the product over tokens."""
    torch = load_torch()
    log_p = (torch.nn.functional.logsigmoid(odds) * counts).sum(1).clamp(max=-_LEAST)
    margin = log_p - torch.log(-torch.expm1(log_p))
    return torch.stack([torch.zeros_like(margin), margin], 1)


def mistakes(sequences: Ragged, right: Array, separator: int) -> Array:
    """For each id of each pair (first part, separator, second part, separator): 0 right, 1 a mistake, -1 not known;
    int64.
    A wrong second part is laid beside a right one of the same first part: what was put in or exchanged is a mistake; of
    what was left out, the token behind it. Source: Ratcliff and Metzener (1988).
    """
    out = np.where(np.repeat(right, sequences.lengths), 0, -1)
    parts: list[tuple[bytes, int]] = []
    truth: dict[bytes, list[int]] = {}
    for row, good in enumerate(right.tolist()):
        start, stop = sequences.offsets[row], sequences.offsets[row + 1]
        ids = sequences.values[start:stop]
        first = int(np.argmax(ids == separator)) + 1
        parts.append((ids[:first].tobytes(), first))
        if good:
            truth.setdefault(parts[row][0], ids[first:].tolist())
    for row in np.flatnonzero(~right).tolist():
        key, first = parts[row]
        if key in truth:
            start, stop = int(sequences.offsets[row]), int(sequences.offsets[row + 1])
            out[start : start + first] = 0
            gold, output = truth[key], sequences.values[start + first : stop].tolist()
            short = min(len(gold), len(output))  # both end with the same separator
            head = next((i for i in range(short) if gold[i] != output[i]), short)
            tail = next(
                (i for i in range(short - head) if gold[-1 - i] != output[-1 - i]), short - head
            )
            a, b = gold[head : len(gold) - tail], output[head : len(output) - tail]
            differs, last = np.zeros(len(output), dtype=np.int64), len(output) - 1
            for what, _, _, begin, end in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
                if what != "equal":
                    differs[
                        min(head + begin, last) : max(head + end, min(head + begin, last) + 1)
                    ] = 1
            out[start + first : stop] = differs
    return out
