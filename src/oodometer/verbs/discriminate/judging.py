"""Judging: outputs of a sequence model in, the judges' votes beside them, bounds of accuracy and accepted pairs out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...discriminators import HALF
from ...errors import InputError
from ...metrics.votes import check_agree
from ...options import verb
from ...predictions import Predictions
from ...runs import passing, places_said
from ...store import refuse_clashes, write_predictions
from ...store.files import format_of
from ..model_options import JudgeOptions
from ..opening import Opener
from .judged import JudgedOutputs, PseudoLabels, metric_numbers, vote_numbers, with_slack
from .judged import pseudo_labels as accepted_outputs
from .jury import Jury, asking, judging_home, jury_of, own_confidence
from .options import check_judging
from .pairs import METRICS, TextRows, read_texts
from .thresholding import (
    calibrated,
    check_labelled,
    labelled,
    probability_columns,
    shortest,
    with_probabilities,
)
from .vote_study import vote_study
from .worth import outside

_STUDY = ("rows", "gold", "inside", "methods", "rules", "ladder", "by_judge", "bounds", "skipped")


@verb(JudgeOptions)
def judge_outputs(options: JudgeOptions) -> JudgedOutputs:
    """Let judges vote on outputs: accuracy between bounds, without labels.

    With thresholds, the interval of the estimate also holds what their labelled rows leave open. The bounds are
    empirical: judges that fail alike put the truth outside. Raises `InputError` for rows without texts
    and for a folder without judges, `UsageError` for a call that makes no sense. Source: Yao and Koller (2024).

    >>> from oodometer.discriminators import Panel, RuleDiscriminator
    >>> rules = [RuleDiscriminator(lambda i, o: len(i) == len(o)), RuleDiscriminator(lambda i, o: o.isupper())]
    >>> found = judge_outputs(Panel(rules), {"input": ["a", "b", "c"], "output": ["A", "bb", "c"]})
    >>> found.lower.value.__round__(3), found.upper.value.__round__(3), found.estimate.kind
    (0.333, 0.667, 'empirical')
    """
    check_judging(options)
    judges, outputs, out, pseudo_labels = options.judges, options.outputs, options.out, options.pseudo_labels
    calibrate, level, seed = options.calibrate, options.level, options.seed
    refuse_clashes({"out": out, "pseudo_labels": pseudo_labels}, [outputs, *([] if calibrate is None else [calibrate])])
    rows, labels = _rows(outputs, options)
    jury = jury_of(judges, options, rows)
    record, further, warnings = _without(rows.record, jury)
    check_agree(options.agree, len(jury.names) + further)
    home = None if out is None else judging_home(out)
    about = {"verb": "discriminate predict", **places_said(judges=judges, outputs=outputs, out=out)}
    with passing(home, about) as run:
        with asking(jury.members, *_pairs(rows, labels), home=home, run=run, progress=options.progress) as asked:
            for judge, told in asked.unanswered():
                asked.take(judge.probabilities(asked.inputs, asked.outputs, progress=told))
        said = _said(jury, asked.said, rows, labels)
        accept = jury.accept if labels is None else calibrated(said[:, len(rows.inputs) :], labels, level)
        said = said[:, : len(rows.inputs)]
        empty = sum(not (one or "").strip() for one in rows.outputs or ())
        if empty:
            warnings.append(
                f"{empty} of {len(rows.inputs)} outputs are empty: they are judged Incorrect without asking"
            )
        record, numbers, more = _judged(_with_truth(record, rows), rows, said, replace(jury, accept=accept), options)
        warnings += more
        names = record.names["judge"] if jury.metric == "exact" else jury.names
        if out is not None:
            write_predictions(_flat(record) if format_of(Path(out)) == "csv" else record, out)
        accepted = None
        if pseudo_labels is not None:
            accepted = accepted_outputs(record, agree=numbers["agree"], level=level)
            warnings += _export(accepted, pseudo_labels)
        return JudgedOutputs(
            name=rows.name,
            rows=len(rows.inputs),
            metric=jury.metric,
            judges=tuple(names),
            **numbers,
            empty=empty,
            cut=asked.cut,
            warnings=(*warnings, *asked.cuts),
            level=level,
            seed=seed,
            record=record,
            out=None if out is None else str(out),
            pseudo_labels=accepted,
            pseudo_out=None if pseudo_labels is None else str(pseudo_labels),
        )


def _rows(outputs: Any, options: JudgeOptions) -> tuple[TextRows, TextRows | None]:
    """The rows to be judged, and the labelled ones; `InputError` where they have no outputs."""
    opener = Opener(options.mapping)
    rows = read_texts(outputs, opener, options.mapping, everything=True)
    labels = options.calibrate
    if labels is not None:
        labels = read_texts(labels, opener, options.mapping, everything=True, needs=("input", "output", "gold"))
    opener.check()
    for one in (rows, labels):
        if one is not None and one.outputs is None:
            raise one.lacks("a column output", "output")
    if labels is not None:
        check_labelled(labels)  # before judges are asked, which takes long
    return rows, labels


def _pairs(rows: TextRows, labels: TextRows | None) -> tuple[list[str], list[str]]:
    """Inputs and outputs of the rows and, behind them, of the labelled ones: all are asked about in one go."""
    both = [rows] if labels is None else [rows, labels]
    return [text for one in both for text in one.inputs], [text or "" for one in both for text in one.outputs or ()]


def _said(jury: Jury, answers: Array, rows: TextRows, labels: TextRows | None) -> Array:
    """P(Correct), axes (judge, sample), the labelled rows behind the others: as asked now, or as the rows hold it."""
    said = jury.said
    if said is None:
        said = shortest(answers) if jury.metric == "exact" else answers
    elif labels is not None:
        said = np.hstack([said, _held_by(labels, jury.names[:-1] if jury.confidence else jury.names)])
    return np.vstack([said, own_confidence(rows, labels)]) if jury.confidence else said


def _held_by(labels: TextRows, names: Sequence[str]) -> Array:
    """The answers of the same judges that labelled rows hold."""
    known, said = probability_columns(labels)
    if set(known) != set(names):
        raise InputError(
            f"columns p_correct_ of the same judges as in the rows: {', '.join(names)}",
            got=", ".join(known) or "none",
            remedy="judge both files by the same judges: oodometer discriminate predict FOLDER FILE FILE --out FOLDER",
            file=labels.name,
        )
    return said[[known.index(name) for name in names]]


def _judged(
    record: Predictions, rows: TextRows, said: Array, jury: Jury, options: JudgeOptions
) -> tuple[Predictions, dict[str, Any], list[str]]:
    """The record with what the judges said, the numbers that it amounts to, and warnings."""
    if jury.metric != "exact":
        true = _true_metric(rows, jury.metric)
        record = _predicted(record, said, jury.names, jury.metric, true)
        return record, metric_numbers(said, options.agree, options.level, true), []
    bare, accept = record, jury.accept
    record = with_probabilities(_voted(bare, accept.votes(said), jury.names), said, jury.names)
    numbers = vote_numbers(record, options.agree, options.level)
    numbers["truth"] = _study(record, options.level, options.seed)
    warnings = list(numbers.pop("warnings"))
    if accept.is_usual:
        if 1 < len(record.names["judge"]) == len(jury.held.get("ladder", ())):
            warnings += outside(jury.held["ladder"], numbers["mean"].value, numbers["agree"])
        return record, numbers, warnings

    def other(votes: Array) -> dict[str, Any]:
        return vote_numbers(_voted(bare, votes, jury.names), options.agree, options.level)

    strict, lenient = (other(accept.votes(said, end))["estimate"] for end in ("strict", "lenient"))
    usual = other((said >= HALF).astype(np.int8))
    numbers |= {
        "estimate": with_slack(numbers["estimate"], strict, lenient),
        "assumes": numbers["assumes"] + accept.assumes,
        "thresholds": accept.to_dict(jury.names),
        "at_half": {name: usual[name] for name in ("lower", "upper", "mean")},
    }
    return record, numbers, warnings


def _without(record: Predictions, jury: Jury) -> tuple[Predictions, int, list[str]]:
    """The record without the votes of judges that vote anew, the number of others, a warning."""
    if record.votes is None:
        return record, 0, []
    names = jury.names
    known = record.names.get("judge") or tuple(f"judge_{place}" for place in range(len(record.votes)))
    keep = [place for place, name in enumerate(known) if name not in names]
    warnings = []
    if len(keep) < len(known) and jury.said is None:
        gone = ", ".join(name for name in known if name in names)
        warnings.append(f"the rows held votes of {gone}: these judges were asked anew")
    if not keep:
        return replace(record, votes=None, _cache={}), 0, warnings
    axes = {**record.names, "judge": tuple(known[place] for place in keep)}
    return replace(record, votes=record.votes[keep], names=axes, _cache={}), len(keep), warnings


def _voted(record: Predictions, votes: Array, names: Sequence[str]) -> Predictions:
    """The record with the new votes first, so that `single` is one of them; those it had follow."""
    axis = tuple(names)
    if record.votes is not None:
        votes, axis = np.concatenate([votes, record.votes]), (*axis, *record.names["judge"])
    return replace(record, votes=votes, names={**record.names, "judge": axis}, _cache={})


def _with_truth(record: Predictions, rows: TextRows) -> Predictions:
    """The record with `correct` where gold tells it and the file does not."""
    correct = labelled(rows)
    return replace(record, correct=correct, _cache={}) if (correct >= 0).any() else record


def _study(record: Predictions, level: float, seed: int) -> dict[str, Any] | None:
    if record.correct is None or not (record.correct >= 0).any():
        return None
    found = vote_study(record, draws=1, level=level, seed=seed)
    told = found.to_dict()
    return {name: told[name] for name in _STUDY} | {"gold": found.gold}


def _true_metric(rows: TextRows, metric: str) -> Array | None:
    """The metric of each row, NaN where there is no gold output; None where there is none at all."""
    measure = METRICS.get(metric)
    if rows.golds is None or measure is None:
        return None
    known = np.array([gold is not None for gold in rows.golds])
    texts = [one or "" for one in rows.outputs or ()]
    out = np.full(len(texts), np.nan)
    pairs = [(text, gold) for text, gold in zip(texts, rows.golds, strict=True) if gold is not None]
    if pairs:
        out[known] = measure([text for text, _ in pairs], [gold for _, gold in pairs])
    return out if pairs else None


def _predicted(record: Predictions, said: Array, names: Sequence[str], metric: str, true: Array | None) -> Predictions:
    """The record with a column for each judge's prediction, their mean, and the true metric."""
    column = metric.replace("-", "_")
    found: dict[str, Any] = {f"{column}_{name}": one for name, one in zip(names, said, strict=True)}
    found[f"{column}_predicted"] = said.mean(axis=0)
    if true is not None:
        found[column] = np.array([None if np.isnan(one) else float(one) for one in true], dtype=object)
    return replace(record, columns={**record.columns, **found}, _cache={})


def _export(found: PseudoLabels, path: str | os.PathLike[str]) -> list[str]:
    """Write accepted rows as (input, gold), with their number and id; a warning where there are none."""
    record = found.record
    if not len(found) or record.output is None:
        return [
            f"no row is accepted by {found.agree} of {found.judges} judges: nothing was written to {path}; ask for "
            "fewer with --agree"
        ]
    columns = {"gold": record.output, **record.columns}
    write_predictions(replace(record, output=None, columns=columns, _cache={}), path)
    return []


def _flat(record: Predictions) -> Predictions:
    """The record with lists and mappings of further columns as JSON, which a cell of CSV can hold."""

    def text(cell: Any) -> Any:
        return json.dumps(cell, ensure_ascii=False, default=str) if isinstance(cell, list | dict) else cell

    columns = dict(record.columns)
    for name, values in columns.items():
        if values.dtype.kind == "O" and any(isinstance(cell, list | dict) for cell in values.tolist()):
            out = np.empty(len(values), dtype=object)
            out[:] = [text(cell) for cell in values.tolist()]
            columns[name] = out
    return replace(record, columns=columns, _cache={})
