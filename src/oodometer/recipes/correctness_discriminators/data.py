"""Data and work of a task: its sets as read, a parser, its mistakes, judges that learn from them, their votes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset, with_signatures
from ...discriminators import (
    HALF,
    ClassifierDiscriminator,
    CollectOptions,
    Discriminator,
    Examples,
    GenerativeDiscriminator,
    LikelihoodDiscriminator,
    Panel,
    collect,
    folds_of,
    load_discriminator,
    pretrain,
)
from ...models.seq2seq import Clean, EncoderDecoder, close_brackets, composed, snapshot_folders, squeeze
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...store import as_source, write_predictions
from ...verbs.discriminate.thresholding import PROBABILITY, with_probabilities
from ...verbs.discriminate.worth import judge_names
from ..base import Progress, Workspace
from ..kit.sources import passing
from .tasks import RunConfig, Task, located

COLUMNS = ("type", "gold")


def read_judged(folder: Path, name: str) -> Predictions:
    """The predictions file of a set: its votes and P(Correct) of each judge, texts, types and gold outputs."""
    import pyarrow.parquet as pq

    path = folder / "predictions" / f"{name}.parquet"
    said = [one for one in pq.read_schema(path).names if one.startswith(PROBABILITY)]
    source = as_source(path, extra_columns=(*COLUMNS, *said))
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


FOLDS = 2
SHARE = 0.5  # of the negatives that come from sentences that a parser has not seen
SEEDS = 11  # added to the seed of the parser, so that neither half begins from its weights


def train_half(data: TaskData, home: Workspace, progress: Progress, *, fold: int) -> None:
    """Train a parser on all of the training set but a fold; it is written to ``halves/fold-<fold>``.

    A sentence that stands in the training set twice is in one fold.
    """
    rows = np.flatnonzero(_folds(data, data.train.inputs) != fold)
    judge = LikelihoodDiscriminator(new_parser(data, data.task.config.seed + SEEDS + fold))
    pairs = [data.train.inputs[row] for row in rows], [data.train.targets[row] for row in rows], [True] * len(rows)
    with passing(home, f"half-{fold}") as checkpoint:
        judge.fit(*pairs, checkpoint=checkpoint, progress=progress)
        judge.save(home / f"halves/fold-{fold}")


def collect_unseen(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Gold pairs, and mistakes of each parser of a half on the half that it has not seen."""
    config = data.task.config
    part = data.train.sample(config.example_rows, config.seed + 3)
    found = collect(
        [LikelihoodDiscriminator.load(home / f"halves/fold-{fold}").model for fold in range(FOLDS)],
        part.inputs,
        part.targets,
        folds=_folds(data, part.inputs),
        beams=config.beams,
        balance=SHARE * config.balance,
        clean=data.clean,
        seed=config.seed,
        progress=progress,
    )
    write_predictions(found.record(), home / "unseen/train.parquet")
    home.write_json("unseen/statistics.json", found.statistics())


def _folds(data: TaskData, inputs: Sequence[str]) -> Array:
    """The fold of each input, as drawn over the whole training set; the same for every seed of the task."""
    every = data.train.inputs
    fold_of = dict(zip(every, folds_of(every, FOLDS, data.task.config.data_seed).tolist(), strict=True))
    return np.array([fold_of[one] for one in inputs])


PARTS = ("train", "dev")


def make_judge(config: RunConfig, seed: int, start: Path | None = None) -> Discriminator:
    """A member of the panel, not trained; members differ by the seed. ``start`` holds a pretrained encoder, or None."""
    made = located(config.judge)
    if start is not None:
        del made["config"]
        made["source"] = str(start.resolve())
    training = TrainingConfig(**{**config.judge_plan, "seed": seed})
    generative = made.pop("kind") == "generative"
    return (GenerativeDiscriminator if generative else ClassifierDiscriminator)(**made, training=training)


def train_parser(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Train the parser, keep the snapshots of its first checkpoints, write it to ``parser``."""
    config = data.task.config
    parser = new_parser(data, config.seed)
    early: dict[str, Any] = {"snapshots": home / "snapshots", "every": config.every, "most": config.checkpoints}
    with passing(home, "parser") as checkpoint:
        parser.fit(data.train.inputs, data.train.targets, checkpoint=checkpoint, progress=progress, **early)
        parser.save(home / "parser")
        home.write_json("parser.json", {"parameters": parser.parameters})


def collect_mistakes(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Pairs to judge: gold ones, and wrong beams of the first checkpoints, of the training and the development set."""
    config, statistics = data.task.config, {}
    folders = snapshot_folders(home.folder / "snapshots")[: config.checkpoints]
    options = ("checkpoints", "beams", "per_checkpoint", "per_input", "balance", "seed")
    how = CollectOptions(clean=data.clean, **{name: getattr(config, name) for name in options})
    with passing(home, "examples") as checkpoint:
        for done, name in enumerate(PARTS):
            part = data.train.sample(config.example_rows, config.seed + 3) if name == "train" else data.dev

            def tell(a: int, b: int, done: int = done) -> None:
                progress(done * b + a, len(PARTS) * b)

            found = collect(folders, part.inputs, part.targets, options=how, checkpoint=checkpoint, progress=tell)
            write_predictions(found.record(), home / f"examples/{name}.parquet")
            statistics[name] = found.statistics()
        home.write_json("examples/statistics.json", statistics)


def examples(home: Workspace, part: str, of: str = "examples") -> Examples:
    """The pairs of a part, ``train`` or ``dev``, ``of`` early checkpoints or of ``unseen`` sentences."""
    return Examples.from_record(read_pairs(home.folder, part, of))


def read_pairs(folder: Path, part: str, of: str = "examples") -> Predictions:
    """Their record."""
    source = as_source(folder / of / f"{part}.parquet", extra_columns=("origin",))
    return source.read(source.fields)


def pretrain_judges(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Let an encoder learn the gold pairs before judges start from it, and write it to ``pretrained``.

    All seeds of a task share it, as the paper's judges share one pretrained model.
    """
    config, pairs = data.task.config, data.seen(data.train.inputs, data.train.targets)
    training = TrainingConfig(**{**(config.pretraining or {}), "seed": config.data_seed})
    how: dict[str, Any] = {"config": config.judge["config"], "training": training, "progress": progress}
    with passing(home, "pretrained") as checkpoint:
        pretrain(*pairs, home / "pretrained", checkpoint=checkpoint, **how)


def train_judge(data: TaskData, home: Workspace, progress: Progress, *, place: int) -> None:
    """Train a member of the panel and write it to ``judges/judge-<place>``; members differ by their seed."""
    config, pairs, dev = data.task.config, examples(home, "train"), examples(home, "dev")
    if config.halves:
        pairs = pairs.mixed(examples(home, "train", "unseen"), SHARE, config.seed)
    start = None if config.pretraining is None else home.folder.parent / data.task.first / "pretrained"
    judge = make_judge(config, config.seed + place, start)
    known = (*data.seen(dev.inputs, dev.outputs), dev.correct.tolist())
    seen, right = data.seen(pairs.inputs, pairs.outputs), pairs.correct.tolist()
    with passing(home, f"judge-{place}") as checkpoint:
        judge.fit(*seen, right, dev=known, checkpoint=checkpoint, progress=progress)
        judge.save(home / f"judges/judge-{place}")
        # Pairs that it learnt from: right, wrong, and of the wrong ones those on unseen sentences
        told = {"correct": sum(right), "incorrect": len(pairs) - sum(right)}
        told["unseen"] = int(pairs.counts.get("mixed", 0))
        home.write_json(f"judges/judge-{place}.json", {"kind": judge.kind, "parameters": judge.parameters, **told})


def ask(data: TaskData, name: str, home: Workspace, progress: Progress) -> None:
    """Parse a set, let the panel vote on the outputs, and write the predictions file.

    The votes are those of the trained judges; what the parsers of halves say stands beside it.
    """
    config, parser = data.task.config, EncoderDecoder.load(home / "parser")
    judges = Panel([load_discriminator(home / f"judges/judge-{place}") for place in range(config.judges)])
    halves = [home / f"halves/fold-{fold}" for fold in range(FOLDS)] if config.halves else []
    others: list[Discriminator] = [LikelihoodDiscriminator.load(one) for one in halves]
    rows: Dataset = data.dev if name == "dev" else data.test(name)
    parts = 3 if others else 2
    record = parser.predict(
        rows.inputs,
        gold=rows.targets,
        beams=config.beams,
        clean=data.clean,
        ids=rows.ids,
        columns={"type": list(rows.types)},
        progress=lambda a, b: progress(a, parts * b),
    )
    assert record.input is not None
    assert record.output is not None
    given, found = record.input.tolist(), record.output.tolist()
    inputs, outputs = data.seen(given, found)
    # An empty output is judged Incorrect without asking, so it stays empty however pairs are read.
    outputs = [new if old.strip() else "" for new, old in zip(outputs, found, strict=True)]
    said = judges.probabilities(inputs, outputs, progress=lambda a, b: progress(a + b, parts * b))
    votes, names = (said >= HALF).astype(np.int8), judge_names([*judges.members, *others])
    if others:  # parsers read inputs and write outputs as they are
        more = Panel(others).probabilities(given, found, progress=lambda a, b: progress(a + 2 * b, parts * b))
        said = np.vstack([said, more])
    record = replace(record, votes=votes, names={**record.names, "judge": names[: len(votes)]})
    write_predictions(with_probabilities(record, said, names), home / f"predictions/{name}.parquet")
    cut = {"parser_cut": parser.truncated, "parser_unknown": parser.unknown, "judges_cut": judges.truncated}
    home.write_json(f"predictions/{name}.json", cut)
