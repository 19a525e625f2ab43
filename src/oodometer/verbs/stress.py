"""The verb `stress`: models on data whose shift grows, quality with bands, and what is estimated without labels."""

from __future__ import annotations

import csv
import io
import json
import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Self, final

import numpy as np

from ..datasets import Dataset, Dialogue
from ..datasets.dialogues import Replies, exchange
from ..engines import Engine, run_tasks, task_engine
from ..errors import InputError, UsageError, WorkError
from ..models.base import Classifier
from ..models.labels import matched
from ..models.opening import SentModel, forgetting, open_classifier, stamp_of
from ..options import verb
from ..predictions import Predictions
from ..results import Interval
from ..results.estimation import Estimation
from ..results.stressing import METRICS, Spread, StressCurve, StressedModel, StressPoint, StressTest
from ..runs import Manifest, places_said, running
from ..shifts import DIALOGUE_SHIFTS, TEXT_SHIFTS, TextShift, find_text_shift
from ..shifts.text import Dropped
from ..store import together, write_result
from ..store.artifact_cache import checksum, content_of, read_artifact, write_artifact
from ..store.write import guarded, write_part
from ..version import __version__
from .estimate import estimate
from .evaluate import evaluate
from .model_names import named_models, said_model, sent_models
from .model_options import StressOptions
from .predict import predict, read_all
from .shift.job import deviations
from .shift.text import ShiftInputs
from .shift.texts import Rows, Texts, filters_of

Turns = Mapping[int, tuple[str, ...]]
"""Number of an example -> its turns."""


@final
@dataclass(frozen=True)
class Example:
    """A text (one turn) or a context; ``number`` is its place among those that were read, from 1 on.

    row : of the file. group : what is never torn apart: a conversation. label : class, or position of the right
    candidate; None where it is not known.
    """

    number: int
    row: int
    id: str
    group: int
    turns: tuple[str, ...]
    label: Any
    candidates: tuple[str, ...] | None = None


@final
@dataclass(frozen=True)
class Examples:
    """What was read of a file; ``refused``: reason -> rows that hold none; ``label``: the column of the truth."""

    file: str
    dialogues: bool
    found: tuple[Example, ...]
    refused: Mapping[str, int]
    label: str

    def __len__(self) -> int:
        return len(self.found)

    def __add__(self, other: Self) -> Self:
        return self.of(sorted((*self.found, *other.found), key=lambda one: one.number))

    @property
    def labelled(self) -> bool:
        """Whether the truth of any of them is known."""
        return any(one.label is not None for one in self.found)

    def of(self, found: Iterable[Example]) -> Self:
        """The same with some of the examples."""
        return replace(self, found=tuple(found))

    def drawn(self, rows: int | None, seed: int) -> Self:
        """So many of them, drawn by the seed; all where there are no more."""
        if rows is None or rows >= len(self):
            return self
        places = np.random.default_rng([seed, rows]).choice(len(self), size=rows, replace=False)
        return self.of(self.found[i] for i in sorted(places))

    def halves(self, seed: int) -> tuple[Self, Self]:
        """Two halves by the seed, conversations whole.

        Raises `InputError` where one is empty.
        """
        groups = sorted({one.group for one in self.found})
        order = np.random.default_rng([seed, len(groups)]).permutation(groups).tolist()
        sizes = Counter(one.group for one in self.found)
        first, rows = set(), 0
        for group in order:
            if rows + sizes[group] / 2 >= len(self) / 2:
                break
            first.add(group)
            rows += sizes[group]
        halves = [self.of(one for one in self.found if (one.group in first) is wanted) for wanted in (True, False)]
        if not all(map(len, halves)):
            raise InputError(
                "enough rows for two halves, a labelled reference and what is shifted",
                got=f"{len(self)} in {len(groups)} group{'' if len(groups) == 1 else 's'}",
                remedy="give more rows, or a labelled reference of its own (--reference)",
                file=self.file,
            )
        return halves[0], halves[1]

    def check_classes(self, classes: Sequence[int | str]) -> None:
        """Raise `InputError`, naming the row, for a label that is none of a model's classes."""
        for one in self.found:
            if one.label is not None:
                matched([one.label], classes, file=self.file, first_row=one.row - 1, column=self.label)

    def dataset(self, kept: Turns | None = None) -> tuple[Dataset, list[int]]:
        """A data set of the examples, or of those that were kept with what became of their turns; and their numbers."""
        found = [one for one in self.found if kept is None or one.number in kept]
        turns = [tuple(one.turns if kept is None else kept[one.number]) for one in found]
        inputs: tuple[Any, ...] = tuple(one[0] for one in turns)
        if self.dialogues:
            inputs = tuple(Dialogue(said, one.candidates or ()) for said, one in zip(turns, found, strict=True))
        known = any(one.label is not None for one in found)
        data = Dataset(
            self.file,
            inputs,
            tuple(one.label for one in found) if known else (),
            ids=tuple(one.id for one in found),
            source=self.file,
            modality="dialogue" if self.dialogues else "text",
        )
        return data, [one.number for one in found]


def read_examples(
    path: Path,
    *,
    dialogues: bool,
    column: str | None,
    where: Mapping[str, str],
    label: str | None,
    label_needed: bool,
    candidates: int,
    seed: int,
) -> Examples:
    """Read a file of texts or dialogues as `shift` does.

    A response without candidates gets others, drawn by the seed and its id from all responses of the file. Raises
    `InputError` for what cannot be read, and where the column ``label`` is named, needed and absent.
    """
    refused: Counter[str] = Counter()
    rows = Rows(path)
    read = list(enumerate(Texts(rows, column, where, dialogues).read(refused), 1))
    if not read:
        got = "; ".join(f"{many:,}: {why}" for why, many in refused.items()) or "none"
        raise rows.wrong("dialogues with a reply" if dialogues else "texts", got, "give dialogues of two turns or more")
    lacking = next((again for _, (_, again) in read if label is not None and label not in again.row), None)
    if lacking is not None and label_needed:
        there = f"the columns {', '.join(map(str, lacking.row))}"
        raise rows.wrong(f"a column {label} with the truth", there, "name one of them with --label", lacking.number)
    out = []
    if dialogues:
        places = [{"file": str(path), "row": again.number} for _, (_, again) in read]
        told = [
            exchange(again(turns), turns, number=number, place=place, label=label)
            for (number, (turns, again)), place in zip(read, places, strict=True)
        ]
        pool: Replies | None = None
        if any(one.candidates is None for one in told):
            replies = (one.response for one in told if one.response is not None)
            pool = Replies(replies, candidates, seed, str(path))
        for (number, (_, again)), one in zip(read, told, strict=True):
            offered, position = one.candidates, one.label
            if pool is not None and offered is None and one.response is not None:
                offered, position = pool.among(one.id, one.response)
            out.append(Example(number, again.number, one.id, again.number, one.context, position, offered))
    else:
        for number, (turns, again) in read:
            value, name = again.row.get(label or "label"), again.row.get("id")
            known = None if value in ("", None) else value
            out.append(Example(number, again.number, str(number if name is None else name), number, turns, known))
    return Examples(str(path), dialogues, tuple(out), dict(refused), label or "label")


@final
@dataclass(frozen=True)
class Condition:
    """One kind at one severity: ``stem`` names it; for each draw the rows that could be shifted, with their turns.

    dropped, words, targets : of the first draw, as in `StressPoint`.
    """

    stem: str
    severity: str
    draws: tuple[Turns, ...]
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None

    @property
    def different(self) -> dict[str, Turns]:
        """The draws that differ and have rows, by the name of their answers: a shift without chance has one."""
        out: list[Turns] = []
        for one in self.draws:
            if one not in out:
                out.append(one)
        return {f"{self.stem}-draw-{at + 1}" if at else self.stem: one for at, one in enumerate(out) if one}


@final
@dataclass(frozen=True)
class ShiftedKind:
    """One kind with all its severities; ``common`` are the numbers of the rows that each of them and each draw has.

    A severity that no row could reach is left out of it.
    """

    shift: TextShift
    conditions: tuple[Condition, ...]
    common: frozenset[int]


def shift_examples(
    examples: Examples, wanted: Mapping[type[TextShift], Sequence[str]], inputs: ShiftInputs, seeds: Sequence[int]
) -> list[ShiftedKind]:
    """Shift the examples by each kind at each of its severities, as they were typed, once for each seed.

    Raises `InputError` where a kind can shift none of them at any severity.
    """
    out = []
    for cls, levels in wanted.items():
        shift, _ = inputs.made(cls)
        conditions = []
        for severity in levels:
            dropped: list[Counter[str]] = []
            draws: list[Turns] = []
            counts = Counter[str]()
            for seed in seeds:
                shifted = {
                    one.number: shift.apply(one.turns, severity, seed=seed, row=one.number) for one in examples.found
                }
                kept = {number: one for number, one in shifted.items() if not isinstance(one, Dropped)}
                if not draws:
                    counts.update(words=sum(one.words for one in kept.values()))
                    counts.update(targets=sum(one.targets for one in kept.values()))
                dropped.append(Counter(one.why for one in shifted.values() if isinstance(one, Dropped)))
                draws.append({number: one.turns for number, one in kept.items()})
            rows = len(draws[0])
            words, targets = (round(counts[one] / rows, 4) if rows else None for one in ("words", "targets"))
            stem = f"{shift.name}-{severity.replace('/', '-of-')}"
            conditions.append(Condition(stem, severity, tuple(draws), dict(dropped[0]), words, targets))
        sets = [frozenset(draw) for one in conditions for draw in one.draws if draw]
        if not sets:
            why = sum((Counter(one.dropped) for one in conditions), Counter[str]())
            raise InputError(
                f"rows that {cls.name} can shift at {', '.join(levels)}",
                got=f"none ({'; '.join(f'{many:,}: {said}' for said, many in why.items())})",
                remedy="choose other severities, or other data",
                file=examples.file,
            )
        out.append(ShiftedKind(shift, tuple(conditions), frozenset.intersection(*sets)))
    return out


KEY = "source_row"
PREDICTIONS = "predictions"
_JOB = "job.json"
_RESULTS = ("stress.json", "stress.csv")


@final
@dataclass(frozen=True)
class _ModelRun:
    """One trained model: the ``name`` of its curves, which several runs may share, and where its predictions lie.

    ``stamp`` tells the model from a later one, None for one in memory; ``sent`` is what travels to a worker, where the
    ``classifier`` is opened.
    """

    name: str
    source: str
    folder: str
    classifier: Classifier | Any
    stamp: Any
    sent: SentModel | None = None


@final
@dataclass(frozen=True)
class _Question:
    """What a run of a model is asked about, under which name its answers are kept, and the numbers of the rows."""

    run: _ModelRun
    stem: str
    data: Dataset
    numbers: Sequence[int]


@final
@dataclass(frozen=True)
class _Answers:
    """Predictions of a run, the file that they are in, and how many inputs were cut."""

    record: Predictions
    path: str
    truncated: int


@dataclass
class _Asker:
    """Asks runs about data sets; each answer is a file in ``out``, kept where it is of the same inputs and model.

    settings : what else the answers depend on. total : inputs in all, for ``progress``; parts : data sets, for ``run``.
    """

    out: Path
    settings: Mapping[str, Any]
    progress: Any = None
    total: int = 0
    parts: int = 0
    run: Manifest | None = None
    done: int = 0
    answered: int = 0

    def count(self, rows: int, worked: int) -> None:
        """Say that so many inputs, a data set, are answered."""
        self.done, self.answered = self.done + rows, self.answered + 1
        self.tell()
        if self.run is not None:
            self.run.tell(self.answered, self.parts, worked)

    def tell(self, more: int = 0) -> None:
        """Say how far the work is."""
        if self.progress is not None:
            self.progress(min(self.done + more, self.total), self.total)

    def kept(self, one: _Question) -> tuple[Path, str | None, dict[str, Any] | None]:
        """Where answers are, what tells them from others (None for a model in memory), and the note of kept ones.

        The note beside answers is written last.
        """
        place = self.out / PREDICTIONS / one.run.folder / f"{one.stem}.parquet"
        if one.run.stamp is None:
            return place, None, None
        about = (
            one.run.stamp,
            sorted(self.settings.items()),
            __version__,
            list(one.numbers),
            one.data.ids,
            one.data.targets,
        )
        asked = checksum(repr(about), repr(one.data.inputs))
        there = place.is_file() and place.with_suffix(".json").is_file()
        note = read_artifact(place.with_suffix(".json"), PREDICTIONS) if there else None
        return place, asked, note if note is not None and note["asked"] == asked else None

    def ask(self, one: _Question) -> _Answers:
        """The answers to a question: what an earlier run of the same job, or a task, has finished, or new ones."""
        place, asked, note = self.kept(one)
        if note is not None:
            record, truncated = read_all(place, ("id", KEY)), int(note["truncated"])
        else:
            place.parent.mkdir(parents=True, exist_ok=True)
            place.with_suffix(".json").unlink(missing_ok=True)  # of an older file, which is about to be replaced
            more = {name: self.settings[name] for name in ("dropout", "seed")}
            made = predict(one.run.classifier, one.data, progress=lambda done, of: self.tell(done), **more)
            truncated, numbers = made.truncated, {KEY: np.asarray(one.numbers, dtype=np.int64)}
            record = replace(made.record, columns={**made.record.columns, **numbers})
            write_part(record, place)
            if asked is not None:
                write_artifact(place.with_suffix(".json"), PREDICTIONS, {"asked": asked, "truncated": truncated})
        self.count(len(one.data), int(note is None))
        return _Answers(record, str(place), truncated)


@final
@dataclass(frozen=True)
class _Task:
    """Asks a run about a condition, on whatever machine, with one thread."""

    asker: _Asker
    gpu: bool

    def __call__(self, one: _Question) -> None:
        assert one.run.sent is not None
        with one.run.sent.opened() as model:
            self.asker.ask(replace(one, run=replace(one.run, classifier=model)))


def _ask_elsewhere(engine: Engine, asker: _Asker, every: Sequence[_Question]) -> None:
    """Ask what is not answered yet; answers are files in the asker's folder, where it finds them.

    A task travels with the path of its model and the texts of its condition.
    """
    rest = [one for one in every if asker.kept(one)[2] is None]
    asker.answered = len(every) - len(rest)
    asker.done = sum(len(one.data) for one in every) - sum(len(one.data) for one in rest)
    asker.tell()
    with forgetting():
        task = _Task(_Asker(asker.out, asker.settings), any(one.run.sent and one.run.sent.gpu for one in rest))
        sent = [replace(one, run=replace(one.run, classifier=None)) for one in rest]
        run_tasks(engine, task, sent, on_done=lambda one: asker.count(len(one.data), 1))
    asker.progress = asker.run = None  # all is answered


def _open_models(models: Any, options: Mapping[str, Any], engine: Any) -> tuple[list[_ModelRun], bool]:
    """The runs of all models, those of one name one after another, and whether they read dialogues.

    ``models``: one, a list, or name -> one or a list of runs; texts may be ``name=model``. Raises `UsageError` for none
    and for one that is named twice, `InputError` for models that read neither texts nor dialogues, or not the same.
    """
    found: dict[str, list[Any]] = {}
    for name, one in named_models(models):
        found.setdefault(name, []).append(one)
    if not found:
        raise UsageError("expected at least one model; name it with --model")
    runs: list[_ModelRun] = []
    for name, sources in found.items():
        for at, one in enumerate(sources):
            plain = name if at == 0 else f"{name}-{at + 1}"
            safe = re.sub(r"[^\w.-]+", "-", plain).strip(".-") or "model"
            names = (safe if at == 1 else f"{safe}-{at}" for at in range(1, len(runs) + 2))
            folder = next(one for one in names if one not in {other.folder for other in runs})
            stamp = stamp_of(one) if isinstance(one, (str, os.PathLike)) else None
            runs.append(_ModelRun(name, said_model(one), folder, open_classifier(one, **options), stamp))
    said = [one.source for one in runs if one.stamp is not None]
    twice = next((one for one in said if said.count(one) > 1), None)
    if twice is not None:
        raise UsageError(f"{twice} is named twice; give each --model another model")
    kinds = {}
    for run in runs:
        reads = run.classifier.reads
        if "text" not in reads and "dialogue" not in reads:
            raise InputError(
                "a model of texts or dialogues",
                got=f"one that reads {' or '.join(reads)}",
                remedy="name another model; images are shifted by `shift image`",
                file=run.source,
            )
        kinds["text" not in reads] = run.source
    if len(kinds) > 1:
        got, remedy = f"{kinds[True]} reads dialogues", "stress classifiers and rankers apart"
        raise InputError("models that read the same", got=got, remedy=remedy, file=kinds[False])
    if engine is not None:
        sent = sent_models([one for sources in found.values() for one in sources], options)
        runs = [replace(run, sent=one) for run, one in zip(runs, sent, strict=True)]
    return runs, True in kinds


@final
@dataclass(frozen=True)
class _Judge:
    """Judges predictions of one run beside its own labelled reference."""

    reference: Predictions
    level: float
    seed: int

    def metrics(self, record: Predictions) -> dict[str, Interval]:
        """Accuracy, Brier and ECE with their intervals, as `evaluate` gives them; empty where no truth is known."""
        if not len(record) or not record.is_labelled or not len(record.known()):
            return {}
        return dict(evaluate(record, metrics=METRICS, level=self.level, seed=self.seed).metrics)

    def common(self, record: Predictions, numbers: Collection[int]) -> tuple[int, dict[str, Interval]]:
        """The rows with these numbers, and how good the predictions are on them."""
        own = record.columns[KEY].astype(np.int64)
        same = record.take(np.isin(own, np.fromiter(numbers, np.int64, len(numbers))))
        return len(same), self.metrics(same)

    def estimate(self, record: Predictions) -> Estimation:
        """The estimate from the reference and the predictions alone."""
        return estimate(self.reference, record.without_labels(), level=self.level, seed=self.seed)


_Judged = tuple[_Judge, _Answers, dict[str, Interval], Estimation]
"""Who judged which answers, their quality on all rows, and the estimate."""


def _judged(judge: _Judge, answers: _Answers) -> _Judged:
    return judge, answers, judge.metrics(answers.record), judge.estimate(answers.record)


def _point(
    severity: str | None, rows: int, judged: Sequence[_Judged], common: Collection[int], **more: Any
) -> StressPoint:
    """A point of a curve from the answers of all runs, at least one unless no row could be shifted."""
    about = {"severity": severity, "rows": rows, "dropped": {}, "words": None, "targets": None} | more
    if not judged:
        return StressPoint(**about, predictions=(), truncated=0, metrics={}, common_rows=0, common={})
    same = [judge.common(answers.record, common) for judge, answers, _, _ in judged]

    def spread(found: Sequence[Mapping[str, Interval]]) -> dict[str, Spread]:
        names = [name for name in METRICS if len(judged) > 1 and all(name in one for one in found)]
        return {name: Spread.of([one[name].value for one in found]) for name in names}

    estimates = [one.headline.value for *_, one in judged]
    return StressPoint(
        **about,
        predictions=tuple(one.path for _, one, *_ in judged),
        truncated=judged[0][1].truncated,
        metrics=judged[0][2],
        common_rows=same[0][0],
        common=same[0][1],
        spread=spread([one for _, _, one, _ in judged])
        | ({"estimate": Spread.of(estimates)} if len(judged) > 1 else {}),
        common_spread=spread([one for _, one in same]),
        estimate=judged[0][3].headline,
    )


def _claimed(options: StressOptions, dialogues: bool) -> Path:
    """Make the folder, or find it with what an earlier run of the same job has finished.

    The job is the data, the rows of them, their labels and candidates and the seed; other models, kinds and severities
    may join it. Raises `UsageError` where the place holds something else.
    """
    said = [options.column, filters_of(options.where), options.label, options.rows, options.seed, dialogues]
    said += [options.candidates if dialogues else None]
    files = [[os.path.realpath(one), content_of(one)] for one in (options.data, options.reference) if one]
    job, out = checksum(json.dumps([files, said], default=str)), Path(options.out)
    try:
        if out.exists() and not out.is_dir():
            raise UsageError(f"cannot write {out}: it is a file; name a folder")
        link = next((one for name in (_JOB, *_RESULTS) if (one := out / name).is_symlink()), None)
        if link is not None:
            raise UsageError(f"cannot write {link}: it is a link, which is not followed; remove it")
        if not out.resolve().parent.is_dir():
            raise UsageError(f"cannot write {out}: there is no folder {out.parent}; make it first")
        if out.is_dir() and any(out.iterdir()) and read_artifact(out / _JOB, "stress") != job:
            raise UsageError(
                f"cannot write {out}: it is not empty, and holds no results for these data, options and seed; choose "
                "another place"
            )
        out.mkdir(exist_ok=True)
        if not (out / _JOB).exists():
            write_artifact(out / _JOB, "stress", job)
    except OSError as error:
        raise WorkError(f"cannot write {out}: {error.strerror or error}; choose another place") from error
    return out


def _write_results(home: Path, found: StressTest) -> None:
    """Write ``stress.json`` and ``stress.csv``."""
    with together():
        write_result(home / "stress.json", json.dumps(found.to_dict(), indent=2, ensure_ascii=False) + "\n")
        text = io.StringIO()
        table = csv.writer(text, lineterminator="\n")
        ends = [f"{name}{end}" for name in METRICS for end in ("", "_lower", "_upper", "_mean", "_lowest", "_highest")]
        estimate = ["estimate", *(f"estimate_{one}" for one in ("lower", "upper", "kind", "method")), "trust", "error"]
        heads = ["model", "kind", "severity", "subset", "rows", "dropped", "words", "targets", "runs"]
        table.writerow([*heads, *ends, *estimate])
        table.writerows([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in _rows(found))
        write_result(home / "stress.csv", text.getvalue())


def _rows(found: StressTest) -> Iterator[list[Any]]:
    """Two rows for each point: on all rows that the severity has, and on those that all severities have."""
    for model, curve, point in found.points():
        place = [model.name, curve.kind, "" if point.severity is None else point.severity]
        beside = [sum(point.dropped.values()), point.words, point.targets, max(1, len(point.predictions))]
        subsets = (
            ("all", point.rows, point.metrics, point.spread),
            ("common", point.common_rows, point.common, point.common_spread),
        )
        for subset, rows, metrics, spreads in subsets:
            numbers: list[Any] = []
            for name in METRICS:
                one, spread = metrics.get(name), spreads.get(name)
                numbers += [None] * 3 if one is None else [one.value, one.lower, one.upper]
                numbers += [None] * 3 if spread is None else [spread.mean, spread.lowest, spread.highest]
            head: list[Any] = [None] * 7
            if subset == "all" and point.estimate is not None:
                e = point.estimate
                head = [e.value, e.lower, e.upper, e.kind, e.method, e.trust, point.error]
            yield [*place, subset, rows, *beside, *numbers, *head]


@verb(StressOptions)
def stress(options: StressOptions) -> StressTest:
    """Ask models about data whose shift grows: accuracy, Brier and ECE at each severity, and the estimate beside them.

    Rows that cannot be shifted so far are left out and counted; each number is given on all rows that a severity has
    and on those that all severities have, matched by ``source_row``. Raises `InputError` for data or models that cannot
    be used, `UsageError` for a call that makes no sense and a folder that holds something else.

    >>> import json, tempfile
    >>> import numpy as np
    >>> home = Path(tempfile.mkdtemp())
    >>> rows = [{"text": word, "label": word.islower()} for word in ["up we go", "DOWN IT IS"] * 60]
    >>> _ = (home / "a.jsonl").write_text("\\n".join(map(json.dumps, rows)))
    >>> def small(texts):
    ...     return np.array([[0.1, 0.9] if text.islower() else [0.9, 0.1] for text in texts])
    >>> found = stress(home / "a.jsonl", small, out=home / "out", kind="casing=1", classes=[0, 1])
    >>> [one.metrics["accuracy"].value for one in found.models[0].curves[0].points]
    [1.0, 0.0]
    """
    for name, least in (("rows", 2), ("candidates", 2), ("repeats", 1), ("dropout", 0)):
        value = getattr(options, name)
        if value is not None and value < least:
            raise UsageError(f"expected {name} to be a number from {least} on, got {value!r}")
    data, reference, out, seed = options.data, options.reference, options.out, options.seed
    inputs = ShiftInputs(options)
    more = {name: getattr(options, name) for name in ("gives", "classes", "max_length", "device")}
    engine = task_engine(options.engine, options.workers)  # before models are opened, for what is wrong with it
    runs, dialogues = _open_models(options.models, more, engine)
    if engine is not None:
        gpu = any(one.sent is not None and one.sent.on_gpu_here for one in runs)
        engine = task_engine(options.engine, options.workers, gpu=gpu)
    wanted = _wanted(options, inputs, dialogues)
    shifted, known = _read(options, dialogues)
    if not dialogues:
        for some in (known, shifted) if reference is not None else (known + shifted,):
            for run in runs:
                some.check_classes(run.classifier.classes)
    home = _claimed(options, dialogues)
    kinds = shift_examples(shifted, wanted, inputs, range(seed, seed + options.repeats))
    conditions = [one for kind in kinds for one in kind.conditions]
    different = {stem: shifted.dataset(kept) for one in conditions for stem, kept in one.different.items()}
    asked = {"reference": known.dataset(), "source": shifted.dataset(), **different}
    settings = {name: getattr(options, name) for name in ("dropout", "seed", "max_length", "gives", "classes")}
    total = sum(len(one) for one, _ in asked.values()) * len(runs)
    asker = _Asker(home, settings, options.progress, total, len(asked) * len(runs))
    about = places_said(data=data, models=[one.source for one in runs], out=out)
    with running(Manifest(home, {"verb": "stress", **about})) as asker.run:
        if engine is not None:
            _ask_elsewhere(engine, asker, [_Question(run, stem, *asked[stem]) for run in runs for stem in asked])
        warnings: dict[str, None] = {}
        models = []
        for name in dict.fromkeys(one.name for one in runs):
            own = [one for one in runs if one.name == name]
            models.append(_stressed(own, asker, asked, kinds, options, warnings))
        outcome = StressTest(
            version=__version__,
            data=str(data),
            out=str(out),
            modality="dialogue" if dialogues else "text",
            rows=len(shifted),
            refused=shifted.refused,
            labelled=shifted.labelled,
            reference={"source": str(reference or "a half of the same data, not shifted"), "rows": len(known)},
            level=options.level,
            seed=seed,
            repeats=options.repeats,
            models=tuple(models),
            notes=deviations(one.shift for one in kinds),
            warnings=tuple(warnings),
            argv=options.argv,
        )
        _write_results(home, outcome)
    return outcome


def _wanted(options: StressOptions, inputs: ShiftInputs, dialogues: bool) -> dict[type[TextShift], tuple[str, ...]]:
    """The kinds with their severities: their own (``kind=0.1,0.3``), those for all kinds, or those of the paper.

    Raises `UsageError` for a kind or a severity that there is not, and for what a kind needs and does not get.
    """
    severity: Any = options.severity
    every = tuple(dict.fromkeys(map(str, severity if isinstance(severity, (list, tuple, range)) else [severity])))
    usual = DIALOGUE_SHIFTS if dialogues else ("typing-errors", "casing")
    usual = usual if options.training is None else TEXT_SHIFTS[:2]  # synonyms, where texts tell what is known
    found: dict[type[TextShift], tuple[str, ...]] = {}
    for asked in ([options.kind] if isinstance(options.kind, str) else options.kind) or usual:
        name, equals, own = asked.partition("=")
        cls = find_text_shift(name, dialogues=dialogues)
        levels = tuple(own.split(",")) if equals else every or cls.usual
        for level in levels:
            cls().check_severity(level)
        found[cls] = tuple(dict.fromkeys((*found.get(cls, ()), *levels)))
    inputs.check(list(found))
    return found


def _read(options: StressOptions, dialogues: bool) -> tuple[Examples, Examples]:
    """What is shifted, and the labelled rows that are not."""
    reference, where, seed = options.reference, filters_of(options.where), options.seed

    def read(path: str | Path, where: Mapping[str, str], needed: bool) -> Examples:
        more: dict[str, Any] = {"column": options.column, "label": options.label, "candidates": options.candidates}
        return read_examples(Path(path), dialogues=dialogues, where=where, label_needed=needed, seed=seed, **more)

    every = read(options.data, where, reference is None).drawn(options.rows, seed)
    if reference is None:
        known, shifted = every.halves(seed)
    else:
        known, shifted = read(reference, filters_of(options.reference_where) or where, True), every
    if not known.labelled:
        raise InputError(
            "labelled rows, on which the estimates rest",
            got=f"no value in a column {known.label}",
            remedy="name the column of the truth with --label, or labelled rows of the same form with --reference",
            file=known.file,
        )
    return shifted, known


def _stressed(
    runs: Sequence[_ModelRun],
    asker: _Asker,
    asked: Mapping[str, tuple[Dataset, list[int]]],
    kinds: Iterable[ShiftedKind],
    options: StressOptions,
    warnings: dict[str, None],
) -> StressedModel:
    """One model: all its runs asked about the reference, the data as they are, and each kind at each severity."""

    def ask(stem: str) -> list[_Answers]:
        return [asker.ask(_Question(run, stem, *asked[stem])) for run in runs]

    judges = [_Judge(one.record, options.level, options.seed) for one in ask("reference")]
    plain = list(map(_judged, judges, ask("source")))
    warnings.update(dict.fromkeys(f"{runs[0].name}: {said}" for said in plain[0][3].warnings))
    curves = []
    for kind in kinds:
        points = [_point(None, len(asked["source"][0]), plain, kind.common)]
        for one in kind.conditions:
            judged = [pair for stem in one.different for pair in map(_judged, judges, ask(stem))]
            means = {"dropped": dict(one.dropped), "words": one.words, "targets": one.targets}
            points.append(_point(one.severity, len(one.draws[0]), judged, kind.common, **means))
        shift = kind.shift
        curves.append(StressCurve(shift.name, shift.about, shift.counts, len(kind.common), tuple(points)))
    accuracy = judges[0].metrics(judges[0].reference)["accuracy"].to_dict()
    about = {"rows": len(asked["reference"][0]), "accuracy": accuracy}
    return StressedModel(runs[0].name, tuple(one.source for one in runs), about, tuple(curves))
