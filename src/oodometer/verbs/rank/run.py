"""Run: models asked or their files matched, then evidence, probabilities, order, and what to label next."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ...arguments import checked, named_in, one_of, texts_or_one
from ...attributions import NORMALIZATIONS
from ...datasets.reading import Columns
from ...engines import Engine, task_engine
from ...errors import UsageError
from ...passes.run_folder import run_folder as in_run_folder
from ...rankings.answered import Answered, check_different, shown
from ...rankings.explaining import Means, explain_suite
from ...rankings.options import ORDERS, RankOptions
from ...rankings.outcome import outcome_of
from ...results.ranking import FewShotRanking
from ...runs import places_of_run, places_said
from ..model_names import named_models, said_model
from ..opening import positive_column, renamings
from ..predict.options import as_names
from .asking import ask_models, sent_models
from .matching import are_files, match_files

_SHARE_OF_EXPLAINING = 0.9  # of the progress, where attributions are made


@checked(
    models=lambda name, value: value,
    normalize=one_of(*NORMALIZATIONS),
    order=one_of(*ORDERS),
    inputs=texts_or_one,
    gives=one_of("logits", "probabilities"),
)
def rank(
    models: Any,
    *,
    examples: Any = None,
    unlabelled: Any = None,
    reference: Any = None,
    factors: Sequence[str] = (),
    attribution: str | None = None,
    samples: int | None = None,
    normalize: str = "none",
    explain: int = 50,
    order: str = "labels",
    suggest: int = 0,
    inputs: str | Sequence[str] | None = None,
    label: str | None = None,
    id: str | None = None,
    mapping: Mapping[str, str] | None = None,
    positive: str | None = None,
    threshold: float | None = None,
    cluster: str | None = None,
    classes: Sequence[int | str] | None = None,
    gives: str | None = None,
    max_length: int | None = None,
    device: str | None = None,
    engine: str | Engine | None = None,
    workers: int | None = None,
    run_folder: str | os.PathLike[str] | None = None,
    level: float = 0.95,
    seed: int = 0,
    argv: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> FewShotRanking:
    """Rank models by a few labelled rows of the data in question, and a pool of rows without labels.

    Parameters
    ----------
    models :
        Two or more, a list or name -> model; texts may be ``NAME=MODEL``. Live models: what `predict` takes. Or all of
        them as predictions files, frames or records with a column ``id``: rows are matched by it, never by position.
    examples :
        A few labelled rows, drawn at random from the data in question; what `predict` takes as data. Rows without a
        label join the pool. For predictions files: ids and labels; by default the files' own labels.
    unlabelled :
        The pool, of live models: more rows of the same data; labels in it are not read. Predictions files hold it.
    reference :
        Labelled rows of known ground, for estimates without labels; for predictions files one file for each model.
    factors, attribution, samples, normalize, explain :
        Names of factors, by default all that fit the texts; "lime", "kernel-shap", "token-ig", or "auto": lime where
        the models and rows allow it; texts asked for one attribution; "none", "l1", "l2" or "max"; explain at most so
        many of the examples. Nothing is explained unless factors or an attribution are named; "auto" asks no factor.
    order :
        "labels": by labels and pool alone. "combined": estimates and factors decide where labels are close.
    suggest :
        How many rows of the pool to name that are best labelled next.
    inputs, label, id, mapping, positive, classes, gives, max_length, device :
        Columns and models, as in `predict` and `evaluate`.
    threshold :
        From which probability on all models, which know two classes, decide for the positive one, as in `evaluate`.
    cluster :
        Column of the labelled rows whose equal cells mark rows that depend on each other, as in `evaluate`; by default
        the ids, where these are of epochs. Probabilities and intervals are then those of clusters.
    engine, workers :
        Attributions as tasks of one thread, one a model and a group of texts: "processes", "ray", "spark"; how many at
        a time. Models are then named by their paths. By default one after another, in this process, with its threads.
    run_folder :
        A folder that keeps what each model answers, in calls of 4,096 rows, and attributions as groups of texts are
        explained: a run that was killed goes on, and gives what an undisturbed one gives, to the last bit, with or
        without the folder. Of live models, and files, that have a path. What is kept counts as long as files and
        options of the model, texts, method and version are the same, and whether `engine` or `workers` are given.
    level, seed :
        Of intervals, and of "settled"; of all draws.
    argv, progress :
        A command line to note in the result; called with (steps done, steps).

    P(a beats b) and P(best) are those of `oodometer.rankings.posterior_by_pattern`, of two models and without a pool
    of `posterior`: two models differ in accuracy only where they disagree. The order is by the mean of P(a beats b),
    without a pool by right answers. Raises `InputError` for models or data that cannot be used, `UsageError` for a call
    that makes no sense.
    Source: Singhal et al. (2022) for the task, the baselines and the factors.

    >>> import numpy as np
    >>> loud = lambda texts: np.array([[0.2, 0.8] if text.isupper() else [0.7, 0.3] for text in texts])
    >>> rows = {"text": ["AH", "oh", "NO", "yes"], "label": [1, 0, 1, 0]}
    >>> found = rank({"loud": loud, "deaf": lambda texts: loud(texts)[:, ::-1]}, examples=rows, classes=[0, 1])
    >>> found.models, round(found.pairs[0].p_a_better, 3), found.ranking[0].right
    (('loud', 'deaf'), 0.91, 4)
    """
    given = dict(locals())
    worked_out = {
        "columns": Columns(as_names(inputs), label, id),
        "factors": tuple(factors),
        "classes": None if classes is None else tuple(classes),
        "mapping": renamings(mapping, positive),
        "engine": task_engine(engine, workers),
    }
    options = RankOptions(**named_in(RankOptions, given) | worked_out)
    named = named_models(models)
    check_different([name for name, _ in named], [model for _, model in named])
    data = {"examples": examples, "unlabelled": unlabelled, "reference": reference}
    live = not are_files(named)
    if run_folder is not None and not live:
        raise UsageError(
            "a run folder keeps what live models answer, and these are predictions files: no model is asked; leave "
            "--run-folder out"
        )
    about = {} if run_folder is None else _about([model for _, model in named], data)
    means = Means()
    if live and (options.engine is not None or run_folder is not None):
        means = Means(sent_models([model for _, model in named], options), options.engine)
    if means.engine is not None and any(one.on_gpu_here for one in means.sent or ()):
        means = replace(means, engine=task_engine(engine, workers, gpu=True))
    with in_run_folder(run_folder, about) as folder:
        return _ranked(named, data, options, replace(means, folder=folder), (argv, progress))


def _about(models: Sequence[Any], data: Mapping[str, Any]) -> dict[str, str]:
    """What a run folder is of; `UsageError` for what is in memory. A model may be a name of a hub or of a module."""
    given = {name: one for name, one in data.items() if one is not None}
    return {"verb": "rank", **places_of_run(models=models, **given), **places_said(models=models)}


def _ranked(
    named: Sequence[tuple[str, Any]],
    data: Mapping[str, Any],
    options: RankOptions,
    means: Means,
    told: tuple[str | None, Callable[[int, int], None] | None],
) -> FewShotRanking:
    """The models are asked, explained and ranked; ``told``: the command line, and who hears of the progress."""
    asking, explaining = _progress(told[1], options)
    suite = _suite(named, data, options, means, asking)
    suite.check()
    explained, why = explain_suite(suite, options, explaining, means) if options.explained else (None, "")
    return outcome_of(suite, explained, why, options, {name: _said(one) for name, one in data.items()}, told[0])


def _progress(progress: Callable[[int, int], None] | None, options: RankOptions) -> tuple[Any, Any]:
    """Progress of asking and of explaining as parts of one."""
    if progress is None or not options.explained:
        return progress, None
    whole = 1000
    first = round(whole * (1 - _SHARE_OF_EXPLAINING))
    return (
        lambda done, total: progress(first * done // max(total, 1), whole),
        lambda done, total: progress(first + (whole - first) * done // max(total, 1), whole),
    )


def _suite(
    named: Sequence[tuple[str, Any]],
    data: Mapping[str, Any],
    options: RankOptions,
    means: Means,
    progress: Callable[[int, int], None] | None,
) -> Answered:
    """What the models say, live or from files; `UsageError` for what does not go with the one or the other."""
    examples, unlabelled, reference = (data[name] for name in ("examples", "unlabelled", "reference"))
    if not are_files(named):
        if positive_column(options.positive) is not None:
            raise UsageError(
                "--positive COLUMN is of predictions files; =CLASS alone says for which class live models decide"
            )
        if options.mapping:
            raise UsageError(
                "--map renames columns of predictions files; name those of data with --input, --label, --id"
            )
        if examples is None:
            raise UsageError(
                "live models are ranked by labelled examples: give some, --examples FILE; ten already help"
            )
        if isinstance(reference, (list, tuple)):
            raise UsageError("live models have one reference, which all are asked about; give a single file")
        return ask_models(named, data, options, means, progress)
    if unlabelled is not None:
        raise UsageError("the pool of predictions files is their rows without a label; leave --unlabelled out")
    for what, value in (
        ("--input", options.columns.inputs or None),
        ("--gives", options.gives),
        ("--max-length", options.max_length),
        ("--device", options.device),
    ):
        if value is not None:
            raise UsageError(f"{what} is of live models, and these are predictions files; leave it out")
    references = () if reference is None else reference if isinstance(reference, (list, tuple)) else [reference]
    if references and len(references) != len(named):
        raise UsageError(
            f"expected a reference for each of {len(named)} predictions files, in their order, got {len(references)}"
        )
    return match_files(named, examples, references, options)


def _said(data: Any) -> str | None:
    if data is None:
        return None
    if isinstance(data, (list, tuple)):
        return shown([said_model(one) for one in data])
    return str(data) if isinstance(data, (str, os.PathLike)) else f"in memory ({type(data).__name__})"
