"""Judging: outputs of a sequence model in, the judges' votes beside them, bounds of accuracy and accepted pairs out."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from ...arrays import Array
from ...datasets.reading import objects
from ...discriminators import (
    AcceptanceThresholds,
    Discriminator,
    Panel,
    PretrainedDiscriminator,
    RuleDiscriminator,
)
from ...discriminators.base import check_pairs
from ...discriminators.ensemble import HALF
from ...discriminators.likeness import likeness
from ...errors import InputError, NotApplicable, UsageError
from ...estimators import CorrectedVotes
from ...metrics.votes import check_agree
from ...models.artifacts import fingerprint
from ...models.base import part_of
from ...models.torch.library import idle_threads
from ...options import verb
from ...predictions import Predictions
from ...runs import Kept, places_said, running
from ...scores import natural_confidence
from ...store import refuse_clashes, write_predictions
from ...store.artifact_cache import checksum, content_of
from ...store.files import format_of
from ..model_options import JudgeOptions
from ..opening import Opener
from .folder import SET_ON, noting_cuts, open_judges, revived
from .judged import JudgedOutputs, metric_numbers, vote_numbers
from .judged import pseudo_labels as accepted_outputs
from .pairs import METRICS, TextRows, read_texts
from .vote_study import vote_study
from .worth import (
    Acceptance,
    calibrated,
    check_labelled,
    judge_names,
    labelled,
    outside,
    probability_columns,
    shortest,
    with_probabilities,
)

_STUDY = ("rows", "gold", "inside", "methods", "rules", "ladder", "by_judge", "bounds", "skipped")


CONFIDENCE = "confidence"
MOST = 2  # labels of a classifier among which 1 may be taken for Correct
_ENDINGS = (".jsonl", ".csv", ".parquet", ".arrow", ".feather", ".npz")

Member = tuple[Discriminator, str]
"""A judge with a text that tells it apart."""


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
    for path in (
        rows_given for rows_given in (options.out, options.pseudo_labels) if rows_given is not None
    ):
        target = Path(os.path.abspath(path))
        if not target.parent.is_dir() or target.is_dir() or not os.access(target.parent, os.W_OK):
            why = (
                "it is a folder"
                if target.is_dir()
                else f"{target.parent} is no folder that may be written"
            )
            raise UsageError(f"cannot write {path}: {why}; choose a file in a folder that exists")
        if target.suffix.lower() not in _ENDINGS:
            raise UsageError(
                f"cannot write {path}: end the name in .parquet, .csv, .jsonl, .arrow, .feather or .npz"
            )
    judges, outputs, out, pseudo_labels = (
        options.judges,
        options.outputs,
        options.out,
        options.pseudo_labels,
    )
    calibrate, level, seed = options.calibrate, options.level, options.seed
    refuse_clashes(
        {"out": out, "pseudo_labels": pseudo_labels},
        [outputs, *([] if calibrate is None else [calibrate])],
    )
    opener = Opener(options.mapping)
    rows = read_texts(outputs, opener, options.mapping, everything=True)
    labels = None
    if calibrate is not None:
        labels = read_texts(
            calibrate, opener, options.mapping, everything=True, needs=("input", "output", "gold")
        )
    opener.check()
    for rows_given in (rows, labels):
        if rows_given is not None and rows_given.outputs is None:
            raise rows_given.lacks("a column output", "output")
    if labels is not None:
        check_labelled(labels)  # before judges are asked, which takes long
    jury = _jury_of(judges, options, rows)
    record, further, warnings = _without(rows.record, jury)
    check_agree(options.agree, len(jury.names) + further)
    folder = None
    if out is not None:  # the answers of single judges are kept there until the result is written
        folder = Path(os.path.abspath(out)).with_name(f".{Path(out).name}.judging")
    about = {"verb": "discriminate predict", **places_said(judges=judges, outputs=outputs, out=out)}
    with running(Kept(folder, about), passing=True) as answers:
        both = [rows] if labels is None else [rows, labels]  # all are asked about in one go
        texts = [text for part in both for text in part.inputs]
        texts, written = check_pairs(
            texts, [text or "" for part in both for text in part.outputs or ()]
        )
        filled = [
            row for row, output in enumerate(written) if output.strip()
        ]  # of an empty one nobody is asked
        filled_texts = [texts[row] for row in filled], [written[row] for row in filled]
        pairs, many = fingerprint({"pairs": [texts, written]}), len(jury.members)
        rules, cut = all(isinstance(judge, RuleDiscriminator) for judge, _ in jury.members), 0
        p = np.zeros((many, len(texts)), dtype=np.float32)
        with nullcontext() if rules else idle_threads(), noting_cuts(answers.folder) as cuts:
            for index, (judge, name) in enumerate(jury.members):
                tell = part_of(options.progress, index, many)
                key = f"judge-{fingerprint({'judge': name, 'pairs': pairs})}"
                known = answers.get(key)
                new = known is None or len(known["probabilities"]) != len(texts)
                if new:
                    judge.truncated = 0
                    if filled:
                        p[index, filled] = judge.probabilities(*filled_texts, progress=tell)
                    known = {"probabilities": p[index].tolist(), "cut": judge.truncated}
                    answers.keep(key, known)
                p[index] = np.array(known["probabilities"], dtype=np.float32)
                tell(1, 1)
                answers.tell(index + 1, many, int(new))
                cut = max(cut, int(known["cut"]))
        if jury.said is None:
            p = shortest(p) if jury.metric == "exact" else p
        else:
            p = jury.said
            if labels is not None:
                names = jury.names[:-1] if jury.confidence else jury.names
                own_names, theirs = probability_columns(labels)
                if set(own_names) != set(names):
                    expected = (
                        f"columns p_correct_ of the same judges as in the rows: {', '.join(names)}"
                    )
                    remedy = "oodometer discriminate predict FOLDER FILE FILE --out FOLDER"
                    remedy, got = (
                        f"judge both files by the same judges: {remedy}",
                        ", ".join(own_names) or "none",
                    )
                    raise InputError(expected, got=got, remedy=remedy, file=labels.name)
                p = np.hstack([p, theirs[[own_names.index(name) for name in names]]])
        if jury.confidence:
            p = np.vstack([p, _own_confidence(both)])
        p, known_p = np.split(p, [len(rows.inputs)], axis=1)
        accept = jury.accept if labels is None else calibrated(known_p, labels, level)
        if labels is not None:
            warnings += _unlike(rows, labels, p, known_p, accept, options)
        elif jury.set_on is not None and jury.set_on.is_file():
            set_on = read_texts(jury.set_on, Opener(None), None, everything=True)
            said = dict(zip(*probability_columns(set_on), strict=True))
            warnings += _unlike(
                rows, set_on, p, np.array([said[name] for name in jury.names]), accept, options
            )
        empty = sum(not (rows_given or "").strip() for rows_given in rows.outputs or ())
        if empty:
            text = f"{empty} of {len(rows.inputs)} outputs are empty"
            warnings.append(f"{text}: they are judged Incorrect without asking")
        correct = labelled(rows)
        if (correct >= 0).any():  # where gold tells it and the file does not
            record = replace(record, correct=correct, _cache={})
        record, numbers, more = _judged(record, rows, p, replace(jury, accept=accept), options)
        warnings += more
        names = record.names["judge"] if jury.metric == "exact" else jury.names
        if out is not None:
            write_predictions(_flat(record) if format_of(Path(out)) == "csv" else record, out)
        accepted = None
        if pseudo_labels is not None:
            accepted = accepted_outputs(record, agree=numbers["agree"], level=level)
            accepted_rows = accepted.record
            if (
                len(accepted) and accepted_rows.output is not None
            ):  # as (input, gold), with their number and id
                columns = {"gold": accepted_rows.output, **accepted_rows.columns}
                write_predictions(
                    replace(accepted_rows, output=None, columns=columns, _cache={}), pseudo_labels
                )
            else:
                words = f"no row is accepted by {accepted.agree} of {accepted.judges} judges"
                warnings.append(
                    f"{words}: nothing was written to {pseudo_labels}; ask for fewer with --agree"
                )
        numbers |= {
            "name": rows.name,
            "rows": len(rows.inputs),
            "metric": jury.metric,
            "judges": tuple(names),
        }
        numbers |= {
            "empty": empty,
            "cut": cut,
            "warnings": (*warnings, *cuts),
            "level": level,
            "seed": seed,
        }
        files = [None if path is None else str(path) for path in (out, pseudo_labels)]
        return JudgedOutputs(
            **numbers, record=record, out=files[0], pseudo_labels=accepted, pseudo_out=files[1]
        )


def _judged(
    record: Predictions, rows: TextRows, p: Array, jury: Jury, options: JudgeOptions
) -> tuple[Predictions, dict[str, Any], list[str]]:
    if jury.metric != "exact":
        column, measure = jury.metric.replace("-", "_"), METRICS.get(jury.metric)
        true = None  # NaN where there is no gold output
        pairs = [(row, gold) for row, gold in enumerate(rows.golds or ()) if gold is not None]
        if measure is not None and pairs:
            true, at = np.full(len(rows.inputs), np.nan), [row for row, _ in pairs]
            outputs = rows.outputs or []
            true[at] = measure([outputs[row] or "" for row in at], [gold for _, gold in pairs])
        columns: dict[str, Any] = {
            f"{column}_{name}": values for name, values in zip(jury.names, p, strict=True)
        }
        columns[f"{column}_predicted"] = p.mean(axis=0)
        if true is not None:
            columns[column] = np.array(
                [None if np.isnan(values) else float(values) for values in true], dtype=object
            )
        record = replace(record, columns={**record.columns, **columns}, _cache={})
        return record, metric_numbers(p, options.agree, options.level, true), []
    bare, accept = record, jury.accept
    record = with_probabilities(_voted(bare, accept.votes(p), jury.names), p, jury.names)
    numbers = vote_numbers(record, options.agree, options.level)
    numbers["truth"] = None
    if record.correct is not None and (record.correct >= 0).any():
        study = vote_study(record, draws=1, level=options.level, seed=options.seed)
        study_numbers = study.to_dict()
        numbers["truth"] = {name: study_numbers[name] for name in _STUDY} | {"gold": study.gold}
    warnings = list(numbers.pop("warnings"))
    if accept.thresholds is None and accept.number == HALF:  # the paper's
        if 1 < len(record.names["judge"]) == len(jury.held.get("ladder", ())):
            warnings += outside(jury.held["ladder"], numbers["mean"].value, numbers["agree"])
        return record, numbers, warnings

    def other(votes: Array) -> dict[str, Any]:
        return vote_numbers(_voted(bare, votes, jury.names), options.agree, options.level)

    strict, lenient = (other(accept.votes(p, end))["estimate"] for end in ("strict", "lenient"))
    usual = other((p >= HALF).astype(np.int8))
    own = numbers["estimate"]  # with what so few labelled rows leave open of the thresholds
    estimate = replace(own, lower=min(own.lower, strict.lower), upper=max(own.upper, lenient.upper))
    if (cuts := accept.thresholds) is not None:
        more = f"they accept as often as the model was right on {cuts.rows:,} labelled outputs ({accept.origin})"
        numbers["assumes"] = f"{numbers['assumes']}; {more}"
    numbers |= {"estimate": estimate}
    numbers |= {"at_half": {name: usual[name] for name in ("lower", "upper", "mean")}}
    return record, numbers | {"thresholds": accept.to_dict(jury.names)}, warnings


_TRAITS = {
    "length": "outputs have {others:.1f} words in the mean (there {labelled:.1f}{p})",
    "ratio": "outputs have {others:.2f} words for each word of the input (there {labelled:.2f}{p})",
    "words": "of the words of an output {others:.2%} are in no labelled one (among those {labelled:.2%}{p})",
    "runs": "of the runs of three words {others:.2%} are in no labelled output (among those {labelled:.2%}{p})",
    "pairs": "of the pairs of an input and an output word {others:.2%} never met there (among those {labelled:.2%}{p})",
}
_UNLIKE = 0.01


def _unlike(
    rows: TextRows,
    labels: TextRows,
    p: Array,
    known_p: Array,
    accept: Acceptance,
    options: JudgeOptions,
) -> list[str]:
    """Warnings where the outputs, or the votes on them, are unlike those of the labelled rows that set thresholds."""
    at = np.flatnonzero(labelled(labels) >= 0).tolist()
    here = [labels.inputs[row] for row in at], [(labels.outputs or [])[row] or "" for row in at]
    traits = likeness(here, (rows.inputs, [text or "" for text in rows.outputs or ()]))
    worst, warnings = min(traits, key=lambda trait: trait["p_value"], default=None), list[str]()
    if worst is not None and worst["p_value"] < _UNLIKE:
        p_value = ", p < 0.001" if worst["p_value"] < 0.001 else f", p = {worst['p_value']:.3f}"
        command = (
            f"oodometer audit --suggest 10 --out rows.csv REFERENCE {options.out or 'JUDGED.jsonl'}"
        )
        text = f"these outputs are unlike the {len(at):,} labelled ones that set the thresholds"
        text += f": {_TRAITS[worst['trait']].format(**worst, p=p_value)}; the bounds rest on mistakes like those"
        warnings.append(
            f"{text}; label ten of these: {command} (REFERENCE: judged outputs with gold)"
        )
    with suppress(NotApplicable):
        first, second = (
            Predictions.from_arrays(votes=accept.votes(own)) for own in (known_p[:, at], p)
        )
        reference = replace(first, correct=labelled(labels)[at], _cache={})
        warnings += CorrectedVotes().fit(reference).estimate(second).warnings
    return warnings


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


@dataclass(frozen=True, eq=False)
class Jury:
    """Judges with a text that tells them apart, names, what they judge and were worth; how they ``accept``; ``said``:
    answers that the rows hold; ``confidence``: the last of ``names`` is the rows' own; ``set_on``: file of thresholds.
    """

    members: list[Member]
    names: tuple[str, ...]
    metric: str
    held: Mapping[str, Any]
    accept: Acceptance
    said: Array | None = None
    confidence: bool = False
    set_on: Path | None = None


def _jury_of(judges: Any, options: JudgeOptions, rows: TextRows) -> Jury:
    """Judges of folders, of a `Panel`, existing classifiers, or the answers that the rows hold. Judges of several
    folders vote together; thresholds are those of the folders, where set on the same outputs.
    """
    members: list[Member] = []
    metric, accept = "exact", Acceptance()
    held_out: Mapping[str, Any] = {}
    set_on: Path | None = None
    if isinstance(judges, Panel):
        members += [
            (judge, f"{index} {judge.options()}") for index, judge in enumerate(judges.members)
        ]
    elif judges is not None:
        folders = judges if isinstance(judges, list | tuple) else [judges]
        metrics, accepts = dict[str, str](), list[Acceptance]()
        for folder in folders:
            panel, about = open_judges(folder)
            mark = checksum(str(Path(folder).resolve()), json.dumps(content_of(folder)))
            metric = metrics[str(folder)] = str(about["metric"])
            members += [
                (judge, f"{len(members) + index} {mark}")
                for index, judge in enumerate(panel.members)
            ]
            cuts = about.get("thresholds")
            accepts += [
                Acceptance(AcceptanceThresholds.from_dict(cuts), str(cuts["from"]))
                if cuts
                else Acceptance()
            ]
            if len(folders) == 1:
                held_out, set_on = revived(about.get("held_out", {})), Path(folder) / SET_ON
        if len(set(metrics.values())) > 1:
            got = ", ".join(f"{folder}: {name}" for folder, name in metrics.items())
            raise UsageError(
                f"judges of several folders must judge the same, got {got}; ask them one by one"
            )
        several = [way.thresholds for way in accepts if way.thresholds is not None]
        accept = accepts[0] if len(accepts) == 1 else Acceptance()
        same = (
            {(cut.rows, cut.right, cut.level) for cut in several},
            {way.origin for way in accepts},
        )
        if 1 < len(accepts) == len(several) and all(len(values) == 1 for values in same):
            first, parts = several[0], ("values", "strict", "lenient")
            ends = {part: np.concatenate([getattr(cut, part) for cut in several]) for part in parts}
            joined = AcceptanceThresholds(
                **ends, rows=first.rows, right=first.right, level=first.level
            )
            accept = Acceptance(joined, accepts[0].origin)
    # Hugging Face classifiers as judges; labels name what means Correct, one for all or one for each
    if options.judge_labels and len(options.judge_labels) not in (1, len(options.existing)):
        expected = (
            f"one label that means Correct for all, or {len(options.existing)}, one for each judge"
        )
        got = str(len(options.judge_labels))
        raise InputError(
            expected, got=got, remedy="repeat --judge-label in the order of the judges"
        )
    named: Sequence[str | None] = options.judge_labels
    if len(named) < 2:
        named = [*named, None][:1] * len(options.existing)
    for source, label in zip(options.existing, named, strict=True):
        wanted: str | int = 1 if label is None else int(label) if label.isdecimal() else label
        judge = PretrainedDiscriminator(
            source, correct=wanted, max_length=options.max_length, device=options.device
        )
        class_labels = judge.labels
        if label is None and len(class_labels) > MOST:
            remedy = f"name it with --judge-label; the classifier has {', '.join(class_labels)}"
            raise InputError("a label that means Correct", got="none", file=source, remedy=remedy)
        members.append((judge, f"{len(members)} {judge.options()} {content_of(judge.source)}"))
    if options.threshold is not None:
        accept = Acceptance(number=options.threshold)
    elif options.existing and options.calibrate is None:
        accept = Acceptance()  # the folder keeps none for these
    if not members:
        names, p = probability_columns(rows)
        if not names:
            raise UsageError(
                f"expected FOLDER OUTPUTS..., or rows with columns p_correct_<judge>, got {rows.name} alone; "
                "name a folder of judges, then the rows to judge, or an existing classifier with --judge"
            )
    else:
        names, p = judge_names([judge for judge, _ in members]), None
    sets = options.calibrate is not None or options.threshold is not None
    for asked, words in (
        (
            bool(options.existing),
            "existing classifiers judge right and wrong, the judges of the folder predict",
        ),
        (sets, "thresholds are for judges of right and wrong; these predict"),
        (
            options.with_confidence,
            "confidence votes on right and wrong; the judges of the folder predict",
        ),
        (
            options.pseudo_labels is not None,
            "pseudo-labels need judges of right and wrong; these predict",
        ),
    ):
        if asked and metric != "exact":
            raise UsageError(f"{words} {metric}")
    confidence = (
        options.with_confidence and CONFIDENCE not in names
    )  # the last voter, where rows hold no answers of it
    names = (*names, CONFIDENCE) if confidence else names
    return Jury(
        members,
        names,
        metric,
        held_out,
        accept,
        p,
        confidence,
        set_on if accept.thresholds else None,
    )


def _own_confidence(several: Sequence[TextRows]) -> Array:
    parts = []
    for rows in several:
        try:
            parts.append(natural_confidence(rows.record)(rows.record))
        except NotApplicable as error:
            expected = "a confidence of the model (confidence, token_logprobs), which is to vote"
            remedy = "leave out --with-confidence or give the column"
            raise InputError(expected, got="none", remedy=remedy, file=rows.name) from error
    return np.asarray(np.concatenate(parts), dtype=np.float64)
