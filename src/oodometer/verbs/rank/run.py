"""Run: models asked or their files matched, then evidence, probabilities, order, and what to label next."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from ...datasets.reading import Columns
from ...engines import task_engine
from ...errors import UsageError
from ...options import verb
from ...passes.run_folder import run_folder as in_run_folder
from ...rankings.answered import CHOSEN, Answered, RankOptions, check_different, shown
from ...rankings.explaining import Means, explain_suite
from ...rankings.outcome import outcome_of
from ...results.ranking import FewShotRanking
from ...runs import places_of_run, places_said
from ...store import write_result
from ..model_names import named_models, said_model, sent_models
from ..model_options import RankOptions as Asked
from ..opening import positive_column, renamings
from ..predict.run import as_names
from .asking import ask_models
from .matching import are_files, match_files

ENDINGS = (".csv", ".jsonl")


def check_out(out: str | os.PathLike[str] | None, suggest: int) -> None:
    """Raise `UsageError` where a file for suggested rows makes no sense, or cannot be written in its form."""
    if out is None:
        return
    if not suggest:
        raise UsageError("an output file is for suggested rows: say how many with --suggest")
    if Path(out).suffix.lower() not in ENDINGS:
        raise UsageError(f"cannot write {out}: end the name in {' or '.join(ENDINGS)}")


def write_suggested(found: FewShotRanking, out: str | os.PathLike[str]) -> None:
    """Write the suggested rows: id, the text in the columns that it came from, and an empty label to fill in.

    Columns are called as in the labelled rows, so that the file can be put behind them; without ids there, none are
    written where the text itself tells the rows apart. A column ``chosen`` says that the rows are no random sample.
    """
    check_out(out, len(found.suggested) or 1)
    rows = []
    for name, text in found.suggested or [("", None)]:  # without any the heads are written
        parts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
        usual = ("text",) if len(parts) == 1 else tuple(f"text_{i + 1}" for i in range(len(parts)))
        columns = found.columns if len(found.columns) == len(parts) else usual
        key = found.id_column or (None if parts else "id")
        named: dict[str, Any] = {} if key is None else {key: int(name) if found.numbered and name else name}
        told = {found.label_column: "", CHOSEN: "by disagreement"}
        rows.append({**named, **dict(zip(columns, parts, strict=True)), **told})
    heads = list(rows[0])
    rows = rows if found.suggested else []
    if Path(out).suffix.lower() == ".jsonl":
        write_result(
            out, "".join(json.dumps({**row, found.label_column: None}, ensure_ascii=False) + "\n" for row in rows)
        )
        return
    file = io.StringIO()
    writer = csv.DictWriter(file, heads, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_result(out, file.getvalue())


_ASKING, _WHOLE = 100, 1000  # of the progress, where attributions are made


@verb(Asked)
def rank(asked: Asked) -> FewShotRanking:
    """Rank models by a few labelled rows of the data in question, and a pool of rows without labels.

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
    given: dict[str, Any] = {one.name: getattr(asked, one.name, None) for one in fields(RankOptions)}
    worked_out = {
        "columns": Columns(as_names(asked.inputs), asked.label, asked.id),
        "factors": tuple(asked.factors),
        "classes": None if asked.classes is None else tuple(asked.classes),
        "mapping": renamings(asked.mapping, asked.positive),
        "engine": task_engine(asked.engine, asked.workers),
    }
    run_folder = asked.run_folder
    options = RankOptions(**given | worked_out)
    named = named_models(asked.models)
    check_different([name for name, _ in named], [model for _, model in named])
    data = {name: getattr(asked, name) for name in ("examples", "unlabelled", "reference")}
    live = not are_files(named)
    if run_folder is not None and not live:
        raise UsageError(
            "a run folder keeps what live models answer, and these are predictions files: no model is asked; leave "
            "--run-folder out"
        )
    models = [model for _, model in named]
    about: dict[str, str] = {}
    if run_folder is not None:  # a model may be a name of a hub or of a module
        given_data = {name: one for name, one in data.items() if one is not None}
        about = {"verb": "rank", **places_of_run(models=models, **given_data), **places_said(models=models)}
    means = Means()
    if live and (options.engine is not None or run_folder is not None):
        means = Means(sent_models(models, options.of_models()), options.engine)
    if means.engine is not None and any(one.on_gpu_here for one in means.sent or ()):
        means = replace(means, engine=task_engine(asked.engine, asked.workers, gpu=True))
    asking, explaining = asked.progress, None
    if asking is not None and options.explained:  # two parts of one
        asking, explaining = partial(_tell, asking, 0, _ASKING), partial(_tell, asking, _ASKING, _WHOLE)
    with in_run_folder(run_folder, about) as folder:
        means = replace(means, folder=folder)
        suite = _suite(named, data, options, means, asking)
        suite.check()
        explained, why = explain_suite(suite, options, explaining, means) if options.explained else (None, "")
        return outcome_of(suite, explained, why, options, {name: _said(one) for name, one in data.items()}, asked.argv)


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


def _tell(progress: Callable[[int, int], None], start: int, stop: int, done: int, total: int) -> None:
    """Progress of a part as one of the whole."""
    progress(start + (stop - start) * done // max(total, 1), _WHOLE)


def _said(data: Any) -> str | None:
    if data is None:
        return None
    if isinstance(data, (list, tuple)):
        return shown([said_model(one) for one in data])
    return str(data) if isinstance(data, (str, os.PathLike)) else f"in memory ({type(data).__name__})"
