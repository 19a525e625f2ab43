"""The verb `evaluate`: how good were these predictions, now that the truth is known? One pass, small states."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, overload

from .. import plugins
from ..arguments import checked
from ..audits.joining import Joined, labelled, wrong_where_unseen
from ..classes import NewLabelError
from ..engines import Engine
from ..errors import UsageError
from ..metrics import about_class, ordered_by, with_payoff
from ..passes.evaluating import EvaluationOptions, evaluate_source
from ..passes.folding import Execution
from ..passes.run_folder import run_folder as in_run_folder
from ..predictions import FIELDS
from ..registry import broken, create, find, named, names
from ..results import Skipped
from ..results.evaluation import Evaluation, Evaluations
from ..runs import places_of_run
from ..store import DecidedSource
from .opening import Opener, in_name_order, positive_class, renamings

__all__ = ["Evaluation", "Evaluations", "evaluate"]


@overload
def evaluate(
    source: Any,
    /,
    *,
    level: float = ...,
    by: str | None = ...,
    cluster: str | None = ...,
    where: str | Sequence[str] | None = ...,
    labels: Any = ...,
    key: str | None = ...,
    metrics: Sequence[str] | None = ...,
    score: str | None = ...,
    seed: int = ...,
    classes: Sequence[int | str] | None = ...,
    mapping: Mapping[str, str] | None = ...,
    positive: str | None = ...,
    threshold: float | None = ...,
    payoff: Any = ...,
    engine: str | Engine = ...,
    workers: int | None = ...,
    run_folder: str | Path | None = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> Evaluation: ...


@overload
def evaluate(
    source: Any,
    second: Any,
    /,
    *sources: Any,
    level: float = ...,
    by: str | None = ...,
    cluster: str | None = ...,
    where: str | Sequence[str] | None = ...,
    labels: Any = ...,
    key: str | None = ...,
    metrics: Sequence[str] | None = ...,
    score: str | None = ...,
    seed: int = ...,
    classes: Sequence[int | str] | None = ...,
    mapping: Mapping[str, str] | None = ...,
    positive: str | None = ...,
    threshold: float | None = ...,
    payoff: Any = ...,
    engine: str | Engine = ...,
    workers: int | None = ...,
    run_folder: str | Path | None = ...,
    progress: Callable[[int, int], None] | None = ...,
) -> Evaluations: ...


@checked()
def evaluate(
    *sources: Any,
    level: float = 0.95,
    by: str | None = None,
    cluster: str | None = None,
    where: str | Sequence[str] | None = None,
    labels: Any = None,
    key: str | None = None,
    metrics: Sequence[str] | None = None,
    score: str | None = None,
    seed: int = 0,
    classes: Sequence[int | str] | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    payoff: Any = None,
    engine: str | Engine = "local",
    workers: int | None = None,
    run_folder: str | Path | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> Evaluation | Evaluations:
    """Judge labelled predictions by every metric that the data can feed; several sources are judged one by one.

    Parameters
    ----------
    sources :
        Labelled predictions: files, frames, dicts of arrays or `Predictions`. `confidence` and `correct` are enough.
    level :
        Nominal coverage of every interval.
    by :
        Column to slice by; each slice gets the metrics asked for, by default the quick ones.
    cluster :
        Column whose equal cells mark rows that depend on each other, such as the questions of one passage or the
        answers to one prompt: intervals are then those of clusters. By default `id`, where ids repeat.
    where :
        Conditions on rows, as in `estimate`; they hold for every source.
    labels :
        Truth of the rows in a file of its own, with `label` or `correct`, in the place of the sources' own: few, late,
        in any order. Joined by `id` where both hold it, by a column `row` (rows counted from 0), else one for each row.
    key :
        Another column to join the labels by, in both files; ``"PREDICTIONS=LABELS"`` where they call it differently.
    metrics :
        Names of metrics, curves and tables; by default all that apply.
    score :
        Name of the registered score that orders rows in metrics of risk and coverage; by default the confidence.
    seed :
        Seed of the bootstrap in some intervals.
    classes :
        Names of the classes in the order of the probabilities.
    mapping :
        Renamed columns, {their column: our column}.
    positive :
        Column with a binary model's probability of class 1; ``"COLUMN=CLASS"`` where the class has another name, or
        ``"=CLASS"`` alone. Precision, recall, F1 and the like are of this class; by default of the one that a lone
        column is about, else of the second by name.
    threshold :
        From which probability on a binary model decides for its positive class: the one that its lone column is about,
        else the second by name. Where there is a `prediction`, that is the decision.
    payoff :
        What a row of each true class brings for each predicted one, {truth: {prediction: value}}, costs below 0; or a
        .json or .csv file with such a table. Gives the metric `expected_value`.
    engine, workers :
        Where the passes run, as in `estimate`.
    run_folder :
        Folder that keeps the state of each finished part, as in `estimate`; the sources must be files then.
    progress :
        Called with (parts done, parts in all), file by file.

    Rows of unknown truth are left out and counted in a warning. Raises `InputError` for input that cannot become a
    number, and where no row is labelled; `UsageError` for a call that makes no sense. A metric that does not apply is
    skipped with its reason.

    >>> found = evaluate({"confidence": [0.9, 0.8, 0.7], "correct": [True, False, True]})
    >>> found.rows, round(found["accuracy"].value, 3), round(found["aurc"].value, 3)
    (3, 0.667, 0.278)
    >>> next(one.why for one in found.skipped if one.method == "f1")
    'needs label and prediction; the record has confidence, correct'
    """
    options = EvaluationOptions(metrics, by, cluster, level, seed, Execution(engine, workers, progress))
    if not sources:
        raise UsageError("give at least one set of predictions")
    chosen, unable = _chosen(metrics, score, payoff)
    extra = [name for name in (by, cluster) if name is not None and name not in FIELDS]
    about = {} if run_folder is None else {"verb": "evaluate", **places_of_run(predictions=sources)}
    done = []
    with in_run_folder(run_folder, about) as folder:
        options = replace(options, execution=replace(options.execution, folder=folder))
        opener = Opener(renamings(mapping, positive))
        opened = [opener.with_ids(given, cluster, classes, extra, where=where) for given in sources]
        if threshold is not None:
            opened = [DecidedSource(one, threshold, positive_class(one, positive)) for one in opened]
        joined = [Joined(one, ()) if labels is None else labelled(labels, one, key, opener.open) for one in opened]
        opener.check()
        for source, said in joined:
            asked = about_class(chosen, positive_class(source, positive))
            try:
                found = evaluate_source(in_name_order(source), asked, options)
            except NewLabelError:
                if classes is not None:
                    raise
                source, said = wrong_where_unseen(source)
                found = evaluate_source(in_name_order(source), asked, options)
            notes = (line for line in opener.notes if line.startswith(f"{source.name}: "))
            done.append(replace(found, skipped=(*found.skipped, *unable), warnings=(*notes, *said, *found.warnings)))
    return done[0] if len(done) == 1 else Evaluations(tuple(done))


def _chosen(metrics: Sequence[str] | None, score: str | None, payoff: Any) -> tuple[list[Any], list[Skipped]]:
    """The metrics asked for, by default all, with their options; and those that could not be made."""
    asked = list(dict.fromkeys(named("metric", name) for name in metrics or ()))
    if asked and payoff is not None and "expected_value" not in asked:
        asked.append("expected_value")
    made = [create("metric", name) for name in asked] or [_made(name) for name in names("metric")]
    unable = [one for one in made if isinstance(one, Skipped)]
    if not asked:
        unable += [Skipped(name, why) for name, why in broken("metric").items()]
    chosen = ordered_by([one for one in made if not isinstance(one, Skipped)], score)
    with_payoff(chosen, payoff)
    return chosen, unable


def _made(name: str) -> Any:
    """The metric, or why a plugin could not even be made."""
    try:
        return create("metric", name)
    except plugins.FAILURES as error:
        return Skipped(name, plugins.why_failed(name, find("metric", name), error))
