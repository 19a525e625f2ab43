"""Outputs of a sequence model: what `predict` writes where the model is an encoder-decoder; it goes on."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from oodometer.arrays import Ragged
from oodometer.errors import UsageError
from oodometer.options import declared
from oodometer.predictions import Predictions
from oodometer.results.prediction import Prediction
from oodometer.runs import Kept, places_said, running
from oodometer.store import write_predictions
from oodometer.verbs.named_models import as_names, said_model
from oodometer.verbs.opening import Opener
from oodometer.verbs.read import check_out
from oodometer.verbs.read_content import known_number
from oodometer.version import __version__

from ..models.artifacts import fingerprint
from ..models.opening import stamp_of
from ..models.seq2seq import exact_match, open_sequence_model
from .discriminate.pairs import TextRows, read_texts
from .options import PredictOptions

BEAMS = 4
_ROWS = 256  # at most that a kill costs
_OPTIONS = frozenset(
    ("model", "data", "out", "inputs", "label", "id", "unlabelled", "keep_input", "max_length")
)
_OPTIONS |= {"device", "batch_rows", "progress"}


def predict_sequences(options: PredictOptions) -> Prediction:
    """The best of four beams of each input with its confidence, the probability of the output, and the log-probability
    of each token; ``correct`` where there is a gold output that it equals but for white space.
    """
    _check_options(options)
    check_out(options.out)
    rows = _rows(options)
    model = open_sequence_model(options.model, max_length=options.max_length, device=options.device)
    out, folder = options.out, None
    if out is not None:
        folder = Path(os.path.abspath(out)).with_name(f".{Path(out).name}.parts")
    step = min(options.batch_rows, _ROWS)
    job = {"model": stamp_of(options.model), "inputs": rows.inputs, "beams": BEAMS, "rows": step}
    job |= {"max_length": options.max_length, "oodometer": __version__}
    about = {"verb": "predict", **places_said(model=options.model, data=options.data, out=out)}
    truncated, outputs, logprobs, total = 0, list[str](), list[list[float]](), len(rows.inputs)
    with running(Kept(folder, about, fingerprint(job)), passing=True) as kept:
        for first in range(0, total, step):
            inputs = rows.inputs[first : first + step]

            def tell(done: int, of: int, first: int = first) -> None:
                if options.progress is not None:
                    options.progress(first + done, total)

            def answers(inputs: list[str] = inputs, tell: Any = tell) -> dict[str, Any]:
                found = model.decode(inputs, beams=BEAMS, progress=tell)
                scores = [found.token_logprobs[row].tolist() for row in range(len(inputs))]
                return {"outputs": found.best, "logprobs": scores, "truncated": found.truncated}

            part = kept.piece(f"part-{first:09d}", answers)
            outputs += part["outputs"]
            logprobs += part["logprobs"]
            truncated += part["truncated"]
            kept.tell(min(first + step, total), total)
            tell(len(inputs), len(inputs))
        record = _record(rows, outputs, logprobs, options)
        if out is not None:
            write_predictions(record, out)
    accuracy, repeated = known_number(record)
    return Prediction(
        version=__version__,
        model=said_model(options.model),
        data=rows.name,
        out=None if out is None else str(out),
        rows=len(record),
        classes=(),
        fields=record.fields,
        accuracy=accuracy,
        truncated=truncated,
        warnings=repeated,
        record=record if out is None else None,
    )


def _check_options(options: PredictOptions) -> None:
    """Raise `UsageError` for options of classifiers."""
    odd = [
        name
        for name, field, _ in declared(PredictOptions)
        if name not in _OPTIONS and getattr(options, name) != field.default
    ]
    if odd:
        raise UsageError(
            f"{said_model(options.model)} is a sequence model, whose outputs are written without {' and '.join(odd)}; "
            "leave that out"
        )


def _rows(options: PredictOptions) -> TextRows:
    """The inputs of the data, and its gold outputs where there are any."""
    names = as_names(options.inputs)
    if len(names) > 1:
        raise UsageError("a sequence model reads one text; name one column with --input")
    mapping = dict.fromkeys(names, "input")
    if options.label is not None:
        mapping[options.label] = "gold"
    if options.id is not None:
        mapping[options.id] = "id"
    opener = Opener(mapping)
    rows = read_texts(options.data, opener, mapping, everything=True, needs=("input",))
    opener.check()
    return rows


def _record(
    rows: TextRows, outputs: list[str], logprobs: list[list[float]], options: PredictOptions
) -> Predictions:
    """The outputs beside the columns of the data."""
    correct = None
    if rows.golds is not None and not options.unlabelled:
        known = [row for row, gold in enumerate(rows.golds) if gold is not None]
        correct = np.full(len(outputs), None, dtype=object)
        golds = [str(rows.golds[row]) for row in known]
        correct[known] = exact_match([outputs[row] for row in known], golds)
    scores = Ragged.from_rows(logprobs)
    return Predictions.from_arrays(
        columns=rows.record.columns,
        input=rows.record.input,
        output=np.array(outputs, dtype=object),
        confidence=np.clip(np.exp(scores.sums()), 0.0, 1.0),
        token_logprobs=scores,
        correct=correct,
    )
