"""Run: data shifted further and further, models asked about it, their quality and the estimates without labels."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, final

import numpy as np

from ...datasets import Dataset
from ...engines import Engine, run_tasks, task_engine
from ...errors import UsageError, WorkError
from ...models.sent import forgetting
from ...options import verb
from ...predictions import Predictions
from ...results import Interval
from ...results.estimation import Estimation, Headline
from ...results.stressing import METRICS, Spread, StressCurve, StressedModel, StressPoint, StressTest
from ...runs import Manifest, places_said, running
from ...shifts import DIALOGUE_SHIFTS, TEXT_SHIFTS, find_text_shift
from ...store import together, write_result
from ...store.artifact_cache import checksum, content_of, read_artifact, write_artifact
from ...store.write import guarded
from ...version import __version__
from ..estimate import estimate
from ..evaluate import evaluate
from ..model_options import StressOptions
from ..shift.text import ShiftInputs
from ..shift.texts import filters_of
from .asking import KEY, Answered, Asker, ModelRun, check_sent, open_models
from .examples import Examples, ShiftedKind, Wanted, read_examples, shift_examples


@final
@dataclass(frozen=True)
class Judged:
    """What was found of one set of predictions: on all rows, on the common ones, and without labels."""

    metrics: dict[str, Interval]
    common_rows: int
    common: dict[str, Interval]
    headline: Headline
    warnings: tuple[str, ...]


@final
@dataclass(frozen=True)
class Judge:
    """Judges predictions of one run beside its own labelled reference."""

    reference: Predictions
    level: float
    seed: int

    def metrics(self, record: Predictions) -> dict[str, Interval]:
        """Accuracy, Brier and ECE with their intervals, as `evaluate` gives them; empty where no truth is known."""
        if not len(record) or not record.is_labelled or not len(record.known()):
            return {}
        return dict(evaluate(record, metrics=METRICS, level=self.level, seed=self.seed).metrics)

    def estimate(self, record: Predictions) -> Estimation:
        """The estimate from the reference and the predictions alone."""
        return estimate(self.reference, record.without_labels(), level=self.level, seed=self.seed)

    def judged(self, record: Predictions, common: Collection[int]) -> Judged:
        """All of it; rows are matched by their numbers."""
        same = _some(record, common)
        found = self.estimate(record)
        return Judged(self.metrics(record), len(same), self.metrics(same), found.headline, found.warnings)

    def again(self, before: Judged, record: Predictions, common: Collection[int]) -> Judged:
        """The same predictions with other common rows."""
        same = _some(record, common)
        return replace(before, common_rows=len(same), common=self.metrics(same))


def _some(record: Predictions, numbers: Collection[int]) -> Predictions:
    """The rows with these numbers."""
    own = record.columns[KEY].astype(np.int64)
    return record.take(np.isin(own, np.fromiter(numbers, np.int64, len(numbers))))


def point(
    severity: str | None,
    rows: int,
    answered: Sequence[Answered],
    judged: Sequence[Judged],
    *,
    dropped: dict[str, int],
    means: tuple[float | None, float | None] = (None, None),
) -> StressPoint:
    """A point of a curve from the answers of all runs, at least one unless no row could be shifted."""
    if not judged:
        return StressPoint(severity, rows, dropped, *means, (), 0, {}, 0, {})
    first = judged[0]
    return StressPoint(
        severity=severity,
        rows=rows,
        dropped=dropped,
        words=means[0],
        targets=means[1],
        predictions=tuple(one.path for one in answered),
        truncated=answered[0].truncated,
        metrics=first.metrics,
        common_rows=first.common_rows,
        common=first.common,
        spread=_spread(judged, common=False),
        common_spread=_spread(judged, common=True),
        estimate=first.headline,
    )


def _spread(judged: Sequence[Judged], *, common: bool) -> dict[str, Spread]:
    if len(judged) < 2:
        return {}
    found = [one.common if common else one.metrics for one in judged]
    names = [name for name in METRICS if all(name in one for one in found)]
    out = {name: Spread.of([one[name].value for one in found]) for name in names}
    return out if common else out | {"estimate": Spread.of([one.headline.value for one in judged])}


_JOB = "job.json"
_RESULTS = ("stress.json", "stress.csv")


def claim(out: Path, files: Sequence[Any], options: StressOptions, dialogues: bool) -> Path:
    """Make the folder, or find it with what an earlier run of the same job has finished.

    The job is the data, the rows of them, their labels and candidates and the seed; other models, kinds and severities
    may join it. Raises `UsageError` where the place holds something else.
    """
    said = [options.column, filters_of(options.where), options.label, options.rows, options.seed, dialogues]
    said += [options.candidates if dialogues else None]
    job = checksum(json.dumps([[[os.path.realpath(one), content_of(one)] for one in files if one], said], default=str))
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


def write_results(home: Path, found: StressTest) -> None:
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


@final
@dataclass(frozen=True)
class _Question:
    """What a run of a model is asked about, under which name its answers are kept, and the numbers of the rows."""

    run: ModelRun
    stem: str
    data: Dataset
    numbers: Sequence[int]


@final
@dataclass(frozen=True)
class _Task:
    """Asks a run about a condition, on whatever machine, with one thread."""

    asker: Asker
    gpu: bool

    def __call__(self, one: _Question) -> None:
        assert one.run.sent is not None
        with one.run.sent.opened() as model:
            self.asker.ask(replace(one.run, classifier=model), one.stem, one.data, one.numbers)


def ask_elsewhere(
    engine: Engine,
    asker: Asker,
    runs: Sequence[ModelRun],
    known: Examples,
    shifted: Examples,
    kinds: Sequence[ShiftedKind],
) -> None:
    """Ask what is not answered yet; answers are files in the asker's folder, where it finds them.

    A task travels with the path of its model and the texts of its condition.
    """
    every = [_Question(run, *what) for run in runs for what in _questions(known, shifted, kinds)]
    rest = [one for one in every if not asker.has(one.run, one.stem, one.data, one.numbers)]
    sent = [replace(one, run=replace(one.run, classifier=None)) for one in rest]
    asker.begin(len(every) - len(rest), sum(len(one.data) for one in every) - sum(len(one.data) for one in rest))
    with forgetting():
        gpu = any(one.run.sent is not None and one.run.sent.gpu for one in rest)
        run_tasks(engine, _Task(asker.sent, gpu), sent, on_done=lambda one: asker.told(len(one.data)))
    asker.be_quiet()


def _questions(
    known: Examples, shifted: Examples, kinds: Iterable[ShiftedKind]
) -> Iterator[tuple[str, Dataset, Sequence[int]]]:
    """Everything that each run is asked about, as `run.py` asks for it."""
    yield "reference", *known.dataset()
    yield "source", *shifted.dataset()
    for kind in kinds:
        for condition in kind.conditions:
            for at, kept in enumerate(condition.different):
                if kept:
                    yield condition.stem(kind.shift, at), *shifted.dataset(kept)


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
    inputs = ShiftInputs.of(options)
    more = {name: getattr(options, name) for name in ("gives", "classes", "max_length", "device")}
    runner = task_engine(options.engine, options.workers)  # before models are opened, for what is wrong with it
    runs, dialogues = open_models(options.models, **more)
    if runner is not None:
        runner = task_engine(options.engine, options.workers, gpu=check_sent(runs))
    wanted = _wanted(options, inputs, dialogues)
    shifted, known = _read(options, dialogues)
    if not dialogues:
        for some in (known, shifted) if reference is not None else (known + shifted,):
            for run in runs:
                some.checked(run.classifier.classes)
    home = claim(Path(out), [data, reference], options, dialogues)
    kinds = shift_examples(shifted, wanted, inputs, range(seed, seed + options.repeats), None)
    settings = {name: getattr(options, name) for name in ("dropout", "seed", "max_length", "gives", "classes")}
    different = [some for k in kinds for one in k.conditions for some in one.different if some]
    asker = Asker(home, settings, options.progress, (len(known) + len(shifted) + sum(map(len, different))) * len(runs))
    asker.answers = (2 + len(different)) * len(runs)
    about = places_said(data=data, models=[one.source for one in runs], out=out)
    with running(Manifest(home, {"verb": "stress", **about})) as asker.run:
        if runner is not None:
            ask_elsewhere(runner, asker, runs, known, shifted, kinds)
        warnings: dict[str, None] = {}
        names = dict.fromkeys(one.name for one in runs)
        found = [
            _stressed([r for r in runs if r.name == n], asker, known, shifted, kinds, options, warnings) for n in names
        ]
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
            models=tuple(found),
            notes=tuple(dict.fromkeys(f"{k.shift.name}: {k.shift.deviation}" for k in kinds if k.shift.deviation)),
            warnings=tuple(warnings),
            argv=options.argv,
        )
        write_results(home, outcome)
    return outcome


def _wanted(options: StressOptions, inputs: ShiftInputs, dialogues: bool) -> list[Wanted]:
    """The kinds with their severities: their own (``kind=0.1,0.3``), those for all kinds, or those of the paper.

    Raises `UsageError` for a kind or a severity that there is not, and for what a kind needs and does not get.
    """
    severity: Any = options.severity
    every = tuple(dict.fromkeys(map(str, severity if isinstance(severity, (list, tuple, range)) else [severity])))
    usual = DIALOGUE_SHIFTS if dialogues else ("typing-errors", "casing")
    usual = usual if inputs.training is None else TEXT_SHIFTS[:2]  # synonyms, where texts tell what is known
    found: dict[str, Wanted] = {}
    for asked in ([options.kind] if isinstance(options.kind, str) else options.kind) or usual:
        name, equals, own = asked.partition("=")
        cls = find_text_shift(name, dialogues=dialogues)
        levels = tuple(dict.fromkeys(own.split(","))) if equals else every or cls.usual
        for level in levels:
            cls().check_severity(level)
        before = found.get(name, (cls, ()))[1]
        found[name] = (cls, tuple(dict.fromkeys((*before, *levels))))
    inputs.check([cls for cls, _ in found.values()])
    return list(found.values())


def _read(options: StressOptions, dialogues: bool) -> tuple[Examples, Examples]:
    """What is shifted, and the labelled rows that are not."""
    reference, where = options.reference, filters_of(options.where)

    def read(path: Path, where: Mapping[str, str], needed: bool) -> Examples:
        return read_examples(
            path,
            dialogues=dialogues,
            column=options.column,
            where=where,
            label=options.label,
            label_needed=needed,
            candidates=options.candidates,
            seed=options.seed,
        )

    every = read(Path(options.data), where, reference is None).drawn(options.rows, options.seed)
    if reference is None:
        known, shifted = every.halves(options.seed)
    else:
        known, shifted = read(Path(reference), filters_of(options.reference_where) or where, True), every
    known.check_labelled()
    return shifted, known


def _stressed(
    runs: Sequence[ModelRun],
    asker: Asker,
    known: Examples,
    shifted: Examples,
    kinds: Sequence[ShiftedKind],
    options: StressOptions,
    warnings: dict[str, None],
) -> StressedModel:
    """One model: all its runs asked about the reference, the data as they are, and each kind at each severity."""
    judges = [Judge(asker.ask(run, "reference", *known.dataset()).record, options.level, options.seed) for run in runs]
    plain = [asker.ask(run, "source", *shifted.dataset()) for run in runs]
    judged = [judge.judged(one.record, ()) for judge, one in zip(judges, plain, strict=True)]
    warnings.update(dict.fromkeys(f"{runs[0].name}: {said}" for said in judged[0].warnings))
    curves = []
    for kind in kinds:
        same = [j.again(b, one.record, kind.common) for j, b, one in zip(judges, judged, plain, strict=True)]
        points = [point(None, len(shifted), plain, same, dropped={})]
        points += _points(kind, runs, judges, asker, shifted)
        shift = kind.shift
        curves.append(StressCurve(shift.name, shift.about, shift.counts, len(kind.common), tuple(points)))
    accuracy = judges[0].metrics(judges[0].reference)["accuracy"].to_dict()
    return StressedModel(
        runs[0].name,
        tuple(one.source for one in runs),
        {"rows": len(known), "accuracy": accuracy},
        tuple(curves),
    )


def _points(
    kind: ShiftedKind, runs: Sequence[ModelRun], judges: Sequence[Judge], asker: Asker, shifted: Examples
) -> list[StressPoint]:
    out = []
    for one in kind.conditions:
        answered: list[Answered] = []
        judged: list[Judged] = []
        for at, kept in enumerate(one.different):
            for run, judge in zip(runs, judges, strict=True):
                if not kept:
                    continue
                found = asker.ask(run, one.stem(kind.shift, at), *shifted.dataset(kept))
                answered.append(found)
                judged.append(judge.judged(found.record, kind.common))
        means = (one.words, one.targets)
        out.append(point(one.severity, len(one.draws[0]), answered, judged, dropped=dict(one.dropped), means=means))
    return out
