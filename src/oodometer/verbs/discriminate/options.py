"""Options of the verb `discriminate`: what was asked for, checked once and handed through all its rooms."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from ...engines import Engine, task_engine
from ...errors import UsageError
from ...intervals import check_level
from ...models.seq2seq import EncoderDecoder
from ...models.torch.training import TrainingConfig

KINDS = ("encoder", "encoder-decoder", "likelihood")
_ENDINGS = (".jsonl", ".csv", ".parquet", ".arrow", ".feather", ".npz")

Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class TrainingOptions:
    """The arguments of `train_judges` besides files and folder; `UsageError` for those that make no sense together.

    ``training`` are fields of `TrainingConfig`, None for what suits the model.
    """

    judges: int = 5
    kind: str = "encoder"
    source: str | None = None
    config: Mapping[str, Any] | None = None
    head: str | None = None
    pretraining: int = 0
    training: Mapping[str, Any] = field(default_factory=dict)
    max_length: int = 512
    balance: float = 1.0
    metric: str = "exact"
    all_judges: bool = False
    level: float = 0.95
    seed: int = 0
    mapping: Mapping[str, str] | None = None
    device: str | None = None
    engine: str | Engine | None = None
    workers: int | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        task_engine(self.engine, self.workers)
        if self.judges < 1:
            raise UsageError(f"expected at least 1 judge, got {self.judges}; 5 are usual")
        if self.pretraining < 0:
            raise UsageError(f"expected 0 or more passes of pretraining, got {self.pretraining}")
        if self.pretraining and (self.source is not None or self.kind != "encoder"):
            raise UsageError("pretraining is for encoders from scratch; leave it out, or source and kind")
        if self.kind not in KINDS:
            raise UsageError(f"expected a kind of {', '.join(KINDS[:-1])} or {KINDS[-1]}, got {self.kind!r}")
        if self.kind != "encoder" and self.metric != "exact":
            raise UsageError(f"a judge that predicts {self.metric} is an encoder; leave out --kind {self.kind}")
        if self.max_length < 8:
            raise UsageError(f"expected max_length of at least 8 tokens, got {self.max_length}")
        if self.source is not None and self.config is not None:
            raise UsageError("give source or config, not both")
        if self.head is not None and (self.kind != "encoder" or self.metric != "exact"):
            raise UsageError("head is for encoders that tell right from wrong; leave it out")

    @property
    def in_tasks(self) -> bool:
        """Whether judges are trained as tasks, each by one thread."""
        return self.engine is not None or self.workers is not None

    def judge(self, seed: int, start: str | None = None) -> Discriminator:
        """The untrained judge of a seed; ``start`` is a folder with an encoder that was pretrained here."""
        usual = self._judge(None, self.source)
        given = {name: value for name, value in self.training.items() if value is not None}
        how = replace(getattr(usual, "training", None) or usual.model.training, seed=seed, **given)
        return self._judge(how, start or self.source)  # type: ignore[no-any-return]

    def _judge(self, how: TrainingConfig | None, source: str | None) -> Any:
        more: dict[str, Any] = {"training": how, "max_length": self.max_length, "device": self.device}
        if self.kind == "likelihood":
            sizes, longest = None if source is not None else dict(self.config or {}), self.max_length
            model = EncoderDecoder(source, config=sizes, tokens="pieces", max_output_length=longest, **more)
            return LikelihoodDiscriminator(model)
        if self.kind == "encoder-decoder":
            sizes = None if source is not None else dict(self.config or {})
            return GenerativeDiscriminator(source, config=sizes, tokens="pieces", **more)
        sizes = None if source is not None else dict(self.config or SMALL)
        if self.metric != "exact":
            return RegressionDiscriminator(source, config=sizes, **more)
        verdict = self.head or ("mark" if self.source is not None else "tokens")
        return ClassifierDiscriminator(source, config=sizes, head=verdict, **more)


@dataclass(frozen=True)
class JudgingOptions:
    """The arguments of `judge_outputs` besides judges and outputs; `UsageError` for those that make no sense."""

    out: str | os.PathLike[str] | None = None
    agree: int | None = None
    calibrate: Any = None
    threshold: float | None = None
    with_confidence: bool = False
    pseudo: str | os.PathLike[str] | None = None
    existing: Sequence[str] = ()
    labels: Sequence[str] = ()
    max_length: int = 512
    level: float = 0.95
    seed: int = 0
    mapping: Mapping[str, str] | None = None
    device: str | None = None
    progress: Progress | None = None

    def __post_init__(self) -> None:
        check_level(self.level)
        if self.threshold is not None and not 0 <= self.threshold <= 1:
            raise UsageError(f"expected a threshold of P(Correct) from 0 to 1, got {self.threshold:g}")
        if self.threshold is not None and self.calibrate is not None:
            raise UsageError("give --calibrate or --threshold, not both: the first sets the judges' thresholds")
        if self.with_confidence and self.calibrate is None:
            raise UsageError("--with-confidence needs --calibrate FILE: what a confidence means is learnt from labels")
        for path in (self.out, self.pseudo):
            if path is not None:
                _check_place(path)


def _check_place(path: str | os.PathLike[str]) -> None:
    """Say before the work, not after it, that a file cannot be written there."""
    place = Path(os.path.abspath(path))
    if not place.parent.is_dir() or place.is_dir() or not os.access(place.parent, os.W_OK):
        why = "it is a folder" if place.is_dir() else f"{place.parent} is no folder that may be written"
        raise UsageError(f"cannot write {path}: {why}; choose a file in a folder that exists")
    if place.suffix.lower() not in _ENDINGS:
        raise UsageError(f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz")
