"""Data of a task: its sets as the run reads them, filtered, drawn and rewritten; read once, when first needed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, final

from ...datasets import Dataset, with_signatures
from ...models.seq2seq import Clean, EncoderDecoder, close_brackets, composed, squeeze
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...store import as_source
from ...verbs.discriminate.thresholding import PROBABILITY
from .tasks import Task, located

COLUMNS = ("type", "gold")


def read_judged(folder: Path, name: str) -> Predictions:
    """The predictions file of a set: its votes and P(Correct) of each judge, texts, types and gold outputs."""
    import pyarrow.parquet as pq

    path = folder / "predictions" / f"{name}.parquet"
    said = [one for one in pq.read_schema(path).names if one.startswith(PROBABILITY)]
    source = as_source(path, extra_columns=(*COLUMNS, *said))
    return source.read(source.fields)


def read_pairs(folder: Path, part: str, of: str = "examples") -> Predictions:
    """The examples of a part, ``train`` or ``dev``, ``of`` early checkpoints or of ``unseen`` sentences."""
    source = as_source(folder / of / f"{part}.parquet", extra_columns=("origin",))
    return source.read(source.fields)


@final
class TaskData:
    """Training, development and test sets of a task.

    Rows whose input or output has more than ``config.longest`` words are left out of every set, and counted. Then
    rows are drawn, as many of each type as can be. With ``config.rare`` rare words of the inputs become signatures,
    known words being those of the training set that was kept.
    """

    def __init__(self, task: Task) -> None:
        self.task = task

    @cached_property
    def train(self) -> Dataset:
        """What the parser learns from."""
        return self._ready(self._short_enough["train"].sample(self.task.config.train_rows, self.task.config.data_seed))

    @cached_property
    def dev(self) -> Dataset:
        """What stops the training of judges, and gives ATC its threshold: in distribution."""
        return self._ready(self._short_enough["dev"].sample(self.task.config.dev_rows, self.task.config.data_seed + 1))

    def test(self, name: str) -> Dataset:
        """A test set by its name."""
        return self._ready(self._short_enough[name].sample(self.task.config.test_rows, self.task.config.data_seed + 2))

    @property
    def clean(self) -> Clean:
        """What is done to outputs before they are compared with gold."""
        return composed(close_brackets, squeeze) if self.task.brackets else squeeze

    def seen(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Pairs as the judges read them: as they are, or with ``config.aligned`` each word beside its tag.

        >>> from .tasks import tasks_of
        >>> data = TaskData(next(task for task in tasks_of("small") if task.config.aligned))
        >>> data.seen(["The dog barks"], ["DET NOUN"])
        (['The dog barks'], ['The DET dog NOUN barks ~'])
        """
        if not self.task.config.aligned:
            return list(inputs), list(outputs)
        pairs = (zip_longest(i.split(), o.split(), fillvalue="~") for i, o in zip(inputs, outputs, strict=True))
        return list(inputs), [" ".join(chain.from_iterable(pair)) for pair in pairs]

    def fingerprint(self, name: str) -> str:
        """A name of the content of a set, as it is used."""
        return self._set(name).fingerprint

    def counts(self) -> dict[str, Any]:
        """Rows of each set, before and after, its types and its mark; no text."""
        return {
            name: {
                "rows": len(found),
                "of": len(self._whole[name]),
                "too_long": len(self._whole[name]) - len(kept),
                "types": found.counts,
                "mark": found.fingerprint,
                "source": found.source,
            }
            for name, kept in self._short_enough.items()
            for found in [self._set(name)]
        }

    def _set(self, name: str) -> Dataset:
        return self.train if name == "train" else self.dev if name == "dev" else self.test(name)

    @cached_property
    def _whole(self) -> dict[str, Dataset]:
        loads = {"train": self.task.train, "dev": self.task.dev}
        return {name: load() for name, load in (loads | {one.name: one.load for one in self.task.tests}).items()}

    @cached_property
    def _short_enough(self) -> dict[str, Dataset]:
        longest = self.task.config.longest
        if longest is None:
            return self._whole
        return {
            name: data.keep(lambda i, o: max(len(i.split()), len(o.split())) <= longest)
            for name, data in self._whole.items()
        }

    @cached_property
    def _rewrite(self) -> Callable[[str], str] | None:
        rare = self.task.config.rare
        if not rare:
            return None
        train = self._short_enough["train"].sample(self.task.config.train_rows, self.task.config.data_seed)
        return with_signatures(train.inputs, rare)

    def _ready(self, data: Dataset) -> Dataset:
        return data.rewritten(inputs=self._rewrite)


def new_parser(data: TaskData, seed: int) -> EncoderDecoder:
    """The parser of a run, not trained."""
    config = data.task.config
    made = located(config.parser)
    if "config" in made:
        made["tokens"] = config.tokens
    training = TrainingConfig(**{**config.parser_plan, "seed": seed})
    return EncoderDecoder(**made, max_output_length=config.longest_output, training=training)
