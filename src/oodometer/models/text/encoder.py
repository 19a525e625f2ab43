"""Encoder: a transformer by name, path or configuration with a linear head, fine-tuned as a whole or trained anew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, final

from ...arrays import Ragged
from ...errors import UsageError
from ..base import Text
from ..hub import class_names, load_pretrained
from ..torch.library import choose_device
from ..torch.library import transformers as load_transformers
from ..torch.training import TrainingConfig
from .first_token import read_first_token_only
from .network import TextClassifier
from .truncation import counted_ids
from .wordpiece import learn_wordpiece


class TransformerClassifier(TextClassifier):
    """What the classifiers on top of a transformer share: see `Encoder` for the parameters."""

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
            raise UsageError(f"expected source or config, got {got}; name a pretrained encoder or give sizes")
        super().__init__(
            training=training or TrainingConfig(epochs=2, batch_size=32, learning_rate=3e-5, warmup=0.1), device=device
        )
        self.source, self.config = source, None if config is None else dict(config)
        self.vocab_size, self.max_length = vocab_size, max_length
        self.tokenizer: Any = tokenizer
        self._given = tokenizer is not None
        self._settings: Any = None  # transformers' configuration of a loaded model
        # One that exists already is asked as its tokenizer and a pipeline do.
        self._typed = True  # the parts of a pair have types
        self._ends_cut = False  # a long text loses its end, not its middle

    def options(self) -> dict[str, Any]:
        """Arguments of the constructor."""
        return {
            "source": self.source,
            "config": self.config,
            "vocab_size": self.vocab_size,
            "max_length": self.max_length,
        }

    def _learn(self, inputs: Sequence[Text]) -> None:
        self._settings = None  # trained again, a loaded model starts where a new one does
        if self.source is not None:
            self.tokenizer = load_pretrained("AutoTokenizer", self.source)
        elif not self._given:
            self.tokenizer = learn_wordpiece(inputs, self.vocab_size, self.max_length)

    def _ids(self, texts: Sequence[Text]) -> Ragged:
        found, self.truncated = counted_ids(self.tokenizer, texts, self.max_length, end=self._ends_cut)
        return found

    def _outputs(self) -> int:
        """Outputs of the head."""
        return len(self.classes)

    def _build(self) -> Any:
        library = load_transformers()
        self.padding = int(self.tokenizer.pad_token_id)
        if self._settings is not None:
            return getattr(library, self._task).from_config(self._settings)
        if self.source is None:
            return getattr(library, self._task).from_config(self._sizes())
        return load_pretrained(self._task, self.source, num_labels=self._outputs(), ignore_mismatched_sizes=True)

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

    def _types(self, net: Any, ids: Any) -> dict[str, Any]:
        """The second part of a pair, behind the first separator, has a type of its own."""
        if not self._typed or getattr(net.config, "type_vocab_size", 0) <= 1:
            return {}
        separators = (ids == self.tokenizer.sep_token_id).long()
        return {"token_type_ids": (separators.cumsum(1) - separators).clamp(max=1)}

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

    Parameters
    ----------
    source : hub name or path of a pretrained encoder and its tokenizer, such as ``bert-base-uncased``.
    config : arguments of transformers' ``BertConfig`` (or of the configuration of another ``model_type`` that is named
        among them, such as ``modernbert``) for an encoder that is trained from scratch; its word pieces are learnt from
        the training texts.
    vocab_size : size of the vocabulary of word pieces that is learnt with ``config``.
    max_length : word pieces that are read; a longer text loses its middle, a pair the end of its longer part.
    tokenizer : with ``config``, a tokenizer of transformers to use instead of learning one.
    training, device : how and where to train.

    ``truncated`` is the number of texts of the last call that were too long.

    Source: Devlin et al. (2019).

    >>> from oodometer.models import Encoder
    >>> Encoder()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name a pretrained encoder or give sizes
    """

    kind = "encoder"
    _task = "AutoModelForSequenceClassification"

    @classmethod
    def from_pretrained(cls, source: str, *, max_length: int | None = None, device: str | None = None) -> Self:
        """A classifier that exists already, asked as it is; class names are those of its configuration.

        ``max_length`` is at most, and by default, what the network can read. A longer text loses its end, a pair that
        of its longer part, as in transformers' own pipelines. Raises `InputError` where there is no classifier, or
        where it gives no distribution over classes.
        """
        model = cls.opened(source, max_length=max_length, device=device)
        model.classes, model._ends_cut = class_names(model.net.config, source), True
        # On a CPU the values of a batch are to stay in its caches; a GPU wants to be filled.
        model.asking_tokens = 2048 if choose_device(device) == "cpu" else 65_536
        return model

    @classmethod
    def opened(cls, source: str, *, max_length: int | None = None, device: str | None = None) -> Self:
        """A network that exists already, with its tokenizer; its classes are the numbers of its outputs.

        ``max_length`` is at most, and by default, what the network can read.
        """
        model = cls(source, device=device)
        model.tokenizer = load_pretrained("AutoTokenizer", source, expected="a classifier of texts")
        net = load_pretrained(cls._task, source, expected="a classifier of texts").eval()
        model.classes = tuple(range(net.config.num_labels))
        if model.tokenizer.pad_token_id is None:  # decoders have none: any will do, since it is masked
            model.tokenizer.pad_token = model.tokenizer.eos_token
            net.config.pad_token_id = model.tokenizer.pad_token_id
        model.padding = int(model.tokenizer.pad_token_id)
        most = positions(net.config, model.tokenizer)
        model.max_length = most if max_length is None else min(max_length, most)
        read_first_token_only(net)
        model.net, model._typed = net, "token_type_ids" in model.tokenizer.model_input_names
        return model

    def _scores(self, net: Any, ids: Any, real: Any) -> Any:
        return net(input_ids=ids, attention_mask=real.long(), **self._types(net, ids)).logits


def positions(config: Any, tokenizer: Any) -> int:
    """Tokens that a network and its tokenizer can read; 512 where neither says.

    >>> from types import SimpleNamespace as Some
    >>> positions(Some(max_position_embeddings=514, model_type="roberta"), Some(model_max_length=10**30))
    512
    """
    own = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None)
    if own is not None and config.model_type in ("roberta", "xlm-roberta", "camembert"):
        own -= 2  # its positions count from 2
    stated = [int(one) for one in (own, tokenizer.model_max_length) if one is not None and 0 < one < 10**9]
    return min(stated, default=512)
