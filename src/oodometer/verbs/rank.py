"""The verb `rank`: several models, a pool and a few labels, or none; which model, how sure, what to label next."""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import plugins
from ..engines import task_engine
from ..errors import UsageError
from ..options import verb
from ..persistence import ENDING
from ..plain import Json
from ..predictions import Predictions
from ..rankings.answered import CHOSEN, Answered, shown
from ..rankings.outcome import outcome_of
from ..results.preferences import Preferences
from ..results.ranking import FewShotRanking
from ..store import Source, write_result
from ..vectors import are_records, is_bare
from .named_models import named_models, said_model, twice_named
from .opening import renamings
from .rank_battles import battles_in, rank_battles
from .rank_files import match_files
from .rank_options import Asked, repeated

ENDINGS = (".parquet", ".csv", ".jsonl", ".arrow", ".feather", ".npz")
_DATA = ("examples", "unlabelled", "reference")


def are_files(models: Sequence[tuple[str, Any]]) -> bool:
    """Whether the models are given by their predictions; `UsageError` where some are and others are not."""
    files = []
    for _, model in models:
        if isinstance(model, (str, os.PathLike)):
            path = Path(str(model))  # of fitted files the reader speaks
            files.append(path.suffix.lower() in (*ENDINGS, ENDING) and not path.is_dir())
        else:
            frame = not callable(model) and hasattr(model, "columns") and not hasattr(model, "ask")
            answers = frame or is_bare(model) or are_records(model)
            files.append(answers or isinstance(model, (Predictions, Source, Mapping)))
    if any(files) and not all(files):
        live, file = models[files.index(False)][0], models[files.index(True)][0]
        remedy = "`oodometer predict` writes the file of a live model"
        raise UsageError(
            f"{file} is a predictions file and {live} a live model: give all models in one form; {remedy}"
        )
    return bool(files) and files[0]


_SUGGESTED = (".csv", ".jsonl")


def check_out(out: str | os.PathLike[str] | None, suggest: int) -> None:
    """Raise `UsageError` where a file for suggested rows makes no sense, or cannot be written in its form."""
    if out is None:
        return
    if not suggest:
        raise UsageError("an output file is for suggested rows: say how many with --suggest")
    if Path(out).suffix.lower() not in _SUGGESTED:
        raise UsageError(f"cannot write {out}: end the name in {' or '.join(_SUGGESTED)}")


def write_suggested(ranking: FewShotRanking, out: str | os.PathLike[str]) -> None:
    """Write the suggested rows: id, the text in the columns that it came from, and an empty label to fill in.

    Columns are called as in the labelled rows, so that the file can be put behind them; ids are left out where the text
    itself tells rows apart. A column ``chosen`` says that the rows are no random sample.
    """
    check_out(out, len(ranking.suggested) or 1)
    rows = [_row_to_label(ranking, name, text) for name, text in ranking.suggested]
    if Path(out).suffix.lower() == ".jsonl":
        empty = [{**row, ranking.label_column: None} for row in rows]
        write_result(out, "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in empty))
        return
    heads = rows[0] if rows else _row_to_label(ranking, "", None)
    file = io.StringIO()
    writer = csv.DictWriter(file, list(heads), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    write_result(out, file.getvalue())


def _row_to_label(ranking: FewShotRanking, name: str, text: Any) -> Json:
    """A suggested row by its columns: its id, its text or texts, an empty label."""
    parts = () if text is None else (text,) if isinstance(text, str) else tuple(text)
    columns = ranking.columns
    if len(columns) != len(parts):
        several = tuple(f"text_{number}" for number, _ in enumerate(parts, 1))
        columns = ("text",) if len(parts) == 1 else several
    row: Json = {}
    key = ranking.id_column or (None if parts else "id")
    if key is not None:
        row[key] = int(name) if ranking.numbered and name else name
    row |= zip(columns, parts, strict=True)
    return row | {ranking.label_column: "", CHOSEN: "by disagreement"}


@verb(Asked)
def rank(options: Asked) -> FewShotRanking | Preferences:
    """Rank models by a few labelled rows of the data in question, or none, and a pool of rows without labels.

    P(a beats b) and P(best) are those of `oodometer.rankings.posterior_by_pattern`, of two models and without a pool of
    `posterior`: two models differ in accuracy only where they disagree. P(best) is no larger than what came true of
    such on public suites (`oodometer.rankings.came_true`). Without a label agreement decides, and the reference where
    there is one. The order is by expected accuracy, without a pool by right answers.

    One file, frame or record of battles, two models a row and which one was preferred, in the place of the models is
    ranked by the strengths of Bradley and Terry, and gives `Preferences`. Raises `InputError` for models or data that
    cannot be used, `UsageError` for a call that makes no sense. Source: Singhal et al. (2022) for the task, the
    baselines and the factors.

    >>> import numpy as np
    >>> loud = lambda texts: np.array([[0.2, 0.8] if text.isupper() else [0.7, 0.3] for text in texts])
    >>> rows = {"text": ["AH", "oh", "NO", "yes"], "label": [1, 0, 1, 0]}
    >>> found = rank({"loud": loud, "deaf": lambda texts: loud(texts)[:, ::-1]}, examples=rows, classes=[0, 1])
    >>> found.models, round(found.pairs[0].p_a_better, 3), found.ranking[0].right
    (('loud', 'deaf'), 0.91, 4)
    """
    task_engine(options.engine, options.workers)
    # says what is wrong with them before a model is opened
    renamings(options.mapping, options.positive)
    named = named_models(options.models)
    battles = battles_in(named[0][1], options) if len(named) == 1 else None
    if battles is not None:
        return rank_battles(battles, named[0][1], options)
    _check_models(named)
    if are_files(named):
        suite, explained, why = _suite_of_files(named, options), None, ""
    else:
        suite, explained, why = plugins.load("parts", "ask_models", "a live model")(named, options)
    data = {name: _said_data(getattr(options, name)) for name in _DATA}
    return outcome_of(suite, explained, why, options, data, options.argv)


def _suite_of_files(models: Sequence[tuple[str, Any]], options: Asked) -> Answered:
    """The answers that predictions files hold; `UsageError` for what only live models can be asked for."""
    if options.run_folder is not None:
        text = "a run folder keeps what live models answer, and these are predictions files: no model is asked"
        raise UsageError(f"{text}; leave --run-folder out")
    suite = match_files(models, options)
    suite.check()
    if options.explained:
        raise UsageError(
            "predictions files hold answers and no models: attributions and factors need live models"
        )
    return suite


def _check_models(named: Sequence[tuple[str, Any]]) -> None:
    """Raise `UsageError` for fewer than two models, for a model or a name that stands there twice."""
    if len(named) < 2:
        raise UsageError(
            f"expected at least two models to rank, got {len(named)}; for one there is `audit`"
        )
    twice = twice_named([model for _, model in named])
    if twice is not None:
        of_path = isinstance(twice, (str, os.PathLike))
        called = str(twice) if of_path else next(n for n, model in named if model is twice)
        raise UsageError(
            f"{called} is named twice: a model is neither better nor worse than itself; name another one"
        )
    alike = repeated([name for name, _ in named])
    if alike is not None:
        raise UsageError(f"two models have the name {alike}; give each its own, NAME=MODEL")


def _said_data(value: Any) -> str | None:
    """Data as a result names them: paths, or that they are in memory."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return shown([said_model(entry) for entry in value])
    if isinstance(value, (str, os.PathLike)):
        return str(value)
    return f"in memory ({type(value).__name__})"
