"""EncoderDecoder: a sequence model by name, path or configuration; trained, saved, asked for beams and for records."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, Self, final

import numpy as np

from oodometer.arrays import Array, Ragged
from oodometer.errors import InputError, UsageError, WorkError
from oodometer.predictions import Predictions
from oodometer.store import whole_folder

from ...datasets import Dataset
from ...datasets.reading import objects
from ..artifacts import WEIGHTS, Artifact, described, fingerprint, read_description
from ..base import Progress
from ..tokens import learn_pieces, learn_words
from ..torch.batches import padded
from ..torch.library import choose_device, load_pretrained
from ..torch.library import torch as load_torch
from ..torch.library import transformers as load_transformers
from ..torch.training import (
    Hooks,
    LengthBatches,
    TrainingConfig,
    load_weights,
    read_tensors,
    train,
    weights,
    write_tensors,
)
from .codec import Codec, StandIns, check_spelling, check_strings, find_stand_ins
from .decoding import IGNORED, Beams, decode, score

_read = partial(load_pretrained, expected="an encoder-decoder")


def load_tokenizer(source: str) -> Any:
    """The tokenizer of a folder or a hub name; `InputError` where there is none."""
    folder = described(source)
    return _read("AutoTokenizer", source if folder is None else str(folder / "tokenizer"))


def load_config(source: str) -> Any:
    """transformers' configuration of a folder or a hub name; `InputError` where it is of no encoder-decoder."""
    config = _read("AutoConfig", source)
    if not getattr(config, "is_encoder_decoder", False):
        got = f"a model of the type {config.model_type!r}"
        raise InputError(
            "an encoder-decoder such as T5 or BART",
            got=got,
            remedy="name another model",
            file=source,
        )
    return config


def load_weights_of(source: str) -> Any:
    """The torch module with its trained weights, float32; of a folder that `EncoderDecoder.save` wrote, too."""
    config, folder = load_config(source), described(source)
    if folder is None:
        return _plain(_read("AutoModelForSeq2SeqLM", source, dtype=load_torch().float32))
    net = build(config)
    load_weights(net, read_tensors(folder / WEIGHTS)[0])
    return net


def build(config: Any) -> Any:
    """The torch module of a configuration, its weights drawn by torch's seed, float32."""
    library = load_transformers()
    return _plain(library.AutoModelForSeq2SeqLM.from_config(config, dtype=load_torch().float32))


def _plain(net: Any) -> Any:
    """The module without the options of decoding that it was published with; start, end and padding tokens stay."""
    library = load_transformers()
    generation, config = net.generation_config, net.config
    names = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
    ids: dict[str, Any] = {}
    for name in names:
        value = getattr(generation, name, None)
        ids[name] = getattr(config, name, None) if value is None else value
    if ids["decoder_start_token_id"] is None:
        ids["decoder_start_token_id"] = ids["bos_token_id"]
    for name in names[1:]:
        if ids[name] is None:
            remedy = "set it in its config.json"
            raise InputError(
                f"a model that names its {name}", got="none", remedy=remedy, column="source"
            )
    net.generation_config = library.GenerationConfig(**{name: ids[name] for name in names})
    for name in names:  # a saved model is built from its configuration alone
        setattr(config, name, ids[name])
    return net


def stand_ins_of(source: str) -> dict[str, str] | None:
    """The stand-ins of a folder that `EncoderDecoder.save` wrote; None for any other source."""
    folder = described(source)
    return None if folder is None else dict(read_description(folder)["stand_ins"])


SIZES = {"d_model": 128, "d_ff": 512, "d_kv": 32, "num_layers": 2, "num_heads": 4}
"""What a configuration leaves out: a small T5 that two cores can train in minutes."""


def new_tokens(inputs: Sequence[str], outputs: Sequence[str], kind: str, vocab_size: int) -> Any:
    """A tokenizer learnt from inputs and outputs together: "words", or at most ``vocab_size`` "pieces"."""
    both = [*outputs, *inputs]
    return learn_words(both) if kind == "words" else learn_pieces(both, vocab_size)


def new_net(config: Mapping[str, Any] | None, tokenizer: Any) -> Any:
    """An encoder-decoder of the given sizes for a tokenizer: a T5, or what ``model_type`` says. A T5 knows only
    relative positions and learns from scratch slowly; BART finds the word in a minute. Source: Raffel et al. (2020);
    Lewis et al. (2020).
    """
    library, sizes = load_transformers(), dict(config or {})
    kind = str(sizes.pop("model_type", "t5"))
    start, end = tokenizer.pad_token_id, tokenizer.eos_token_id
    tokens = {
        "vocab_size": len(tokenizer),
        "pad_token_id": start,
        "eos_token_id": end,
        "decoder_start_token_id": start,
    }
    if kind == "t5":
        sizes = {**SIZES, **sizes}
    else:  # the usual numbers of these tokens are those of another vocabulary
        tokens |= {"bos_token_id": end, "forced_eos_token_id": None}
    from transformers.models.auto.modeling_auto import MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES

    if kind not in MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING_NAMES:
        raise UsageError(
            f"expected model_type of an encoder-decoder such as t5 or bart, got {kind!r}"
        )
    return build(library.AutoConfig.for_model(kind, **{**sizes, **tokens}))


Clean = Callable[[str], str]
"""What is done to an output and to the gold one before they are compared."""

_MARK = re.compile(r"\s*([()\[\]{},=;])\s*")
_CLOSING = {"(": ")", "[": "]", "{": "}"}


def squeeze(text: str) -> str:
    """One space between tokens and round each of ``( ) [ ] { } , = ;``, none at the ends.

    >>> squeeze("eat(agent=* cat ,theme  = fish )")
    'eat ( agent = * cat , theme = fish )'
    """
    return " ".join(_MARK.sub(r" \1 ", text).split())


def close_brackets(text: str) -> str:
    """The text with the closing brackets that are missing at its end; what is closed too often stays as it is.

    >>> close_brackets("hope ( ccomp = burn ( theme = [ box"), close_brackets("a ) (")
    ('hope ( ccomp = burn ( theme = [ box ] ) )', 'a ) ( )')
    """
    opened: list[str] = []
    for letter in text:
        if letter in _CLOSING:
            opened.append(_CLOSING[letter])
        elif opened and letter == opened[-1]:
            opened.pop()
    return " ".join([text, *reversed(opened)]) if opened else text


def composed(*cleaners: Clean) -> Clean:
    """One cleaner that applies several, the first first.

    >>> composed(close_brackets, squeeze)("f(x")
    'f ( x )'
    """

    def clean(text: str) -> str:
        for cleaner in cleaners:
            text = cleaner(text)
        return text

    return clean


def exact_match(
    outputs: Sequence[str], golds: Sequence[str], *, clean: Clean | None = None
) -> Array:
    """Which outputs equal their gold: bool, shape (sample,).

    outputs, golds : Strings, one a sample.
    clean : Applied to both before they are compared. Without one, only white space is made alike: a run of it is one
        space, and none stands at the ends (a tokenizer of sequence models does not keep more).

    Raises `InputError` where their numbers differ or one is no string.

    >>> exact_match(["a  b", "c"], ["a b", "d"]).tolist()
    [True, False]
    >>> exact_match(["f ( x"], ["f(x)"], clean=composed(close_brackets, squeeze)).tolist()
    [True]
    """
    if len(outputs) != len(golds):
        expected = f"{len(outputs)} gold outputs, one an output"
        raise InputError(
            expected, got=str(len(golds)), column="gold", remedy="align them by sample"
        )
    for column, values in (("output", outputs), ("gold", golds)):
        for row, cell in enumerate(values, 1):
            if not isinstance(cell, str):
                got = repr(cell)
                raise InputError(
                    "a string",
                    got=got,
                    remedy="drop the row or give its output",
                    row=row,
                    column=column,
                )
    normalize = clean or (lambda text: " ".join(text.split()))
    return np.array(
        [normalize(cell) == normalize(gold) for cell, gold in zip(outputs, golds, strict=True)],
        dtype=bool,
    )


_NAME = re.compile(r"step-(\d+)")


def snapshot_folders(path: str | os.PathLike[str]) -> list[Path]:
    """Folders of the snapshots below ``path``, by step; `InputError` where there is no such folder.

    >>> snapshot_folders("no-such-folder")
    Traceback (most recent call last):
    oodometer.errors.InputError: no-such-folder: expected a folder of snapshots, got no such folder; ...
    """
    folder = Path(path)
    if not folder.is_dir():
        remedy = "name the one that fit(snapshots=...) wrote"
        raise InputError(
            "a folder of snapshots", got="no such folder", file=str(folder), remedy=remedy
        )
    steps = {
        int(match[1]): below for below in folder.iterdir() if (match := _NAME.fullmatch(below.name))
    }
    return [steps[step] for step in sorted(steps) if steps[step].is_dir()]


def _snapshot_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of snapshots, None where not given; an error for others, and for a folder or steps alone."""
    options = {"snapshots": None, "every": None, "most": None, **given}
    if len(options) > 3:
        raise TypeError(f"fit() got an unexpected keyword argument {[*options][3]!r}")
    if (options["snapshots"] is None) != (options["every"] is None):
        raise UsageError(
            "expected both snapshots=FOLDER and every=STEPS, got one; give the other or neither"
        )
    return options


def _snapshots(
    model: EncoderDecoder, root: Path, every: int, most: int | None, name: str
) -> tuple[Callable[[int], None], Callable[[int], bool]]:
    """What keeps the model after every ``every`` steps, ``most`` times; and whether all before a step exist."""
    if every < 1 or (most is not None and most < 1):
        raise UsageError(f"expected every and most of at least 1, got {every} and {most}")
    training = model.training.fingerprint(name)
    for folder in snapshot_folders(root) if root.is_dir() else []:
        if read_description(folder).get("training") != training:
            got, remedy = (
                "one of another model, other data or another config",
                "give an empty folder or remove them",
            )
            raise InputError(
                "snapshots of this very training, or none", got=got, remedy=remedy, file=str(folder)
            )

    def complete(step: int) -> bool:
        last = (step - 1) // every if most is None else min((step - 1) // every, most)
        return all((root / f"step-{number * every:06d}").is_dir() for number in range(1, last + 1))

    def keep(step: int) -> None:
        target = root / f"step-{step:06d}"
        is_due = step > 0 and step % every == 0 and (most is None or step // every <= most)
        if is_due and not target.is_dir():
            root.mkdir(parents=True, exist_ok=True)
            with whole_folder(target) as part:
                model._save(part, step=step, training=training)

    return keep, complete


def pairs_of(data: Any, outputs: Sequence[str] | None = None) -> tuple[list[str], list[str]]:
    """Inputs and outputs of a data set, or as given, checked."""
    if isinstance(data, Dataset):
        data, outputs = data.inputs, data.targets if outputs is None else outputs
    if outputs is None:
        raise UsageError(
            "expected outputs, got inputs alone; give fit(inputs, outputs) or a Dataset"
        )
    inputs, outputs = check_strings(data, "input"), check_strings(outputs, "output", filled=True)
    same_length(inputs, outputs)
    return inputs, outputs


def same_length(inputs: Sequence[str], outputs: Sequence[str]) -> None:
    """`InputError` where there is not one output an input."""
    if len(inputs) != len(outputs):
        remedy = "align them by sample"
        raise InputError(
            f"{len(inputs)} outputs, one an input",
            got=str(len(outputs)),
            remedy=remedy,
            column="output",
        )


def must_be_numbers(logprobs: Array) -> None:
    """`WorkError` where log-probabilities are none."""
    if not np.isfinite(logprobs).all():
        why = "its training diverged; train it with a lower learning rate"
        raise WorkError(f"the sequence model gives no numbers: {why}")


USUAL = 64  # tokens within which outputs are taken to end where no training has said more


@final
class EncoderDecoder(Artifact):
    """A Hugging Face encoder-decoder (T5, BART, ...): a model of p(output | input) over sequences of tokens.

    Give ``source`` or ``config``, not both.

    source : hub name or path of an encoder-decoder and its tokenizer, such as ``google-t5/t5-base``. Options of
        decoding that it was published with (a least length, no repeated n-grams) are not used.
    config : arguments of transformers' ``T5Config``, or of the configuration of another ``model_type`` that is named
        among them, such as ``bart``, for a model that is trained from scratch; its tokens are learnt from the training
        texts, inputs and outputs together.
    tokens : with ``config``: "words" parted by white space (a word that training never saw is read as ``<unk>``, see
        ``unknown``), or "pieces" of bytes, which spell everything.
    vocab_size : most pieces that are learnt.
    max_length, max_output_length : tokens of an input that are read, and of an output that are learnt or written; the
        end of what is longer is cut.
    stand_ins : what the tokenizer of ``source`` cannot spell -> a token it never uses: given, found in the training
        texts ("auto"), or None.
    batch_tokens : in decoding and scoring, the most padded tokens of a batch: rows x beams x (input + output). It
        bounds memory.
    training, device : how and where to train.

    Source: Sutskever, Vinyals and Le (2014); Raffel et al. (2020).

    >>> from oodometer_lab.models.seq2seq import EncoderDecoder
    >>> EncoderDecoder()
    Traceback (most recent call last):
    oodometer.errors.UsageError: expected source or config, got neither; name an encoder-decoder or give sizes
    """

    kind = "encoder-decoder"
    arguments = (
        *(
            "source",
            "config",
            "tokens",
            "vocab_size",
            "max_length",
            "max_output_length",
            "stand_ins",
            "batch_tokens",
        ),
    )

    def __init__(
        self,
        source: str | None = None,
        *,
        config: Mapping[str, Any] | None = None,
        tokens: Literal["words", "pieces"] = "words",
        vocab_size: int = 8_000,
        max_length: int = 512,
        max_output_length: int = 512,
        stand_ins: Mapping[str, str] | Literal["auto"] | None = "auto",
        batch_tokens: int = 16_384,
        training: TrainingConfig | None = None,
        device: str | None = None,
    ) -> None:
        if (source is None) == (config is None):
            got = "neither" if source is None else "both"
            raise UsageError(
                f"expected source or config, got {got}; name an encoder-decoder or give sizes"
            )
        if tokens not in ("words", "pieces"):
            raise UsageError(f"expected tokens='words' or 'pieces', got {tokens!r}")
        if min(max_length, max_output_length) < 2 or batch_tokens < 1:
            raise UsageError(
                "expected max_length and max_output_length of at least 2 tokens and a positive batch_tokens, got "
                f"{max_length}, {max_output_length} and {batch_tokens}"
            )
        self.source, self.config = source, None if config is None else dict(config)
        self.tokens, self.vocab_size = tokens, vocab_size
        self.max_length, self.max_output_length = max_length, max_output_length
        self.batch_tokens = batch_tokens
        self.stand_ins = dict(stand_ins) if isinstance(stand_ins, Mapping) else stand_ins
        size, rate = (64, 1e-3) if source is None else (32, 1e-4)
        self.training = training or TrainingConfig(
            epochs=10, batch_size=size, learning_rate=rate, warmup=0.1
        )
        self.device = device
        self.net: Any = None
        self._codec: Codec | None = None
        self._usual = USUAL

    @property
    def tokenizer(self) -> Any:
        """The tokenizer, of transformers; None before `fit`."""
        return None if self._codec is None else self._codec.tokenizer

    @property
    def truncated(self) -> int:
        """Number of inputs that the last call cut at ``max_length``."""
        return 0 if self._codec is None else self._codec.truncated

    @property
    def unknown(self) -> int:
        """Number of tokens of the inputs that the last call read as unknown."""
        return 0 if self._codec is None else self._codec.unknown

    def fit(
        self,
        data: Dataset | Sequence[str],
        outputs: Sequence[str] | None = None,
        *,
        dev: Dataset | tuple[Sequence[str], Sequence[str]] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        stop_after: int | None = None,
        progress: Progress | None = None,
        **snapshots: Any,
    ) -> Self:
        """Train on pairs by cross-entropy over the output tokens; returns the model itself.

        data, outputs : A data set whose targets are the outputs; or inputs, and the output of each.
        dev : The same, held out: the weights with the smallest loss on it are kept.
        checkpoint : Folder in which the state of training is kept; interrupted and called again, it goes on from there,
            to the same weights and the same snapshots.
        snapshots, every, most : Folder in which the model after every ``every`` steps is kept (``step-000200/``, see
            `load`), at most the first ``most`` of them. `UsageError` for a folder or steps alone.
        stop_after : End after so many steps, the learning rate being that of the whole config.
        progress : Called with (steps done, steps in all).

        Raises `InputError` for an output that the tokenizer cannot spell, before anything is trained.
        """
        inputs, outputs = pairs_of(data, outputs)
        held_out = None if dev is None else pairs_of(*((dev,) if isinstance(dev, Dataset) else dev))
        options = _snapshot_options(snapshots)
        if stop_after is not None and stop_after < 1:
            raise UsageError(f"expected stop_after of at least 1 step, got {stop_after}")
        device = choose_device(self.device)
        tokenizer, stand_ins = self._spelling_of(inputs, outputs)
        check_spelling(tokenizer, outputs, stand_ins)
        torch = load_torch()
        torch.manual_seed(self.training.seed)
        self.net = (
            new_net(self.config, tokenizer) if self.source is None else load_weights_of(self.source)
        )
        self.net.to(device)
        codec = self._codec = self._new_codec(tokenizer, stand_ins)
        read, written = codec.read(inputs), codec.learnt(outputs)
        self._usual = int(written.lengths.max()) + 8
        begun = (
            {}
            if self.source is None or not (checkpoint or options["snapshots"])
            else weights(self.net)
        )
        numbers = [read.values, read.offsets, written.values, written.offsets]
        numbers += [weight.detach().cpu().numpy() for weight in begun.values()]
        name = fingerprint({"kind": self.kind, **self.options(), "batch_tokens": 0}, *numbers)
        on_step, goes_on = None, None
        if options["snapshots"] is not None:
            on_step, goes_on = _snapshots(
                self, Path(options["snapshots"]), options["every"], options["most"], name
            )
        folder = None if checkpoint is None else Path(checkpoint)
        dev_loss = None
        if held_out is not None:
            dev_pair = codec.read(held_out[0]), codec.learnt(held_out[1])
            name = fingerprint({"name": name, "dev": True}, dev_pair[0].values, dev_pair[1].values)

            def dev_loss() -> float:
                return -float(self._scored(*dev_pair, None).values.mean(dtype=np.float64))

        def loss(batch: Array) -> Any:
            ids, real = padded(read, batch, codec.padding)
            labels, _ = padded(written, batch, IGNORED)
            input_ids, mask, label_ids = (
                torch.from_numpy(array).to(device) for array in (ids, real, labels)
            )
            return self.net(input_ids=input_ids, attention_mask=mask.long(), labels=label_ids).loss

        lengths = np.stack([read.lengths, written.lengths], axis=1)
        hooks = Hooks(progress, on_step=on_step, goes_on=goes_on, stop_after=stop_after)
        batches = LengthBatches(lengths, self.training)
        train(
            self.net,
            loss,
            batches,
            self.training,
            name=name,
            checkpoint=folder,
            hooks=hooks,
            dev_loss=dev_loss,
        )
        return self

    def _spelling_of(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[Any, StandIns]:
        """The tokenizer; for "auto" the stand-ins that it learnt with, or that the texts call for."""
        if self.source is None:
            return new_tokens(inputs, outputs, self.tokens, self.vocab_size), StandIns(None)
        tokenizer, mapping = load_tokenizer(self.source), self.stand_ins
        if isinstance(mapping, str):
            mapping = stand_ins_of(self.source)
            if mapping is None:
                mapping = find_stand_ins(tokenizer, sorted({*outputs, *inputs}))
        return tokenizer, StandIns(mapping)

    def _scored(self, read: Ragged, written: Ragged, progress: Progress | None) -> Ragged:
        codec, device = self.ready()
        return score(
            self.net,
            read,
            written,
            padding=codec.padding,
            batch_tokens=self.batch_tokens,
            device=device,
            progress=progress,
        )

    def _new_codec(self, tokenizer: Any, stand_ins: StandIns) -> Codec:
        return Codec(
            tokenizer,
            stand_ins,
            max_length=self.max_length,
            max_output_length=self.max_output_length,
            positions=getattr(self.net.config, "max_position_embeddings", None),
        )

    def decode(
        self, inputs: Sequence[str], *, beams: int = 1, progress: Progress | None = None
    ) -> Beams:
        """The ``beams`` best outputs of each input, by total log-probability.

        ``progress`` is called with (samples done, samples).
        """
        if beams < 1:
            raise UsageError(f"expected at least 1 beam, got {beams}")
        inputs = check_strings(inputs, "input", some=False)
        codec, device = self.ready()
        ids, logprobs, totals = decode(
            self.net,
            codec.read(inputs),
            codec,
            beams=beams,
            usual_output=self._usual,
            batch_tokens=self.batch_tokens,
            device=device,
            progress=progress,
        )
        must_be_numbers(totals[:, 0])  # every search ends with one answer at least
        generation = self.net.generation_config  # ids of tokens that are no part of a text
        special = (
            generation.decoder_start_token_id,
            generation.bos_token_id,
            generation.eos_token_id,
            generation.pad_token_id,
        )
        texts = codec.texts(
            ids,
            np.concatenate(
                [np.atleast_1d(token_ids) for token_ids in special if token_ids is not None]
            ),
        )
        is_answer = totals > -np.inf
        outputs = [texts[i * beams : i * beams + count] for i, count in enumerate(is_answer.sum(1))]
        best = logprobs.take(np.arange(len(inputs)) * beams)
        return Beams(
            outputs, np.where(is_answer, totals, np.float32(np.nan)), best, codec.truncated
        )

    def logprobs(
        self, inputs: Sequence[str], outputs: Sequence[str], *, progress: Progress | None = None
    ) -> Ragged:
        """Log-probability of each token of given outputs, the end token included; one row a sample, float32.

        A word that the model cannot spell has the probability 0, its logarithm is -inf.
        """
        inputs = check_strings(inputs, "input", some=False)
        outputs = check_strings(outputs, "output", some=False)
        same_length(inputs, outputs)
        codec, _ = self.ready()
        read, written = codec.read(inputs), codec.written(outputs)
        scores = self._scored(read, written, progress)
        must_be_numbers(scores.values)
        unknown = codec.tokenizer.unk_token_id
        if unknown is not None:
            scores.values[written.values == unknown] = -np.inf
        return scores

    def predict(
        self,
        inputs: Sequence[str],
        *,
        gold: Sequence[str | None] | None = None,
        beams: int = 4,
        clean: Clean | None = None,
        ids: Sequence[int | str] | None = None,
        columns: Mapping[str, Any] | None = None,
        progress: Progress | None = None,
    ) -> Predictions:
        """Ask the model: a record with input, output, confidence and token log-probabilities of the best beam.

        inputs : Strings, one a sample.
        gold : The true outputs, None where unknown: the record then has ``correct``, the exact match after ``clean``,
            and the column ``gold``.
        beams : Width of the search.
        clean : What is done to output and gold before they are compared, see `exact_match`.
        ids, columns : Names of the samples (column ``id``) and further columns.
        progress : Called with (samples done, samples).

        The confidence is exp(sum of the token log-probabilities), the probability of the output.
        """
        inputs = check_strings(inputs, "input")
        if gold is not None and len(gold) != len(inputs):
            expected, remedy = f"{len(inputs)} gold outputs, one an input", "align them by sample"
            raise InputError(expected, got=str(len(gold)), remedy=remedy, column="gold")
        for row, cell in enumerate(gold or (), 1):
            if cell is not None and not isinstance(cell, str):
                expected, remedy = (
                    "a string, or None where the gold output is unknown",
                    "drop the row or fill the cell",
                )
                raise InputError(expected, got=repr(cell), remedy=remedy, row=row, column="gold")
        answers = self.decode(inputs, beams=beams, progress=progress)
        further = {name: objects(list(values)) for name, values in (columns or {}).items()}
        correct: Array | None = None
        if ids is not None:
            further["id"] = objects([str(row_id) for row_id in ids])
        if gold is not None:
            labelled = [row for row, cell in enumerate(gold) if cell is not None]
            golds = [str(gold[row]) for row in labelled]
            correct = np.full(len(inputs), None, dtype=object)
            correct[labelled] = exact_match(
                [answers.best[row] for row in labelled], golds, clean=clean
            )
            further["gold"] = objects(list(gold))
        return Predictions.from_arrays(
            columns=further,
            input=objects(inputs),
            output=objects(answers.best),
            confidence=answers.confidence,
            token_logprobs=answers.token_logprobs,
            correct=correct,
        )

    @property
    def parameters(self) -> int:
        """Number of parameters, tied ones once."""
        self.ready()
        return sum(int(parameter.numel()) for parameter in self.net.parameters())

    def _fitted(self) -> bool:
        return self.net is not None or self.source is not None

    def _write(self, folder: Path) -> dict[str, Any]:
        codec = self._codec or self.ready()[0]  # in training: the net must not leave its mode
        codec.tokenizer.save_pretrained(folder / "tokenizer")
        self.net.config.save_pretrained(folder)
        write_tensors(folder / WEIGHTS, weights(self.net), {})
        return {"stand_ins": codec.stand_ins.mapping, "usual_output": self._usual}

    @classmethod
    def _read(cls, folder: Path, about: Mapping[str, Any]) -> Self:
        model = cls(**about["options"])
        model._usual = int(about["usual_output"])
        model.net = build(load_config(str(folder)))
        load_weights(model.net, read_tensors(folder / WEIGHTS)[0])
        model.net.eval()
        tokens = load_tokenizer(str(folder / "tokenizer"))
        model._codec = model._new_codec(tokens, StandIns(about["stand_ins"]))
        return model

    def ready(self) -> tuple[Codec, str]:
        """The codec, and where the model is; a pretrained one that was not trained here is loaded."""
        device = choose_device(self.device)
        if self.net is None or self._codec is None:
            self._must_be_fitted()
            assert self.source is not None
            self.net = load_weights_of(self.source)
            mapping = (
                self.stand_ins if isinstance(self.stand_ins, Mapping) else stand_ins_of(self.source)
            )
            self._codec = self._new_codec(load_tokenizer(self.source), StandIns(mapping))
        self.net.to(device).eval()
        return self._codec, device


def is_sequence_model(model: Any) -> bool:
    """Whether this is the folder of an encoder-decoder: one that `EncoderDecoder` saved, or one of transformers that is
    no classifier.
    """
    if not isinstance(model, (str, os.PathLike)):
        return False
    folder = Path(model).expanduser()
    if described(folder) is not None:
        return bool(read_description(folder).get("kind") == EncoderDecoder.kind)
    if not (folder / "config.json").is_file():
        return False
    config = _read("AutoConfig", str(folder))
    return bool(getattr(config, "is_encoder_decoder", False)) and not any(
        name.endswith("Classification") for name in getattr(config, "architectures", None) or ()
    )


def open_sequence_model(
    folder: str | os.PathLike[str],
    *,
    max_length: int | None = None,
    max_output_length: int | None = None,
    device: str | None = None,
) -> EncoderDecoder:
    """The encoder-decoder of a folder: one that `EncoderDecoder` saved, as it was, or one of transformers.

    max_length, max_output_length : of a folder of transformers, tokens of an input that are read and of an output that
        are written; 512 where None.
    device : "cpu" or "cuda"; by default a GPU where one is there.

    Raises `InputError` for a folder that holds no encoder-decoder.
    """
    path = Path(folder).expanduser()
    if described(path) is not None:
        model = EncoderDecoder.load(path)
        model.device = device
        return model
    if not (path / "config.json").is_file():
        got = "no such folder"
        if path.is_dir():
            got = ", ".join(sorted(entry.name for entry in path.iterdir())[:6]) or "nothing"
        raise InputError(
            "the folder of a sequence model, with config.json or oodometer_model.json in it",
            got=got,
            file=str(folder),
            remedy="name the folder that save_pretrained, or save, wrote",
        )
    load_config(str(path))
    return EncoderDecoder(
        str(path),
        max_length=max_length or 512,
        max_output_length=max_output_length or 512,
        device=device,
    )
