"""Judging: outputs of a sequence model in, the judges' votes beside them, bounds of accuracy and accepted pairs out."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import final

import numpy as np

from oodometer.arrays import Array
from oodometer.diagnoses.text_likeness import UnlikeTexts, unlike_texts
from oodometer.errors import InputError, NotApplicable, UsageError
from oodometer.estimators import CorrectedVotes
from oodometer.metrics.votes import check_agree
from oodometer.options import verb
from oodometer.predictions import Predictions
from oodometer.results import percent
from oodometer.runs import Kept, places_said, running
from oodometer.scores import natural_confidence
from oodometer.store import refuse_clashes, write_predictions
from oodometer.store.files import format_of
from oodometer.verbs.opening import Opener

from ...datasets.reading import objects
from ...discriminators import RuleDiscriminator
from ...discriminators.base import check_pairs
from ...discriminators.ensemble import HALF
from ...models.artifacts import fingerprint
from ...models.base import Progress, part_of
from ...models.torch.library import idle_threads
from ..options import JudgeOptions
from .folder import noting_cuts
from .judged import JudgedOutputs, JudgeNumbers, PseudoLabels, metric_numbers, vote_numbers
from .judged import pseudo_labels as accepted_outputs
from .jury import Jury, jury_of
from .pairs import METRICS, TextRows, read_texts
from .vote_study import vote_study
from .worth import (
    Acceptance,
    calibrated,
    check_labelled,
    labelled,
    outside,
    probability_columns,
    shortest,
    with_probabilities,
)

_STUDY = ("rows", "gold", "inside", "methods", "rules", "ladder", "by_judge", "bounds", "skipped")
_ENDINGS = (".jsonl", ".csv", ".parquet", ".arrow", ".feather", ".npz")


@verb(JudgeOptions)
def judge_outputs(options: JudgeOptions) -> JudgedOutputs:
    """Let judges vote on outputs: accuracy between bounds, without labels.

    With thresholds, the interval of the estimate also holds what their labelled rows leave open. The bounds are
    empirical: judges that fail alike put the truth outside. Raises `InputError` for rows without texts
    and for a folder without judges, `UsageError` for a call that makes no sense. Source: Yao and Koller (2024).

    >>> from oodometer_lab.discriminators import Panel, RuleDiscriminator
    >>> rules = [RuleDiscriminator(lambda i, o: len(i) == len(o)), RuleDiscriminator(lambda i, o: o.isupper())]
    >>> found = judge_outputs(Panel(rules), {"input": ["a", "b", "c"], "output": ["A", "bb", "c"]})
    >>> found.lower.value.__round__(3), found.upper.value.__round__(3), found.estimate.kind
    (0.333, 0.667, 'empirical')
    """
    _check_options(options)
    rows, labels = _read(options)
    jury = jury_of(options.judges, options, rows)
    record, further, warnings = _without(rows.record, jury)
    check_agree(options.agree, len(jury.names) + further)
    out, folder = options.out, None
    if out is not None:  # the answers of single judges are kept there until the result is written
        folder = Path(os.path.abspath(out)).with_name(f".{Path(out).name}.judging")
    places = places_said(judges=options.judges, outputs=options.outputs, out=out)
    about = {"verb": "discriminate predict", **places}
    with running(Kept(folder, about), passing=True) as kept:
        files = [rows] if labels is None else [rows, labels]  # all are asked about in one go
        answers = _Answers(jury, files)
        answers.ask(kept, options.progress)
        p, known_p = np.split(_said(answers.p, jury, files), [len(rows.inputs)], axis=1)
        jury, unlike, more = _held_against(rows, labels, p, known_p, jury, options)
        warnings += more
        empty = sum(not (output or "").strip() for output in rows.outputs or ())
        if empty:
            text = f"{empty} of {len(rows.inputs)} outputs are empty"
            warnings.append(f"{text}: they are judged Incorrect without asking")
        correct = labelled(rows)
        if (correct >= 0).any():  # where gold tells it and the file does not
            record = replace(record, correct=correct, _cache={})
        record, numbers = _judged(record, rows, p, jury, options)
        warnings += numbers.warnings
        numbers = _widened(numbers, unlike)
        if out is not None:
            write_predictions(_flat(record) if format_of(Path(out)) == "csv" else record, out)
        accepted = None
        if options.pseudo_labels is not None:
            accepted, more = _accepted(record, numbers.agree, options)
            warnings += more
        return JudgedOutputs(
            name=rows.name,
            rows=len(rows.inputs),
            metric=jury.metric,
            judges=tuple(record.names["judge"] if jury.metric == "exact" else jury.names),
            agree=numbers.agree,
            estimate=numbers.estimate,
            assumes=numbers.assumes,
            lower=numbers.lower,
            upper=numbers.upper,
            mean=numbers.mean,
            single=numbers.single,
            by_judge=numbers.by_judge,
            ladder=numbers.ladder,
            bounds=numbers.bounds,
            truth=numbers.truth,
            empty=empty,
            cut=answers.cut,
            warnings=(*warnings, *answers.warnings),
            level=options.level,
            seed=options.seed,
            record=record,
            out=None if out is None else str(out),
            pseudo_labels=accepted,
            pseudo_out=None if options.pseudo_labels is None else str(options.pseudo_labels),
            thresholds=numbers.thresholds,
            at_half=numbers.at_half,
            unlike=unlike,
        )


def _held_against(
    rows: TextRows,
    labels: TextRows | None,
    p: Array,
    known_p: Array,
    jury: Jury,
    options: JudgeOptions,
) -> tuple[Jury, UnlikeTexts | None, list[str]]:
    """The jury with the thresholds that labelled rows set; how the outputs differ from rows that set thresholds, here
    or in training; warnings of it.
    """
    if labels is not None:
        jury = replace(jury, accept=calibrated(known_p, labels, options.level))
    elif jury.set_on is not None and jury.set_on.is_file():
        labels = read_texts(jury.set_on, Opener(None), None, everything=True)
        by_name = dict(zip(*probability_columns(labels), strict=True))
        known_p = np.array([by_name[name] for name in jury.names])
    else:
        return jury, None, []
    unlike, warnings = _unlike(rows, labels, p, known_p, jury.accept, options.out)
    return jury, unlike, warnings


def _check_options(options: JudgeOptions) -> None:
    """Raise `UsageError` for options that do not go together, and for files that cannot be written."""
    number = options.threshold
    if number is not None and not 0 <= number <= 1:
        raise UsageError(f"expected a threshold of P(Correct) from 0 to 1, got {number:g}")
    if number is not None and options.calibrate is not None:
        raise UsageError(
            "give --calibrate or --threshold, not both: the first sets the judges' thresholds"
        )
    if options.with_confidence and options.calibrate is None:
        raise UsageError(
            "--with-confidence needs --calibrate FILE: what a confidence means is learnt from labels"
        )
    for path in (options.out, options.pseudo_labels):
        if path is not None:
            _check_writable(path)


def _check_writable(path: str | Path) -> None:
    target = Path(os.path.abspath(path))
    if not target.parent.is_dir() or target.is_dir() or not os.access(target.parent, os.W_OK):
        why = f"{target.parent} is no folder that may be written"
        if target.is_dir():
            why = "it is a folder"
        raise UsageError(f"cannot write {path}: {why}; choose a file in a folder that exists")
    if target.suffix.lower() not in _ENDINGS:
        raise UsageError(
            f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz"
        )


def _read(options: JudgeOptions) -> tuple[TextRows, TextRows | None]:
    """The rows to judge, and the labelled ones that set thresholds."""
    outputs, calibrate, mapping = options.outputs, options.calibrate, options.mapping
    refuse_clashes(
        {"out": options.out, "pseudo_labels": options.pseudo_labels},
        [outputs, *([] if calibrate is None else [calibrate])],
    )
    opener = Opener(mapping)
    rows, labels = read_texts(outputs, opener, mapping, everything=True), None
    if calibrate is not None:
        needs = ("input", "output", "gold")
        labels = read_texts(calibrate, opener, mapping, everything=True, needs=needs)
    opener.check()
    for file in (rows, labels):
        if file is not None and file.outputs is None:
            raise file.lacks("a column output", "output")
    if labels is not None:
        check_labelled(labels)  # before judges are asked, which takes long
    return rows, labels


@final
class _Answers:
    """What the judges say of the rows of all files: ``p``, axes (judge, sample); pairs cut by the one that cut
    most, and warnings of it.
    """

    def __init__(self, jury: Jury, files: Sequence[TextRows]) -> None:
        self.members, self.cut, self.warnings = jury.members, 0, list[str]()
        self.inputs, self.outputs = check_pairs(
            [text for rows in files for text in rows.inputs],
            [text or "" for rows in files for text in rows.outputs or ()],
        )
        self.p = np.zeros((len(self.members), len(self.inputs)), dtype=np.float32)

    def ask(self, kept: Kept, progress: Progress | None) -> None:
        """Ask each judge whose answers are not kept; about an empty output nobody is asked."""
        filled = [row for row, output in enumerate(self.outputs) if output.strip()]
        texts = [self.inputs[row] for row in filled], [self.outputs[row] for row in filled]
        pairs, count = fingerprint({"pairs": [self.inputs, self.outputs]}), len(self.members)
        rules = all(isinstance(judge, RuleDiscriminator) for judge, _ in self.members)
        with nullcontext() if rules else idle_threads(), noting_cuts(kept.folder) as self.warnings:
            for index, (judge, name) in enumerate(self.members):
                tell = part_of(progress, index, count)
                key = f"judge-{fingerprint({'judge': name, 'pairs': pairs})}"
                stored = kept.get(key)
                new = stored is None or len(stored["probabilities"]) != len(self.inputs)
                if new:
                    judge.truncated = 0
                    if filled:
                        self.p[index, filled] = judge.probabilities(*texts, progress=tell)
                    stored = {"probabilities": self.p[index].tolist(), "cut": judge.truncated}
                    kept.keep(key, stored)
                self.p[index] = np.array(stored["probabilities"], dtype=np.float32)
                tell(1, 1)
                kept.tell(index + 1, count, int(new))
                self.cut = max(self.cut, int(stored["cut"]))


def _said(p: Array, jury: Jury, files: Sequence[TextRows]) -> Array:
    """What all voters say of the rows of all files: judges as ``p``, or as the files hold it; then the confidence."""
    if jury.said is not None:
        p = np.hstack([jury.said, *(_held_by(labels, jury.judges) for labels in files[1:])])
    elif jury.metric == "exact":
        p = shortest(p)
    return np.vstack([p, _own_confidence(files)]) if jury.confidence else p


def _held_by(labels: TextRows, judges: Sequence[str]) -> Array:
    """The answers of these judges that labelled rows hold; `InputError` where they are of others."""
    names, p = probability_columns(labels)
    if set(names) != set(judges):
        remedy = "oodometer discriminate predict FOLDER FILE FILE --out FOLDER"
        raise InputError(
            f"columns p_correct_ of the same judges as in the rows: {', '.join(judges)}",
            got=", ".join(names) or "none",
            remedy=f"judge both files by the same judges: {remedy}",
            file=labels.name,
        )
    return np.asarray(p[[names.index(name) for name in judges]])


def _accepted(
    record: Predictions, agree: int, options: JudgeOptions
) -> tuple[PseudoLabels, list[str]]:
    """The outputs that so many judges accept, written as (input, gold) with their number and id; a warning for none."""
    path = options.pseudo_labels
    assert path is not None
    accepted = accepted_outputs(record, agree=agree, level=options.level)
    rows = accepted.record
    if len(accepted) and rows.output is not None:
        columns = {"gold": rows.output, **rows.columns}
        write_predictions(replace(rows, output=None, columns=columns, _cache={}), path)
        return accepted, []
    words = f"no row is accepted by {accepted.agree} of {accepted.judges} judges"
    return accepted, [f"{words}: nothing was written to {path}; ask for fewer with --agree"]


def _judged(
    record: Predictions, rows: TextRows, p: Array, jury: Jury, options: JudgeOptions
) -> tuple[Predictions, JudgeNumbers]:
    """The record with what the voters say, axes (judge, sample), and the numbers that follow from it."""
    agree, level = options.agree, options.level
    if jury.metric != "exact":
        true = _true_metric(rows, jury.metric)
        return _with_metric(record, p, true, jury), metric_numbers(p, agree, level, true)
    bare, accept = record, jury.accept
    record = with_probabilities(_voted(bare, accept.votes(p), jury.names), p, jury.names)
    numbers = vote_numbers(record, agree, level)
    if record.correct is not None and (record.correct >= 0).any():
        study = vote_study(record, draws=1, level=level, seed=options.seed)
        fields = study.to_dict()
        truth = {name: fields[name] for name in _STUDY} | {"gold": study.gold}
        numbers = replace(numbers, truth=truth)
    if accept.thresholds is not None or accept.number != HALF:
        return record, _with_thresholds(numbers, bare, p, jury, options)
    ladder = jury.held.get("ladder", ())  # thresholds are the paper's
    if 1 < len(record.names["judge"]) == len(ladder):
        warnings = outside(ladder, numbers.mean.value, numbers.agree)
        numbers = replace(numbers, warnings=(*numbers.warnings, *warnings))
    return record, numbers


def _true_metric(rows: TextRows, metric: str) -> Array | None:
    """The metric of each output against its gold one, NaN where there is none; None without any."""
    measure = METRICS.get(metric)
    pairs = [(row, gold) for row, gold in enumerate(rows.golds or ()) if gold is not None]
    if measure is None or not pairs:
        return None
    at, outputs = [row for row, _ in pairs], rows.outputs or []
    true = np.full(len(rows.inputs), np.nan)
    true[at] = measure([outputs[row] or "" for row in at], [gold for _, gold in pairs])
    return true


def _with_metric(record: Predictions, p: Array, true: Array | None, jury: Jury) -> Predictions:
    """The record with columns of the metric as judges predict it, each and their mean, and of the true one."""
    column = jury.metric.replace("-", "_")
    columns = {f"{column}_{name}": values for name, values in zip(jury.names, p, strict=True)}
    columns[f"{column}_predicted"] = p.mean(axis=0)
    if true is not None:
        cells = [None if np.isnan(value) else float(value) for value in true]
        columns[column] = np.array(cells, dtype=object)
    return replace(record, columns={**record.columns, **columns}, _cache={})


def _with_thresholds(
    numbers: JudgeNumbers, bare: Predictions, p: Array, jury: Jury, options: JudgeOptions
) -> JudgeNumbers:
    """The numbers with what so few labelled rows leave open of the thresholds, and those of the paper's 0.5."""
    accept = jury.accept

    def by(votes: Array) -> JudgeNumbers:
        return vote_numbers(_voted(bare, votes, jury.names), options.agree, options.level)

    strict, lenient = (by(accept.votes(p, end)).estimate for end in ("strict", "lenient"))
    usual, estimate, assumes = by((p >= HALF).astype(np.int8)), numbers.estimate, numbers.assumes
    if (cuts := accept.thresholds) is not None:
        more = f"they accept as often as the model was right on {cuts.rows:,} labelled outputs ({accept.origin})"
        assumes = f"{assumes}; {more}"
    return replace(
        numbers,
        estimate=replace(
            estimate,
            lower=min(estimate.lower, strict.lower),
            upper=max(estimate.upper, lenient.upper),
        ),
        assumes=assumes,
        thresholds=accept.to_dict(jury.names),
        at_half={"lower": usual.lower, "upper": usual.upper, "mean": usual.mean},
    )


def _widened(numbers: JudgeNumbers, unlike: UnlikeTexts | None) -> JudgeNumbers:
    """The numbers with an estimate whose interval holds that the judges may be wrong on all rows of another form."""
    if unlike is None:
        return numbers
    lower, upper = unlike.widened(numbers.estimate.lower, numbers.estimate.upper)
    return replace(numbers, estimate=replace(numbers.estimate, lower=lower, upper=upper))


def _unlike(
    rows: TextRows,
    labels: TextRows,
    p: Array,
    known_p: Array,
    accept: Acceptance,
    out: str | Path | None,
) -> tuple[UnlikeTexts | None, list[str]]:
    """How the outputs differ from those of the labelled rows that set thresholds, and warnings where they, or the votes
    on them, do.
    """
    at = np.flatnonzero(labelled(labels) >= 0).tolist()
    labelled_texts = (
        [labels.inputs[row] for row in at],
        [(labels.outputs or [])[row] or "" for row in at],
    )
    unlike = unlike_texts(
        labelled_texts, (rows.inputs, [text or "" for text in rows.outputs or ()])
    )
    warnings = list[str]()
    if unlike is not None:
        command = f"oodometer audit --suggest 10 --out rows.csv REFERENCE {out or 'JUDGED.jsonl'}"
        text = f"these outputs are unlike the {len(at):,} labelled ones that set the thresholds"
        text += f": {unlike.said}; the interval is wider by {percent(unlike.reach)} on both sides"
        warnings.append(
            f"{text}; label ten of these: {command} (REFERENCE: judged outputs with gold)"
        )
    with suppress(NotApplicable):
        first, second = (
            Predictions.from_arrays(votes=accept.votes(probabilities))
            for probabilities in (known_p[:, at], p)
        )
        reference = replace(first, correct=labelled(labels)[at], _cache={})
        warnings += CorrectedVotes().fit(reference).estimate(second).warnings
    return unlike, warnings


def _without(record: Predictions, jury: Jury) -> tuple[Predictions, int, list[str]]:
    """The record without the votes of judges that vote anew, the number of others, a warning."""
    if record.votes is None:
        return record, 0, []
    names = jury.names
    voters = record.names.get("judge") or tuple(
        f"judge_{index}" for index in range(len(record.votes))
    )
    keep = [index for index, name in enumerate(voters) if name not in names]
    warnings = []
    if len(keep) < len(voters) and jury.said is None:
        gone = ", ".join(name for name in voters if name in names)
        warnings.append(f"the rows had votes of {gone}: these judges voted again")
    if not keep:
        return replace(record, votes=None, _cache={}), 0, warnings
    axes = {**record.names, "judge": tuple(voters[index] for index in keep)}
    return replace(record, votes=record.votes[keep], names=axes, _cache={}), len(keep), warnings


def _voted(record: Predictions, votes: Array, names: Sequence[str]) -> Predictions:
    """The record with the new votes first, so that `single` is one of them."""
    axis = tuple(names)
    if record.votes is not None:
        votes, axis = np.concatenate([votes, record.votes]), (*axis, *record.names["judge"])
    return replace(record, votes=votes, names={**record.names, "judge": axis}, _cache={})


def _flat(record: Predictions) -> Predictions:
    """The record with lists and mappings of further columns as JSON, which a cell of CSV can hold."""
    columns, write = dict(record.columns), partial(json.dumps, ensure_ascii=False, default=str)
    for name, values in columns.items():
        cells = values.tolist()
        if values.dtype.kind == "O" and any(isinstance(cell, list | dict) for cell in cells):
            columns[name] = objects(
                [write(cell) if isinstance(cell, list | dict) else cell for cell in cells]
            )
    return replace(record, columns=columns, _cache={})


def _own_confidence(several: Sequence[TextRows]) -> Array:
    """The confidence of the model in its answers, of the rows of all files; `InputError` where there is none."""
    parts = []
    for rows in several:
        try:
            parts.append(natural_confidence(rows.record)(rows.record))
        except NotApplicable as error:
            expected = "a confidence of the model (confidence, token_logprobs), which is to vote"
            remedy = "leave out --with-confidence or give the column"
            raise InputError(expected, got="none", remedy=remedy, file=rows.name) from error
    return np.asarray(np.concatenate(parts), dtype=np.float64)
