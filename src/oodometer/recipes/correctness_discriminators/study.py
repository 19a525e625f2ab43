"""The study of a task: what its judges' votes say of each test set and each of its types, beside the truth."""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, replace
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, final

import numpy as np

from ...arrays import Array
from ...datasets import Dataset, with_signatures
from ...discriminators import (
    HALF,
    AcceptanceThresholds,
    ClassifierDiscriminator,
    CollectOptions,
    Discriminator,
    Examples,
    GenerativeDiscriminator,
    LikelihoodDiscriminator,
    Panel,
    RegressionDiscriminator,
    collect,
    fit_thresholds,
    folds_of,
    load_discriminator,
    pretrain,
    token_f1,
)
from ...errors import InputError
from ...metrics.votes import VoteCounts, absolute, bounds_by_agreement, mean_of, paired_gap, share
from ...models.seq2seq import Clean, EncoderDecoder, close_brackets, composed, snapshot_folders, squeeze
from ...models.torch.training import TrainingConfig
from ...predictions import Predictions
from ...results import Interval
from ...scores import natural_confidence
from ...store import as_source, write_predictions
from ...verbs.discriminate.judged import PseudoLabels, pseudo_labels
from ...verbs.discriminate.vote_study import VoteStudy, vote_study
from ...verbs.discriminate.worth import PROBABILITY, judge_names, with_probabilities
from ...version import __version__
from ..base import Progress, Workspace
from ..kit.publish import finished, joined, of_tasks
from ..kit.sources import passing
from ..kit.tables import rounded
from .findings import BASELINES
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


@final
class JudgeThresholds:
    """The thresholds of judges and of other voters, set on the labelled outputs of the development set.

    ``reference`` are these outputs with what is said of them. ``thresholds`` are those of the judges, of the parsers of
    halves where there are some, and, last, of the parser's confidence (ATC); None where all outputs are right or none
    is, and all voters keep one half.
    """

    def __init__(self, reference: Predictions, level: float) -> None:
        self.thresholds: AcceptanceThresholds | None = None
        with suppress(InputError):
            self.thresholds = fit_thresholds(_of_all(reference), reference.verdicts, level)

    def voted(self, record: Predictions) -> Predictions:
        """The record with the votes of the judges, each accepting from its own threshold on."""
        if self.thresholds is None:
            return record
        judges = len(said_of(record))
        votes = said_of(record) >= self.thresholds.values[:judges, None]
        return replace(record, votes=votes.astype(np.int8), _cache={})

    def mixed(self, record: Predictions) -> Predictions | None:
        """The record with the votes of judges, parsers of halves and confidence, each from its own threshold on.

        None where there are no parsers of halves.
        """
        if not len(said_of_parsers(record)):
            return None
        both = _of_all(record)
        cuts = np.full(len(both), HALF) if self.thresholds is None else self.thresholds.values
        votes = (both >= cuts[:, None]).astype(np.int8)
        return replace(record, votes=votes, names={**record.names, "judge": voters_of(record)}, _cache={})

    def choices(self, record: Predictions) -> list[dict[str, Any]]:
        """Lower and upper bound under every choice, beside the truth.

        A choice is who votes (the judges alone, with confidence, with the parsers of halves), from which P on they
        accept ("half", "thresholds", or "slack": the strict thresholds for the lower bound and the lenient ones for the
        upper), and how many must agree, from all down to just more than half.
        """
        said, right = said_of(record), float(record.verdicts.mean())
        half = said >= HALF
        accepted = [("judges", "half", half, half)]
        if self.thresholds is not None:
            both, cut, judges = _of_all(record), self.thresholds, len(said)
            middle, strict, lenient = (both >= values[:, None] for values in (cut.values, cut.strict, cut.lenient))
            every = np.arange(len(both))
            voters = {"judges": every[:judges], "judges and confidence": np.delete(every, every[judges:-1])}
            if len(said_of_parsers(record)):
                voters["parsers of halves and confidence"] = every[judges:]
                voters["judges, parsers of halves and confidence"] = every
            for name, who in voters.items():
                accepted.append((name, "thresholds", middle[who], middle[who]))
                accepted.append((name, "slack", strict[who], lenient[who]))
        out = []
        for name, accept, firm, lax in accepted:
            members = len(firm)
            for agree in range(members, members // 2, -1):
                lower = float((firm.sum(axis=0) >= agree).mean())
                upper = float((lax.sum(axis=0) > members - agree).mean())
                row = {"voters": name, "accept": accept, "agree": agree, "of": members}
                row |= {"lower": round(lower, 6), "upper": round(upper, 6), "inside": lower <= right <= upper}
                out.append({**row, "error": round(abs((lower + upper) / 2 - right), 6)})
        return out

    def to_dict(self, record: Predictions) -> dict[str, Any] | None:
        """A plain mapping, ready for JSON; the record names the voters."""
        return None if self.thresholds is None else self.thresholds.to_dict(voters_of(record))


def voters_of(record: Predictions) -> tuple[str, ...]:
    """Names of the judges, of the parsers of halves, and of the confidence."""
    return (*record.names["judge"], *_parsers(record), "confidence")


def said_of(record: Predictions) -> Array:
    """P(Correct) of the judges that vote, float64, axes (judge, sample)."""
    return _said(record, record.names["judge"])


def said_of_parsers(record: Predictions) -> Array:
    """What the parsers of halves say, float64, axes (parser, sample); none where there are none."""
    return _said(record, _parsers(record))


def _parsers(record: Predictions) -> list[str]:
    """Names of those that say P(Correct) and are no judges that vote."""
    known = [name.removeprefix(PROBABILITY) for name in record.columns if name.startswith(PROBABILITY)]
    return [name for name in known if name not in record.names["judge"]]


def _said(record: Predictions, names: Sequence[str]) -> Array:
    return np.array([np.asarray(record.columns[f"{PROBABILITY}{name}"], dtype=np.float64) for name in names])


def _of_all(record: Predictions) -> Array:
    """What judges and parsers of halves say and, as a row more, the parser's confidence."""
    confidence = np.clip(natural_confidence(record)(record), 0.0, 1.0)
    rows = [one for one in (said_of(record), said_of_parsers(record), confidence) if len(one)]
    return np.asarray(np.vstack(rows))


FORM = 4  # raise it where the form of the result changes: then the step is done again
LEVEL = 0.95
_TOLD = ("rows", "judges", "gold", "methods", "inside", "width", "bounds", "subsets", "skipped", "warnings")


def study_task(data: TaskData, home: Workspace, steps: Sequence[str], more: Sequence[str], progress: Progress) -> None:
    """Judge the votes on every test set; writes ``result.json``, which holds no text of the data.

    The judges accept from their thresholds on, which the development set gives; what they say at one half, as in the
    paper, stands beside it (``at_half``), what they say together with confidence and parsers of halves, of which one
    may disagree (``mixed``), and the bounds under each choice of voters and thresholds (``choices``).

    ``steps`` are those whose times are told, ``more`` names its further parts (pseudo-labels, another metric).
    """
    task, folder = data.task, home.folder
    reference, sets = read_judged(folder, "dev"), {}
    points = JudgeThresholds(reference, LEVEL)
    given: dict[str, Any] = {"reference": reference, "draws": task.config.draws, "level": LEVEL}
    given["seed"] = task.config.data_seed
    for done, test in enumerate(task.tests, 1):
        record = read_judged(folder, test.name)
        voted = points.voted(record)
        kinds = np.asarray(voted.columns["type"]).astype(str)
        sets[test.name] = {
            **{name: getattr(test, name) for name in ("title", "domain", "paper", "resembles")},
            **_short(vote_study(voted, **given)),
            "at_half": _beside(_short(vote_study(record, **given)), len(said_of(record))),
            **_mixed(points, record, given),
            "choices": points.choices(record),
            "types": [_of_type(str(name), voted.take(np.flatnonzero(kinds == name))) for name in np.unique(kinds)],
            "cut": home.read_json(f"predictions/{test.name}.json"),
        }
        progress(done, len(task.tests))
    workspace = Workspace(folder.parent)
    stamps = {name: workspace.stamp(f"{task.name}/{name}") for name in steps}
    known = reference.verdicts[reference.verdicts >= 0]
    accuracy = share(int(known.sum()), len(known), LEVEL)
    assert accuracy is not None
    result: dict[str, Any] = {"form": FORM, "task": task.name, "title": task.title, "family": task.family}
    result |= {"version": __version__, "python": platform.python_version()}
    result |= {what: {n: round(one[what], 1) for n, one in stamps.items()} for what in ("seconds", "cpu_seconds")}
    result |= {"sizes": asdict(task.config), "data": data.counts(), "parser": home.read_json("parser.json")}
    result |= {"examples": home.read_json("examples/statistics.json")}
    result |= {"panel": {"judges": task.config.judges, **home.read_json("judges/judge-0.json")}}
    result |= {"replicate_of": task.replicate_of, "seed": task.config.seed}
    result |= {"thresholds": rounded(points.to_dict(reference)), "dev_accuracy": rounded(accuracy.to_dict())}
    result |= {"sets": sets, **{name: home.read_json(f"{name}.json") for name in more}}
    home.write_json("result.json", result)


def _of_type(name: str, part: Predictions) -> dict[str, Any]:
    """Truth and bounds of a type (a generalisation, a genre), all judges agreeing."""
    counts = VoteCounts.of(part)
    widest, right = bounds_by_agreement(counts, LEVEL)[0], share(int(counts.of_verdict[1]), counts.rows, LEVEL)
    assert right is not None
    row = {"type": name, "rows": counts.rows, "gold": right.to_dict(), "inside": widest["inside"]}
    found: dict[str, Any] = rounded(row | {key: widest[key].to_dict() for key in ("lower", "upper", "mean")})
    return found


def _mixed(points: JudgeThresholds, record: Predictions, given: Mapping[str, Any]) -> dict[str, Any]:
    """What judges, confidence and parsers of halves say together, all but one agreeing; nothing without parsers."""
    voted, reference = points.mixed(record), points.mixed(given["reference"])
    if voted is None or voted.votes is None:
        return {}
    voters = len(voted.votes)
    agree = max(voters - 1, voters // 2 + 1)
    found = _short(vote_study(voted, agree=agree, **{**given, "reference": reference}))
    return {"mixed": {"agree": agree, **_beside(found, agree)}}


def _short(study: VoteStudy) -> dict[str, Any]:
    """What the tables and the claims need of a study."""
    told = study.to_dict()
    short: dict[str, Any] = rounded({name: told[name] for name in _TOLD})
    return short


def _beside(found: Mapping[str, Any], agree: int) -> dict[str, Any]:
    """What another procedure adds: its own rows, the bounds of its own k, the smallest and the largest samples."""
    rows = [row for row in found["methods"] if row["method"] not in BASELINES]
    bounds = [row for row in found["bounds"] if row["agree"] == agree]
    samples = [
        {**one, "bounds": [row for row in one["bounds"] if row["agree"] == agree]}
        for one in (found["subsets"][0], *found["subsets"][1:][-1:])
    ]
    kept = {name: found[name] for name in ("judges", "inside", "width")}
    return {**kept, "methods": rows, "bounds": bounds, "subsets": samples}


_OF_SET = ("title", "domain", "rows", "judges", "gold", "methods", "inside", "width", "bounds", "choices")
_OF_TRAINING = ("task", "seed", "version", "cpu_seconds", "dev_accuracy", "thresholds")


def combine(workspace: Workspace, scale: str, tasks: Sequence[str], replicates: Sequence[str] = ()) -> dict[str, Any]:
    """One result of the tasks that are finished, with their trainings from other seeds."""
    found = of_tasks(workspace, "correctness-discriminators", scale, FORM, tasks)
    others: dict[str, dict[str, Any]] = {}
    for name in replicates:
        one = finished(workspace, f"{name}/result.json", FORM)
        if one is not None:
            others.setdefault(one["replicate_of"], {})[str(one["seed"])] = _brief(one)
    missing = found.pop("missing")
    return {**found, "replicates": others, "missing": missing}


def joined_replicates(old: Mapping[str, Any] | None, new: Mapping[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """The new result with the tasks and the other seeds of an old one of the same form that it lacks."""
    out = joined(old, new, names)
    before = old.get("replicates", {}) if old is not None and old["form"] == new["form"] else {}
    both = {name: {**before.get(name, {}), **new.get("replicates", {}).get(name, {})} for name in out["tasks"]}
    return {**out, "replicates": {name: one for name, one in both.items() if one}}


def _brief(one: Mapping[str, Any]) -> dict[str, Any]:
    """What is told of a training from another seed: no types and no samples."""
    sets = {}
    for name, found in one["sets"].items():
        sets[name] = {key: found[key] for key in _OF_SET}
        for other in ("at_half", "mixed"):
            if other in found:
                sets[name][other] = {key: value for key, value in found[other].items() if key != "subsets"}
    more = {"self_training": one["self_training"]} if "self_training" in one else {}
    return {**{key: one[key] for key in _OF_TRAINING}, "sets": sets, **more}


METRICS = {"token_f1": token_f1}


def learn_metric(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Train one discriminator of a metric, compare its mean on every test set with the truth: ``metric.json``.

    It learns from the pairs of the panel: gold outputs have the metric 1, a checkpoint's mistakes what they share with
    gold. Of gold outputs only so many are taken, drawn, that their share is the parser's accuracy on the development
    set: outputs are to be like those that will be judged, or the mean is too high. Two numbers stand beside the
    judge's mean: the true mean, and the mean on the development set, which is what one would answer without any
    estimate.
    """
    known = read_judged(home.folder, "dev").verdicts
    accuracy = float((known[known >= 0] > 0).mean())
    config, name = data.task.config, data.task.metric
    assert name is not None
    metric = METRICS[name]

    def measured(outputs: Any, golds: Any) -> Array:
        return metric([data.clean(one) for one in outputs], [data.clean(one) for one in golds])

    pairs = {}
    for part in PARTS:
        found = examples(home, part)
        rows = data.train if part == "train" else data.dev
        gold = dict(zip(rows.inputs, rows.targets, strict=True))
        kept = _like_outputs(found.correct, accuracy, config.seed)
        inputs, outputs = ([texts[row] for row in kept] for texts in (found.inputs, found.outputs))
        pairs[part] = (*data.seen(inputs, outputs), measured(outputs, [gold[one] for one in inputs]).tolist())
    judge = RegressionDiscriminator(
        **located(config.metric_judge), training=TrainingConfig(**{**config.judge_plan, "seed": config.seed})
    )
    with passing(home, "metric") as checkpoint:
        judge.fit(*pairs["train"], dev=pairs["dev"], checkpoint=checkpoint, progress=progress)

    def asked(name: str) -> tuple[Array, Array]:
        record = read_judged(home.folder, name)
        assert record.input is not None
        assert record.output is not None
        outputs = record.output.tolist()
        true = measured(outputs, record.columns["gold"].tolist()).astype(float)
        said = judge.probabilities(*data.seen(record.input.tolist(), outputs)).astype(float)
        return true, np.where([bool(one.strip()) for one in outputs], said, 0.0)

    source = _mean(asked("dev")[0])
    sets = []
    for test in data.task.tests:
        true, said = asked(test.name)
        gap = true - said
        off = absolute(paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL))
        # The difference of the means of two samples, its error from both
        first = _mean(true)
        value = first.value - source.value
        half = np.hypot(first.upper - first.lower, source.upper - source.lower) / 2
        far = absolute(Interval(value, max(value - half, -1.0), min(value + half, 1.0), LEVEL, "asymptotic"))
        both = np.std(true) > 0 and np.std(said) > 0
        sets.append(
            {
                "name": test.name,
                "title": test.title,
                "rows": len(true),
                "true": _mean(true).to_dict(),
                "predicted": _mean(said).to_dict(),
                "error": off.to_dict(),
                "source": source.to_dict(),
                "source_error": far.to_dict(),
                "correlation": float(np.corrcoef(true, said)[0, 1]) if both else 0.0,
            }
        )
    home.write_json("metric.json", rounded({"metric": name, "sets": sets}))


def _like_outputs(correct: Array, accuracy: float, seed: int) -> list[int]:
    """Rows of pairs, all mistakes and so many right ones that about the share ``accuracy`` is right.

    >>> _like_outputs(np.array([True] * 8 + [False] * 9), 0.1, 0)[1:]
    [8, 9, 10, 11, 12, 13, 14, 15, 16]
    """
    wrong, right = np.flatnonzero(~correct), np.flatnonzero(correct)
    count = round(len(wrong) * accuracy / (1 - accuracy)) if accuracy < 1 else len(right)
    drawn = np.random.default_rng(seed).choice(right, size=min(count, len(right)), replace=False)
    kept: list[int] = np.sort(np.concatenate([wrong, drawn])).tolist()
    return kept


def _mean(values: Array) -> Interval:
    return mean_of(float(values.sum()), float(np.square(values).sum()), len(values), LEVEL)


def halves(types: Array, seed: int) -> tuple[Array, Array]:
    """Positions of the rows that may be learnt from and of those that judge the outcome, every type cut in two.

    >>> learn, judge = halves(np.array(["a"] * 4 + ["b"] * 2), seed=0)
    >>> len(learn), len(judge), sorted([*learn.tolist(), *judge.tolist()])
    (3, 3, [0, 1, 2, 3, 4, 5])
    """
    order = np.random.default_rng(seed).permutation(len(types))
    codes = np.unique(types, return_inverse=True)[1][order]
    by_type = np.argsort(codes, kind="stable")
    first = np.concatenate([[0], np.cumsum(np.bincount(codes))[:-1]])
    place = np.empty(len(types), dtype=np.int64)
    place[by_type] = np.arange(len(types)) - first[codes[by_type]]
    return np.sort(order[place % 2 == 0]), np.sort(order[place % 2 == 1])


def self_train(data: TaskData, home: Workspace, progress: Progress) -> None:
    """Train the parser again on training set and accepted outputs; writes ``self_training.json``.

    The test set is cut in two, type by type. Of one half the outputs that all judges accept become training pairs; its
    truth is used only to measure how pure they are. The other half, and the other test sets, say whether the new parser
    is better than the old one. Both are trained by the same plan from the same seed, for the same number of passes. How
    much two trainings differ for no reason is seen from the other seeds of the task.
    """
    config, name = data.task.config, data.task.pseudo_labels
    assert name is not None
    old = read_judged(home.folder, name)
    learn, judge = halves(np.asarray(old.columns["type"]).astype(str), config.data_seed)
    accepted = pseudo_labels(old.take(learn), level=LEVEL)
    plain = accepted.to_dict()
    found: dict[str, Any] = {"set": name, "pool": len(learn)}
    found |= {key: plain[key] for key in ("kept", "accepted", "precision", "accuracy", "agree", "ladder")}
    found |= {"sets": []}
    if len(accepted):
        new = _trained(data, accepted, home / "self_trained", progress)
        for one in data.task.tests:
            rows = judge if one.name == name else None
            before = read_judged(home.folder, one.name)
            given = data.test(one.name)
            places = np.arange(len(given)) if rows is None else rows
            part = given.take(places.tolist())
            record = new.predict(part.inputs, gold=part.targets, beams=data.task.config.beams, clean=data.clean)
            right = {"old": before.verdicts[places] > 0, "new": record.verdicts > 0}
            out: dict[str, Any] = {"name": one.name, "rows": len(places)}
            for key, verdicts in right.items():
                accuracy = share(int(verdicts.sum()), len(verdicts), LEVEL)
                assert accuracy is not None
                out[key] = accuracy.to_dict()
            gap = right["new"].astype(float) - right["old"]
            out["new_gain"] = paired_gap(float(gap.sum()), float(np.square(gap).sum()), len(gap), LEVEL).to_dict()
            found["sets"].append(out)
    home.write_json("self_training.json", rounded(found))


def _trained(data: TaskData, accepted: PseudoLabels, folder: Path, progress: Progress) -> EncoderDecoder:
    """A parser of the task's plan; one that was finished before an interruption is loaded."""
    if (folder / "finished").is_file():
        return EncoderDecoder.load(folder)
    assert accepted.record.input is not None
    assert accepted.record.output is not None
    inputs = [*data.train.inputs, *accepted.record.input.tolist()]
    outputs = [*data.train.targets, *accepted.record.output.tolist()]
    parser = new_parser(data, data.task.config.seed)
    parser.fit(inputs, outputs, checkpoint=folder / "checkpoint", progress=progress)
    parser.save(folder)
    shutil.rmtree(folder / "checkpoint", ignore_errors=True)
    (folder / "finished").write_text("")
    return parser
