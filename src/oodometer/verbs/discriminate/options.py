"""What the options of `discriminate` amount to: calls that make no sense are refused, judges are made of the others."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from ...discriminators import (
    SMALL,
    ClassifierDiscriminator,
    Discriminator,
    GenerativeDiscriminator,
    LikelihoodDiscriminator,
    RegressionDiscriminator,
)
from ...engines import task_engine
from ...errors import UsageError
from ...models.seq2seq import EncoderDecoder
from ..model_options import JudgeOptions, TrainOptions

_KINDS = ("encoder", "encoder-decoder", "likelihood")
_ENDINGS = (".jsonl", ".csv", ".parquet", ".arrow", ".feather", ".npz")


def check_training(options: TrainOptions) -> None:
    """`UsageError` for options that make no sense together."""
    kind, exact = options.kind, options.metric == "exact"
    task_engine(options.engine, options.workers)
    if options.judges < 1:
        raise UsageError(f"expected at least 1 judge, got {options.judges}; 5 are usual")
    if options.pretraining < 0:
        raise UsageError(f"expected 0 or more passes of pretraining, got {options.pretraining}")
    if options.pretraining and (options.source is not None or kind != "encoder"):
        raise UsageError("pretraining is for encoders from scratch; leave it out, or source and kind")
    if kind not in _KINDS:
        raise UsageError(f"expected a kind of {', '.join(_KINDS[:-1])} or {_KINDS[-1]}, got {kind!r}")
    if kind != "encoder" and not exact:
        raise UsageError(f"a judge that predicts {options.metric} is an encoder; leave out --kind {kind}")
    if options.max_length < 8:
        raise UsageError(f"expected max_length of at least 8 tokens, got {options.max_length}")
    if options.source is not None and options.config is not None:
        raise UsageError("give source or config, not both")
    if options.head is not None and (kind != "encoder" or not exact):
        raise UsageError("head is for encoders that tell right from wrong; leave it out")


def in_tasks(options: TrainOptions) -> bool:
    """Whether judges are trained as tasks, each by one thread."""
    return options.engine is not None or options.workers is not None


def untrained(options: TrainOptions, start: str | None, seed: int) -> Discriminator:
    """The untrained judge of a seed; ``start`` is a folder with an encoder that was pretrained here."""
    more: dict[str, Any] = {"max_length": options.max_length, "device": options.device}

    def judge(how: Any, source: str | None) -> Any:
        sizes = dict(options.config or {}) if source is None else None
        if options.kind == "likelihood":
            longest = options.max_length
            return LikelihoodDiscriminator(
                EncoderDecoder(source, config=sizes, tokens="pieces", max_output_length=longest, training=how, **more)
            )
        if options.kind == "encoder-decoder":
            return GenerativeDiscriminator(source, config=sizes, tokens="pieces", training=how, **more)
        sizes = dict(options.config or SMALL) if source is None else None
        if options.metric != "exact":
            return RegressionDiscriminator(source, config=sizes, training=how, **more)
        verdict = options.head or ("tokens" if options.source is None else "mark")
        return ClassifierDiscriminator(source, config=sizes, head=verdict, training=how, **more)

    usual = judge(None, options.source)
    plan = {"epochs": options.epochs, "batch_size": options.batch_size, "learning_rate": options.learning_rate}
    given = {name: value for name, value in plan.items() if value is not None}
    how = replace(getattr(usual, "training", None) or usual.model.training, seed=seed, **given)
    return judge(how, start or options.source)  # type: ignore[no-any-return]


def check_judging(options: JudgeOptions) -> None:
    """`UsageError` for options that make no sense together."""
    if options.threshold is not None and not 0 <= options.threshold <= 1:
        raise UsageError(f"expected a threshold of P(Correct) from 0 to 1, got {options.threshold:g}")
    if options.threshold is not None and options.calibrate is not None:
        raise UsageError("give --calibrate or --threshold, not both: the first sets the judges' thresholds")
    if options.with_confidence and options.calibrate is None:
        raise UsageError("--with-confidence needs --calibrate FILE: what a confidence means is learnt from labels")
    for path in (one for one in (options.out, options.pseudo_labels) if one is not None):
        place = Path(os.path.abspath(path))
        if not place.parent.is_dir() or place.is_dir() or not os.access(place.parent, os.W_OK):
            why = "it is a folder" if place.is_dir() else f"{place.parent} is no folder that may be written"
            raise UsageError(f"cannot write {path}: {why}; choose a file in a folder that exists")
        if place.suffix.lower() not in _ENDINGS:
            raise UsageError(f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz")
