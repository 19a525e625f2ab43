"""Natural rankers: a ranker of one's own on natural shifts, from ten labels, beside `rank` and plain counting."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.arrays import Array
from oodometer.errors import InputError, NotApplicable, UsageError, WorkError
from oodometer.options import verb
from oodometer.predictions import Predictions
from oodometer.registry import FAILURES, reason
from oodometer.runs import Kept, running
from oodometer.verbs.rank import rank
from oodometer.version import __version__

from ..models.opening import imported
from ..results.ranker_benchmark import RankerBenchmark, RankerTask
from ..verbs.options import BenchmarkOptions
from .natural import fingerprint, kinds_of
from .natural_cases import KINDS, REFERENCE, SAME, SPLITS, TABLES, table_of

DRAWS, LABELS = 5, 10
ORDERS = TABLES / "orders.json"
"""What `rank` says of every task, by its key; computed by `ask_rank`."""
Scores = Mapping[str, float]
Ranker = Callable[[Mapping[str, Predictions], Array, Mapping[str, Predictions]], Scores]


@dataclass(frozen=True)
class NaturalRanking:
    """Three models on one target, of which ten rows are labelled.

    split, target, kind : as of `NaturalCase`. draw : number of the drawing of the labelled rows.
    """

    split: str
    target: str
    kind: str
    draw: int

    @property
    def key(self) -> str:
        """A name that no other task has, such as ``employment-sex/women/0``."""
        return f"{self.split}/{self.target}/{self.draw}"

    @property
    def source(self) -> str:
        """The public data set."""
        return self.split.partition("-")[0]

    @property
    def targets(self) -> dict[str, Predictions]:
        """Model -> its predictions for the target, without labels."""
        probabilities = table_of(self.split)[self.target][1]
        return {name: Predictions.from_probabilities(p) for name, p in probabilities.items()}

    @property
    def references(self) -> dict[str, Predictions]:
        """Model -> its predictions for the reference, with labels."""
        label, probabilities = table_of(self.split)[REFERENCE]
        return {
            name: Predictions.from_probabilities(p, label=label)
            for name, p in probabilities.items()
        }

    @property
    def rows(self) -> Array:
        """Positions of the labelled rows, int64, shape (label,), drawn at random without replacement."""
        count = len(table_of(self.split)[self.target][0])
        name = int.from_bytes(f"{self.split}/{self.target}".encode(), "little") % 2**63
        drawn = np.random.default_rng([name, self.draw]).permutation(count)[:LABELS]
        return np.sort(drawn)

    @property
    def labels(self) -> Array:
        """The true class of the labelled rows, -1 elsewhere, int64, shape (sample,)."""
        truth = table_of(self.split)[self.target][0]
        out = np.full(len(truth), -1, dtype=np.int64)
        out[self.rows] = truth[self.rows]
        return out

    @property
    def truths(self) -> dict[str, float]:
        """Model -> accuracy on the whole target."""
        truth, probabilities = table_of(self.split)[self.target]
        return {
            name: float(np.mean(p.argmax(axis=1) == truth)) for name, p in probabilities.items()
        }


def natural_rankings() -> tuple[NaturalRanking, ...]:
    """All tasks, in a fixed order.

    >>> tasks = natural_rankings()
    >>> len(tasks), len({task.source for task in tasks}), int((tasks[0].labels >= 0).sum())
    (225, 7, 10)
    """
    return tuple(
        NaturalRanking(split, target, "none" if target == SAME else kind, draw)
        for split, kind in SPLITS.items()
        for target in table_of(split)
        if target != REFERENCE
        for draw in range(DRAWS)
    )


def counting(targets: Mapping[str, Predictions], labels: Array, references: Any) -> Scores:
    """Right answers on the labelled rows."""
    known = labels >= 0
    return {
        name: float(np.sum(one.predicted[known] == labels[known])) for name, one in targets.items()
    }


def as_before(targets: Any, labels: Array, references: Mapping[str, Predictions]) -> Scores:
    """The accuracy on the reference."""
    return {name: one.accuracy for name, one in references.items()}


def agreement(targets: Mapping[str, Predictions], labels: Array, references: Any) -> Scores:
    """Share of rows on which two models agree, mean over the other models."""
    classes = {name: one.predicted for name, one in targets.items()}
    return {
        a: float(np.mean([np.mean(classes[a] == classes[b]) for b in classes if b != a]))
        for a in classes
    }


PLAIN: Mapping[str, Ranker] = {
    "right answers": counting,
    "reference accuracy": as_before,
    "agreement": agreement,
}
"""What anybody would try first, by name."""
RANK = "rank"


@verb(BenchmarkOptions)
def natural_rankers(options: BenchmarkOptions) -> RankerBenchmark:
    """Ask rankers which of three models is better on natural shifts, from ten labels and rows without labels.

    A ranker is a function ``(targets, labels, references) -> {model: score}``, the larger the better: predictions of
    each model for the same target rows without labels, their true classes, shape (sample,), -1 where no label is given,
    and its predictions for the labelled reference. It answers for 45 targets of 7 public data sets, ten rows of each
    drawn five times. An error, or scores that are not finite, leave a task out with the reason.

    Raises `UsageError` for what is no function, `InputError` for a module that cannot be imported, `WorkError` where a
    ranker answers nowhere.

    >>> found = natural_rankers(lambda targets, labels, references: dict.fromkeys(targets, 0.0), kinds=["place"])
    >>> [(row.method, row.pairs_right["value"]) for row in found.rows if row.own][:1]
    [('lambda', 0.5)]
    """
    rankers = dict(map(_ranker, _several(options.estimators)))
    kinds = kinds_of(options.kinds)
    tasks = [task for task in natural_rankings() if task.kind in kinds]
    pieces = _asked(rankers, tasks, options)
    left_out: dict[str, dict[str, int]] = {}
    for name in rankers:
        reasons = [piece["left_out"][name] for piece in pieces if name in piece["left_out"]]
        if len(reasons) == len(pieces):
            raise WorkError(f"{name} answered in none of {len(pieces)} tasks: {reasons[0]}")
        if reasons:
            left_out[name] = {why: reasons.count(why) for why in dict.fromkeys(reasons)}
    shipped = json.loads(ORDERS.read_text(encoding="utf-8"))["scores"]
    return RankerBenchmark(
        version=__version__,
        rankers=tuple(rankers),
        level=0.9,
        labels=LABELS,
        tasks=tuple(
            RankerTask(
                task=task.key,
                source=task.source,
                kind=task.kind,
                truths=task.truths,
                scores={
                    RANK: shipped[task.key],
                    **{name: dict(ask(*_given(task))) for name, ask in PLAIN.items()},
                    **piece["scores"],
                },
            )
            for task, piece in zip(tasks, pieces, strict=True)
        ),
        left_out=left_out,
        about={kind: KINDS[kind] for kind in kinds},
        argv=options.argv,
    )


def ask_rank(task: NaturalRanking) -> Scores:
    """The order of `oodometer.rank` with its default options: minus the place of each model."""

    def table(record: Predictions, prefix: str) -> dict[str, Any]:
        assert record.probabilities is not None
        out: dict[str, Any] = {"id": [f"{prefix}{i}" for i in range(len(record))]}
        out |= {f"prob_{k}": p for k, p in enumerate(record.probabilities.T)}
        return out if record.label is None else {**out, "label": record.label}

    rows, labels = task.rows, task.labels
    found = rank(
        {name: table(record, "t") for name, record in task.targets.items()},
        examples={"id": [f"t{row}" for row in rows], "label": labels[rows]},
        reference=[table(record, "r") for record in task.references.values()],
    )
    return {row.model: -float(row.rank) for row in found.ranking}


def _given(task: NaturalRanking) -> tuple[Mapping[str, Predictions], Array, Any]:
    return task.targets, task.labels, task.references


_ARGUMENTS = ("targets", "labels", "references")


def are_rankers(given: Any) -> bool:
    """Whether functions that are named as ``module:function`` have the arguments of a ranker, by their names.

    >>> are_rankers("oodometer_lab.benchmarks.natural_rankers:counting"), are_rankers("atc")
    (True, False)
    """

    def arguments(one: Any) -> tuple[str, ...]:
        named = isinstance(one, str) and ":" in one and not one.startswith("threshold:")
        thing = imported(one) if named else one
        if isinstance(thing, str | type) or not callable(thing):
            return ()
        try:
            return tuple(inspect.signature(thing).parameters)
        except ValueError:  # of a function that is not written in Python
            return ()

    several = _several(given)
    return all(arguments(one) == _ARGUMENTS for one in several)


def _several(given: Any) -> list[Any]:
    several = [*given] if isinstance(given, (list, tuple)) else [given]
    if not several:
        raise UsageError("name at least one ranker, such as module:my_ranker")
    return several


def _ranker(given: Any) -> tuple[str, Ranker]:
    """Name and function of what is given; `UsageError` for anything else."""
    ask = imported(given) if isinstance(given, str) and ":" in given else given
    if not callable(ask) or isinstance(ask, type):
        raise UsageError(
            f"expected a function of targets, labels and references, got {given!r}; name one as module:function"
        )
    name = str(getattr(ask, "__name__", type(ask).__name__)).strip("<>")
    if name in (RANK, *PLAIN):
        raise UsageError(f"there is a ranker {name!r} already; give yours another name")
    return name, ask


def _asked(
    rankers: Mapping[str, Ranker], tasks: Sequence[NaturalRanking], options: BenchmarkOptions
) -> list[Mapping[str, Any]]:
    """What the rankers say of each task; finished tasks of an earlier run in the same folder are kept."""
    folder = None if options.run_folder is None else Path(options.run_folder)
    about = {"verb": "benchmark", "rankers": ", ".join(rankers)}
    kept = Kept(folder, about, f"{__version__} {' '.join(map(fingerprint, rankers.values()))}")
    if folder is not None:
        kept.claim("results of these rankers")
    pieces = []
    with running(kept):
        for task in tasks:
            pieces.append(kept.piece(task.key.replace("/", "_"), partial(_ask, rankers, task)))
            kept.tell(len(pieces), len(tasks), 1)
            if options.progress is not None:
                options.progress(len(pieces), len(tasks))
    return pieces


def _ask(rankers: Mapping[str, Ranker], task: NaturalRanking) -> Mapping[str, Any]:
    """Scores, and reasons where there are none, as JSON holds them."""
    scores, left_out = {}, {}
    for name, ask in rankers.items():
        try:
            scores[name] = _checked(ask(*_given(task)), task)
        except (NotApplicable, InputError) as error:
            left_out[name] = str(error)
        except FAILURES as error:  # a ranker of someone else may fail in any way
            left_out[name] = reason(name, True, error)
    return {"scores": scores, "left_out": left_out}


def _checked(answer: Any, task: NaturalRanking) -> dict[str, float]:
    """A finite score of every model; `InputError` for anything else."""
    models = [*task.truths]
    if not isinstance(answer, Mapping) or set(answer) != set(models):
        raise InputError(f"a score of each of {', '.join(models)}", got=repr(answer)[:80])
    try:
        out = {name: float(answer[name]) for name in models}
    except (TypeError, ValueError):
        raise InputError("scores that are numbers", got=repr(answer)[:80]) from None
    if not np.isfinite([*out.values()]).all():
        raise InputError("finite scores", got=repr(answer)[:80])
    return out
