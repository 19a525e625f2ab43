"""Data, work and study of a task: a parser, its mistakes, judges that learn from them, and what their votes say."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, cached_property, partial
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, final

import numpy as np

from oodometer.arrays import Array, present
from oodometer.errors import InputError
from oodometer.metrics.votes import (
    VoteCounts,
    absolute,
    bounds_by_agreement,
    mean_of,
    paired_gap,
    share,
)
from oodometer.predictions import Predictions
from oodometer.results import Interval
from oodometer.scores import natural_confidence
from oodometer.store import as_source, write_predictions

from ... import discriminators as judging
from ...datasets import Dataset, with_signatures
from ...models.seq2seq import (
    Clean,
    EncoderDecoder,
    close_brackets,
    composed,
    snapshot_folders,
    squeeze,
)
from ...models.torch.training import TrainingConfig
from ...verbs.discriminate.judged import pseudo_labels
from ...verbs.discriminate.vote_study import VoteStudy, vote_study
from ...verbs.discriminate.worth import PROBABILITY, judge_names, with_probabilities
from ..base import Progress, Workspace, part_of
from ..kit.publish import facts, finished, of_tasks
from ..kit.sources import located, passing
from ..kit.tables import rounded
from .findings import BASELINES
from .tasks import RunConfig, Task


def read_judged(folder: Path, name: str) -> Predictions:
    """The predictions file of a set: its votes and P(Correct) of each judge, texts, types and gold outputs."""
    import pyarrow.parquet as pq

    path = folder / "predictions" / f"{name}.parquet"
    probabilities = (
        column for column in pq.read_schema(path).names if column.startswith(PROBABILITY)
    )
    source = as_source(path, extra_columns=("type", "gold", *probabilities))
    return source.read(source.fields)


@final
class TaskData:
    """The sets of a task without rows of more than ``config.longest`` words; rare words may become signatures."""

    def __init__(self, task: Task) -> None:
        self.task, self.config = task, task.config
        self.set = cache(self._set)

    def _set(self, name: str) -> Dataset:
        rows = self._drawn(name)
        return rows if self._rewrite is None else rows.rewritten(self._rewrite)

    def _drawn(self, name: str) -> Dataset:
        config, short = self.config, self._sets[name][1]
        rows, seed = {"train": (config.train_rows, 0), "dev": (config.dev_rows, 1)}.get(
            name, (config.test_rows, 2)
        )
        return short.sample(rows, config.data_seed + seed)

    @cached_property
    def _sets(self) -> dict[str, tuple[Dataset, Dataset]]:
        """Every set whole, and without its long rows."""
        longest, loads = self.config.longest, {"train": self.task.train, "dev": self.task.dev}
        loaded = {
            name: load()
            for name, load in (loads | {test.name: test.load for test in self.task.tests}).items()
        }
        if longest is None:
            return {name: (data, data) for name, data in loaded.items()}

        def fits(*texts: str) -> bool:
            return max(len(text.split()) for text in texts) <= longest

        return {name: (data, data.keep(fits)) for name, data in loaded.items()}

    @cached_property
    def _rewrite(self) -> Callable[[str], str] | None:
        return (
            with_signatures(self._drawn("train").inputs, self.config.rare)
            if self.config.rare
            else None
        )

    @property
    def clean(self) -> Clean:
        """What is done to outputs before they are compared with gold."""
        return composed(close_brackets, squeeze) if self.task.brackets else squeeze

    def seen(self, inputs: Sequence[str], outputs: Sequence[str]) -> tuple[list[str], list[str]]:
        """Pairs as the judges read them: as they are, or with ``config.aligned`` each word beside its tag."""
        if not self.config.aligned:
            return list(inputs), list(outputs)
        pairs = (
            zip_longest(i.split(), o.split(), fillvalue="~")
            for i, o in zip(inputs, outputs, strict=True)
        )
        return list(inputs), [" ".join(chain.from_iterable(pair)) for pair in pairs]

    def counts(self) -> dict[str, Any]:
        """Rows of each set, before and after, its types and its mark; no text."""
        counts: dict[str, Any] = {}
        for name, (full, short) in self._sets.items():
            data = self.set(name)
            counts[name] = {
                "rows": len(data),
                "of": len(full),
                "too_long": len(full) - len(short),
            }
            counts[name] |= {"types": data.counts, "mark": data.fingerprint, "source": data.source}
        return counts


def new_parser(data: TaskData, seed: int) -> EncoderDecoder:
    """The parser of a run, not trained."""
    config = data.config
    options = located(config.parser) | (
        {"tokens": config.tokens} if "config" in config.parser else {}
    )
    training = TrainingConfig(**{**config.parser_plan, "seed": seed})
    return EncoderDecoder(**options, max_output_length=config.longest_output, training=training)


FOLDS = 2
SHARE = 0.5  # of the negatives that come from sentences that a parser has not seen
SEEDS = 11  # added to the seed of the parser, so that neither half begins from its weights
PARTS = ("train", "dev")


def train_half(data: TaskData, workspace: Workspace, progress: Progress, *, fold: int) -> None:
    """Train a parser without one fold of the training set: ``halves/fold-<fold>``; equal sentences share a fold."""
    rows = np.flatnonzero(_folds(data, data.set("train").inputs) != fold)
    judge = judging.LikelihoodDiscriminator(new_parser(data, data.config.seed + SEEDS + fold))
    part = data.set("train").take(rows.tolist())
    with passing(workspace, f"half-{fold}") as checkpoint:
        judge.fit(
            part.inputs, part.targets, [True] * len(rows), checkpoint=checkpoint, progress=progress
        )
        judge.save(workspace / f"halves/fold-{fold}")


def _halves(data: TaskData, workspace: Workspace) -> list[judging.LikelihoodDiscriminator]:
    folds = range(FOLDS) if data.config.halves else ()
    return [
        judging.LikelihoodDiscriminator.load(workspace / f"halves/fold-{fold}") for fold in folds
    ]


def collect_unseen(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Gold pairs, and mistakes of each parser of a half on the half that it has not seen."""
    config, parsers = data.config, [half.model for half in _halves(data, workspace)]
    part = data.set("train").sample(config.example_rows, config.seed + 3)
    collected = judging.collect(
        parsers,
        part.inputs,
        part.targets,
        folds=_folds(data, part.inputs),
        beams=config.beams,
        clean=data.clean,
        balance=SHARE * config.balance,
        seed=config.seed,
        progress=progress,
    )
    write_predictions(collected.record(), workspace / "unseen/train.parquet")
    workspace.write_json("unseen/statistics.json", collected.statistics())


def _folds(data: TaskData, inputs: Sequence[str]) -> Array:
    """The fold of each input, as drawn over the whole training set; the same for every seed of the task."""
    every = data.set("train").inputs
    fold_of = dict(
        zip(every, judging.folds_of(every, FOLDS, data.config.data_seed).tolist(), strict=True)
    )
    return np.array([fold_of[text] for text in inputs])


def make_judge(config: RunConfig, seed: int, start: Path | None = None) -> judging.Discriminator:
    """A member of the panel, not trained; members differ by the seed. ``start`` holds a pretrained encoder, or None."""
    training = TrainingConfig(**{**config.judge_plan, "seed": seed})
    kind: Callable[..., judging.Discriminator] = judging.ClassifierDiscriminator
    if config.judge["kind"] == "generative":
        kind = judging.GenerativeDiscriminator
    return kind(**_judge_options(config, start), training=training)


def _judge_options(config: RunConfig, start: Path | None) -> dict[str, Any]:
    """What a judge is made of, but its kind."""
    options = located(config.judge)
    del options["kind"]
    if start is not None:
        del options["config"]
        options["source"] = str(start.resolve())
    return options


def train_parser(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Train the parser, keep the snapshots of its first checkpoints, write it to ``parser``."""
    config = data.config
    parser = new_parser(data, config.seed)
    with passing(workspace, "parser") as checkpoint:
        rows = data.set("train")
        parser.fit(
            rows.inputs,
            rows.targets,
            checkpoint=checkpoint,
            progress=progress,
            snapshots=workspace / "snapshots",
            every=config.every,
            most=config.checkpoints,
        )
        parser.save(workspace / "parser")
        workspace.write_json("parser.json", {"parameters": parser.parameters})


def collect_mistakes(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Pairs to judge: gold ones, and wrong beams of the first checkpoints, of the training and the development set."""
    config, statistics = data.config, {}
    folders = snapshot_folders(workspace.folder / "snapshots")[: config.checkpoints]
    options = ("checkpoints", "beams", "per_checkpoint", "per_input", "balance", "seed")
    how = judging.CollectOptions(
        clean=data.clean, **{name: getattr(config, name) for name in options}
    )
    with passing(workspace, "examples") as checkpoint:
        for done, name in enumerate(PARTS):
            part = (
                data.set(name).sample(config.example_rows, config.seed + 3)
                if name == "train"
                else data.set(name)
            )
            collected = judging.collect(
                folders,
                part.inputs,
                part.targets,
                options=how,
                checkpoint=checkpoint,
                progress=part_of(progress, done, len(PARTS)),
            )
            write_predictions(collected.record(), workspace / f"examples/{name}.parquet")
            statistics[name] = collected.statistics()
        workspace.write_json("examples/statistics.json", statistics)


def examples(workspace: Workspace, part: str, of: str = "examples") -> judging.Examples:
    """The pairs of a part, ``train`` or ``dev``, ``of`` early checkpoints or of ``unseen`` sentences."""
    return judging.Examples.from_record(read_pairs(workspace.folder, part, of))


def read_pairs(folder: Path, part: str, of: str = "examples") -> Predictions:
    """Their record."""
    source = as_source(folder / of / f"{part}.parquet", extra_columns=("origin",))
    return source.read(source.fields)


def pretrain_judges(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Let an encoder learn the gold pairs before judges start from it: ``pretrained``, shared by all seeds."""
    config, pairs = data.config, data.seen(data.set("train").inputs, data.set("train").targets)
    training = TrainingConfig(**{**(config.pretraining or {}), "seed": config.data_seed})
    with passing(workspace, "pretrained") as checkpoint:
        judging.pretrain(
            *pairs,
            workspace / "pretrained",
            checkpoint=checkpoint,
            config=config.judge["config"],
            training=training,
            progress=progress,
        )


def train_judge(data: TaskData, workspace: Workspace, progress: Progress, *, member: int) -> None:
    """Train a member of the panel and write it to ``judges/judge-<member>``; members differ by their seed."""
    config, pairs, dev = data.config, examples(workspace, "train"), examples(workspace, "dev")
    if config.halves:
        pairs = pairs.mixed(examples(workspace, "train", "unseen"), SHARE, config.seed)
    start = (
        None
        if config.pretraining is None
        else workspace.folder.parent / data.task.first / "pretrained"
    )
    judge = make_judge(config, config.seed + member, start)
    dev_pairs = (*data.seen(dev.inputs, dev.outputs), dev.correct.tolist())
    seen, right = data.seen(pairs.inputs, pairs.outputs), pairs.correct.tolist()
    with passing(workspace, f"judge-{member}") as checkpoint:
        judge.fit(*seen, right, dev=dev_pairs, checkpoint=checkpoint, progress=progress)
        judge.save(workspace / f"judges/judge-{member}")
        # Pairs that it learnt from: right, wrong, and of the wrong ones those on unseen sentences
        about = {"kind": judge.kind, "parameters": judge.parameters}
        about |= {"correct": sum(right), "incorrect": len(pairs) - sum(right)}
        workspace.write_json(
            f"judges/judge-{member}.json", about | {"unseen": int(pairs.counts.get("mixed", 0))}
        )


def ask(data: TaskData, name: str, workspace: Workspace, progress: Progress) -> None:
    """Parse a set, let the panel vote, write the predictions file, the parsers of halves beside the votes."""
    config, parser, rows = data.config, EncoderDecoder.load(workspace / "parser"), data.set(name)
    folders = [workspace / f"judges/judge-{member}" for member in range(config.judges)]
    judges = judging.Panel(list(map(judging.load_discriminator, folders)))
    half_parsers = _halves(data, workspace)
    parts = 3 if half_parsers else 2
    record = parser.predict(
        rows.inputs,
        gold=rows.targets,
        beams=config.beams,
        clean=data.clean,
        columns={"type": list(rows.types)},
        ids=rows.ids,
        progress=part_of(progress, 0, parts),
    )
    raw_inputs, parsed = present(record.input).tolist(), present(record.output).tolist()
    inputs, outputs = data.seen(raw_inputs, parsed)
    # An empty output is judged Incorrect without asking, so it stays empty however pairs are read.
    outputs = [new if old.strip() else "" for new, old in zip(outputs, parsed, strict=True)]
    p = judges.probabilities(inputs, outputs, progress=part_of(progress, 1, parts))
    votes, names = (
        (p >= judging.HALF).astype(np.int8),
        judge_names([*judges.members, *half_parsers]),
    )
    if half_parsers:  # parsers read inputs and write outputs as they are
        more = judging.Panel(half_parsers).probabilities(
            raw_inputs, parsed, progress=part_of(progress, 2, parts)
        )
        p = np.vstack([p, more])
    record = replace(record, votes=votes, names={**record.names, "judge": names[: len(votes)]})
    write_predictions(
        with_probabilities(record, p, names), workspace / f"predictions/{name}.parquet"
    )
    cut = {
        "parser_cut": parser.truncated,
        "parser_unknown": parser.unknown,
        "judges_cut": judges.truncated,
    }
    workspace.write_json(f"predictions/{name}.json", cut)


def said_of(record: Predictions) -> Array:
    """P(Correct) of the judges that vote, float64, axes (judge, sample)."""
    return _probabilities(record, record.names["judge"])


def said_of_parsers(record: Predictions) -> Array:
    """What the parsers of halves say, float64, axes (parser, sample); none where there are none."""
    return _probabilities(record, _parsers(record))


def _parsers(record: Predictions) -> list[str]:
    """Names of those that say P(Correct) and are no judges that vote."""
    names = [
        name.removeprefix(PROBABILITY) for name in record.columns if name.startswith(PROBABILITY)
    ]
    return [name for name in names if name not in record.names["judge"]]


def _probabilities(record: Predictions, names: Sequence[str]) -> Array:
    return np.array(
        [np.asarray(record.columns[f"{PROBABILITY}{name}"], dtype=np.float64) for name in names]
    )


def _of_all(record: Predictions) -> Array:
    """What judges and parsers of halves say and, as a row more, the parser's confidence."""
    confidence = np.clip(natural_confidence(record)(record), 0.0, 1.0)
    rows = [row for row in (said_of(record), said_of_parsers(record), confidence) if len(row)]
    return np.asarray(np.vstack(rows))


@final
class JudgeThresholds:
    """Thresholds of all voters, set on the development set; None where all or none are right: one half for all."""

    def __init__(self, reference: Predictions, level: float) -> None:
        self.thresholds: judging.AcceptanceThresholds | None = None
        with suppress(InputError):
            self.thresholds = judging.fit_thresholds(_of_all(reference), reference.verdicts, level)

    def voted(self, record: Predictions) -> Predictions:
        """The record with the votes of the judges, each accepting from its own threshold on."""
        if self.thresholds is None:
            return record
        p = said_of(record)
        return replace(
            record, votes=(p >= self.thresholds.values[: len(p), None]).astype(np.int8), _cache={}
        )

    def mixed(self, record: Predictions) -> Predictions | None:
        """The record with votes of judges, parsers of halves and confidence, by thresholds; None without parsers."""
        if not len(said_of_parsers(record)):
            return None
        p = _of_all(record)
        votes = (
            p
            >= (
                np.full(len(p), judging.HALF) if self.thresholds is None else self.thresholds.values
            )[:, None]
        )
        names = {**record.names, "judge": self.voters(record)}
        return replace(record, votes=votes.astype(np.int8), names=names, _cache={})

    @staticmethod
    def voters(record: Predictions) -> tuple[str, ...]:
        """Names of the judges, of the parsers of halves, and of the confidence."""
        return (*record.names["judge"], *_parsers(record), "confidence")

    def choices(self, record: Predictions) -> list[dict[str, Any]]:
        """Lower and upper bound beside the truth under every choice: who votes, from which P on ("half", "thresholds",
        or "slack": strict ones for the lower bound, lenient ones for the upper), and how many must agree.
        """
        p, right = said_of(record), float(record.verdicts.mean())
        accepted = [("judges", "half", p >= judging.HALF, p >= judging.HALF)]
        if self.thresholds is not None:
            both, cut, judges = _of_all(record), self.thresholds, len(p)
            middle, strict, lenient = (
                both >= values[:, None] for values in (cut.values, cut.strict, cut.lenient)
            )
            every = np.arange(len(both))
            voters = {
                "judges": every[:judges],
                "judges and confidence": np.delete(every, every[judges:-1]),
            }
            if len(said_of_parsers(record)):
                voters["parsers of halves and confidence"] = every[judges:]
                voters["judges, parsers of halves and confidence"] = every
            for name, who in voters.items():
                accepted.append((name, "thresholds", middle[who], middle[who]))
                accepted.append((name, "slack", strict[who], lenient[who]))
        rows = []
        for name, accept, firm, lax in accepted:
            members = len(firm)
            for agree in range(members, members // 2, -1):
                lower = float((firm.sum(axis=0) >= agree).mean())
                upper = float((lax.sum(axis=0) > members - agree).mean())
                row = {"voters": name, "accept": accept, "agree": agree, "of": members}
                row |= {
                    "lower": round(lower, 6),
                    "upper": round(upper, 6),
                    "inside": lower <= right <= upper,
                }
                rows.append({**row, "error": round(abs((lower + upper) / 2 - right), 6)})
        return rows

    def to_dict(self, record: Predictions) -> dict[str, Any] | None:
        """A plain mapping, ready for JSON; the record names the voters."""
        return None if self.thresholds is None else self.thresholds.to_dict(self.voters(record))


FORM = 4  # raise it where the form of the result changes: then the step is done again
LEVEL = 0.95
_SHORT = (
    "rows",
    "judges",
    "gold",
    "methods",
    "inside",
    "width",
    "bounds",
    "subsets",
    "skipped",
    "warnings",
)


def study_task(
    data: TaskData,
    workspace: Workspace,
    steps: Sequence[str],
    more: Sequence[str],
    progress: Progress,
) -> None:
    """Judge the votes on every test set, the procedures of the paper beside: ``result.json``, without any text."""
    task, folder = data.task, workspace.folder
    reference, sets = read_judged(folder, "dev"), {}
    points = JudgeThresholds(reference, LEVEL)
    judged = partial(vote_study, draws=task.config.draws, level=LEVEL, seed=task.config.data_seed)
    for done, test in enumerate(task.tests, 1):
        record = read_judged(folder, test.name)
        voted, mixed = points.voted(record), points.mixed(record)
        study: dict[str, Any] = {
            name: getattr(test, name) for name in ("title", "domain", "paper", "resembles")
        }
        study |= _short(judged(voted, reference=reference))
        study["at_half"] = _beside(judged(record, reference=reference), len(said_of(record)))
        if mixed is not None and mixed.votes is not None:  # all but one agree
            voters = len(mixed.votes)
            agree = max(voters - 1, voters // 2 + 1)
            mixed_study = judged(mixed, agree=agree, reference=points.mixed(reference))
            study["mixed"] = {"agree": agree, **_beside(mixed_study, agree)}
        study["choices"], study["types"] = points.choices(record), _by_type(voted)
        sets[test.name] = study | {"cut": workspace.read_json(f"predictions/{test.name}.json")}
        progress(done, len(task.tests))
    parent = Workspace(folder.parent)
    stamps = {name: parent.stamp(f"{task.name}/{name}") for name in steps}
    verdicts = reference.verdicts[reference.verdicts >= 0]
    result = {
        **facts(FORM, task.config),
        "task": task.name,
        "title": task.title,
        "family": task.family,
    }
    result |= {
        what: {n: round(stamp[what], 1) for n, stamp in stamps.items()}
        for what in ("seconds", "cpu_seconds")
    }
    result |= {"data": data.counts(), "parser": workspace.read_json("parser.json")}
    result |= {"examples": workspace.read_json("examples/statistics.json")}
    result |= {
        "panel": {"judges": task.config.judges, **workspace.read_json("judges/judge-0.json")}
    }
    result |= {"replicate_of": task.replicate_of, "seed": task.config.seed}
    result |= {"thresholds": rounded(points.to_dict(reference))}
    result |= {"dev_accuracy": rounded(_share(int(verdicts.sum()), len(verdicts)))}
    result |= {"sets": sets, **{name: workspace.read_json(f"{name}.json") for name in more}}
    workspace.write_json("result.json", result)


def _by_type(voted: Predictions) -> list[Any]:
    """Truth and bounds of each generalisation or genre, all judges agreeing."""
    kinds, rows = np.asarray(voted.columns["type"]).astype(str), []
    for name in np.unique(kinds).tolist():
        counts = VoteCounts.of(voted.take(np.flatnonzero(kinds == name)))
        widest = bounds_by_agreement(counts, LEVEL)[0]
        row = {
            "type": name,
            "rows": counts.rows,
            "gold": _share(int(counts.of_verdict[1]), counts.rows),
            "inside": widest["inside"],
        }
        row |= {end: widest[end].to_dict() for end in ("lower", "upper", "mean")}
        rows.append(rounded(row))
    return rows


def _share(part: int, total: int) -> dict[str, Any]:
    return present(share(part, total, LEVEL)).to_dict()


def _short(study: VoteStudy) -> dict[str, Any]:
    """What the tables and the claims need of a study."""
    fields = study.to_dict()
    return {name: rounded(fields[name]) for name in _SHORT}


def _beside(study: VoteStudy, agree: int) -> dict[str, Any]:
    """What another procedure adds: its own rows, the bounds of its own k, the smallest and the largest samples."""
    short = _short(study)
    methods = [row for row in short["methods"] if row["method"] not in BASELINES]
    smallest, *larger = short["subsets"]
    samples = [
        {**subset, "bounds": _agreeing(subset, agree)} for subset in (smallest, *larger[-1:])
    ]
    beside = {name: short[name] for name in ("judges", "inside", "width")}
    return {**beside, "methods": methods, "bounds": _agreeing(short, agree), "subsets": samples}


def _agreeing(of: Mapping[str, Any], agree: int) -> list[Any]:
    return [row for row in of["bounds"] if row["agree"] == agree]


_OF_SET = (
    "title",
    "domain",
    "rows",
    "judges",
    "gold",
    "methods",
    "inside",
    "width",
    "bounds",
    "choices",
)
_OF_TRAINING = ("task", "seed", "version", "cpu_seconds", "dev_accuracy", "thresholds")


def combine(
    workspace: Workspace, scale: str, tasks: Sequence[str], replicates: Sequence[str] = ()
) -> dict[str, Any]:
    """One result of the tasks that are finished, with their trainings from other seeds, without types and samples."""
    result = of_tasks(workspace, "correctness-discriminators", scale, FORM, tasks)
    trainings: dict[str, dict[str, Any]] = {}
    for name in replicates:
        if run := finished(workspace, f"{name}/result.json", FORM):
            brief = {key: run[key] for key in _OF_TRAINING} | {"sets": {}}
            for key, study in run["sets"].items():
                brief["sets"][key] = {field: study[field] for field in _OF_SET}
                for procedure in ("at_half", "mixed"):
                    if procedure in study:
                        brief["sets"][key][procedure] = {
                            k: v for k, v in study[procedure].items() if k != "subsets"
                        }
            brief |= {"self_training": run["self_training"]} if "self_training" in run else {}
            trainings.setdefault(run["replicate_of"], {})[str(run["seed"])] = brief
    missing = result.pop("missing")
    return {**result, "replicates": trainings, "missing": missing}


def learn_metric(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Train one discriminator of a metric and compare its mean on every test set with the truth: ``metric.json``. Of
    gold outputs only a share equal to the parser's accuracy on the development set is taken: else the mean is too high.
    """
    verdicts, config = read_judged(workspace.folder, "dev").verdicts, data.config
    accuracy = float((verdicts[verdicts >= 0] > 0).mean())

    def measured(outputs: Any, golds: Any) -> Array:
        return judging.token_f1(
            [data.clean(output) for output in outputs], [data.clean(gold) for gold in golds]
        )

    pairs = {}
    for part in PARTS:
        collected, rows = examples(workspace, part), data.set(part)
        gold = dict(zip(rows.inputs, rows.targets, strict=True))
        # All mistakes, and so many right ones that about the share ``accuracy`` is right
        wrong, right = np.flatnonzero(~collected.correct), np.flatnonzero(collected.correct)
        count = round(len(wrong) * accuracy / (1 - accuracy)) if accuracy < 1 else len(right)
        sample = np.random.default_rng(config.seed).choice(
            right, size=min(count, len(right)), replace=False
        )
        chosen = np.sort(np.concatenate([wrong, sample])).tolist()
        inputs, outputs = (
            [texts[row] for row in chosen] for texts in (collected.inputs, collected.outputs)
        )
        pairs[part] = (
            *data.seen(inputs, outputs),
            measured(outputs, [gold[text] for text in inputs]).tolist(),
        )
    training = TrainingConfig(**{**config.judge_plan, "seed": config.seed})
    judge = judging.RegressionDiscriminator(**located(config.metric_judge), training=training)
    with passing(workspace, "metric") as checkpoint:
        judge.fit(*pairs["train"], dev=pairs["dev"], checkpoint=checkpoint, progress=progress)

    def values_of(name: str) -> tuple[Array, Array]:
        record = read_judged(workspace.folder, name)
        outputs = present(record.output).tolist()
        true = measured(outputs, record.columns["gold"].tolist()).astype(float)
        judged = judge.probabilities(*data.seen(present(record.input).tolist(), outputs)).astype(
            float
        )
        return true, np.where([bool(output.strip()) for output in outputs], judged, 0.0)

    source, sets = _mean(values_of("dev")[0]), []
    for test in data.task.tests:
        true, judged = values_of(test.name)
        first = _mean(true)
        # The difference of the means of two samples, its error from both
        value = first.value - source.value
        half = np.hypot(first.upper - first.lower, source.upper - source.lower) / 2
        far = Interval(value, max(value - half, -1.0), min(value + half, 1.0), LEVEL, "asymptotic")
        both = np.std(true) > 0 and np.std(judged) > 0
        row: dict[str, Any] = {
            "name": test.name,
            "title": test.title,
            "rows": len(true),
            "true": first.to_dict(),
        }
        row |= {
            "predicted": _mean(judged).to_dict(),
            "error": absolute(_gap(true - judged)).to_dict(),
        }
        row |= {"source": source.to_dict(), "source_error": absolute(far).to_dict()}
        sets.append(row | {"correlation": float(np.corrcoef(true, judged)[0, 1]) if both else 0.0})
    workspace.write_json("metric.json", rounded({"metric": data.task.metric, "sets": sets}))


def _mean(values: Array) -> Interval:
    return mean_of(float(values.sum()), float(np.square(values).sum()), len(values), LEVEL)


def _gap(values: Array) -> Interval:
    return paired_gap(float(values.sum()), float(np.square(values).sum()), len(values), LEVEL)


def halves(types: Array, seed: int) -> tuple[Array, Array]:
    """Rows that may be learnt from, and rows that judge the outcome, every type cut in two."""
    order = np.random.default_rng(seed).permutation(len(types))
    codes = np.unique(types, return_inverse=True)[1][order]
    by_type = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    rank = np.empty(len(types), dtype=np.int64)
    rank[by_type] = np.arange(len(types)) - first[codes[by_type]]
    return np.sort(order[rank % 2 == 0]), np.sort(order[rank % 2 == 1])


def self_train(data: TaskData, workspace: Workspace, progress: Progress) -> None:
    """Train the parser again, on training set and accepted outputs of one half of a test set: ``self_training.json``.
    The other half and the other sets say whether it is better than the old one, by the same plan from the same seed.
    """
    config, name, folder = data.config, present(data.task.pseudo_labels), workspace / "self_trained"
    old = read_judged(workspace.folder, name)
    learn, judge = halves(np.asarray(old.columns["type"]).astype(str), config.data_seed)
    accepted = pseudo_labels(old.take(learn), level=LEVEL)
    plain = accepted.to_dict()
    result: dict[str, Any] = {"set": name, "pool": len(learn)}
    result |= {
        key: plain[key] for key in ("kept", "accepted", "precision", "accuracy", "agree", "ladder")
    }
    result |= {"sets": []}
    if len(accepted):
        if (folder / "finished").is_file():  # before an interruption
            parser = EncoderDecoder.load(folder)
        else:
            inputs = [*data.set("train").inputs, *present(accepted.record.input).tolist()]
            outputs = [*data.set("train").targets, *present(accepted.record.output).tolist()]
            parser = new_parser(data, config.seed)
            parser.fit(inputs, outputs, checkpoint=folder / "checkpoint", progress=progress)
            parser.save(folder)
            shutil.rmtree(folder / "checkpoint", ignore_errors=True)
            (folder / "finished").write_text("")
        for test in data.task.tests:
            before, rows = read_judged(workspace.folder, test.name), data.set(test.name)
            chosen = judge if test.name == name else np.arange(len(rows))
            part = rows.take(chosen.tolist())
            record = parser.predict(
                part.inputs, gold=part.targets, beams=config.beams, clean=data.clean
            )
            right = {"old": before.verdicts[chosen] > 0, "new": record.verdicts > 0}
            row = {
                key: _share(int(verdicts.sum()), len(verdicts)) for key, verdicts in right.items()
            }
            gain = _gap(right["new"].astype(float) - right["old"]).to_dict()
            result["sets"].append({"name": test.name, "rows": len(chosen), **row, "new_gain": gain})
    workspace.write_json("self_training.json", rounded(result))
