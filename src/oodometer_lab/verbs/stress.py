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
from functools import cached_property, partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, NamedTuple, Self, final

import numpy as np

from oodometer.arrays import Array
from oodometer.classes import matched
from oodometer.engines import Engine, run_tasks, task_engine
from oodometer.errors import InputError, UsageError
from oodometer.options import verb
from oodometer.predictions import Predictions
from oodometer.results import Interval
from oodometer.results.estimation import Estimation
from oodometer.results.values import counted
from oodometer.runs import Kept, places_said, running
from oodometer.store import together, write_result
from oodometer.store.artifact_cache import checksum, content_of
from oodometer.store.write import guarded, write_part
from oodometer.verbs.estimate import estimate
from oodometer.verbs.evaluate import evaluate
from oodometer.verbs.named_models import named_models, said_model, twice_named
from oodometer.version import __version__

from ..datasets import Dataset, Dialogue
from ..datasets.dialogues import Replies, exchange
from ..datasets.images import LateImages, decode_image
from ..datasets.reading import ArrayExamples, ExampleColumns, FolderExamples
from ..models.base import Classifier
from ..models.opening import SentModel, forgetting, open_classifier, stamp_of
from ..results.stressing import METRICS, Spread, StressCurve, StressedModel, StressPoint, StressTest
from ..shifts import (
    DIALOGUE_SHIFTS,
    TEXT_SHIFTS,
    ImageShift,
    Shift,
    TextShift,
    find_image_shift,
    find_text_shift,
)
from ..shifts.text import Dropped
from .options import StressOptions
from .predict import predict, read_all, sent_models
from .shift.image import GROUPS, notes_on
from .shift.severities import severities_by_kind, whole_severity
from .shift.text import TEXT_GROUPS, Rows, ShiftInputs, Texts, filters_of, refuse_others

Parts = Mapping[int, tuple[Any, ...]]
"""Number of an example -> its turns; of an image what `_pixels` makes it of."""


@final
@dataclass(frozen=True)
class Example:
    """A text (one turn), a context or an image, by its number among those that were read. ``group`` is never torn
    apart; ``parts`` are its turns, or the image of ``size`` bytes; ``label`` its class, or the position of the right
    candidate.
    """

    number: int
    row: int
    id: str
    group: int
    parts: tuple[Any, ...]
    label: Any
    candidates: tuple[str, ...] | None = None
    size: int = 0


@final
@dataclass(frozen=True)
class Examples:
    """What was read of a file; ``refused``: reason -> rows that hold none; ``label``: the column of the truth."""

    file: str
    modality: Any
    rows: tuple[Example, ...]
    refused: Mapping[str, int]
    label: str

    def __len__(self) -> int:
        return len(self.rows)

    def of(self, rows: Iterable[Example]) -> Self:
        """The same with other examples."""
        return replace(self, rows=tuple(rows))

    def halves(self, seed: int) -> tuple[Self, Self]:
        """Two halves by the seed, conversations whole."""
        sizes = Counter(row.group for row in self.rows)
        first, rows = set(), 0
        for group in np.random.default_rng([seed, len(sizes)]).permutation(sorted(sizes)).tolist():
            if rows + sizes[group] / 2 >= len(self) / 2:
                break
            first.add(group)
            rows += sizes[group]
        halves = [
            self.of(row for row in self.rows if (row.group in first) is is_first)
            for is_first in (True, False)
        ]
        if not all(map(len, halves)):
            expected = "enough rows for two halves, a labelled reference and what is shifted"
            remedy = "give more rows, or a labelled reference of its own (--reference)"
            got = f"{len(self)} in {counted(len(sizes), 'group')}"
            raise InputError(expected, got=got, remedy=remedy, file=self.file)
        return halves[0], halves[1]

    def in_classes(self, classes: Sequence[int | str]) -> Self:
        """The same with labels as a model names its classes; `InputError`, naming the row, for one that is none."""
        folder, names = os.path.isdir(self.file), dict[str, Any]()
        for row in self.rows:
            if row.label is not None and repr(row.label) not in names:
                images = [f"{self.file}/{row.id}"] if folder else []
                names[repr(row.label)] = matched(
                    [row.label],
                    classes,
                    images=images,
                    file=self.file,
                    first_row=row.row - 1,
                    column=self.label,
                )[0]
        return self.of(replace(row, label=names.get(repr(row.label))) for row in self.rows)

    def dataset(self, shifted: Parts | None = None) -> tuple[Dataset, list[int]]:
        """A data set of the examples, or of those that were kept with what became of their parts; and their numbers."""
        rows = [row for row in self.rows if shifted is None or row.number in shifted]
        if shifted is not None:
            rows = [replace(row, parts=tuple(shifted[row.number])) for row in rows]
        labels = tuple(row.label for row in rows)
        data = Dataset(
            self.file,
            self._inputs(rows),
            labels if any(label is not None for label in labels) else (),
            ids=tuple(row.id for row in rows),
            source=self.file,
            modality=self.modality,
        )
        return data, [row.number for row in rows]

    def _inputs(self, rows: Sequence[Example]) -> Any:
        """Examples as models read them."""
        if self.modality == "dialogue":
            return tuple(Dialogue(row.parts, row.candidates or ()) for row in rows)
        if self.modality == "image":
            makers = [partial(_pixels, *row.parts) for row in rows]
            return LateImages(makers, [row.size for row in rows])
        return tuple(row.parts[0] for row in rows)


def _pixels(
    image: Any, shift: Any = None, severity: Any = None, seed: int = 0, row: int = 0
) -> Array:
    """An image, a file or an array, as uint8 (height, width, 3), after a shift as `shift` draws it for that row."""
    pixels = image if isinstance(image, np.ndarray) else decode_image(image)
    return decode_image(
        pixels if shift is None else shift.apply([pixels], severity, seed=seed, first_row=row)[0]
    )


def read_examples(
    path: str | Path, modality: str, options: Any, *, where: Mapping[str, str], label_needed: bool
) -> Examples:
    """Read a file, or a folder of images, as `shift` does. A response without candidates gets others, drawn by the seed
    and its id from all responses of the file.
    """
    path, label, refused = Path(path), options.label, Counter[str]()
    if modality == "image":
        rows = tuple(_read_images(path, label))
        return Examples(str(path), modality, rows, refused, label or "label")
    texts, dialogues = Rows(path), modality == "dialogue"
    read = list(Texts(texts, options.column, where, dialogues).read(refused))
    if not read:
        got = "; ".join(f"{count:,}: {why}" for why, count in refused.items()) or "none"
        raise texts.wrong(
            "dialogues with a reply" if dialogues else "texts",
            got,
            "give dialogues of two turns or more",
        )
    lacking = next((turn for _, turn in read if label is not None and label not in turn.row), None)
    if lacking is not None and label_needed:
        raise texts.wrong(
            f"a column {label} with the truth",
            f"the columns {', '.join(map(str, lacking.row))}",
            "name one of them with --label",
            lacking.number,
        )
    converted = (
        _as_dialogues(read, path, options) if dialogues else _as_texts(read, label or "label")
    )
    return Examples(str(path), modality, tuple(converted), dict(refused), label or "label")


def _read_images(path: Path, label: str | None) -> Iterator[Example]:
    """The images of a folder, named by their paths in it, or of an NPZ file, named by their numbers."""
    folder = None if path.suffix.lower() == ".npz" else FolderExamples(path, ("image",))
    source = folder or ArrayExamples(path, ("image",), ExampleColumns(label=label))
    for batch in source.batches(256):
        targets = batch.data.targets
        for at, pixels in enumerate(batch.data.inputs):
            number = batch.first_row + at + 1
            image, name = pixels, str(number)
            if folder is not None:
                image = folder.files[number - 1]
                name = image.relative_to(path).as_posix()
            truth = targets[at] if len(targets) else None
            yield Example(number, number, name, number, (image,), truth, size=pixels.nbytes)


def _as_dialogues(read: Sequence[Any], path: Path, options: Any) -> Iterator[Example]:
    """Dialogues with their candidates; those without any get others from all responses that were read."""
    exchanges = [
        exchange(
            again(turns),
            turns,
            number=number,
            place={"file": str(path), "row": again.number},
            label=options.label,
        )
        for number, (turns, again) in enumerate(read, 1)
    ]
    pool: Replies | None = None
    if any(reply.candidates is None for reply in exchanges):
        replies = (reply.response for reply in exchanges if reply.response is not None)
        pool = Replies(replies, options.candidates, options.seed, str(path))
    for number, ((_, again), reply) in enumerate(zip(read, exchanges, strict=True), 1):
        offered, position = reply.candidates, reply.label
        if pool is not None and offered is None and reply.response is not None:
            offered, position = pool.among(reply.id, reply.response)
        yield Example(
            number, again.number, reply.id, again.number, reply.context, position, offered
        )


def _as_texts(read: Sequence[Any], label: str) -> Iterator[Example]:
    """Texts with their ids, by default their numbers, and the truth where a cell holds one."""
    for number, (turns, again) in enumerate(read, 1):
        value, row_id = again.row.get(label), again.row.get("id")
        truth = None if value in ("", None) else value
        name = str(number if row_id is None else row_id)
        yield Example(number, again.number, name, number, turns, truth)


@final
@dataclass(frozen=True)
class Condition:
    """One kind at one severity: the rows of each draw that could be shifted, with parts; the rest is of the first."""

    stem: str
    severity: str
    draws: tuple[Parts, ...]
    dropped: Mapping[str, int]
    words: float | None
    targets: float | None

    @property
    def different(self) -> dict[str, Parts]:
        """The draws that differ and have rows, by the name of their answers: a shift without chance has one."""
        draws = [draw for at, draw in enumerate(self.draws) if draw not in self.draws[:at]]
        return {
            f"{self.stem}-draw-{at + 1}" if at else self.stem: draw
            for at, draw in enumerate(draws)
            if draw
        }


ShiftedKind = tuple[Any, list[Condition], frozenset[int]]
"""A shift, its severities, and the numbers of the rows that each of them that has any, and each draw, has."""


def shift_examples(
    examples: Examples,
    kinds: Mapping[type[Shift], Sequence[str]],
    inputs: ShiftInputs,
    seeds: Sequence[int],
) -> list[ShiftedKind]:
    """Shift the examples by each kind at each of its severities, as they were typed, once for each seed; images are
    shifted when a model reads them.
    """
    out = []
    for cls, levels in kinds.items():
        shift: Any = (
            inputs.made(cls)[0]
            if issubclass(cls, TextShift)
            else find_image_shift(cls.name, inputs.preset)
        )
        shifted = _shifted_images if isinstance(shift, ImageShift) else _shifted_texts
        conditions = [shifted(examples, shift, severity, seeds) for severity in levels]
        sets = [frozenset(draw) for condition in conditions for draw in condition.draws if draw]
        if not sets:
            why = sum((Counter(condition.dropped) for condition in conditions), Counter[str]())
            expected = f"rows that {cls.name} can shift at {', '.join(levels)}"
            got = f"none ({'; '.join(f'{count:,}: {reason}' for reason, count in why.items())})"
            raise InputError(
                expected,
                got=got,
                remedy="choose other severities, or other data",
                file=examples.file,
            )
        out.append((shift, conditions, frozenset.intersection(*sets)))
    return out


def _stem(shift: Any, severity: str) -> str:
    return f"{shift.name}-{severity.replace('/', '-of-')}"


def _shifted_images(
    examples: Examples, shift: Any, severity: str, seeds: Sequence[int]
) -> Condition:
    """Images with what shifts them later; a shift without chance is drawn once."""
    level, first = int(severity), examples.rows[0].parts[0]
    looks = {_pixels(first, shift, level, seed).tobytes() for seed in seeds}
    draws = tuple(
        {row.number: (*row.parts, shift, level, seed, row.number - 1) for row in examples.rows}
        for seed in (seeds if len(looks) > 1 else seeds[:1])
    )
    return Condition(_stem(shift, severity), severity, draws, {}, None, None)


def _shifted_texts(
    examples: Examples, shift: Any, severity: str, seeds: Sequence[int]
) -> Condition:
    """Texts or dialogues as they were typed; counts are of the first draw."""
    draws = [
        {
            row.number: shift.apply(row.parts, severity, seed=seed, row=row.number)
            for row in examples.rows
        }
        for seed in seeds
    ]
    shifted = [
        {number: text for number, text in draw.items() if not isinstance(text, Dropped)}
        for draw in draws
    ]
    first, rows = shifted[0].values(), len(shifted[0])
    return Condition(
        _stem(shift, severity),
        severity,
        tuple({number: text.turns for number, text in draw.items()} for draw in shifted),
        dropped=Counter(text.why for text in draws[0].values() if isinstance(text, Dropped)),
        words=round(sum(text.words for text in first) / rows, 4) if rows else None,
        targets=round(sum(text.targets for text in first) / rows, 4) if rows else None,
    )


KEY = "source_row"
PREDICTIONS = "predictions"
_RESULTS = ("stress.json", "stress.csv")
_SETTINGS = ("dropout", "seed", "max_length", "gives", "classes")  # that answers depend on


@final
@dataclass(frozen=True)
class _ModelRun:
    """One trained model: the ``name`` of its curves, which several runs may share, and where its predictions lie.
    ``stamp`` tells the model from a later one, None in memory; ``sent`` is what travels to a worker.
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

    @property
    def key(self) -> str:
        """Where answers are in the folder, without an ending."""
        return f"{PREDICTIONS}/{self.run.folder}/{self.stem}"


class _Answers(NamedTuple):
    """Predictions of a run, the file that they are in, and how many inputs were cut."""

    record: Predictions
    path: str
    truncated: int


@dataclass
class _Asker:
    """Asks runs about data sets; an answer is a file of ``kept``, that of the same inputs, model and ``settings``."""

    kept: Kept
    settings: Mapping[str, Any]
    progress: Any = None
    total: int = 0
    parts: int = 0
    done: int = 0
    answered: int = 0

    def count(self, rows: int, worked: int) -> None:
        """Say that so many inputs, a data set, are answered."""
        self.done, self.answered = self.done + rows, self.answered + 1
        self.tell()
        self.kept.tell(self.answered, self.parts, worked)

    def tell(self, more: int = 0) -> None:
        """Say how far the work is."""
        if self.progress is not None:
            self.progress(min(self.done + more, self.total), self.total)

    def known(self, question: _Question) -> tuple[Path, str | None, dict[str, Any] | None]:
        """Where answers are, what tells them from others (None for a model in memory), the note of kept ones."""
        path, data = self.kept.path / f"{question.key}.parquet", question.data
        if question.run.stamp is None:
            return path, None, None
        settings = sorted(self.settings.items())
        about = (
            question.run.stamp,
            settings,
            __version__,
            list(question.numbers),
            data.ids,
            data.targets,
        )
        mark = checksum(
            repr(about), question.stem if data.modality == "image" else repr(data.inputs)
        )
        note = self.kept.get(question.key) if path.is_file() else None
        return path, mark, note if note is not None and note["asked"] == mark else None

    def ask(self, question: _Question) -> _Answers:
        """The answers to a question: what an earlier run of the same job, or a task, has finished, or new ones."""
        path, mark, note = self.known(question)
        if note is not None:
            record, truncated = read_all(path, ("id", KEY)), int(note["truncated"])
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            # of an older file, which is about to be replaced
            path.with_suffix(".json").unlink(missing_ok=True)
            prediction = predict(
                question.run.classifier,
                question.data,
                progress=lambda done, of: self.tell(done),
                dropout=self.settings["dropout"],
                seed=self.settings["seed"],
            )
            truncated, numbers = (
                prediction.truncated,
                {KEY: np.asarray(question.numbers, dtype=np.int64)},
            )
            record = replace(prediction.record, columns={**prediction.record.columns, **numbers})
            write_part(record, path)
            if mark is not None:
                self.kept.keep(question.key, {"asked": mark, "truncated": truncated})
        self.count(len(question.data), int(note is None))
        return _Answers(record, str(path), truncated)


@final
@dataclass(frozen=True)
class _Task:
    """Asks a run about a condition, on whatever machine, with one thread."""

    asker: _Asker
    gpu: bool

    def __call__(self, question: _Question) -> None:
        assert question.run.sent is not None
        with question.run.sent.opened() as model:
            self.asker.ask(replace(question, run=replace(question.run, classifier=model)))


def _ask_elsewhere(engine: Engine, asker: _Asker, every: Sequence[_Question]) -> None:
    """Ask what is not answered yet; a task travels with the path of its model and the texts of its condition."""
    rest = [question for question in every if asker.known(question)[2] is None]
    asker.answered = len(every) - len(rest)
    asker.done = sum(len(question.data) for question in every) - sum(
        len(question.data) for question in rest
    )
    asker.tell()
    with forgetting():
        models = [question.run.sent for question in rest]
        task = _Task(
            _Asker(asker.kept.sent, asker.settings),
            any(model is not None and model.gpu for model in models),
        )
        sent = [replace(question, run=replace(question.run, classifier=None)) for question in rest]
        run_tasks(engine, task, sent, on_done=lambda question: asker.count(len(question.data), 1))
    asker.progress, asker.kept = None, asker.kept.sent  # all is answered, and counted


def _open_models(
    models: Any, data: Path, options: Mapping[str, Any], engine: Any
) -> tuple[list[_ModelRun], str]:
    """The runs of all models, those of one name one after another, and what they read of the data."""
    named = named_models(models)
    names = [name for name, _ in named]
    named = sorted(named, key=lambda pair: names.index(pair[0]))
    if not named:
        raise UsageError("expected at least one model; name it with --model")
    twice = twice_named([model for _, model in named if isinstance(model, (str, os.PathLike))])
    if twice is not None:
        raise UsageError(f"{twice} is named twice; give each --model another model")
    runs: list[_ModelRun] = []
    for name, model in named:
        several = sum(run.name == name for run in runs)
        numbered = f"{name}-{several + 1}" if several else name
        folder = _free_folder(numbered, {run.folder for run in runs})
        stamp = stamp_of(model) if isinstance(model, (str, os.PathLike)) else None
        runs.append(
            _ModelRun(name, said_model(model), folder, open_classifier(model, **options), stamp)
        )
    modality = _modality_of(runs, data.is_dir() or data.suffix.lower() == ".npz")
    if engine is not None:
        sent = sent_models([model for _, model in named], options)
        runs = [replace(run, sent=model) for run, model in zip(runs, sent, strict=True)]
    return runs, modality


def _free_folder(name: str, taken: Collection[str]) -> str:
    """A name of a folder that is not taken, like that of a model."""
    safe = re.sub(r"[^\w.-]+", "-", name).strip(".-") or "model"
    numbered = (f"{safe}-{number}" for number in range(2, len(taken) + 2))
    return next(free for free in (safe, *numbered) if free not in taken)


def _modality_of(runs: Sequence[_ModelRun], images: bool) -> str:
    """What all models read of the data; `InputError` where one cannot, or where they do not read the same."""
    kinds = {}
    for run in runs:
        reads = run.classifier.reads
        modality = "image" if images else "text" if "text" in reads else "dialogue"
        if modality not in reads:
            expected = "a model of texts or dialogues"
            if images:
                expected = "a model of images, as the data are"
            remedy = "name another model, or data that it reads; images are a folder or an NPZ file"
            raise InputError(
                expected, got=f"one that reads {' or '.join(reads)}", remedy=remedy, file=run.source
            )
        kinds[modality] = run.source
    if len(kinds) > 1:
        got, remedy = f"{kinds['dialogue']} reads dialogues", "stress classifiers and rankers apart"
        raise InputError("models that read the same", got=got, remedy=remedy, file=kinds["text"])
    return modality


_Judged = tuple[_Answers, dict[str, Interval], Estimation]
"""Answers of a run, their quality on all rows, and the estimate from its reference and the answers alone."""


def _quality(record: Predictions, options: StressOptions) -> dict[str, Interval]:
    """Accuracy, Brier and ECE with their intervals; empty where no truth is known."""
    if not len(record) or not record.is_labelled or not len(record.known()):
        return {}
    return dict(evaluate(record, metrics=METRICS, level=options.level, seed=options.seed).metrics)


def _bare_point(rows: int, condition: Condition | None) -> StressPoint:
    """A point without any answers."""
    bare = StressPoint(
        severity=None,
        rows=rows,
        dropped={},
        words=None,
        targets=None,
        predictions=(),
        truncated=0,
        metrics={},
        common_rows=0,
        common={},
    )
    if condition is None:
        return bare
    return replace(
        bare,
        severity=condition.severity,
        dropped=dict(condition.dropped),
        words=condition.words,
        targets=condition.targets,
    )


def _point(
    options: StressOptions,
    judged: Sequence[_Judged],
    common: Collection[int],
    rows: int,
    condition: Condition | None = None,
) -> StressPoint:
    """A point of a curve from the answers of all runs, at least one unless no row could be shifted; ``condition``: None
    for the data as they are.
    """
    point = _bare_point(rows, condition)
    if not judged:
        return point
    same = []
    for answers, *_ in judged:
        numbers = answers.record.columns[KEY].astype(np.int64)
        same.append(
            answers.record.take(np.isin(numbers, np.fromiter(common, np.int64, len(common))))
        )

    def spread(runs: Sequence[Mapping[str, Interval]]) -> dict[str, Spread]:
        names = [
            name for name in METRICS if len(judged) > 1 and all(name in metrics for metrics in runs)
        ]
        return {name: Spread.of([metrics[name].value for metrics in runs]) for name in names}

    on_common = [_quality(record, options) for record in same]
    first, metrics, estimation = judged[0]
    spreads = spread([metrics for _, metrics, _ in judged])
    if len(judged) > 1:
        spreads["estimate"] = Spread.of([estimation.headline.value for *_, estimation in judged])
    return replace(
        point,
        predictions=tuple(answers.path for answers, *_ in judged),
        truncated=first.truncated,
        metrics=metrics,
        common_rows=len(same[0]),
        common=on_common[0],
        spread=spreads,
        common_spread=spread(on_common),
        estimate=estimation.headline,
    )


def _write_results(folder: Path, result: StressTest) -> None:
    """Write ``stress.json`` and ``stress.csv``, which has two rows a point: all rows, and those of all severities."""
    ends = [
        f"{name}{end}"
        for name in METRICS
        for end in ("", "_lower", "_upper", "_mean", "_lowest", "_highest")
    ]
    estimate = [
        "estimate",
        *(f"estimate_{end}" for end in ("lower", "upper", "kind", "method")),
        "trust",
        "error",
    ]
    rows: list[list[Any]] = [
        ["model", "kind", "severity", "subset", "rows", "dropped", "words", "targets", "runs"]
    ]
    rows[0] += [*ends, *estimate]
    for model, curve, point in result.points():
        head = point.estimate
        beside = [
            sum(point.dropped.values()),
            point.words,
            point.targets,
            max(1, len(point.predictions)),
        ]
        for subset, count, metrics, spreads in (
            ("all", point.rows, point.metrics, point.spread),
            ("common", point.common_rows, point.common, point.common_spread),
        ):
            row = [model.name, curve.kind, point.severity or "", subset, count, *beside]
            for name in METRICS:
                value, spread = metrics.get(name), spreads.get(name)
                row += [None] * 3 if value is None else [value.value, value.lower, value.upper]
                row += (
                    [None] * 3 if spread is None else [spread.mean, spread.lowest, spread.highest]
                )
            if subset == "all" and head is not None:
                row += [
                    head.value,
                    head.lower,
                    head.upper,
                    head.kind,
                    head.method,
                    head.trust,
                    point.error,
                ]
            rows.append([*row, *[None] * (len(rows[0]) - len(row))])
    text = io.StringIO()
    cells = ([guarded(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    csv.writer(text, lineterminator="\n").writerows(cells)
    with together():
        write_result(
            folder / "stress.json",
            json.dumps(result.to_dict(), indent=2, ensure_ascii=False) + "\n",
        )
        write_result(folder / "stress.csv", text.getvalue())


@verb(StressOptions)
def stress(options: StressOptions) -> StressTest:
    """Ask models about data whose shift grows: accuracy, Brier and ECE at each severity, and the estimate beside them.

    Rows that cannot be shifted so far are left out and counted; each number is given on all rows that a severity has
    and on those that all severities have, matched by ``source_row``. Raises `InputError` for data or models that cannot
    be used, `UsageError` for a call that makes no sense and a folder that holds something else.

    >>> import json, tempfile
    >>> import numpy as np
    >>> folder = Path(tempfile.mkdtemp())
    >>> rows = [{"text": word, "label": int(word.islower())} for word in ["up we go", "DOWN IT IS"] * 60]
    >>> _ = (folder / "a.jsonl").write_text("\\n".join(map(json.dumps, rows)))
    >>> def small(texts):
    ...     return np.array([[0.1, 0.9] if text.islower() else [0.9, 0.1] for text in texts])
    >>> result = stress(folder / "a.jsonl", small, out=folder / "out", kind="casing=1")
    >>> [point.metrics["accuracy"].value for point in result.models[0].curves[0].points]
    [1.0, 0.0]
    """
    _check_numbers(options)
    data, seed = Path(options.data), options.seed
    inputs = ShiftInputs(options)
    # before models are opened, for what is wrong with it
    engine = task_engine(options.engine, options.workers)
    runs, modality = _open_models(options.models, data, options.of_models, engine)
    if engine is not None:
        gpu = any(run.sent is not None and run.sent.on_gpu_here for run in runs)
        engine = task_engine(options.engine, options.workers, gpu=gpu)
    refuse_others(options, modality)
    severities = _wanted(options, inputs, modality)
    shifted, reference = _read(options, data, modality)
    if modality != "dialogue":
        shifted, reference = _in_classes(shifted, reference, runs, options.reference is None)
    kept = _kept(options, runs, modality, inputs.preset)
    kept.claim("results for these data, options and seed", *_RESULTS)
    kinds = shift_examples(shifted, severities, inputs, range(seed, seed + options.repeats))
    job = _Job(shifted, reference, kinds)
    asker = _Asker(
        kept,
        {name: getattr(options, name) for name in _SETTINGS},
        options.progress,
        total=sum(len(dataset) for dataset, _ in job.asked.values()) * len(runs),
        parts=len(job.asked) * len(runs),
    )
    with running(kept):
        if engine is not None:
            every = [job.question(run, stem) for run in runs for stem in job.asked]
            _ask_elsewhere(engine, asker, every)
        models, warnings = _stress_models(runs, job, asker, options)
        looks = [_pixels(row.parts[0]) for row in shifted.rows[:1] if modality == "image"]
        result = StressTest(
            version=__version__,
            data=str(options.data),
            out=str(options.out),
            modality=modality,
            rows=len(shifted),
            refused=shifted.refused,
            labelled=any(row.label is not None for row in shifted.rows),
            reference={
                "source": str(options.reference or "a half of the same data, not shifted"),
                "rows": len(reference),
            },
            level=options.level,
            seed=seed,
            repeats=options.repeats,
            models=models,
            notes=notes_on([shift for shift, *_ in kinds], looks, options.preset),
            warnings=warnings,
            argv=options.argv,
        )
        _write_results(kept.path, result)
    return result


def _check_numbers(options: StressOptions) -> None:
    """Raise `UsageError` for a number that is too small."""
    for name, minimum in (("rows", 2), ("candidates", 2), ("repeats", 1), ("dropout", 0)):
        value = getattr(options, name)
        if value is not None and value < minimum:
            raise UsageError(f"expected {name} to be a number from {minimum} on, got {value!r}")


def _read(options: StressOptions, data: Path, modality: str) -> tuple[Examples, Examples]:
    """What is shifted, and the labelled reference: a file of its own, or a half of the same rows."""
    where, path = filters_of(options.where), options.reference
    shifted = read_examples(data, modality, options, where=where, label_needed=path is None)
    if options.rows is not None and options.rows < len(shifted):
        rng = np.random.default_rng([options.seed, options.rows])
        chosen = rng.choice(len(shifted), size=options.rows, replace=False)
        shifted = shifted.of(shifted.rows[i] for i in sorted(chosen))
    if path is None:
        reference, shifted = shifted.halves(options.seed)
    else:
        where = filters_of(options.reference_where) or where
        reference = read_examples(path, modality, options, where=where, label_needed=True)
    if not any(row.label is not None for row in reference.rows):
        got = f"no value in a column {reference.label}"
        if os.path.isdir(reference.file):
            got = "no subfolder"
        remedy = "name the column of the truth with --label, or labelled rows of the same form with --reference"
        raise InputError(
            "labelled rows, on which the estimates rest",
            got=got,
            remedy=remedy,
            file=reference.file,
        )
    return shifted, reference


def _in_classes(
    shifted: Examples, reference: Examples, runs: Sequence[_ModelRun], one_file: bool
) -> tuple[Examples, Examples]:
    """Both with labels as the first model names its classes; `InputError` where they are no classes of any model."""
    files = [reference, shifted]
    if one_file:  # the first row that is at fault is named
        rows = sorted((*reference.rows, *shifted.rows), key=lambda row: row.number)
        files = [shifted.of(rows)]
    for run in runs:
        for file in files:
            file.in_classes(run.classifier.classes)
    classes = runs[0].classifier.classes
    return shifted.in_classes(classes), reference.in_classes(classes)


def _kept(options: StressOptions, runs: Sequence[_ModelRun], modality: str, preset: str) -> Kept:
    """The folder of the job: data, rows, their labels and candidates, the seed; other models, kinds and severities may
    join it.
    """
    job = [
        options.column,
        filters_of(options.where),
        options.label,
        options.rows,
        options.seed,
        modality,
        options.candidates if modality == "dialogue" else None,
    ]
    job += [] if preset == "cifar-10-c" else [preset]
    files = [
        [os.path.realpath(path), content_of(path)]
        for path in (options.data, options.reference)
        if path
    ]
    places = places_said(data=options.data, models=[run.source for run in runs], out=options.out)
    question = checksum(json.dumps([files, job], default=str))
    return Kept(Path(options.out), {"verb": "stress", **places}, question)


@final
@dataclass(frozen=True)
class _Job:
    """What every model is asked: rows as they are, those of the reference, and shifted ones."""

    shifted: Examples
    reference: Examples
    kinds: Sequence[ShiftedKind]

    @cached_property
    def asked(self) -> dict[str, tuple[Dataset, list[int]]]:
        """Data sets with the numbers of their rows, by the name of their answers."""
        conditions = [condition for _, severities, _ in self.kinds for condition in severities]
        return {
            "reference": self.reference.dataset(),
            "source": self.shifted.dataset(),
            **{
                stem: self.shifted.dataset(rows)
                for condition in conditions
                for stem, rows in condition.different.items()
            },
        }

    def question(self, run: _ModelRun, stem: str) -> _Question:
        """What is asked of a run under a name."""
        return _Question(run, stem, *self.asked[stem])


def _stress_models(
    runs: Sequence[_ModelRun], job: _Job, asker: _Asker, options: StressOptions
) -> tuple[tuple[StressedModel, ...], tuple[str, ...]]:
    """The curves of all models, and their warnings, each once."""
    models, warnings = [], dict[str, None]()
    for name, of_name in groupby(runs, attrgetter("name")):
        model, lines = _stress_model(list(of_name), job, asker, options)
        models.append(model)
        warnings.update(dict.fromkeys(f"{name}: {line}" for line in lines))
    return tuple(models), tuple(warnings)


def _stress_model(
    runs: Sequence[_ModelRun], job: _Job, asker: _Asker, options: StressOptions
) -> tuple[StressedModel, tuple[str, ...]]:
    """The curves of the runs of one name, and warnings of the estimate on the data as they are."""
    references = [asker.ask(job.question(run, "reference")).record for run in runs]

    def judge(stem: str) -> Iterator[_Judged]:
        for run, reference in zip(runs, references, strict=True):
            answers = asker.ask(job.question(run, stem))
            estimation = estimate(
                reference, answers.record.without_labels(), level=options.level, seed=options.seed
            )
            yield answers, _quality(answers.record, options), estimation

    plain = list(judge("source"))
    curves = []
    for shift, severities, common in job.kinds:
        points = [_point(options, plain, common, len(job.shifted))]
        for condition in severities:
            judged = [pair for stem in condition.different for pair in judge(stem)]
            rows = len(condition.draws[0])
            points.append(_point(options, judged, common, rows, condition))
        counts = getattr(shift, "counts", "images")
        curves.append(StressCurve(shift.name, shift.about, counts, len(common), tuple(points)))
    accuracy = _quality(references[0], options)["accuracy"].to_dict()
    about = {"rows": len(job.reference), "accuracy": accuracy}
    sources = tuple(run.source for run in runs)
    model = StressedModel(runs[0].name, sources, about, tuple(curves))
    return model, tuple(plain[0][2].warnings)


_USUAL = {
    "text": ("typing-errors", "casing"),
    "dialogue": DIALOGUE_SHIFTS,
    # noise, blur, weather, digital
    "image": ("gaussian_noise", "defocus_blur", "fog", "jpeg_compression"),
}


def _wanted(
    options: StressOptions, inputs: ShiftInputs, modality: str
) -> dict[type[Shift], tuple[str, ...]]:
    """The kinds with their severities: their own (``kind=0.1,0.3``), those for all kinds, or those of the paper."""
    # texts tell what is known
    usual = _USUAL[modality] if options.training is None else TEXT_SHIFTS[:2]
    images = modality == "image"

    def kind_of(name: str) -> Any:
        """The class of the shift of this name."""
        if images:
            return type(find_image_shift(name, inputs.preset))
        return find_text_shift(name, dialogues=modality == "dialogue")

    def of_paper(name: str) -> Sequence[Any]:
        """The severities that the paper of this kind has."""
        kind = kind_of(name)
        return kind.severities if images else kind.usual  # type: ignore[no-any-return]

    groups: Any = GROUPS if images else TEXT_GROUPS
    asked = severities_by_kind(options.kind or usual, options.severity, groups, of_paper)
    out = {kind_of(name): levels for name, levels in asked.items()}
    for kind, levels in out.items():
        for level in levels:
            kind().check_severity(whole_severity(level) if images else level)
    inputs.check(list(out))
    return out
