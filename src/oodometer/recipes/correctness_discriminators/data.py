"""Data and work of a task: its sets as read, a parser, its mistakes, judges that learn from them, their votes."""

from __future__ import annotations

import shutil
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
from ...models.torch.library import use_threads
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...store import as_source, write_predictions
from ...verbs.discriminate.thresholding import PROBABILITY, with_probabilities
from ...verbs.discriminate.worth import judge_names
from ..base import Progress, Workspace
from .tasks import RunConfig, Task, located

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


FOLDS = 2
SHARE = 0.5  # of the negatives that come from sentences that a parser has not seen
SEEDS = 11  # added to the seed of the parser, so that neither half begins from its weights


def train_half(data: TaskData, workspace: Workspace, home: str, progress: Progress, *, fold: int) -> None:
    """Train a parser on all of the training set but a fold; it is written to ``<home>/halves/fold-<fold>``.

    A sentence that stands in the training set twice is in one fold.
    """
    use_threads(1)
    config, checkpoint = data.task.config, workspace / f"{home}/checkpoints/half-{fold}"
    rows = np.flatnonzero(_folds(data, data.train.inputs) != fold)
    judge = LikelihoodDiscriminator(new_parser(data, config.seed + SEEDS + fold))
    judge.fit(
        [data.train.inputs[row] for row in rows],
        [data.train.targets[row] for row in rows],
        [True] * len(rows),
        checkpoint=checkpoint,
        progress=progress,
    )
    judge.save(workspace / f"{home}/halves/fold-{fold}")
    shutil.rmtree(checkpoint, ignore_errors=True)


def collect_unseen(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Gold pairs, and mistakes of each parser of a half on the half that it has not seen."""
    use_threads(1)
    config = data.task.config
    part = data.train.sample(config.example_rows, config.seed + 3)
    found = collect(
        [LikelihoodDiscriminator.load(workspace / f"{home}/halves/fold-{fold}").model for fold in range(FOLDS)],
        part.inputs,
        part.targets,
        folds=_folds(data, part.inputs),
        beams=config.beams,
        balance=SHARE * config.balance,
        clean=data.clean,
        seed=config.seed,
        progress=progress,
    )
    write_predictions(found.record(), workspace / f"{home}/unseen/train.parquet")
    workspace.write_json(f"{home}/unseen/statistics.json", found.statistics())


def likelihood_judges(data: TaskData, workspace: Workspace, home: str) -> list[Discriminator]:
    """The parsers of the halves as judges; none where the task has no halves."""
    if not data.task.config.halves:
        return []
    return [LikelihoodDiscriminator.load(workspace / f"{home}/halves/fold-{fold}") for fold in range(FOLDS)]


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
    if made.pop("kind") == "generative":
        return GenerativeDiscriminator(**made, training=training)
    return ClassifierDiscriminator(**made, training=training)


def train_parser(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Train the parser, keep the snapshots of its first checkpoints, write it to ``<home>/parser``."""
    use_threads(1)
    config, checkpoint = data.task.config, workspace / f"{home}/checkpoints/parser"
    parser = new_parser(data, config.seed)
    parser.fit(
        data.train.inputs,
        data.train.targets,
        checkpoint=checkpoint,
        snapshots=workspace / f"{home}/snapshots",
        every=config.every,
        most=config.checkpoints,
        progress=progress,
    )
    parser.save(workspace / f"{home}/parser")
    workspace.write_json(f"{home}/parser.json", {"parameters": parser.parameters})
    shutil.rmtree(checkpoint, ignore_errors=True)


def collect_mistakes(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Pairs to judge: gold ones, and wrong beams of the first checkpoints, of the training and the development set."""
    use_threads(1)
    config = data.task.config
    folders = snapshot_folders(workspace.folder / home / "snapshots")[: config.checkpoints]
    statistics: dict[str, Any] = {}
    for done, name in enumerate(PARTS):
        part = data.train.sample(config.example_rows, config.seed + 3) if name == "train" else data.dev

        def share(a: int, b: int, done: int = done) -> None:
            progress(done * b + a, len(PARTS) * b)

        found = collect(
            folders,
            part.inputs,
            part.targets,
            checkpoints=config.checkpoints,
            beams=config.beams,
            per_checkpoint=config.per_checkpoint,
            per_input=config.per_input,
            balance=config.balance,
            clean=data.clean,
            seed=config.seed,
            checkpoint=workspace / f"{home}/checkpoints/examples",
            progress=share,
        )
        write_predictions(found.record(), workspace / f"{home}/examples/{name}.parquet")
        statistics[name] = found.statistics()
    workspace.write_json(f"{home}/examples/statistics.json", statistics)
    shutil.rmtree(workspace.folder / home / "checkpoints" / "examples", ignore_errors=True)


def examples(workspace: Workspace, home: str, part: str, of: str = "examples") -> Examples:
    """The pairs of a part, ``train`` or ``dev``."""
    return Examples.from_record(read_pairs(workspace.folder / home, part, of))


def pretrain_judges(data: TaskData, workspace: Workspace, home: str, progress: Progress) -> None:
    """Let an encoder learn the gold pairs before judges start from it, and write it to ``<home>/pretrained``.

    All seeds of a task share it, as the paper's judges share one pretrained model.
    """
    use_threads(1)
    config, checkpoint = data.task.config, workspace / f"{home}/checkpoints/pretrained"
    training = TrainingConfig(**{**(config.pretraining or {}), "seed": config.data_seed})
    pretrain(
        *data.seen(data.train.inputs, data.train.targets),
        workspace / f"{home}/pretrained",
        config=config.judge["config"],
        training=training,
        checkpoint=checkpoint,
        progress=progress,
    )
    shutil.rmtree(checkpoint, ignore_errors=True)


def train_judge(data: TaskData, workspace: Workspace, home: str, progress: Progress, *, place: int) -> None:
    """Train a member of the panel and write it to ``<home>/judges/judge-<place>``; members differ by their seed."""
    use_threads(1)
    config, checkpoint = data.task.config, workspace / f"{home}/checkpoints/judge-{place}"
    pairs, dev = examples(workspace, home, "train"), examples(workspace, home, "dev")
    if config.halves:
        pairs = pairs.mixed(examples(workspace, home, "train", "unseen"), SHARE, config.seed)
    start = None if config.pretraining is None else workspace.folder / data.task.first / "pretrained"
    judge = make_judge(config, config.seed + place, start).fit(
        *data.seen(pairs.inputs, pairs.outputs),
        pairs.correct.tolist(),
        dev=(*data.seen(dev.inputs, dev.outputs), dev.correct.tolist()),
        checkpoint=checkpoint,
        progress=progress,
    )
    judge.save(workspace / f"{home}/judges/judge-{place}")
    told = {"kind": judge.kind, "parameters": judge.parameters, **_counted(pairs)}
    workspace.write_json(f"{home}/judges/judge-{place}.json", told)
    shutil.rmtree(checkpoint, ignore_errors=True)


def _counted(pairs: Examples) -> dict[str, int]:
    """Pairs that a judge learnt from: right, wrong, and of the wrong ones those on unseen sentences."""
    right = int(pairs.correct.sum())
    return {"correct": right, "incorrect": len(pairs) - right, "unseen": int(pairs.counts.get("mixed", 0))}


def panel_of(data: TaskData, workspace: Workspace, home: str) -> Panel:
    """The trained judges."""
    places = range(data.task.config.judges)
    return Panel([load_discriminator(workspace / f"{home}/judges/judge-{place}") for place in places])


def ask(data: TaskData, name: str, workspace: Workspace, home: str, progress: Progress) -> None:
    """Parse a set, let the panel vote on the outputs, and write the predictions file.

    The votes are those of the trained judges; what the parsers of halves say stands beside it.
    """
    use_threads(1)
    parser, judges = EncoderDecoder.load(workspace / f"{home}/parser"), panel_of(data, workspace, home)
    others = likelihood_judges(data, workspace, home)
    rows: Dataset = data.dev if name == "dev" else data.test(name)
    parts = 3 if others else 2
    record = parser.predict(
        rows.inputs,
        gold=rows.targets,
        beams=data.task.config.beams,
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
    write_predictions(with_probabilities(record, said, names), workspace / f"{home}/predictions/{name}.parquet")
    workspace.write_json(
        f"{home}/predictions/{name}.json",
        {"parser_cut": parser.truncated, "parser_unknown": parser.unknown, "judges_cut": judges.truncated},
    )
